"""Sets of states as bit masks, and what a set leads to.

State s is in the set X when bit s of the integer X is 1; union and difference are one operation on
integers of any length. The image of a set is the union of its members' images, taken member by
member while they are few, and eight states at a time (a table of the 256 unions of each eight)
where they are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

StateSet = int
"""A set of states: bit s is state s."""
Steps = Sequence[Callable[[StateSet], StateSet]]
"""For each event what a set becomes when it is observed."""

# The tables of a map on n states hold 32·n sets of n bits: beyond this many states they cost too much.
_MOST_STATES_TABULATED = 4096


def members(states: StateSet) -> Iterator[int]:
    """The states of a set, in order.

    >>> list(members(0b1101))
    [0, 2, 3]
    """
    while states:
        lowest = states & -states
        yield lowest.bit_length() - 1
        states ^= lowest


def set_of(states: Iterable[int]) -> StateSet:
    """The set of these states.

    >>> set_of([0, 2, 3]) == 0b1101
    True
    """
    union = 0
    for state in states:
        union |= 1 << state
    return union


class Image:
    """X ↦ ⋃ images[s] over the states s of X.

    >>> successors = Image([0b010, 0b110, 0])
    >>> successors(0b011) == 0b110
    True
    """

    __slots__ = ("_few", "_images", "_table", "_width")

    def __init__(self, images: Sequence[StateSet]) -> None:
        self._images = images
        self._width = (len(images) + 7) // 8
        # up to this many members, one look-up each is quicker than one for every eight states
        self._few = self._width // 4 + 2 if len(images) <= _MOST_STATES_TABULATED else len(images)
        self._table: list[list[StateSet]] | None = None

    def __call__(self, states: StateSet) -> StateSet:
        """The image of a set."""
        union = 0
        if states.bit_count() <= self._few:
            images = self._images
            while states:
                lowest = states & -states
                union |= images[lowest.bit_length() - 1]
                states ^= lowest
            return union
        if self._table is None:
            self._table = _unions_of_eight(self._images)
        for unions, byte in zip(self._table, states.to_bytes(self._width, "little"), strict=True):
            union |= unions[byte]
        return union


def _unions_of_eight(images: Sequence[StateSet]) -> list[list[StateSet]]:
    """For each eight states the unions of all 256 choices among them."""
    table = []
    for first in range(0, len(images), 8):
        unions = [0]
        for image in images[first : first + 8]:
            unions += [union | image for union in unions]
        table.append(unions)
    return table


def closure(images: Sequence[StateSet], *, within: StateSet | None = None) -> list[StateSet]:
    """For each state all that repeated steps reach from it, itself included; paths stay inside `within`.

    >>> [bin(reached) for reached in closure([0b010, 0b100, 0])]
    ['0b111', '0b110', '0b100']
    """
    allowed = (1 << len(images)) - 1 if within is None else within
    reached = []
    for state in range(len(images)):
        own = (1 << state) & allowed
        border = own
        while border:
            following = 0
            for member in members(border):
                following |= images[member]
            border = following & allowed & ~own
            own |= border
        reached.append(own)
    return reached


def still_possible(
    states: StateSet, events: Sequence[int], *, reach: Callable[[StateSet], StateSet], steps: Steps
) -> StateSet:
    """Those of the states from which all of these events can still be observed."""
    possible = 0
    for state in members(states):
        following = reach(1 << state)
        for event in events:
            following = steps[event](following)
        if following:
            possible |= 1 << state
    return possible
