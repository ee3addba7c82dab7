"""What a choice of costs means on the words of a model: "hamming", "swap" or "given", with a cap.

Without a cap the swap metric has pairs of symbols that never stand for each other. By default it has one, so that
every feasible word keeps a positive probability, as large as the rate lets it be without being noticed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from symveil.errors import ParameterError, TooLargeError
from symveil.languages.cost_table import CostTable
from symveil.languages.costs import INFINITE, Cost, hamming
from symveil.languages.runs import RunLanguage

CostName = Literal["hamming", "swap", "given"]
Cap = int | Literal["none"]

_UNNOTICED = 12.0
"""e^−12 is how much all words beyond the cap weigh together beside the true one, at the classic rate."""
_SMALLEST_CAP = 2


def read_cost(value: str | None, costs: CostTable | None) -> CostName:
    """Which costs are meant; None: those that are given, else the Hamming distance.

    >>> read_cost(None, None), read_cost("swap", None)
    ('hamming', 'swap')
    """
    if costs is not None and not isinstance(costs, CostTable):
        raise ParameterError("costs", expected="a CostTable", found=type(costs).__name__)
    name = value if value is not None else ("hamming" if costs is None else "given")
    if name not in get_args(CostName):
        raise ParameterError("cost", expected="hamming, swap or given", found=value)
    if (name == "given") != (costs is not None):
        if costs is None:
            raise ParameterError("costs", expected="costs or places with cost given", found="none")
        raise ParameterError("cost", expected="given with costs or places", found=value)
    return name  # type: ignore[return-value]  # just checked


def read_cap(value: Cap | str | None) -> Cap | None:
    """The most that a symbol costs: a whole number, or "none"; None: chosen.

    >>> read_cap("3"), read_cap("none"), read_cap(None)
    (3, 'none', None)
    """
    if value is None:
        return None
    if value == "none":
        return "none"
    expected = 'a whole number, 1 or more, or "none"'
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:10])
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1 or value > 10**9:
        raise ParameterError("cap", expected=expected, found=value)
    return int(value)


def read_step(value: int) -> int:
    """How wide the first step of a staircase is: a whole number, 1 or more.

    >>> read_step(2)
    2
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError("step", expected="a whole number, 1 or more", found=value)
    return int(value)


def chosen_cost(
    language: RunLanguage,
    *,
    cost: CostName,
    cap: Cap | None,
    costs: CostTable | None,
    adjacency: int,
    epsilon: Fraction,
) -> Cost:
    """The costs of a choice on the words of a model, without steps.

    Parameters
    ----------
    language
        The feasible words.
    cost, cap, costs
        As in `MechanismChoice`.
    adjacency
        b: the swap metric counts the swaps that adjacent words can make.
    epsilon
        The budget, which a cap that was not given is chosen by.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=6)
    >>> found = chosen_cost(words, cost="swap", cap=None, costs=None, adjacency=1, epsilon=Fraction(4))
    >>> found.name
    'swap, at most 8'
    """
    if cost == "hamming":
        return hamming(language)
    if costs is not None:
        result = costs.cost(language, cap=cap if isinstance(cap, int) else None)
        if result.far != INFINITE or cap == "none":
            return result
        # some symbols have no way to others: twice the largest cost keeps the triangle inequality
        return costs.cost(language, cap=2 * max(1, math.ceil(result.values[-1])))
    # imported when first needed: most mechanisms must not wait for scipy to load
    from symveil.languages.swap_costs import swap  # noqa: PLC0415

    if cap is not None:
        return swap(language, adjacency=adjacency, cap=None if cap == "none" else cap)
    largest = default_cap(language, adjacency=adjacency, epsilon=epsilon)
    while True:
        try:
            return swap(language, adjacency=adjacency, cap=largest)
        except TooLargeError:
            if largest <= _SMALLEST_CAP:
                raise
            largest = max(_SMALLEST_CAP, min(largest // 2, 32))


def default_cap(language: RunLanguage, *, adjacency: int, epsilon: Fraction) -> int:
    """The cap of the swap metric where none is given: words beyond it weigh next to nothing, but not nothing.

    A word with k symbols beyond the cap weighs e^{−ηCk}, and there are at most (nD)^k of them; η is ε/2b at least.
    """
    words = max(language.length, 1) * max(language.graph.widest, 1)
    least_rate = epsilon / (2 * max(adjacency, 1))
    return max(_SMALLEST_CAP, math.ceil(Fraction(_UNNOTICED + math.log(words)) / least_rate))
