"""Every mechanism, on a language small enough to write out: a new one is covered by adding a line to EVERY_MECHANISM.

`test_conformance` holds each of them against what all mechanisms promise, and
`tests/statistical/test_measured_loss.py` measures its loss from releases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import symveil as sv
from symveil.languages.cost_table import CostTable
from symveil.languages.language import words_of_any_length
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.rationals import Number
from symveil.randomness import BitSource

Word = tuple[int, ...]

ROADS = MarkovChain.from_transitions(
    [
        *(("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4")),
        *(("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)),
    ]
)
COSTS = CostTable.from_rows([("a", "b", "1.5"), ("b", "c", 1), ("a", "c", 2)])
PLACES = CostTable.from_places({"a": (0, 0), "b": (90, 0), "c": (0, 250)}, metres_per_unit=100)
LONGEST_RELEASED = 8
"""Of an unbounded mechanism, words of up to so many symbols are written out; longer ones are one cell, the rest."""


@dataclass(frozen=True)
class Case:
    """A mechanism with all its parameters but ε."""

    name: str
    make: Callable[[Number], Mechanism]
    private: bool = True
    slow: bool = False
    """Words are drawn one at a time: fewer of them, where time counts."""

    @property
    def kind(self) -> type[Mechanism]:
        return type(self.make(1))


def _free(epsilon: Number, kind: type[Mechanism], b: int = 1, **more: object) -> Mechanism:
    return kind(sv.words("abc", 2), epsilon=epsilon, adjacency=b, **more)  # type: ignore[arg-type]


def _roads(epsilon: Number, kind: type[Mechanism], b: int = 1, **more: object) -> Mechanism:
    return kind(sv.runs(ROADS, 3), epsilon=epsilon, adjacency=b, **more)  # type: ignore[arg-type]


EVERY_MECHANISM = [
    Case("exponential", lambda e: _free(e, sv.Exponential)),
    Case("exponential, classic", lambda e: _free(e, sv.Exponential, calibration="classic")),
    Case("exponential, inverse", lambda e: _free(e, sv.Exponential, utility="inverse")),
    Case("exponential on a model", lambda e: _roads(e, sv.Exponential)),
    Case("exponential on a model, prior", lambda e: _roads(e, sv.Exponential, prior="chain")),
    Case("exponential on a model, degrees", lambda e: _roads(e, sv.Exponential, b=2, prior="degrees")),
    Case("permute-and-flip", lambda e: _free(e, sv.PermuteAndFlip)),
    Case("permute-and-flip on a model", lambda e: _roads(e, sv.PermuteAndFlip), slow=True),
    Case("staircase", lambda e: _free(e, sv.Staircase, b=2)),
    Case("staircase on a model", lambda e: _roads(e, sv.Staircase, b=2)),
    Case("exponential, swap metric", lambda e: _roads(e, sv.Exponential, cost="swap")),
    Case("exponential, capped swap metric, b = 2", lambda e: _roads(e, sv.Exponential, b=2, cost="swap", cap=2)),
    Case("exponential, balanced", lambda e: _roads(e, sv.Exponential, balanced=True)),
    Case("exponential, given costs", lambda e: _roads(e, sv.Exponential, costs=COSTS)),
    Case("staircase, swap metric", lambda e: _roads(e, sv.Staircase, b=2, cost="swap", step=1)),
    Case("staircase, places, balanced", lambda e: _roads(e, sv.Staircase, costs=PLACES, balanced=True)),
    Case("optimal", lambda e: _free(e, sv.Optimal, b=2)),
    Case("optimal, prior, given costs, b = 2", lambda e: _roads(e, sv.Optimal, b=2, prior="chain", costs=COSTS)),
    Case("online", lambda e: _roads(e, sv.Online), slow=True),
    Case("edit", lambda e: sv.EditChannel("ab", epsilon=e)),
    Case("truncated-levenshtein", lambda e: sv.TruncatedLevenshtein(sv.words_up_to("ab", 3), epsilon=e), slow=True),
    Case(
        "truncated-levenshtein on a model",
        lambda e: sv.TruncatedLevenshtein(sv.runs_up_to(ROADS, 3), epsilon=e, adjacency=1),
        slow=True,
    ),
    Case(
        "exponential on words of any length",
        lambda e: sv.select_mechanism(words_of_any_length("ab"), epsilon=e, mechanism="exponential"),
    ),
    Case("jones2019-printed", lambda e: _free(e, Jones2019Printed), private=False),
]


def inputs(mechanism: Mechanism) -> list[Word]:
    """Words that may be handed in, all of them or the short ones."""
    return _tuples(mechanism.inputs(3, at_most=10_000))


def law(mechanism: Mechanism, word: Word) -> dict[Word | None, float]:
    """P(w'|w) of every word that may be released; None stands for all that are too long to be listed."""
    codes = np.array(word, dtype=np.int32)
    bound = mechanism.largest_output
    groups = mechanism.outputs(LONGEST_RELEASED if bound is None else bound, at_most=10_000)
    if mechanism.metric == "hamming":  # a word of another length is never released
        groups = [group for group in groups if group.shape[1] == len(word)]
    chances: dict[Word | None, float] = {}
    for group in groups:
        logs = mechanism.log_probabilities(codes, group)
        chances |= dict(zip(_tuples([group]), np.exp(logs).tolist(), strict=True))
    if bound is None:
        chances[None] = max(0.0, 1 - sum(chances.values()))
    return chances


def counted(mechanism: Mechanism, word: Word, draws: int, bits: BitSource | None = None) -> dict[Word | None, int]:
    """How often each word came out, of so many releases of one word through the public interface."""
    codes = np.array(word, dtype=np.int32)
    symbols = len(mechanism.alphabet)
    if mechanism.length is not None:
        rows = mechanism.release_codes(np.repeat(codes[None, :], draws, axis=0), bits=bits)
        return dict(_tally(rows, symbols))
    flat, lengths = mechanism.release_flat(np.tile(codes, draws), np.full(draws, len(codes)), bits=bits)
    starts = np.cumsum(lengths) - lengths
    limit = LONGEST_RELEASED if mechanism.largest_output is None else mechanism.largest_output
    found: dict[Word | None, int] = {None: int(np.count_nonzero(lengths > limit))}
    for length in range(limit + 1):
        found |= _tally(flat[starts[lengths == length][:, None] + np.arange(length)], symbols)
    return found


def _tally(rows: np.ndarray, symbols: int) -> dict[Word, int]:
    """How often each row occurs; rows are short, so each is a number."""
    places = symbols ** np.arange(rows.shape[1])
    counts = np.bincount(rows @ places, minlength=1)
    return {
        tuple((number // places % symbols).tolist()): int(counts[number]) for number in np.flatnonzero(counts).tolist()
    }


def _tuples(groups: list[np.ndarray]) -> list[Word]:
    return [tuple(row) for group in groups for row in group.tolist()]
