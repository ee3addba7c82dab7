"""An oracle for graceful certificates: what every single detour of a small language loses, by enumeration.

Words are listed, Z is a sum over all of them, and two words that differ in one block of consecutive positions are one
detour of a chain; what it is called depends on where it lies.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from calibration_oracle import random_chain
from cost_oracle import distances
from numpy.typing import NDArray

from symveil.calibration.costs.blocks import FINAL, INITIAL, INNER, WHOLE, Kind, has_hidden_start
from symveil.calibration.costs.graph import cost_graph
from symveil.calibration.weighting import Weighting
from symveil.errors import ModelError
from symveil.languages.costs import hamming
from symveil.languages.runs import RunLanguage, runs

MOST_WORDS = 2500
_MOST_DRAWN = 250


@dataclass(frozen=True)
class GracefulCase:
    """A chain's words with a prior, and a rate."""

    weighting: Weighting
    rate: Fraction

    @property
    def log_totals(self) -> NDArray[np.float64]:
        """ln Z of every word."""
        words = self.words
        logs = -float(self.rate) * distances(self.weighting, words)
        logs = logs + self.weighting.weights(self.rate).log_prior(words)[None, :]
        top = logs.max(axis=1)
        return top + np.log(np.exp(logs - top[:, None]).sum(axis=1))

    @property
    def words(self) -> NDArray[np.int32]:
        """All of them."""
        return self.weighting.language.enumerate_codes(at_most=MOST_WORDS)

    def pairs(self) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Where each pair of comparable words differs, and |ln Z(v)/Z(w)|."""
        words, totals = self.words, self.log_totals
        differ = words[:, None, :] != words[None, :, :]
        if self.weighting.language.public_start:
            differ[words[:, 0][:, None] != words[:, 0][None, :]] = False  # as if they were equal: not compared
        return differ, np.abs(totals[:, None] - totals[None, :])

    def per_position(self) -> float:
        """The largest loss of two words for each position in which they differ."""
        differ, ratio = self.pairs()
        count = differ.sum(axis=2)
        apart = count > 0
        return float(self.rate) + float((ratio[apart] / count[apart]).max(initial=0.0)) if apart.any() else 0.0

    def detours(self) -> dict[Kind, float]:
        """The largest |ln Z(v)/Z(w)| of words that differ in one block, of every kind."""
        graph = cost_graph(self.weighting.weights(self.rate))
        begin, hidden = int(self.weighting.language.public_start), has_hidden_start(graph)
        differ, ratio = self.pairs()
        largest: dict[Kind, float] = {}
        length = differ.shape[2]
        for first in range(begin, length):
            for end in range(first + 1, length + 1):
                block = np.zeros(length, dtype=np.bool_)
                block[first:end] = True
                pairs = (differ == block).all(axis=2)
                if not pairs.any():
                    continue
                size = end - first
                if end == length:
                    where = WHOLE if first == 0 and hidden else FINAL
                else:
                    where = INITIAL if first == 0 and hidden else INNER
                kind = Kind(where, size)
                largest[kind] = max(largest.get(kind, 0.0), float(ratio[pairs].max()))
        return largest

    def windows(self) -> dict[int, float]:
        """M(ℓ): the largest |ln Z(v)/Z(w)| of words that agree outside some ℓ consecutive positions."""
        differ, ratio = self.pairs()
        begin, length = int(self.weighting.language.public_start), differ.shape[2]
        largest = {}
        for size in range(1, length - begin + 1):
            most = 0.0
            for first in range(begin, length - size + 1):
                outside = np.ones(length, dtype=np.bool_)
                outside[first : first + size] = False
                agree = differ.any(axis=2) & ~differ[:, :, outside].any(axis=2)
                most = max(most, float(ratio[agree].max(initial=0.0)))
            largest[size] = most
        return largest


def random_graceful_case(
    dice: random.Random, *, longest: int = 6, least: int = 2, balanced: bool | None = None
) -> GracefulCase:
    """A chain with dead ends, a start, accepting states and a prior, all at random; two words at least."""
    while True:
        language = _random_language(dice, longest, least)
        if language is None:
            continue
        with_balance = dice.random() < 0.3 if balanced is None else balanced
        weighting = Weighting(
            language=language,
            cost=hamming(language),
            adjacency=max(1, min(dice.randint(1, 3), language.largest_distance)),
            with_prior=not with_balance and language.graph.prior is not None and dice.random() < 0.4,
            balanced=with_balance,
        )
        return GracefulCase(weighting, Fraction(dice.choice([2, 5, 10, 13, 20, 30]), 10))


def _random_language(dice: random.Random, longest: int, least: int) -> RunLanguage | None:
    try:
        language = runs(random_chain(dice), dice.randint(least, longest), public_start=dice.random() < 0.4)
        if dice.random() < 0.4:
            accepting = language.graph.accepting & (np.array([dice.random() for _ in language.graph.accepting]) < 0.7)
            language = replace(language, graph=replace(language.graph, accepting=accepting))
        if not language.has_at_most(_MOST_DRAWN) or language.size < 2 or language.largest_distance == 0:
            return None
    except ModelError:
        return None
    return language
