"""One mistake, two readers: Python's message names parameters, the command line's names options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import symveil as sv

from .running import symveil

FILES = {
    "wide.csv": "trip_id,links\n1,a b\n2,b x\n",
    "semicolons.csv": "trip_id;links\n1;a b\n",
    "tabs.csv": "trip_id\tlinks\n1\ta b\n",
    "letters.csv": "trip_id,links\n1,ab\n",
    "two.csv": "one,other\na b,b a\n",
    "twice.csv": "trip_id,links\n1,a\n1,b\n",
    "days.csv": "who,day,what\n1,31.12.2026,a\n",
}
# file, parameters, options, a piece of Python's message, a piece of the command line's
MISTAKES: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("wide.csv", {}, "", "`on_unknown='drop-sequence'` leaves", "--on-unknown drop-sequence leaves"),
    ("semicolons.csv", {}, "", "with `delimiter=';'`", 'with --delimiter ";"'),
    ("tabs.csv", {}, "", "with `delimiter='\\t'`", "with --delimiter tab"),
    ("letters.csv", {}, "", 'need `separator=""`', 'need --separator ""'),
    ("two.csv", {}, "", "Name it with `sequence`, or name `case` and", "Name it with --sequence, or name --case and"),
    ("twice.csv", {}, "", "name `case` and `symbol`", "name --case and --symbol"),
    ("wide.csv", {"identifier": "trip"}, "--id trip", "'trip' (`identifier`)", "'trip' (--id)"),
    (
        "wide.csv",
        {"identifier": "trip_id", "case": "trip_id"},
        "--id trip_id --case trip_id",
        "identifier: expected no `identifier` with `case`",
        "id: expected no --id with --case",
    ),
    ("wide.csv", {"sequence": "route"}, "--sequence route", "'route' (`sequence`)", "'route' (--sequence)"),
    ("wide.csv", {"max_length": 0}, "--max-length 0", "max_length: expected", "max-length: expected"),
    ("wide.csv", {"start": "2026-01-01"}, "--start 2026-01-01", "(`case`, `symbol`)", "(--case, --symbol)"),
    (
        "days.csv",
        {"case": "who", "order": "day", "symbol": "what"},
        "--case who --order day --symbol what",
        "need `date_format`, such",
        "need --date-format, such",
    ),
    ("wide.csv", {"longest": 1}, "--longest 1", "raise `longest` if", "raise --longest if"),
    ("wide.csv", {"again": True, "release_id": "r"}, "--again --release-id r", "again: expected", "again: expected"),
    (
        "wide.csv",
        {"metric": "levenshtein", "mechanism": "edit", "max_length": 1},
        "--metric levenshtein --mechanism edit --max-length 1",
        "the public bound `max_length`",
        "the public bound --max-length",
    ),
]


@pytest.mark.parametrize(("name", "parameters", "options", "python", "typed"), MISTAKES)
def test_a_mistake_is_named_in_the_words_of_who_made_it(
    tmp_path: Path, name: str, parameters: dict[str, Any], options: str, python: str, typed: str
) -> None:
    source, out = tmp_path / name, tmp_path / f"out-{name}"
    source.write_text(FILES[name])
    with pytest.raises(sv.SymveilError) as error:
        sv.privatize_file(source, out, alphabet="ab", epsilon=1, **parameters)
    assert python in str(error.value) and "--" not in str(error.value)
    asked = ["privatize", str(source), "--out", str(out), "--alphabet", "ab", "--epsilon", "1"]
    line = symveil(*asked, *options.split()).assert_one_error_line()
    assert typed in line and "`" not in line


def test_notes_and_checks_too(tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("trip_id,who,links\n1,ann,a b\n")
    made = sv.privatize_file(source, out, alphabet="ab", epsilon=1, sequence="links", person="who")
    assert "no one is charged: `person` says who pays, and there is no `ledger`" in made.notes
    asked = ["privatize", str(source), "--out", str(out), "--alphabet", "ab", "--epsilon", "1", "--sequence", "links"]
    assert "no one is charged: --person says who pays" in symveil(*asked, "--person", "who").err


def test_an_option_whose_value_is_missing_is_named() -> None:
    asked = ("learn", "in.csv", "--alphabet", "ab", "--lengths", "2..4", "--epsilon", "1", "--out", "model.json")
    done = symveil(*asked, "--time", "--period", "2024-01-01..2024-02-01")
    assert done.assert_one_error_line() == "symveil: error: time: expected a value (COL), found the option --period"
