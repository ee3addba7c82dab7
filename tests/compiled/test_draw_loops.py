"""Bulk draws on a model: the same bits as the interpreted twin, in threads and after a fork too."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import symveil as sv
from compiled.twins import Call, agree, agree_again, bits, copied, loops, recording
from symveil.languages import run_draws_batch
from symveil.languages.run_draws_batch import draw_many
from symveil.languages.run_weights import RunWeights
from symveil.languages.swap_costs import swap
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import NotPrivateSeededBits

LOOP = "symveil.languages.draw_loops.draw_part"
CHAIN = MarkovChain.from_transitions(
    [("a", "a", "1/4"), ("a", "b", "1/4"), ("a", "c", "1/2"), ("b", "c", "2/3"), ("b", "a", "1/3"), ("c", "a", 1)]
)


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    """Every kind of cost, prior and start; one word and several lanes full; a rate at which floats overflow."""
    found: list[Call] = []
    with recording(found):
        for language in (sv.runs(CHAIN, 6), sv.runs(CHAIN, 5, public_start=True), sv.runs(CHAIN, 1)):
            words = language.enumerate_codes(at_most=10_000)
            for rate in ("1/3", "2", "40"):
                for more in (
                    {},
                    {"with_prior": True},
                    {"balance": Fraction(1)},
                    {"cost": swap(language, adjacency=2, cap=2)},
                ):
                    weights = RunWeights(language=language, rate=Fraction(rate), **more)
                    for rows in (1, 16, 37):
                        draw_many(weights, np.resize(words, (rows, words.shape[1])), NotPrivateSeededBits(rows))
    return found


def test_the_same_bits(calls: list[Call]) -> None:
    assert len(calls) >= 100
    for call in calls:
        agree_again(call)


def test_the_same_bits_where_nothing_is_drawn(calls: list[Call]) -> None:
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


def outcome(call: Call) -> Any:
    arguments = copied(call.arguments)
    return bits(loops()[LOOP](*arguments)), bits(arguments)


def test_the_same_bits_in_threads(calls: list[Call]) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(outcome, calls)) == [call.outcome for call in calls]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_same_bits_after_a_fork(calls: list[Call]) -> None:
    child = os.fork()
    if child == 0:
        same = False
        try:
            same = all(outcome(call) == call.outcome for call in calls)
        finally:
            os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_arrays_of_another_kind_are_refused(calls: list[Call]) -> None:
    """Not read as what they are not: `draw_many` makes them what the loop takes."""
    codes, *rest = calls[1].arguments
    for other in (codes.astype(np.int64), np.asfortranarray(np.repeat(codes, 2, axis=0)), codes[0]):
        with pytest.raises(ValueError, match="Buffer|contiguous"):
            loops()[LOOP](other, *rest)
    assert run_draws_batch.LANES == 16
