"""Threads that share a mechanism: each gets the words that it would get alone, nobody waits for ever, nothing is told.

Switching between threads a million times a second makes races likely that otherwise take a day to happen.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from flint import arb, ctx

import symveil as sv
from file_mechanism import file_mechanism
from symveil.calibration import answers, certify, rates
from symveil.calibration.weighting import Weighting
from symveil.languages.costs import hamming
from symveil.mechanisms.by_length import of_length
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.conversions import ball, float_bounds, precision, upper_bound
from symveil.numbers.once import LastFew, Memo, computed_once, searched_once
from symveil.randomness import RecordKey

from .every_mechanism import EVERY_MECHANISM, ROADS, Case, Mechanism, Word, inputs, law

THREADS = 16
PATIENCE = 60


@pytest.fixture(autouse=True)
def _switching_all_the_time() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*works: Callable[[], object], threads: int = THREADS) -> list[object]:
    """What the works return, done in turn by so many threads that begin at the same moment; fails if one hangs."""
    begin = threading.Barrier(threads)
    answers: list[object] = [None] * threads
    wrong: list[BaseException] = []

    def run(number: int) -> None:
        begin.wait()
        try:
            answers[number] = works[number % len(works)]()
        except BaseException as error:
            wrong.append(error)

    # daemons: a thread that waits for ever must not keep the tests from ending
    started = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(threads)]
    for thread in started:
        thread.start()
    deadline = time.monotonic() + PATIENCE
    for thread in started:
        thread.join(max(deadline - time.monotonic(), 0.0))
    assert not any(thread.is_alive() for thread in started), "threads wait for each other for ever"
    if wrong:
        raise wrong[0]
    return answers


# --- what threads share of a mechanism ---------------------------------------------------------------


def drawn(mechanism: Mechanism, words: list[Word]) -> list[object]:
    """A release of each word, from bits of the word's own."""
    key = RecordKey(bytes(32), "threads")
    found: list[object] = []
    for number, word in enumerate(words):
        codes = np.array(word, dtype=np.int32)
        bits = key.streams(key.names([str(number).encode()]))
        if mechanism.length is not None:
            found.append(mechanism.release_codes(codes[None, :], bits=bits)[0].tolist())
        else:
            found.append(mechanism.release_flat(codes, np.array([len(codes)]), bits=bits.of_row(0))[0].tolist())
    return found


@pytest.mark.parametrize("case", EVERY_MECHANISM, ids=lambda case: case.name)
def test_together_as_alone(case: Case) -> None:
    """Drawing, the law and the guarantee, asked of a new mechanism by all threads at once."""
    alone = case.make(Fraction(7, 3))
    words = inputs(alone)[:12]
    expected = (drawn(alone, words), alone.guarantee, law(alone, words[-1]))
    for _ in range(2):
        mechanism = case.make(Fraction(7, 3))
        works: list[Callable[[], object]] = [
            lambda m=mechanism: drawn(m, words),  # type: ignore[misc]
            lambda m=mechanism: m.guarantee,  # type: ignore[misc]
            lambda m=mechanism: law(m, words[-1]),  # type: ignore[misc]
        ]
        for number, answer in enumerate(together(*works, threads=9)):
            assert answer == expected[number % 3]


def test_a_word_that_is_forgotten_meanwhile_is_not_told() -> None:
    """0.2.0: KeyError(b'\\x02\\x00\\x00\\x00…'), the codes of a secret word, in a traceback."""
    mechanism = sv.TruncatedLevenshtein(sv.words_up_to("abc", 4), epsilon=6)
    words = [np.array(word, dtype=np.int32) for word in itertools.product(range(3), repeat=3)]

    def ask() -> None:
        for number in range(2000):
            mechanism._around(words[number * 7 % len(words)])

    together(ask, threads=24)


