"""What the compiled draws of some weights read, and what they write in: a room for each thread.

A room holds the values that states have beside no word, so that the next word finds them there. Free rooms of all
weights together have at most so many values as may be drawn from at once; beyond that, those that were free the longest
are given up. (The weights of a hundred lengths would otherwise hold a hundred rooms.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any
from weakref import ref

from symveil.languages.limits import LIMITS
from symveil.languages.near_loops import Room


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DrawLoops:
    """What compiled draws read, and rooms that no thread is using, by the number of the turn in which they were freed.

    Every step is one operation on a dictionary: any number of threads may take rooms and give them back.
    """

    edges: Any
    levels: Any
    sums: Any
    behind: Any
    length: int
    states: int
    phases: int
    rooms: dict[int, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Without rooms: they are counted in the process that has them."""
        read = self.edges, self.levels, self.sums, self.behind
        return DrawLoops, (*read, self.length, self.states, self.phases)

    @property
    def values(self) -> int:
        """How many values a room has."""
        return (self.length + 1) * self.states * self.phases

    def take_room(self) -> Any:
        """A room for values near words, for one thread."""
        try:
            turn, room = self.rooms.popitem()
        except KeyError:
            most_near = self.states // LIMITS.now.near_share + 1
            return Room(self.length, most_near, self.edges, self.levels, self.sums, self.behind)
        _free.pop(turn, None)
        return room

    def give_back(self, room: Any) -> None:
        """A room is free again; the values beside no word that it has serve the next words."""
        turn = next(_turns)
        self.rooms[turn] = room
        _free[turn] = ref(self, lambda _: _free.pop(turn, None)), self.values
        while sum(values for _, values in list(_free.values())) > LIMITS.now.layer_values_at_once:
            for oldest, (owner, _) in list(_free.items())[:1]:
                _free.pop(oldest, None)
                loops = owner()
                if loops is not None:
                    loops.rooms.pop(oldest, None)


_turns = count()
_free: dict[int, tuple[ref[DrawLoops], int]] = {}
"""The free rooms of all weights, in the order of their turns: whose they are, and how many values each has."""
