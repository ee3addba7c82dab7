"""The largest rate at which any two words lose at most ρ for each position in which they differ.

See docs/theory/certificates.md, *Graceful certificates*. Two words of a chain differ in maximal blocks, and swapping
them one by one passes through words of the language: so the whole promise is one number for each length of a block,
L(ℓ) ≤ ρℓ (Theorem 2.7). By what the words allow:

* at most 10⁴ words: all pairs are compared (`enumeration`): exact;
* words that are halves: blocks of few symbols are compared, and for longer ones the largest Z over the smallest is
  enough (`halves/blocks.py`): certified;
* other chains of some hundred states: shortest paths over windows of boxes for all lengths (Theorem 2.10), and the
  search over blocks for the few short lengths where these do not do: certified.

The loss may fall where the rate rises, so that each rate which is used is proved itself.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from symveil.calibration.affordable import is_compared_by_halves, is_quick_by_halves, splits
from symveil.calibration.answers import remembered
from symveil.calibration.costs.blocks import root_work
from symveil.calibration.costs.boxes import is_affordable, longest_window, rows_needed
from symveil.calibration.costs.graph import CostGraph, cost_graph
from symveil.calibration.costs.pairs import Pair, pairs_of_public_words, rate_ruled_out, worse_pair
from symveil.calibration.costs.search import BlockSearch
from symveil.calibration.detours import detour_ratios
from symveil.calibration.enumeration import Enumeration
from symveil.calibration.halves.blocks import BlockComparison, WindowSpread
from symveil.calibration.halves.tables import HalfTables, Worst
from symveil.calibration.limits import LIMITS
from symveil.calibration.rates import ComparingSearch
from symveil.calibration.search import (
    ANY,
    EXACT_EVALUATIONS,
    EXACT_TOLERANCE,
    CertifiedRate,
    ProofEffort,
    ProvedLoss,
    largest_rate,
)
from symveil.calibration.weighting import Weighting
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress

_LARGEST_RATE = 100
_SHORT = (1, 2, 3)  # so many differing symbols have the pairs that say up to which rate a proof can be hoped for
_FIRST_BELOW = Fraction(1, 500)
_NEAR = {True: Fraction(1, 200), False: Fraction(1, 40)}  # so near to what a pair rules out the search ends; by halves
_COMPARED = (1, 2)  # lengths of blocks up to which words are compared, if there are such halves
_MOST_ANSWERS = 64  # of few words
_MOST_MOVES, _MOST_BOX_WORK = 1e6, 1e9  # edges × steps, and times the states


def certified_graceful_rate(
    weighting: Weighting,
    *,
    per_position: Fraction,
    thorough: bool = True,
    of_many_lengths: bool = False,
    progress: Progress | None = None,
    claimed: Fraction | None = None,
) -> CertifiedRate | None:
    """A rate at which any two words lose at most `per_position` for every position in which they differ.

    None where the model is no chain and has many words, where a proof would take long, and where no rate above the
    classic one is proved.

    `per_position` is ρ = ε/b. Unless `thorough`, words of many lengths get no certificate that takes minutes for some
    of the lengths; `of_many_lengths` says that there are others: then one proof is made for many of them where there is
    one. A claimed rate is proved in one evaluation.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=24)       # 121,393 words
    >>> weighting = Weighting(language=words, cost=hamming(words), adjacency=1)
    >>> result = certified_graceful_rate(weighting, per_position=Fraction(2))
    >>> round(float(result.rate), 2), result.how
    (1.78, 'certified')
    """
    language = weighting.language
    if weighting.farthest == 0:
        return None
    if language.has_at_most(LIMITS.now.balanced_words if weighting.balanced else LIMITS.now.words):
        return _rate_of_few_words(weighting, per_position, claimed)
    proof = GracefulProof(weighting)
    if of_many_lengths and not proof.is_quick:
        proof = GracefulProof(weighting.covering)
        if not (proof.weighting.with_shorter and (proof.is_quick or thorough)):
            return None
    if not proof.is_affordable:
        return None
    result = _GracefulSearch(proof, per_position, progress).answer(claimed)
    if result is None or result.how == "classic":
        return None
    most = min(weighting.farthest, proof.weighting.farthest)
    return replace(result, loss=result.loss * most, ratio_bound=max(0.0, float((result.loss - result.rate) * most)))


class GracefulProof:
    """What proves that a rate keeps within a loss for each position, for one language with its prior."""

    def __init__(self, weighting: Weighting) -> None:
        self.weighting = weighting

    @computed_once
    def _graph(self) -> CostGraph | None:
        """The graph at some rate, for its size; None where the model is no chain."""
        graph = self.weighting.language.graph
        if not graph.is_chain:
            return None
        return cost_graph(self.weighting.weights(Fraction(1)), with_shorter=self.weighting.with_shorter)

    @computed_once
    def _halves(self) -> int:
        """Up to which length blocks can be compared by halves of words in some seconds; 0 where no words are halves."""
        if self.weighting.with_shorter:
            return 0
        each = [replace(self.weighting, adjacency=length) for length in _COMPARED]
        return max((one.adjacency for one in each if is_compared_by_halves(one)), default=0)

    @computed_once
    def _searched(self) -> int:
        """Up to which length blocks can be searched at some rate in a minute; −1 where not even boxes can be had."""
        graph = self._graph
        if graph is None or not graph.is_bounded or not is_affordable(graph):
            return -1
        moves = float(len(graph.other)) * graph.steps
        if moves > _MOST_MOVES or moves * graph.size > _MOST_BOX_WORK:
            return -1
        window = longest_window(graph, patient=True)
        if rows_needed(graph.back, graph.earlier, window) > LIMITS.now.graceful_windows:
            return -1
        longest = 1
        while longest < graph.steps and root_work(graph, longest + 1) <= LIMITS.now.graceful_work:
            longest += 1
        return longest

    @property
    def by_halves(self) -> bool:
        """Whether words are halves that can be listed."""
        return self._graph is not None and bool(self._halves)

    @property
    def is_affordable(self) -> bool:
        """Whether a rate can be tried in a minute: a function of the public model's size."""
        return self.by_halves or self._searched > 0

    @computed_once
    def is_quick(self) -> bool:
        """Whether a rate can be tried in a few seconds."""
        if self._graph is None:
            return False
        if self.by_halves:
            return is_quick_by_halves(replace(self.weighting, adjacency=self._halves))
        if self._searched < 1:
            return False
        window = longest_window(self._graph, patient=True)
        rows = rows_needed(self._graph.back, self._graph.earlier, window)
        return rows * len(self._graph.other) * self._graph.steps <= LIMITS.now.graceful_quick_work

    def per_position(self, rate: Fraction, most: Fraction, effort: ProofEffort = ANY) -> ProvedLoss:
        """What two words lose at a rate for each position: a bound if it is at most `most`, else that is not proved.

        `most` is ρ, which is to be proved. Where the effort is to stay within it, comparing words that are halves ends
        at the first ones that lose more, and `reached` is what those lose.
        """
        if rate > _LARGEST_RATE:
            return ProvedLoss(2 * rate, "classic")
        result = self._by_halves(rate, most, effort) if self.by_halves else None
        if result is None:
            result = self._by_detours(rate, most, effort) if self._searched > 0 else ProvedLoss(2 * rate, "classic")
        return result

    # --- words that are halves -------------------------------------------------------------------

    def _by_halves(self, rate: Fraction, most: Fraction, effort: ProofEffort) -> ProvedLoss | None:
        """Theorem 2.14; None where weights leave the range of floats."""
        weighting = replace(self.weighting, adjacency=self._halves)
        tables = HalfTables(weighting, weighting.weights(rate))
        if not tables.is_bounded:
            return None
        cut = splits(weighting.language.length, self._halves, public_start=tables.begin > 0)[1]
        spread = WindowSpread(tables, cut, self._halves + 1)
        comparison, worst = BlockComparison(tables, also=spread.add), Worst()
        effort.report(0.0)
        for share in comparison.compare(worst):
            effort.report(share)
            lost = max((Fraction(value) / kind.length for kind, (value, _) in worst.largest_each.items()), default=rate)
            if effort.within is not None and lost > effort.within:
                return ProvedLoss(2 * rate, "classic", pairs=worst.pairs, reached=float(lost))
        widening = Fraction(comparison.rounding(worst.largest_log))
        short = max(
            ((Fraction(value) + widening) / kind.length for kind, (value, _) in worst.largest_each.items()),
            default=rate,
        )
        if short > most:
            return ProvedLoss(short, "certified", pairs=worst.pairs)
        long = [
            rate + (Fraction(ratio) + widening) / length if ratio < math.inf else 2 * rate
            for length, ratio in spread.log_ratios().items()
        ]
        return ProvedLoss(max([short, *long]), "certified", pairs=worst.pairs)

    # --- detours of all lengths ------------------------------------------------------------------

    def _by_detours(self, rate: Fraction, most: Fraction, effort: ProofEffort) -> ProvedLoss:
        """Theorem 2.10, and the search over blocks for the short ones that it leaves."""
        effort.report(0.0)
        graph = cost_graph(self.weighting.weights(rate), with_shorter=self.weighting.with_shorter)
        if not graph.is_bounded:
            return ProvedLoss(2 * rate, "classic")
        window = longest_window(graph, patient=True)
        search = BlockSearch(graph, self._searched, largest_step=1.0, window=window)
        effort.report(0.5)
        values = {
            kind: rate + Fraction(ratio) / kind.length if ratio < math.inf else 2 * rate
            for kind, ratio in detour_ratios(graph, search.left, search.right).items()
        }
        values = {kind: min(value, 2 * rate) for kind, value in values.items()}
        effort.report(0.75)
        bound = max((value for value in values.values() if value <= most), default=rate)
        left = sorted((kind for kind, value in values.items() if value > most), key=lambda kind: kind.length)
        too_long = [values[kind] for kind in left if kind.length > self._searched]
        if too_long:
            return ProvedLoss(max(too_long), "certified")
        for number, kind in enumerate(left):
            target = most * kind.length

            def of_kind(share: float, number: int = number) -> None:
                effort.report(0.75 + 0.25 * (number + min(share, 1.0)) / len(left))

            result = search.largest(
                kind,
                target=float(target) * (1 - 2.0**-40),
                nodes=LIMITS.now.graceful_nodes,
                stop_at=float(target),
                report=of_kind,
            )
            if not result.exists:
                continue
            high = min(Fraction(result.high), 2 * rate * kind.length) if result.high < math.inf else 2 * target
            bound = max(bound, high / kind.length)
            if bound > most:
                words = None if result.pair is None else result.pair.words(graph)
                return ProvedLoss(bound, "certified", pairs=() if words is None else (words,))
        return ProvedLoss(bound, "certified")


