"""The Markov chain of a system and its estimator, and where it notices a violation.

Both move on observable events, only the system on unobservable ones (docs/opacity.md). The chain is
built by arrays and cut down to the pairs from which a violation can still be reached; states with
the same future can be lumped into one. Nothing is rounded and nothing is cut off, so the
probability of ever reaching the violation is unchanged.

The probability of ever reaching the violation is the least solution of p = A·p + b. Every state of a `ViolationChain`
can reach the sink, so I − A is regular and the solution unique (docs/opacity.md). Small systems, after lumping, are
solved in exact rationals; large ones in floats with a proved error (`linear_systems`), and where those have too few
digits, with more of them.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.graphs.csr import offsets
from symveil.graphs.refinement import Weighted, coarsest_stable
from symveil.numbers.conversions import ball, fraction, precision, rational, upper_bound
from symveil.verification.limits import LIMITS
from symveil.verification.linear_systems import ROUNDING, UNDERFLOW, Effort, Entry, Floats, FloatSystem, solved
from symveil.verification.opacity.estimators import Estimator
from symveil.verification.opacity.exploration import NOWHERE, SINK, ExplorationLimit, Numbers, can_reach_sink, explore
from symveil.verification.opacity.observation import Observed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ViolationChain:
    """States 0 … N−1, all of which can reach the violation, and moves source → target (or SINK).

    A move has the probability `chances[chance]`: there are few different ones. `start` is NOWHERE
    where a violation is impossible, and SINK where it happens before anything is observed.
    """

    start: int
    size: int = 0
    source: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    target: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    chance: Numbers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    chances: tuple[Fraction, ...] = ()

    def moves(self) -> Iterator[tuple[int, int, Fraction]]:
        """Each move with its probability."""
        for source, target, chance in zip(
            self.source.tolist(), self.target.tolist(), self.chance.tolist(), strict=True
        ):
            yield source, target, self.chances[chance]

    def lumped(self, *, at_most: int | None = None) -> ViolationChain | None:
        """The same chain with states of the same future made one; None where more than `at_most` would be left.

        The violation is a state of its own, with a move to itself.
        """
        order = np.argsort(self.source, kind="stable")
        loop = len(self.chances)
        graph = Weighted(
            first=offsets(np.append(np.bincount(self.source, minlength=self.size), 1)),
            target=np.append(np.where(self.target == SINK, self.size, self.target)[order], self.size),
            code=np.append(self.chance[order], loop),
            distinct=(*map(rational, self.chances), fmpq(1)),
        )
        is_sink = np.arange(self.size + 1) == self.size
        label = coarsest_stable(graph, is_sink, at_most=None if at_most is None else at_most + 1)
        if label is None:
            return None
        _, member = np.unique(label, return_index=True)
        is_same = member[label[self.source]] == self.source
        target = self.target[is_same]
        return ViolationChain(
            start=int(label[self.start]),
            size=len(member) - 1,
            source=label[self.source[is_same]],
            target=np.where(target == SINK, SINK, label[target]),
            chance=self.chance[is_same],
            chances=self.chances,
        )


def violation_chain(
    observed: Observed, machine: Estimator, limit: ExplorationLimit, *, within: int | None = None
) -> ViolationChain:
    """The chain of a stochastic system and an estimator; with `within`, right for the first so many events only."""
    explored = explore(observed, machine, limit, within=within)
    if not explored.states:
        return ViolationChain(start=SINK)
    if not (explored.table == SINK).any():
        return ViolationChain(start=NOWHERE)
    pairs = _Pairs(observed, explored.table)
    if pairs.start == NOWHERE:
        return ViolationChain(start=NOWHERE)
    if within is None:
        pairs.settle()
    return ViolationChain(start=SINK) if pairs.start == SINK else pairs.chain()


class _Pairs:
    """The reachable pairs (estimator state, system state) that can reach the sink, as successor columns."""

    def __init__(self, observed: Observed, table: Numbers) -> None:
        system = observed.stochastic
        self._size = len(system.states)
        self._table = _live_only(table)
        self._by_label = _successors_by_event(observed)
        initial = observed.number[system.initial]
        reached = self._reached(initial)
        columns = [_renumbered(after, reached) for after in self._after(reached)]
        can = can_reach_sink(columns, len(reached))
        remaining = np.flatnonzero(can)
        self.start = int(_renumbered(_renumbered(np.array([initial]), reached), remaining)[0])
        self._system_state: Numbers = reached[remaining] % self._size
        self._columns = [_renumbered(column[remaining], remaining) for column in columns]

    def settle(self) -> None:
        """Take pairs from which a violation is certain for the violation itself, so that 1 is exactly 1.

        Those are the pairs that no run can leave for one that cannot reach it: in a finite chain, whatever can
        always still be reached is reached with probability 1.
        """
        leaks = np.zeros(len(self._system_state), dtype=np.bool_)
        for column, (_, targets, _) in zip(self._columns, self._by_label, strict=True):
            leaks |= (targets[self._system_state] >= 0) & (column == NOWHERE)
        onward = [np.where(column == SINK, NOWHERE, column) for column in self._columns]
        unsure = can_reach_sink([*onward, np.where(leaks, SINK, NOWHERE)], len(leaks))
        if not unsure[self.start]:
            self.start = SINK
            return
        remaining = np.flatnonzero(unsure)
        ahead = [np.where((column >= 0) & ~unsure[np.maximum(column, 0)], SINK, column) for column in self._columns]
        self._columns = [_renumbered(column[remaining], remaining) for column in ahead]
        self.start = int(_renumbered(np.array([self.start]), remaining)[0])
        self._system_state = self._system_state[remaining]

    def chain(self) -> ViolationChain:
        """One move for each column and pair that has one."""
        sources, targets, chance = [], [], []
        number: dict[Fraction, int] = {}
        for column, (_, _, probability) in zip(self._columns, self._by_label, strict=True):
            source = np.flatnonzero(column != NOWHERE)
            number_of_state = np.full(self._size, NOWHERE)
            for state, value in probability.items():
                number_of_state[state] = number.setdefault(value, len(number))
            sources.append(source)
            targets.append(column[source])
            chance.append(number_of_state[self._system_state[source]])
        return ViolationChain(
            start=self.start,
            size=len(self._system_state),
            source=np.concatenate(sources),
            target=np.concatenate(targets),
            chance=np.concatenate(chance),
            chances=tuple(number),
        )

    def _after(self, keys: Numbers) -> list[Numbers]:
        """For each label of transitions where each pair goes: a key, NOWHERE or SINK."""
        state, estimate = keys % self._size, keys // self._size
        after = []
        for event, targets, _ in self._by_label:
            target = targets[state]
            following = estimate if event is None else self._table[estimate, event]
            moved = np.where(following < 0, following, following * self._size + target)
            after.append(np.where(target < 0, NOWHERE, moved))
        return after

    def _reached(self, initial: int) -> Numbers:
        visited = np.zeros(len(self._table) * self._size, dtype=np.bool_)
        visited[initial] = True
        border = np.array([initial], dtype=np.int64)
        count = 1
        while len(border):
            after = np.concatenate(self._after(border))
            after = after[after >= 0]
            border = np.unique(after[~visited[after]])
            visited[border] = True
            count += len(border)
            if count > LIMITS.now.chain_pairs:
                raise TooLargeError(
                    f"violation probability: expected at most {LIMITS.now.chain_pairs} pairs of a state and an "
                    "estimate, found more; try a smaller k or a bounded number of steps (within)"
                )
        return np.flatnonzero(visited)


def _renumbered(keys: Numbers, remaining: Numbers) -> Numbers:
    """The index of each key in the sorted `remaining`, NOWHERE where it is missing; negative keys stay."""
    index = np.minimum(np.searchsorted(remaining, keys), max(len(remaining) - 1, 0))
    known = (keys >= 0) & (remaining[index] == keys) if len(remaining) else np.zeros(len(keys), dtype=np.bool_)
    return np.where(known, index, np.where(keys < 0, keys, NOWHERE))


def _successors_by_event(observed: Observed) -> list[tuple[int | None, Numbers, dict[int, Fraction]]]:
    """For each event of the system: its column if it is observable, each state's successor, and the probabilities."""
    system, number = observed.stochastic, observed.number
    column = {observed.events[event]: index for index, event in enumerate(observed.occurring)}
    labels: dict[str, tuple[int | None, Numbers, dict[int, Fraction]]] = {}
    for source, event, target, probability in system.transitions:
        if event not in labels:
            labels[event] = (column.get(event), np.full(len(system.states), NOWHERE), {})
        labels[event][1][number[source]] = number[target]
        labels[event][2][number[source]] = probability
    return list(labels.values())


