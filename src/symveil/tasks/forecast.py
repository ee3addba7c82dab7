"""What `estimate` will be able to say from a release, before it is made: how wide intervals will be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.estimation.intervals import factors
from symveil.estimation.iterated import LEAST_AGREEMENT, SURE_AGREEMENT
from symveil.estimation.statistics import read_statistic
from symveil.release.promise import Release
from symveil.tasks.public_averages import expected_error_of_file
from symveil.tasks.released_noise import noise_of_mechanism

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What is to be expected of one statistic.

    Parameters
    ----------
    statistic
        As `estimate` takes it.
    total
        What all rows of its table add up to.
    half_width
        About how far an interval (95 %) will reach on each side of a row of average size; 0: exact; None: not known.
    note
        What that means, in a sentence.
    """

    statistic: str
    total: int
    half_width: float | None
    note: str

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "statistic": self.statistic,
            "total": self.total,
            "half_width": self.half_width,
            "note": self.note,
        }


def forecast(release: Release, lengths: NDArray[np.int64] | None, sequences: int) -> tuple[Forecast, ...]:
    """What visits, pairs and lengths can be estimated from a release of so many sequences of the middle length.

    Parameters
    ----------
    release
        What is released.
    lengths
        The lengths that occur; None where they are secret.
    sequences
        How many sequences.

    >>> from symveil.mechanisms.choice import MechanismChoice
    >>> release = Release.of(MechanismChoice(epsilon=2), alphabet="abcd", model=None)
    >>> for each in forecast(release, np.array([5]), 1000):
    ...     print(each.statistic, each.total, None if each.half_width is None else round(each.half_width), each.note)
    visits 5000 77 about ±6.2% of an average row
    ngrams:2 4000 62 about ±25% of an average row
    lengths 1000 0 exact: lengths are public in this release
    """
    if lengths is None or not len(lengths) or not sequences:
        return ()
    length = int(lengths[len(lengths) // 2])
    totals = {"visits": sequences * length, "ngrams:2": sequences * max(length - 1, 0)}
    exact = Forecast(
        statistic="lengths", total=sequences, half_width=0.0, note="exact: lengths are public in this release"
    )
    if release.choice.metric == "levenshtein":
        return ()
    if release.model is not None:
        return (*(_on_model(release, name, total, lengths) for name, total in totals.items() if total), exact)
    return (*(_free(release, name, total, length, sequences) for name, total in totals.items() if total), exact)


def _free(release: Release, name: str, total: int, length: int, sequences: int) -> Forecast:
    """Over an alphabet noise has an inverse, which divides the part of order j of a table by the eigenvalue λ_j.

    With q = 1/m a piece of r symbols is in a row of average size with a variance of Σ_j C(r,j)·q^(2(r−j))·(q(1−q))^j,
    of which 1 − λ_j² is noise. Overlaps of pieces are left out.
    """
    noise, order = noise_of_mechanism(release.mechanism), read_statistic(name).order
    if not noise.usable(order, length, sequences=sequences):
        return Forecast(
            statistic=name, total=total, half_width=None, note="nothing: estimate will refuse, the noise is too large"
        )
    each = 1 / noise.symbols
    variance = 0.0
    for part in range(1, order + 1):
        size = math.comb(order, part) * each ** (2 * (order - part)) * (each * (1 - each)) ** part
        variance += size * (noise.eigenvalue(part, length) ** -2 - 1)
    factor = factors(CONFIDENCE, cells=1, freedom=None)[0]
    spread = math.sqrt(total * max(variance, 0.0))
    share = factor * spread * noise.symbols**order / total
    about = f"{share:,.0%}" if share >= 0.1 else f"{100 * share:.2g}%"
    more = "; rows of average size drown in noise" if share > 1 else ""
    return Forecast(
        statistic=name,
        total=total,
        half_width=factor * spread,
        note=f"about ±{about} of an average row{more}",
    )


def _on_model(release: Release, name: str, total: int, lengths: NDArray[np.int64]) -> Forecast:
    """On a model words are released again: how many symbols that leaves as they are decides what can be said."""
    error = expected_error_of_file(release.mechanism, lengths)
    if error is None:
        return Forecast(statistic=name, total=total, half_width=None, note="not known beforehand on this model")
    agreement = 1 - float(str(error["symbols"])) / float(str(error["length"]))
    what = "estimates with intervals" if agreement >= SURE_AGREEMENT else "estimates without intervals"
    if agreement < LEAST_AGREEMENT:
        what = "nothing: estimate will refuse, the noise is too large"
    return Forecast(
        statistic=name, total=total, half_width=None, note=f"{what}: about {agreement:.0%} of the symbols stay"
    )
