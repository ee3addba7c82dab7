"""What a task answers: sections to look at, and the same as JSON, as a table and as a report.

One description, three uses: cards on the page, a self-contained HTML report, files to download.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from symveil.reports.page import figure, page


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, ready HTML, and a picture with the name of its file.

    `wide` ones take the whole width, `tall` ones two rows; a `large` picture is not made smaller than can be
    read, and scrolls.
    """

    heading: str
    body: str = ""
    svg: str = ""
    picture: str = ""
    after: str = ""
    wide: bool = False
    tall: bool = False
    large: bool = False

    def card(self) -> str:
        """The section on the page."""
        tools = ""
        if self.svg:
            name = html.escape(self.picture, quote=True)
            tools = (
                f'<div class="tools"><span class="quiet">picture</span>'
                f'<button type="button" data-save="svg" data-name="{name}" '
                f'aria-label="Download {html.escape(self.heading, quote=True)} as SVG">SVG</button>'
                f'<button type="button" data-save="png" data-name="{name}" '
                f'aria-label="Download {html.escape(self.heading, quote=True)} as PNG">PNG</button></div>'
            )
        # a picture that is wider than the screen scrolls, also by keyboard
        picture = (
            f'<figure{self._size()} tabindex="0" role="group" aria-label="{html.escape(self.heading, quote=True)}">'
            f"{self.svg}</figure>"
            if self.svg
            else ""
        )
        kind = "card" + (" wide" if self.wide else "") + (" tall" if self.tall else "")
        return (
            f'<section class="{kind}"><div class="card-head"><h2>{html.escape(self.heading)}</h2>{tools}</div>'
            f"{_reachable(self.body)}{picture}{_reachable(self.after)}</section>"
        )

    def _size(self) -> str:
        width = re.search(r'<svg[^>]* width="([0-9.]+)"', self.svg) if self.large else None
        return f' class="large" style="--natural:{float(width[1]):.0f}px"' if width else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The sections, the JSON document and the table of an answer; `marks` are what tests and links look for."""

    title: str
    sections: tuple[Section, ...]
    document: dict[str, object]
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    marks: tuple[tuple[str, str], ...] = ()
    secret: bool = False

    @classmethod
    def without(cls, title: str, *, heading: str, body: str) -> Answer:
        """What to do first, where there is nothing to answer yet; ready HTML."""
        return cls(
            title=title, sections=(Section(heading=heading, body=body, wide=True),), document={}, columns=(), rows=()
        )

    def html(self) -> str:
        """All cards."""
        marks = "".join(f' data-{name}="{html.escape(value, quote=True)}"' for name, value in self.marks)
        return f'<div class="cards"{marks}>{"".join(section.card() for section in self.sections)}</div>'

    def json(self) -> str:
        """The JSON document, as the command line prints it."""
        return json.dumps(self.document, ensure_ascii=False, allow_nan=False) + "\n"

    def csv(self) -> str:
        """The table."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()

    def report(self) -> str:
        """One HTML file that needs nothing else."""
        lead = "Made by symveil studio on this machine."
        if self.secret:
            lead += " It shows a secret word: for its holder only."
        return page(
            self.title,
            lead,
            [
                (section.heading, section.body + (figure(section.svg) if section.svg else "") + section.after)
                for section in self.sections
            ],
        )


def _reachable(body: str) -> str:
    """Tables that scroll on a narrow screen can be scrolled from the keyboard as well."""
    return body.replace('<div class="scroll">', '<div class="scroll" tabindex="0" role="group" aria-label="table">')


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Names and what they are, as a list of definitions; both are ready HTML."""
    return '<dl class="facts">' + "".join(f"<div><dt>{name}</dt><dd>{fact}</dd></div>" for name, fact in rows) + "</dl>"


def large(number: str, meaning: str, *, badge: str = "") -> str:
    """A number to remember, and what it means; ready HTML."""
    shown = f'<span class="badge {badge}">{badge}</span>' if badge else ""
    return f'<p class="large"><strong>{number}</strong> {shown}</p><p>{meaning}</p>'