def _live_only(table: Numbers) -> Numbers:
    """The table without the ways to estimates after which no violation is possible any more."""
    live = can_reach_sink(list(table.T), len(table))
    return np.where((table >= 0) & ~live[np.maximum(table, 0)], NOWHERE, table)


_EFFORT, _CLOSE = Effort(restarts=8, steps=300), 1e-14
# Farther apart than this, and than a millionth of the value, bounds are not good enough.
_WIDEST_BOUNDS = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A probability between two proved bounds; exactly known where they are equal."""

    lower: Fraction
    upper: Fraction

    @property
    def is_close(self) -> bool:
        """Whether the bounds are close enough to be reported."""
        return self.upper - self.lower <= _WIDEST_BOUNDS * min(Fraction(1), 10**3 * self.upper)

    @classmethod
    def around(cls, middle: float, error: float) -> Enclosure:
        """`middle` ± `error`, and inside [0, 1]."""
        centre, radius = Fraction(middle), Fraction(error)
        return cls(max(centre - radius, Fraction(0)), min(centre + radius, Fraction(1)))


NOTHING_KNOWN = Enclosure(Fraction(0), Fraction(1))


def _in_floats(chain: ViolationChain, *, keep_loops: bool = False) -> tuple[FloatSystem, Floats, int]:
    """A and b as floats, each entry right to half a unit in the last place, and a bound on the roundings of a row.

    Loops from a state to itself are taken out first, exactly: p = a·p + c becomes p = c/(1 − a), so
    that a state which is hardly ever left does not look as if it never were.
    """
    from scipy.sparse import csr_array  # noqa: PLC0415  # small systems never need scipy

    chance = np.array([float(value) for value in chain.chances])[chain.chance]
    stays = chain.source == chain.target
    if stays.any() and not keep_loops:
        chance[~stays] = _without_loops(chain, stays)[~stays]
        chance[stays] = 0.0
    inner = chain.target != SINK
    right: Floats = np.zeros(chain.size)
    np.add.at(right, chain.source[~inner], chance[~inner])
    rows = csr_array((chance[inner], (chain.source[inner], chain.target[inner])), shape=(chain.size, chain.size))
    system = FloatSystem(start=rows.indptr.astype(np.int64), column=rows.indices.astype(np.int64), amount=rows.data)
    # one row's sum of d products: d roundings of entries, d of products, d of additions, and a few around
    return system, right, 3 * int(np.bincount(chain.source, minlength=1).max()) + 6


def _without_loops(chain: ViolationChain, stays: NDArray[np.bool_]) -> Floats:
    """Each move's probability, given that its state is left."""
    staying: dict[int, Fraction] = defaultdict(Fraction)
    for source, chance in zip(chain.source[stays].tolist(), chain.chance[stays].tolist(), strict=True):
        staying[source] += chain.chances[chance]
    chances = np.array([float(value) for value in chain.chances])[chain.chance]
    for move in np.flatnonzero(np.isin(chain.source, list(staying)) & ~stays).tolist():
        left = 1 - staying[int(chain.source[move])]
        chances[move] = float(chain.chances[int(chain.chance[move])] / left)
    return chances


