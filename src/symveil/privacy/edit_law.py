"""What a mechanism on words of different lengths tells about itself: the protocol, and the law of its edits."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes
from symveil.numerics.integers import decimal
from symveil.privacy.law import Claim, ErrorBounds


class EditLaw(Claim, Protocol):
    """The conditional law P(released | word) of a mechanism under Levenshtein adjacency."""

    @property
    def metric(self) -> str:
        """What adjacency is measured in: "levenshtein"."""

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""

    @property
    def largest_output(self) -> int | None:
        """How long a released word can be; None where there is no bound."""

    def inputs(self, length: int, *, at_most: int) -> list[Codes]:
        """The words of up to `length` symbols that may be handed in, by their length."""

    def outputs(self, length: int, *, at_most: int) -> list[Codes]:
        """The words of up to `length` symbols that may be released, by their length."""

    def log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) for every row of `released`, which all have one length."""


@dataclass(frozen=True, slots=True, eq=False)
class EditDistanceLaw:
    """How far a released word lies from the true one: a probability for 0, 1, 2 … and, last, for that many *or more*.

    `measured` is "distance" where the Levenshtein distance is meant, "edits" where the edits that
    were made are counted: the distance is at most that. `words` counts the words at exactly that
    distance within the public bound; None where they were not counted.
    """

    distances: NDArray[np.int64]
    words: tuple[int | None, ...]
    probabilities: NDArray[np.float64]
    log_probabilities: NDArray[np.float64]
    expected_error: float
    measured: Literal["distance", "edits"]
    or_more: bool
    bounds: ErrorBounds | None = None

    def __post_init__(self) -> None:
        for array in (self.distances, self.probabilities, self.log_probabilities):
            array.flags.writeable = False

    def label(self, index: int) -> str:
        """The distance of a row as it is read."""
        last = self.or_more and index == len(self.distances) - 1
        return f"{self.distances[index]} or more" if last else str(self.distances[index])

    def document(self) -> list[dict[str, object]]:
        """The rows in JSON."""
        return [
            {
                "distance": distance,
                "or_more": self.or_more and index == len(self.distances) - 1,
                "words": None if words is None else decimal(words),
                "probability": probability,
                "log_probability": log_probability if np.isfinite(log_probability) else None,
            }
            for index, (distance, words, probability, log_probability) in enumerate(
                zip(
                    self.distances.tolist(),
                    self.words,
                    self.probabilities.tolist(),
                    self.log_probabilities.tolist(),
                    strict=True,
                )
            )
        ]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(self.label(index))}</td><td>{self.probabilities[index]:.6g}</td></tr>"
            for index in range(min(len(self.distances), 20))
        )
        return (
            f"<table><caption>expected {self.measured} {self.expected_error:.6g}</caption>"
            f"<tr><th>{self.measured}</th><th>probability</th></tr>{rows}</table>"
        )
