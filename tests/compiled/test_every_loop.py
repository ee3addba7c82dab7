"""Every compiled loop beside its interpreted twin on recorded calls: the same bits, in threads and after a fork too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any

import numpy as np
import pytest

from compiled.recorded import WORK, calls_of
from compiled.twins import NAMES, Call, agree, agree_again, bits, copied, loops
from symveil.calibration.costs.step_loops import Arcs

FEW, MANY = 16, 2000  # calls of each loop: twins are slow
FOR_TESTS = {
    "symveil.calibration.costs.step_loops.fraction_bound",
    "symveil.calibration.path_loops.raised_ratio",
    "symveil.calibration.window_loops.raised_mean",
}
"""They call what other loops use inside, and only tests call them."""


def of_each_loop(calls: tuple[Call, ...], most: int) -> Iterator[Call]:
    """At most so many calls of each loop."""
    for _, group in groupby(sorted(calls, key=lambda call: call.loop), key=lambda call: call.loop):
        yield from list(group)[:most]


def test_every_loop_is_recorded() -> None:
    called = {call.loop for home in WORK for call in calls_of(home, MANY)}
    every = {name for name in loops() if "__pyx_unpickle" not in name}
    assert every == called | FOR_TESTS


@pytest.mark.parametrize("home", WORK)
def test_the_same_bits(home: str) -> None:
    calls = list(of_each_loop(calls_of(home, MANY), FEW))
    assert calls
    for call in calls:
        agree_again(call)


@pytest.mark.soak
def test_the_same_bits_in_thousands_of_calls() -> None:
    calls = [call for home in WORK for call in calls_of(home, MANY)]
    assert len(calls) > 2000
    for call in calls:
        agree_again(call)


def test_the_same_bits_of_what_only_tests_call() -> None:
    random = np.random.default_rng(8)
    for _ in range(200):
        size = int(random.integers(1, 6))
        low, high = np.sort(random.random((2, size)) * 10.0 ** float(random.integers(-300, 300)), axis=0)
        value, rate = random.random(size), float(random.random())
        agree("symveil.calibration.window_loops.raised_mean", (value, low, high, rate, 1e-14))
        keys = [np.flatnonzero(random.random(size) < 0.7).astype(np.int64) for _ in range(2)]
        sums = [np.sort(random.random((len(each), 2)), axis=1)[:, ::-1].copy() for each in keys]
        given = (1.0, keys[0], sums[0], keys[1], sums[1], low[None], high[None], float(low.sum()), 1e-14)
        agree("symveil.calibration.path_loops.raised_ratio", given)
        arcs = Arcs(np.array([0, size, 2 * size]), np.tile(np.arange(size), 2), random.random(2 * size))
        agree("symveil.calibration.costs.step_loops.fraction_bound", (arcs, low, high, 0, 1, 1.0, 1e-14))


def outcome(call: Call) -> Any:
    arguments = copied(call.arguments)
    return bits(loops()[call.loop](*arguments)), bits(arguments)


@pytest.mark.parametrize("home", WORK)
def test_the_same_bits_in_threads(home: str) -> None:
    calls = list(of_each_loop(calls_of(home, MANY), 60))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(outcome, calls)) == [call.outcome for call in calls]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_same_bits_after_a_fork() -> None:
    calls = [call for home in WORK for call in of_each_loop(calls_of(home, MANY), 60)]
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = all(outcome(call) == call.outcome for call in calls)
        finally:
            os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- arrays that are not as loops take them ------------------------------------------------------------


def changed(call: Call, change: Any) -> Iterator[tuple[Any, ...]]:
    """The arguments of a call with one of its arrays changed, in turn."""
    for index, value in enumerate(call.arguments):
        if isinstance(value, np.ndarray) and (other := change(value)) is not None:
            yield (*copied(call.arguments[:index]), other, *copied(call.arguments[index + 1 :]))


def strided(array: np.ndarray) -> np.ndarray | None:
    """The same numbers with gaps between them."""
    return np.repeat(array, 2, axis=-1)[..., ::2] if array.size and array.shape[-1] > 1 else None


@pytest.mark.parametrize("home", WORK)
def test_arrays_with_gaps_or_of_another_kind_are_refused(home: str) -> None:
    """They are not read as what they are not."""
    for call in of_each_loop(calls_of(home, MANY), 1):
        for change in (strided, lambda array: array.astype(np.complex64), lambda array: array[None]):
            for arguments in changed(call, change):
                with pytest.raises((ValueError, TypeError)):
                    loops()[call.loop](*arguments)


def test_records_refuse_them_too() -> None:
    records = {
        type(value): value for home in WORK for call in calls_of(home, MANY) for value in call.arguments
        if type(value).__module__ in NAMES
    }  # fmt: skip
    assert len(records) >= 12
    for kind, record in records.items():
        _, fields = record.__reduce__()
        for index, value in enumerate(fields):
            if isinstance(value, np.ndarray) and (other := strided(value)) is not None:
                with pytest.raises(ValueError, match="contiguous"):
                    kind(*fields[:index], other, *fields[index + 1 :])


def locked(array: np.ndarray) -> np.ndarray:
    """A copy that cannot be written to."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("home", WORK)
def test_arrays_that_are_only_read_may_be_locked(home: str) -> None:
    """A loop reads them as they are, or refuses them all at once: it never writes into them."""
    for call in of_each_loop(calls_of(home, MANY), 2):
        for arguments in changed(call, locked):
            try:
                value = bits(loops()[call.loop](*arguments))
            except (ValueError, TypeError) as error:
                assert "read-only" in str(error) or "No matching signature" in str(error)
            else:
                assert (value, bits(arguments)) == call.outcome