def solve_in_floats(chain: ViolationChain) -> Enclosure:
    """By iterations; where they do not get close, by factors. Both are proved afterwards in the same way."""
    system, right, roundings = _in_floats(chain)

    def iterated(constant: Floats) -> Floats:
        goal = float(constant.max(initial=0.0)) * _CLOSE
        return np.nan_to_num(system.iterated(constant, np.zeros(system.size), goal=goal, effort=_EFFORT))

    def enclosed(solve: Callable[[Floats], Floats]) -> Enclosure:
        result = system.proved(right, chain.start, solve, roundings=roundings)
        return NOTHING_KNOWN if result is None else Enclosure.around(*result)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # every solution is checked afterwards
        result = enclosed(iterated)
        if not result.is_close and system.size <= LIMITS.now.direct_unknowns:
            result = min((result, enclosed(system.factored)), key=lambda each: each.upper - each.lower)
    return result


def follow_in_floats(chain: ViolationChain, steps: int) -> Enclosure:
    """Sums and products of numbers that are not negative: the relative error grows by some roundings a step."""
    system, right, roundings = _in_floats(chain, keep_loops=True)  # here a turn of a loop counts as a step
    reached = np.zeros(system.size)
    for _ in range(steps):
        reached = system.matrix @ reached + right
    value = float(reached[chain.start])
    return Enclosure.around(value, value * 2 * roundings * steps * ROUNDING + steps * UNDERFLOW)


