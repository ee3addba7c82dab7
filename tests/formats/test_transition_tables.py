"""Transition tables in CSV and Parquet: chains and transition systems, refused at their line."""

from __future__ import annotations

import gzip
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import FileError, InputError
from symveil.formats.models.model_files import load_model
from symveil.formats.models.transition_tables import read_transition_table
from symveil.models.automaton import TransitionSystem
from symveil.models.markov_chain import MarkovChain

HALVES = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])


@pytest.fixture
def table(tmp_path):
    def write(text: str, name: str = "table.csv"):
        file = tmp_path / name
        content = text.encode()
        file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return file

    return write


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz", "TABLE.CSV"])
def test_a_chain(table, name: str) -> None:
    assert load_model(table("from,to,probability\na,a,0.5\na,b,1/2\nb,a,1\n", name)) == HALVES


def test_tabs_quotes_a_byte_order_mark_and_windows_line_ends(table) -> None:
    text = '\ufefffrom\tto\tprobability\r\n"a"\ta\t0.5\r\n\r\na\tb\t0.5\r\nb\ta\t1\r\n'
    assert load_model(table(text, "table.tsv")) == HALVES


def test_without_probabilities_every_move_is_equally_likely_and_a_note_says_so(table) -> None:
    notes: list[str] = []
    file = table("from_link,to_link,turn\na,a,3\na,b,4\nb,a,5\n")
    assert load_model(file, notes=notes) == HALVES
    assert notes == [
        f"{file}: columns not used: 'turn'",
        f"{file}: no column of probabilities: every move from a state is taken as equally likely",
    ]


def test_an_exact_name_wins_over_one_that_only_begins_so(table) -> None:
    assert load_model(table("from_x,to_x,to,from\n1,2,b,a\n")).states == ("a", "b")


def test_a_transition_system(table) -> None:
    file = table("from,symbol,to\ns,go,t\nt,back,s\n")
    notes: list[str] = []
    rows = [("s", "go", "t"), ("t", "back", "s")]
    assert read_transition_table(file, notes=notes) == TransitionSystem.from_transitions(rows, initial="s")
    assert notes == ["the first row's state, 's', is taken as the initial state"]
    assert read_transition_table(file, initial="t") == TransitionSystem.from_transitions(rows, initial="t")


