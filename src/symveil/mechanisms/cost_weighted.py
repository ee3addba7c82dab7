"""Mechanisms whose weights on a model come from costs: language × cost automaton × public prior.

P(w'|w) = s(w')·κ(w, w')/Z(w) (docs/theory/certificates.md). What a subclass adds is how the weight falls with the cost:
exponentially, or in steps. On Σⁿ the cost is the Hamming distance, and everything is known in closed form
(`DistanceWeighted`).

Without a cap the swap metric has pairs of symbols that never stand for each other. By default it has one, so that
every feasible word keeps a positive probability, as large as the rate lets it be without being noticed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from symveil.calibration.affordable import all_certificates_are_quick
from symveil.calibration.calibrate import calibrated_rate
from symveil.calibration.search import CertifiedRate
from symveil.calibration.weighting import Weighting
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.cost_table import CostTable
from symveil.languages.costs import INFINITE, Cost, hamming
from symveil.languages.language import Language
from symveil.languages.run_counts import can_count
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_laws import expected_errors, log_distances, log_probabilities
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.laws.law import DistanceLaw, Moves, State
from symveil.laws.parameters import Adjacency, Cap, read_cap
from symveil.mechanisms.chains import cost_moves
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.mechanisms.law import Law
from symveil.mechanisms.mechanism import Remarks
from symveil.models.alphabet import Codes
from symveil.numbers.once import computed_once
from symveil.numbers.progress import listener
from symveil.numbers.rationals import Number
from symveil.randomness import BitSource

CostName = Literal["hamming", "swap", "given"]

_UNNOTICED = 12.0
"""e^−12 is how much all words beyond the cap weigh together beside the true one, at the classic rate."""
_SMALLEST_CAP = 2


def read_cost(value: str | None, costs: CostTable | None) -> CostName:
    """Which costs are meant; None: those that are given, else the Hamming distance.

    >>> read_cost(None, None), read_cost("swap", None)
    ('hamming', 'swap')
    """
    if costs is not None and not isinstance(costs, CostTable):
        raise ParameterError("costs", expected="a CostTable", found=type(costs).__name__)
    name = value if value is not None else ("hamming" if costs is None else "given")
    if name not in get_args(CostName):
        raise ParameterError("cost", expected="hamming, swap or given", found=value)
    if (name == "given") != (costs is not None):
        if costs is None:
            raise ParameterError("costs", expected="costs or places with cost given", found="none")
        raise ParameterError("cost", expected="given with costs or places", found=value)
    return name  # type: ignore[return-value]  # just checked


def chosen_cost(
    language: RunLanguage,
    *,
    cost: CostName,
    cap: Cap | None,
    costs: CostTable | None,
    adjacency: int,
    epsilon: Fraction,
) -> Cost:
    """The costs of a choice on the words of a model, without steps.

    `cost`, `cap` and `costs` are as in `MechanismChoice`. The swap metric counts the swaps that words within
    `adjacency` can make; a cap that was not given is chosen by ε.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=6)
    >>> found = chosen_cost(words, cost="swap", cap=None, costs=None, adjacency=1, epsilon=Fraction(4))
    >>> found.name
    'swap, at most 8'
    """
    if cost == "hamming":
        return hamming(language)
    if costs is not None:
        result = costs.cost(language, cap=cap if isinstance(cap, int) else None)
        if result.far != INFINITE or cap == "none":
            return result
        # some symbols have no way to others: twice the largest cost keeps the triangle inequality
        return costs.cost(language, cap=2 * max(1, math.ceil(result.values[-1])))
    # imported when first needed: most mechanisms must not wait for scipy to load
    from symveil.languages.swap_costs import swap  # noqa: PLC0415

    if cap is not None:
        return swap(language, adjacency=adjacency, cap=None if cap == "none" else cap)
    largest = default_cap(language, adjacency=adjacency, epsilon=epsilon)
    while True:
        try:
            return swap(language, adjacency=adjacency, cap=largest)
        except TooLargeError:
            if largest <= _SMALLEST_CAP:
                raise
            largest = max(_SMALLEST_CAP, min(largest // 2, 32))


def default_cap(language: RunLanguage, *, adjacency: int, epsilon: Fraction) -> int:
    """The cap of the swap metric where none is given: words beyond it weigh next to nothing, but not nothing.

    A word with k symbols beyond the cap weighs e^{−ηCk}, and there are at most (nD)^k of them; η is ε/2b at least.
    """
    words = max(language.length, 1) * max(language.graph.widest, 1)
    least_rate = epsilon / (2 * max(adjacency, 1))
    return max(_SMALLEST_CAP, math.ceil(Fraction(_UNNOTICED + math.log(words)) / least_rate))


class CostWeighted(DistanceWeighted):
    """A mechanism on words of one length that weighs them by costs, where a model says what a word may be."""

    def __init__(
        self,
        language: Language,
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        calibration: str = "tight",
        cost: str | None = None,
        cap: Cap | None = None,
        balanced: bool = False,
        costs: CostTable | None = None,
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
        self.cost: Final = read_cost(cost, costs)
        self.cap: Final = read_cap(cap)
        self.costs: Final = costs
        self.balanced: Final = balanced
        self._named: Final = cost is not None
        if cap is not None and self.cost == "hamming":
            raise ParameterError("cap", expected="cost swap or given with it", found=cap)
        if not isinstance(balanced, bool):
            raise ParameterError("balanced", expected="true or false", found=balanced)
        graph = language.graph
        if graph is None and self.cost != "hamming":
            raise ParameterError(
                "cost", expected="hamming, or a model, whose words differ in what they cost", found=cost
            )
        if balanced and (graph is None or not graph.state_is_symbol):
            raise ParameterError("balanced", expected="false, unless the model is a Markov chain", found=balanced)
        if costs is not None and language.runs is not None:
            costs.cost(language.runs)  # a table that does not fit is refused here, not when a word is drawn

    # --- what a subclass says ------------------------------------------------------------------

    @abstractmethod
    def _shaped(self, cost: Cost) -> Cost:
        """The cost with the steps that the weight falls in."""

    @property
    def _with_prior(self) -> bool:
        """Whether words are also weighted by a public prior on the edges of the model."""
        return False

    @property
    def _by_passes(self) -> bool:
        """Whether words are drawn and weighed by passes over the graph of a model."""
        return self.language.runs is not None

    # --- calibration ---------------------------------------------------------------------------

    @computed_once
    def plain_cost(self) -> Cost | None:
        """The costs without steps; None on Σⁿ."""
        runs = self.language.runs
        if runs is None:
            return None
        return chosen_cost(
            runs,
            cost=self.cost,
            cap=self.cap,
            costs=self.costs,
            adjacency=max(self.reach, 1),
            epsilon=self.epsilon,
        )

    @computed_once
    def weighting(self) -> Weighting | None:
        """Everything about the weights but their rate; None where they are not made by passes over a graph."""
        if not self._by_passes or self.plain_cost is None:
            return None
        return self._weighted(self._shaped(self.plain_cost))

    def _resolved(self) -> dict[str, object]:
        """What was chosen where it was left open: the cap."""
        if self.plain_cost is None or self.cost == "hamming":
            return {}
        largest = self.plain_cost.largest
        return {"cap": "none" if largest is None else int(largest)} if self.cap is None and self.cost == "swap" else {}

    def _weighted(self, cost: Cost) -> Weighting:
        runs = self.language.runs
        assert runs is not None  # noqa: S101 - asked on models only
        return Weighting(
            language=runs,
            cost=cost,
            adjacency=max(self.reach, 1),
            with_prior=self._with_prior,
            balanced=self.balanced,
        )

    def _proof(self, weighting: Weighting, claimed: Law | None) -> CertifiedRate | None:
        """The largest rate that is proved; of a claimed law the proof of its rate. None where no proof is needed."""
        if self.calibration != "tight" or (claimed is not None and claimed.certificate is None):
            return None
        # the plain mechanism is asked for everywhere: its quick certificate is enough unless its cost is asked for, or
        # the others are as quick
        return calibrated_rate(
            weighting,
            epsilon=self.epsilon,
            thorough=self._named or (not self._of_many_lengths and all_certificates_are_quick(weighting)),
            of_many_lengths=self._of_many_lengths,
            progress=listener(f"certifying {self.described}"),
            claimed=None if claimed is None else claimed.rate,
            proof="" if claimed is None or claimed.certificate is None else claimed.certificate.proof,
        )

    @property
    def remarks(self) -> Remarks:
        """What was put right about given costs, and what a cost gives up."""
        cost, remarks = self.plain_cost, super().remarks
        if cost is None:
            return remarks
        notes = (f"costs: {cost.note}",) if cost.note and self.costs is not None else ()
        return replace(remarks, notes=notes, given_up=self._given_up(cost), tells_apart=cost.largest is None)

    def _given_up(self, cost: Cost) -> str | None:
        """Beyond b a cost that can be above 1 protects less than the Hamming distance (Theorem 1.5)."""
        if cost.is_hamming:
            return None
        within = "one symbol" if self.reach <= 1 else f"{self.reach} symbols"
        beyond = f"words that differ in more than {within}"
        if cost.largest is None:
            return f"{beyond}: some can be distinguished with certainty, because no cap bounds what a symbol costs"
        if self.cost == "swap":
            return f"{beyond}: a symbol may count up to {cost.largest} times as much as by Hamming distance"
        return f"{beyond}: a symbol counts what it costs, up to {float(cost.largest):g}"

    @property
    def _largest_symbol_cost(self) -> Fraction | None:
        """By how much the cost of a word can change with one of its symbols; None where no cap bounds it."""
        return Fraction(1) if self.plain_cost is None else self.plain_cost.largest

    @property
    def weighting_name(self) -> str:
        """Cost and prior in a few words."""
        name = self.plain_cost.name if self.plain_cost is not None else "hamming"
        return f"{name}, balanced" if self.balanced else name

    @property
    def described(self) -> str:
        """Its name with cost and prior."""
        return f"{self.name} ({self.weighting_name})"

    def _cost_document(self) -> dict[str, object]:
        """What is special about the costs, as JSON; nothing for the Hamming distance."""
        if self.plain_cost is None or (self.cost == "hamming" and not self.balanced):
            return {}
        largest = self.plain_cost.largest
        return {
            "cost": self.cost,
            "cap": None if largest is None else float(largest) if largest.denominator > 1 else int(largest),
            "balanced": self.balanced,
        }

    # --- drawing -------------------------------------------------------------------------------

    @computed_once
    def _run_weights(self) -> RunWeights | None:
        """The weights s(w')·κ(w, w') that words are drawn by; None on Σⁿ."""
        return None if self.weighting is None else self.weighting.weights(self.law.rate or Fraction(0))

    def _draw_rows(self, rows: Codes, bits: BitSource) -> Codes:
        weights = self._run_weights
        if weights is None or self.language.largest_distance == 0:
            return super()._draw_rows(rows, bits)
        return draw_rows(weights, rows, bits)

    # --- the law -------------------------------------------------------------------------------

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word); on a model ln s(row) + ln κ − ln Z(word), which needs no counting by distance."""
        weights = self._run_weights
        if weights is None:
            return super()._log_probabilities(word, released)
        return log_probabilities(weights, word, released)

    def _expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each row the expected number of wrong symbols, and what they cost together: on a model all at once."""
        weights = self._run_weights
        if weights is None:
            return super()._expected_errors(words)
        result = expected_errors(weights, words)
        return result.symbols, result.costs

    @property
    def _counts_tell(self) -> bool:
        """Whether the law of the distance follows from how many words lie at each."""
        plain = self.plain_cost is None or self.cost == "hamming" or self.plain_cost.is_hamming
        return plain and not self.balanced and not self._with_prior

    def _law(self, codes: Codes | None) -> DistanceLaw:
        weights = self._run_weights
        if weights is None or codes is None or (self._counts_tell and can_count(self.language)):
            return super()._law(codes)
        logs = log_distances(weights, codes)
        occurring = np.flatnonzero(np.isfinite(logs))
        expected = expected_errors(weights, codes[None, :])
        return DistanceLaw(
            distances=occurring,
            all_counts=self._counted(codes, len(logs)),
            probabilities=np.exp(logs[occurring]),
            log_probabilities=logs[occurring],
            expected_error=float(expected.symbols[0]),
            length=self._length,
            expected_cost=float(expected.costs[0]) if self.cost == "given" else None,
        )

    def _counted(self, codes: Codes, size: int) -> Callable[[], Iterable[int | None]]:
        """How many words lie at each distance, where that can be counted."""
        if not can_count(self.language):
            return lambda: [None] * size
        return self.language.around(codes).counts

    # --- for verifiers -------------------------------------------------------------------------

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        weights = self._run_weights
        return super()._moves(codes, shown) if weights is None else cost_moves(weights, codes)
