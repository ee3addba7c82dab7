"""The policy `private`: every observation is released, by a law for its length that shows safe ones only.

`PrivatePolicy` says what that achieves for a system; its `log_release` is the same as a mechanism for observations of
all lengths, which the release protocol takes (ledger, manifest, check).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.enforcement.combinators import Postprocessed, Restricted
from symveil.enforcement.length_tables import AUTO, LengthTables
from symveil.enforcement.limits import LIMITS
from symveil.enforcement.safe import safe_diagram
from symveil.errors import ParameterError
from symveil.languages.language import AnyLength, Language
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.by_length import ByLength
from symveil.mechanisms.choice import MechanismChoice
from symveil.models.word import Codes
from symveil.numbers.once import Memo, computed_once
from symveil.pictures.diagram import Diagram
from symveil.randomness import BitSource
from symveil.verification.opacity.run_observations import RunObservations
from symveil.verification.opacity.safe_observations import Events, SafeObservations


class PrivatePolicy:
    """Every observation is released, by the mechanism for its length; `with_epsilon` shares all but the rates."""

    name = "private"

    def __init__(
        self,
        runs: RunObservations,
        *,
        epsilon: Fraction,
        adjacency: Adjacency,
        release: str = AUTO,
        tables: Memo[int, LengthTables] | None = None,
    ) -> None:
        self._runs, self._safe, self.adjacency, self._epsilon = runs, runs.safe, adjacency, epsilon
        self.release = release
        self._tables = tables or Memo(lambda length: LengthTables(runs, length, adjacency))
        self._mechanisms: Memo[int, Restricted | Postprocessed] = Memo(self._mechanism)
        self._laws: Memo[int, dict[Events, NDArray[np.float64]]] = Memo(self._sensitive_laws)
        self._effects: Memo[int, tuple[float, float]] = Memo(
            lambda length: self._tables[length].effect(self.mechanism(length))
        )

    def with_epsilon(self, epsilon: Fraction) -> PrivatePolicy:
        """The same policy with another ε."""
        return PrivatePolicy(
            self._runs, epsilon=epsilon, adjacency=self.adjacency, release=self.release, tables=self._tables
        )

    def mechanism(self, length: int) -> Restricted | Postprocessed:
        """The mechanism for one length, which must have a safe observation."""
        return self._mechanisms[length]

    @computed_once
    def log_release(self) -> ByLength:
        """The mechanism for observations of all lengths, each of which is public."""
        safe = self._safe
        every, shown = (
            ObservationLanguage(alphabet=safe.alphabet, graph=graph, safe=safe, is_safe=is_safe)
            for graph, is_safe in ((safe.possible_graph, False), (safe.graph, True))
        )
        choice = MechanismChoice(epsilon=self._epsilon, adjacency=self.adjacency)
        return ByLength(
            every, choice, lambda _, language: self.mechanism(language.max_length or 0), name=self.name, released=shown
        )

    def _mechanism(self, length: int) -> Restricted | Postprocessed:
        return self._tables[length].release(epsilon=self._epsilon, adjacency=self.adjacency, release=self.release)

    def language(self, length: int) -> Language:
        """All observations of a length that has a safe one, safe or not."""
        return self._tables[length].language

    def unenforceable(self) -> Events | None:
        """An observation of a length without any safe one."""
        lengths = (length for length in self._safe.complete_lengths if self._safe.language(length) is None)
        return next(map(self._safe.example, lengths), None)

    def can_replace(self, events: Events) -> bool:
        """Whether there is a safe observation of its length."""
        return self._safe.language(len(events)) is not None

    def substitute_count(self, events: Events) -> int:
        """All safe observations of its length."""
        language = self._safe.language(len(events))
        return 0 if language is None else language.size

    def substitutes(self, events: Events, at_most: int | None = None) -> list[tuple[Events, float]]:
        """What may be shown, with its probability as a float right to about 13 digits, the likeliest first."""
        if not self.can_replace(events):
            return []
        mechanism, outputs = self.mechanism(len(events)), self._tables[len(events)].outputs
        chances = self._laws[len(events)].get(events)
        if chances is None:
            (chances,) = mechanism.laws(np.array([events], dtype=np.int32), outputs)
        likeliest = np.argsort(-chances, kind="stable")[:at_most]
        return list(zip(map(tuple, outputs[likeliest].tolist()), chances[likeliest].tolist(), strict=True))

    def _sensitive_laws(self, length: int) -> dict[Events, NDArray[np.float64]]:
        """For each sensitive string of a length the probabilities of the outputs: together they take far less time."""
        strings = [events for events in self._runs.sensitive if len(events) == length]
        mechanism, outputs = self.mechanism(length), self._tables[length].outputs
        if not strings or len(strings) * len(outputs) > LIMITS.now.outcomes:
            return {}
        return dict(zip(strings, mechanism.laws(np.array(strings, dtype=np.int32), outputs), strict=True))

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row."""
        lengths = np.full(len(codes), codes.shape[1])
        return self.mechanism(codes.shape[1]).release_checked(codes.reshape(-1), lengths, bits)[0].reshape(codes.shape)

    def diagram(self, events: Events) -> Diagram:
        """The nearest safe observations, which are the likeliest to be shown; all others of the length are possible."""
        language = self._safe.language(len(events))
        if language is None:
            raise ParameterError("draw", expected="an observation that can be replaced", found="none")
        near = RunNeighbours(language, np.array(events, dtype=np.int32))
        nearest = next(distance for distance, count in enumerate(near.counts()) if count)
        return safe_diagram(self._safe, language, events, nearest)

    @computed_once
    def guarantee(self) -> Guarantee:
        """The largest of all lengths, since unfinished runs are taken too; no loss exceeds the classic one."""
        worst = Guarantee(epsilon=0.0, how="exact")
        for length in reversed(range(max(self._safe.complete_lengths, default=0) + 1)):
            if self._safe.language(length) is not None:
                own = self.mechanism(length).guarantee
                if own.how == "classic":
                    return own
                worst = own if own.epsilon > worst.epsilon else worst
        return worst

    @property
    def violation(self) -> Fraction:
        """0: only safe observations are shown."""
        return Fraction(0)

    @property
    def expected_distance(self) -> float:
        """Over all lengths of what runs show."""
        return math.fsum(self._effects[length][0] for length in self._safe.complete_lengths)

    @property
    def posterior_of_secret(self) -> float:
        """Over all lengths of what runs show."""
        return max((self._effects[length][1] for length in self._safe.complete_lengths), default=0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class ObservationLanguage(AnyLength):
    """The observations of every length up to the horizon that has a safe one: all of them, or the safe ones only."""

    safe: SafeObservations = field(repr=False)
    is_safe: bool

    def _make(self, length: int) -> RunLanguage | None:
        longest, own = self.safe.longest, self.safe.language(length)
        if own is None or (longest is not None and length > longest):
            return None
        return own if self.is_safe else self.safe.possible(length)
