"""`symveil learn`: a model file, a warning that it is a release, and nothing secret in an error."""

from __future__ import annotations

import json
import shlex
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from symveil.formats.models.model_files import load_model

from .running import symveil

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture
def trips(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("trips.csv").write_text("trip_id,links\n1,a b a c\n2,b a\n")
    return Path("trips.csv")


def test_a_model_and_a_warning(trips) -> None:
    done = symveil("learn", "trips.csv", "--out", "m.json")
    assert done.status == 0
    assert "3, of which 1 dead ends" in done.out
    assert done.err.splitlines() == [
        "symveil: warning: a model learned from private data is itself a release of that data; use it as a public "
        "model only if the data is public"
    ]
    assert load_model("m.json").transitions == (("a", "b", Fraction(1, 2)), ("a", "c", Fraction(1, 2)), ("b", "a", 1))


def test_the_example_of_the_help_works(trips) -> None:
    shutil.copytree(EXAMPLES, "examples")
    shown = symveil("learn", "--help").out.partition("Example: symveil ")[2].partition("\n\n")[0]
    assert symveil(*shlex.split(shown)).status == 0
    known = len(load_model("examples/roads.json").transitions)
    assert len(load_model("model.json").transitions) == known


def test_json_is_one_document_and_nothing_else(trips) -> None:
    done = symveil("learn", "trips.csv", "--out", "m.json", "--json")
    assert done.status == 0
    assert done.document == {
        "model": "m.json",
        "kind": "markov-chain",
        "states": 3,
        "transitions": 3,
        "dead_ends": 1,
        "smooth": "0",
    }


def test_every_option(trips) -> None:
    Path("t.csv").write_text("who,where,when\nx,main st|park rd|main st,1\n")
    Path("g.csv").write_text("from_link,to_link,turn\nmain st,park rd,1\npark rd,main st,2\npark rd,lane,3\n")
    options = ("--sequence", "where", "--id", "who", "--separator", "|", "--from-graph", "g.csv", "--smooth", "1")
    done = symveil("learn", "t.csv", "--out", "m.json", *options)
    assert done.status == 0, done.err
    assert load_model("m.json").transitions == (
        ("main st", "park rd", 1),
        ("park rd", "main st", Fraction(2, 3)),
        ("park rd", "lane", Fraction(1, 3)),
    )


def test_an_event_log(trips) -> None:
    Path("log.csv").write_text("who,when,what\nx,2,b\ny,1,c\nx,1,a\nx,3,a\n")
    options = ("--case", "who", "--order", "when", "--symbol", "what", "--longest", "3", "--gzip-ratio", "5")
    done = symveil("learn", "log.csv", "--out", "m.json", *options, "--json")
    assert (done.status, done.document["states"], done.document["dead_ends"]) == (0, 3, 1), done.err
    assert load_model("m.json").transitions == (("a", "b", 1), ("b", "a", 1))
    line = symveil("learn", "log.csv", "--out", "m.json", *options[:7], "2").assert_one_error_line()
    assert "expected at most 2 symbols in a sequence" in line
    line = symveil("learn", "log.csv", "--out", "m.json", "--case", "who", "--sequence", "what").assert_one_error_line()
    assert "no --sequence with --case" in line


SECRET = "SECRET"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "IN"),
        (("trips.csv",), "--out"),
        (("none.csv", "--out", "m.json"), "none.csv: expected a readable file of sequences, found No such file"),
        (("trips.csv", "--out", "m.json", "--smooth", "-1"), "smooth: expected a number, 0 or more, found -1"),
        (("trips.csv", "--out", "m.json", "--smooth", "lots"), "smooth: expected a number, 0 or more, found 'lots'"),
        (("trips.csv", "--out", "m.json", "--sequence", "x"), "one column 'x' (--sequence), found none in 2 columns"),
        (("trips.csv", "--out", "m.json", "--id", "x"), "one column 'x' (--id), found none in 2 columns"),
        (("trips.csv", "--out", "m.json", "--delimiter", ";;"), "delimiter: expected one character"),
        (("trips.csv", "--out", "m.json", "--from-graph", "none.json"), "none.json: expected a readable model file"),
        (("trips.csv", "--out", "m.json", "--from-graph", "g.csv"), "trips.csv: sequence 1: expected symbols that are"),
        (
            ("secret.csv", "--out", "m.json", "--from-graph", "h.csv"),
            "sequence 2: expected moves that the graph allows",
        ),
        (("headless.csv", "--out", "m.json"), "found 2 (columns 1, 2); which one is it? Name it with --sequence"),
        (("trips.csv", "--out", "trips.csv"), "expected another file than the sequences"),
        (("trips.csv", "--out", "trips.csv/m.json"), "trips.csv/m.json: expected a place to write to"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(trips, arguments, expected: str) -> None:
    Path("g.csv").write_text("from,to\nx,y\n")
    Path("h.csv").write_text(f"from,to\na,b\nb,{SECRET}\n")
    Path("secret.csv").write_text(f"links\na b\na {SECRET}\n")
    Path("headless.csv").write_text(f"{SECRET} a,a {SECRET}\nb,b\n")
    before = sorted(Path.cwd().iterdir())
    line = symveil("learn", *arguments).assert_one_error_line()
    assert expected in line
    assert SECRET not in line
    assert sorted(Path.cwd().iterdir()) == before
    assert trips.read_text().startswith("trip_id")


@pytest.mark.skipif(not (DATA / "shanghai_trips.csv.gz").exists(), reason="needs the Shanghai trips in ../shared/data")
def test_shanghai(tmp_path) -> None:
    out = tmp_path / "roads.json"
    graph = str(DATA / "shanghai_adjacency.csv.gz")
    done = symveil("learn", str(DATA / "shanghai_trips.csv.gz"), "--out", str(out), "--from-graph", graph, "--json")
    assert done.status == 0, done.err
    assert done.document["states"] == 714
    assert json.loads(out.read_text())["kind"] == "markov-chain"
