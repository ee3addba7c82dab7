"""What a policy achieves for a system, as a report."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from flint import fmpz

from symveil.enforcement.enforcement import Enforcement, Sensitive
from symveil.errors import TooLargeError
from symveil.numerics.conversions import rational

# a report is to be read: of the substitutes of one string only the likeliest so many are listed
MOST_SUBSTITUTES_LISTED = 1000


def enforcement_document(enforcement: Enforcement, *, notes: list[str] | None = None) -> dict[str, Any]:
    """The JSON form of the contract. What would take a list that is too long is null, and a note says so."""

    def computed(value: Callable[[], object]) -> object:
        try:
            return value()
        except TooLargeError as error:
            if notes is not None and str(error) not in notes:
                notes.append(str(error))
            return None

    listed = MOST_SUBSTITUTES_LISTED
    return {
        "policy": enforcement.policy,
        "k": enforcement.question.shown_k,
        "length": enforcement.horizon,
        "enforceable": enforcement.enforceable,
        "unenforceable": None if enforcement.unenforceable is None else list(enforcement.unenforceable),
        "sensitive": computed(lambda: [_sensitive_document(each) for each in enforcement.list_sensitive(listed)]),
        "sensitive_count": computed(lambda: enforcement.sensitive_count),
        "violation_before": _text(enforcement.violation_before),
        "violation_after": computed(lambda: _text(enforcement.violation_after)),
        "epsilon": computed(lambda: _number(enforcement.epsilon)),
        "how": computed(lambda: enforcement.guarantee and enforcement.guarantee.how),
        "expected_distance": computed(lambda: enforcement.expected_distance),
        "posterior_of_secret": computed(lambda: _number(enforcement.posterior_of_secret)),
    }


def _text(probability: Fraction | None) -> str | None:
    # not Python's own text, which is limited to 4,300 digits
    return None if probability is None else str(rational(probability))


def read_probability(text: str) -> Fraction:
    """A probability of a document, with any number of digits."""
    numerator, _, denominator = text.partition("/")
    return Fraction(int(fmpz(numerator)), int(fmpz(denominator or "1")))


def _number(value: Fraction | float | None) -> float | str | None:
    if value is None:
        return None
    return "infinity" if math.isinf(value) else float(value)


def _sensitive_document(sensitive: Sensitive) -> dict[str, object]:
    return {
        "observation": list(sensitive.observation),
        "probability": _text(sensitive.probability),
        "substitute_count": sensitive.substitute_count,
        "substitutes": [
            {
                "observation": list(substitute.observation),
                "probability": _shown(substitute.probability),
                "given": _shown(substitute.given),
            }
            for substitute in sensitive.substitutes
        ],
    }


def _shown(probability: Fraction | float) -> str | float:
    return probability if isinstance(probability, float) else str(probability)
