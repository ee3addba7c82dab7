"""The exponential mechanism for words (J19 §IV–VI; B26 [21]).

A word is released with a probability that falls with its distance from the true word:
r(ℓ) = e^{−ηℓ} for the utility −d, r(ℓ) = e^{c/(ℓ+a)} for the utility 1/(d+a) of J19 Definition 12.

The papers divide the budget by two, to pay for a normaliser that might vary with the word. On
Σⁿ it does not vary (docs/theory/losses.md), so the tight calibration spends all of it: the loss is
exactly max over |d−d'| ≤ b of ln r(d)/r(d'), which is r(0)/r(b). On the words of a model it varies
a little; how much is bounded by proof, for the utility −d (docs/theory/certificates.md).

On a model the distance may be another one: what symbols cost is then given, or counted in swaps that adjacent words can
make (docs/theory/certificates.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

from flint import arb

from symveil.calibration.search import CertifiedRate
from symveil.calibration.weighting import Weighting
from symveil.errors import ParameterError
from symveil.languages.cost_table import CostTable
from symveil.languages.costs import Cost
from symveil.languages.free import resample_symbols
from symveil.languages.language import Language
from symveil.languages.run_counts import can_count
from symveil.languages.runs import weighed_by_degrees
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import WEIGHT_PRECISION, DistanceLaw, Moves, State, rounded_weight
from symveil.laws.parameters import Adjacency, Cap, read_beyond, read_offset, read_utility
from symveil.mechanisms.chains import trellis_moves
from symveil.mechanisms.cost_weighted import CostWeighted
from symveil.mechanisms.law import Law
from symveil.models.alphabet import Codes
from symveil.numbers.conversions import ball, precision
from symveil.numbers.once import computed_once
from symveil.numbers.progress import listener
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.randomness import BitSource, Boundaries

if TYPE_CHECKING:
    pass  # which knows the mechanisms by name


class Exponential(CostWeighted):
    """The exponential mechanism, utility −d ("distance") or 1/(d + offset) ("inverse").

    On a Markov chain `prior="chain"` also weights words by their public probability, so that a
    small ε gives typical trajectories instead of uniformly random ones (docs/theory/certificates.md).
    `prior="degrees"` gives less weight where the model has many ways on, so that a larger rate may be proved.
    `cost`, `cap`, `costs` and `balanced` say how far a word of a model is (docs/theory/certificates.md).

    Parameters
    ----------
    language
        The words: all over an alphabet, or those of a model.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        How far apart words may be that are to look alike: a whole number, or "all". None: 1 over an alphabet; on a
        model it has to be given.
    calibration
        "tight" spends the whole budget; "classic" is the papers' factor 2.
    prior
        "uniform"; "chain": words are also weighted by their public probability; "degrees": by D^(−1/4) for each state
        that they leave, D its number of ways on.
    utility
        The score function: "distance" is −d, "inverse" is 1/(d + offset).
    offset
        Of the inverse utility, above 0.
    cost, cap, balanced, costs
        As in `MechanismChoice`.
    beyond
        "graceful": any two words that differ in d places lose at most (d/b)·ε, at the largest rate that is proved for
        that. "nothing": the largest rate that is proved for words within b.

    >>> import symveil as sv
    >>> mechanism = sv.Exponential(sv.words("abc", 5), epsilon=2)
    >>> mechanism.guarantee
    Guarantee(epsilon=2.0, how='exact')
    >>> private = mechanism.release("abcab")
    >>> len(private)
    5
    >>> round(mechanism.distances("abcab").expected_error, 6)
    1.06507
    """

    name = "exponential"
    label: ClassVar[str] = "exponential"

    def __init__(
        self,
        language: Language,
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        calibration: str = "tight",
        prior: str = "uniform",
        utility: str = "distance",
        offset: Number = 1,
        cost: str | None = None,
        cap: Cap | None = None,
        balanced: bool = False,
        costs: CostTable | None = None,
        beyond: str | Number = "nothing",
    ) -> None:
        super().__init__(
            language,
            epsilon=epsilon,
            adjacency=adjacency,
            calibration=calibration,
            cost=cost,
            cap=cap,
            balanced=balanced,
            costs=costs,
        )
        self.utility: Final = read_utility(utility)
        self.offset: Final = read_offset(offset)
        self.prior: Final = prior
        if prior not in ("uniform", "chain", "degrees"):
            raise ParameterError("prior", expected="uniform, chain or degrees", found=prior)
        if prior == "degrees" and language.runs is None:
            raise ParameterError(
                "prior",
                expected="uniform, unless there is a model: elsewhere every symbol has equally many after it",
                found=prior,
            )
        if prior == "chain" and (language.graph is None or language.graph.prior is None):
            raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=prior)
        if self._with_prior and utility != "distance":
            raise ParameterError("utility", expected=f"distance with prior {prior}", found=utility)
        if utility != "distance" and (self.cost != "hamming" or balanced):
            raise ParameterError("utility", expected="distance with costs or balance", found=utility)
        if self._with_prior and balanced:
            raise ParameterError(
                "balanced", expected=f"false with prior {prior}, which is another prior", found=balanced
            )
        self.beyond: Final = read_beyond(beyond)
        if self.beyond not in ("nothing", "graceful") or (self._graceful and self.cost != "hamming"):
            raise ParameterError("beyond", expected="nothing, or graceful by Hamming distance", found=beyond)

    # --- calibration ---------------------------------------------------------------------------

    @property
    def _graceful(self) -> bool:
        return self.beyond == "graceful"

    def _proof(self, weighting: Weighting, claimed: Law | None) -> CertifiedRate | None:
        if not self._graceful:
            return super()._proof(weighting, claimed)
        if self.calibration != "tight" or (claimed is not None and claimed.certificate is None):
            return None
        # imported when it is needed: other rates must not wait for its loops and scipy to load
        from symveil.calibration.graceful import certified_graceful_rate  # noqa: PLC0415

        return certified_graceful_rate(
            weighting,
            per_position=self.epsilon / self.adjacency,
            thorough=self._named,
            of_many_lengths=self._of_many_lengths,
            progress=listener(f"certifying {self.described}, (d/b)·ε for all words"),
            claimed=None if claimed is None else claimed.rate,
        )

    def _calibrated(self, claimed: Law | None) -> Law:
        certified = None if self.weighting is None else self._proof(self.weighting, claimed)
        if certified is not None:
            rate, proved = certified.rate, Guarantee.of_loss(certified.loss, certified.how)
        else:
            rate = self._plain_rate if claimed is None or claimed.rate is None else claimed.rate
            proved = self._loss_without_certificate(rate)
        return self._law_with(proved, rate=rate, certificate=certified, parameters=self._resolved())

    def _loss_without_certificate(self, rate: Fraction) -> Guarantee:
        """On Σⁿ ln r(0)/r(b), attained where the released word is one of the two words; elsewhere twice that."""
        if self.language.homogeneous:
            return Guarantee.of_loss(rate * self._log_ratio_per_rate(self.reach), "exact")
        if self.weighting is not None and not self.weighting.cost.is_hamming:
            loss = 2 * rate * self.weighting.drops
        else:
            loss = 2 * rate * self._log_ratio_per_rate(self.reach)
        return Guarantee.of_loss(loss if self._graceful or loss > self.epsilon else self.epsilon, "classic")

    @property
    def rate(self) -> Fraction:
        """η of r(ℓ) = e^{−ηℓ}, or c of r(ℓ) = e^{c/(ℓ+a)}."""
        assert self.law.rate is not None  # noqa: S101 - every exponential mechanism has one
        return self.law.rate

    def _shaped(self, cost: Cost) -> Cost:
        return cost  # one phase

    @property
    def _with_prior(self) -> bool:
        return self.prior != "uniform"

    def _weighted(self, cost: Cost) -> Weighting:
        weighting = super()._weighted(cost)
        return (
            replace(weighting, language=weighed_by_degrees(weighting.language))
            if self.prior == "degrees"
            else weighting
        )

    @property
    def _by_passes(self) -> bool:
        return super()._by_passes and self.utility == "distance"

    @property
    def _plain_rate(self) -> Fraction:
        if self.weighting is not None and not self.weighting.cost.is_hamming:
            return self.weighting.classic(self.epsilon).rate
        if self.calibration == "classic" and not self._graceful:
            return self.epsilon / 2 / self._log_ratio_per_rate(self.adjacency)
        spent = self.epsilon if self.language.homogeneous and self.calibration == "tight" else self.epsilon / 2
        if self._graceful:  # one change loses ε/b, whatever the length, and d changes at most d times that
            return spent / (self.adjacency * self._log_ratio_per_rate(1))
        return spent / self._log_ratio_per_rate(max(self.reach, 1))

    def _loss_beyond(self, distance: int) -> float:
        """On a model twice what the weights of one released word can differ by: their sums differ by no more."""
        if self.language.homogeneous:
            return at_least(self.rate * self._log_ratio_per_rate(distance))
        if self._graceful and self.law.certificate is not None:
            return at_least(self.epsilon / self.adjacency * distance)
        if self.utility != "distance":
            return at_least(2 * self.rate * self._log_ratio_per_rate(distance))
        largest = self._largest_symbol_cost
        return math.inf if largest is None else at_least(2 * self.rate * largest * distance)

    def _log_ratio_per_rate(self, distance: int) -> Fraction:
        """ln(r(0)/r(distance)) for rate 1: the sensitivity of the utility (J19 Lemma 1)."""
        if self.utility == "distance":
            return Fraction(distance)
        return distance / (self.offset * (distance + self.offset))

    def weight_balls(self, counts: Sequence[arb]) -> list[arb]:
        """r(0), r(1), …, scaled to r(0) = 1."""
        return [(-ball(self.rate * self._log_ratio_per_rate(distance))).exp() for distance in range(len(counts))]

    def parameters_document(self) -> dict[str, object]:
        """The rate, and what the score is."""
        return {
            "rate": spelled(self.rate),
            "utility": self.utility,
            "offset": spelled(self.offset),
            "prior": self.prior,
            **self._cost_document(),
        }

    # --- drawing -------------------------------------------------------------------------------

    def _draw_rows(self, rows: Codes, bits: BitSource) -> Codes:
        if self.utility == "inverse" or self.language.largest_distance == 0 or self._run_weights is not None:
            return super()._draw_rows(rows, bits)
        # e^{−ηd} is a product over the symbols: they are independent of each other
        return resample_symbols(rows, len(self.alphabet), self.resample_choice, bits)

    def draws_symbols_alike(self, length: int) -> bool:
        """Whether in words of this length each symbol is drawn for itself, as in the words of this language."""
        alike = self.language.homogeneous and self.utility == "distance"
        return alike and min(length, self._length) >= self.adjacency

    @computed_once
    def resample_choice(self) -> Boundaries:
        """Piece 0: a symbol becomes a uniform one."""
        return Boundaries(self._resample_chance, width=32)

    def _resample_chance(self) -> list[arb]:
        """λ = mz/(1+(m−1)z), z = e^{−η}: then a symbol stays with probability 1/(1+(m−1)z)."""
        size = len(self.language.alphabet)
        weight_of_same = (-ball(self.rate)).exp()
        return [size * weight_of_same / (1 + (size - 1) * weight_of_same)]

    # --- the law -------------------------------------------------------------------------------

    def _law(self, codes: Codes | None) -> DistanceLaw:
        weights = self._run_weights
        counted = self.cost == "hamming" and weights is not None and can_count(self.language)
        if self._with_prior and counted and weights is not None and codes is not None:
            return self._law_around(weights.prior_neighbours(codes))
        return super()._law(codes)

    # --- for verifiers -------------------------------------------------------------------------

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        if self.utility != "distance" or self._run_weights is not None:
            return super()._moves(codes, shown)
        # powers of one rational: the symbols stay independent of how many were changed before
        with precision(WEIGHT_PRECISION):
            mismatch, error = rounded_weight((-ball(self.rate)).exp())
        weights = [mismatch**distance for distance in range(self._length + 1)]
        return *trellis_moves(self.language, codes, weights), 2 * self._length * error


def hamming_rate(law: Law) -> Fraction | None:
    """η where P(w'|w) is proportional to e^{−η·(Hamming distance)} on the language; None elsewhere."""
    plain = law.kind == Exponential.name and law["cost"] == "hamming" and not law["balanced"]
    return law.rate if plain and law["utility"] == "distance" and law["prior"] == "uniform" else None
