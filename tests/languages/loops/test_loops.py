"""The small compiler: what it makes of a function computes what Python computes, bit by bit."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.languages.compiling import Loop, compiled
from symveil.languages.loops import kept_code, machine
from symveil.languages.loops.machine import MachineCode
from symveil.languages.loops.values import NotTranslated

integers = st.integers(-(2**31), 2**31)
floats = st.floats(allow_nan=True, allow_infinity=True)


@pytest.fixture(autouse=True)
def _nothing_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))


def same(one: object, other: object) -> bool:
    """The same numbers, bit by bit: −0 differs from 0, NaN equals itself."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if one is None or other is None:
        return one is other
    left, right = np.asarray(one), np.asarray(other)
    if left.shape == right.shape == () and {left.dtype.kind, right.dtype.kind} == {"i", "f"}:
        left, right = left.astype(float), right.astype(float)  # max(1, 0.5): Python's has the type of one, or the other
    if (left.dtype.kind, left.shape) != (right.dtype.kind, right.shape):
        return False
    if left.dtype.kind == "f":
        left, right = left.astype(float), right.astype(float)
        nan = np.isnan(left)
        return bool((nan == np.isnan(right)).all() and (left[~nan].tobytes() == right[~nan].tobytes()))
    return bool((left == right).all())


def copied(array: np.ndarray) -> np.ndarray:
    """With gaps where there are some."""
    if array.flags.c_contiguous:
        return array.copy()
    view = np.zeros([2 * width for width in array.shape])[(slice(None, None, 2),) * array.ndim]
    view[...] = array
    return view


def checked(function: Callable[..., Any], *arguments: Any) -> Any:
    """Translate and call; compare with Python, in what is returned and in what the arguments are afterwards."""
    mine, theirs = ([copied(part) if isinstance(part, np.ndarray) else part for part in arguments] for _ in range(2))
    found = machine.code_for(function, tuple(arguments))(tuple(mine))
    with np.errstate(all="ignore"):
        expected = function(*theirs)
    assert same(found, expected), (found, expected)
    for one, other in zip(mine, theirs, strict=True):
        assert same(one, other), (one, other)
    return found


# --- numbers ---------------------------------------------------------------------------------------


def arithmetic(a, b, x, y):
    return a + b, a - b, a * b, -a, abs(a), x + y, x - y, x * y, -x, abs(x), a + x, x * b, 3 - x, a**2


def division(a, b, x, y):
    return a // b, a % b, a / b, x / y, a // 8, a % 8, a // 7, a % 7, a // -3, a % -3


def comparison(a, b, x, y):
    return (
        a < b, a <= b, a > b, a >= b, a == b, a != b, x < y, x <= y, x > y, x >= y, x == y, x != y, a < x, a == x,
        a < b < x, (a, b) < (b, a), (x, a) > (y, b), a not in (b, 3), a in (b, 3), not x, not a, (a < b) != (x < y),
    )  # fmt: skip


def extremes(a, b, x, y):
    return max(a, b), min(a, b), max(x, y), min(x, y), max(a, x), min(0.0, x, y), max(x, 1, y), max(y, x)


def choices(a, b, x, y):
    one = a if x < y else b
    two = x if a < b and (x < y or y < 0.0) else a
    three = a > 0 or x > 0.0
    four = a > 0 and b > 0 and x > y
    return one, two, three, four, float(a), bool(a), bool(x), (x if x > y else y) if a else 0.5


def roundings(x):
    return np.floor(x), np.ceil(x), np.sqrt(abs(x)), np.exp(min(x, 1.0)), np.log(abs(x) + 1.0)


@settings(max_examples=40)
@given(integers, integers, floats, floats)
@pytest.mark.parametrize("function", [arithmetic, comparison, extremes, choices])
def test_numbers(function: Callable[..., Any], a: int, b: int, x: float, y: float) -> None:
    checked(function, a, b, x, y)
    checked(function, a, a, x, x)


@settings(max_examples=40)
@given(integers, integers.filter(bool), floats, floats.filter(bool))
def test_division_rounds_down(a: int, b: int, x: float, y: float) -> None:
    checked(division, a, b, x, y)


@pytest.mark.parametrize(("b", "y"), [(0, 1.0), (1, 0.0), (1, -0.0)])
def test_division_by_zero(b: int, y: float) -> None:
    with pytest.raises(ZeroDivisionError):
        Loop(division)(1, b, 1.0, y)


@pytest.mark.parametrize("x", [0.0, -0.5, 2.5, 1e300, -1e-300, 0.1])
def test_roundings(x: float) -> None:
    checked(roundings, x)


def bits(a, b, n):
    mixed = np.uint64(a) ^ (np.uint64(b) * np.uint64(1099511628211))
    count = 0
    while mixed:
        count += 1
        mixed >>= np.uint64(1)
    return count, a & b, a | b, a ^ b, ~a, a << 3, a >> n, int(2.75 * n), np.int64(np.uint64(b) >> np.uint64(n))


