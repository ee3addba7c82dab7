"""Two processes never draw the same noise: a forked child asks for its own key."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable

import pytest

import symveil as sv
from symveil.numbers.conversions import precision
from symveil.randomness import SystemBits, system_bits

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    # from Python 3.12 on a fork beside other threads warns; what happens then is what is tested here
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

SIZE = 1600
PATIENCE = 5


def in_a_fork(work: Callable[[], bytes]) -> bytes:
    """What `work` returns in a forked child; fails if the child dies or hangs."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(PATIENCE)
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(work())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "the child died or did not come back"
    return said


def blocks(data: bytes) -> set[bytes]:
    return {data[start : start + 16] for start in range(0, len(data), 16)}


@pytest.fixture
def stream(monkeypatch) -> bytes:
    """The keystream that a source keyed now will give, by a fixed key in this process only."""
    source = SystemBits()
    parent = os.getpid()
    real = os.urandom
    monkeypatch.setattr(os, "urandom", lambda size: bytes(size) if os.getpid() == parent else real(size))
    return source.fill(3 * SIZE).tobytes()


def test_a_child_never_repeats_its_parents_noise(stream):
    source = SystemBits()
    before = source.fill(SIZE).tobytes()
    child = in_a_fork(lambda: source.fill(SIZE).tobytes())
    after = source.fill(SIZE).tobytes()
    # the parent goes on in its own stream, undisturbed; the child is nowhere in it
    assert before + after == stream[: 2 * SIZE]
    assert not blocks(child) & blocks(stream)


def test_children_and_grandchildren_have_streams_of_their_own():
    source = SystemBits()
    source.fill(16)

    def child() -> bytes:
        own = source.fill(SIZE).tobytes()
        grandchild = in_a_fork(lambda: source.fill(SIZE).tobytes())
        return own + grandchild + source.fill(SIZE).tobytes()

    streams = [source.fill(SIZE).tobytes(), in_a_fork(child), in_a_fork(child), source.fill(SIZE).tobytes()]
    together = [block for data in streams for block in blocks(data)]
    assert len(together) == (1 + 3 + 3 + 1) * SIZE // 16
    assert len(set(together)) == len(together)


def test_a_source_not_yet_keyed_is_keyed_apart():
    source = SystemBits()
    child = in_a_fork(lambda: source.fill(SIZE).tobytes())
    assert not blocks(child) & blocks(source.fill(SIZE).tobytes())


def test_a_child_asks_for_a_key_even_when_nothing_was_left_unused():
    """A child of a child whose own parent never drew a bit must not fall back on its grandparent's key."""
    source = SystemBits()
    source.fill(16)
    grandchild = in_a_fork(lambda: in_a_fork(lambda: source.fill(SIZE).tobytes()))
    assert not blocks(grandchild) & blocks(source.fill(SIZE).tobytes())


def _draw_in_worker(_: int) -> bytes:
    return system_bits().fill(SIZE).tobytes()


def test_workers_of_a_pool_draw_different_noise():
    system_bits().fill(16)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        drawn = pool.map(_draw_in_worker, range(12), chunksize=1)
    drawn.append(system_bits().fill(SIZE).tobytes())
    together = [block for data in drawn for block in blocks(data)]
    assert len(set(together)) == 13 * SIZE // 16


def test_released_words_differ_between_parent_and_child():
    """640 uniform-looking bits each: equal by chance once in 2^640."""
    mechanism = sv.Exponential(sv.words("ab", 640), epsilon="1/1000")
    word = "a" * 640
    mechanism.release(word)
    child = in_a_fork(lambda: mechanism.release(word).encode())
    assert child.decode() != mechanism.release(word)


def test_a_child_can_draw_while_another_thread_of_the_parent_was_drawing():
    """Only the forking thread lives on: a lock that another thread held is nobody's to release."""
    source = SystemBits()
    source.fill(16)
    with source._lock:  # as if another thread were inside `fill` at the moment of the fork
        child = in_a_fork(lambda: source.fill(SIZE).tobytes())
    assert not blocks(child) & blocks(source.fill(SIZE).tobytes())


def test_a_child_can_calibrate_while_another_thread_of_the_parent_was_calibrating():
    """The same for the lock on the working precision of balls."""
    inside, leave = threading.Event(), threading.Event()

    def calibrate() -> None:
        with precision(64):
            inside.set()
            leave.wait(PATIENCE + 5)

    other = threading.Thread(target=calibrate)
    other.start()
    inside.wait()
    try:
        released = in_a_fork(lambda: sv.Staircase(sv.words("ab", 3), epsilon=1).release("aba").encode())
    finally:
        leave.set()
        other.join()
    assert len(released) == 3
