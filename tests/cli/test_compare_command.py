"""`symveil compare`: what it prints, writes and refuses, and that every output says whom it is for."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from symveil.cli.main import main
from symveil.tasks.compare import HOLDER_ONLY

from .running import Finished


@pytest.fixture
def run(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("true.csv").write_text("trip_id,links\n1,a b a c\n2,b a\n")
    Path("private.csv").write_text("trip_id,links\n1,a b b c\n2,b a\n")
    Path("places.csv").write_text("symbol,x,y\na,0,0\nb,1,1\nc,2,0\n")

    def run(*arguments: str) -> Finished:
        with pytest.raises(SystemExit) as ended:
            main(["compare", *arguments])
        return Finished(int(ended.value.code or 0), *capsys.readouterr())

    return run


def test_a_table_a_document_and_a_report(run) -> None:
    plain = run("true.csv", "private.csv", "--places", "places.csv", "--out", "report.html")
    assert plain.status == 0 and "For the holder only" in plain.out and HOLDER_ONLY in plain.err
    assert "for the holder" in Path("report.html").read_text().lower()
    assert stat.S_IMODE(Path("report.html").stat().st_mode) == 0o600
    told = run("true.csv", "private.csv", "--places", "places.csv", "--zones", "2", "--json")
    assert told.document["holder_only"] == HOLDER_ONLY and HOLDER_ONLY in told.err
    assert {"visits_jsd", "od_jsd", "diameter_jsd", "log_similarity"} <= set(told.document["metrics"])
    assert told.document["zones"] == "grid 2x2" and told.document["left_out"] == []


def test_patterns_and_top(run) -> None:
    told = run("true.csv", "private.csv", "--patterns", "3", "--top", "1", "--json")
    assert (told.document["patterns"], told.document["top"]) == ([3, 3], 1)
    assert told.document["metrics"]["pattern_f1"] == 0  # aba against abb
    left = run("true.csv", "private.csv", "--patterns", "5..9", "--json")
    assert "pattern_f1 is left out: a file has no sequence of so many symbols" in left.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--patterns", "many"), "patterns: expected a number of symbols, or two such as 2..5, found 'many'"),
        (
            ("--patterns", "5..2"),
            "patterns: expected two numbers of symbols from 2 to 100, the smaller first, such as 2..5, found 5..2",
        ),
        (("--top", "0"), "top: expected a whole number, 1 or more, found 0"),
        (("--out", "report.csv"), "out: expected a file name ending in .html or .htm, found 'report.csv'"),
        (("--zones", "6"), "zones: expected --places with a grid: it is laid over them, found no places"),
        (("--zones", "nowhere.csv"), "nowhere.csv: expected"),
        (("--case", "who"), "true.csv: expected one column 'who' (--case), found none in 2 columns"),
        (("--case", "who", "--sequence", "links"), "sequence: expected no --sequence with --case"),
    ],
)
def test_one_line_for_what_is_wrong(run, arguments, line: str) -> None:
    refused = run("true.csv", "private.csv", *arguments).assert_one_error_line()
    assert refused.startswith(f"symveil: error: {line}")
    assert not Path("report.csv").exists()


def test_patterns_are_refused_for_a_table(run, capsys) -> None:
    """They were read past."""
    count = ["count", "true.csv", "--statistic", "visits", "--epsilon", "5", "--alphabet", "abc", "--out", "table.csv"]
    with pytest.raises(SystemExit):
        main(count)
    capsys.readouterr()
    assert run("true.csv", "table.csv", "--json", "--out", "report.html").document["metrics"]
    assert stat.S_IMODE(Path("report.html").stat().st_mode) == 0o600
    refused = run("true.csv", "table.csv", "--patterns", "3").assert_one_error_line()
    assert "patterns: expected two files of sequences" in refused and "leave --patterns out" in refused
