"""What an audit finds: the worst loss, where it is attained, and whether a promise is kept."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.models.alphabet import Symbol

# Logarithms of probabilities are right to about 1e-13; a loss above nominal by more is real.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Witness:
    """Where the worst loss is attained: `released` is that much likelier from `word` than from `neighbour`."""

    word: tuple[Symbol, ...]
    neighbour: tuple[Symbol, ...]
    released: tuple[Symbol, ...]

    def items(self) -> tuple[tuple[str, tuple[Symbol, ...]], ...]:
        """Each of the three words with its name."""
        return (("word", self.word), ("neighbour", self.neighbour), ("released", self.released))

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {name: list(word) for name, word in self.items()}


@dataclass(frozen=True, slots=True)
class LossAtDistance:
    """The largest loss of words that differ in at most `distance` places: as enumerated, and as proved."""

    distance: int
    enumerated: float
    proved: float | None
    """None where the law has no bound beyond its ε."""

    @property
    def kept(self) -> bool:
        """Whether the truth is at most what is proved (within 1e-9, the rounding of logarithms)."""
        return self.proved is None or self.enumerated <= self.proved + _ROUNDING

    def document(self) -> dict[str, object]:
        """The JSON form."""
        numbers = {"enumerated": self.enumerated, "proved": self.proved}
        shown = {name: "infinity" if value == math.inf else value for name, value in numbers.items()}
        return {"distance": self.distance, **shown}


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """The exact worst-case loss of a mechanism on its language, and whether it keeps its promise."""

    mechanism: str
    nominal_epsilon: float
    worst_epsilon: float
    witness: Witness | None
    pairs_checked: int
    outputs_up_to: int | None = None
    """The length of the longest outputs looked at, where words have different lengths."""
    longer_outputs_epsilon: float | None = None
    """What is proved, not enumerated, of longer outputs; None where there are none."""
    by_distance: tuple[LossAtDistance, ...] = ()
    """The loss at every distance that was enumerated."""

    def _repr_html_(self) -> str:
        verdict = "keeps" if self.private else "<b>breaks</b>"
        return (
            f"<p>{html.escape(self.mechanism)} {verdict} its promise of ε = {self.nominal_epsilon:.6g}: worst loss "
            f"{self.worst_epsilon:.6g} over {self.pairs_checked} pairs.</p>"
        )

    @property
    def private(self) -> bool:
        """Whether the worst loss is at most the nominal ε (within 1e-9, the rounding of logarithms).

        And no distance loses more than is proved of it.
        """
        worst = max(self.worst_epsilon, self.longer_outputs_epsilon or 0.0)
        return worst <= self.nominal_epsilon + _ROUNDING and all(row.kept for row in self.by_distance)

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        document: dict[str, object] = {
            "mechanism": self.mechanism,
            "nominal_epsilon": self.nominal_epsilon,
            "worst_epsilon": "infinity" if math.isinf(self.worst_epsilon) else self.worst_epsilon,
            "witness": self.witness.document() if self.witness else None,
            "pairs_checked": self.pairs_checked,
            "private": self.private,
            "loss_at": [row.document() for row in self.by_distance],
        }
        if self.outputs_up_to is not None:
            document |= {"outputs_up_to": self.outputs_up_to, "longer_outputs_epsilon": self.longer_outputs_epsilon}
        return document


def losses(of_word: NDArray[np.float64], of_neighbours: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln P(w'|w) − ln P(w'|v); +∞ where only v cannot release w', −∞ where w cannot."""
    with np.errstate(invalid="ignore"):
        losses = of_word - of_neighbours
    losses[np.isnan(losses)] = -np.inf  # neither can release it: nothing is learned from what never happens
    return losses
