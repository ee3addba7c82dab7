"""What several releases about one person lose together.

Adding ε is always right. Where a budget allows a small δ, the losses themselves can be composed (docs/ledger.md has
the proof). On Σⁿ the loss of the exponential mechanism between words that differ in one symbol is that of randomised
response, exactly; for any other mechanism the worst distribution that ε allows is taken. Rounding goes against the
claim throughout:

* every loss is rounded up to a multiple of one step, as a mechanism with the larger ε: what is
  composed is at least as informative as what happened. Where all ε are multiples of a common step,
  as decimals are, nothing is rounded;
* the distribution of the sum is computed from positive numbers only or, where it has many points, as
  the inverse Fourier transform of a product of powers, each of which is known in closed form; a bound on
  the error of all floats involved is taken off δ;
* losses above `largest_composed` are added instead: there e^ε over- and underflows, and composing gains
  nothing (the loss is ε, up to a chance of e^−ε). So are losses that are too many or too small;
* the result is never above the sum of the ε.

The composition holds for releases whose ε was not chosen by looking at earlier outputs.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.ledger.limits import LIMITS
from symveil.ledger.tables import Book, charges, persons, releases
from symveil.ledger.units import UNIT
from symveil.numbers.conversions import float_at_least, float_at_most
from symveil.numbers.rationals import at_least, exact, spelled

_STEP = Fraction(1, 10_000)
"""The finest grid on which losses are rounded upwards."""
_LOST = 1e-280
"""More than all the chances that are too small for a float."""
_SMALLEST_COMPOSED = Fraction(1, UNIT)
_FLOAT_ERROR = 32 * 2.0**-53
"""Above the error of the few operations behind each factor of the Fourier transform, which is at most 1."""

History = tuple[tuple[str, int], ...]
"""How a person's budget was spent: (loss, how often), sorted."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a person may lose, and how many sequences are about to be released."""

    person: int
    epsilon_units: int
    sequences: int


@dataclass(frozen=True, slots=True)
class _Loss:
    """What is known of one loss: at most `epsilon`, and that of randomised response over `symbols` if that is known."""

    epsilon: Fraction
    symbols: int | None = None


_Occurring = tuple[tuple[float, float, float], int, int]
"""The chances of n, 0 and −n steps, n, and how often such a loss occurred."""


def pure_loss(epsilon: Fraction) -> str:
    """The loss of a mechanism of which ε is all that is known.

    >>> pure_loss(Fraction(1, 2))
    '{"epsilon": "0.5", "kind": "pure"}'
    """
    return json.dumps({"kind": "pure", "epsilon": spelled(epsilon)}, sort_keys=True)


def approximate_loss(epsilon: Fraction, delta: Fraction) -> str:
    """The loss of a mechanism that is (ε, δ)-private, of which no more is known; without a δ, that of a pure one.

    It is of a kind of its own, so that a version that knows nothing of δ refuses it instead of overlooking δ.

    >>> approximate_loss(Fraction(1, 2), Fraction(1, 10**6))
    '{"delta": "1e-06", "epsilon": "0.5", "kind": "approximate"}'
    """
    if not delta:
        return pure_loss(epsilon)
    return json.dumps({"kind": "approximate", "epsilon": spelled(epsilon), "delta": spelled(delta)}, sort_keys=True)


def delta_of(history: Iterable[tuple[str, int]]) -> Fraction:
    """The sum of the δ of all these releases.

    >>> delta_of([(approximate_loss(Fraction(1), Fraction(1, 10**6)), 3), (pure_loss(Fraction(1)), 5)])
    Fraction(3, 1000000)
    """
    return sum((_own_delta(loss) * times for loss, times in history), Fraction(0))


def _own_delta(loss: str) -> Fraction:
    document = json.loads(loss)
    if document["kind"] != "approximate":
        return Fraction(0)
    try:
        return _not_negative(document["delta"])
    except ParameterError:
        raise ValueError("a delta that is no number") from None


def symbol_loss(rate: Fraction, symbols: int, differing: int) -> str:
    """The loss of replacing symbols one by one at rate η, in words that differ in so many places."""
    return json.dumps(
        {"kind": "symbols", "eta": spelled(rate), "symbols": symbols, "differing": differing}, sort_keys=True
    )


