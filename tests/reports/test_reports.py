"""A report is data: every part is shown by the text, the page and the card, and nothing in it is obeyed."""

from __future__ import annotations

import ast
import html
import io
from pathlib import Path

import pytest

import symveil as sv
from symveil.cli.main import cli
from symveil.examples.paper_systems import example_4, pin_checker
from symveil.numbers.rationals import counted, epsilon_text, factor, share_of_symbols
from symveil.reports.page import Reported, part_html, report_page, text_html
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
from symveil.tasks.explain import average_over_model, explain_word
from symveil.tasks.learn import learn_file
from symveil.tasks.symbols import position_symbols, symbols_file

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
    report, document = explanation.report(), explanation.document()
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


def check_shown_alike(result: Reported) -> None:
    page, text = result._repr_html_(), report_text(result.report(), io.StringIO(), width=400, looking=False)
    for section in result.report().sections:
        assert html.escape(section.heading) in page
        for part in section.parts:
            cells = [cell for row in part.rows for cell in row] if isinstance(part, Table | Facts) else []
            cells += [part.number, part.badge] if isinstance(part, Headline) else []
            cells = [cell for cell in cells if not isinstance(cell, Share)]  # a bar on a page, blocks in a text
            assert all(html.escape(str(cell)) in page and str(cell) in text for cell in cells), type(result)
    for note in (*result.report().notes, *result.report().warnings):
        assert text_html(note) in page, type(result)


def test_a_notebook_shows_the_report_that_the_terminal_prints() -> None:
    """A result says what it says once: what stands in a table of the text stands in a table of the notebook."""
    mechanism = sv.Exponential(sv.words("ab", 2), epsilon=2)
    moves = sv.MarkovChain.from_transitions([("a", "b", "1/2"), ("a", "a", "1/2"), ("b", "a", 1)])
    shown: list[Reported] = [
        mechanism.guarantee,
        mechanism.distances("ab"),
        sv.audit(mechanism),
        sv.lower_bound(sv.words("ab", 2), epsilon=2),
        sv.verify_privacy(pin_checker(), epsilon="0.1"),
        sv.verify_opacity(example_4(), 1),
        sv.violation_probability(example_4(), 1),
        sv.enforce_opacity(example_4(), 1, epsilon=2),
        explain_word("ab", mechanism, count=2),
        average_over_model(mechanism),
        sv.adjacency_table(sv.runs(moves, length=4)),
    ]
    for result in shown:
        check_shown_alike(result)


LOG = "person,links\n" + "".join(f"p{number},a b\n" for number in range(3))
POSITIONS = "trip,lon,lat\n1,8.1,47.1\n1,8.6,47.6\n"


def test_a_notebook_shows_what_a_command_says_of_files(tmp_path: Path) -> None:
    """A private file, its check, a learned model, synthetic words, symbols and budgets: each is one report."""
    source, positions, ledger = tmp_path / "log.csv", tmp_path / "gps.csv", tmp_path / "budgets.db"
    source.write_text(LOG, "utf-8")
    positions.write_text(POSITIONS, "utf-8")
    sv.grant_budget(ledger, 9, everyone=True, compares="words")
    sv.grant_budget(ledger, 9, everyone=True, compares="persons")
    release = sv.privatize_file(
        source, tmp_path / "private.csv", alphabet="ab", epsilon=2, sequence="links", person="person",
        ledger=str(ledger), release_id="words",
    )  # fmt: skip
    learned = sv.learn(
        source, tmp_path / "law.json", alphabet="ab", epsilon=1, lengths=(2, 2), sequence="links", person="person",
        ledger=str(ledger), release_id="law",
    )  # fmt: skip
    drawn = sv.synthesize(learned, tmp_path / "synthetic.csv", count=3)
    cells = position_symbols(grid="2", box="8,47,9,48")
    symbols = symbols_file(positions, tmp_path / "cells.csv", positions=cells, case="trip")
    chain = learn_file(source, tmp_path / "chain.json", sequence="links")
    checked = sv.check_manifest(release.manifest_file)
    totals, account = sv.ledger_status(ledger), sv.person_status(ledger, "p1")
    results: list[Reported] = [release, checked, learned, drawn, symbols, chain, totals, account]
    for result in results:
        check_shown_alike(result)
    assert release.report().facts("Private")["sequences"] == "3 released of 3, 6 symbols"
    assert learned.report().facts("Learned privately")["loss per person"] == "epsilon = 1, for all their records"
    assert drawn.report().facts("Synthesised") == {"words": "3", "file": str(drawn.out)}
    assert symbols.report().facts("Symbols")["symbols that there are"] == "4"
    assert chain.report().facts("Learned")["states"] == "2, of which 1 dead ends"
    assert totals.report().facts("Ledger")["releases"] == "2" and account.report().facts("Ledger")["person"] == "p1"


def test_a_release_that_was_finished_before_says_so_in_its_report(tmp_path: Path) -> None:
    source, ledger = tmp_path / "log.csv", tmp_path / "budgets.db"
    source.write_text(LOG, "utf-8")
    sv.grant_budget(ledger, 9, everyone=True, compares="persons")
    once, again = (
        sv.learn(
            source, tmp_path / "law.json", alphabet="ab", epsilon=1, lengths=(2, 2), sequence="links", person="person",
            ledger=str(ledger), release_id="law",
        )
        for _ in range(2)
    )  # fmt: skip
    assert not any("finished before" in note for note in once.report().notes)
    assert any("finished before" in note for note in again.report().notes)
    assert any("their number is not shown" in note for note in once.report().notes)


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
    """What was moved to reports stays there: a command may state a few facts of its own, and nothing larger."""
    for path in CLI.glob("*.py"):
        imported = {
            f"{node.module}.{each.name}"
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom)
            for each in node.names
        }
        parts = {f"symveil.reports.report.{each}" for each in ("Facts", "Headline", "Section", "Table", "Text")}
        assert not imported & {*parts, "rich.table.Table"}, path.name