def test_who_calibrates_and_who_draws_do_not_wait_for_each_other() -> None:
    """0.2.0 on Python 3.11: one thread had the lock of `certified` and waited for the precision, another vice versa."""
    for epsilon in range(5, 15):
        truncated = sv.TruncatedLevenshtein(sv.words_up_to("abc", 3), epsilon=epsilon)
        together(lambda m=truncated: m.guarantee, lambda m=truncated: m.release("abc"), threads=4)  # type: ignore[misc]
    channel = sv.EditChannel("abc", epsilon=Fraction(31, 7))
    together(lambda: channel.guarantee, lambda: channel.release("abc"), threads=4)


def test_two_mechanisms_of_one_class_do_not_wait_for_each_other() -> None:
    for epsilon in range(5, 15):
        one = sv.TruncatedLevenshtein(sv.words_up_to("abc", 3), epsilon=epsilon)
        other = sv.TruncatedLevenshtein(sv.words_up_to("ab", 4), epsilon=epsilon)
        together(lambda m=one: m.guarantee, lambda m=other: m.release("ab"), threads=4)  # type: ignore[misc]


def test_lengths_are_calibrated_once_for_all_threads() -> None:
    family = file_mechanism(model=ROADS, epsilon=Fraction(2), adjacency=1)
    found = together(lambda: [of_length(family, length) for length in range(2, 9)])
    for others in found[1:]:
        assert all(one is other for one, other in zip(found[0], others, strict=True))  # type: ignore[call-overload]


def test_answers_are_forgotten_by_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 0.2.0 the oldest answer was looked up in a dictionary that others change: a RuntimeError, if rarely."""
    chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    language = sv.runs(chain, 3)
    weighting = Weighting(language=language, cost=hamming(language), adjacency=1)
    known = certify.quick_rate(weighting, epsilon=Fraction(1))
    monkeypatch.setattr(certify._QuickSearch, "searched", lambda _: known)
    monkeypatch.setattr(answers, "load", lambda _: None)
    number = itertools.count(2)

    def ask() -> None:
        for _ in range(150):
            certify.quick_rate(weighting, epsilon=Fraction(next(number)))

    together(ask)
    assert len(rates._answers) <= 512 + THREADS


# --- the working precision ---------------------------------------------------------------------------


def test_the_precision_is_one_for_the_whole_process() -> None:
    """Why there is a lock: should the library ever give each thread its own, the lock can go."""
    before = ctx.prec
    seen: list[int] = []
    with precision(777):
        thread = threading.Thread(target=lambda: seen.append(ctx.prec))
        thread.start()
        thread.join()
    assert (seen, ctx.prec) == ([777], before)


def test_nobody_lowers_the_precision_of_another() -> None:
    def work(bits: int) -> None:
        for _ in range(200):
            with precision(bits):
                value = ball(Fraction(1, 3)).exp()
                with precision(bits // 2):
                    assert value.exp().rel_accuracy_bits() < bits // 2 + 8
                assert value.exp().log().rel_accuracy_bits() > bits - 16
                assert ctx.prec == bits

    together(*(lambda bits=bits: work(bits) for bits in (64, 200, 1000, 4000)))  # type: ignore[misc]


@pytest.mark.parametrize("case", EVERY_MECHANISM, ids=lambda case: case.name)
def test_nothing_depends_on_the_precision_that_others_leave(case: Case) -> None:
    """What is computed outside of a block of `precision` would have as many digits as another thread likes."""

    def everything(bits: int) -> list[object]:
        before, ctx.prec = ctx.prec, bits
        try:
            mechanism = case.make(Fraction(7, 3))
            words = inputs(mechanism)[:6]
            symbols = mechanism.language.alphabet.symbols
            word = [symbols[code] for code in words[-1]]
            found = mechanism.distances(word)
            return [
                mechanism.guarantee,
                drawn(mechanism, words),
                law(mechanism, words[-1]),
                found.probabilities.tolist(),
                found.log_probabilities.tolist(),
                found.expected_error,
                found.bounds,
            ]
        finally:
            ctx.prec = before

    assert everything(24) == everything(53) == everything(2000)


def test_bounds_are_not_as_wide_as_others_like() -> None:
    """In 0.2.0 a bound taken outside of a block had as few digits as another thread worked with."""
    with precision(128):
        root = ball(Fraction(2)).sqrt()

    def bounds(bits: int) -> tuple[object, ...]:
        before, ctx.prec = ctx.prec, bits
        try:
            return upper_bound(root), float_bounds(root), sv.Guarantee.of_loss(root, "certified")
        finally:
            ctx.prec = before

    assert bounds(8) == bounds(53) == bounds(3000)
    assert bounds(8)[2].epsilon < 1.41421356237310  # type: ignore[attr-defined]


# --- the tools ---------------------------------------------------------------------------------------


class _Thing:
    asked = 0

    @computed_once
    def table(self) -> list[int]:
        time.sleep(0.001)
        return [1, 2, 3]

    @searched_once
    def rate(self) -> object:
        type(self).asked += 1
        time.sleep(0.001)
        return object()

    @searched_once
    def ball(self) -> arb:
        with precision(100):
            time.sleep(0.001)
            return ball(Fraction(1, 3))


def test_all_threads_have_the_same_object() -> None:
    """A table that threads add to, or a lock, must be one; Python's own property gives two from 3.12 on."""
    for _ in range(5):
        thing = _Thing()
        assert len({id(table) for table in together(lambda thing=thing: thing.table)}) == 1  # type: ignore[misc]


