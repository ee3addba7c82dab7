"""A report is data: every part is shown by the text, the page and the card, and nothing in it is obeyed."""

from __future__ import annotations

import ast
import html
import io
from pathlib import Path

import click
import pytest

import symveil as sv
from symveil.cli.main import cli
from symveil.examples.paper_systems import example_4, pin_checker
from symveil.numbers.texts import counted, epsilon_text, factor, share_of_symbols
from symveil.reports.page import Reported, part_html, report_page
from symveil.reports.report import (
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
    facts_report,
)
from symveil.reports.terminal import report_text
from symveil.tasks.explain import explain_word
from symveil.tasks.explain_report import explanation_report

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>a curve</title></svg>'
PARTS = {
    "text": (Text("a **strong** sentence"), "sentence"),
    "facts": (Facts((("loss", "2"),)), "loss"),
    "table": (Table.from_rows(("symbol", "count"), [("a", "3")], words=(0,)), "symbol"),
    "headline": (Headline("loss = 2", "at most **that**", "exact"), "exact"),
    "bars": (Table.from_numbers(("distance", "probability"), ["0", "1"], [0.25, 0.5]), "0.25"),
    "listing": (Listing(("first of all",)), "first of all"),
}


def text_of(report: Report, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return report_text(report, stream, width=120, looking=False)


def with_part(part: Part) -> Report:
    return Report(title="A report", lead="About it.", sections=(Section("One section", (part,)),))


@pytest.mark.parametrize("name", PARTS)
def test_every_part_is_shown_as_text_and_on_a_page(name: str) -> None:
    part, expected = PARTS[name]
    report = with_part(part)
    assert expected in text_of(report) and "**" not in text_of(report)
    page = report_page(report)
    assert expected in page and "**" not in page
    assert "<title>A report</title>" in page and "<h2>One section</h2>" in page and "About it." in page


def test_a_picture_is_for_pages() -> None:
    report = with_part(Picture(SVG, "curve"))
    assert text_of(report) == ""
    assert SVG in report_page(report)


def test_what_a_text_holds_is_neither_markup_nor_a_command_to_a_terminal() -> None:
    hostile = "<script>x</script>\x1b[2J"
    parts = (
        Text(hostile),
        Facts(((hostile, hostile),)),
        Table.from_rows((hostile,), [(hostile,)]),
        Listing((hostile,)),
        Headline(hostile, hostile),
        Text(Marked((hostile, hostile))),
    )
    for part in parts:
        page = part_html(part)
        assert "<script" not in page and "&lt;script&gt;" in page
        assert "\x1b" not in text_of(with_part(part))
    assert "<script" not in report_page(Report(title=hostile, lead=hostile, sections=(), warnings=(hostile,)))


def test_what_users_type_is_no_markup() -> None:
    marked = Marked(("`a` ", "**", " **b**"))
    for part in (Text(marked), Headline("", marked), Table.from_rows(("word",), [(marked,)])):
        assert "`a` <b>**</b> **b**" in part_html(part)
        assert "`a` ** **b**" in text_of(with_part(part))
    assert "<td>**b**</td>" in part_html(Table.from_rows(("word",), [("**b**",)]))


def test_a_stream_of_few_characters_gets_others() -> None:
    text = text_of(facts_report("ε of it", [("δ", "≤ 1 · 2")]), encoding="cp1252")
    assert "epsilon of it" in text and "delta" in text and "<= 1" in text
    text.encode("cp1252")


def test_bars_are_shares_of_the_longest() -> None:
    bars = Table.from_numbers(("distance", "probability"), ["0", "1", "2"], [0.5, 0.25, 0.0])
    assert [share for *_, share in bars.rows] == [Share(1.0), Share(0.5), Share(0.0)]
    assert Table.from_numbers(("distance", "probability"), ["0"], [0.0]).rows == (("0", "0", Share(0.0)),)
    lines = [line for line in text_of(with_part(bars)).splitlines() if "█" in line]
    assert [line.count("█") for line in lines] == [40, 20]


def test_a_report_says_what_its_result_says() -> None:
    """The numbers of the text are those of the JSON document, rounded against the claim."""
    explanation = explain_word("abcab", sv.Exponential(sv.words("abc", 5), epsilon="2.34567"))
    report, document = explanation_report(explanation), explanation.document()
    facts = report.facts("What would be released")
    loss = float(facts["guarantee"].split()[2])
    assert document["guarantee"]["epsilon"] <= loss < document["guarantee"]["epsilon"] * 1.001  # type: ignore[index]
    assert float(facts["expected error"].split()[0]) == pytest.approx(document["expected_error"], rel=1e-5)
    (law,) = report.sections[1].parts
    assert isinstance(law, Table)
    shown = [float(str(number)) for _, number, _ in law.rows]
    assert shown == pytest.approx([row["probability"] for row in document["distances"]], rel=1e-5)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (epsilon_text(1.2345678), "1.23457"),
        (epsilon_text(float("inf")), "infinite"),
        (factor(2.0), "7.4"),
        (counted(1, "word"), "1 word"),
        (counted(3, "word"), "3 words"),
        (share_of_symbols(2.0, 8), "1 symbol in 4"),
    ],
)
def test_a_number_is_written_in_one_way(text: str, expected: str) -> None:
    assert text == expected


