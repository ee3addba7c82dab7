"""Tables in memory: what comes in as pandas, polars or Arrow goes out as that, released as a file would be."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import symveil as sv
from symveil.errors import FileError, ParameterError, SymveilWarning, WordError
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
    refused(FileError, "one column 'links' .`sequence`., found none in 2 columns", wrong, sequence="links")
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
    wrong = r"path: expected the name of a file, found a DataFrame \(privatize, count, learn and estimate take tables"
    with pytest.raises(ParameterError, match=wrong):
        sv.privatize_file(frame, tmp_path / "out.csv", alphabet="ab", epsilon=1)
    with pytest.raises(ParameterError, match=wrong.replace("path", "out")):
        sv.learn(tmp_path / "in.csv", frame, epsilon=1, lengths=(1, 3), alphabet="ab")
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


# --- the promise, and what the holder is told ----------------------------------------------------------

ROADS = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "a", 1), ("c", "a", 1)]


@pytest.mark.parametrize("given", ["object", "path", "text"])
def test_a_model_may_be_a_file(tmp_path: Path, given: str) -> None:
    chain, file = sv.MarkovChain.from_transitions(ROADS), tmp_path / "roads.json"
    sv.save_model(chain, file)
    model = {"object": chain, "path": file, "text": str(file)}[given]
    private = sv.privatize(pd.DataFrame(TEXTS), model=model, epsilon=1, adjacency=1, sequence="links")
    assert [len(each.split()) for each in private["links"]] == [3, 0, 1]
    assert private.attrs["symveil"]["model"] == {
        "kind": "markov-chain",
        "file": None if given == "object" else "roads.json",
    }


def test_a_private_table_of_pandas_has_its_promise(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    pd.DataFrame(TEXTS).to_csv(source, index=False)
    private = sv.privatize(pd.DataFrame(TEXTS), alphabet="ab", epsilon=2, keep=["rider"])
    promise = private.attrs["symveil"]
    of_file = sv.privatize_file(source, tmp_path / "out.csv", alphabet="ab", epsilon=2, keep=["rider"]).manifest
    for key in (
        "mechanism",
        "epsilon",
        "guarantee",
        "b",
        "how",
        "law",
        "classes",
        "counts",
        "alphabet",
        "kept",
        "unit",
    ):
        assert promise[key] == of_file[key], key
    assert promise["guarantee"]["loss_at"][2] == {"distance": 3, "epsilon": 6.0}
    assert promise["passes_unprotected"] == of_file["passes_unprotected"]
    assert promise["passes_unprotected"][:3] == ["trip_id", "rider", "number of sequences"]
    assert json.loads(json.dumps(promise)) == promise  # pandas writes it into Parquet files
    assert pd.DataFrame(TEXTS).attrs == {}


def test_the_promise_says_nothing_about_words() -> None:
    """Tables of the same public form: their promises are the same to the last character."""
    one, other = (pd.DataFrame(TEXTS | {"links": links}) for links in (["a b a", "", "b"], ["b b b", "", "a"]))
    said = {
        json.dumps(sv.privatize(each, alphabet="ab", epsilon=2, sequence="links").attrs, sort_keys=True)
        for each in (one, other)
    }
    assert len(said) == 1


def test_the_attributes_of_the_true_table_do_not_pass() -> None:
    frame = pd.DataFrame(TEXTS)
    frame.attrs["rows"] = ["a secret"]
    assert list(sv.privatize(frame, alphabet="ab", epsilon=2, sequence="links").attrs) == ["symveil"]
    series = pd.Series(["ab", "b"], index=["r1", "r2"])
    series.attrs["rows"] = ["a secret"]
    promise = sv.privatize(series, alphabet="ab", epsilon=2).attrs
    assert list(promise) == ["symveil"] and promise["symveil"]["passes_unprotected"][0] == "the index"
    assert promise["symveil"]["counts"]["symbols"] == 3


def warned(call) -> list[str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in said if issubclass(each.category, SymveilWarning)]


@pytest.mark.parametrize("make", MAKERS)
def test_a_large_epsilon_warns_as_on_the_command_line(make) -> None:
    for words in (make(TEXTS), ["ab"], pd.Series(["ab"])):
        own = {"sequence": "links"} if not isinstance(words, list | pd.Series) else {}
        said = warned(lambda words=words, own=own: sv.privatize(words, alphabet="ab", epsilon=50, **own))
        assert said == ["epsilon 50 is hardly any privacy: odds may shift by a factor above 10^21"]
        assert warned(lambda words=words, own=own: sv.privatize(words, alphabet="ab", epsilon=20, **own)) == []


def test_files_counts_and_models_warn_too(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    pd.DataFrame({"trip_id": [1, 2], "links": ["a b", "b a"]}).to_csv(source, index=False)
    for call in (
        lambda: sv.privatize_file(source, tmp_path / "out.csv", alphabet="ab", epsilon=50),
        lambda: sv.count(source, "visits", epsilon=50, alphabet="ab", bound=2),
        lambda: sv.count_file(source, "visits", epsilon=50, alphabet="ab", bound=2, out=tmp_path / "out.json"),
        lambda: sv.learn(source, tmp_path / "model.json", epsilon=50, lengths=(1, 3), alphabet="ab"),
    ):
        assert warned(call) == ["epsilon 50 is hardly any privacy: odds may shift by a factor above 10^21"]


def test_ids_that_are_dropped_are_named_by_their_columns() -> None:
    frame = pd.DataFrame({"trip_id": ["s1", "s2"], "rider_id": ["s3", "s4"], "links": ["a", "b"], "hour": [1, 2]})
    asked = {"alphabet": "ab", "epsilon": 1, "sequence": "links"}
    (said,) = warned(lambda: sv.privatize(frame, **asked))
    assert said.startswith("ids do not pass: 'trip_id' and 'rider_id' look like ids") and "s1" not in said
    assert warned(lambda: sv.privatize(frame, **asked, identifier="trip_id")) == []
    assert warned(lambda: sv.privatize(frame.drop(columns="rider_id"), **asked)) == []
    (said,) = warned(lambda: sv.privatize(frame.set_index("trip_id")[["links"]], **asked))
    assert "the index 'trip_id'" in said and "s1" not in said
    assert warned(lambda: sv.privatize(frame[frame.hour > 1][["links"]], **asked)) == []  # a numbering with gaps


def test_ids_that_are_dropped_and_sequences_that_are_left_out_of_files(tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = "".join(f"s{n},r{n},{'a b' if n else 'x'}\n" for n in range(50))
    source.write_text("trip_id,rider_id,links\n" + rows)
    asked = {"alphabet": "ab", "epsilon": 1, "sequence": "links", "on_unknown": "drop-sequence"}
    left_out, ids = warned(lambda: sv.privatize_file(source, out, **asked))
    assert left_out.startswith("1 of 50 sequences (2 %) are left out") and "'trip_id' and 'rider_id'" in ids
    source.write_text("trip_id,rider_id,links\n" + rows + "".join(f"t{n},r{n},a b\n" for n in range(50)))
    assert warned(lambda: sv.privatize_file(source, out, **asked, identifier="trip_id")) == []  # 1 of 100