def test_a_search_is_made_once() -> None:
    thing, before = _Thing(), _Thing.asked
    assert len({id(rate) for rate in together(lambda: thing.rate)}) == 1
    assert _Thing.asked == before + 1


def test_a_search_is_not_waited_for_at_a_precision() -> None:
    def at_a_precision(thing: _Thing) -> object:
        with precision(200):
            time.sleep(0.0005)
            return thing.ball

    for _ in range(20):
        thing = _Thing()
        works = (lambda thing=thing: thing.ball, lambda thing=thing: at_a_precision(thing))  # type: ignore[misc]
        assert len({id(found) for found in together(*works, threads=8)}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ["property", "by length"])
def test_a_child_forked_during_a_search_makes_its_own(kind: str) -> None:
    inside, go_on, parent = threading.Event(), threading.Event(), os.getpid()

    def search(_: object) -> int:
        if os.getpid() == parent:  # the lock of an event that is being waited for would stay locked in the child
            inside.set()
            go_on.wait()
        return 1

    class Slow:
        rate = searched_once(search)

    slow, memo = Slow(), Memo(search, one_at_a_time=True)

    def ask() -> None:
        assert (slow.rate if kind == "property" else memo[1]) == 1

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(10)  # in this thread: a new one may get the number of the one that holds the lock
        ask()
        os._exit(0)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_last_few_are_few_and_right() -> None:
    remembered: LastFew[int, tuple[int]] = LastFew(4)

    def ask() -> None:
        for number in range(3000):
            key = number * 5 % 17
            assert remembered.of(key, lambda key=key: (key,)) == (key,)  # type: ignore[misc]

    together(ask)
    assert len(remembered) <= 4


def test_the_one_asked_for_last_is_forgotten_last() -> None:
    remembered: LastFew[str, object] = LastFew(2)
    first = remembered.of("a", object)
    remembered.of("b", object)
    assert remembered.of("a", object) is first
    remembered.of("c", object)  # b goes
    assert remembered.of("a", object) is first


def test_no_property_is_cached_in_another_way() -> None:
    """`functools.cached_property` is for programs of one thread (see `numbers.once`)."""
    files = [file for file in Path(sv.__file__).parent.rglob("*.py") if file.name != "once.py"]
    assert [
        str(file)
        for file in files
        if re.search(r"^\s*@.*cached_property|import.*cached_property", file.read_text(encoding="utf-8"), re.M)
    ] == []
