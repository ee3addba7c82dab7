"""Tables of private counts, read again: rows with their intervals, and what their manifest promises."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from symveil.central.counts import PrivateCounts, notes_of, shown_threshold
from symveil.central.noise import Query
from symveil.errors import FileError, SymveilError
from symveil.estimation.statistics import LONGEST_GRAM, Statistic, read_statistic
from symveil.formats.formulas import unguarded
from symveil.formats.json_text import refuse_deep_nesting
from symveil.formats.manifest import manifest_path, read_any_manifest
from symveil.formats.reading import read_text
from symveil.laws.parameters import read_epsilon
from symveil.release.central_promise import queries_of
from symveil.storage.atomic import digest_of

_LARGEST = 1 << 30
_NUMBERS = ("count", "low", "high", "low_all", "high_all", "consistent")
_SYMBOLS = ("symbol", *(f"symbol_{place}" for place in range(1, LONGEST_GRAM + 1)))


def central_manifest(place: Path, manifest: str | Path | None = None) -> dict[str, Any] | None:
    """The manifest of a central release beside a file, or where it is said to be; None: there is none, or another."""
    path = Path(manifest) if manifest is not None else manifest_path(place)
    if manifest is None and not path.is_file():
        return None
    found = read_any_manifest(path)
    return found.document if found.central else None


def require_bytes(place: Path, document: dict[str, Any]) -> None:
    """Refuse another file than the one that the manifest is about."""
    if digest_of(place) != document["digests"]["output"]:
        raise FileError(
            str(place), expected="the bytes that the manifest tells", found="others; is it another release's?"
        )


def read_counts(path: str | Path, *, manifest: str | Path | None = None) -> PrivateCounts:
    """A table that `count_file` wrote, with its manifest.

    Parameters
    ----------
    path
        The table: .csv, .parquet or .json.
    manifest
        Its manifest, if it is not beside the table.

    >>> import tempfile
    >>> from symveil.tasks.count import count_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, out = Path(folder, "in.csv"), Path(folder, "table.csv")
    ...     _ = source.write_text("id,pages\\n1,a b a\\n2,b\\n")
    ...     written = count_file(source, "visits", epsilon=1, alphabet="ab", bound=2, out=out)
    ...     read_counts(out).document()["rows"] == written.counts.document()["rows"]
    True
    """
    place = Path(path)
    document = central_manifest(place, manifest)
    where = Path(manifest) if manifest is not None else manifest_path(place)
    if document is None or document["release"] != "count":
        raise FileError(
            str(where), expected="the manifest of a table that symveil count wrote", found="another or none"
        )
    with only_file_errors(where, expected="a manifest as symveil count writes it"):
        require_bytes(place, document)
        asked = document["parameters"]
        statistic, queries = read_statistic(asked["statistic"]), queries_of(document)
    with only_file_errors(place, expected="a table as symveil count writes it"):
        table, as_json = read_table(place, guarded=document["output"].get("spreadsheet_safe") is True)
        return _counts(table, as_json, document, statistic, queries)


@contextmanager
def only_file_errors(place: Path, *, expected: str) -> Iterator[None]:
    """Whatever a file with other content makes of its reader becomes one error that names the file."""
    try:
        yield
    except SymveilError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, pa.ArrowException):
        raise FileError(str(place), expected=expected, found="another") from None


def read_table(place: Path, *, guarded: bool) -> tuple[pa.Table, dict[str, Any] | None]:
    """The rows of a table in a file; of a JSON file also the document. `guarded`: with apostrophes to take away."""
    if place.suffix.lower() == ".json":
        text = read_text(place, what="table", at_most=_LARGEST)
        refuse_deep_nesting(text, where=str(place))
        document = json.loads(text)
        return _rows_of_json(document), document
    if place.suffix.lower() == ".parquet":
        return pa.parquet.read_table(place), None
    table = pa.csv.read_csv(place, convert_options=pa.csv.ConvertOptions(column_types=_types()))
    for name in table.column_names if guarded else ():
        if name in _SYMBOLS:
            texts = pa.array([unguarded(text) for text in table[name].to_pylist()], type=pa.string())
            table = table.set_column(table.column_names.index(name), name, texts)
    return table, None


def _counts(
    table: pa.Table,
    as_json: dict[str, Any] | None,
    document: dict[str, Any],
    statistic: Statistic,
    queries: tuple[Query, ...],
) -> PrivateCounts:
    asked, share = document["parameters"], None if as_json is None else as_json["clipped_share"]
    names = [name for name in _SYMBOLS if name in table.column_names]
    texts = np.array([table[name].to_pylist() for name in names], dtype=object).reshape(len(names), table.num_rows)
    symbols = tuple(sorted({str(text) for text in texts.reshape(-1)}))
    number = {text: code for code, text in enumerate(symbols)}
    codes = np.array([[number[str(text)] for text in row] for row in texts], dtype=np.int64)
    by_length = statistic.kind == "lengths"
    notes = notes_of(queries, share)
    if as_json is None and len(queries) > 1:  # only the JSON form has the share
        notes = notes_of(queries, 0.0)[:1]
    return PrivateCounts(
        statistic=statistic.name,
        confidence=float(asked["confidence"]),
        symbols=symbols,
        leading="length" if by_length else None,
        places=_whole(table["length"]) if by_length else None,
        codes=codes.reshape(len(names), table.num_rows).T,
        numbers={name: _floats(table[name]) for name in _NUMBERS if name in table.column_names},
        epsilon=read_epsilon(document["epsilon_exact"]),
        bound=queries[-1].bound,
        clipped_share=share,
        queries=queries,
        notes=notes,
        delta=queries[-1].delta,
        threshold=shown_threshold(queries[-1]),
    )


def _rows_of_json(document: dict[str, Any]) -> pa.Table:
    rows: list[dict[str, Any]] = document["rows"]
    order = read_statistic(document["statistic"]).order
    names = ["symbol"] if order == 1 else [f"symbol_{place + 1}" for place in range(order)]
    columns: dict[str, Any] = {
        name: pa.array([row["symbols"][place] for row in rows], type=pa.string()) for place, name in enumerate(names)
    }
    if order == 0:
        columns["length"] = pa.array([row["length"] for row in rows], type=pa.int64())
    listed = [name for name in _NUMBERS if not rows or name in rows[0]]
    columns |= {name: pa.array([row[name] for row in rows], type=pa.float64()) for name in listed}
    return pa.table(columns)


def _types() -> dict[str, pa.DataType]:
    texts, floats = dict.fromkeys(_SYMBOLS, pa.string()), dict.fromkeys(_NUMBERS, pa.float64())
    return {**texts, **floats, "length": pa.int64()}


def _floats(column: Any) -> NDArray[np.float64]:
    return np.array(column.to_pylist(), dtype=np.float64)


def _whole(column: Any) -> NDArray[np.int64]:
    return np.array(column.to_pylist(), dtype=np.int64)
