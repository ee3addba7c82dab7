"""Delimiters, words without separators, dates as people write them, and errors that say what to do."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.cli.main import main
from symveil.errors import FileError, ParameterError, SymveilError
from symveil.formats.sequences.records import join_column, split_column
from symveil.tasks.learn import learn_file


def read(file: Path, **options: str) -> list[tuple[str, ...]]:
    return list(sv.read_sequences(file, **options))


def written(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


# --- delimiters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [";", "\t", "|", "^", "]", "§", " "])
def test_any_character_can_separate_cells(tmp_path: Path, delimiter: str) -> None:
    rows = [("id", "s", "note"), ("1", "a,b", "x"), ("2", "b", f'he said "{delimiter}"')]
    lines = [
        delimiter.join(
            '"' + cell.replace('"', '""') + '"' if delimiter in cell or '"' in cell else cell for cell in row
        )
        for row in rows
    ]
    source = written(tmp_path / "in.csv", "\n".join(lines) + "\n")
    assert read(source, sequence="s", separator=",", delimiter=delimiter) == [("a", "b"), ("b",)]
    release = sv.privatize_file(
        source, tmp_path / "out.csv", alphabet="ab", epsilon=1, sequence="s", separator=",", delimiter=delimiter,
        keep=["note"],
    )  # fmt: skip
    assert release.out.read_text().splitlines()[0] == delimiter.join(("id", "s", "note"))
    # the manifest knows how the private file is read
    assert sv.check_manifest(release.manifest_file).holds
    assert len(sv.estimate(release.out, "visits").table) == 2
    assert release.out.read_text().splitlines()[2].endswith(lines[2].split(delimiter, 2)[2])


def test_a_header_with_other_delimiters_names_the_option(tmp_path: Path) -> None:
    source = written(tmp_path / "in.csv", "id;s\n1;secret b\n")
    with pytest.raises(FileError, match="found semicolons and no comma; name them with `delimiter=';'`$") as error:
        read(source)
    assert "secret" not in str(error.value)
    with pytest.raises(FileError, match="found tabs and no comma; name them with `delimiter='\\\\t'`$"):
        read(written(source, "id\ts\n1\ta b\n"))
    assert read(written(source, "id;s\na b\n"), sequence="id;s") == [("a", "b")]  # it is called so


def test_only_csv_has_delimiters(tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": [["a"]]}), tmp_path / "in.parquet")
    with pytest.raises(ParameterError, match="delimiter: expected CSV"):
        read(tmp_path / "in.parquet", delimiter=";")


def test_tab_can_be_typed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path / "in.csv", "id\ts\n1\ta b\n")
    with pytest.raises(SystemExit) as ended:
        main(["learn", str(source), "--out", str(tmp_path / "m.json"), "--delimiter", "tab", "--json"])
    assert not ended.value.code and json.loads(capsys.readouterr().out)["states"] == 2


# --- words of characters ----------------------------------------------------------------------------


@given(
    texts=st.lists(st.none() | st.text(alphabet="aé漢🜁\u0301 |\n\0", max_size=6), max_size=8), skip=st.integers(0, 3)
)
@settings(max_examples=200)
def test_an_empty_separator_splits_at_every_character(texts: list[str | None], skip: int) -> None:
    column = pa.array(texts, type=pa.string()).slice(skip)
    lists = split_column(column, "")
    assert lists.to_pylist() == [None if text is None else list(text) for text in texts[skip:]]
    lists.validate(full=True)
    assert join_column(lists, "").to_pylist() == texts[skip:]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".parquet"])
def test_words_of_characters_in_every_format(tmp_path: Path, suffix: str) -> None:
    source = tmp_path / f"dna{suffix}"
    words = ["ACGT", "", "TTA"]
    if suffix == ".parquet":
        pq.write_table(pa.table({"id": ["1", "2", "3"], "s": words}), source)
    elif suffix == ".jsonl":
        source.write_text("".join(json.dumps({"id": str(n), "s": word}) + "\n" for n, word in enumerate(words, 1)))
    else:
        text = "id,s\n" + "".join(f"{n},{word}\n" for n, word in enumerate(words, 1))
        source.write_bytes(gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode())
    assert read(source, separator="") == [tuple(word) for word in words]
    out = tmp_path / f"private{suffix}"
    release = sv.privatize_file(source, out, alphabet="ACGT", epsilon=20, separator="")
    assert [len(word) for word in read(out, separator="")] == [4, 0, 3]
    assert sv.check_manifest(release.manifest_file).holds
    assert release.manifest["output"]["columns"]["separator"] == ""
    with pytest.raises(SymveilError, match="symbols of one character where the separator is empty"):
        sv.privatize_file(source, tmp_path / f"other{suffix}", alphabet=["A", "GT"], epsilon=1, separator="")


def test_errors_say_how_a_file_may_be_meant(tmp_path: Path) -> None:
    """From public facts alone: the alphabet and the options, whatever the sequence is."""
    source = written(tmp_path / "in.csv", "id,s\n1,ACGTTA\n")
    with pytest.raises(SymveilError, match='; sequences without blanks, such as AC, need `separator=""`$'):
        sv.privatize_file(source, tmp_path / "out.csv", alphabet="ACGT", epsilon=1)
    source = written(tmp_path / "in.csv", "id,s\n1,A > B\n")
    with pytest.raises(SymveilError, match='; blanks beside the separator belong .*: `separator=" > "` if there are'):
        sv.privatize_file(source, tmp_path / "out.csv", alphabet=["A", "B"], epsilon=1, separator=">")
    release = sv.privatize_file(source, tmp_path / "out.csv", alphabet=["A", "B"], epsilon=1, separator=" > ")
    assert release.manifest["counts"]["released"] == 1


# --- dates ------------------------------------------------------------------------------------------

EVENTS = [("x", "03.02.2024 10:00", "c"), ("x", "04.01.2024 09:00", "a"), ("x", "05.01.2024 09:00", "b")]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_dates_as_people_write_them(tmp_path: Path, suffix: str) -> None:
    source = tmp_path / f"log{suffix}"
    columns = {name: [row[index] for row in EVENTS] for index, name in enumerate("cts")}
    if suffix == ".parquet":
        pq.write_table(pa.table(columns), source)
    elif suffix == ".jsonl":
        source.write_text("".join(json.dumps(dict(zip("cts", row, strict=True))) + "\n" for row in EVENTS))
    else:
        source.write_text("c,t,s\n" + "".join(",".join(row) + "\n" for row in EVENTS))
    log = {"case": "c", "order": "t", "symbol": "s"}
    with pytest.raises(
        FileError,
        match="(line|row) [12]: expected numbers or ISO 8601 .* need `date_format`, such as .*, found another value",
    ):
        read(source, **log)
    assert read(source, **log, date_format="%d.%m.%Y %H:%M") == [("a", "b", "c")]
    with pytest.raises(FileError, match="expected a date as `date_format='%d/%m/%Y'` says, found another value"):
        read(source, **log, date_format="%d/%m/%Y")
    for wrong in ("%", "%Q", "day", ""):
        with pytest.raises(ParameterError, match="date_format: expected a format such as"):
            read(source, **log, date_format=wrong)


def test_whole_numbers_can_be_dates(tmp_path: Path) -> None:
    """31 January before 1 February, although 31012024 is larger than 1022024."""
    pq.write_table(pa.table({"c": [1, 1], "t": [31012024, 1022024], "s": ["a", "b"]}), tmp_path / "log.parquet")
    log = {"case": "c", "order": "t", "symbol": "s"}
    assert read(tmp_path / "log.parquet", **log) == [("b", "a")]
    source = written(tmp_path / "log.csv", "c,t,s\n1,31012024,a\n1,01022024,b\n")
    assert read(source, **log, date_format="%d%m%Y") == [("a", "b")]


# --- messages ---------------------------------------------------------------------------------------


def test_an_empty_cell_is_told_by_its_own_line(tmp_path: Path) -> None:
    source = written(tmp_path / "log.csv", "c,t,s\nx,3,b\nx,1,a\ny,5,a\nx,2,\n")
    log = {"case": "c", "order": "t", "symbol": "s", "alphabet": "ab", "epsilon": 1}
    with pytest.raises(FileError, match="line 5: expected a symbol, found an empty one"):
        sv.privatize_file(source, tmp_path / "out.csv", **log)
    assert (
        sv.privatize_file(source, tmp_path / "out.csv", on_unknown="drop-sequence", **log).manifest["counts"][
            "released"
        ]
        == 1
    )


def test_a_wrong_name_lists_the_columns_where_they_are_surely_names(tmp_path: Path) -> None:
    source = written(tmp_path / "log.csv", "who,when,what\nx,1,a\n")
    with pytest.raises(FileError, match="one column 'sym' .`symbol`., found none in 3 columns: who, when, what$"):
        read(source, case="who", order="when", symbol="sym")
    with pytest.raises(FileError, match="found none in 3 columns; is it 'what'.$"):
        read(source, sequence="what?")
    # what may be somebody's sequence is not shown
    headerless = written(tmp_path / "trips.csv", "1,harbour bridge\n2,park\n")
    with pytest.raises(FileError, match="one column 'links' .`sequence`., found none in 2 columns$"):
        read(headerless, sequence="links")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["privatise"], "privatize"),
        (["synthesise"], "synthesize"),
        (["Count"], "count"),
        (["count", "x.csv", "--neighbors", "replace"], "--neighbours"),
        (["privatize", "x.csv", "--meters-per-unit", "3"], "--metres-per-unit"),
    ],
)
def test_other_spellings_get_the_right_suggestion(
    typed: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(typed)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"; perhaps {meant} is meant\n")


def test_another_sign_between_symbols_is_asked_about(tmp_path: Path) -> None:
    source = tmp_path / "trips.csv"
    source.write_text("trip,stops\n1,home > work\n")
    with pytest.raises(SymveilError, match="symbols are split at blanks; if another sign is between them, name it"):
        sv.privatize_file(source, tmp_path / "out.csv", alphabet=["home", "work"], epsilon=1, sequence="stops")


@pytest.mark.parametrize(
    ("text", "options"),
    [("a b\nb a\n", {}), ("1,a|b\n2,b\n", {"separator": "|", "identifier": "1"}), ("ab\nba\n", {"separator": ""})],
)
def test_a_file_without_a_header_does_not_lose_its_first_line(
    tmp_path: Path, text: str, options: dict[str, str]
) -> None:
    """It passed as the header, unprotected."""
    source = tmp_path / "trips.csv"
    source.write_text(text)
    out = tmp_path / "out.csv"
    with pytest.raises(
        SymveilError, match="expected a header in the first line, found what reads as a sequence"
    ) as refused:
        sv.privatize_file(source, out, alphabet="ab", epsilon=1, **options)
    assert not out.exists() and "a b" not in str(refused.value)
    named = text.splitlines()[0].rpartition(",")[2]
    sv.privatize_file(source, out, alphabet="ab", epsilon=1, sequence=named, **options)


# --- what a public map lacks ------------------------------------------------------------------------

ADVICE = {
    "a,b\nb,c\nc,a\n": "from 'a' to 'b' and none from 'b' to 'a', and no way back of any other: a pair",
    "a,b\nb,a\nb,c\nc,b\nc,d\nd,a\na,d\n": "from 'c' to 'd' and none from 'd' to 'c'",
    "a,b\nb,a\nb,c\nc,b\nc,d\nd,c\n": None,
    "a,b\nb,a\nb,c\nc,d\nd,b\n": None,  # one-way roads among others are no slip
}


@pytest.mark.parametrize("rows", ADVICE)
@pytest.mark.parametrize("word", ["b|b|b", "a|c"])
def test_a_refused_move_names_a_way_back_that_the_public_map_lacks(tmp_path: Path, rows: str, word: str) -> None:
    """The pair named depends on the map alone: the word that was refused is a secret."""
    model, source = written(tmp_path / "map.csv", f"from,to\n{rows}"), written(tmp_path / "t.csv", f"id,s\n1,{word}\n")
    options = {"separator": "|", "sequence": "s", "identifier": "id"}
    with pytest.raises(SymveilError, match="cannot come there") as refused:
        sv.privatize_file(source, tmp_path / "out.csv", model=model, epsilon=1, adjacency=1, **options)
    with pytest.raises(SymveilError, match="expected moves that the graph allows") as unlearned:
        learn_file(source, tmp_path / "m.json", graph=model, smooth=1, **options)
    for error in (refused, unlearned):
        advice = ADVICE[rows]
        assert ("none from" in str(error.value)) == (advice is not None)
        assert advice is None or advice in str(error.value)


def test_a_person_of_a_trace_is_named_with_its_prefix(tmp_path: Path) -> None:
    log = written(
        tmp_path / "log.xes",
        '<log><trace><string key="concept:name" value="1"/><string key="who" value="ann"/>'
        '<event><string key="concept:name" value="a"/></event></trace></log>',
    )
    for option in ("person", "keep"):
        named = ("who",) if option == "keep" else "who"
        with pytest.raises(FileError, match="found none; an attribute of traces is named case:who$"):
            sv.privatize_file(log, tmp_path / "out.xes", alphabet="abc", epsilon=1, **{option: named})
