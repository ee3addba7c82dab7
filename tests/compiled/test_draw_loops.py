"""Bulk draws on a model where floats decide nothing: the same bits as the interpreted twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiled.recorded import calls_of
from compiled.twins import Call, agree, loops
from symveil.languages import run_draws

LOOP = "symveil.languages.draw_loops.draw_part"


@pytest.fixture(scope="module")
def calls() -> tuple[Call, ...]:
    return tuple(call for call in calls_of("symveil.languages.", 1000) if call.loop == LOOP)


def test_the_same_bits_where_nothing_is_drawn(calls: tuple[Call, ...]) -> None:
    codes, words, released, decided, *rest = calls[0].arguments
    agree(LOOP, (codes[:0], words[:0], released[:0], decided[:0], *rest))
    records, limits = rest[:3], rest[3:]
    for factor in (0.0, 1e300, 1e-300):  # no floats that could decide
        few = [scaled(record, factor) for record in records]
        agree(LOOP, (codes, words, released, decided, *few, *limits))


def scaled(record: Any, factor: float) -> Any:
    """The same record with other weights."""
    kind, fields = record.__reduce__()
    return kind(*(each * factor if getattr(each, "dtype", None) == np.float64 else each for each in fields))


def test_arrays_of_another_kind_are_refused(calls: tuple[Call, ...]) -> None:
    """Not read as what they are not: `draw_rows` makes them what the loop takes."""
    codes, *rest = calls[1].arguments
    for other in (codes.astype(np.int64), np.asfortranarray(np.repeat(codes, 2, axis=0)), codes[0]):
        with pytest.raises(ValueError, match="Buffer|contiguous"):
            loops()[LOOP](other, *rest)
    assert run_draws.LANES == 16
