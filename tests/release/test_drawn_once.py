"""One release, one word for each record: whatever the order, the batches, the retries; and the right law."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2

import symveil as sv
from file_mechanism import file_mechanism
from symveil.languages.limits import LIMITS
from symveil.languages.run_weights import RunWeights
from symveil.mechanisms.by_length import of_length
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.randomness.limits import LIMITS as BITS
from symveil.release.batch import ReleasePlan, privatize_batch
from symveil.release.local import release_batches

CHAIN = sv.MarkovChain.from_transitions(
    [("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4"), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)]
)
FREE = {
    "exponential": {},
    "exponential b=3": {"mechanism": "exponential", "adjacency": 3},
    "staircase": {"mechanism": "staircase", "adjacency": 3},
    "permute-and-flip": {"mechanism": "permute-and-flip"},
    "inverse": {"utility": "inverse"},
    "whole word": {"adjacency": "all"},
}
MODEL = {
    "exponential": {},
    "prior": {"prior": "chain"},
    "degrees": {"prior": "degrees"},
    "permute-and-flip": {"mechanism": "permute-and-flip"},
    "staircase": {"mechanism": "staircase", "adjacency": 2},
    "online": {"mechanism": "online"},
    "public start": {"public_start": True},
}


def family(where: str, options: dict) -> Mechanism:
    source = {"alphabet": "abc"} if where == "free" else {"model": CHAIN}
    return file_mechanism(**source, epsilon=Fraction(1, 2), **options)


def plan(mechanism: Mechanism, key: bytes = bytes(32)) -> ReleasePlan:
    return ReleasePlan(mechanism=mechanism, release_id="r", release_key=key, sequence="s", identifier="id")


def records(count: int, longest: int = 7) -> pa.RecordBatch:
    words = [list(("abaca" * 3)[: number % (longest + 1)]) for number in range(count)]
    ids = [f"record {number}" for number in range(count)]
    return pa.record_batch([pa.array(ids), pa.array(words, type=pa.list_(pa.string()))], names=["id", "s"])


def words_by_id(batches) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(word)
        for batch in batches
        for name, word in zip(batch.column("id").to_pylist(), batch.column("s").to_pylist(), strict=True)
    }


CASES = [
    *(("free", name, options) for name, options in FREE.items()),
    *(("model", name, options) for name, options in MODEL.items()),
]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def mechanism(request) -> Mechanism:
    return family(request.param[0], request.param[2])


def pieces(batch: pa.RecordBatch, size: int) -> list[pa.RecordBatch]:
    return [batch.slice(start, size) for start in range(0, len(batch), size)]


def test_batches_of_any_size_and_order_give_the_same_words(mechanism):
    batch = records(180)
    whole = words_by_id([privatize_batch(batch, plan(mechanism))])
    assert len(whole) == 180
    shuffled = batch.take(pa.array(np.random.default_rng(1).permutation(180)))
    for cut in (pieces(batch, 1), pieces(batch, 7), pieces(shuffled, 64), [shuffled]):
        assert words_by_id(privatize_batch(piece, plan(mechanism)) for piece in cut) == whole
    assert words_by_id(private for _, private in release_batches(pieces(batch, 11), plan(mechanism))) == whole
    other = words_by_id([privatize_batch(batch, plan(mechanism, bytes([1] * 32)))])
    assert other != whole


def test_also_where_the_first_bits_decide_nothing(mechanism, monkeypatch, set_limits):
    """With filters of a few bits most draws ask for more, from their own record's stream."""
    set_limits(BITS, filter_bits=2)
    monkeypatch.setattr(RunWeights, "margin", property(lambda _: 0.2))
    narrow = choose_mechanism(mechanism.choice, replace(mechanism.language))  # nothing that was computed before
    batch = records(9 if mechanism.name == "permute-and-flip" else 40)
    whole = words_by_id([privatize_batch(batch, plan(narrow))])
    assert words_by_id(privatize_batch(piece, plan(narrow)) for piece in pieces(batch, 3)) == whole