def test_bits() -> None:
    with np.errstate(over="ignore"):
        checked(bits, 12345678912345, 98765, 5)
        checked(bits, 7, 2**62 + 12345, 13)


def widened(values, goal):
    total, last = 0, -1
    for k in range(len(values)):
        if values[k] > goal:
            total += values[k]
            last = k
    return total, last


def test_an_integer_that_becomes_a_float() -> None:
    checked(widened, np.array([0.5, 3.0, 2.5]), 1.0)
    checked(widened, np.array([5, 3, 2]), 2)


# --- loops -----------------------------------------------------------------------------------------


def loops(first, other, limit):
    seen, count, where = np.zeros(len(first), np.bool_), 0, np.full(4, -1)
    for i in range(len(first) - 1):
        for e in range(first[i], first[i + 1]):
            if other[e] < 0:
                continue
            if count > limit:
                break
            seen[other[e]] = True
            count += 1
        else_count = count
    for i in range(3, -1, -1):
        where[i] = i
    for i in range(0, 10, 3):
        count += i
    for i in range(5, 5):
        count = i
    while True:
        count -= 1
        if count < 3:
            break
    for one, two in ((count, 1), (limit, 2)):
        if one > 100:
            continue
        where[two] += one
    for value in where[1:3]:
        count += value
    return seen, count, where, i, else_count


def test_loops() -> None:
    first, other = np.array([0, 2, 3, 6]), np.array([1, -1, 2, 0, 1, 3], np.int32)
    for limit in (0, 2, 50):
        checked(loops, first, other, limit)


# --- arrays ----------------------------------------------------------------------------------------


def views(a, b):
    row, column = a[1], b[:, 2]
    b[0] = a[1]
    b[:, 1] = 7.5
    b[1, 1:3] = column[:2]
    b[-1, -1] = row[-2]
    a[2, :] = 0.0
    a[1:2, :2] = b[:1, 1:3]
    return row.copy(), column.copy(), a[:, 1:].copy(), len(a[5:]), len(a[2:1]), len(a[-2:]), a.shape[1], b.T[1].copy()


def test_views() -> None:
    a, b = np.arange(12.0).reshape(4, 3), np.arange(100.0, 118.0).reshape(3, 6)[:, ::2].copy()
    for left in (a, np.asfortranarray(a), np.arange(48.0).reshape(8, 6)[::2, ::2]):
        checked(views, left, b)
        checked(views, left, np.arange(36.0).reshape(6, 6)[::2, ::2])


def kinds(a8, a16, a32, au, ab, af):
    a8[0] = a16[1] + 1
    a32[1] = a8[1] * a16[0]
    au[0] = au[1] | np.uint64(5)
    ab[0] = not ab[1]
    af[0] = 0.1 + af[1]
    af[1] = max(af[1] * 2.0, 1.0)
    return a8.max(), a32[1] / 3, ab.any(), np.empty_like(a32), np.array([1, 2, 3]), np.ones(2), np.ones(2, np.int8)


def test_elements_of_every_kind() -> None:
    parts = [np.array([3, 4, 5], kind) for kind in (np.int8, np.int16, np.int32, np.uint64, np.bool_, np.float32)]
    code = machine.code_for(kinds, tuple(parts))
    mine, theirs = [part.copy() for part in parts], [part.copy() for part in parts]
    found, expected = code(tuple(mine)), kinds(*theirs)
    assert all(map(same, mine, theirs))
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert number == 3 or same(one, other)  # an empty array holds anything


@pytest.mark.parametrize("values", [[1.0], [3.0, 7.0, 7.0], [1.0, math.nan, 9.0], [math.nan, 2.0], [-math.inf], []])
def test_the_largest(values: list[float]) -> None:
    array = np.array(values)
    if values:
        checked(largest, array)
    else:
        with pytest.raises(ValueError, match="zero-size"):
            Loop(largest)(array)


def largest(a):
    return a.max()


def growing(n):
    keys, found, used = np.empty(2, np.int64), np.zeros((2, 2)), 0
    for k in range(n):
        while used >= len(keys):
            keys = np.concatenate((keys, np.empty_like(keys)))
            more = np.zeros((2 * len(found), 2))
            more[: len(found)] = found
            found = more
        keys[used] = k * k
        found[used] = 0.5 * k
        used += 1
    backwards = found[:used][:, ::-1].copy()
    return keys[:used].copy(), found[:used], backwards


def swapped(n):
    now, after = np.zeros(3), np.ones(3)
    for step in range(n):
        for k in range(3):
            after[k] = now[k] + step
        now, after = after, now
        row = after
        now[0] += row[1]
    return now, after


def made_by_others(n):
    total, kept = 0.0, np.empty(0)
    for k in range(n):
        part, rest, size = growing(k + 1)
        kept = swapped(k)[0]
        total += part[k] + rest[k, 0] + len(size)
        kept = first_part(kept)
    return kept, total


def first_part(array):
    return array[:2]


@pytest.mark.parametrize("function", [growing, swapped, made_by_others])
def test_new_arrays(function: Callable[..., Any]) -> None:
    for n in (0, 1, 9):
        checked(function, n)