def composed_epsilon(history: Iterable[tuple[str, int]], delta: float) -> float:
    """An ε such that all these releases together are (ε, δ)-private, rounded upwards; never above the sum of their ε.

    `history` has losses, as `pure_loss`, `approximate_loss` and `symbol_loss` write them, and how often each occurred.
    The δ of releases that have one are taken off δ first; infinite where they are more than that.

    >>> half = symbol_loss(Fraction(1, 2), 17, 1)
    >>> round(composed_epsilon([(half, 50)], 1e-6), 1)                     # adding would say 25
    7.4
    >>> composed_epsilon([(pure_loss(Fraction(800)), 2)], 1e-6)
    1600.0
    """
    return _composed(tuple(sorted(history)), delta)


@lru_cache(maxsize=4096)
def _composed(history: History, delta: float) -> float:
    parts: dict[_Loss, int] = defaultdict(int)
    for loss, times in history:
        if times < 0:
            raise ValueError("a loss that occurred less than never")
        if times:
            one, mass = _read(loss)
            parts[one] += times * mass
    added = sum((one.epsilon * times for one, times in parts.items()), Fraction(0))
    if spent := delta_of(history):
        left = exact(delta) - spent
        if left < 0:
            return math.inf
        delta = float_at_most(left)
    if not delta > 0:
        return at_least(added)
    kinds = {
        one: times for one, times in parts.items() if _SMALLEST_COMPOSED <= one.epsilon <= LIMITS.now.largest_composed
    }
    most = sorted(kinds, key=lambda one: (kinds[one] * one.epsilon, str(one)), reverse=True)[: LIMITS.now.kinds]
    apart = sum((one.epsilon * times for one, times in parts.items() if one not in set(most)), Fraction(0))
    together = _by_distribution([(one, kinds[one]) for one in most], delta)
    return at_least(added if together is None else min(added, apart + together))


def _read(loss: str) -> tuple[_Loss, int]:
    """A loss as it is written, and how many times it is composed for one release."""
    document = json.loads(loss)
    try:
        if document["kind"] in ("pure", "approximate"):
            return _Loss(_not_negative(document["epsilon"])), 1
        if document["kind"] == "symbols" and int(document["symbols"]) >= 2 and int(document["differing"]) >= 1:
            return _Loss(_not_negative(document["eta"]), int(document["symbols"])), int(document["differing"])
    except ParameterError:
        raise ValueError("a loss that is no number") from None
    raise ValueError("a loss of an unknown kind")


def _not_negative(text: str) -> Fraction:
    value = exact(str(text))
    if value < 0:
        raise ValueError("a negative loss")
    return value


def _by_distribution(parts: list[tuple[_Loss, int]], delta: float) -> Fraction | None:
    """An ε for these losses together at δ, from the distribution of their sum; None where adding has to do."""
    if not parts:
        return Fraction(0)
    step, counts = _grid(parts)
    largest = sum(count * times for count, (_, times) in zip(counts, parts, strict=True))
    size = 2 * largest + 1
    if size > LIMITS.now.most_points:
        return None
    losses = [(_three_chances(one, n * step), n, times) for (one, times), n in zip(parts, counts, strict=True)]
    if size <= LIMITS.now.direct_points:
        chances, error = _summed(losses), _LOST
    else:
        chances, error = _transformed(losses, size)
    epsilon = _smallest_epsilon(chances[largest:], step, delta * (1 - 1e-9) - error)
    return None if epsilon is None else Fraction(epsilon)