def reaching_probability(chain: ViolationChain, *, exact: bool | None = None) -> Enclosure:
    """The probability of ever reaching the violation; exact where asked for, or where that is quick."""
    if chain.start in (NOWHERE, SINK):
        return _certain(chain.start)
    if exact is False:
        enclosed = solve_in_floats(chain)
        small = None if enclosed.is_close else chain.lumped(at_most=LIMITS.now.ball_unknowns)
        return enclosed if small is None else _solve_in_balls(small)
    most = LIMITS.now.requested_unknowns if exact else _most_quick_unknowns(chain)
    # lumping makes a chain some ten times smaller: a much larger one is not worth the attempt
    small = chain.lumped(at_most=most) if exact or chain.size <= LIMITS.now.lumping * most else None
    if exact and small is None:
        raise TooLargeError(
            f"exact: expected at most {LIMITS.now.requested_unknowns} unknowns of the linear system, found more; leave "
            "the choice to symveil and take the bounds it proves"
        )
    if small is None:
        enclosed = solve_in_floats(chain)
        if enclosed.is_close:
            return enclosed
        small = chain.lumped(at_most=LIMITS.now.patient_unknowns)
        if small is None:
            return enclosed
    return _solved(small)


def _most_quick_unknowns(chain: ViolationChain) -> int:
    """How many unknowns are a matter of half a second: the work grows like their cube times the digits."""
    return int(LIMITS.now.exact_unknowns * min(1.0, LIMITS.now.few_bits / _bits(chain)) ** (1 / 3))


def _bits(chain: ViolationChain) -> int:
    return max(chance.denominator.bit_length() for chance in chain.chances)


def reaching_probability_within(chain: ViolationChain, steps: int, *, exact: bool | None = None) -> Enclosure:
    """The probability of reaching the violation in at most `steps` events."""
    if chain.start in (NOWHERE, SINK):
        return _certain(chain.start)
    # every step adds a denominator
    work = steps * steps * _bits(chain) * len(chain.source)
    if exact or (exact is None and work <= LIMITS.now.exact_steps_work):
        value = _follow_exactly(chain, steps)
        return Enclosure(value, value)
    followed = follow_in_floats(chain, min(steps, LIMITS.now.followed_steps))
    if steps <= LIMITS.now.followed_steps:
        return followed
    return Enclosure(followed.lower, reaching_probability(chain).upper)  # somewhere between so many steps and all


def _certain(start: int) -> Enclosure:
    value = Fraction(1 if start == SINK else 0)
    return Enclosure(value, value)


def _solved(chain: ViolationChain) -> Enclosure:
    value = fraction(solved(*_system(chain, rational, fmpq(0)))[chain.start])
    return Enclosure(value, value)


def _solve_in_balls(chain: ViolationChain) -> Enclosure:
    """Where a run takes a billion steps doubles have too few digits: balls of more digits, with proved errors."""
    with precision(LIMITS.now.ball_bits):
        try:
            value = solved(*_system(chain, ball, arb(0)), arb_mat)[chain.start]
        except ZeroDivisionError:  # singular, as far as so many digits show
            return NOTHING_KNOWN
        return Enclosure(max(-upper_bound(-value), Fraction(0)), min(upper_bound(value), Fraction(1)))


def _system(chain: ViolationChain, number: Callable[[Fraction], Any], zero: Any) -> tuple[list[Entry], list[Any]]:
    """A and b in one arithmetic."""
    entries, right = [], [zero] * chain.size
    for source, target, probability in chain.moves():
        if target == SINK:
            right[source] += number(probability)
        else:
            entries.append((source, target, number(probability)))
    return entries, right


def _follow_exactly(chain: ViolationChain, steps: int) -> Fraction:
    moves = [(source, target, rational(probability)) for source, target, probability in chain.moves()]
    reached = [fmpq(0)] * chain.size
    for _ in range(steps):
        longer = [fmpq(0)] * chain.size
        for source, target, probability in moves:
            longer[source] += probability if target == SINK else probability * reached[target]
        reached = longer
    return fraction(reached[chain.start])
