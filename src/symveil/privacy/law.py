"""What a mechanism tells about itself: the protocol that verifiers read, and the law of the distance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.drawing.svg_plots import bars_svg
from symveil.languages.language import Language
from symveil.models.word import Codes
from symveil.numerics.integers import decimal, shortened
from symveil.privacy.guarantee import Guarantee


class Claim(Protocol):
    """What every mechanism claims about itself, whatever the metric of its adjacency."""

    @property
    def name(self) -> str:
        """The mechanism's public name."""

    @property
    def epsilon(self) -> Fraction:
        """The nominal budget."""

    @property
    def adjacency(self) -> int:
        """The distance up to which two words are adjacent."""

    @property
    def guarantee(self) -> Guarantee:
        """The loss that the mechanism claims to have."""


class Law(Claim, Protocol):
    """The conditional law P(released | word) of a mechanism under Hamming adjacency, with what it claims about it."""

    @property
    def language(self) -> Language:
        """The words that may be handed in and that may come out."""

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`."""


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """Proved bounds on an expected error."""

    lower: float
    upper: float

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {"lower": self.lower, "upper": self.upper}


@dataclass(frozen=True, slots=True, eq=False)
class DistanceLaw:
    """How far a released word lies from the true one: P(ℓ) for every distance ℓ that occurs.

    `probabilities[ℓ]` may underflow to 0.0 as a float; `log_probabilities[ℓ]` never does.

    >>> import symveil as sv
    >>> law = sv.Exponential(sv.words("ab", 2), epsilon=2).distances()
    >>> law.distances.tolist(), law.counts, f"{law.expected_error:.4f}"      # 2/(1 + e²)
    ([0, 1, 2], [1, 2, 1], '0.2384')
    """

    distances: NDArray[np.int64]
    all_counts: Callable[[], Iterable[int]] = field(repr=False)
    probabilities: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]
    expected_error: float
    length: int
    bounds: ErrorBounds | None = None

    def __post_init__(self) -> None:
        for array in (self.distances, self.probabilities, self.log_probabilities):
            array.flags.writeable = False

    @property
    def counts(self) -> list[int]:
        """How many words lie at each distance: exact integers, which may be very long."""
        wanted = set(self.distances.tolist())
        return [count for distance, count in enumerate(self.all_counts()) if distance in wanted]

    def tail(self, deviation: float) -> float:
        """P(|ℓ − E ℓ| ≥ deviation), exactly."""
        far = np.abs(self.distances - self.expected_error) >= deviation
        return float(min(1.0, self.probabilities[far].sum()))

    def tail_bound(self, deviation: float) -> float:
        """The bound 2·exp(−2t²/n²) of B26 Theorem 2 on `tail(t)`, for t > 0."""
        if deviation <= 0 or self.length == 0:
            return 1.0
        return min(1.0, 2 * math.exp(-2 * (deviation / self.length) ** 2))

    def document(self) -> list[dict[str, object]]:
        """The JSON form, a row for each distance."""
        columns = (self.distances, self.probabilities, self.log_probabilities)
        return [
            {
                "distance": distance,
                "words": decimal(count),
                "probability": probability,
                "log_probability": log_probability,
            }
            for count, distance, probability, log_probability in zip(
                self.counts, *(column.tolist() for column in columns), strict=True
            )
        ]

    def to_svg(self) -> str:
        """The law as bars, the expected error pointed out: the picture of the studio and of notebooks.

        >>> import symveil as sv
        >>> sv.Exponential(sv.words("ab", 3), epsilon=2).distances().to_svg().count("<title>")
        5
        """
        return bars_svg(
            self.distances,
            self.probabilities,
            title=f"Law of the distance, expected {self.expected_error:.4g}",
            x_label="symbols changed",
            y_label="probability",
            mark=self.expected_error,
            mark_label=f"expected {self.expected_error:.3g}",
        )

    def _repr_html_(self) -> str:
        likeliest = np.sort(np.argsort(-self.probabilities, kind="stable")[:20])
        counts = self.counts
        rows = "".join(
            f"<tr><td>{self.distances[index]}</td><td>{shortened(counts[index])}</td>"
            f"<td>{self.probabilities[index]:.6g}</td></tr>"
            for index in likeliest
        )
        return self.to_svg() + (
            f"<table><caption>expected error {self.expected_error:.6g}</caption>"
            f"<tr><th>distance</th><th>words</th><th>probability</th></tr>{rows}</table>"
        )
