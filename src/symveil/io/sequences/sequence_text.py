"""Sequences as text, in whole columns: split at a separator, and joined again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def split_column(texts: Any, separator: str | None) -> Any:
    """Each text as a list of symbols: at runs of blanks where no separator is given. "" is the empty sequence.

    >>> split_column(pa.array(["a  b a", "", "b"]), None).to_pylist()
    [['a', 'b', 'a'], [], ['b']]
    >>> split_column(pa.array(["a b|c", ""]), "|").to_pylist()
    [['a b', 'c'], []]
    """
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    pieces = pc.split_pattern(texts.cast(pa.string()), pattern=" " if separator is None else separator)
    values, lengths = pieces.flatten(), pc.list_value_length(pieces).to_numpy(zero_copy_only=False).astype(np.int64)
    if separator is None:
        filled = pc.not_equal(values, "")
    else:
        # only a text that is empty as a whole has no symbols; an empty one between separators is a mistake
        empty_text = np.repeat(pc.equal(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False), lengths)
        filled = pa.array(~empty_text)
    mask = filled.to_numpy(zero_copy_only=False)
    if mask.all():
        return pieces
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    counts = np.bincount(row_of[mask], minlength=len(lengths))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values.filter(filled))


def first_empty_symbol(lists: Any) -> int | None:
    """The first row with an empty symbol, or None."""
    values = lists.flatten()
    if not pa.types.is_string(values.type):
        return None
    place = pc.index(values, value="").as_py()
    if place < 0:
        return None
    ends = np.cumsum(pc.list_value_length(lists).to_numpy(zero_copy_only=False))
    return int(np.searchsorted(ends, place, side="right"))


def join_column(lists: Any, separator: str | None) -> Any:
    """The inverse of `split_column`."""
    if not pa.types.is_string(lists.type.value_type):
        lists = lists.cast(pa.list_(pa.string()))
    return pc.binary_join(lists, " " if separator is None else separator)
