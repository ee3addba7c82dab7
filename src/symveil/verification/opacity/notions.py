"""The questions of opacity: which notion, and how far back the observer may look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from symveil.errors import ParameterError
from symveil.numbers.rationals import Number, exact

Notion = Literal["weak", "strong", "initial"]
NOTIONS: tuple[Notion, ...] = ("weak", "strong", "initial")

OTHER_NAMES: dict[str, tuple[Notion, Literal[1, 2] | None]] = {
    "separate-1": ("weak", 1),
    "separate-2": ("weak", None),
    "joint-1": ("strong", None),
    "joint-2": ("strong", 2),
}
"""The notions of DESops by its names: separate or joint, and what a secret epoch is (1: one with a secret state, 2: one
of secret states only); what they are here, and of which epochs. docs/opacity.md"""

INFINITE = "infinite"


@dataclass(frozen=True, slots=True)
class Question:
    """A notion of opacity and its k; None is ∞. The initial notion has no k, and carries None.

    weak     each of the last k+1 instants is judged alone: it gives the secret away when every
             state possible in it is secret (Z25's notion, the default)
    strong   one single run must have been without a secret in all of the last k+1 instants
    initial  secrets are initial states; every initial state that fits the observation is secret
    """

    notion: Notion
    k: int | None
    asked: str | None = None
    """Another name by which it was asked for."""

    @property
    def secret_epoch(self) -> Literal[1, 2] | None:
        """Which epochs are secret, where it is asked of epochs and not of states."""
        return None if self.asked is None else OTHER_NAMES[self.asked][1]

    @property
    def shown_notion(self) -> str:
        """The notion as it was asked for."""
        return self.asked or self.notion

    @property
    def property_name(self) -> str:
        """What is verified, in words.

        >>> Question("weak", 0).property_name, Question("strong", None).property_name
        ('weak current-state opacity', 'strong infinite-step opacity')
        """
        if self.notion == "initial":
            return "initial-state opacity"
        if self.k == 0:
            return f"{self.shown_notion} current-state opacity"
        return f"{self.shown_notion} {INFINITE if self.k is None else self.k}-step opacity"

    @property
    def shown_k(self) -> int | str | None:
        """k as the JSON documents have it."""
        if self.notion == "initial":
            return None
        return INFINITE if self.k is None else self.k


def read_question(k: int | float | str | None, notion: str) -> Question:
    """The question that the parameters ask; k may be "infinite" (or ∞ as a float).

    >>> read_question("infinite", "weak")
    Question(notion='weak', k=None, asked=None)
    >>> read_question(-1, "weak")
    Traceback (most recent call last):
    symveil.errors.ParameterError: k: expected a whole number, 0 or more, or 'infinite', found -1
    """
    for known in NOTIONS:
        if notion == known:
            return Question(known, None if known == "initial" else _read_k(k))
    if isinstance(notion, str) and notion in OTHER_NAMES:
        return Question(OTHER_NAMES[notion][0], _read_k(k), notion)
    raise ParameterError("notion", expected=f"one of {', '.join((*NOTIONS, *OTHER_NAMES))}", found=notion)


def _read_k(k: object) -> int | None:
    if k == INFINITE or (isinstance(k, float) and k == math.inf):
        return None
    if isinstance(k, str) and k.isascii() and k.isdigit() and len(k) <= 9:
        return int(k)
    if isinstance(k, int) and not isinstance(k, bool) and k >= 0:
        return k
    raise ParameterError("k", expected=f"a whole number, 0 or more, or {INFINITE!r}", found=k)


def read_threshold(theta: Number) -> Fraction:
    """θ of almost opacity (Z25 Definition 6): violations less probable than θ are accepted."""
    threshold = exact(theta, name="theta", expected="a number above 0 and at most 1")
    if not 0 < threshold <= 1:
        raise ParameterError("theta", expected="a number above 0 and at most 1", found=theta)
    return threshold
