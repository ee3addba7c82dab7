"""What a plot shows, before any format: named curves and bands, and the colours they get in turn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError

Numbers = Sequence[float] | NDArray[np.float64] | NDArray[np.int64]
Style = Literal["solid", "dashed", "dotted", "points"]

# Okabe and Ito's colours, which stay apart for colour-blind readers, darkened until text in them
# has a contrast of 4.5 against white.
PALETTE = ("#0072b2", "#b84a00", "#00785a", "#a4457f", "#8a6100", "#1b2733")


@dataclass(frozen=True, slots=True)
class Curve:
    """A named line through points, or the points alone; a value that is not finite leaves a gap.

    >>> Curve("expected error", [1, 2], [0.5, 0.25], "dashed").y
    (0.5, 0.25)
    """

    label: str
    x: Numbers
    y: Numbers
    style: Style = "solid"

    def __post_init__(self) -> None:
        if self.style not in get_args(Style):
            raise ParameterError("style", expected=" or ".join(get_args(Style)), found=self.style)
        _freeze(self, "x", "y")
        if not any(map(math.isfinite, self.y)):
            raise ParameterError("y", expected="a finite value somewhere", found="none")


@dataclass(frozen=True, slots=True)
class Band:
    """A named region between two bounds, in the colour of the curve of the same number."""

    label: str
    x: Numbers
    lower: Numbers
    upper: Numbers

    def __post_init__(self) -> None:
        _freeze(self, "x", "lower", "upper")


def _freeze(owner: Curve | Band, *names: str) -> None:
    """Keep sequences as tuples of floats, all of one length."""
    lengths = set()
    for name in names:
        values = tuple(map(float, getattr(owner, name)))
        object.__setattr__(owner, name, values)
        lengths.add(len(values))
    if len(lengths) != 1 or lengths == {0}:
        raise ParameterError(
            names[-1],
            expected=f"as many values as {names[0]} has, at least one",
            found=" and ".join(str(len(getattr(owner, name))) for name in names),
        )
