"""Columns of persons as names: the one spelling of each (`models.persons`), and nothing where a cell is no name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from symveil.errors import FileError
from symveil.formats.sequences.records import is_text
from symveil.models.persons import EXACT_WHOLE, decimal_name, person_name

_MAY_CHANGE = r"[^\x00-\x7f]|[.+]|^-0$"
"""What a name must have for its spelling to be another one."""
_DAY = len("2026-01-31")


def no_name(where: str) -> FileError:
    """The refusal of a cell that could be spelled in several ways: each would have a budget of its own."""
    return FileError(
        where,
        expected="text, a whole number (a float below 2^53) or a day as a person or id that pays",
        found="another value; make it text first",
    )


def spelled_names(column: Any) -> Any:
    """The cells of a column as names; null where a cell is empty, or is no name.

    Parameters
    ----------
    column
        An Arrow array of any type.

    >>> spelled_names(pa.array([7.0, 2.5, -0.0, float("nan")])).to_pylist()
    ['7', None, '0', None]
    >>> spelled_names(pa.array(["7.0", "ann"])).to_pylist(), spelled_names(pa.array([b"ann"])).to_pylist()
    (['7', 'ann'], [None])
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if is_text(kind):
        return _of_text(column.cast(pa.string()))
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.cast(pa.string())
    if pa.types.is_floating(kind):
        return _of_floats(column)
    if pa.types.is_decimal(kind):
        return pa.array([decimal_name(each) for each in column.to_pylist()], type=pa.string())
    if pa.types.is_date(kind):
        # a day is written in one way while its year has four digits
        days = column.cast(pa.date32(), safe=False)
        texts = days.cast(pa.string())
        whole = pc.equal(days.cast(kind), column)
        named = pc.and_(whole, pc.and_(pc.equal(pc.utf8_length(texts), _DAY), pc.invert(pc.starts_with(texts, "-"))))
        return pc.if_else(named, texts, None)
    return pa.nulls(len(column), pa.string())


def _of_text(texts: Any) -> Any:
    if not pc.any(pc.match_substring_regex(texts, _MAY_CHANGE)).as_py():
        return texts
    encoded = texts.dictionary_encode()
    names = pa.array([person_name(name) for name in encoded.dictionary.to_pylist()], type=pa.string())
    return names.take(encoded.indices)


def _of_floats(column: Any) -> Any:
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) < EXACT_WHOLE[column.type.bit_width]) & (values == np.rint(values))
    numbers = pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)
    return numbers.cast(pa.string())
