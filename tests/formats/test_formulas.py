"""Cells that a spreadsheet would run: made text where that is asked for, found again as they were, never by default."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import LedgerError, ParameterError
from symveil.formats.reading import SIGNS, guarded, unguarded
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.rows_csv import _guarded_column
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.tasks.budgets import export_ledger, grant_budget
from symveil.tasks.check import check_manifest
from symveil.tasks.compare_tables import compare_table
from symveil.tasks.count import count_file
from symveil.tasks.table_files import read_counts, write_estimate

cells = st.text(st.sampled_from([*SIGNS, *"aZ0 ;,\"'|é"]), max_size=6)
FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", "'=1", "''", "a=1", "plain", "1;=2", 'say "=1"', "\n=1"]


@given(cells)
def test_a_guarded_cell_begins_with_no_sign_and_can_be_found_again(cell: str) -> None:
    made = guarded(cell)
    assert unguarded(made) == cell
    assert not made.startswith(tuple(SIGNS.replace("'", "")))
    assert made in (cell, f"'{cell}")


@given(st.lists(cells))
def test_columns_are_guarded_as_cells_are(texts: list[str]) -> None:
    assert _guarded_column(pa.array(texts, pa.string())).to_pylist() == [guarded(text) for text in texts]


def table(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["=id", "s", "+note"])
        writer.writerows([cell, "-a|=b|c", cell] for cell in FORMULAS)
    return tmp_path / "in.csv"


OPTIONS = {"alphabet": ["-a", "=b", "c"], "epsilon": 1000, "identifier": "=id", "sequence": "s", "separator": "|"}


def test_every_cell_of_a_private_file(trips: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    options = {**OPTIONS, "keep": ["+note"]}
    told = sv.privatize_file(trips, out, **options, spreadsheet_safe=True)  # type: ignore[arg-type]
    assert table(out) == [[guarded(cell) for cell in row] for row in table(trips)]
    assert all(not cell.startswith(tuple("=+-@\t\r\n")) for row in table(out) for cell in row)
    assert out.read_text(encoding="utf-8").startswith('"')  # every cell is quoted: other delimiters cut none of them
    assert told.manifest["output"]["spreadsheet_safe"] is True
    assert check_manifest(told.manifest_file).holds


def test_not_unless_it_is_asked_for(trips: Path, tmp_path: Path) -> None:
    told = sv.privatize_file(trips, tmp_path / "out.csv", **OPTIONS, keep=["+note"])  # type: ignore[arg-type]
    assert table(tmp_path / "out.csv") == table(trips)
    assert "spreadsheet_safe" not in told.manifest["output"]


def test_a_manifest_that_hides_it_does_not_hold(trips: Path, tmp_path: Path) -> None:
    told = sv.privatize_file(trips, tmp_path / "out.csv", **OPTIONS, spreadsheet_safe=True)  # type: ignore[arg-type]
    document = json.loads(told.manifest_file.read_text(encoding="utf-8"))
    del document["output"]["spreadsheet_safe"]
    told.manifest_file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(sv.SymveilError, match="expected one column '=id'"):
        check_manifest(told.manifest_file)


def test_events(tmp_path: Path) -> None:
    (tmp_path / "in.tsv").write_text("c\to\ts\n=x\t1\t-a\n=x\t2\tb\n@y\t1\tb\n")
    options = {"case": "c", "order": "o", "symbol": "s", "alphabet": ["-a", "b"], "epsilon": 1000}
    told = sv.privatize_file(tmp_path / "in.tsv", tmp_path / "out.tsv", **options, spreadsheet_safe=True)  # type: ignore[arg-type]
    lines = (tmp_path / "out.tsv").read_text().splitlines()
    assert lines == ['"c"\t"o"\t"s"', '"\'=x"\t"1"\t"\'-a"', '"\'=x"\t"2"\t"b"', '"\'@y"\t"1"\t"b"']
    assert check_manifest(told.manifest_file).holds


def test_a_run_again_finds_its_records_again(trips: Path, tmp_path: Path) -> None:
    ledger, out = tmp_path / "l.db", tmp_path / "out.csv"
    grant_budget(ledger, 10_000, everyone=True)
    options = {**OPTIONS, "ledger": ledger, "release_id": "r"}
    sv.privatize_file(trips, out, **options, spreadsheet_safe=True)  # type: ignore[arg-type]
    assert sv.privatize_file(trips, out, **options, spreadsheet_safe=True).already_done  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="the same parameters"):
        sv.privatize_file(trips, out, **options)  # type: ignore[arg-type]


def test_formats_that_no_spreadsheet_opens(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "=x", "s": ["a"]}\n')
    with pytest.raises(ParameterError, match="spreadsheet_safe: expected CSV, which spreadsheets open, with it"):
        sv.privatize_file(tmp_path / "in.jsonl", tmp_path / "o.jsonl", alphabet="a", epsilon=1, spreadsheet_safe=True)
    with pytest.raises(ParameterError, match="spreadsheet_safe: expected the local engine, found spark"):
        sv.privatize_file(
            tmp_path / "in.jsonl", tmp_path / "o", alphabet="a", epsilon=1, spreadsheet_safe=True, engine="spark"
        )


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"\'=id","s"\n"\'=1","\'-a b"\n')
    file = open_sequences(path, ColumnOptions(identifier="=id", sequence="s"), apostrophes="read")
    (batch,) = file.records()
    assert (batch.column("id").to_pylist(), batch.column("symbols").to_pylist()) == (["=1"], [["-a", "b"]])


def test_the_ledgers_export(tmp_path: Path) -> None:
    ledger, out = tmp_path / "l.db", tmp_path / "out.csv"
    names = [name for name in FORMULAS if name.isprintable()]
    grant_budget(ledger, 2, persons=names)
    assert export_ledger(ledger, out) == len(names)
    assert [row[0] for row in table(out)][1:] == names
    assert export_ledger(ledger, out, spreadsheet_safe=True) == len(names)
    assert [row[0] for row in table(out)][1:] == [guarded(name) for name in names]
    assert table(out)[0] == ["person", "granted", "spent", "left", "units", "delta"]


@pytest.fixture
def counted(tmp_path: Path) -> tuple[Path, dict[str, object]]:
    source = tmp_path / "in.csv"
    source.write_text("id,s\n" + "".join(f"{number},=b|'c|a\n" for number in range(50)))
    return source, {"alphabet": ["=b", "'c", "a"], "epsilon": 30, "separator": "|", "bound": 3}


def test_a_table_of_counts(counted, tmp_path: Path) -> None:
    source, options = counted
    out = tmp_path / "visits.csv"
    release = count_file(source, "visits", out=out, **options, spreadsheet_safe=True)
    names = {row[0] for row in table(out)[1:]}
    assert names == {"'=b", "''c", "a"} and release.manifest["output"]["spreadsheet_safe"] is True
    assert all(line.startswith('"') for line in out.read_text().splitlines())
    assert read_counts(out).document()["rows"] == release.counts.document()["rows"]
    assert check_manifest(release.manifest_file).holds
    assert compare_table(source, out, columns=ColumnOptions(separator="|")).metrics["l1"] < 0.2
    count_file(source, "visits", out=tmp_path / "plain.csv", **options)
    assert {row[0] for row in table(tmp_path / "plain.csv")[1:]} == {"=b", "'c", "a"}
    with pytest.raises(ParameterError, match="spreadsheet_safe: expected CSV, which spreadsheets open, with it"):
        count_file(source, "visits", out=tmp_path / "visits.json", **options, spreadsheet_safe=True)
    assert not (tmp_path / "visits.json").exists()


def test_a_table_of_estimates(counted, tmp_path: Path) -> None:
    source, _ = counted
    private = tmp_path / "private.csv"
    sv.privatize_file(source, private, alphabet=["=b", "'c", "a"], epsilon=3, separator="|")
    answer = sv.estimate(private, "visits")
    write_estimate(answer, out=tmp_path / "answer.csv", spreadsheet_safe=True)
    rows = table(tmp_path / "answer.csv")
    assert {row[0] for row in rows[1:]} == {"'=b", "''c", "a"}
    assert all(float(cell) > -1000 for row in rows[1:] for cell in row[1:])  # numbers stay numbers
    write_estimate(answer, out=tmp_path / "plain.csv")
    assert {row[0] for row in table(tmp_path / "plain.csv")[1:]} == {"=b", "'c", "a"}
