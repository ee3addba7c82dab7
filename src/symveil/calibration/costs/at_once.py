"""Several parts of one computation at the same time: compiled loops do not wait for each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