@pytest.mark.parametrize("options", [{}, {"prior": "chain"}, {"public_start": True}], ids=str)
def test_both_compiled_loops_draw_the_same_words(options, set_limits):
    batch = records(120)
    set_limits(LIMITS, near_edge=0.0)  # by the states near each word
    few = words_by_id([privatize_batch(batch, plan(family("model", options)))])
    set_limits(LIMITS, near_edge=1e9, near_state_edge=1e9)  # in lanes
    assert words_by_id([privatize_batch(batch, plan(family("model", options)))]) == few


DRAWN_BY_0_3_0 = {
    ("online", False): "588eb0efa570bbb6",
    ("online", True): "cf63482492fe7f8b",
    ("permute-and-flip", False): "61ad2100519b938c",
    ("permute-and-flip", True): "8c051480c6657438",
}


@pytest.mark.parametrize(("name", "public_start"), DRAWN_BY_0_3_0)
def test_a_key_goes_on_to_draw_what_it_drew_word_by_word(name: str, public_start: bool):
    """A digest of 200 words of all lengths, from when online and permute-and-flip went from word to word."""
    words = [list(("abaca" * 3)[: number % 8]) for number in range(200)]
    ids = pa.array([f"record {number}" for number in range(200)])
    batch = pa.record_batch([ids, pa.array(words, type=pa.list_(pa.string()))], names=["id", "s"])
    mechanism = family("model", {"mechanism": name, "public_start": public_start})
    released = privatize_batch(batch, plan(mechanism, bytes(range(32)))).column("s").to_pylist()
    assert hashlib.sha256(repr(released).encode()).hexdigest()[:16] == DRAWN_BY_0_3_0[name, public_start]


def test_long_words_and_rejected_lanes(monkeypatch):
    """Beyond 512 symbols positions are thrown at, and an alphabet of three thousand million would reject lanes."""
    symbols = [str(number) for number in range(7)]
    mechanism = file_mechanism(alphabet=symbols, epsilon=Fraction(3), mechanism="staircase", adjacency=40)
    words = [["0"] * length for length in (600, 3, 600, 1000, 0)]
    batch = pa.record_batch([pa.array(list("abcde")), pa.array(words)], names=["id", "s"])
    whole = words_by_id([privatize_batch(batch, plan(mechanism))])
    assert words_by_id(privatize_batch(piece, plan(mechanism)) for piece in pieces(batch, 1)) == whole


# --- the law -----------------------------------------------------------------------------------


def chi_square(counts: dict[tuple[str, ...], int], law: dict[tuple[str, ...], float], draws: int) -> float:
    return sum((counts.get(word, 0) - draws * chance) ** 2 / (draws * chance) for word, chance in law.items())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_records_draw_from_the_law_of_the_mechanism(case):
    """χ² over all words of length 3. A right sampler exceeds the limit for one key in a million; the law of another
    ε exceeds it, on either side."""
    mechanism = family(case[0], case[2])
    at_three = of_length(mechanism, 3)
    word = tuple("aba")
    draws = 60_000
    batch = pa.record_batch(
        [pa.array([f"x{number}" for number in range(draws)]), pa.array([list(word)] * draws)], names=["id", "s"]
    )
    released = privatize_batch(batch, plan(mechanism, bytes([7] * 32))).column("s").to_pylist()
    counts: dict[tuple[str, ...], int] = {}
    for each in map(tuple, released):
        counts[each] = counts.get(each, 0) + 1
    language = at_three.language
    alphabet = language.alphabet
    possible = [tuple(alphabet.symbols[code] for code in row) for row in language.enumerate_codes(at_most=100).tolist()]

    def law_of(measured) -> dict[tuple[str, ...], float]:
        law = {each: measured.probability(word, each) for each in possible}
        return {each: chance for each, chance in law.items() if chance > 0}

    law = law_of(at_three)
    assert math.isclose(sum(law.values()), 1, rel_tol=1e-9)
    assert set(counts) <= set(law)
    limit = float(chi2.isf(1e-6, len(law) - 1))
    assert chi_square(counts, law, draws) < limit
    for wrong in (Fraction(1, 10), Fraction(1)):
        other = file_mechanism(
            **({"alphabet": "abc"} if case[0] == "free" else {"model": CHAIN}), epsilon=wrong, **case[2]
        )
        assert chi_square(counts, law_of(of_length(other, 3)), draws) > limit
