"""What a task answers: a report, and the same as JSON and as a table.

One description, three uses: cards on the page, a self-contained HTML report, files to download.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import dataclass, replace

from symveil.formats.reading import guarded
from symveil.reports.page import report_page, section_html
from symveil.reports.report import Picture, Report, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The report, the JSON document and the table of an answer; `marks` are what tests and links look for.

    `document`, `columns` and `rows` can be downloaded; `secret` says that the report shows a secret word; `controls`
    are ready HTML of buttons, and the heading of the section that begins with them. A `preliminary` answer is shown
    until the one that was asked for is there.
    """

    report: Report
    document: dict[str, object]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
    secret: bool = False
    controls: tuple[str, str] = ("", "")
    preliminary: bool = False

    @classmethod
    def without(cls, report: Report) -> Answer:
        """What to do first, where there is nothing to answer yet."""
        return cls(report=report, document={})

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections of the report."""
        return self.report.sections

    def with_sections(self, *sections: Section) -> Answer:
        """The same with more sections behind the others."""
        return replace(self, report=replace(self.report, sections=(*self.sections, *sections)))

    def html(self) -> str:
        """All cards."""
        marks = "".join(f' data-{name}="{html.escape(value, quote=True)}"' for name, value in self.marks)
        marks += " data-preliminary" if self.preliminary else ""
        heading, buttons = self.controls
        cards = (card(section, buttons if section.heading == heading else "") for section in self.sections)
        return f'<div class="cards"{marks}>{"".join(cards)}</div>'

    def json(self) -> str:
        """The JSON document, as the command line prints it."""
        return json.dumps(self.document, ensure_ascii=False, allow_nan=False) + "\n"

    def csv(self) -> str:
        """The table. It will be opened in a spreadsheet: symbols and names that begin a formula there are guarded."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(
            [guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in (self.columns, *self.rows)
        )
        return text.getvalue()

    def page(self) -> str:
        """One HTML file that needs nothing else."""
        lead = "Made by symveil studio on this machine."
        if self.secret:
            lead += " It shows secret sequences, or what follows from them: for their holder only."
        return report_page(replace(self.report, lead=lead))


def card(section: Section, controls: str = "") -> str:
    """A section on the page, with what downloads its pictures."""
    pictures = [part for part in section.parts if isinstance(part, Picture)]
    alone = len(pictures) == 1
    tools = _tools(pictures[0], section.heading) if alone else ""

    def shown(picture: Picture) -> str:
        caption = picture.caption or section.heading
        # a picture that is wider than the screen scrolls, also by keyboard
        figure = (
            f'<figure{_size(picture)} tabindex="0" role="group" aria-label="{html.escape(caption, quote=True)}">'
            f"{picture.svg}</figure>"
        )
        if alone:
            return figure
        head = f'<div class="card-head"><h3>{html.escape(caption)}</h3>{_tools(picture, caption)}</div>'
        return f"<div data-picture>{head}{figure}</div>"

    return (
        f'<section class="card{"" if section.half else " wide"}"{" data-picture" if alone else ""}>'
        f'<div class="card-head"><h2>{html.escape(section.heading)}</h2>{tools}</div>'
        f"{controls}{section_html(section, shown)}</section>"
    )


def _tools(picture: Picture, label: str) -> str:
    name, label = (html.escape(each, quote=True) for each in (picture.name, label))
    buttons = "".join(
        f'<button type="button" data-save="{kind}" data-name="{name}" '
        f'aria-label="Download {label} as {kind.upper()}">{kind.upper()}</button>'
        for kind in ("svg", "png")
    )
    return f'<div class="tools">{buttons}</div>'


def _size(picture: Picture) -> str:
    width = re.search(r'<svg[^>]* width="([0-9.]+)"', picture.svg) if picture.large else None
    return f' class="large" style="--natural:{float(width[1]):.0f}px"' if width else ""
