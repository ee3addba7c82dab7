"""Tiles of a word, and the tiling whose prices add up to most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """Positions `first` … `last` (counted from 0), what the error on them costs at least, and which price says so.

    `window` is the stretch of positions whose words the price compares; with the star price it is the tile itself.
    """

    first: int
    last: int
    price: str
    value: float
    window: tuple[int, int]

    def document(self) -> dict[str, object]:
        """The JSON form; positions counted from 1."""
        return {
            "first": self.first + 1,
            "last": self.last + 1,
            "price": self.price,
            "value": self.value,
            "window": [self.window[0] + 1, self.window[1] + 1],
        }


def best_tiling(offers: Mapping[tuple[int, int], Tile], first: int, length: int) -> tuple[Tile, ...]:
    """Tiles without overlap, in order, with the largest sum; positions without an offer are left out.

    >>> offers = {(0, 0): Tile(0, 0, "a", 0.3, (0, 0)), (1, 1): Tile(1, 1, "a", 0.3, (1, 1)),
    ...           (0, 1): Tile(0, 1, "b", 0.5, (0, 1))}
    >>> [tile.price for tile in best_tiling(offers, 0, 2)]
    ['a', 'a']
    """
    ending: dict[int, list[Tile]] = {}
    for (begin, _), tile in offers.items():
        if begin >= first:
            ending.setdefault(tile.last, []).append(tile)
    best = [0.0]
    taken: list[Tile | None] = [None]
    for position in range(first, length):
        total, choice = best[-1], None
        for tile in ending.get(position, ()):
            candidate = best[tile.first - first] + tile.value
            if candidate > total:
                total, choice = candidate, tile
        best.append(total)
        taken.append(choice)
    tiles: list[Tile] = []
    end = length - first
    while end > 0:
        last = taken[end]
        if last is None:
            end -= 1
        else:
            tiles.append(last)
            end = last.first - first
    return tuple(reversed(tiles))
