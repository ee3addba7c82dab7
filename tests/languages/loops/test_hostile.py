"""Loops written against the small compiler: what it takes means what Python means, the rest is left to numba."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symveil.languages.compiling import Loop
from symveil.languages.loops import kept_code, machine
from symveil.languages.loops.values import NotTranslated


@pytest.fixture(autouse=True)
def _nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))


def translated(function: Callable[..., Any], *arguments: Any) -> Any:
    return machine.code_for(function, arguments)(arguments)


def wrapped(value: int) -> int:
    """As 64 bits hold it."""
    return (value + 2**63) % 2**64 - 2**63


# --- numbers ---------------------------------------------------------------------------------------


def quotients(a, b):
    return a // b, a % b


def turned(a):
    return a // -1, a % -1


@pytest.mark.parametrize("a", [-(2**63), 2**63 - 1, 0, 7, -7])
@pytest.mark.parametrize("b", [-1, 1, -2, 3, -(2**63), 2**63 - 1])
def test_every_quotient_of_64_bits(a: int, b: int) -> None:
    """The least integer by −1 stops a processor."""
    assert translated(quotients, a, b) == tuple(map(wrapped, quotients(a, b)))
    assert translated(turned, a) == tuple(map(wrapped, turned(a)))


def shifts(a, n):
    return a << n, a >> n


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_shifts_by_any_number_of_bits(n: int) -> None:
    for a in (5, -5, 2**63 - 1):
        assert translated(shifts, a, n) == tuple(map(wrapped, shifts(a, n)))
    with pytest.raises(ValueError, match="negative shift"):
        translated(shifts, 5, -1 - n)


def wide_steps(low, high):
    count = last = 0
    for k in range(low, high, 5):
        count, last = count + 1, k
        if count > 9:
            break
    for k in range(high, low, -7):
        count, last = count + 1, k
        if count > 19:
            break
    return count, last


@pytest.mark.parametrize(
    ("low", "high"), [(2**63 - 8, 2**63 - 2), (-(2**63), 3 - 2**63), (0, 33), (-(2**63), 2**63 - 1), (4, 4), (9, 2)]
)
def test_ranges_end_at_the_last_integer(low: int, high: int) -> None:
    assert translated(wide_steps, low, high) == wide_steps(low, high)


def truncated(x):
    return int(x)


@pytest.mark.parametrize("x", [-0.5, 0.99, -(2.0**62), 2.0**63 - 1024, -(2.0**63)])
def test_a_float_becomes_an_integer(x: float) -> None:
    assert translated(truncated, x) == int(x)


@pytest.mark.parametrize("x", [2.0**63, 1e300, float("inf"), float("-inf"), float("nan")])
def test_what_no_integer_holds_is_always_the_same(x: float) -> None:
    assert translated(truncated, x) == -(2**63)


def by_negative_zero(x):
    return x / -0.0


def test_division_by_negative_zero_that_is_written_out() -> None:
    with pytest.raises(ZeroDivisionError):
        translated(by_negative_zero, 1.0)


def truth(value, several):
    return 1 if value and several[0] else 0


def test_truth_values_of_numpy_as_arguments() -> None:
    assert translated(truth, np.bool_(True), (np.bool_(True), 1)) == 1
    assert translated(truth, np.bool_(True), (np.bool_(False), 1)) == 0


# --- rounding --------------------------------------------------------------------------------------


def products_and_sums(a, b, c, out):
    total = 0.0
    for k in range(len(a)):
        out[k] = a[k] * b[k] + c[k]
        total += a[k] * b[k]
    return total


def test_nothing_is_fused_and_no_sum_is_ordered_anew() -> None:
    source = np.random.default_rng(11)
    a, b = source.standard_normal((2, 257)) * 10.0 ** source.integers(-8, 8, (2, 257))
    c = -(a * b)  # fused, the rounding error of the product would be left
    mine, theirs = np.zeros(257), np.zeros(257)
    assert translated(products_and_sums, a, b, c, mine) == products_and_sums(a, b, c, theirs)
    assert not mine.any()
    assert not theirs.any()


# --- names -----------------------------------------------------------------------------------------


def perhaps(n):
    if n > 3:
        found = n
    return found


def after_a_loop(n):
    for k in range(n):
        row = np.full(3, k)
    return k, row


def surely(n):
    while True:
        n += 1
        if n > 3:
            found = 1
        else:
            found = 2
            continue
        break
    return found


@pytest.mark.parametrize(("function", "good"), [(perhaps, 5), (after_a_loop, 2)])
def test_a_name_without_a_value(function: Callable[..., Any], good: int) -> None:
    code = machine.code_for(function, (0,))
    for _ in range(2):
        with pytest.raises(UnboundLocalError):
            code((0,))
    assert str(code((good,))) == str(function(good))
    assert translated(surely, 0) == surely(0)


# --- memory ----------------------------------------------------------------------------------------


def writes(a):
    part = a[1:]
    sets(part)


def sets(a):
    a[0] = 5.0


def reads(a):
    return a[0] + a[1]


def test_what_may_not_be_written_is_not() -> None:
    array = np.arange(4.0)
    loop = Loop(reads)
    assert loop(array) == 1.0
    machine.code_for(writes, (array,))
    array.flags.writeable = False
    assert loop(array) == 1.0
    for function in (writes, sets):
        with pytest.raises(NotTranslated, match="may not be"):
            machine.code_for(function, (array,))


def moved(a, b):
    a[:] = b


def moved_by_a_name(a):
    b = a[1:]
    b[:] = a[:-1]


def test_parts_that_share_memory() -> None:
    for one, other in ((slice(1, None), slice(-1)), (slice(-1), slice(1, None)), (slice(None, None, -1), slice(None))):
        mine, theirs = np.arange(6.0), np.arange(6.0)
        translated(moved, mine[one], mine[other])
        moved(theirs[one], theirs[other])
        assert (mine == theirs).all()
    mine, theirs = np.arange(6.0), np.arange(6.0)
    translated(moved_by_a_name, mine)
    moved_by_a_name(theirs)
    assert (mine == theirs).all()


def rest(a):
    return a[1:]


def test_a_part_of_an_argument_is_returned_as_one() -> None:
    array = np.arange(4.0)
    part = translated(rest, array)
    part[0] = 9.0
    assert array[1] == 9.0
    array.flags.writeable = False
    assert not translated(rest, array).flags.writeable
    assert translated(rest, np.empty(0)).shape == (0,)
    part = translated(rest, np.full(1000, 3.0))  # holds the argument
    gc.collect()
    assert part.sum() == 3.0 * 999


def column_as_row(a):
    column = a[:, 1].T
    return column[0] + 10.0 * column[1], column.copy()


def test_a_transposed_column_keeps_its_gaps() -> None:
    a = np.arange(12.0).reshape(4, 3)
    assert str(translated(column_as_row, a)[1]) == str(column_as_row(a)[1])


def square(n):
    return np.empty((n, n))[0, 0]


@pytest.mark.parametrize("n", [2**31, 2**32, 2**62])
def test_sizes_beyond_64_bits(n: int) -> None:
    with pytest.raises(MemoryError):
        translated(square, n)


def fails(n):
    return first_of(np.zeros(n), fails_inside(n))


def fails_inside(n):
    made = np.ones(n)
    return first_of(made, n // (n - n))


def first_of(a, b):
    return a[0] + b


def test_an_error_leaves_nothing_behind() -> None:
    """No memory, and no exception that holds the frames of those before."""
    code = machine.code_for(fails, (3,))
    errors = []

    def call() -> None:
        with pytest.raises(ZeroDivisionError) as caught:
            code((1000,))
        errors.append(id(caught.value))
        assert caught.traceback[-1].name == "__call__"
        assert len(caught.traceback) == 2

    for _ in range(3):
        call()
    tracemalloc.start()
    try:
        call()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            call()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < before + 8000  # one array
    finally:
        tracemalloc.stop()


def test_a_subclass_of_an_array_is_no_array() -> None:
    """Its kind does not say what its elements are."""
    with pytest.raises(NotTranslated):
        machine.code_for(reads, (np.arange(4.0).view(np.matrix),))


def test_threads_compile_and_call_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_machine", [])
    loop, found = Loop(reads), list[float]()
    arrays = [np.arange(6.0), np.arange(12.0)[::2], np.arange(6)]
    threads = [threading.Thread(target=lambda own=own: found.append(loop(own))) for own in arrays * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [1.0] * 6 + [2.0] * 3


def test_code_of_another_function_is_not_taken(tmp_path: Path) -> None:
    kept_code.write(tmp_path, "one.kinds.text", b"code")
    (tmp_path / "one.kinds.text.loop").rename(tmp_path / "two.kinds.text.loop")
    assert kept_code.read(tmp_path, "two.kinds.text") is None


def test_arrays_that_may_be_written_and_others_have_the_same_code(tmp_path: Path) -> None:
    array = np.arange(4.0)
    machine.code_for(rest, (array,))
    array.flags.writeable = False
    engines = len(machine._machine[0].engines)
    machine.code_for(rest, (array,))
    assert len(machine._machine[0].engines) == engines


# --- what is left to numba -------------------------------------------------------------------------


def typed_list(a):
    return np.array([1, 2], np.float64)


def along_another_axis(a):
    return np.concatenate((a, a), 1)


def float_power(a):
    return len(a) ** 2.0


def tuple_that_changes(a):
    total, b = 0.0, a.copy()
    for part in (a, b):
        b = np.zeros(2)
        total += part[0, 0]
    return total


def array_that_changes(a):
    total, row = 0.0, a[0].copy()
    for entry in row:
        row = np.zeros(2)
        total += entry
    return total


def made_in_the_middle(a):
    return 0 < len(a) < len(np.zeros(3)) < 10


def matrix_product(a):
    return a @ a


def shape_by_name(a):
    return np.zeros(shape=3)


def nothing_at_all(a):
    return ()


def root_of_narrow(a):
    return np.sqrt(a[0])


def narrow_choice(a):
    return (a[0] if a[1] > 0.5 else a[1]) * 0.1


def narrow_list(a):
    return np.array([a[0], a[1]])


def narrow_size(a):
    return abs(a[0]) + a[1]


NARROW = (root_of_narrow, narrow_choice, narrow_list, narrow_size)
WIDE = (
    typed_list, along_another_axis, float_power, tuple_that_changes, array_that_changes, made_in_the_middle,
    matrix_product, shape_by_name, nothing_at_all,
)  # fmt: skip


@pytest.mark.parametrize("function", [*WIDE, *NARROW])
def test_left_to_numba(function: Callable[..., Any]) -> None:
    argument = np.ones(2, np.float32) if function in NARROW else np.ones((2, 2))
    with pytest.raises(NotTranslated):
        machine.code_for(function, (argument,))


# --- forks -----------------------------------------------------------------------------------------


def doubled(a):
    return a + a


def tripled(a):
    return a + a + a


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("ends", [True, False])
def test_a_child_forked_during_a_compilation_compiles_its_own(ends: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or computes in Python, where the compilation does not come to its end: no child waits for ever."""
    inside, parent, go_on = threading.Event(), os.getpid(), threading.Event()
    compiled = machine.Machine._compiled

    def slowly(self: machine.Machine, *arguments: Any) -> Any:
        if os.getpid() == parent:
            inside.set()
            go_on.wait(0.3 if ends else 20)
        return compiled(self, *arguments)

    monkeypatch.setattr(machine.Machine, "_compiled", slowly)
    monkeypatch.setattr(machine, "_PATIENCE", 20 if ends else 0.05)
    thread = threading.Thread(target=lambda: translated(doubled, 2 if ends else 2.0), daemon=True)
    thread.start()
    assert inside.wait(20)
    loop, begun = Loop(tripled), time.monotonic()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if loop(7) == 21 and machine.is_cut_short() is not ends else 1)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert time.monotonic() - begun < 20
    assert loop(7) == 21  # and the parent compiles on
    assert not machine.is_cut_short()