# --- few words -------------------------------------------------------------------------------------


@remembered(_MOST_ANSWERS)
def _rate_of_few_words(weighting: Weighting, per_position: Fraction, claimed: Fraction | None) -> CertifiedRate | None:
    """All words are compared, at all distances, for each rate anew."""
    farthest = weighting.language.largest_distance
    words = Enumeration(replace(weighting, adjacency=farthest))
    if not weighting.balanced and words.loss(Fraction(1)) is None:
        return None

    def losses_at(rate: Fraction, apart: int) -> dict[int, Fraction]:
        result = words.loss(rate, apart)
        if result is None:  # a prior that floats cannot hold: nothing above the classic bound is known
            return {each: 2 * rate * each for each in range(1, apart + 1)}
        return result.by_distance

    def per_position_at(rate: Fraction) -> Fraction:
        return max((loss / distance for distance, loss in losses_at(rate, farthest).items()), default=Fraction(0))

    result = largest_rate(
        per_position_at,
        epsilon=per_position,
        safe=per_position / 2,
        slope=1,
        limit=per_position,
        tolerance=EXACT_TOLERANCE,
        evaluations=EXACT_EVALUATIONS,
        claimed=claimed,
    )
    if result is None:
        return None
    within = weighting.farthest
    loss = max(losses_at(result.rate, within).values(), default=Fraction(0))
    return CertifiedRate(result.rate, loss, "exact", max(0.0, float(loss - within * result.rate)))


