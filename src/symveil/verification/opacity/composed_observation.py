"""What an observer of several parts together knows, without building the whole: states are met one after the other.

Parts move together by the events they share, each alone by its own; the whole is their synchronous product. A state of
the whole gets a number when some run first meets it, so a search that ends early has built little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from symveil.errors import TooLargeError
from symveil.graphs.state_sets import StateSet, members, set_of, still_possible
from symveil.models.stochastic_system import PartiallyObserved
from symveil.numbers.progress import Progress
from symveil.verification.opacity.observation import ExplorationLimit

Place = tuple[str, ...]
"""A state of each part."""

_MOST_STATES = 2_000_000
_MOST_ESTIMATES = 2_000_000


class ComposedObserved:
    """The synchronous product of parts as its observer computes with it; it offers what `Observed` offers a search.

    A state is secret where one of its parts is in a secret state. An event belongs to the parts in which some
    transition has it, and happens when all of them can take it.

    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> left = LogicalSystem.from_transitions([("0", "a", "1"), ("1", "s", "0")], initial="0", observable=["a"])
    >>> right = LogicalSystem.from_transitions([("p", "s", "q")], initial="p", observable=["b"], secret=["q"])
    >>> whole = ComposedObserved([left, right])
    >>> whole.names(whole.steps[0](whole.start)), whole.size
    (('1|p', '0|q'), 3)
    """

    def __init__(self, parts: Sequence[PartiallyObserved]) -> None:
        self._moves = [_moves(part) for part in parts]
        self._secret_states = [set(part.secret) for part in parts]
        owners: dict[str, list[int]] = {}
        for number, part in enumerate(parts):
            for event in dict.fromkeys(move[1] for move in part.moves):
                owners.setdefault(event, []).append(number)
        seen = {event for part in parts for event in part.observable}
        self.events = tuple(event for event in owners if event in seen)
        self._silent_events = tuple(event for event in owners if event not in seen)
        self._owners = owners
        self._number: dict[Place, int] = {}
        self._places: list[Place] = []
        self.secret: StateSet = 0
        self._memo: dict[tuple[str, int], StateSet] = {}
        self.initial = set_of(self._numbered(place) for place in product(*(part.initial_states for part in parts)))
        self.occurring = tuple(range(len(self.events)))
        self.reach = self._image("reach", lambda state: self._closed(1 << state, clean=False))
        self.clean_reach = self._image("clean reach", lambda state: self._closed(1 << state, clean=True))
        self.steps = tuple(self._after(event, self.reach) for event in self.events)
        self.clean_steps = tuple(self._after(event, self.clean_reach) for event in self.events)
        self.start = self.reach(self.initial)

    @property
    def size(self) -> int:
        """How many states of the whole were met."""
        return len(self._places)

    def names(self, states: StateSet) -> tuple[str, ...]:
        """The names of states: those of the parts' states, with a bar between them."""
        return tuple("|".join(self._places[state]) for state in members(states))

    def spelled(self, observation: Sequence[int]) -> tuple[str, ...]:
        """An observation as its events."""
        return tuple(self.events[event] for event in observation)

    def delayed(self, events: Sequence[int], instant: int) -> StateSet:
        """The states possible after the first `instant` events, given all of them."""
        estimate = self.start
        for event in events[:instant]:
            estimate = self.steps[event](estimate)
        return still_possible(estimate, events[instant:], reach=self.reach, steps=self.steps)

    def limit(self, most_states: int | None = None, progress: Progress | None = None) -> ExplorationLimit:
        """How many estimates may be explored."""
        return ExplorationLimit(_MOST_ESTIMATES if most_states is None else most_states, progress)

    # --- the states of the whole, one after the other ------------------------------------------

    def _numbered(self, place: Place) -> int:
        number = self._number.get(place)
        if number is None:
            if len(self._places) >= _MOST_STATES:
                raise TooLargeError(
                    f"opacity: expected at most {_MOST_STATES} states of all parts together, found more; try fewer"
                )
            number = self._number[place] = len(self._places)
            self._places.append(place)
            if any(state in secret for state, secret in zip(place, self._secret_states, strict=True)):
                self.secret |= 1 << number
        return number

    def _by(self, event: str, state: int) -> list[int]:
        """Where one event leads."""
        place, owners = self._places[state], self._owners[event]
        choices = [self._moves[part].get((place[part], event), ()) for part in owners]
        found = []
        for targets in product(*choices):
            after = list(place)
            for part, target in zip(owners, targets, strict=True):
                after[part] = target
            found.append(self._numbered(tuple(after)))
        return found

    def _closed(self, states: StateSet, *, clean: bool) -> StateSet:
        """All that unobservable events lead to; through states without a secret only, where `clean`."""
        reached = states & ~self.secret if clean else states
        border = list(members(reached))
        while border:
            state = border.pop()
            for event in self._silent_events:
                for target in self._by(event, state):
                    if not reached >> target & 1 and not (clean and self.secret >> target & 1):
                        reached |= 1 << target
                        border.append(target)
        return reached

    def _after(self, event: str, reach: Callable[[StateSet], StateSet]) -> Callable[[StateSet], StateSet]:
        kind = f"{'clean ' if reach is self.clean_reach else ''}after {event}"
        return self._image(kind, lambda state: reach(set_of(self._by(event, state))))

    def _image(self, kind: str, of: Callable[[int], StateSet]) -> Callable[[StateSet], StateSet]:
        """The union of what is made of each state, which is kept."""
        memo = self._memo

        def image(states: StateSet) -> StateSet:
            union = 0
            for state in members(states):
                key = (kind, state)
                if key not in memo:
                    memo[key] = of(state)
                union |= memo[key]
            return union

        return image


def _moves(part: PartiallyObserved) -> Mapping[tuple[str, str], list[str]]:
    moves: dict[tuple[str, str], list[str]] = {}
    for source, event, target in part.moves:
        moves.setdefault((source, event), []).append(target)
    return moves
