"""The noise that a manifest tells: what the release did to words over an alphabet, by length.

Rates and steps are taken from the manifest as they are: searches and proofs are not made again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from symveil.errors import FileError
from symveil.estimation.substitution_noise import LengthNoise, SubstitutionNoise
from symveil.languages.free import words
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.staircase import Staircase, steps_down
from symveil.models.alphabet import Alphabet
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.rationals import exact
from symveil.release.promise import Release


def noise_of(release: Release, told: dict[str, Any], *, where: str) -> SubstitutionNoise:
    """The noise in words over an alphabet that a manifest tells.

    Parameters
    ----------
    release
        What the manifest's parameters mean.
    told
        The manifest.
    where
        Its file, for messages.
    """
    rows = told.get("law")
    if rows is None:  # version 1: the rate of each class is there, everything else follows from the parameters
        return noise_of_mechanism(release.mechanism)
    symbols = len(release.alphabet)
    rates = {_rate(row) for row in rows}
    if len(rates) == 1 and None not in rates:
        (rate,) = rates
        constant = LengthNoise(symbols=symbols, length=0, rate=rate)
        return SubstitutionNoise(symbols=symbols, of_length=lambda _: constant, constant=constant)

    def of_length(length: int) -> LengthNoise:
        if length == 0:
            return LengthNoise(symbols=symbols, length=0, rate=1.0)  # there is nothing to change
        row = row_of(rows, length, where=where)
        rate = _rate(row)
        if rate is not None:
            return LengthNoise(symbols=symbols, length=length, rate=rate)
        return _weighed(release.alphabet, length, row) or _length_noise(release.mechanism, length)

    return SubstitutionNoise(symbols=symbols, of_length=of_length)


def row_of(rows: list[dict[str, Any]], length: int, *, where: str) -> dict[str, Any]:
    """The row of a manifest's law that is about words of this length."""
    for row in rows:
        if row["lengths"][0] <= length <= row["lengths"][1]:
            return row
    raise FileError(f"{where}: $.law", expected="a law for every length in the file", found="none for some")


def noise_of_mechanism(mechanism: Mechanism) -> SubstitutionNoise:
    """The noise of a mechanism for words over an alphabet, as it works it out now."""
    symbols = len(mechanism.alphabet)
    rate = mechanism.symbol_rate()
    if rate is not None:
        constant = LengthNoise(symbols=symbols, length=0, rate=float(rate))
        return SubstitutionNoise(symbols=symbols, of_length=lambda _: constant, constant=constant)
    return SubstitutionNoise(symbols=symbols, of_length=lambda length: _length_noise(mechanism, length))


def _length_noise(mechanism: Mechanism, length: int) -> LengthNoise:
    symbols = len(mechanism.alphabet)
    own = mechanism.of_length(length)
    if own is None or length == 0:
        return LengthNoise(symbols=symbols, length=length, rate=1.0)
    if isinstance(own, Exponential) and own.utility == "distance":
        return LengthNoise(symbols=symbols, length=length, rate=float(own.rate))
    return LengthNoise.from_law(own.distances(), symbols=symbols)


def _rate(row: dict[str, Any]) -> float | None:
    """η where symbols are drawn independently of each other."""
    if row["mechanism"] != Exponential.name or row["utility"] != "distance":
        return None
    return float(exact(row["rate"], name="rate"))


def _weights(row: dict[str, Any], distances: int) -> list[arb] | None:
    """The weights of words at distance 0, 1, … as a row of the manifest tells them; None where it does not."""
    if row["mechanism"] == Staircase.name:
        steps = steps_down(np.arange(distances), int(row["first_step"]), max(int(row["reach"]), 1))
        down, powers = (-ball(exact(row["step_height"], name="step_height"))).exp(), [arb(1)]
        for _ in range(int(steps[-1])):
            powers.append(powers[-1] * down)
        return [powers[step] for step in steps.tolist()]
    if row["mechanism"] == Exponential.name:
        rate, offset = exact(row["rate"], name="rate"), exact(row["offset"], name="offset")
        return [(-ball(rate * each / (offset * (each + offset)))).exp() for each in range(distances)]
    return None


def _weighed(alphabet: Alphabet, length: int, row: dict[str, Any]) -> LengthNoise | None:
    """The law of the distance where words weigh as a row of the manifest tells; None where it does not."""
    with precision(STANDARD_PRECISION):
        counts = words(alphabet, length).count_balls()
        weights = _weights(row, len(counts))
        if weights is None:
            return None
        masses = [count * weight for count, weight in zip(counts, weights, strict=True)]
        total = sum(masses[1:], start=masses[0])
        chances = np.array([nearest_float(mass / total) for mass in masses])
    return LengthNoise(symbols=len(alphabet), length=length, distances=np.arange(len(chances)), probabilities=chances)