# --- the search for a rate -------------------------------------------------------------------------


class _GracefulSearch(ComparingSearch):
    """Of `loss` and `ratio_bound` it says what one position loses; ε is ρ."""

    prover, what = "graceful", "a graceful rate"
    evaluations, most_stops = 4, 8

    def __init__(self, proof: GracefulProof, per_position: Fraction, progress: Progress | None) -> None:
        super().__init__(replace(proof.weighting, adjacency=1), per_position, progress)
        self.most = per_position
        self._proof = proof

    def begin(self) -> None:
        super().begin()
        self._not_above(_likely_pairs(self._proof.weighting, self.epsilon))

    def _not_above(self, pairs: list[Pair]) -> None:
        """No rate is of use at which one of the pairs loses more than ρ for each position."""
        limit = self.epsilon
        for pair in pairs:
            alone = _of(self._proof.weighting, pair)
            limit = rate_ruled_out(alone, self.epsilon * alone.adjacency, [pair], limit, digits=3)
        self.limit = min(self.limit, limit)

    def proved(self, rate: Fraction) -> ProvedLoss:
        effort = ProofEffort(within=self.epsilon if self.may_stop else None, report=self.report)
        return self._proof.per_position(rate, self.epsilon, effort)

    def learn(self, rate: Fraction, proof: ProvedLoss) -> None:
        super().learn(rate, proof)
        if proof.loss > self.epsilon:
            self._not_above([worse_pair(_of(self._proof.weighting, pair), rate, pair)[1] for pair in proof.pairs])

    def next_rate(self) -> Fraction | None:
        highest, wanted = self.highest, self.limit * (1 - _FIRST_BELOW)
        missed = [(rate, _lost(proof) - self.epsilon) for rate, proof in self.tried if proof.loss > self.epsilon]
        if self.tried and self.tried[-1][1].loss <= self.epsilon:
            wanted = (self.lowest + highest) / 2
        elif missed:
            rate, excess = missed[-1]
            if (
                self.best is None and excess + self.epsilon >= 2 * rate
            ):  # nothing is known of it, and less at smaller rates
                return None
            wanted = wanted if self.limit < rate else _below(missed)
        if self.completed >= self.evaluations or highest <= self.lowest * (1 + _NEAR[self._proof.by_halves]):
            return None
        return self.inside(wanted)

    def certificate(self, rate: Fraction, proof: ProvedLoss) -> CertifiedRate:
        ruled_out = float(self.limit) if self.tried else None  # else no pairs were looked for
        return CertifiedRate(
            rate, proof.loss, "certified", max(0.0, float(proof.loss - rate)), ruled_out=ruled_out, proof=self.prover
        )


