"""The largest rate found whose proved loss stays within the budget, and the rate that a found pair rules out.

See docs/theory/certificates.md, *Refinement*. The rate that is returned was proved by itself. Pairs of words that were
found on the way say how much can be left (`calibration.rates`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from symveil.calibration.answers import Entry
from symveil.calibration.certify import quick_loss, quick_rate
from symveil.calibration.costs.loss import (
    FEW_EVALUATIONS,
    MOST_EVALUATIONS,
    SOME_EVALUATIONS,
    can_be_patient,
    proved_loss,
    rates_that_can_be_tried,
)
from symveil.calibration.costs.pairs import Pair, is_feasible, pairs_of_public_words, worse_pair
from symveil.calibration.enumeration import is_enumerable
from symveil.calibration.limits import LIMITS
from symveil.calibration.rates import CertifiedSearch
from symveil.calibration.search import CertifiedRate, ProofEffort, ProvedLoss, rounded_down
from symveil.calibration.weighting import Weighting
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress

_CLOSE = Fraction(1, 250)
_FIRST_AWAY = Fraction(1, 80)  # how far below the rate that a pair rules out the first proof is tried
_NEAR_ENOUGH = Fraction(1, 64)  # where the search ends
_FIRST_BELOW, _SO_NEAR = Fraction(1, 200), Fraction(1, 50)  # the same of large rates: errors are like e^{−rate}
_FIRST_OF_FEW = Fraction(3, 4)  # of the way from the classic rate to the largest that can be of use
_NEXT_TO, _FEW_NODES = Fraction(1, 1000), 50
_CLOSE_ENOUGH = Fraction(1, 8)  # a proved rate that is so close to the limit is not worth more minutes
_FAR = Fraction(3, 2)  # a bound beyond so many budgets says nothing about where to go on
_FARTHER = Fraction(3)  # how much farther away the next rate is tried when a proof fails
_MANY_EDGES, _MOST_PAIRS = 20_000, 2  # pairs of large graphs that are looked at again at other rates
_MOST_STALLED, _LITTLE = 2, Fraction(5, 4)  # as many that nothing was learned from; one where so little can be won
_HARDLY_WORTH = Fraction(3, 2)  # times the classic rate can be won at most: not worth minutes where one proof failed


def certify_cost(
    weighting: Weighting,
    *,
    epsilon: Fraction,
    nodes: int | None = None,
    evaluations: int = MOST_EVALUATIONS,
    progress: Progress | None = None,
    claimed: Fraction | None = None,
    long_windows: bool = False,
) -> CertifiedRate:
    """The largest rate found whose proved loss is at most `epsilon`; never below the classic one.

    Both ends are known: `loss` is proved, `worst_found` is what a pair of words really loses at that rate, and at
    `ruled_out` a pair of words loses ε, so that no proof can reach a larger rate.

    `nodes` is as in `proved_loss`. At most `evaluations` rates are tried; on large graphs and adjacencies fewer, so
    that it takes minutes, not hours. A claimed rate is proved in one evaluation, with longer windows of words where
    `long_windows` says so.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> rows = [(a, b, "1/2") for a in "ab" for b in "ab"]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=6)
    >>> found = certify_cost(Weighting(language=words, cost=hamming(words), adjacency=2), epsilon=Fraction(3))
    >>> round(float(found.rate), 2), found.how                                # ε/b, on Σⁿ
    (1.5, 'exact')
    """
    if weighting.drops == 0:
        return weighting.classic(epsilon)
    search = _BlockSearch(weighting, epsilon, progress, nodes=nodes, evaluations=evaluations, patient=long_windows)
    return search.answer(claimed) or weighting.classic(epsilon)


class _BlockSearch(CertifiedSearch):
    prover, what = "blocks", "a rate, by blocks"

    def __init__(
        self, weighting: Weighting, epsilon: Fraction, progress: Progress | None, *,
        nodes: int | None, evaluations: int, patient: bool,
    ) -> None:  # fmt: skip
        super().__init__(weighting, epsilon, progress)
        self._nodes, self._most_evaluations = nodes, evaluations
        self._evaluations = 0  # so many rates are tried at most, once a search begins
        self._claimed_patient = patient
        self.takes_long = not is_enumerable(weighting)
        self._patient = False  # whether longer windows are used
        self._failures, self._stalled = 0, 0  # how many proofs failed, and with a bound that is the classic one
        self._guess: Fraction | None = None  # the next rate, by what was missing at the last one
        self._away = min(_FIRST_AWAY, _FIRST_BELOW / self.limit)  # how far below the limit it is, at least

    # --- searching -------------------------------------------------------------------------------

    @computed_once
    def _possible(self) -> int:
        """How many rates can be tried in minutes."""
        return rates_that_can_be_tried(self.weighting)

    @property
    def _are_few(self) -> bool:
        return self._possible <= FEW_EVALUATIONS

    def begin(self) -> None:
        self._evaluations = min(self._most_evaluations, self._possible)
        self.expected = self._evaluations + 1  # the classic rate is looked at last, if nothing else was proved
        self._begin_with_older_certificate()
        if not self._are_few and self._nodes != 0:
            self.pairs += pairs_of_public_words(self.weighting, self.limit)

    def next_rate(self) -> Fraction | None:
        if len(self.tried) >= self._evaluations:
            return None
        return self._next_of_few() if self._are_few else self._next_of_many()

    def proved(self, rate: Fraction) -> ProvedLoss:
        return self._evaluate(rate, refine=bool(self.tried) or not self._are_few)

    def learn(self, rate: Fraction, proof: ProvedLoss) -> None:
        self._guess = None
        if proof.loss <= self.epsilon:
            self.succeed(rate, proof)
            if self.failed is None:
                self._away /= 8
        elif self._are_few:
            self.fail(rate, proof)
            if proof.reached < _FAR * self.epsilon:
                self._guess = rate * (self.epsilon / Fraction(proof.reached)) * (1 - _CLOSE / 2)
        elif self.rules_out(rate):
            return  # the pair that was found lowers the limit instead
        elif proof.stalled and self._can_be_patient():
            self._patient, self._guess = True, rate  # once more
        else:
            self.fail(rate, proof)
            self._failures += 1
            self._stalled += proof.stalled and self._nodes != 0
            self._away = min(self._away * _FARTHER, Fraction(1, 2))
            if proof.reached < 2 * self.epsilon:  # the bound nearly falls with the rate
                # where only some can be tried, farther below each time
                below = _CLOSE / 2 * (2 ** (self._failures - 1) if self._possible <= SOME_EVALUATIONS else 1)
                self._guess = rate * (self.epsilon / Fraction(proof.reached)) * (1 - below)

    def _next_of_many(self) -> Fraction | None:
        limit, lowest, highest = self.ruled_out(), self.lowest, self.highest
        near = highest <= lowest * (1 + _NEAR_ENOUGH)
        if near and (self.failed is not None or self.best is None or highest <= lowest + _SO_NEAR):
            return None
        if self._is_hopeless():
            return None
        below = limit * (1 - self._away)
        rate = self.inside(below if self._guess is None else min(self._guess, below))
        return rate if rate > lowest * (1 + _CLOSE / 4) else rounded_down((lowest + highest) / 2)

    def _next_of_few(self) -> Fraction | None:
        """Where each evaluation takes minutes: first next to the limit, which large budgets allow, without refinement.

        If that fails, what was missing says where to go on; without a word of that, between what is proved and what
        could not be. Nowhere, where nothing was learned (`_is_hopeless`: boxes are narrowest at the largest rate), or a
        pair was found that leaves little to be won.
        """
        lowest, highest = self.lowest, self.highest
        if highest <= lowest * (1 + (_CLOSE * 4 if self.best is None else _CLOSE_ENOUGH)):
            return None
        if not self.tried:
            return rounded_down(highest * (1 - _NEXT_TO))
        if self.best is None and (self.tried[-1][1].stalled or self.ruled_out() <= _HARDLY_WORTH * self.classic):
            return None
        if self._guess is not None and lowest * (1 + _CLOSE) < self._guess < highest * (1 - _CLOSE):
            return rounded_down(self._guess)
        return rounded_down(lowest + (highest - lowest) * (_FIRST_OF_FEW if len(self.tried) == 1 else Fraction(1, 2)))

    def _can_be_patient(self) -> bool:
        """Whether longer windows are left to be tried; without nodes to split they tell no more."""
        return not self._patient and self._nodes != 0 and can_be_patient(self.weighting)

    def _is_hopeless(self) -> bool:
        """Whether the classic rate is the answer: several rates failed, or nothing was learned from some of them.

        Boxes are wider at smaller rates: where a bound is still the triangle inequality's after all nodes are spent,
        smaller rates, which have less to win, fare no better.
        """
        return self.best is None and (self._failures >= LIMITS.now.failures or self._learns_nothing())

    def _learns_nothing(self) -> bool:
        return self._stalled >= (1 if self.ruled_out() <= _LITTLE * self.classic else _MOST_STALLED)

    def _begin_with_older_certificate(self) -> None:
        """Exponential weights by Hamming distance have a certificate of their own: never end below it."""
        weighting = self.weighting
        if not weighting.is_plain or weighting.with_shorter:
            return
        older = quick_rate(weighting, epsilon=self.epsilon)
        if older.rate > self.classic and older.loss <= self.epsilon:
            self.succeed(older.rate, ProvedLoss(older.loss, older.how))

    def _evaluate(self, rate: Fraction, *, refine: bool = True) -> ProvedLoss:
        nodes = self._nodes if refine or self._nodes is not None else _FEW_NODES
        effort = ProofEffort(within=self.epsilon, nodes=nodes, patient=self._patient, report=self.report)
        result = proved_loss(self.weighting, rate, effort)
        if result.farthest is not None and 0 < result.farthest < self.weighting.farthest:
            period, largest = self.weighting.cost.period, result.farthest * self.weighting.largest_step
            if period == 1:
                self.limit = max(self.limit, self.epsilon / largest)
        if self._nodes != 0:
            self._add_pairs([worse_pair(self.weighting, rate, pair)[1] for pair in result.pairs], rate)
        return result

    # --- the lower end ---------------------------------------------------------------------------

    def _add_pairs(self, pairs: list[Pair], rate: Fraction) -> None:
        """Know these pairs too; of large graphs, where a loss takes a second, those few that lose most."""
        self.pairs += pairs
        if self.weighting.language.graph.edge_count > _MANY_EDGES and len(self.pairs) > _MOST_PAIRS:
            losses = self.losses_at(rate)
            worst = sorted(range(len(losses)), key=lambda k: -losses[k])[:_MOST_PAIRS]
            self.pairs = [self.pairs[k] for k in sorted(worst)]

    # --- answers ---------------------------------------------------------------------------------

    @property
    def question(self) -> tuple[object, ...]:
        return (*super().question, self._nodes, self._most_evaluations)

    def of_classic(self) -> CertifiedRate:
        """It may lose less than ε, too."""
        proof = ProvedLoss(self.epsilon, "classic")
        if self._possible == MOST_EVALUATIONS and not self._learns_nothing():  # else it takes minutes, or tells nothing
            result = self._evaluate(self.classic)
            proof = replace(result, loss=min(result.loss, self.epsilon))
        return self.certificate(self.classic, proof)

    def certificate(self, rate: Fraction, proof: ProvedLoss) -> CertifiedRate:
        """With how long the windows were that the proof took."""
        return replace(super().certificate(rate, proof), proof="long blocks" if self._patient else "blocks")

    def written(self, answer: CertifiedRate) -> Entry:
        """What is written of an answer: all that it takes to prove it once more."""
        pair = answer.worst_pair
        words = "" if pair is None else "|".join(" ".join(map(str, word.tolist())) for word in pair)
        windows = "long" if self._patient else "short"
        return {"rate": str(answer.rate), "pair": words, "how": answer.how, "windows": windows}

    def proved_anew(self, rate: Fraction, entry: Entry) -> CertifiedRate | None:
        """A rate with the loss that is proved for it here and now; None where it loses too much.

        It must pass the search's own test, once. The pair of the entry is taken as one of two words whose loss is
        computed anew.
        """
        if rate == self.classic and (self._possible < MOST_EVALUATIONS or entry.get("how") == "classic"):
            self.pairs += self._cached_pair(entry.get("pair", ""))
            return self.certificate(rate, ProvedLoss(self.epsilon, "classic"))
        long = entry.get("windows") == "long" if entry else self._claimed_patient
        self._patient = long and can_be_patient(self.weighting)
        result = self._evaluate(rate)
        if result.loss > self.epsilon and rate == self.classic:
            result = ProvedLoss(self.epsilon, "classic", result.worst_found, result.pairs)
        weighting = self.weighting
        if result.loss > self.epsilon and weighting.is_plain and not weighting.with_shorter:
            known = quick_loss(weighting, rate)
            result = ProvedLoss(known.loss, known.how, result.worst_found, result.pairs)
        if result.loss > self.epsilon:
            return None
        self.pairs += self._cached_pair(entry.get("pair", ""))
        return self.certificate(rate, result)

    def _cached_pair(self, text: str) -> list[Pair]:
        """The cached pair, if it is one of two adjacent words."""
        language = self.weighting.language
        try:
            words = np.array([[int(code) for code in word.split()] for word in text.split("|")], dtype=np.int32)
        except ValueError:
            return []
        if words.shape != (2, language.length) or words.min() < 0 or words.max() >= len(language.alphabet):
            return []
        adjacent = 0 < int((words[0] != words[1]).sum()) <= self.weighting.adjacency
        if not adjacent or not is_feasible(language, words).all():
            return []
        if language.public_start and words[0, 0] != words[1, 0]:
            return []
        return [(words[0], words[1])]
