"""What the fuzzing found, one test each: refused in one line now."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.errors import FileError, LedgerError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import keep_column
from symveil.formats.sequences.rows_parquet import column_sizes
from symveil.formats.sequences.sequence_files import open_sequences
from symveil.tasks.budgets import grant_budget, ledger_accounts, ledger_history, ledger_status, person_status
from symveil.tasks.check import check_manifest
from symveil.tasks.privatize_file import privatize_file


@pytest.fixture
def release(tmp_path):
    (tmp_path / "trips.csv").write_text("trip_id,links\n1,a b a\n2,b\n")
    return privatize_file(tmp_path / "trips.csv", tmp_path / "p.csv", alphabet="ab", epsilon=2)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("output", "file"), "x" * 3000),
        (("output", "file"), "a\0b"),
        (("output", "file"), "\ud800"),
        (("classes", 0, "lengths"), ["a", [1]]),
        (("classes", 0, "lengths"), {"a": 1}),
        (("counts", "released"), 10**30),
        (("parameters",), {}),
        (("digests",), {}),
    ],
)
def test_a_manifest_with_something_else_in_it(release, place, value) -> None:
    document = json.loads(release.manifest_file.read_text())
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    release.manifest_file.write_text(json.dumps(document))
    try:
        assert not check_manifest(release.manifest_file).holds
    except FileError as error:
        assert len(str(error).splitlines()) == 1


def test_a_manifest_with_an_enormous_number(release) -> None:
    text = release.manifest_file.read_text().replace('"b": 1', f'"b": {"9" * 5000}')
    release.manifest_file.write_text(text)
    with pytest.raises(FileError, match="an enormous number"):
        check_manifest(release.manifest_file)


def test_a_manifest_of_a_later_format(release) -> None:
    text = release.manifest_file.read_text().replace("symveil-manifest/3", "symveil-manifest/4")
    release.manifest_file.write_text(text)
    with pytest.raises(FileError, match=r"\$\.format: expected .* found 'symveil-manifest/4', which another version"):
        check_manifest(release.manifest_file)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([[["a"]], [["b"]]], type=pa.list_(pa.list_(pa.string()))),
        pa.array([b"\xff", b"\xfe"], type=pa.binary()),
        pa.array([{"a": 1}, {"a": 2}]),
    ],
)
def test_ids_that_cannot_be_written_as_text(tmp_path, ids) -> None:
    pq.write_table(pa.table({"id": ids, "s": [["a"], ["b"]]}), tmp_path / "t.parquet")
    with pytest.raises(FileError, match="expected an id, as text or a number, found a column of"):
        list(open_sequences(tmp_path / "t.parquet", ColumnOptions(sequence="s", identifier="id")).records())


def test_a_parquet_footer_is_read_as_pyarrow_reads_it(tmp_path) -> None:
    """pyarrow's own answer ends the process where the footer is damaged; both agree where it is not."""
    table = pa.table(
        {"id": range(100), "s": [["a"] * (row % 7) for row in range(100)], "x": [{"y": [1.5], "z": "é"}] * 100}
    )
    for size in (1, 30, 100):
        for version in ("1.0", "2.6"):
            pq.write_table(table, tmp_path / "t.parquet", row_group_size=size, version=version)
            metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
            expected = []
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                for index in range(group.num_columns):
                    chunk = group.column(index)
                    name = chunk.path_in_schema.split(".")[0]
                    expected.append((number + 1, name, group.num_rows, chunk.num_values))
            with (tmp_path / "t.parquet").open("rb") as file:
                found = [(each.group, each.column, each.rows, each.values) for each in column_sizes(file)]
            assert found == expected


def test_every_damaged_footer_is_refused_without_a_crash(tmp_path) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"s": [["a", "b"], []]}), sink)
    content = sink.getvalue()
    for at in range(len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content)):
        for value in (0, 255, content[at] ^ 1):
            damaged = io.BytesIO(content[:at] + bytes([value]) + content[at + 1 :])
            try:
                list(column_sizes(damaged))
            except ValueError:
                continue
    with pytest.raises(ValueError, match="no footer"):
        list(column_sizes(io.BytesIO(b"PAR1")))


@pytest.mark.parametrize("encoding", ["UTFb", "utf-7", "rot13", "idna", "utf-32"])
def test_an_encoding_that_is_none(tmp_path, encoding) -> None:
    (tmp_path / "t.xes").write_bytes(f'<?xml version="1.0" encoding="{encoding}"?><log></log>'.encode())
    with pytest.raises(FileError, match="expected XML"):
        list(open_sequences(tmp_path / "t.xes").records())


def test_a_log_with_an_order_can_be_checked(tmp_path) -> None:
    events = "".join(
        f"<event><string key='concept:name' value='{name}'/><date key='time:timestamp' value='2020-01-0{day}'/></event>"
        for name, day in (("b", 2), ("a", 1))
    )
    trace = f"<trace><string key='concept:name' value='1'/>{events}</trace>"
    (tmp_path / "log.xes").write_text(f"<log>{trace}</log>")
    release = privatize_file(
        tmp_path / "log.xes", tmp_path / "p.xes", alphabet="ab", epsilon=9, order="time:timestamp"
    )  # fmt: skip
    assert check_manifest(release.manifest_file).holds


# --- ledgers ---------------------------------------------------------------------------------------


