"""The mechanism with the least expected error that ε-privacy allows, on a language of a few hundred words.

It is the solution of a linear programme (docs/mechanisms.md), made exact (`law`): the law is a table of
whole numbers, its loss is the logarithm of the largest ratio in it, and words are drawn from it bit by bit. Under the
graceful promise every two words are compared, and the solution is mostly that of linear equations (`Optimal.flat`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.prior import Prior
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.cost_table import CostTable
from symveil.languages.costs import INFINITE, Cost
from symveil.languages.free import FreeLanguage
from symveil.languages.runs import RunLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import DistanceLaw, Moves, State
from symveil.laws.parameters import Adjacency, Cap, read_beyond, read_cap
from symveil.mechanisms.cost_weighted import chosen_cost, read_cost
from symveil.mechanisms.law import Law, RequestedParameters, chosen_parameters
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism, Remarks
from symveil.mechanisms.optimal_law import ExactLaw, SolvedLaw, aimed_ratio, exact_law, solved_law
from symveil.mechanisms.optimal_programme import NumberedWords, Programme
from symveil.models.alphabet import FAR, Codes, Lengths, as_rows
from symveil.numbers.conversions import STANDARD_PRECISION, ball, log_upper_bound, nearest_float, precision, shortened
from symveil.numbers.once import LastFew, computed_once, searched_once
from symveil.numbers.rationals import Number, at_least
from symveil.randomness import BitSource, Boundaries


class Optimal(Mechanism):
    """The least expected error that any ε-private mechanism releasing words of the language can have.

    The error counts wrong symbols, or what they cost where costs are given; the average is over the prior: "uniform"
    over all words, or "chain", as a Markov chain has them. For small languages of one length only.

    Parameters
    ----------
    language
        The words, such as `words(...)` or `runs(...)`; at most a few hundred.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        How far apart words may be that are to look alike: a whole number, or "all". None: 1 over an alphabet; on a
        model it has to be given.
    prior
        What the error is averaged over: "uniform", or "chain".
    cost
        What the error counts: wrong symbols for "hamming" and "swap", what they cost for "given".
    cap
        The most that one symbol costs where costs are given.
    costs
        What each pair of symbols costs (`CostTable`).
    solved
        What was found before (`mechanism.solved`): then nothing is solved again, and its loss is proved again. None: it
        is found when it is first needed. "flat": the law whose weights need no normaliser, which linear equations find
        and which is mostly the best one; refused where there is none.
    beyond
        "graceful": the least error of all mechanisms with which any two words that differ in d places lose at most
        (d/b)·ε. "nothing": of all with which words within b lose at most ε.

    >>> import symveil as sv
    >>> never_bb = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = sv.runs(never_bb, 4)
    >>> mechanism = sv.Optimal(words, epsilon=1, adjacency=1)
    >>> round(mechanism.expected_error, 4), mechanism.guarantee.how
    (0.8051, 'exact')
    >>> round(sv.lower_bound(words, epsilon=1, adjacency=1).value, 4)
    0.8051
    >>> private = mechanism.release("abaa")
    """

    name = "optimal"
    label: ClassVar[str] = "optimal (small languages)"

    def __init__(
        self,
        language: FreeLanguage | RunLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        prior: str = "uniform",
        cost: str | None = None,
        cap: Cap | None = None,
        costs: CostTable | None = None,
        solved: SolvedLaw | Literal["flat"] | None = None,
        beyond: str | Number = "nothing",
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency)
        if not isinstance(language, FreeLanguage | RunLanguage):
            raise ParameterError("language", expected="words of one length, of a model or not", found=repr(language))
        if prior not in ("uniform", "chain"):
            raise ParameterError("prior", expected="uniform or chain", found=prior)
        if prior == "chain" and (language.graph is None or language.graph.prior is None):
            raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=prior)
        self.prior: Final = prior
        self.cost: Final = read_cost(cost, costs)
        self.cap: Final = read_cap(cap)
        self.costs: Final = costs
        self._small: Final = language
        self.beyond: Final = read_beyond(beyond)
        if self.beyond not in ("nothing", "graceful"):
            raise ParameterError("beyond", expected="nothing or graceful for mechanism optimal", found=beyond)
        if self.cap is not None and self.cost != "given":
            raise ParameterError("cap", expected="cost given with it for mechanism optimal", found=cap)
        if self.cost != "hamming" and language.graph is None:
            raise ParameterError(
                "cost", expected="hamming, or a model, whose words differ in what they cost", found=cost
            )
        if not language.has_at_most(LIMITS.now.optimal_words):
            raise TooLargeError(
                f"mechanism optimal: expected a language of at most {LIMITS.now.optimal_words} words, found "
                f"{_counted(language)} in {language!r}; take mechanism auto, or shorter words"
            )
        # a table that does not fit is refused here, not when a word is drawn
        if self.plain_cost is not None and self.plain_cost.far == INFINITE:
            raise ParameterError(
                "cap", expected="a whole number, since some symbols cannot stand for others", found=cap
            )
        if solved is not None:
            self._given_table = self._flat_law() if isinstance(solved, str) else solved
            _ = self.law  # its loss is proved here, unless it is a law that was handed over
            return
        rows = sum(each.rows for each in self.programmes)
        if rows > LIMITS.now.optimal_rows and not all(self._has_closed_form(each) for each in self.programmes):
            raise TooLargeError(
                f"mechanism optimal: expected at most {LIMITS.now.optimal_rows} adjacent pairs × released words, "
                f"found {rows} in "
                f"{language!r} with adjacency {self.reach}; take mechanism auto, shorter words or a larger epsilon"
            )

    @classmethod
    def from_law(cls, law: Law) -> Self:
        """The mechanism with the table of a law. It solves nothing and proves nothing."""
        made = object.__new__(cls)
        vars(made)["law"] = law
        made.__init__(  # type: ignore[misc]  # with the law in its place nothing is proved
            law.language, epsilon=law.epsilon, adjacency=law.adjacency, solved=law.table, **dict(law.parameters)
        )
        return made

    @classmethod
    def flat(cls, language: FreeLanguage | RunLanguage, choice: RequestedParameters) -> Self | None:
        """The graceful mechanism with weights that need no normaliser; None where there is none, or words are many.

        It takes linear equations, no solver, and is mostly the best one (docs/theory/lower-bounds.md, Theorem 3.4).

        >>> import symveil as sv
        >>> never_bb = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
        >>> flat = Optimal.flat(sv.runs(never_bb, 4), sv.MechanismChoice(epsilon=2, adjacency=1))
        >>> round(flat.expected_error, 4), [round(flat.loss_at(apart), 4) for apart in (1, 2, 3)]
        (0.3187, [2.0, 4.0, 6.0])
        """
        if choice.grace is None or not language.has_at_most(LIMITS.now.optimal_words):
            return None
        try:
            chosen = chosen_parameters(cls, choice)
            return cls(language, epsilon=choice.epsilon, adjacency=choice.adjacency, solved="flat", **chosen)
        except ParameterError:  # no such weights
            return None

    def _flat_law(self) -> SolvedLaw:
        """The law whose weights need no normaliser, made exact."""
        laws = [each.flat(aimed_ratio(self._budget)) for each in self.programmes]
        results = [law for law in laws if law is not None]
        if len(results) < len(laws):
            expected = "a language with weights above 0 that need no normaliser"
            raise ParameterError("solved", expected=expected, found="flat")
        return solved_law(self.programmes, self._groups, self._budget, proposed=results)

    @property
    def _budget(self) -> Fraction:
        """What adjacent words may lose; under the graceful promise what one place may lose."""
        return self.epsilon if self.beyond == "nothing" else self.epsilon / self.adjacency

    def _has_closed_form(self, programme: Programme) -> bool:
        return programme.closed_form(aimed_ratio(self._budget)) is not None

    # --- the law, worked out -------------------------------------------------------------------

    @computed_once
    def _words(self) -> Codes:
        """All words, in alphabetical order."""
        return np.ascontiguousarray(self._small.enumerate_codes(at_most=LIMITS.now.optimal_words), dtype=np.int32)

    @computed_once
    def _apart(self) -> NDArray[np.int64]:
        """Hamming distances; FAR between words with different public starts."""
        return np.stack([self._small.distance(word, self._words) for word in self._words])

    @computed_once
    def plain_cost(self) -> Cost | None:
        """The given costs; None where wrong symbols are counted."""
        if self.cost != "given" or not isinstance(self._small, RunLanguage):
            return None
        return chosen_cost(
            self._small, cost="given", cap=self.cap, costs=self.costs, adjacency=self.reach, epsilon=self.epsilon
        )

    @computed_once
    def _losses(self) -> NDArray[np.float64]:
        """What it costs to release each word for each; 0 between words with different starts, which never happens."""
        cost = self.plain_cost
        if cost is None:
            return np.where(self._apart == FAR, 0, self._apart).astype(np.float64)
        rows = [cost.distances(word, self._words) for word in self._words]
        return np.array([[float(each or 0) for each in row] for row in rows])

    @computed_once
    def shares(self) -> NDArray[np.float64]:
        """How likely each word is."""
        if self.prior == "chain" and isinstance(self._small, RunLanguage):
            return Prior(self._small, "chain").word_probabilities(self._words)
        return np.full(len(self._words), 1 / max(len(self._words), 1))

    @computed_once
    def _groups(self) -> tuple[NDArray[np.int64], ...]:
        """The numbers of the words of each public start: words with another start are never released."""
        first = np.argmax(self._apart != FAR, axis=1)
        return tuple(np.flatnonzero(first == each) for each in np.unique(first))

    @computed_once
    def programmes(self) -> tuple[Programme, ...]:
        """What is to be solved, for each public start."""
        return tuple(
            Programme(
                words=self._words[own],
                distances=self._apart[np.ix_(own, own)],
                losses=self._losses[np.ix_(own, own)],
                shares=self.shares[own],
                reach=self.reach,
                alike=self._small.homogeneous,
                graceful=self.beyond == "graceful",
            )
            for own in self._groups
        )

    def _calibrated(self, claimed: Law | None) -> Law:
        """The logarithm of the largest ratio in the table, which is at most ε; (d/b)·ε under the graceful promise."""
        given: SolvedLaw | None = getattr(self, "_given_table", None) if claimed is None else claimed.table
        solved = solved_law(self.programmes, self._groups, self._budget) if given is None else given
        table = exact_law(solved, self.programmes, self._groups)
        if given is not None and table.missing(self._budget) > 0:
            raise ParameterError("law", expected="a loss of at most epsilon", found="a larger one")
        if claimed is None:
            vars(self).setdefault("table", table)
        if self.beyond == "graceful":
            proved = Guarantee.of_loss(self._budget * self.reach, "certified")
        else:
            proved = Guarantee.of_loss(min(log_upper_bound(table.ratio), self.epsilon), "exact")
        return self._law_with(proved, table=solved)

    @property
    def solved(self) -> SolvedLaw:
        """Everything that decides the law, as it is written down."""
        assert self.law.table is not None  # noqa: S101 - every such law has one
        return self.law.table

    @searched_once
    def table(self) -> ExactLaw:
        """The table that words are drawn from."""
        return exact_law(self.solved, self.programmes, self._groups)

    def __getstate__(self) -> dict[str, object]:
        _ = self.law  # a worker with another version of the solver would find another one
        return super().__getstate__()

    def _loss_beyond(self, distance: int) -> float:
        """Under the graceful promise (d/b)·ε, which is proved of the table."""
        return at_least(self._budget * distance) if self.beyond == "graceful" else super()._loss_beyond(distance)

    @computed_once
    def digest(self) -> str:
        """SHA-256 of the words and the table: another solver may find another law, which is then known as such."""
        words = hashlib.sha256(np.ascontiguousarray(self._words, dtype="<i4").tobytes()).hexdigest()
        return hashlib.sha256(f"{words} {self.table.digest}".encode()).hexdigest()

    @property
    def expected_error(self) -> float:
        """The expected number of wrong symbols, averaged over the prior."""
        return float(self.shares @ self._expected[0] / self.shares.sum())

    @property
    def expected_cost(self) -> float:
        """What wrong symbols are expected to cost, averaged over the prior: what is least; without costs the error."""
        return float(self.shares @ self._expected[1] / self.shares.sum())

    @computed_once
    def _expected(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each word the expected number of wrong symbols, and what they cost together."""
        bits, rows = self.table.bits, self.table.numerators
        chances = np.array([[float(Fraction(unit, 1 << bits)) for unit in row] for row in rows])
        wrong = np.where(self._apart == FAR, 0, self._apart)
        return (chances * wrong).sum(axis=1), (chances * self._losses).sum(axis=1)

    def _expected_errors(self, words: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each row the expected number of wrong symbols, and what they cost together."""
        numbers = self._numbers(words)
        return self._expected[0][numbers], self._expected[1][numbers]

    def parameters_document(self) -> dict[str, object]:
        """What the error is averaged over and counts, and the digest of the table that words are drawn from."""
        costs: dict[str, object] = {}
        if self.plain_cost is not None:
            largest = self.plain_cost.largest
            costs = {"cost": "given", "cap": None if largest is None else float(largest)}
        beyond = {"beyond": self.beyond} if self.beyond != "nothing" else {}
        return {"prior": self.prior, **costs, **beyond, "digest": self.digest}

    @property
    def remarks(self) -> Remarks:
        """What was put right about given costs, what the swap metric means here, and which words nothing connects."""
        note = self.plain_cost.note if self.plain_cost is not None else ""
        notes = (f"costs: {note}",) if note else ()
        if self.cost == "swap":
            notes = ("cost: swap counts as hamming for mechanism optimal, which has the least wrong symbols of all",)
        if all((each.hops >= 0).all() for each in self.programmes):
            return replace(super().remarks, notes=notes)
        given_up = "words that no steps between adjacent words connect can be distinguished almost with certainty"
        return replace(super().remarks, notes=notes, given_up=given_up, tells_apart=True)

    def _numbers(self, words: Codes, *, others: bool = False) -> NDArray[np.int64]:
        """The numbers of words of the language; what is no word of it is refused, or −1 where `others` are allowed."""
        rows = np.ascontiguousarray(words, dtype=np.int32)
        numbers = self._numbered.numbers(rows)
        if not others and (numbers < 0).any():
            self._small.check(rows.reshape(-1), np.full(len(rows), rows.shape[1]))
        return numbers

    @computed_once
    def _numbered(self) -> NumberedWords:
        return NumberedWords(self._words)

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        numbers = self._numbers(as_rows(codes, lengths, self._small.length))
        uniform = bits.word_rows(len(numbers), 1)[:, 0]
        released = np.empty(len(numbers), dtype=np.int64)
        for number in np.unique(numbers).tolist():
            own = np.flatnonzero(numbers == number)
            released[own] = self._choice(number).pick(uniform[own], bits.for_rows(own))
        return self._words[released].reshape(-1), lengths

    def _choice(self, number: int) -> Boundaries:
        """The choice between the words that may be released for this one."""

        def make() -> Boundaries:
            sums, total = [], 0
            for unit in self.table.numerators[number][:-1].tolist():
                total += unit
                sums.append(Fraction(total, 1 << self.table.bits))
            return Boundaries(lambda: [ball(each) for each in sums])

        return self._remembered.of(number, make)

    @computed_once
    def _remembered(self) -> LastFew[int, Boundaries]:
        return LastFew(LIMITS.now.remembered_words)

    # --- the law, told -------------------------------------------------------------------------

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word); −∞ for words with another public start, and for what is no word of the language."""
        units = [*self.table.numerators[int(self._numbers(word[None, :])[0])].tolist(), 0]  # −1, no word, is the last
        with precision(STANDARD_PRECISION):
            logs = np.array([self._log(Fraction(unit, 1 << self.table.bits)) for unit in units])
        return np.asarray(logs[self._numbers(released, others=True)])

    @staticmethod
    def _log(chance: Fraction) -> float:
        return nearest_float(ball(chance).log()) if chance else -np.inf

    def _law(self, codes: Codes | None) -> DistanceLaw:
        number = 0 if codes is None else int(self._numbers(codes[None, :])[0])
        near = self._apart[number] != FAR
        farthest = int(self._apart[number][near].max(initial=0))
        counts, units = [0] * (farthest + 1), [0] * (farthest + 1)
        for distance, unit in zip(
            self._apart[number][near].tolist(), self.table.numerators[number][near].tolist(), strict=True
        ):
            counts[distance] += 1
            units[distance] += unit
        chances = {each: Fraction(unit, 1 << self.table.bits) for each, unit in enumerate(units) if counts[each]}
        with precision(STANDARD_PRECISION):
            logs = [self._log(chance) for chance in chances.values()]
        return DistanceLaw(
            distances=np.array(list(chances), dtype=np.int64),
            all_counts=lambda: counts,
            probabilities=np.array([float(chance) for chance in chances.values()]),
            log_probabilities=np.array(logs),
            expected_error=float(sum((each * chance for each, chance in chances.items()), start=Fraction(0))),
            length=self._small.length,
            expected_cost=float(self._expected[1][number]) if self.plain_cost is not None else None,
        )

    # --- for verifiers -------------------------------------------------------------------------

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        del shown
        totals: dict[State, int] = {}
        following: dict[State, set[int]] = {}
        numbers = self.table.numerators[int(self._numbers(codes[None, :])[0])]
        for word, unit in zip(self._words.tolist(), numbers.tolist(), strict=True):
            for size in range(len(word) + 1 if unit else 0):
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


def _counted(language: FreeLanguage | RunLanguage) -> str:
    """How many words a language has, where that is quickly counted."""
    edges = len(language.alphabet) if language.graph is None else language.graph.edge_count
    if language.length > LIMITS.now.counted_length or edges * language.length > LIMITS.now.counted_work:
        return "more"
    return shortened(language.size)
