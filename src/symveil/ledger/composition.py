"""What several releases about one person lose together.

Adding ε is always right. Where a budget allows a small δ, the losses themselves can be composed: the
loss of a release is a random number, mostly far below its largest value ε, and dp-accounting convolves
the distributions of these numbers, rounding against the claim. The distribution comes from the
mechanism: on Σⁿ the exponential mechanism replaces each symbol by a uniform one with probability λ, so
the loss of two words that differ in one place is that of randomised response over m symbols, exactly;
in b places it is b times composed. For any other mechanism the worst distribution that ε allows is
taken.

The composition holds for releases whose ε was not chosen by looking at earlier outputs.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from typing import Any

import sqlalchemy as sa

from symveil.errors import LedgerError
from symveil.ledger.amounts import UNIT
from symveil.ledger.store import charges, releases
from symveil.numerics.rationals import at_least, spelled

_STEP = 1e-4
"""The grid on which losses are rounded upwards."""
_PERSONS_AT_ONCE = 500
_MOST_COMPOSED = 1_000_000
"""How many losses of one kind are composed: beyond it the distribution would not fit into memory."""

History = tuple[tuple[str, int], ...]
"""How a person's budget was spent: (loss, how often), sorted."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a person may lose, and how many sequences are about to be released."""

    person: int
    epsilon_units: int
    sequences: int


def pure_loss(epsilon: Fraction) -> str:
    """The loss of a mechanism of which ε is all that is known.

    >>> pure_loss(Fraction(1, 2))
    '{"epsilon": "0.5", "kind": "pure"}'
    """
    return json.dumps({"kind": "pure", "epsilon": spelled(epsilon)}, sort_keys=True)


def symbol_loss(rate: Fraction, symbols: int, differing: int) -> str:
    """The loss of replacing symbols one by one at rate η, in words that differ in so many places."""
    return json.dumps(
        {"kind": "symbols", "eta": spelled(rate), "symbols": symbols, "differing": differing}, sort_keys=True
    )


def composed_epsilon(history: Iterable[tuple[str, int]], delta: float) -> float:
    """An ε such that all these releases together are (ε, δ)-private, rounded upwards.

    >>> half = symbol_loss(Fraction(1, 2), 17, 1)
    >>> round(composed_epsilon([(half, 50)], 1e-6), 1)                     # adding would say 25
    7.4
    """
    spent = tuple(sorted(history))
    if not all(0 <= times <= _MOST_COMPOSED for _, times in spent):
        raise LedgerError(
            f"ledger: expected at most {_MOST_COMPOSED} sequences of one person to compose, found more; a budget "
            "without a delta adds them"
        )
    return _composed(spent, delta)


@lru_cache(maxsize=4096)
def _composed(history: History, delta: float) -> float:
    total: Any = None
    for loss, times in history:
        if times:
            part = _distribution(loss).self_compose(times) if times > 1 else _distribution(loss)
            total = part if total is None else total.compose(part)
    if total is None:
        return 0.0
    return math.nextafter(float(total.get_epsilon_for_delta(delta)), math.inf)


@lru_cache(maxsize=256)
def _distribution(loss: str) -> Any:
    accounting = _accounting()
    told = json.loads(loss)
    if told["kind"] == "pure":
        parameters = accounting.common.DifferentialPrivacyParameters(at_least(Fraction(told["epsilon"])), 0.0)
        return accounting.privacy_loss_distribution.from_privacy_parameters(
            parameters, value_discretization_interval=_STEP
        )
    size, eta = told["symbols"], Fraction(told["eta"])
    z = math.exp(-at_least(eta))
    # less noise than there is, by more than the rounding of the formula
    noise = size * z / (1 + (size - 1) * z) * (1 - 1e-12)
    one = accounting.privacy_loss_distribution.from_randomized_response(
        noise, size, value_discretization_interval=_STEP
    )
    return one.self_compose(told["differing"]) if told["differing"] > 1 else one


@lru_cache(maxsize=1)
def _accounting() -> Any:
    try:
        return import_module("dp_accounting.pld")
    except ModuleNotFoundError:
        raise LedgerError(
            "ledger: expected dp-accounting to be installed (pip install symveil[accounting]), which composes losses "
            "where a budget has a delta, found none"
        ) from None


def within_budget(connection: sa.Connection, budgets: list[Budget], *, loss: str, delta: float) -> set[int]:
    """The persons whose composed loss, with the new release, stays within their ε at this δ."""
    covered = set()
    for start in range(0, len(budgets), _PERSONS_AT_ONCE):
        part = budgets[start : start + _PERSONS_AT_ONCE]
        spent = histories(connection, [budget.person for budget in part])
        for budget in part:
            history = defaultdict(int, spent.get(budget.person, {}))
            history[loss] += budget.sequences
            if history[loss] > _MOST_COMPOSED:
                continue  # adding did not cover it, and composing is out of reach
            if composed_epsilon(history.items(), delta) <= budget.epsilon_units / UNIT:
                covered.add(budget.person)
    return covered


def histories(connection: sa.Connection, numbers: list[int]) -> dict[int, dict[str, int]]:
    """How often each of these persons was charged for which loss."""
    found: dict[int, dict[str, int]] = {number: {} for number in numbers}
    query = (
        sa.select(charges.c.person, releases.c.loss, sa.func.sum(charges.c.sequences))
        .join(releases, releases.c.number == charges.c.release)
        .where(charges.c.person.in_(numbers))
        .group_by(charges.c.person, releases.c.loss)
    )
    for person, loss, times in connection.execute(query).all():
        found[person][loss] = int(times)
    return found