def _grid(parts: list[tuple[_Loss, int]]) -> tuple[float, list[int]]:
    """A step, and how many of them each ε is, rounded up.

    Nothing is rounded where all are multiples of a step that is not too fine. Else the step divides the ε that most was
    spent on, which comes first.
    """
    total = sum((one.epsilon * times for one, times in parts), Fraction(0))
    shared = reduce(_common_measure, (one.epsilon for one, _ in parts))
    first = parts[0][0].epsilon
    wanted = (
        shared
        if 2 * total <= LIMITS.now.points * shared
        else first / max(int(first / max(_STEP, 2 * total / LIMITS.now.points)), 1)
    )
    return float_at_least(wanted), [-int(-one.epsilon // wanted) for one, _ in parts]


def _common_measure(one: Fraction, other: Fraction) -> Fraction:
    """The largest number of which both are multiples."""
    numerator = math.gcd(one.numerator * other.denominator, other.numerator * one.denominator)
    return Fraction(numerator, one.denominator * other.denominator)


def _three_chances(one: _Loss, epsilon: float) -> tuple[float, float, float]:
    """The chances of the losses ε, 0 and −ε of randomised response; over two symbols it is the worst that ε allows."""
    ratio, symbols = math.exp(-epsilon), one.symbols or 2
    stays = 1 / (1 + (symbols - 1) * ratio)
    return stays, (symbols - 2) * stays * ratio, stays * ratio


def _summed(losses: list[_Occurring]) -> NDArray[np.float64]:
    """The chances of the sums −L … L from positive numbers only: each is off by a factor below 1 + 1e-9."""
    total = np.ones(1)
    for (up, none, down), count, occurred in losses:
        times = occurred
        power = np.zeros(2 * count + 1)
        power[0], power[count], power[-1] = down, none, up
        while times:
            if times % 2:
                total = np.convolve(total, power)
            times //= 2
            power = np.convolve(power, power) if times else power
    return total


def _transformed(losses: list[_Occurring], size: int) -> tuple[NDArray[np.float64], float]:
    """The chances of the sums −L … L by an inverse Fourier transform, and what they are off by, all together."""
    from scipy.fft import irfft  # noqa: PLC0415 - a ledger that only adds must not wait for scipy

    frequencies = np.arange(size // 2 + 1, dtype=np.int64)
    product = np.ones(len(frequencies), dtype=np.complex128)
    for (up, none, down), count, times in losses:
        # whole turns are taken off in integers: the angle is exact up to its own rounding
        angle = (2 * math.pi / size) * ((frequencies * count + size // 2) % size - size // 2)
        product *= ((up + down) * np.cos(angle) + none - 1j * (up - down) * np.sin(angle)) ** times
    chances: NDArray[np.float64] = np.roll(irfft(product, size), size // 2)
    # each factor is off by at most _FLOAT_ERROR, so the product by that much for each of them, and (Parseval,
    # Cauchy-Schwarz) all chances together by √size times as much
    operations = sum(times for _, _, times in losses) + 3 * len(losses) + math.log2(size) + 8
    return chances, math.sqrt(size) * operations * _FLOAT_ERROR


def _smallest_epsilon(chances: NDArray[np.float64], step: float, delta: float) -> float | None:
    """The least ε at which Σ P(loss)(1 − e^{ε − loss})⁺ is at most δ, rounded upwards.

    From the chances of 0, 1, … steps. None: there is none that floats can find.
    """
    if not delta > 0:
        return None
    losses = np.arange(len(chances)) * step
    chances = np.maximum(chances, 0)

    def exceeds(epsilon: float) -> bool:
        first = int(np.searchsorted(losses, epsilon, side="right"))
        return float(np.dot(-np.expm1(epsilon - losses[first:]), chances[first:])) > delta

    low, high = 0.0, float(losses[-1])
    if not exceeds(low):
        return low
    while high - low > 1e-9 * max(high, 1e-3):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high * (1 + 1e-12)


def within_budget(connection: sa.Connection, budgets: list[Budget], *, loss: str, delta: float, book: Book) -> set[int]:
    """The persons whose composed loss in this book, with the new release, stays within their ε at this δ."""
    covered = set()
    for start in range(0, len(budgets), LIMITS.now.persons_at_once):
        part = budgets[start : start + LIMITS.now.persons_at_once]
        spent = histories(connection, [budget.person for budget in part], book)
        for budget in part:
            history = defaultdict(int, spent.get(budget.person, {}))
            history[loss] += budget.sequences
            composed = composed_epsilon(history.items(), delta)
            if math.isfinite(composed) and exact(composed) <= Fraction(budget.epsilon_units, UNIT):
                covered.add(budget.person)
    return covered


def spent_deltas(connection: sa.Connection, book: Book) -> dict[str, Fraction]:
    """The sum of δ of everybody who was ever in a release of this book that has one, by name."""
    query = (
        sa.select(persons.c.name, releases.c.loss, sa.func.sum(charges.c.sequences))
        .select_from(charges)
        .join(releases, releases.c.number == charges.c.release)
        .join(persons, persons.c.number == charges.c.person)
        .where(releases.c.loss.like('%"approximate"%'), book.releases(connection))
        .group_by(persons.c.name, releases.c.loss)
    )
    deltas: dict[str, Fraction] = defaultdict(Fraction)
    for name, loss, times in connection.execute(query).all():
        deltas[name] += delta_of([(loss, int(times))])
    return dict(deltas)


def histories(connection: sa.Connection, numbers: list[int], book: Book) -> dict[int, dict[str, int]]:
    """How often each of these persons was charged for which loss in this book."""
    by_person: dict[int, dict[str, int]] = {number: {} for number in numbers}
    query = (
        sa.select(charges.c.person, releases.c.loss, sa.func.sum(charges.c.sequences))
        .join(releases, releases.c.number == charges.c.release)
        .where(charges.c.person.in_(numbers), book.releases(connection))
        .group_by(charges.c.person, releases.c.loss)
    )
    for person, loss, times in connection.execute(query).all():
        by_person[person][loss] = int(times)
    return by_person
