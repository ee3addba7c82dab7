"""The policies `private`, `safe` and `substitution`: what is shown instead of an observation.

`private`: every observation is released, by a law for its length that shows safe ones only.

`PrivatePolicy` says what that achieves for a system; its `log_release` is the same as a mechanism for observations of
all lengths, which the release protocol takes (ledger, manifest, check).

The other policies replace sensitive strings and show every safe observation as it is (Z25 §5 and Algorithm 2). What is
shown instead is uniform over substitutes at an exact distance ω; the two differ only in which ones. `SafeSubstitutes`,
the policy `safe`: the modified Levenshtein automaton is the automaton of the strings at distance exactly ω times the
graph of safe observations, trimmed. (Z25 multiplies with the observer and asserts that the secret is then avoided;
restricting it to safe observations makes it true: docs/errata.md, E5.) `AnySubstitutes`, the policy `substitution`
(Z25 §5): the strings at that distance need not be strings of the system; an observer recognises those that are not, so
they count as violations (docs/opacity.md).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.enforcement.length_tables import AUTO, LengthTables
from symveil.enforcement.limits import LIMITS
from symveil.errors import ParameterError, TooLargeError, WordError
from symveil.languages.free import at_distance
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.language import AnyLength, Language
from symveil.languages.run_counts import RunNeighbours
from symveil.languages.run_product import product_diagram
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.mechanisms.by_length import ByLength
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.postprocessed import Postprocessed
from symveil.mechanisms.restricted import Restricted
from symveil.models.alphabet import Alphabet, Codes
from symveil.numbers.conversions import fraction, log_upper_bound, rational
from symveil.numbers.once import Memo, computed_once
from symveil.pictures.diagram import Diagram
from symveil.randomness import BitSource
from symveil.verification.limits import LIMITS as PROOFS
from symveil.verification.opacity.observation import estimate_label
from symveil.verification.opacity.run_observations import Events, RunObservations, SafeObservations


class SafeSubstitutes:
    """The safe observations at distance exactly ω."""

    name = "safe"
    are_safe = True

    def __init__(self, safe: SafeObservations, omega: int) -> None:
        self._safe, self.omega = safe, omega
        self._near = Memo(self._neighbours)

    def count(self, events: Events) -> int:
        """How many there are."""
        near = self._near[events]
        return 0 if near is None else near.count(self.omega)

    def _neighbours(self, events: Events) -> RunNeighbours | None:
        language = self._safe.language(len(events))
        codes = np.array(events, dtype=np.int32)
        return None if language is None else RunNeighbours(language, codes, farthest=self.omega)

    def listed(self, events: Events) -> list[Events]:
        """All of them, along the graph of safe observations."""
        near, graph = self._near[events], self._safe.graph
        if near is None or graph is None or not near.count(self.omega):
            return []
        words: list[tuple[Events, int, int]] = [((), graph.start, self.omega)]
        for position, own in enumerate(events):
            words = [
                ((*word, symbol), target, errors - (symbol != own))
                for word, state, errors in words
                for symbol, target in self._safe.moves[state].items()
                if near.ways(position + 1, errors - (symbol != own), target)
            ]
        return [word for word, _, _ in words]

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """A uniform one for each row."""
        drawn = codes.copy()
        for row, events in enumerate(codes.tolist()):
            near = self._near[tuple(events)]
            if near is None:
                raise AssertionError("only strings with a substitute are replaced")
            drawn[row] = near.draw(self.omega, bits)
        return drawn

    def diagram(self, events: Events) -> Diagram:
        """The modified Levenshtein automaton (Z25 Algorithm 2, Fig. 7 and 10): estimates beside distances."""
        language = self._safe.language(len(events))
        if language is None or not self.count(events):
            raise ParameterError("draw", expected="an observation that can be replaced", found="none")
        return safe_diagram(self._safe, language, events, self.omega)


def safe_diagram(safe: SafeObservations, language: RunLanguage, events: Events, distance: int) -> Diagram:
    """The safe observations at exactly this distance, with what is estimated after each of their events."""

    def estimate(state: int) -> str:
        return "\n".join(estimate_label(safe.observed.names(safe.explored.states[state][0])))

    return product_diagram(language, np.array(events, dtype=np.int32), exactly=distance, state_label=estimate)


class AnySubstitutes:
    """The strings of observable events at distance exactly ω."""

    name = "substitution"
    are_safe = False

    def __init__(self, alphabet: Alphabet, omega: int) -> None:
        self._alphabet, self.omega = alphabet, omega

    def count(self, events: Events) -> int:
        """How many there are."""
        if self.omega > len(events):
            return 0  # before the power, which takes for ever where ω is very large
        return int(math.comb(len(events), self.omega) * (len(self._alphabet) - 1) ** self.omega)

    def listed(self, events: Events) -> Iterator[Events]:
        """All of them: ω positions, and another event in each."""
        for positions in combinations(range(len(events)), self.omega):
            for shifts in product(range(1, len(self._alphabet)), repeat=self.omega):
                changed = list(events)
                for position, shift in zip(positions, shifts, strict=True):
                    changed[position] = (changed[position] + shift) % len(self._alphabet)
                yield tuple(changed)

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """A uniform one for each row."""
        return at_distance(codes, np.full(len(codes), self.omega), len(self._alphabet), bits)

    def diagram(self, events: Events) -> Diagram:
        """The distance-limited Levenshtein automaton (Z25 Definition 10, Fig. 6)."""
        word = tuple(self._alphabet.symbols[event] for event in events)
        return hamming_automaton(word, alphabet=self._alphabet, exactly=self.omega).to_diagram()


class SensitiveOnlyPolicy:
    """Sensitive strings are replaced by a uniform substitute; safe observations are shown as they are."""

    def __init__(
        self, runs: RunObservations, substitutes: SafeSubstitutes | AnySubstitutes, *, adjacency: Adjacency
    ) -> None:
        self._runs, self._substitutes, self.adjacency = runs, substitutes, adjacency
        self.name, self.substitute_count, self.diagram = substitutes.name, substitutes.count, substitutes.diagram

    def unenforceable(self) -> Events | None:
        """A sensitive string without any substitute."""
        return next((events for events in self._runs.sensitive if not self._substitutes.count(events)), None)

    def can_replace(self, events: Events) -> bool:
        """Whether there is a substitute. Only sensitive strings, exactly, are replaced; safe ones need not be."""
        if self._runs.safe.is_safe(events):
            return True
        if events not in self._runs.sensitive:
            raise WordError(
                f"observation: expected a sensitive string, which this policy can replace, found one that ends "
                f"before it or goes on after it, of {len(events)} events; the policy private takes any observation"
            )
        return self._substitutes.count(events) > 0

    def substitutes(self, events: Events, at_most: int | None = None) -> list[tuple[Events, Fraction]]:
        """All have the same probability, and come in the order of their events."""
        return sorted(self._law(events).items())[:at_most]

    def _law(self, events: Events) -> Mapping[Events, Fraction]:
        if self._runs.safe.is_safe(events):
            return {events: Fraction(1)}
        count = self._substitutes.count(events)
        if count > LIMITS.now.substitutes:
            raise TooLargeError(
                f"{self.name}: expected at most {LIMITS.now.substitutes} substitutes to write out, found {count}; use "
                "a smaller omega or length"
            )
        return dict.fromkeys(self._substitutes.listed(events), Fraction(1, count)) if count else {}

    def draw(self, codes: Codes, bits: BitSource) -> Codes:
        """What is shown for each row."""
        rows = list(map(tuple, codes.tolist()))
        is_safe = {events: self._runs.safe.is_safe(events) for events in set(rows)}
        unsafe = [number for number, events in enumerate(rows) if not is_safe[events]]
        shown = codes.copy()
        if unsafe:
            shown[unsafe] = self._substitutes.draw(codes[unsafe], bits)
        return shown

    @computed_once
    def guarantee(self) -> Guarantee:
        """Over all that may be handed in: sensitive strings, and every safe observation."""
        laws = {events: self._law(events) for events in self._accepted()}
        return loss_of_laws(laws, read_adjacency(self.adjacency, length=max(map(len, laws), default=1)))

    def _accepted(self) -> Iterator[Events]:
        yield from self._runs.sensitive
        left = PROOFS.now.observations
        for length in range(max(self._runs.safe.complete_lengths, default=0) + 1):
            language = self._runs.safe.language(length)
            if language is not None:
                safe = language.enumerate_codes(at_most=left)
                left -= len(safe)
                yield from map(tuple, safe.tolist())

    @computed_once
    def violation(self) -> Fraction:
        """The share of substitutes that are unsafe: an observer recognises what the system cannot produce."""
        total = Fraction(0)
        for events, string in self._runs.sensitive.items() if not self._substitutes.are_safe else ():
            law = self._law(events)
            total += string.probability * Fraction(sum(not self._runs.safe.is_safe(each) for each in law), len(law))
        return total

    @property
    def expected_distance(self) -> float:
        """All substitutes lie at distance ω."""
        return float(self._substitutes.omega * self._runs.violation)

    @computed_once
    def posterior_of_secret(self) -> Fraction:
        """Exact, over everything that runs may lead to."""
        inputs = self._runs.cut_when_exposed
        counts = (1 if each.violates_after is None else self._substitutes.count(each.events) for each in inputs)
        require_few_outcomes(sum(counts))
        shown: dict[Events, fmpq] = defaultdict(fmpq)
        secret: dict[Events, fmpq] = defaultdict(fmpq)
        for each in inputs:
            law = self._law(each.events)
            probability, with_secret = (rational(chance) / len(law) for chance in (each.probability, each.secret))
            for events in law:
                shown[events] += probability
                secret[events] += with_secret
        largest = max((secret[events] / chance for events, chance in shown.items()), default=fmpq(0))
        return fraction(largest)


def loss_of_laws(laws: Mapping[Events, Mapping[Events, Fraction]], adjacency: int) -> Guarantee:
    """sup ln P(w'|w)/P(w'|v) over adjacent w, v of one length, exactly; infinite where supports differ.

    >>> half = {(0,): Fraction(1, 2), (1,): Fraction(1, 2)}
    >>> loss_of_laws({(0,): half, (1,): {(1,): Fraction(1)}}, 1).epsilon
    inf
    """
    by_length: dict[int, list[Events]] = defaultdict(list)
    for events in laws:
        by_length[len(events)].append(events)
    worst = Fraction(1)
    pairs = 0
    for inputs in by_length.values():
        for one, other in combinations(inputs, 2):
            pairs += 1
            if pairs > LIMITS.now.pairs:
                raise TooLargeError(
                    f"loss: expected at most {LIMITS.now.pairs} pairs of observations, found more; use a smaller length"
                )
            if sum(map(int.__ne__, one, other)) <= adjacency:
                if laws[one].keys() != laws[other].keys():
                    return Guarantee(epsilon=math.inf, how="exact")
                ratios = [chance / laws[other][shown] for shown, chance in laws[one].items()]
                worst = max(worst, *ratios, *(1 / ratio for ratio in ratios))
    return Guarantee.of_loss(log_upper_bound(worst), "exact")


def require_few_outcomes(outcomes: int) -> None:
    """Refuse, before the work, to list more outcomes than fit into the memory."""
    if outcomes > LIMITS.now.outcomes:
        raise TooLargeError(
            f"enforcement: expected at most {LIMITS.now.outcomes} pairs of what happens and what is shown, found "
            "more; use a smaller length"
        )


def read_omega(omega: int | None) -> int:
    """ω: the exact distance of a substitute."""
    if omega is None or isinstance(omega, bool) or not isinstance(omega, int) or omega < 1:
        raise ParameterError(
            "omega", expected="the exact distance of substitutes, a whole number, 1 or more", found=omega
        )
    return omega


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
        mechanism = self.mechanism(codes.shape[1])
        return mechanism.release_flat(codes.reshape(-1), lengths, bits=bits, checked=True)[0].reshape(codes.shape)

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
