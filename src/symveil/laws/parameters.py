"""The public parameters of a mechanism, read once and kept exact."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypedDict, get_args

import numpy as np

from symveil.errors import ParameterError
from symveil.models.alphabet import Metric
from symveil.numbers.rationals import Number, exact

if TYPE_CHECKING:
    from symveil.languages.cost_table import CostTable


Calibration = Literal["tight", "classic"]
Utility = Literal["distance", "inverse"]
Adjacency = int | Literal["all"]
Cap = int | Literal["none"]

_LARGEST_EPSILON = 10**9
_MOST_DIGITS = 400
_TOO_MANY_DIGITS = 10**_MOST_DIGITS


def read_epsilon(value: Number, *, zero_allowed: bool = False) -> Fraction:
    """ε as an exact rational; positive and finite.

    Zero is allowed only where a paper's figure at ε = 0 is being reproduced.

    >>> read_epsilon("1/2"), read_epsilon(0.1)
    (Fraction(1, 2), Fraction(1, 10))
    """
    expected = "a number above 0 such as 0.5 or 1/2"
    epsilon = exact(value, name="epsilon", expected=expected)
    if epsilon < 0 or (epsilon == 0 and not zero_allowed):
        raise ParameterError("epsilon", expected=expected, found=value)
    if epsilon > _LARGEST_EPSILON:
        raise ParameterError("epsilon", expected=f"at most {_LARGEST_EPSILON}", found=value)
    return epsilon


def require_spellable(value: Fraction, name: str) -> Fraction:
    """`value`, if a manifest can spell it so that anyone who checks the manifest reads the same number again.

    >>> require_spellable(Fraction(1, 3), "epsilon")
    Fraction(1, 3)
    """
    if max(value.numerator, value.denominator) >= _TOO_MANY_DIGITS:
        actual = "more, which its manifest could not say"
        raise ParameterError(
            name, expected=f"a fraction of at most {_MOST_DIGITS} digits above and below", found=actual
        )
    return value


def read_adjacency(value: Adjacency, *, length: int) -> int:
    """b: words at Hamming distance up to b are to be hard to tell apart; "all" means the whole word.

    >>> read_adjacency(2, length=5), read_adjacency("all", length=5)
    (2, 5)
    """
    if isinstance(value, str) and value == "all":
        return max(length, 1)
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError("adjacency", expected='a whole number, 1 or more, or "all"', found=value)
    return int(value)


def read_offset(value: Number) -> Fraction:
    """The offset a > 0 of the inverse utility 1/(d + a) (J19 Definition 12)."""
    expected = "a number above 0 such as 1"
    offset = exact(value, name="offset", expected=expected)
    if offset <= 0:
        raise ParameterError("offset", expected=expected, found=value)
    return offset


def read_calibration(value: str) -> Calibration:
    """How the budget is turned into a rate: "tight" uses all of it, "classic" is the papers' factor 2."""
    if value not in get_args(Calibration):
        raise ParameterError("calibration", expected=" or ".join(get_args(Calibration)), found=value)
    return value  # type: ignore[return-value]  # just checked


def read_utility(value: str) -> Utility:
    """What makes a word good: "distance" is −d, "inverse" is 1/(d + a)."""
    if value not in get_args(Utility):
        raise ParameterError("utility", expected=" or ".join(get_args(Utility)), found=value)
    return value  # type: ignore[return-value]  # just checked


def read_beyond(value: str | Number) -> str:
    """What is kept for words farther apart than b: "graceful", "nothing", or a factor K of 1 or more.

    >>> read_beyond("graceful"), read_beyond(" 2.5 "), read_beyond(1)
    ('graceful', '5/2', 'graceful')
    """
    if value in ("graceful", "nothing"):
        return str(value)
    expected = "graceful, nothing, or a number K, 1 or more: K times the graceful loss"
    factor = exact(value, name="beyond", expected=expected)
    if factor < 1:
        raise ParameterError("beyond", expected=expected, found=value)
    return "graceful" if factor == 1 else str(require_spellable(factor, "beyond"))


def read_metric(value: str, *, max_length: int | None = None) -> Metric:
    """What adjacency counts: "hamming" substitutions only, "levenshtein" insertions and deletions too."""
    if value not in get_args(Metric):
        raise ParameterError("metric", expected=" or ".join(get_args(Metric)), found=value)
    if value == "hamming" and max_length is not None:
        raise ParameterError(
            "max_length", expected="metric levenshtein with it: otherwise the length itself is public", found=max_length
        )
    return value  # type: ignore[return-value]  # just checked


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


class ChoiceParameters(TypedDict, total=False):
    """The fields of `MechanismChoice`, as they may be given: numbers of any kind."""

    epsilon: Number
    mechanism: str
    adjacency: Adjacency | None
    calibration: str
    prior: str
    utility: str
    offset: Number
    public_start: bool
    metric: str
    max_length: int | None
    cutoff: int | None
    cost: str | None
    cap: Cap | None
    balanced: bool
    beyond: str | Number | None
    step: int | None
    costs: CostTable | None


class EveryChoiceParameter(ChoiceParameters, total=False):
    """The same, and what allows a mechanism that is there for reproduction only."""

    not_private: bool
