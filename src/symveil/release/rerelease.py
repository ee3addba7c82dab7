"""Releasing private words again, with the rates in a manifest: nothing is proved again, at no further privacy cost.

The noise that a manifest tells: what the release did to words over an alphabet, by length.

Rates and steps are taken from the manifest as they are: searches and proofs are not made again.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError, InputError
from symveil.estimation.substitution_noise import LengthNoise, SubstitutionNoise
from symveil.languages.costs import INFINITE, Cost, SymbolCosts
from symveil.languages.language import gathered
from symveil.mechanisms.by_length import of_length, symbol_rate
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.law import Law
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.models.alphabet import Codes, Lengths
from symveil.numbers.once import Memo, computed_once
from symveil.numbers.rationals import exact
from symveil.randomness import BitSource
from symveil.release.spec import LocalSpec


def noise_of(release: LocalSpec, document: dict[str, Any]) -> SubstitutionNoise:
    """The noise in words over an alphabet, by the laws of a manifest."""
    times = release.times
    if times is not None and times.joint:
        if times.grid.waits is not None:
            raise InputError(
                "estimate: expected the statistic durations or lengths where waits are released, found another one: "
                "first events, which have no wait, have another noise"
            )
        own = LengthNoise(symbols=len(release.alphabet), length=0, rate=times.law.symbol_rate)
        return SubstitutionNoise(symbols=own.symbols, of_length=lambda _: own, constant=own)
    rates = {_rate(row) for row in document.get("law", ())}  # version 1 has none
    if len(rates) == 1 and None not in rates:
        (rate,) = rates
        constant = LengthNoise(symbols=len(release.alphabet), length=0, rate=rate)
        return SubstitutionNoise(symbols=constant.symbols, of_length=lambda _: constant, constant=constant)
    return noise_of_mechanism(release.mechanism)


def noise_of_mechanism(mechanism: Mechanism) -> SubstitutionNoise:
    """The noise of a mechanism for words over an alphabet, as it works it out now."""
    symbols = len(mechanism.alphabet)
    rate = symbol_rate(mechanism)
    if rate is not None:
        constant = LengthNoise(symbols=symbols, length=0, rate=float(rate))
        return SubstitutionNoise(symbols=symbols, of_length=lambda _: constant, constant=constant)
    return SubstitutionNoise(symbols=symbols, of_length=lambda length: _length_noise(mechanism, length))


def _length_noise(mechanism: Mechanism, length: int) -> LengthNoise:
    symbols = len(mechanism.alphabet)
    own = of_length(mechanism, length)
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


_LARGEST_METRIC = 1500
"""Up to so many symbols it is computed whether costs are positive definite."""


class Rerelease:
    """What was done to the words of a file, to be done again by the same laws.

    Parameters
    ----------
    release
        What the manifest describes.
    document
        The manifest.
    where
        Its file, for messages.
    faster
        A factor for all rates: what another epsilon would do, about.
    """

    def __init__(
        self, release: LocalSpec, document: dict[str, Any], *, where: str, faster: Fraction = Fraction(1)
    ) -> None:
        self._release, self._where, self._faster = release, where, faster
        self._rows: list[dict[str, Any]] = document.get("law", document["classes"])  # version 1 has no laws
        self._made = Memo(self._make)

    @computed_once
    def _laws(self) -> list[Mechanism]:
        """The mechanism of each law in the manifest; refused where one of them cannot be undone."""
        results = [self.mechanism(row["lengths"][1]) for row in self._rows]
        for law in (each.law for each in results):
            undone = law.kind != PermuteAndFlip.name and (law.kind != Optimal.name or _is_flat(law))
            if self._release.model is not None and not undone:
                raise InputError(
                    "estimate: expected a mechanism that can be undone on a model (exponential, staircase, online, "
                    f"flat), found {law.kind}, whose iterates need not come closer to the truth"
                )
        return results

    @property
    def steps(self) -> int:
        """How many releases are one step: two where P may have negative eigenvalues, so that P² has none."""
        return 1 if all(self._is_positive(each) for each in self._laws) else 2

    @property
    def is_heuristic(self) -> bool:
        """Whether nothing is proved of the release: online, which is not reversible."""
        return any(each.law.kind == Online.name for each in self._laws)

    def draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> Codes:
        """A release of each word."""
        released = codes.copy()
        begins = np.cumsum(lengths) - lengths
        for length in np.unique(lengths[lengths > 0]).tolist():
            rows = np.flatnonzero(lengths == length)
            words = gathered(codes, lengths, rows, length)
            drawn, _ = self._made[length].release_flat(words.reshape(-1), lengths[rows], bits=bits, checked=True)
            released[begins[rows][:, None] + np.arange(length)] = drawn.reshape(words.shape)
        return released

    def mechanism(self, length: int) -> Mechanism:
        """The mechanism that released words of this length."""
        made = of_length(self._release.mechanism, length)
        if made is None:
            raise FileError(self._where, expected="words that the model has", found="others")
        return made

    def _make(self, length: int) -> Mechanism:
        """The same with all rates as much larger as is wanted."""
        made, choice = self.mechanism(length), self._release.choice
        if self._faster == 1:
            return made
        if made.law.rate is not None:
            return type(made).from_law(replace(made.law, rate=made.law.rate * self._faster))
        # a table has no rate: about what the law would be at another epsilon
        budget = choice.epsilon * self._faster / (2 * made.reach)
        plain = Exponential(made.language, epsilon=choice.epsilon, adjacency=choice.adjacency, calibration="classic")
        return Exponential.from_law(replace(plain.law, rate=budget))

    def _is_positive(self, own: Mechanism) -> bool:
        """Whether P has positive eigenvalues only, so far as that is known."""
        law = own.law
        if law.kind in (Online.name, PermuteAndFlip.name):
            return True  # of online not proved, see is_heuristic; on words over an alphabet a mixture of z^d
        if law.kind == Optimal.name and law["beyond"] == "graceful":
            return self._release.model is not None and _is_flat(law)  # s(x)·c^−d, as for the exponential mechanism
        if law.kind != Exponential.name:
            return False
        if law["cost"] == "hamming":
            return True  # e^{−ηd}, and all mixtures of such: the inverse utility too
        if own.weighting is None or law.rate is None:
            return False
        return is_positive(own.weighting.weights(law.rate).costs, float(law.rate), len(own.alphabet))


def _is_flat(law: Law) -> bool:
    """Whether the law of the optimal mechanism is s(x)·c^−d(w, x): reversible, with positive eigenvalues."""
    peaks = law.table.peaks if law.table is not None and law["beyond"] == "graceful" else ()
    return bool(peaks) and all(word == released for word, released, _ in peaks)


def is_positive(cost: Cost, rate: float, symbols: int) -> bool:
    """Whether e^{−η·c(a, a')} is a positive definite matrix at every position, so that P is similar to one.

    The cost is without steps, and the rate is η.
    """
    if cost.period != 1 or symbols > _LARGEST_METRIC:
        return False
    return all(_is_positive(metric, cost, rate, symbols) for metric in cost.metrics)


def _is_positive(metric: SymbolCosts, cost: Cost, rate: float, symbols: int) -> bool:
    far = 0.0 if cost.far == INFINITE else np.exp(-rate * float(cost.values[cost.far]))
    table: NDArray[np.float64] = np.full((symbols, symbols), far)
    levels = np.array([float(value) for value in cost.values])
    rows = np.repeat(np.arange(symbols), np.diff(metric.first))
    table[rows, metric.symbol] = np.exp(-rate * levels[metric.level])
    symmetric = bool(np.array_equal(table, table.T))
    return symmetric and float(np.linalg.eigvalsh(table)[0]) > 1e-12 * symbols
