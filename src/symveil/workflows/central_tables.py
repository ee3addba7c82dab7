"""Tables of private counts, read again: rows with their intervals, and what their manifest promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from symveil.central.counts import PrivateCounts, notes_of, shown_threshold
from symveil.engines.central_promise import queries_of
from symveil.errors import FileError, SymveilError
from symveil.estimation.statistics import LONGEST_GRAM, read_statistic
from symveil.files.atomic import digest_of
from symveil.io.json_text import refuse_deep_nesting
from symveil.io.manifest import manifest_path, read_any_manifest
from symveil.io.reading import read_text
from symveil.privacy.parameters import read_epsilon

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
    >>> from symveil.workflows.count import count_file
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
    require_bytes(place, document)
    try:
        return _counts(place, document)
    except SymveilError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, pa.ArrowException):
        raise FileError(str(place), expected="a table as symveil count writes it", found="another") from None


def _counts(place: Path, document: dict[str, Any]) -> PrivateCounts:
    asked, queries = document["parameters"], queries_of(document)
    statistic, share = read_statistic(asked["statistic"]), None
    if place.suffix.lower() == ".json":
        text = read_text(place, what="table", at_most=_LARGEST)
        refuse_deep_nesting(text, where=str(place))
        table, share = _rows_of_json(text)
    elif place.suffix.lower() == ".parquet":
        table = pa.parquet.read_table(place)
    else:
        table = pa.csv.read_csv(place, convert_options=pa.csv.ConvertOptions(column_types=_types()))
    names = [name for name in _SYMBOLS if name in table.column_names]
    texts = np.array([table[name].to_pylist() for name in names], dtype=object).reshape(len(names), table.num_rows)
    symbols = tuple(sorted({str(text) for text in texts.reshape(-1)}))
    number = {text: code for code, text in enumerate(symbols)}
    codes = np.array([[number[str(text)] for text in row] for row in texts], dtype=np.int64)
    by_length = statistic.kind == "lengths"
    notes = notes_of(queries[-1], share)
    if asked["bound"] == "auto" and share is None:  # only the JSON form has it
        notes = tuple(note for note in notes if "because the bound was given" not in note)
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


def _rows_of_json(text: str) -> tuple[pa.Table, float | None]:
    document = json.loads(text)
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
    return pa.table(columns), document["clipped_share"]


def _types() -> dict[str, pa.DataType]:
    texts, floats = dict.fromkeys(_SYMBOLS, pa.string()), dict.fromkeys(_NUMBERS, pa.float64())
    return {**texts, **floats, "length": pa.int64()}


def _floats(column: Any) -> NDArray[np.float64]:
    return np.array(column.to_pylist(), dtype=np.float64)


def _whole(column: Any) -> NDArray[np.int64]:
    return np.array(column.to_pylist(), dtype=np.int64)
