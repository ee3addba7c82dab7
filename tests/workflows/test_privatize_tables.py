"""Tables in memory: what comes in as pandas, polars or Arrow goes out as that, released as a file would be."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import symveil as sv
from symveil.errors import FileError, ParameterError, WordError
from symveil.randomness import NotPrivateSeededBits

COLUMNS = {"trip_id": [7, 8, 9], "links": [["a", "b", "a"], [], ["b"]], "rider": ["ann", "ben", "ann"]}
TEXTS = COLUMNS | {"links": ["a b a", "", "b"]}
EVENTS = {"who": ["x", "y", "x"], "when": [2, 1, 1], "what": ["b", "c", "a"]}
MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]


def cells(frame) -> dict[str, list]:
    if isinstance(frame, pd.DataFrame):
        return {str(name): list(frame[name]) for name in frame.columns}
    return frame.to_dict(as_series=False) if isinstance(frame, pl.DataFrame) else frame.to_pydict()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("columns", [COLUMNS, TEXTS])
def test_a_sequence_in_each_row(make, columns) -> None:
    """At a large budget nothing changes: what is left is the form, which is the table's."""
    frame = make(columns)
    private = sv.privatize(frame, alphabet="ab", epsilon=1000, keep=["rider"])
    assert type(private) is type(frame)
    assert cells(private) == columns
    alone = sv.privatize(frame, alphabet="ab", epsilon=1000, sequence="links")
    assert list(cells(alone)) == ["trip_id", "links"]  # what is not kept does not pass


@pytest.mark.parametrize("make", MAKERS)
def test_an_event_in_each_row(make) -> None:
    private = sv.privatize(make(EVENTS), alphabet="abc", epsilon=1000, case="who", order="when", symbol="what")
    assert cells(private) == {"who": ["x", "x", "y"], "when": [1, 2, 1], "what": ["a", "b", "c"]}


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("columns", [COLUMNS, TEXTS])
def test_a_table_without_rows(make, columns) -> None:
    frame = make(columns)[:0] if make is not pa.table else make(columns).slice(0, 0)
    private = sv.privatize(frame, alphabet="ab", epsilon=1, sequence="links")
    assert cells(private) == {"trip_id": [], "links": []} and type(private) is type(frame)


def test_one_source_of_bits_draws_one_table() -> None:
    """One source of bits draws one table, whatever the library; another one another."""
    many = {"trip_id": list(range(300)), "links": ["a b a b"] * 300}
    drawn = [
        cells(sv.privatize(make(many), alphabet="ab", epsilon=1, bits=NotPrivateSeededBits(seed)))["links"]
        for make in MAKERS
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] == drawn[3] == drawn[6] and drawn[2] == drawn[5] != drawn[0]
    kept = sum(word == "a b a b" for word in drawn[0])
    assert 0 < kept < 300


def test_an_index_does_not_pass_and_decides_nothing() -> None:
    frame = pd.DataFrame(TEXTS, index=["secret 1", "secret 2", "secret 3"])
    private = sv.privatize(frame, alphabet="ab", epsilon=1000, sequence="links")
    assert list(private.index) == [0, 1, 2]


def test_columns_of_words() -> None:
    texts = pd.Series(["ab", "", "bba"], index=[3, 1, 2], name="w")
    private = sv.privatize(texts, alphabet="ab", epsilon=1000)
    pd.testing.assert_series_equal(private, texts, check_dtype=False)
    lists = pl.Series("w", [["a", "b"], [], ["b"]])
    assert sv.privatize(lists, alphabet="ab", epsilon=1000).equals(lists)
    arrow = pa.array(["ab", "b"])
    assert sv.privatize(arrow, alphabet="ab", epsilon=1000).equals(arrow)
    for holed in (pd.Series(["ab", None]), pl.Series(["ab", None]), pa.array(["ab", None])):
        with pytest.raises(ParameterError, match="words: expected a word in every row .*, found none in row 2"):
            sv.privatize(holed, alphabet="ab", epsilon=1)


