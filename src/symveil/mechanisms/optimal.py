"""The mechanism with the least expected error that ε-privacy allows, on a language of a few hundred words.

It is the solution of a linear programme (docs/theory/lower-bounds.md, Theorem 6), made exact (`optimal_law`): the law
is a table of integers, its loss is the logarithm of the largest ratio in it, and words are drawn from it bit by bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.languages.free import FreeLanguage
from symveil.languages.language import FAR
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.optimal_law import ExactLaw, optimal_law
from symveil.mechanisms.optimal_programme import Programme
from symveil.models.word import Codes, Lengths, as_rows
from symveil.numerics.conversions import STANDARD_PRECISION, ball, log_upper_bound, nearest_float, precision
from symveil.numerics.once import LastFew, computed_once
from symveil.numerics.rationals import Number
from symveil.numerics.turns import searched_once
from symveil.privacy.guarantee import Guarantee
from symveil.privacy.law import DistanceLaw
from symveil.privacy.lower_bounds.prior import Prior
from symveil.privacy.parameters import Adjacency
from symveil.privacy.release_chain import Moves, State
from symveil.randomness import BitSource, Boundaries

MOST_WORDS = 400
"""More words are refused."""
MOST_ROWS = 120_000
"""More inequalities (adjacent pairs × outputs) are refused: the solver takes about 10 s for 75,000."""
_WORDS_REMEMBERED = 512


class Optimal(Mechanism):
    """The least expected number of wrong symbols that any ε-private mechanism releasing words of the language can have.

    The average is over the prior: "uniform" over all words, or "chain", as a Markov chain has them. For small
    languages of one length only.

    Parameters
    ----------
    language
        The words, such as `words(...)` or `runs(...)`; at most a few hundred.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        How far apart words may be that are to look alike: a whole number, or "all".
    prior
        What the error is averaged over: "uniform", or "chain".

    >>> import symveil as sv
    >>> never_bb = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = sv.runs(never_bb, 4)
    >>> mechanism = sv.Optimal(words, epsilon=1)
    >>> round(mechanism.expected_error, 4), mechanism.guarantee.how
    (0.8051, 'exact')
    >>> round(sv.lower_bound(words, epsilon=1).value, 4)
    0.8051
    >>> private = mechanism.release("abaa")
    """

    name = "optimal"
    label: ClassVar[str] = "optimal (small languages)"
    takes: ClassVar[frozenset[str]] = frozenset({"prior"})

    def __init__(
        self,
        language: FreeLanguage | RunLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency = 1,
        prior: str = "uniform",
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency)
        if prior not in ("uniform", "chain"):
            raise ParameterError("prior", expected="uniform or chain", found=prior)
        if prior == "chain" and (language.graph is None or language.graph.prior is None):
            raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=prior)
        self.prior: Final = prior
        self._small: Final = language
        if not isinstance(language, FreeLanguage | RunLanguage) or not language.has_at_most(MOST_WORDS):
            raise ParameterError(
                "language",
                expected=f"at most {MOST_WORDS} words of one length for mechanism {self.name} (auto takes more)",
                found=f"more in {language!r}",
            )
        rows = sum(len(each.adjacent) * len(each.words) for each in self._programmes)
        if rows > MOST_ROWS and not language.homogeneous:
            raise ParameterError(
                "language",
                expected=f"at most {MOST_ROWS:,} adjacent pairs × outputs for mechanism {self.name} (auto takes more)",
                found=f"{rows:,} in {language!r} with adjacency {self.reach}",
            )

    # --- the law, worked out -------------------------------------------------------------------

    @computed_once
    def _words(self) -> Codes:
        """All words, those with the same public start one after the other."""
        return np.concatenate([each.words for each in self._programmes])

    @computed_once
    def _programmes(self) -> list[Programme]:
        """One for each public start: words with another start are never adjacent, and never released."""
        words = self._small.enumerate_codes(at_most=MOST_WORDS)
        shares = np.full(len(words), 1 / max(len(words), 1))
        if self.prior == "chain" and isinstance(self._small, RunLanguage):
            shares = Prior(self._small, "chain").word_probabilities(words)
        apart = np.stack([self._small.distance(word, words) for word in words])
        left, found = np.ones(len(words), dtype=np.bool_), []
        for number in range(len(words)):
            if left[number]:
                own = np.flatnonzero(apart[number] != FAR)
                left[own] = False
                found.append(
                    Programme(words[own], apart[np.ix_(own, own)], shares[own], self.reach, self._small.homogeneous)
                )
        return found

    @searched_once
    def laws(self) -> tuple[ExactLaw, ...]:
        """The exact law for each public start; one where no start is public."""
        return tuple(optimal_law(each, self.epsilon) for each in self._programmes)

    def __getstate__(self) -> dict[str, object]:
        # a worker with another version of the solver would find another law: it gets this one
        return super().__getstate__() | {"laws": self.laws}

    @computed_once
    def _place_of(self) -> dict[bytes, tuple[int, int]]:
        """The programme of each word, and its number in that."""
        return {
            word.tobytes(): (which, number)
            for which, programme in enumerate(self._programmes)
            for number, word in enumerate(np.ascontiguousarray(programme.words))
        }

    def _row(self, word: Codes) -> tuple[Programme, int, tuple[int, ...], int]:
        """What a word is released with: its programme, its number there, the numerators and the bits of their unit."""
        which, number = self._place_of[np.ascontiguousarray(word, dtype=np.int32).tobytes()]
        law = self.laws[which]
        return self._programmes[which], number, law.numerators[number], law.bits

    @computed_once
    def guarantee(self) -> Guarantee:
        """The logarithm of the largest ratio in the table."""
        return Guarantee.of_loss(log_upper_bound(max(law.ratio for law in self.laws)), "exact")

    @computed_once
    def digest(self) -> str:
        """SHA-256 of the table: another solver may find another optimal law, which is then known to be another one."""
        words = hashlib.sha256(np.ascontiguousarray(self._words, dtype="<i4").tobytes()).hexdigest()
        return hashlib.sha256(" ".join([words, *(law.digest for law in self.laws)]).encode()).hexdigest()

    @computed_once
    def expected_error(self) -> float:
        """The expected number of wrong symbols, averaged over the prior."""
        means, weights = [], []
        for programme, law in zip(self._programmes, self.laws, strict=True):
            table = np.array([[unit / (1 << law.bits) for unit in row] for row in law.numerators])
            means.append(programme.expected_error(table))
            weights.append(float(programme.shares.sum()))
        return float(np.dot(means, weights) / sum(weights))

    def parameters_document(self) -> dict[str, object]:
        """The prior, and the digest of the table that words are drawn from."""
        return {"prior": self.prior, "digest": self.digest}

    @property
    def given_up(self) -> str | None:
        """Nothing beyond what any two adjacent steps promise; less where no steps lead from word to word."""
        if all(np.isfinite(each.hops()).all() for each in self._programmes):
            return None
        return "words that no steps between adjacent words connect can be told apart almost with certainty"

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        rows = as_rows(codes, lengths, self._small.length)
        released = rows.copy()
        uniform = bits.word_rows(len(rows), 1)[:, 0]
        different, number = np.unique(rows, axis=0, return_inverse=True)
        for index, word in enumerate(different):
            own = np.flatnonzero(number.reshape(-1) == index)
            programme = self._row(word)[0]
            picked = self._choice(word).pick(uniform[own], bits.for_rows(own))
            released[own] = programme.words[picked]
        return released.reshape(-1), lengths

    def _choice(self, word: Codes) -> Boundaries:
        """The choice between the words that may be released for this one."""

        def make() -> Boundaries:
            _, _, numerators, bits = self._row(word)
            sums, total = [], 0
            for unit in numerators[:-1]:
                total += unit
                sums.append(Fraction(total, 1 << bits))
            return Boundaries(lambda: [ball(each) for each in sums])

        return self._remembered.of(word.tobytes(), make)

    @computed_once
    def _remembered(self) -> LastFew[bytes, Boundaries]:
        return LastFew(_WORDS_REMEMBERED)

    # --- the law, told -------------------------------------------------------------------------

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word); −∞ for words with another public start."""
        programme, _, numerators, bits = self._row(word)
        which = self._programmes.index(programme)
        with precision(STANDARD_PRECISION):
            logs = [nearest_float(ball(Fraction(unit, 1 << bits)).log()) for unit in numerators]
        places = [self._place_of[np.ascontiguousarray(row, dtype=np.int32).tobytes()] for row in released]
        return np.array([logs[number] if own == which else -np.inf for own, number in places])

    def _law(self, codes: Codes | None) -> DistanceLaw:
        programme, number, numerators, bits = self._row(self._words[0] if codes is None else codes)
        farthest = int(programme.distances[number].max())
        counts, units = [0] * (farthest + 1), [0] * (farthest + 1)
        for distance, unit in zip(programme.distances[number].tolist(), numerators, strict=True):
            counts[distance] += 1
            units[distance] += unit
        chances = {each: Fraction(unit, 1 << bits) for each, unit in enumerate(units) if counts[each]}
        with precision(STANDARD_PRECISION):
            logs = [nearest_float(_log(chance)) for chance in chances.values()]
        return DistanceLaw(
            distances=np.array(list(chances), dtype=np.int64),
            all_counts=lambda: counts,
            probabilities=np.array([float(chance) for chance in chances.values()]),
            log_probabilities=np.array(logs),
            expected_error=float(sum((each * chance for each, chance in chances.items()), start=Fraction(0))),
            length=self._small.length,
        )

    # --- for verifiers -------------------------------------------------------------------------

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        del shown
        programme, _, numerators, _ = self._row(codes)
        totals: dict[State, int] = {}
        following: dict[State, set[int]] = {}
        for word, unit in zip(programme.words.tolist(), numerators, strict=True):
            for size in range(len(word) + 1):
                begun = tuple(word[:size])
                totals[begun] = totals.get(begun, 0) + unit
                if size < len(word):
                    following.setdefault(begun, set()).add(word[size])

        def moves(state: State) -> Iterable[tuple[int, State, Fraction]]:
            for symbol in sorted(following[state]):
                after = (*state, symbol)
                yield symbol, after, Fraction(totals[after], totals[state])

        return (), moves, Fraction(0)  # the table itself: nothing is rounded

    def __repr__(self) -> str:
        return super().__repr__().replace("calibration='tight'", f"prior={self.prior!r}")


def _log(chance: Fraction) -> arb:
    return ball(chance).log()
