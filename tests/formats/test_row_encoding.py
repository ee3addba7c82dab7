"""Rows as bytes: each can be read back, so no two rows share them."""

from __future__ import annotations

import datetime
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.errors import ParameterError
from symveil.formats.sequences.layout import encoded_rows, row_digests


def read_back(data: bytes, types: list[pa.DataType]) -> list[Any]:
    """What a row's bytes say, by the grammar in the module; everything must be used up."""
    values, rest = [], data
    for kind in types:
        value, rest = _value(rest, kind)
        values.append(value)
    assert rest == b""
    return values


def _value(data: bytes, kind: pa.DataType) -> tuple[Any, bytes]:
    if data[:1] == b"-":
        return None, data[1:]
    assert data[:1] == b"+"
    data = data[1:]
    if pa.types.is_struct(kind):
        found = {}
        for field in kind:
            found[field.name], data = _value(data, field.type)
        return found, data
    head, _, data = data.partition(b":")
    count = int(head)
    if pa.types.is_map(kind):
        pairs = []
        for _ in range(count):
            assert data[:1] == b"+"
            key, data = _value(data[1:], kind.key_type)
            item, data = _value(data, kind.item_type)
            pairs.append((key, item))
        return pairs, data
    if pa.types.is_nested(kind):
        items = []
        for _ in range(count):
            item, data = _value(data, kind.value_type)
            items.append(item)
        return items, data
    return _scalar(data[:count], kind), data[count:]


def _scalar(text: bytes, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return text.decode()
    if pa.types.is_binary(kind):
        return text
    if pa.types.is_floating(kind):
        return struct.unpack("<d", int(text).to_bytes(8, "little"))[0]
    if pa.types.is_boolean(kind):
        return {b"true": True, b"false": False}[text]
    if pa.types.is_decimal(kind):
        return Decimal(text.decode())
    return pa.array([int(text)]).cast(kind)[0].as_py()


# characters of the grammar itself, and nothing
TEXTS = st.text(alphabet="ab+-:0123ü\0", max_size=6)
SCALARS = {
    pa.string(): TEXTS,
    pa.binary(): st.binary(max_size=5),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(allow_nan=False),
    pa.bool_(): st.booleans(),
    pa.decimal128(12, 3): st.decimals(-1000, 1000, places=3),
    pa.timestamp("us"): st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
}


def of_kind(depth: int) -> st.SearchStrategy[tuple[pa.DataType, Any]]:
    """A type with a strategy for its values, nothing among them."""
    scalars = st.sampled_from(list(SCALARS)).map(lambda kind: (kind, SCALARS[kind]))
    if not depth:
        return scalars
    inner = of_kind(depth - 1)
    lists = inner.map(lambda made: (pa.list_(made[0]), st.lists(st.none() | made[1], max_size=3)))
    records = st.tuples(inner, inner).map(
        lambda two: (
            pa.struct([("x", two[0][0]), ("y", two[1][0])]),
            st.fixed_dictionaries({"x": st.none() | two[0][1], "y": st.none() | two[1][1]}),
        )
    )
    maps = inner.map(
        lambda made: (pa.map_(pa.string(), made[0]), st.lists(st.tuples(TEXTS, st.none() | made[1]), max_size=3))
    )
    return st.one_of(scalars, lists, records, maps)


@st.composite
def tables(draw):
    kinds = draw(st.lists(of_kind(2), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(st.none() | values for _, values in kinds)), min_size=1, max_size=5))
    return [kind for kind, _ in kinds], rows


@given(tables())
@settings(deadline=None, max_examples=200)
def test_every_row_can_be_read_back(made):
    types, rows = made
    arrays = [pa.array([row[place] for row in rows], type=kind) for place, kind in enumerate(types)]
    batch = pa.record_batch(arrays, names=[str(place) for place in range(len(types))])
    for row, data in zip(rows, encoded_rows(batch), strict=True):
        assert read_back(data, types) == list(row)
    # the same, whatever is beside it
    assert list(encoded_rows(batch.slice(len(rows) - 1))) == list(encoded_rows(batch))[-1:]


def test_floats_are_their_bits():
    rows = pa.record_batch({"x": [0.0, -0.0, 1.0, float("inf"), None, float("nan")]})
    assert len(set(encoded_rows(rows))) == 6


def test_dictionaries_and_views_do_not_matter():
    texts = ["a", None, "b", "a"]
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    assert len({tuple(encoded_rows(pa.record_batch({"x": pa.array(texts, kind)}))) for kind in kinds}) == 1


def test_the_rows_that_used_to_collide():
    rows = [
        (["a", "b"], None), (["a"], "b"), ([], None), (None, None), ([None], None), (["a", None, "b"], None),
        (["ab"], None), (["a", "b"], ""), (["a,b"], None), (["+1:a", "b"], None), (["a+1:b"], None),
    ]  # fmt: skip
    lists, texts = zip(*rows, strict=True)
    batch = pa.record_batch({"s": pa.array(lists, pa.list_(pa.string())), "t": pa.array(texts, pa.string())})
    assert len(set(row_digests(batch))) == len(rows)


def test_what_has_no_bytes_is_refused():
    interval = pa.array([(1, 2, 3)], type=pa.month_day_nano_interval())
    with pytest.raises(ParameterError, match="values that can be written as bytes"):
        list(encoded_rows(pa.record_batch({"x": interval})))