def test_lengths_may_be_secret() -> None:
    frame = pd.DataFrame(COLUMNS)
    private = sv.privatize(frame, alphabet="ab", epsilon=1000, sequence="links", metric="levenshtein")
    assert list(private["links"]) == COLUMNS["links"]
    with pytest.raises(ParameterError, match="metric: expected one sequence per row"):
        sv.privatize(
            pd.DataFrame(EVENTS),
            alphabet="abc",
            epsilon=1,
            metric="levenshtein",
            case="who",
            order="when",
            symbol="what",
        )


SECRET = "kx7secret"


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_refused_is_refused_in_one_line_without_a_secret(make) -> None:
    def refused(kind, message: str, frame, **named) -> None:
        with pytest.raises(kind, match=message) as error:
            sv.privatize(frame, **({"alphabet": "ab", "epsilon": 1} | named))
        assert SECRET not in str(error.value) and "\n" not in str(error.value)

    wrong = make({"id": [1, 2], "s": ["a", f"a {SECRET}"]})
    refused(WordError, "table: row 2: expected a sequence of the alphabet, .* at position 2 of 2 is not in it", wrong)
    refused(FileError, "one column that can hold the sequences, found 2", make({"u": ["a"], "v": [SECRET]}))
    refused(FileError, "one column 'links' .--sequence., found none in 2 columns", wrong, sequence="links")
    refused(FileError, "row 2: expected a sequence, found none", make({"id": [1, 2], "s": ["a", None]}))
    refused(ParameterError, "person: expected privatize_file with it", wrong, columns=sv.ColumnOptions(person="id"))
    refused(WordError, "row 1: .* at position 1 of 1 is not in it$", make({"s": [[1.5]]}))


def test_a_table_that_arrow_does_not_take_shows_no_cell() -> None:
    mixed = pd.DataFrame({"id": [1, 2], "s": ["a", [SECRET]]})
    with pytest.raises(FileError, match="table: expected columns of one type each") as error:
        sv.privatize(mixed, alphabet="ab", epsilon=1)
    assert SECRET not in str(error.value) and error.value.__cause__ is None
    with pytest.raises(FileError, match="expected columns with names, found a column 0"):
        sv.privatize(pd.DataFrame([["a"]]), alphabet="ab", epsilon=1)


def test_a_table_in_the_wrong_place(tmp_path: Path) -> None:
    frame = pd.DataFrame(TEXTS)
    wrong = r"path: expected the name of a file, found a DataFrame \(privatize takes tables"
    with pytest.raises(ParameterError, match=wrong):
        sv.privatize_file(frame, tmp_path / "out.csv", alphabet="ab", epsilon=1)
    with pytest.raises(ParameterError, match=wrong):
        sv.count(frame, "visits", epsilon=1, alphabet="ab")
    with pytest.raises(ParameterError, match=wrong):
        sv.estimate(frame, "visits")
    with pytest.raises(ParameterError, match=wrong):
        sv.learn(frame, tmp_path / "m.json", epsilon=1, lengths=(1, 3), alphabet="ab")
    for words in (["ab"], pd.Series(["ab"])):
        with pytest.raises(ParameterError, match="sequence: expected a table with it, found words"):
            sv.privatize(words, alphabet="ab", epsilon=1, sequence="links")
    with pytest.raises(ParameterError, match="words: expected words, a column or a table of them, found a int"):
        sv.privatize(7, alphabet="ab", epsilon=1)


def test_tables_are_compared() -> None:
    true, private = pd.DataFrame(TEXTS), pl.DataFrame(TEXTS)
    assert sv.compare(true, private, sequence="links").metrics["visits_jsd"] == 0


def test_a_column_of_text_with_a_separator() -> None:
    """Issue: it was split into characters, or refused."""
    trips = pa.array(["home work", "work", ""])
    private = sv.privatize(trips, alphabet=["home", "work"], epsilon=1000, separator=" ")
    assert private.to_pylist() == trips.to_pylist()
    with pytest.raises(ParameterError, match="case: expected a table with it"):
        sv.privatize(trips, alphabet=["home", "work"], epsilon=1, case="c")
