"""A self-contained HTML page: one file, no external request, readable in light and dark."""

from __future__ import annotations

import html
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from symveil.reports.report import (
    Cell,
    Facts,
    Headline,
    Listing,
    Marked,
    Part,
    Picture,
    Report,
    Section,
    Share,
    Table,
    Text,
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fdfdfc; --line: #d5d9de; --mark: #b3261e; --soft: #5b6470; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --paper: #16181c; --line: #3a3f47; --mark: #ff8a80; --soft: #a5adb8; }
}
body { font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } p.lead { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.word { font-family: ui-monospace, monospace; font-size: .88rem; min-width: 12em; overflow-wrap: anywhere; }
td.word b { color: var(--mark); }
p.warning { border: 2px solid var(--mark); border-radius: 8px; padding: .6rem .9rem; font-weight: 600; }
p.large { margin: 0; font-size: 1.6rem; } p.quiet { color: var(--soft); } p.sentence { font-size: 1.15rem; }
dl.facts, .pair, .pictures { display: grid; gap: .8rem 1.6rem;
                             grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); }
.pictures { grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); } .pictures figure { margin: .4rem 0; }
.halves { display: grid; gap: 0 1.6rem; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); }
.halves > section { min-width: 0; } .halves figure svg { min-width: 22rem; }
p.command { white-space: pre-wrap; overflow-wrap: anywhere; font-family: ui-monospace, monospace; }
dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; overflow-wrap: anywhere; }
.pictures figure svg { min-width: 0; } figcaption { color: var(--soft); }
figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: .5rem; }
figure svg { width: 100%; min-width: 34rem; height: auto; display: block; margin-inline: auto; }
figure:not(.large) svg { max-width: 42rem !important; } figure svg > rect:first-of-type { stroke: none; }
@media (max-width: 640px) { figure svg, .halves figure svg { min-width: 0; } }
"""


_BOX = '<div class="scroll" tabindex="0" role="group" aria-label="{}">'
"""What is wider than the screen scrolls in, also by keyboard."""


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, word_columns: Sequence[int] = ()) -> str:
    """A table of ready HTML cells; `word_columns` are set in a typewriter face."""
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="word">{cell}</td>' if index in word_columns else f"<td>{cell}</td>"
            for index, cell in enumerate(row)
        )
        + "</tr>\n"
        for row in rows
    )
    return f"{_BOX.format('table')}<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n"


def _figure(picture: Picture) -> str:
    """An SVG picture, inline, and what it shows."""
    start, large = picture.svg.index("<svg"), " large" if picture.large else ""
    below = f"<figcaption>{html.escape(picture.caption)}</figcaption>" if picture.caption else ""
    return f'<figure class="scroll{large}">{picture.svg[start:]}{below}</figure>\n'


def report_page(report: Report) -> str:
    """A report as a page of its own.

    >>> from symveil.reports.report import facts_report
    >>> "<dt>steps</dt><dd>3</dd>" in report_page(facts_report("A walk", [("steps", "3")]))
    True
    """
    sections = report.sections
    if report.warnings:
        warned = tuple(Text(f"{each[:1].upper()}{each[1:]}.", "warning") for each in report.warnings)
        sections = (Section("Before you read on", warned), *sections)
    title, lead = html.escape(report.title), html.escape(report.lead)
    body = ""
    for half, group in groupby(sections, key=lambda section: section.half):
        shown = "\n".join(map(_section, group))
        body += f'<div class="halves">{shown}</div>\n' if half else f"{shown}\n"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f'<body><h1>{title}</h1><p class="lead">{lead}</p>\n{body}</body></html>\n'
    )


def _section(section: Section) -> str:
    return f"<section><h2>{html.escape(section.heading)}</h2>\n{section_html(section)}</section>"


def section_html(section: Section, picture: Callable[[Picture], str] | None = None) -> str:
    """The parts of a section as HTML; headlines, and pictures, that follow each other stand side by side.

    The heading is for the caller to set; `picture` shows a picture in another way than on a page.
    """
    shown = []
    for kind, group in groupby(section.parts, key=type):
        parts = [picture(part) if picture and isinstance(part, Picture) else part_html(part) for part in group]
        beside = {Headline: "pair", Picture: "pictures"}.get(kind) if len(parts) > 1 else None
        shown.append(f'<div class="{beside}">{"".join(parts)}</div>' if beside else "".join(parts))
    return "".join(shown)


def notebook_html(report: Report) -> str:
    """A report in a notebook, below its warnings and above its notes.

    >>> from symveil.reports.report import text_report
    >>> notebook_html(text_report("A walk", ["3 steps"]))
    '<div><b>A walk</b><p>3 steps</p></div>'
    """
    warned = "".join(f"<p><b>{text_html(each)}</b></p>" for each in report.warnings)
    shown = "".join(f"<b>{html.escape(each.heading)}</b>{section_html(each)}" for each in report.sections)
    return f"<div>{warned}{shown}{''.join(f'<p>{text_html(each)}</p>' for each in report.notes)}</div>"


class Reported(ABC):
    """A result that makes a report, and so is shown in notebooks."""

    __slots__ = ()

    @abstractmethod
    def report(self) -> Report:
        """What it says: facts, tables, pictures and sentences."""

    def _repr_html_(self) -> str:
        return notebook_html(self.report())


def part_html(part: Part) -> str:
    """A part of a section as HTML.

    >>> part_html(Text("at most **7.4** & less", "quiet"))
    '<p class="quiet">at most <b>7.4</b> &amp; less</p>'
    """
    match part:
        case Headline():
            word = html.escape(part.badge, quote=True)
            badge = f' <span class="badge {word}">{word}</span>' if word else ""
            number = f'<p class="large"><strong>{html.escape(part.number)}</strong>{badge}</p>'
            return f"<div>{number}<p>{text_html(part.meaning)}</p></div>"
        case Text():
            kind = "" if part.kind == "plain" else f' class="{part.kind}"'
            shown = f"<p{kind}>{text_html(part.text)}</p>"
            return f"{_BOX.format('command')}{shown}</div>" if part.kind == "command" else shown
        case Listing():
            return f"<ul>{''.join(f'<li>{text_html(item)}</li>' for item in part.items)}</ul>"
        case Facts():
            rows = "".join(
                f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(fact)}</dd></div>" for name, fact in part.rows
            )
            return f'<dl class="facts">{rows}</dl>'
        case Table():
            return _table(part.columns, [tuple(map(_cell, row)) for row in part.rows], word_columns=part.words)
        case Picture():
            return _figure(part)


def text_html(text: str | Marked) -> str:
    """A text of a report as HTML."""
    if isinstance(text, Marked):
        pieces = map(html.escape, text)
        return "".join(f"<b>{piece}</b>" if number % 2 else piece for number, piece in enumerate(pieces))
    strong = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", strong)


def _cell(cell: Cell) -> str:
    if isinstance(cell, Share):
        return f'<meter min="0" max="1" value="{cell.share:.4f}" aria-label="{100 * cell.share:.0f} %"></meter>'
    return text_html(cell) if isinstance(cell, Marked) else html.escape(cell)