def test_what_is_made_is_given_back() -> None:
    """Python's raw memory is traced: calls leave nothing behind."""
    code = machine.code_for(made_by_others, (5,))
    code((9,))
    tracemalloc.start()
    try:
        for _ in range(3):
            code((9,))
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            code((9,))
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < before + 500
    finally:
        tracemalloc.stop()


def tuples(ends, x, a):
    both = (ends[0] + 1, x)
    a[1] = both
    if x > 1.0:
        both = (7, 2 * x)
    low, high = ends
    return both[0], both[1], high - low, inside(ends)


def inside(ends):
    return ends[1]


def test_tuples_of_numbers() -> None:
    for x in (0.5, 1.5):
        loop = Loop(tuples)
        mine, theirs = np.zeros((2, 2)), np.zeros((2, 2))
        assert same(loop((2, 5), x, mine), tuples((2, 5), x, theirs))
        assert same(mine, theirs)
        assert isinstance(next(iter(loop._codes.values())), MachineCode)


def wrong_shapes(a, n):
    a[:n] = np.zeros(n + 1)


def no_size(n):
    return np.empty(n)


def test_errors_are_raised() -> None:
    with pytest.raises(ValueError, match="different size"):
        Loop(wrong_shapes)(np.zeros(4), 2)
    with pytest.raises(ValueError, match="negative"):
        Loop(no_size)(-1)


# --- what is not translated ------------------------------------------------------------------------


def whole(a):
    return a + 1.0


def part_of_itself(a):
    a[1:] = a[:-1]


def itself(n):
    return n if n < 1 else itself(n - 1)


def narrow(a):
    return a[0] * a[1]


def text(n):
    return f"{n}"


def mixed_signs(a, n):
    return a[0] + n


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (whole, (np.zeros(2),)),
        (part_of_itself, (np.zeros(3),)),
        (itself, (3,)),
        (narrow, (np.ones(2, np.float32),)),
        (text, (3,)),
        (mixed_signs, (np.ones(1, np.uint64), 3)),
        (first_part, ("ab",)),
        (first_part, (np.zeros(2, ">f8"),)),
        (lambda a: a, (1,)),
    ],
)
def test_what_would_mean_something_else_is_left_to_numba(
    function: Callable[..., Any], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(NotTranslated):
        machine.code_for(function, arguments)


def test_numba_takes_the_rest_and_calls_what_is_translated() -> None:
    loop = Loop(outer)
    assert same(loop(np.arange(3.0)), outer(np.arange(3.0)))
    assert not isinstance(next(iter(loop._codes.values())), MachineCode)


@compiled
def inner(a, k):
    return a[k] * 2.0


def plain(a, k):
    return plainer(a[k])


def plainer(x):
    return 3.0 * x


def outer(a):
    return inner(a, 1) + plain(a, 2) + np.sum(a + 1.0)


# --- code that is kept -----------------------------------------------------------------------------


def fresh_machine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """As in a new process; the names of what is compiled, not read."""
    names: list[str] = []
    original = machine.Machine._compiled
    monkeypatch.setattr(machine, "_machine", [])

    def compile_it(own: machine.Machine, body: str, folder: Path | None, name: str) -> object:
        names.append(name)
        return original(own, body, folder, name)

    monkeypatch.setattr(machine.Machine, "_compiled", compile_it)
    return names


def test_code_is_kept_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for expected in (True, False):
        names = fresh_machine(monkeypatch)
        checked(largest, np.array([1.0, 3.0]))
        assert bool(names) is expected
    (file,) = tmp_path.rglob("*.loop")
    file.write_bytes(file.read_bytes()[:-5])  # cut short
    names = fresh_machine(monkeypatch)
    checked(largest, np.array([1.0, 3.0]))
    assert names
    assert kept_code.read(file.parent, file.name.removesuffix(".loop")) is not None


def test_what_an_earlier_text_became_goes(tmp_path: Path) -> None:
    for name in ("loop.kinds.old", "loop.others.old", "loop.kinds.new"):
        kept_code.write(tmp_path, name, b"code")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["loop.kinds.new.loop", "loop.others.old.loop"]


def test_the_users_cache_serves_where_the_installation_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package").write_text("")  # no folder: nothing can be made in it
    source = str(tmp_path / "package" / "loops.py")
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path / "cache"))
    assert kept_code.folder_for(source) == tmp_path / "cache" / "loops" / "package.loops"
    monkeypatch.setenv("SYMVEIL_CACHE", "")
    assert kept_code.folder_for(source) is None


def test_nothing_is_kept_where_nobody_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    fresh_machine(monkeypatch)
    checked(largest, np.array([1.0, 3.0]))


def test_without_a_compiler_it_is_the_function_itself(tmp_path: Path) -> None:
    code = "from symveil.languages.compiling import compiled\ndef f(x): return x\nassert compiled(f) is f"
    subprocess.run(
        [sys.executable, "-c", code], env={"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": ":".join(sys.path)}, check=True
    )
