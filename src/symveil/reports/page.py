"""A self-contained HTML page: one file, no external request, readable in light and dark."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from symveil.reports.report import Bars, Facts, Listing, Part, Picture, Report, Section, Table, Text

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
td.word { font-family: ui-monospace, monospace; font-size: .88rem; }
td.word b { color: var(--mark); }
figure { margin: 1rem 0; background: #fff; border: 1px solid var(--line); border-radius: 8px; padding: .5rem; }
figure svg { width: 100%; min-width: 34rem; height: auto; display: block; }
"""


def page(title: str, lead: str, sections: Iterable[tuple[str, str]], *, style: str = "") -> str:
    """A page with a title, a sentence, and sections of (heading, ready HTML); `style` is added to its own."""
    body = "\n".join(f"<section><h2>{html.escape(heading)}</h2>\n{content}</section>" for heading, content in sections)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{style}</style></head>\n"
        f'<body><h1>{html.escape(title)}</h1><p class="lead">{html.escape(lead)}</p>\n{body}\n</body></html>\n'
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, word_columns: Sequence[int] = ()) -> str:
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
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'


def figure(svg: str) -> str:
    """An SVG picture, inline."""
    start = svg.index("<svg")
    return f'<figure class="scroll">{svg[start:]}</figure>\n'


def report_page(report: Report, *, style: str = "") -> str:
    """A report as a page of its own.

    Parameters
    ----------
    report
        What is shown.
    style
        Added to the page's own.

    >>> from symveil.reports.report import facts_report
    >>> "<td>steps</td><td>3</td>" in report_page(facts_report("A walk", [("steps", "3")]))
    True
    """
    warned = "".join(f'<p class="warning">{text_html(each[:1].upper() + each[1:])}.</p>' for each in report.warnings)
    sections = [(section.heading, section_html(section)) for section in report.sections]
    if warned:
        sections.insert(0, ("Before you read on", warned))
    return page(report.title, report.lead, sections, style=style)


def section_html(section: Section) -> str:
    """The parts of a section as HTML.

    Parameters
    ----------
    section
        Its heading is for the caller to set.
    """
    return "".join(map(part_html, section.parts))


def part_html(part: Part) -> str:
    """A part of a section as HTML.

    >>> part_html(Text("at most **7.4** & less", "quiet"))
    '<p class="quiet">at most <b>7.4</b> &amp; less</p>'
    """
    match part:
        case Text():
            kind = "" if part.kind == "plain" else f' class="{part.kind}"'
            return f"<p{kind}>{text_html(part.text)}</p>"
        case Listing():
            return f"<ul>{''.join(f'<li>{text_html(item)}</li>' for item in part.items)}</ul>"
        case Facts():
            return table(("", ""), [tuple(map(text_html, row)) for row in part.rows])
        case Table():
            return table(part.columns, [tuple(map(text_html, row)) for row in part.rows], word_columns=part.words)
        case Bars():
            rows = [(text_html(label), text_html(number), _meter(share)) for label, number, share in part.rows]
            return table((*part.columns, ""), rows)
        case Picture():
            return figure(part.svg)


def text_html(text: str) -> str:
    """A text of a report as HTML."""
    strong = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", strong)


def _meter(share: float) -> str:
    return f'<meter min="0" max="1" value="{share:.4f}"></meter>'
