"""Releasing private words again, with the rates in a manifest: nothing is proved again, at no further privacy cost.

The noise that a manifest tells: what the release did to words over an alphabet, by length.

Rates and steps are taken from the manifest as they are: searches and proofs are not made again.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.errors import FileError, InputError
from symveil.estimation.substitution_noise import LengthNoise, SubstitutionNoise
from symveil.languages.any_length import gathered
from symveil.languages.costs import INFINITE, Cost, SymbolCosts
from symveil.languages.free import words
from symveil.languages.run_weights import RunWeights
from symveil.mechanisms.choice import BY_NAME
from symveil.mechanisms.cost_weighted import CostWeighted, release_runs
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.optimal_law import SolvedLaw
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase, steps_down
from symveil.models.alphabet import Alphabet
from symveil.models.word import Codes, Lengths
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import Memo
from symveil.numbers.rationals import exact
from symveil.randomness import BitSource
from symveil.release.promise import Release


def noise_of(release: Release, document: dict[str, Any], *, where: str) -> SubstitutionNoise:
    """The noise in words over an alphabet that a manifest tells.

    Parameters
    ----------
    release
        What the manifest's parameters mean.
    document
        The manifest.
    where
        Its file, for messages.
    """
    times = release.times
    if times is not None and times.joint:
        if times.grid.waits is not None:
            raise InputError(
                "estimate: expected --statistic durations or lengths where waits are released, found another one: "
                "first events, which have no wait, have another noise"
            )
        own = LengthNoise(symbols=len(release.alphabet), length=0, rate=times.law.symbol_rate)
        return SubstitutionNoise(symbols=own.symbols, of_length=lambda _: own, constant=own)
    rows = document.get("law")
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


_LARGEST_METRIC = 1500
"""Up to so many symbols it is worked out whether costs are positive definite."""


class Rerelease:
    """What was done to the words of a file, to be done again.

    Parameters
    ----------
    release
        What the manifest's parameters mean.
    document
        The manifest.
    where
        Its file, for messages.
    faster
        A factor for all rates: what another epsilon would do, about.
    """

    def __init__(
        self, release: Release, document: dict[str, Any], *, where: str, faster: Fraction = Fraction(1)
    ) -> None:
        self._release, self._document, self._where, self._faster = release, document, where, faster
        self._made = Memo(self._make)

    @property
    def steps(self) -> int:
        """How many releases are one step: two where P may have negative eigenvalues, so that P² has none."""
        return 1 if all(self._positive(row) for row in self._rows()) else 2

    @property
    def is_heuristic(self) -> bool:
        """Whether nothing is proved of the release: online, which is not reversible."""
        return any(row["mechanism"] == Online.name for row in self._rows())

    def draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> Codes:
        """A release of each word."""
        released = codes.copy()
        begins = np.cumsum(lengths) - lengths
        for length in np.unique(lengths[lengths > 0]).tolist():
            rows = np.flatnonzero(lengths == length)
            words = gathered(codes, lengths, rows, length)
            released[begins[rows][:, None] + np.arange(length)] = self._drawn(length, words, bits)
        return released

    def _drawn(self, length: int, words: Codes, bits: BitSource) -> Codes:
        own = self._made[length]
        if isinstance(own, RunWeights):
            return release_runs(own, words, bits)
        drawn, _ = own.release_checked(words.reshape(-1), np.full(len(words), length), bits)
        return drawn.reshape(words.shape)

    # --- what the manifest tells ---------------------------------------------------------------

    def _rows(self) -> list[dict[str, Any]]:
        rows = self._document.get("law")
        if rows is None:  # version 1 has the rates of the exponential mechanism, and needs no other
            rows = [
                {**row, "rate": row["eta"], **{key: self._document["parameters"][key] for key in ("utility", "prior")}}
                for row in self._document["classes"]
            ]
        results: list[dict[str, Any]] = rows
        for row in results:
            undone = row["mechanism"] != PermuteAndFlip.name and (row["mechanism"] != Optimal.name or _is_flat(row))
            if self._release.model is not None and not undone:
                raise InputError(
                    "estimate: expected a mechanism that can be undone on a model (exponential, staircase, online, "
                    f"flat), found {row['mechanism']}, whose iterates need not come closer to the truth"
                )
        return results

    def mechanism(self, length: int) -> Mechanism:
        """The mechanism that released words of this length."""
        return self._mechanism(row_of(self._rows(), length, where=self._where), length)

    def _mechanism(self, row: dict[str, Any], length: int) -> Mechanism:
        """The mechanism of a length by its own name: "auto" would search and prove again."""
        choice, kind = self._release.choice, BY_NAME[row["mechanism"]]
        laws = [row] if kind is Optimal and self._faster == 1 else []
        if kind is Optimal and not laws and self._release.model is not None:
            kind = Exponential  # about what the law would be at another epsilon
        changed: dict[str, Any] = {"mechanism": kind.name, "epsilon": choice.epsilon * self._faster}
        for name, value in (("prior", "uniform"), ("utility", "distance"), ("offset", Fraction(1))):
            if name not in kind.takes:
                changed[name] = value
        if issubclass(kind, CostWeighted):
            changed |= {"cost": row.get("cost"), "balanced": bool(row.get("balanced", False))}
        if issubclass(kind, Staircase) and "first_step" in row:
            changed["step"] = int(row["first_step"])
        plain = kind is Exponential and not changed["cost"] and not changed["balanced"]
        changed["beyond"] = choice.beyond if plain or kind is Optimal else "nothing"
        own = replace(choice, **changed)
        alphabet = self._release.alphabet if self._release.model is None else None
        made = Release.of(own, alphabet=alphabet, model=self._release.model, laws=laws).mechanism.of_length(length)
        if made is None:
            raise FileError(self._where, expected="words that the model has", found="others")
        return made

    def _make(self, length: int) -> Mechanism | RunWeights:
        row = row_of(self._rows(), length, where=self._where)
        made = self._mechanism(row, length)
        rate = row.get("rate", row.get("step_height"))
        if made.weighting is not None and rate is not None:
            return made.weighting.weights(exact(rate, name="rate") * self._faster)
        return made

    def _positive(self, row: dict[str, Any]) -> bool:
        """Whether P has positive eigenvalues only, so far as that is known."""
        if row["mechanism"] == Online.name:
            return True  # not proved; see is_heuristic
        if row["mechanism"] == PermuteAndFlip.name:
            return True  # on words over an alphabet, a mixture of z^d
        if row["mechanism"] == Optimal.name and row.get("beyond") == "graceful":
            return self._release.model is not None and _is_flat(row)  # s(x)·c^−d, as for the exponential mechanism
        if row["mechanism"] != Exponential.name:
            return False
        if row.get("cost", "hamming") == "hamming":
            return True  # e^{−ηd}, and all mixtures of such: the inverse utility too
        made = self._made[row["lengths"][1]]
        return isinstance(made, RunWeights) and is_positive(made.costs, float(made.rate), len(made.language.alphabet))


def _is_flat(row: dict[str, Any]) -> bool:
    """Whether the law of the optimal mechanism is s(x)·c^−d(w, x): reversible, with positive eigenvalues."""
    peaks = SolvedLaw.from_document(row).peaks if row.get("beyond") == "graceful" else ()
    return bool(peaks) and all(word == released for word, released, _ in peaks)


def is_positive(cost: Cost, rate: float, symbols: int) -> bool:
    """Whether e^{−η·c(a, a')} is a positive definite matrix at every position, so that P is similar to one.

    Parameters
    ----------
    cost
        What pairs of symbols cost, without steps.
    rate
        η.
    symbols
        How many symbols there are.
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
