"""The core: types in and out, what is left out, what is refused, and that nothing secret is told."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pyarrow as pa
import pytest

from file_mechanism import file_mechanism
from symveil.errors import ParameterError, WordError
from symveil.release.batch import ReleasePlan, check_batch, privatize_batch


def plan(alphabet="abc", epsilon=1000, **options) -> ReleasePlan:
    chosen = {"sequence": "s", "identifier": "id", "release_id": "r", "release_key": bytes(32), **options}
    return ReleasePlan(mechanism=file_mechanism(alphabet=alphabet, epsilon=Fraction(epsilon)), **chosen)


def batch(words, kind, **others) -> pa.RecordBatch:
    columns = {
        "id": pa.array([f"r{number}" for number in range(len(words))]),
        "s": pa.array(words, type=kind),
        **others,
    }
    return pa.record_batch(list(columns.values()), names=list(columns))


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.list_(pa.large_string()),
        pa.large_list(pa.string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.list_(pa.string(), 2),
    ],
    ids=str,
)
def test_strings_come_back_in_the_type_they_came_in(kind):
    given = batch([["a", "b"], ["c", "c"]], kind, keep=pa.array([1, 2]))
    released = privatize_batch(given, plan())
    assert released.schema == given.schema
    assert released.to_pylist() == given.to_pylist()  # at ε = 1000 nothing changes


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.int64()], ids=str)
def test_whole_numbers_too(kind):
    given = batch([[1, 2, 17], [], [3]], pa.list_(kind))
    released = privatize_batch(given, plan([str(number) for number in range(1, 18)]))
    assert released.to_pylist() == given.to_pylist() and released.schema == given.schema


def test_symbols_that_do_not_fit_the_column_are_refused_in_time():
    given = batch([[1]], pa.list_(pa.int8()))
    for call in (privatize_batch, check_batch):
        with pytest.raises(ParameterError, match="int8"):
            call(given, plan(["1", "300"]))
        with pytest.raises(ParameterError, match="int8"):
            call(given, plan(["1", "home"]))


def test_a_slice_of_a_batch_is_read_from_where_it_begins():
    given = batch([["a"], ["b", "c"], [], ["c"]], pa.list_(pa.string()))
    whole = privatize_batch(given, plan(epsilon=1)).to_pylist()
    assert privatize_batch(given.slice(1, 2), plan(epsilon=1)).to_pylist() == whole[1:3]
    assert privatize_batch(given.slice(4), plan()).num_rows == 0


def test_unknown_symbols():
    given = batch([["a"], ["b", "SECRET"], [], ["SECRET"]], pa.list_(pa.string()))
    for call in (privatize_batch, check_batch):
        with pytest.raises(WordError, match="record 2: .* position 2 of 2") as caught:
            call(given, plan())
        assert "SECRET" not in str(caught.value) and caught.value.position == 2
    left = privatize_batch(given, plan(on_unknown="drop-sequence"))
    assert left.column("id").to_pylist() == ["r0", "r2"]
    check_batch(given, plan(on_unknown="drop-sequence"))
    nothing = privatize_batch(given.slice(3), plan(on_unknown="drop-sequence"))
    assert nothing.num_rows == 0 and nothing.schema == given.schema


def test_what_is_left_out_does_not_change_the_others():
    words = [["a", "b"] if number % 3 else ["z"] for number in range(60)]
    given = batch(words, pa.list_(pa.string()))
    some = privatize_batch(given, plan(epsilon="1/2", on_unknown="drop-sequence")).to_pylist()
    kept = given.filter(pa.array([number % 3 != 0 for number in range(60)]))
    assert privatize_batch(kept, plan(epsilon="1/2")).to_pylist() == some


def test_missing_values_are_refused():
    with pytest.raises(WordError, match="record 3: expected a symbol in every place .* position 2"):
        privatize_batch(batch([["a"], [], ["a", None]], pa.list_(pa.string())), plan())
    for none in (None, ""):
        no_id = pa.record_batch([pa.array(["x", none]), pa.array([["a"], ["b"]])], names=["id", "s"])
        with pytest.raises(ParameterError, match="id in every row"):
            privatize_batch(no_id, plan())


def test_nothing_is_no_symbol_even_where_a_dictionary_lists_it():
    """Arrow lets a dictionary hold a null: such a place is empty, and not the symbol that prints as None."""
    symbols = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", None]))
    given = pa.record_batch([pa.array(["r0"]), pa.ListArray.from_arrays([0, 2], symbols)], names=["id", "s"])
    for call in (privatize_batch, check_batch):
        with pytest.raises(WordError, match="record 1: expected a symbol in every place .* position 2"):
            call(given, plan(["a", "None"]))


def test_the_plan():
    with pytest.raises(ParameterError, match="on_unknown"):
        plan(on_unknown="ignore")
    with pytest.raises(ParameterError, match="ids or of places"):
        plan(identifier=None)
    secret = plan(release_key=bytes([65]) * 32)
    assert "A" * 5 not in repr(secret)
    again = pickle.loads(pickle.dumps(secret))  # noqa: S301 - our own bytes
    given = batch([["a", "b", "c"]] * 20, pa.list_(pa.string()))
    assert privatize_batch(given, again).equals(privatize_batch(given, secret))