# --- notebooks --------------------------------------------------------------------------------------


def test_a_notebook_shows_the_report_that_the_terminal_prints() -> None:
    """A result says what it says once: what stands in a table of the text stands in a table of the notebook."""
    mechanism = sv.Exponential(sv.words("ab", 2), epsilon=2)
    shown: list[Reported] = [
        mechanism.guarantee,
        mechanism.distances("ab"),
        sv.audit(mechanism),
        sv.lower_bound(sv.words("ab", 2), epsilon=2),
        sv.verify_privacy(pin_checker(), epsilon="0.1"),
        sv.verify_opacity(example_4(), 1),
        sv.violation_probability(example_4(), 1),
        sv.enforce_opacity(example_4(), 1, epsilon=2),
    ]
    for result in shown:
        page, text = result._repr_html_(), report_text(result.report(), io.StringIO(), width=400, looking=False)
        for section in result.report().sections:
            assert html.escape(section.heading) in page
            for part in section.parts:
                cells = [cell for row in part.rows for cell in row] if isinstance(part, Table | Facts) else []
                cells += [part.number, part.badge] if isinstance(part, Headline) else []
                assert all(html.escape(str(cell)) in page and str(cell) in text for cell in cells), type(result)


# --- the commands that show reports ------------------------------------------------------------------

CLI = Path(sv.__file__).parent / "cli"
LONGEST = 150


def commands_in(path: Path) -> int:
    """How many commands a module defines."""
    return sum(
        isinstance(each, ast.FunctionDef)
        and any(isinstance(by, ast.Call) and ast.unparse(by.func) in ("command", "group") for by in each.decorator_list)
        for each in ast.parse(path.read_text("utf-8")).body
    )


def test_a_command_is_short_and_computes_nothing() -> None:
    modules = [path for path in CLI.glob("*.py") if path.name != "main.py" and commands_in(path)]
    assert sum(map(commands_in, modules)) >= len(cli.commands)
    for path in modules:
        text = path.read_text("utf-8")
        assert len(text.splitlines()) <= LONGEST * commands_in(path), path.name
        imported = {
            each.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for each in node.names
        }
        assert not imported & {"math", "numpy", "fractions", "flint", "scipy"}, path.name


def test_a_command_that_shows_a_report_prints_no_table_itself() -> None:
    """What was moved to reports stays there."""
    for name in (
        "audit",
        "check",
        "compare",
        "count",
        "enforce",
        "estimate",
        "explain",
        "ledger",
        "opacity",
        "privatize",
        "verify",
    ):
        command = cli.commands[name]
        callback = (
            next(iter(command.commands.values())).callback if isinstance(command, click.Group) else command.callback
        )
        module = Path(__import__(callback.__module__, fromlist=["_"]).__file__ or "")  # type: ignore[union-attr]
        text = module.read_text("utf-8")
        assert "print_facts" not in text, name