def test_rounded_probabilities_are_normalised(table) -> None:
    notes: list[str] = []
    chain = read_transition_table(
        table("from,to,probability\na,a,0.3333333333\na,b,0.6666666666\nb,a,1.0\n"), notes=notes
    )
    assert chain.transitions[1][2] == Fraction(2, 3)
    assert notes == ["the probabilities of 1 state were normalised to sum to exactly 1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a transition table with a header line, found an empty file"),
        (
            "a,b,0.5\n",
            "expected columns from, to and probability (or none), or from, symbol, to, found 'a', 'b', '0.5'",
        ),
        ("from,to\n", "expected at least one row in a transition table, found none"),
        ("from,from,to\na,b,c\n", "expected one column 'from', found 2"),
        ("from,to,symbol,probability\na,b,c,1\n", "expected a column symbol or a column probability, found both"),
        ("from,to\na,b\na\n", "line 3: expected 2 cells, as in the header, found 1"),
        ("from,to\na,b\n\nb,\n", "line 4: expected a name in every cell, found none"),
        ("from,to,probability\na,b,much\n", "line 2: expected a probability such as 0.5"),
        ("from,to,probability\na,b,\n", "line 2: expected a probability such as 0.5"),
        ("from,to,probability\na,b,1e999999999\n", "line 2: expected a probability such as 0.5"),
        ("from,to,probability\na,b,0.5\na,c,0\n", "line 3: expected a probability above 0"),
        (
            "from,to,probability\na,b,0.9\n",
            "transitions: expected the probabilities of state 'a' to sum to 1, found 0.9",
        ),
        ('from,to\n"a\nb",c\n"a\nb",c\n', "line 4: expected one transition from 'a\\nb' to 'c', found a second"),
        ("from,symbol,to\na,x,b\na,x,b\n", "line 3: expected each transition once"),
        ('from,to\na,"b\n', "line 2: expected comma-separated values"),
        ('from,to\na,"b"c\n', "line 2: expected comma-separated values"),
        (
            f"from,to\na,{'b' * 200_000}\n",
            "line 2: expected comma-separated values, found field larger than field limit",
        ),
    ],
)
def test_what_is_wrong_is_said_at_its_line(table, text: str, message: str) -> None:
    file = table(text)
    with pytest.raises(InputError) as caught:
        load_model(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_bytes_that_are_no_text(tmp_path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(b"from,to\n\xff,b\n")
    with pytest.raises(FileError, match="in UTF-8, found other bytes"):
        load_model(file)


# --- Parquet ---------------------------------------------------------------------------------------


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    "chances",
    [
        pa.array([0.5, 0.5, 1.0]),
        pa.array([0.5, 0.5, 1.0], pa.float32()),
        pa.array([Decimal("0.5"), Decimal("0.5"), Decimal("1.0")]),
        pa.array(["1/2", "0.5", "1"]),
    ],
    ids=lambda column: str(column.type),
)
def test_a_chain_in_parquet(tmp_path, chances) -> None:
    file = parquet(tmp_path / "t.parquet", **{"from": ["a", "a", "b"], "to": ["a", "b", "a"], "probability": chances})
    assert load_model(file) == HALVES


def test_whole_numbers_and_dictionaries_are_names(tmp_path) -> None:
    target = pa.array(["8", "7"]).dictionary_encode()
    file = parquet(tmp_path / "t.parquet", from_id=pa.array([7, 8], pa.int8()), to_id=target)
    assert load_model(file).transitions == (("7", "8", 1), ("8", "7", 1))


def test_a_gzipped_parquet_file(tmp_path) -> None:
    file = parquet(tmp_path / "t.parquet", **{"from": ["a"], "to": ["b"]})
    packed = tmp_path / "t.parquet.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert load_model(packed) == load_model(file)


def test_a_short_float_is_the_decimal_it_prints_as(tmp_path) -> None:
    chances = pa.array([0.1, 0.9], pa.float32())
    file = parquet(tmp_path / "t.parquet", **{"from": ["a", "a"], "to": ["a", "b"], "probability": chances})
    assert load_model(file).transitions[0][2] == Fraction(1, 10)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"from": ["a", None], "to": ["b", "c"]}, "row 2: expected a name in every cell, found none"),
        ({"from": [1.5], "to": ["b"]}, "row 1: expected a name in every cell, found a float"),
        ({"from": [True], "to": ["b"]}, "row 1: expected a name in every cell, found a bool"),
        ({"from": ["a"], "to": ["b"], "probability": pa.array([None], pa.float64())}, "row 1: expected a probability"),
        ({"from": ["a"], "to": ["b"], "probability": [float("nan")]}, "row 1: expected a probability"),
        ({"from": ["a"], "to": ["b"], "probability": [True]}, "row 1: expected a probability"),
        ({"x": ["a"], "y": ["b"]}, "expected columns from, to"),
        ({"from": pa.array([], pa.string()), "to": pa.array([], pa.string())}, "at least one row"),
    ],
)
def test_what_is_wrong_in_parquet_is_said_at_its_row(tmp_path, columns, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_model(parquet(tmp_path / "t.parquet", **columns))
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1nonsensePAR1", bytes(100)])
def test_other_files_called_parquet_are_refused(tmp_path, content: bytes) -> None:
    file = tmp_path / "t.parquet"
    file.write_bytes(content)
    with pytest.raises(FileError, match="expected a Parquet file"):
        load_model(file)
    with pytest.raises(FileError, match="expected a Parquet file"):
        load_model(tmp_path / "none.parquet")


def test_a_damaged_parquet_file_is_read_or_refused(tmp_path) -> None:
    whole = parquet(tmp_path / "whole.parquet", **{"from": ["a", "a", "b"], "to": ["a", "b", "a"]}).read_bytes()
    damaged = tmp_path / "damaged.parquet"
    for place in range(0, len(whole), 3):
        damaged.write_bytes(whole[:place] + b"\x80" + whole[place + 1 :])
        try:
            load_model(damaged)
        except InputError as error:
            assert str(damaged) in str(error)
