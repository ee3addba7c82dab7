"""The loss of a language of many short words: beginnings and ends of words are listed, and meet in the middle.

See docs/theory/certificates.md, *Words that are halves*. Z(w) of a word is a product α·β of what its beginning and its
end are worth, so a table of beginnings times a table of ends has Z of every word: a hundred million words from some
ten thousand halves. Every pair of words that differ in one block is then compared, however large the rate is. What is
proved for blocks is exact, and for one hidden symbol so is the loss; for two hidden symbols see `positions`.

Of rates one to three are tried to the end. A pair of words that was found from public ones says at which rate it would
lose ε, and a little less is tried first. Often that is proved; if not, the first pair that loses too much leads to
worse ones, and they say which rate to try next. What is returned was proved by itself.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction

import numpy as np

from symveil.calibration.costs.blocks import total_over_blocks
from symveil.calibration.costs.pairs import pair_losses, pairs_of_public_words, worse_pair
from symveil.calibration.halves.blocks import BlockComparison
from symveil.calibration.halves.positions import PositionsComparison, TooLight
from symveil.calibration.halves.tables import HalfTables, Worst
from symveil.calibration.rates import ComparingSearch
from symveil.calibration.search import ANY, CertifiedRate, ProofEffort, ProvedLoss, rounded_down
from symveil.calibration.weighting import Weighting
from symveil.laws.guarantee import How
from symveil.numbers.progress import Progress

_TWO_POSITIONS = 2


def loss_by_halves(weighting: Weighting, rate: Fraction, effort: ProofEffort = ANY) -> ProvedLoss | None:
    """The loss at a rate from the blocks of all pairs of words; None where weights leave the range of floats.

    `halves_work` of the weighting is affordable. Where it is to stay within ε it ends at the first block that alone is
    above it: the classic bound, with `reached` as what the block is worth, and its words.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), length=8)
    >>> found = loss_by_halves(Weighting(language=words, cost=hamming(words), adjacency=1), Fraction(2))
    >>> round(float(found.loss), 9), found.how                               # on Σⁿ exactly η
    (2.0, 'exact')
    """
    classic = 2 * weighting.drops * rate
    if classic == 0:
        return ProvedLoss(classic, "exact")
    tables = HalfTables(weighting, weighting.weights(rate))
    if not tables.is_bounded:
        return None
    if weighting.adjacency == _TWO_POSITIONS and tables.costs_alike:
        if PositionsComparison.is_narrow(tables, float(classic / 2 if effort.within is None else effort.within)):
            with suppress(TooLight):
                return _compared(PositionsComparison(tables, narrow=True), tables, rate, effort)
        return _compared(PositionsComparison(tables, narrow=False), tables, rate, effort)
    return _compared(BlockComparison(tables), tables, rate, effort)


def _compared(
    comparison: BlockComparison | PositionsComparison,
    tables: HalfTables,
    rate: Fraction,
    effort: ProofEffort,
) -> ProvedLoss:
    weighting, worst = tables.weighting, Worst()
    steep = weighting.cost.period > 1
    fixed = weighting.drops * rate
    most = math.inf if effort.within is None else float(effort.within - fixed if steep else effort.within)
    effort.report(0.0)
    for share in comparison.compare(worst):
        effort.report(share)
        if worst.value > most:
            reached = worst.value + (float(fixed) if steep else 0.0)
            return ProvedLoss(2 * fixed, "classic", pairs=worst.pairs[:1], reached=reached)
    widening = comparison.rounding(worst.largest_log)
    worth = {
        kind: Fraction(value + widening) for kind, (value, _) in worst.largest_each.items() if value + widening > 0
    }
    over_blocks = total_over_blocks(worth, tables.steps, weighting.adjacency)
    bound = fixed + min(fixed, over_blocks) if steep else over_blocks
    pairs = worst.pairs
    losses = [0.0]
    if pairs:
        losses = pair_losses(weighting, rate, *(np.stack(each) for each in zip(*pairs, strict=True))).tolist()
    how: How = "exact" if weighting.adjacency == 1 and not steep else "certified"
    return ProvedLoss(min(bound, 2 * fixed), how if bound < 2 * fixed else "classic", max(losses), pairs)


_TOLERANCE = Fraction(1, 250)
_MOST_STOPS = {1: 6, 2: 2}  # by b; 1 where blocks are added up


def rate_by_halves(
    weighting: Weighting, *, epsilon: Fraction, progress: Progress | None = None, claimed: Fraction | None = None
) -> CertifiedRate | None:
    """The largest rate found whose loss is at most `epsilon`; None where nothing above the classic one was proved.

    `halves_work` of the weighting is affordable. A claimed rate is proved in one evaluation.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), length=8)
    >>> found = rate_by_halves(Weighting(language=words, cost=hamming(words), adjacency=1), epsilon=Fraction(2))
    >>> round(float(found.rate), 2), found.how                               # ε/b, on Σⁿ
    (2.0, 'exact')
    """
    if weighting.drops == 0:
        return weighting.classic(epsilon)
    answer = _HalvesSearch(weighting, epsilon, progress).answer(claimed)
    return None if answer is None or answer.how == "classic" else answer


class _HalvesSearch(ComparingSearch):
    prover, what = "halves", "a rate, all pairs of words compared"

    def begin(self) -> None:
        super().begin()
        self.most_stops = _MOST_STOPS.get(self.weighting.adjacency, 1)
        self.pairs = pairs_of_public_words(self.weighting, self.limit)

    def proved(self, rate: Fraction) -> ProvedLoss:
        effort = ProofEffort(within=self.epsilon if self.may_stop else None, report=self.report)
        result = loss_by_halves(self.weighting, rate, effort)
        return ProvedLoss(2 * self.weighting.drops * rate, "classic") if result is None else result

    def learn(self, rate: Fraction, proof: ProvedLoss) -> None:
        super().learn(rate, proof)
        if proof.reached < math.inf:  # at the first pair, which leads to worse ones
            self.pairs += [worse_pair(self.weighting, rate, pair)[1] for pair in proof.pairs]
        else:
            self.pairs += proof.pairs

    def next_rate(self) -> Fraction | None:
        ruled_out = self.ruled_out()
        if not self.tried:
            return rounded_down(max(ruled_out, self.classic) * (1 - _TOLERANCE / 4))
        rate, result = self.tried[-1]
        if self.completed >= self.evaluations or (result.how == "classic" and not result.pairs):
            return None
        spent = Fraction(0) if self.best is None else self.best[1].loss
        if self.highest <= self.lowest * (1 + _TOLERANCE) or spent >= self.epsilon * (1 - _TOLERANCE / 2):
            return None
        return self.inside(min(self._wanted(rate, result), ruled_out) * (1 - _TOLERANCE / 4))

    def _wanted(self, rate: Fraction, result: ProvedLoss) -> Fraction:
        """What the worst pair leaves, where nothing else counts; else where a line leads."""
        ruled_out = self.ruled_out()
        if result.reached < math.inf:
            return ruled_out if ruled_out < rate else rate * self.epsilon / Fraction(result.reached)
        # what is proved, a pair loses
        near = float(result.loss) - result.worst_found <= float(_TOLERANCE / 4) * float(self.epsilon)
        if result.how == "exact" or result.loss == 0 or near:
            return ruled_out
        line = _on_a_line([(each, of.loss) for each, of in self.tried if of.how == "certified"], self.epsilon)
        return rate * self.epsilon / result.loss if line is None else line


def _on_a_line(points: list[tuple[Fraction, Fraction]], epsilon: Fraction) -> Fraction | None:
    """Where the line through the two last rates and their losses reaches ε; None where it does not rise.

    >>> _on_a_line([(Fraction(2), Fraction(5)), (Fraction(1), Fraction(3))], Fraction(4))
    Fraction(3, 2)
    """
    if len(points) < 2:
        return None
    (before, much), (last, less) = points[-2:]
    if (much - less) * (before - last) <= 0:
        return None
    return last + (epsilon - less) * (last - before) / (less - much)
