"""`symveil estimate`: a table, one JSON document, files and a picture; refusals in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import symveil as sv

from .running import symveil

KEYS = ["symbols", "released", "estimate", "standard_error", "low", "high", "low_all", "high_all", "consistent"]


@pytest.fixture
def private(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("true.csv").write_text("id,pages\n" + "".join(f"{i},a b a\n{i}x,b c\n" for i in range(60)))
    sv.privatize_file("true.csv", "private.csv", alphabet="abc", epsilon=3)
    Path("places.csv").write_text("symbol,x,y\na,0,0\nb,1,2\n")
    return Path("private.csv")


def test_the_example_of_the_help_works(private) -> None:
    assert "Example: symveil estimate private.csv --statistic ngrams:2" in symveil("estimate", "--help").out
    done = symveil("estimate", "private.csv", "--statistic", "ngrams:2")
    assert done.status == 0
    assert "a → b" in done.out and "9 of 9 rows, exact-unbiased" in done.out
    assert "symveil: note: it costs no privacy" in done.err


def test_a_table_of_lengths_has_no_column_of_symbols(private) -> None:
    table = symveil("estimate", "private.csv", "--statistic", "lengths").out
    assert "length" in table and "symbols" not in table


def test_a_document_and_files(private) -> None:
    done = symveil(
        *("estimate", "private.csv", "--statistic", "ngrams:2", "--json", "--top", "2", "--target", "population"),
        *("--out", "t.csv", "--plot", "t.svg", "--confidence", "0.9"),
    )
    document = done.document
    assert {key: document[key] for key in ("statistic", "method", "target", "confidence")} == {
        "statistic": "ngrams:2",
        "method": "exact-unbiased",
        "target": "population",
        "confidence": 0.9,
    }
    assert len(document["rows"]) == 2 and list(document["rows"][0]) == KEYS
    assert document["rows"][0]["consistent"] >= document["rows"][1]["consistent"]
    assert any("random sample" in each for each in document["assumptions"])
    lines = Path("t.csv").read_text().splitlines()
    assert len(lines) == 10 and lines[0].startswith('"symbol_1","symbol_2","released"')
    assert Path("t.svg").read_text().startswith("<svg")
    for name in ("t.parquet", "t.json"):
        assert symveil("estimate", "private.csv", "--statistic", "od", "--out", name).status == 0
    assert pq.read_table("t.parquet").num_rows == 9
    assert len(json.loads(Path("t.json").read_text())["rows"]) == 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--statistic", "speed"], "statistic: expected one of visits"),
        (["--target", "world"], "target: expected one of file, population"),
        (["--top", "0"], "top: expected a whole number, 1 or more"),
        (["--confidence", "high"], "confidence: expected a number between 0 and 1"),
        (["--out", "t.xlsx"], "out: expected a file name ending in"),
        (["--plot", "t.png"], "plot: expected a file name ending in"),
        (["--manifest", "none.json"], "none.json"),
        (["--cluster", "who"], "one column 'who' (--cluster), found none in 2 columns"),
        (["--places", "places.csv"], "places: expected --plot with it"),
        (
            ["--places", "places.csv", "--plot", "t.svg"],
            "places: expected a place for every symbol, found none for 1, such",
        ),
        (["--places", "none.csv", "--plot", "t.svg"], "none.csv"),
    ],
)
def test_one_line(private, arguments: list[str], said: str) -> None:
    asked = [] if "--statistic" in arguments else ["--statistic", "visits"]
    line = symveil("estimate", "private.csv", *asked, *arguments).assert_one_error_line()
    assert said in line
    assert not Path("t.xlsx").exists() and not Path("t.svg").exists()


def test_a_refusal_names_an_epsilon(private) -> None:
    sv.privatize_file("true.csv", "blurred.csv", alphabet="abc", epsilon="0.1")
    line = symveil("estimate", "blurred.csv", "--statistic", "od").assert_one_error_line()
    assert "nothing can be said about od from this release; epsilon 0.5 would have been enough" in line


@pytest.mark.parametrize("option", ["--out", "--plot"])
@pytest.mark.parametrize("name", ["private.csv", "private.csv.manifest.json", "linked.csv", "linked.svg"])
def test_nothing_that_is_read_is_written_over(private, option, name) -> None:
    """A finished release cannot be drawn again."""
    Path("linked.csv").symlink_to("private.csv")
    Path("linked.svg").symlink_to("private.csv")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    done = symveil("estimate", "private.csv", "--statistic", "visits", option, name)
    assert done.status == 2 and done.err.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_a_released_log_is_refused_as_what_it_is(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    system = Path(__file__).parents[2] / "examples" / "medical.json"
    Path("system.json").write_text(system.read_text())
    Path("log.csv").write_text("run,obs\n1,a d e a\n2,a b e a\n")
    asked = ("enforce", "system.json", "--k", "2", "--epsilon", "2", "--log", "log.csv", "--id", "run")
    released = symveil(*asked, "--sequence", "obs", "--out", "out.csv", "--release-id", "one")
    assert released.status == 0, released.err
    done = symveil("estimate", "out.csv", "--statistic", "visits")
    assert done.status == 2
    assert "found one with a policy for opacity" in done.err


def test_flows_on_a_map(private) -> None:
    Path("places.csv").write_text("symbol,x,y\na,0,0\nb,1,2\nc,3,1\n")
    for statistic, found in (
        ("od", "od: estimates, consistent"),
        ("transitions", "transitions: estimates, consistent"),
        ("visits", "visits: estimates"),
    ):
        asked = ("estimate", "private.csv", "--statistic", statistic, "--places", "places.csv", "--plot", "map.svg")
        assert symveil(*asked).status == 0
        assert f"<title>{found}" in Path("map.svg").read_text()
    asked = ("estimate", "private.csv", "--statistic", "positions", "--places", "places.csv", "--plot", "no.svg")
    line = symveil(*asked, "--out", "t.csv").assert_one_error_line()
    assert "a statistic that names one place or two, such as visits, od or transitions, found positions" in line
    assert not Path("t.csv").exists() and not Path("no.svg").exists()
