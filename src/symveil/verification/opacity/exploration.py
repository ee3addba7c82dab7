"""All states of an estimator, and where each event leads from each of them: one search for all notions and systems.

It goes by the length of observations, so a violation that it meets first is a shortest one. States are stepped one by
one, and very many states of the weak estimator as rows of 64-bit words: the same machine as `WeakEstimator`, state for
state, for a small k and a few hundred states of the system. A row has 1 + k sets: X, and for each age the set B where
there is one, otherwise nothing (B is never empty in a state).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, overload

import numpy as np
from numpy.typing import NDArray

from symveil.errors import TooLargeError
from symveil.graphs.csr import Csr
from symveil.graphs.state_sets import StateSet
from symveil.graphs.walk import Walk
from symveil.numbers.progress import Progress, named
from symveil.verification.limits import LIMITS
from symveil.verification.opacity.estimators import (
    IMPOSSIBLE,
    VIOLATION,
    Estimator,
    Observing,
    State,
    Step,
    WeakEstimator,
)

NOWHERE: Final = -1
SINK: Final = -2

_WORD = np.dtype("<u8")
_BYTES, _BITS = 8, 64
_MOST_WORDS, _LARGEST_K = 4, 6
# so many entries of a row take as much memory as an estimate
_EVENTS_LIKE_A_SET = 10

Rows = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ExplorationLimit:
    """How many estimates may be explored, and the callback that follows their number."""

    estimates: int
    progress: Progress | None = None

    def report(self, explored: int, *, length: int | None = None, within: int | None = None) -> None:
        """Call the callback, where there is one; with a bound on the `length`, how far it is."""
        if self.progress and within is not None:
            named(self.progress, f"estimates after {length} of {within} events")(explored, None)
        elif self.progress:
            self.progress(explored, None)

    def exceeded(self, *, longest: int) -> TooLargeError:
        """The error for more estimates than allowed, after all observations of up to `longest` events."""
        return TooLargeError(
            f"opacity: expected at most {self.estimates} states of the estimator, found more after all observations of "
            f"up to {longest} events; try a smaller k, a bounded number of steps (within), a model with fewer "
            "unobservable events or, with more memory, a larger most_states",
        )

    def require(self, size: int, *, longest: int) -> None:
        """Refuse more than allowed, after all observations of up to `longest` events."""
        if size > self.estimates:
            raise self.exceeded(longest=longest)


class Exploration:
    """The states of an estimator, by the length of the observations that first lead to them, and where it is violated.

    At most `limit` sets of states are kept. With `within`, observations have at most so many events.
    """

    def __init__(
        self, observed: Observing, machine: Estimator, limit: ExplorationLimit, *, within: int | None = None
    ) -> None:
        self.events, self.limit, self.within = observed.occurring, limit, within
        self._observed = observed
        self.length = 0
        """How long the observations are that lead to the states that are read now."""
        self.sets = 0
        self.violation: tuple[int, ...] | None = None
        """A shortest observation without a violating prefix that violates, as soon as one was met."""
        self._machine = machine
        begin = machine.start()
        if begin is VIOLATION:
            self.violation = ()
        else:
            self.sets = machine.sets(begin)
        self.walk: Walk[State, int] = Walk([] if begin is VIOLATION else [begin])

    def rows(self, *, until_violation: bool = False) -> Iterator[list[int]]:
        """For each state, in order, where each event leads: to the number of a state, NOWHERE or SINK, a violation."""
        for length, layer in enumerate(self.walk.layers()):
            self.length = length
            yield from self.layer(layer, until_violation=until_violation)
            if until_violation and self.violation is not None:
                return

    def layer(self, layer: range, *, until_violation: bool = False) -> Iterator[list[int]]:
        """The rows of the states of one length."""
        self.limit.report(len(self.walk), length=self.length, within=self.within)
        walk, step, sets = self.walk, self._machine.step, self._machine.sets
        events = self.events if self.within is None or self.length < self.within else ()
        for source in layer:
            row = [NOWHERE] * len(self.events)
            state = walk.nodes[source]
            for column, event in enumerate(events):
                after = step(state, event)
                if after is VIOLATION:
                    row[column] = SINK
                    if self.violation is None:
                        self.violation = (*walk.way_to(source), event)
                    if until_violation:
                        break
                elif after is not IMPOSSIBLE:
                    known = len(walk)
                    row[column] = walk.meet(after, source, event)
                    if row[column] == known:
                        self.sets += sets(after)
            yield row
            if until_violation and self.violation is not None:
                return
            self.limit.require(self.sets, longest=self.length)

    def require_few(self, states: int) -> None:
        """Refuse what does not fit: of states and their rows, and of pairs of a state and one of the system."""
        allowed = LIMITS.now.explored_pairs // self._observed.size
        if states > allowed:
            raise replace(self.limit, estimates=min(self.limit.estimates, allowed)).exceeded(longest=self.length)
        entries = states * len(self.events) // _EVENTS_LIKE_A_SET
        self.limit.require(max(self.sets, entries), longest=self.length)


class ManyEstimates:
    """A weak estimator whose states are the rows of an array.

    >>> from symveil.verification.opacity.observation import Observed
    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> system = LogicalSystem.from_transitions(
    ...     [("0", "a", "0"), ("0", "a", "1"), ("1", "b", "0")], initial="0", observable=["a", "b"], secret=["1"]
    ... )
    >>> machine = WeakEstimator(Observed(system), 1, Observed(system).secret)
    >>> many = ManyEstimates.of(machine)
    >>> after, possible, violates = many.steps(many.rows([machine.start()]), [0, 1])
    >>> many.state(after[0, 0].tobytes()) == machine.step(machine.start(), 0), possible.tolist()
    (True, [[True, False]])
    """

    def __init__(self, machine: WeakEstimator, k: int) -> None:
        self._size = machine.observed.size
        self._words, self._ages = -(-self._size // _BITS), k
        self._reach = _table(machine.observed.reach, self._size, self._words)
        self._steps: dict[int, Rows] = {
            event: _table(machine.observed.steps[event], self._size, self._words)
            for event in machine.observed.occurring
        }
        self._clean = self._packed(((1 << self._size) - 1) & ~machine.secret)

    @classmethod
    def of(cls, machine: object) -> ManyEstimates | None:
        """None for another estimator, a large k, or a system of very many states."""
        if not isinstance(machine, WeakEstimator) or machine.k is None or machine.k > _LARGEST_K:
            return None
        if machine.observed.size > _MOST_WORDS * _BITS:
            return None
        return cls(machine, machine.k)

    # --- states as rows ------------------------------------------------------------------------

    def _packed(self, states: StateSet) -> Rows:
        return np.frombuffer(states.to_bytes(_BYTES * self._words, "little"), dtype=_WORD)

    def rows(self, states: Sequence[State]) -> Rows:
        """States of the estimator as rows."""
        packed = np.zeros((len(states), 1 + self._ages, self._words), dtype=_WORD)
        for number, (now, aged) in enumerate(states):
            packed[number, 0] = self._packed(now)
            for age, clean in aged:
                packed[number, 1 + age] = self._packed(clean)
        return packed

    def keys(self, rows: Rows) -> list[bytes]:
        """The bytes of each row, by which rows are distinguished."""
        width = rows.shape[1] * rows.shape[2]
        whole = np.ascontiguousarray(rows).reshape(len(rows), width)
        data, size = whole.tobytes(), _BYTES * width
        return [data[begin : begin + size] for begin in range(0, len(data), size)]

    def state(self, key: bytes) -> State:
        """The state that a row stands for."""
        size = _BYTES * self._words
        now, *clean = (int.from_bytes(key[begin : begin + size], "little") for begin in range(0, len(key), size))
        return (now, tuple((age, states) for age, states in enumerate(clean) if states))

    # --- steps ---------------------------------------------------------------------------------

    def steps(self, rows: Rows, events: Sequence[int]) -> tuple[Rows, Booleans, Booleans]:
        """For each row and event the next row, whether the system can produce the event, and whether it violates."""
        after = np.zeros((len(rows), len(events), *rows.shape[1:]), dtype=_WORD)
        possible = np.zeros((len(rows), len(events)), dtype=np.bool_)
        violates = np.zeros_like(possible)
        for column, event in enumerate(events):
            possible[:, column], violates[:, column] = self._step(rows, self._steps[event], after[:, column])
        return after, possible, violates & possible

    def _step(self, rows: Rows, table: Rows, after: Rows) -> tuple[Booleans, Booleans]:
        now = _image(table, rows[:, 0])
        clean = _image(self._reach, now & self._clean)
        after[:, 0] = now
        possible, violates = _some(now), ~_some(clean)
        candidates = [clean]
        for age in range(self._ages):
            aged = _image(table, rows[:, 1 + age])
            violates |= _some(rows[:, 1 + age]) & ~_some(aged)
            candidates.append(aged)
        remaining: list[tuple[Rows, Booleans]] = []
        for age, states in enumerate(candidates[: self._ages]):  # at age k it was just looked at for the last time
            keep = _some(states) & np.asarray(np.any(states != now, axis=1))
            for smaller, is_same in remaining:
                keep &= ~is_same | _some(smaller & ~states)
            remaining.append((states, keep))
            after[keep, 1 + age] = states[keep]
        return possible, violates


@dataclass(frozen=True, slots=True, eq=False)
class PackedStates(Sequence[State]):
    """States that are kept as the bytes of their rows, and read when one is requested."""

    packed: list[bytes] = field(repr=False)
    read: Callable[[bytes], State]

    def __len__(self) -> int:
        return len(self.packed)

    @overload
    def __getitem__(self, index: int) -> State: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[State, ...]: ...
    def __getitem__(self, index: int | slice) -> State | tuple[State, ...]:
        if isinstance(index, slice):
            return tuple(map(self.read, self.packed[index]))
        return self.read(self.packed[index])

    def __iter__(self) -> Iterator[State]:
        return map(self.read, self.packed)


def _table(image: Step, size: int, words: int) -> Rows:
    """For each eight states the images of all 256 choices among them."""
    table = np.zeros((-(-size // 8), 256, words), dtype=_WORD)
    for state in range(size):
        own = np.frombuffer(image(1 << state).to_bytes(_BYTES * words, "little"), dtype=_WORD)
        table[state // 8, (np.arange(256) >> state % 8) & 1 == 1] |= own
    return table


def _some(sets: Rows) -> Booleans:
    """Which sets are not empty."""
    return np.asarray(np.any(sets, axis=1))


def _image(table: Rows, sets: Rows) -> Rows:
    eights = np.ascontiguousarray(sets).view(np.uint8)
    union: Rows = table[0][eights[:, 0]]
    for number in range(1, len(table)):
        union |= table[number][eights[:, number]]
    return union


@dataclass(frozen=True, slots=True, eq=False)
class Explored:
    """The estimator's states, the first one first, and table[state, column]: the next one, NOWHERE or SINK.

    A column stands for the event `events[column]`: those that occur. SINK is a violation. There are
    no states where the observer is sure before observing anything.
    """

    events: tuple[int, ...]
    states: Sequence[State] = field(repr=False)
    table: Numbers = field(repr=False)

    def moves(self, table: Numbers | None = None) -> list[dict[int, int]]:
        """For each state where its events lead, SINK included; of `table`, where one with these events is given."""
        rows = (self.table if table is None else table).tolist()
        return [
            {event: after for event, after in zip(self.events, row, strict=True) if after != NOWHERE} for row in rows
        ]


def explore(observed: Observing, machine: Estimator, limit: ExplorationLimit, *, within: int | None = None) -> Explored:
    """Every state that some observation without a violation leads to, or one of at most `within` events."""
    search = Exploration(observed, machine, limit, within=within)
    rows: list[list[int]] = []
    for length, layer in enumerate(search.walk.layers()):
        search.length = length
        many = ManyEstimates.of(machine) if len(layer) >= LIMITS.now.many_states else None
        if many:
            return _ManySearch(many, search, rows).explored(many.rows(search.walk.nodes[layer.start :]))
        for row in search.layer(layer):
            rows.append(row)
            search.require_few(len(search.walk))
    states = search.walk.nodes
    return Explored(
        search.events, tuple(states), np.array(rows, dtype=np.int64).reshape(len(states), len(search.events))
    )


class _ManySearch:
    """The same search from a layer of many states on, in arrays; states get the same numbers."""

    def __init__(self, many: ManyEstimates, search: Exploration, rows: list[list[int]]) -> None:
        self._many, self._search = many, search
        self._number = {key: index for index, key in enumerate(many.keys(many.rows(search.walk.nodes)))}
        self._tables: list[Numbers] = [np.array(rows, dtype=np.int64).reshape(len(rows), len(search.events))]

    def explored(self, layer: Rows) -> Explored:
        """Go on from `layer`, the states that observations of the search's length first lead to."""
        search = self._search
        while len(layer):
            if search.length == search.within:
                self._tables.append(np.full((len(layer), len(search.events)), NOWHERE))
                break
            parts = range(0, len(layer), LIMITS.now.states_at_once)
            layer = np.concatenate([self._step(layer[begin : begin + LIMITS.now.states_at_once]) for begin in parts])
            search.length += 1
        states = PackedStates(list(self._number), self._many.state)
        return Explored(search.events, states, np.concatenate(self._tables))

    def _step(self, rows: Rows) -> Rows:
        """The states that these lead to and that are new."""
        number, many, search = self._number, self._many, self._search
        after, possible, violates = many.steps(rows, search.events)
        after, alive = after.reshape(-1, *rows.shape[1:]), (possible & ~violates).reshape(-1)
        table: Numbers = np.where(violates, SINK, NOWHERE).reshape(-1)
        targets, fresh = [], []
        for index, key in enumerate(many.keys(after[alive])):
            target = number.get(key)
            if target is None:
                target = number[key] = len(number)
                fresh.append(index)
            targets.append(target)
        table[alive] = targets
        self._tables.append(table.reshape(possible.shape))
        new = after[alive][fresh]
        search.sets += int(np.count_nonzero(new.any(axis=2)))
        search.limit.report(len(number), length=search.length, within=search.within)
        search.require_few(len(number))
        return new


def can_reach_sink(columns: list[Numbers], size: int) -> NDArray[np.bool_]:
    """Which of 0 … size−1 can reach SINK along the columns."""
    if not columns:
        return np.zeros(size, dtype=np.bool_)
    sources = np.concatenate([np.flatnonzero(column >= 0) for column in columns])
    targets = np.concatenate([column[column >= 0] for column in columns])
    into = Csr.from_edges(targets, sources, size)
    can = np.zeros(size, dtype=np.bool_)
    for column in columns:
        can |= column == SINK
    border = np.flatnonzero(can)
    while len(border):
        before = into.target[into.expand(border)[1]]
        border = np.unique(before[~can[before]])
        can[border] = True
    return can
