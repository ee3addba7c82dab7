"""What the search for the worst block keeps: sets of pairs of words, the worst pair found, and what is known so far.

Several parts of one computation at the same time: compiled loops do not wait for each other.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class LossyPair:
    """Two words (the symbols after their start), the state they start from, and ln Z(v)/Z(w)."""

    start: int
    own: tuple[int, ...]
    other: tuple[int, ...]
    log_ratio: float


@dataclass(frozen=True, slots=True)
class Node:
    """All pairs of words with these symbols around a block that begins at one of the steps low … high."""

    low: int
    high: int
    lead: int  # how many symbols before the block are known
    left: int  # the window before the first known symbol: its row in the boxes
    own: tuple[int, ...]
    other: tuple[int, ...]
    right: int  # w's window after the last known symbol: its row
    right_other: int  # v's state at the end of that window; −1 where it has none
    same_start: bool  # whether w and v agree on everything before the block
    spare: int  # how many differences they may still have after it
    cost: float  # D(p, q)
    ratio: float = math.inf
    nominal: float = 0.0
    before: float = 0.0  # first-order terms: how much is lost to what is not known before and after
    after: float = 0.0


@dataclass(slots=True)
class Outcome:
    """What is known of one kind of block: no pair exceeds `high` (as ln), and `pair` attains `low`."""

    high: float = -math.inf
    low: float = -math.inf
    pair: LossyPair | None = None
    nodes: int = 0
    exists: bool = False
    complete: bool = True  # False: the search ended at a bound above the budget, and `high` holds for what it looked at
    likely: Node | None = None  # the pair with the largest bound among those that halves of paths were compared of


def worths(outcomes: Mapping[_Kind, Outcome]) -> dict[_Kind, Fraction]:
    """What each kind of block is worth at most, those left out that no word has or that lose nothing."""
    return {kind: Fraction(each.high) for kind, each in outcomes.items() if each.exists and each.high > 0}


_Given = TypeVar("_Given")
_Result = TypeVar("_Result")


def at_once(work: Callable[[_Given], _Result], given: Sequence[_Given]) -> list[_Result]:
    """The results in order.

    >>> at_once(lambda number: number * 2, [1, 2, 3])
    [2, 4, 6]
    """
    if len(given) < 2:
        return [work(each) for each in given]
    with ThreadPoolExecutor(max_workers=min(len(given), os.cpu_count() or 1)) as pool:
        return list(pool.map(work, given))


def slices(count: int, *, fewest: int) -> list[slice]:
    """Parts of `count` things for the cores there are, none of less than `fewest`.

    >>> slices(5, fewest=10)
    [slice(0, 5, None)]
    """
    parts = max(1, min(2 * (os.cpu_count() or 1), count // fewest))
    return [slice(count * k // parts, count * (k + 1) // parts) for k in range(parts)]
