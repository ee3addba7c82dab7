"""Everything about a mechanism on a model but its rate.

A cost says how far a released word is (`languages/costs.py`), its *sensitivity* Δ by how much that can differ for
adjacent words. The loss at rate η is at most 2ηΔ for exponential weights, and at most two steps for a staircase whose
steps are Δ wide (docs/theory/certificates.md): that is the classic rate, which always exists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from symveil.calibration.answers import language_digest, question_digest
from symveil.calibration.search import CertifiedRate
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.languages.costs import INFINITE, Cost, hamming
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.numbers.once import computed_once


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighting:
    """Everything about a mechanism on a model but its rate: words, costs, prior, and how far apart adjacent words are.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = sv.runs(chain, length=5)
    >>> Weighting(language=words, cost=hamming(words), adjacency=2).sensitivity
    Fraction(2, 1)
    """

    language: RunLanguage
    cost: Cost
    adjacency: int
    with_prior: bool = False
    balanced: bool = False
    with_shorter: bool = False
    """Whether what is proved is to hold for words of all smaller lengths too (`covering`)."""

    def weights(self, rate: Fraction) -> RunWeights:
        """The weights at a rate; a balanced prior is balanced for it."""
        return RunWeights(
            language=self.language,
            rate=rate,
            cost=self.cost,
            with_prior=self.with_prior and not self.balanced,
            balance=rate if self.balanced else None,
        )

    @computed_once
    def digest(self) -> str:
        """A name of public things only: equal weightings have equal names, in memory and on disk."""
        language = language_digest(self.language, with_prior=self.with_prior)
        return question_digest(
            language, self.cost.digest, self.adjacency, self.with_prior, self.balanced, self.with_shorter
        )

    @property
    def farthest(self) -> int:
        """No two adjacent words differ in more symbols."""
        return min(self.adjacency, self.language.largest_distance)

    @computed_once
    def largest_step(self) -> Fraction:
        """The most that two symbols cost which adjacent words can have at the same position."""
        cost = self.cost
        if cost.is_hamming or cost.hop_reach >= self.farthest:
            return Fraction(1)
        # imported when it is needed: the costs that are known to be 1 must not wait for scipy to load
        from symveil.languages.swap_costs import related  # noqa: PLC0415

        try:
            relations = related(self.language, adjacency=self.farthest)
        except TooLargeError:
            if cost.far == INFINITE:
                raise
            return cost.values[-1]
        most, known = Fraction(0), set()
        for position, relation in enumerate(relations):
            if (id(relation), cost.metric_of[position]) in known:
                continue
            known.add((id(relation), cost.metric_of[position]))
            one, two = relation.nonzero()
            levels = cost.levels(position, one, two)
            if (levels == INFINITE).any():
                raise ParameterError(
                    "costs",
                    expected="finite costs between all symbols that adjacent words can have at the same position",
                    found="an infinite one; give a cap",
                )
            most = max([most, *(cost.values[level] for level in np.unique(levels).tolist())])
        return most

    @property
    def sensitivity(self) -> Fraction:
        """Δ: no more than this do the costs D(w, ·) and D(v, ·) of adjacent words differ."""
        return self.farthest * self.largest_step

    @property
    def drops(self) -> Fraction:
        """By how many rates ln κ(w, ·) and ln κ(v, ·) differ at most: half of what the classic bound loses."""
        if self.cost.period == 1:
            return self.sensitivity
        return Fraction(math.ceil(self.sensitivity / self.cost.period))

    @property
    def is_plain(self) -> bool:
        """Whether the weights are exponential by Hamming distance, without a balance."""
        return self.cost.is_hamming and self.cost.period == 1 and not self.balanced

    @computed_once
    def covering(self) -> Weighting:
        """The same weights on longer words, a few lengths of which stand for all, and on all shorter ones: one proof.

        Itself where costs depend on the position, where there is a prior, or where the start is hidden and a state of
        the chain (docs/theory/certificates.md, *All lengths at once*).
        """
        language, graph = self.language, self.language.graph
        apart = language.public_start or not bool((graph.target == graph.start).any())
        alike = self.cost.is_hamming and not self.with_prior and not self.balanced
        if not (graph.is_chain and apart and alike and 0 < self.adjacency <= language.length):
            return self
        return self.on_longer()

    def on_longer(self, *, at_least: int = 0) -> Weighting:
        """The same weights by Hamming distance on words of the next length of the ladder, and on all shorter ones.

        Itself where words end before.
        """
        try:
            longer = replace(self.language, length=covering_length(max(self.language.length, at_least)))
        except ModelError:
            return self
        cost = hamming(longer)
        if self.cost.period > 1:
            cost = cost.staircase(period=self.cost.period, first_step=self.cost.first_step)
        return replace(self, language=longer, cost=cost, with_shorter=True)

    def classic(self, epsilon: Fraction) -> CertifiedRate:
        """The rate of the papers' factor 2, which needs no proof but that of the theorem."""
        if self.drops == 0:
            return CertifiedRate(epsilon, Fraction(0), "exact", 0.0)
        return CertifiedRate(epsilon / (2 * self.drops), epsilon, "classic", float(epsilon / 2))


def covering_length(length: int) -> int:
    """The next of 8, 12, 16, 24, 32, 48 …: lengths at which proofs are made that serve all shorter words too.

    >>> [covering_length(length) for length in (1, 8, 9, 13, 17, 33)]
    [8, 8, 12, 16, 24, 48]
    """
    size = 8
    while size < length:
        size = size * 3 // 2 if size & (size - 1) == 0 else size * 4 // 3
    return size
