"""How a time grows with a size: a line through the logarithms, its slope, and how well the slope is known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from scipy.stats import t as student


@dataclass(frozen=True, slots=True)
class Exponent:
    """The fitted slope, and the range that holds it with confidence 95 % if the scatter about the line is noise."""

    value: float
    low: float
    high: float


def fitted_exponent(sizes: Sequence[int], times: Sequence[float]) -> Exponent:
    """The slope of ln time over ln size, by least squares: 1 for a cost that grows linearly.

    Two points leave nothing to judge the slope by, so its range is everything.
    """
    x = [math.log(size) for size in sizes]
    y = [math.log(seconds) for seconds in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    left = len(x) - 2
    if left < 1:
        return Exponent(slope, -math.inf, math.inf)
    missed = sum((b - mean_y - slope * (a - mean_x)) ** 2 for a, b in zip(x, y, strict=True))
    around = float(student.ppf(0.975, left)) * math.sqrt(missed / left / spread)
    return Exponent(slope, slope - around, slope + around)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Times at several sizes, ours and perhaps a peer's, and the picture that they belong to.

    `expected` is the exponent that the algorithm's analysis gives; a peer may be timed at fewer sizes.
    """

    picture: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    expected: float
    peer_sizes: tuple[int, ...] = ()
    peer_seconds: tuple[float, ...] = ()
    fitted: Exponent = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fitted", fitted_exponent(self.sizes, self.seconds))

    @property
    def peer_exponent(self) -> Exponent | None:
        """The peer's slope, where there are enough sizes for one."""
        return fitted_exponent(self.peer_sizes, self.peer_seconds) if len(self.peer_sizes) > 1 else None

    def document(self) -> dict[str, object]:
        """In JSON."""
        peer = self.peer_exponent
        return {
            "picture": self.picture,
            "sizes": list(self.sizes),
            "seconds": list(self.seconds),
            "expected": self.expected,
            "exponent": self.fitted.value,
            "range": [self.fitted.low, self.fitted.high] if math.isfinite(self.fitted.low) else None,
            "peer_sizes": list(self.peer_sizes),
            "peer_seconds": list(self.peer_seconds),
            "peer_exponent": None if peer is None else peer.value,
        }