def _lost(proof: ProvedLoss) -> Fraction:
    """What a rate that failed loses, or the pair that ended its comparison."""
    return Fraction(proof.reached) if proof.reached < math.inf else proof.loss


def _below(missed: list[tuple[Fraction, Fraction]]) -> Fraction:
    """Where what was too much is hoped to be 0: on the line through the last two rates, a little below it.

    >>> _below([(Fraction(3), Fraction(2)), (Fraction(2), Fraction(1))])
    Fraction(9, 10)
    """
    rate, excess = missed[-1]
    slope = Fraction(10, 13)  # seen on road networks
    if len(missed) > 1 and missed[-2][0] > rate and missed[-2][1] > excess:
        slope = (missed[-2][1] - excess) / (missed[-2][0] - rate)
    return rate - excess / slope * Fraction(11, 10) if len(missed) > 1 else rate - excess / slope


def _of(weighting: Weighting, pair: Pair) -> Weighting:
    """The same weights, with the words of a pair just adjacent."""
    return replace(weighting, adjacency=int((pair[0] != pair[1]).sum()), with_shorter=False)


def _likely_pairs(weighting: Weighting, per_position: Fraction) -> list[Pair]:
    """Words that differ in a few places and lose much, result from public ones."""
    near = [replace(weighting, adjacency=most, with_shorter=False) for most in _SHORT if most <= weighting.farthest]
    return [pair for each in near for pair in pairs_of_public_words(each, per_position)]