def change(ledger, *statements: str) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def ledger(tmp_path):
    file = tmp_path / "b.db"
    grant_budget(file, 5, everyone=True, delta="1e-6")
    (tmp_path / "trips.csv").write_text("trip_id,links\n1,a b a\n2,b\n")
    privatize_file(tmp_path / "trips.csv", tmp_path / "p.csv", alphabet="ab", epsilon=2, ledger=str(file))
    return file


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE symveil_settings SET value = 'x' WHERE name = 'allowance'",
        "UPDATE symveil_settings SET value = '' WHERE name = 'delta'",
        "UPDATE symveil_persons SET granted = 'much', spent = 'more'",
        "UPDATE symveil_releases SET loss = '{}'",
        "UPDATE symveil_releases SET charge = '" + "9" * 400 + "'",
        "UPDATE symveil_charges SET sequences = -1",
        "UPDATE symveil_releases SET unit = '{}'",
        'UPDATE symveil_releases SET unit = \'{"adjacency": 0, "metric": "hamming", "public_start": false}\'',
        "INSERT INTO symveil_settings VALUES ('unit', 'x')",
        'UPDATE symveil_releases SET loss = \'{"kind": "pure", "epsilon": "1e9999999999"}\'',
        "UPDATE symveil_grants SET created = x'ff'",
        "DROP TABLE symveil_persons",
        "ALTER TABLE symveil_releases DROP COLUMN loss",
    ],
)
def test_a_ledger_with_values_that_nobody_wrote(ledger, statement) -> None:
    """Every look at it works or is refused in one line; none runs for ever or takes all memory."""
    change(ledger, statement)
    refused = 0
    for look in (
        lambda: ledger_status(ledger).document(),
        lambda: person_status(ledger, "1").document(),
        lambda: ledger_history(ledger, "1"),
        lambda: ledger_accounts(ledger, most=2),
        lambda: grant_budget(ledger, 1, everyone=True),
    ):
        try:
            look()
        except LedgerError as error:
            assert len(str(error).splitlines()) == 1
            refused += 1
    assert refused


def test_more_sequences_than_anybody_composes(ledger) -> None:
    """Their losses are added: nothing runs for ever, and nothing is refused."""
    change(ledger, "UPDATE symveil_charges SET sequences = 1000000000000000000")
    assert person_status(ledger, "1").composed_epsilon == 2e18
    assert ledger_status(ledger).persons == 2 and len(ledger_history(ledger, "1")) == 2


def test_a_failed_look_leaves_no_lock_behind(ledger) -> None:
    """Even while the error is kept, and with it everything that its frames hold."""
    change(
        ledger, "UPDATE symveil_persons SET spent = 'more' WHERE name = '2'", "UPDATE symveil_grants SET amount = 'x'"
    )
    kept = []
    for look in (lambda: ledger_accounts(ledger, most=2), lambda: ledger_history(ledger)):
        with pytest.raises(LedgerError) as error:
            look()
        kept.append(error)
    assert all(error.value.__context__ is not None for error in kept)
    assert grant_budget(ledger, 1, persons=["carol"]) == 1


@pytest.mark.parametrize(
    ("version", "message"),
    [("4", "made by a later symveil"), ("0", "damaged"), ("x", "damaged"), ("9" * 300, "made by a later symveil")],
)
def test_a_ledger_of_another_version_is_not_touched(ledger, version, message) -> None:
    change(ledger, f"UPDATE symveil_settings SET value = '{version}' WHERE name = 'version'")  # noqa: S608
    before = ledger.read_bytes()
    with pytest.raises(LedgerError, match=f"expected a ledger of version 3, found .*{message}") as caught:
        grant_budget(ledger, 1, everyone=True)
    assert len(str(caught.value).splitlines()) == 1
    assert ledger.read_bytes() == before


def test_a_graph_without_networkx() -> None:
    with pytest.raises(sv.SymveilError, match="expected a networkx graph"):
        sv.from_networkx([])


@pytest.mark.parametrize("depth", [101, 450, 700, 985, 5000])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_a_line_of_json_that_is_nested(tmp_path, depth, pair) -> None:
    """Between 450 and 985 levels it was read, and then walked through until Python gave up."""
    begin = {"[]": "[", "{}": '{"a":'}[pair]
    for before in ("", '"\\ud83d\\ude00",', '"[[[{\\"",'):
        value = f"[{before}{begin * depth}1{pair[1] * depth}]"
        (tmp_path / "t.jsonl").write_text(f'{{"id": 1, "s": ["a"], "k": {value}}}\n')
        with pytest.raises(FileError, match="line 1: expected JSON nested at most 100 deep, found more"):
            list(open_sequences(tmp_path / "t.jsonl", ColumnOptions(sequence="s", keep=("k",))).records())


def test_brackets_that_nest_nothing_are_read(tmp_path) -> None:
    value = '["' + "[{" * 500 + '\\"[[", ' + "[[], {}], " * 500 + "[" * 90 + "]" * 90 + "]"
    (tmp_path / "t.jsonl").write_text(f'{{"id": 1, "s": ["a"], "k": {value}}}\n')
    batch = next(open_sequences(tmp_path / "t.jsonl", ColumnOptions(sequence="s", keep=("k",))).records())
    assert json.loads(batch.column(keep_column(0))[0].as_py()) == json.loads(value)


def test_a_ledger_whose_schema_is_no_text(tmp_path) -> None:
    """SQLite quotes a damaged schema in its message, which Python's module then cannot decode."""
    file = tmp_path / "l.db"
    grant_budget(file, 1, everyone=True)
    content = file.read_bytes()
    at = content.rindex(b"CREATE TABLE")
    for damage in (b"\xfbREATE TABLE", b"CREATE TABLE \xfb", b"CREATE\xfbTABLE"):
        file.write_bytes(content[:at] + damage + content[at + len(damage) :])
        with pytest.raises(LedgerError) as caught:
            ledger_status(file)
        assert len(str(caught.value).splitlines()) == 1
