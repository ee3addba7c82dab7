"""What a corrected release achieves over all that runs of one length show: what it changes, what one can conclude.

By the exponential mechanism with Hamming distances sums run over prefixes and suffixes, not over pairs of observations;
other mechanisms are asked for the law of every observation, where they are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from symveil.enforcement.losses import log_totals
from symveil.errors import TooLargeError
from symveil.languages.distance_sums import all_distances, distance_counts, log_sums
from symveil.numbers.progress import Progress
from symveil.verification.opacity.complete_observations import ObservationTable

if TYPE_CHECKING:
    from symveil.enforcement.corrected_release import CorrectedRelease

Floats = NDArray[np.float64]

_MOST_LAWS = 2_000
_MOST_PAIRS, _AT_ONCE = 200_000_000, 2_000_000


def corrected_effect(release: CorrectedRelease, runs: ObservationTable, progress: Progress) -> tuple[float, float]:
    """E[distance; the run has this length], and the largest Pr(a secret state was visited | what is shown)."""
    every = release.possible.enumerate_codes(at_most=release.most_listed)
    unsafe = release.safe.first_impossible(every) > 0
    if len(runs.codes) * int(unsafe.sum()) > _MOST_PAIRS:
        raise TooLargeError(
            f"enforcement: expected at most {_MOST_PAIRS} pairs of an observation and an unsafe one, found more; use a "
            "smaller length"
        )
    rate = release.through.hamming_rate
    if rate is not None:
        distance, log_drawn, log_rows = _sums(release, float(rate), runs, every, progress)
    else:
        distance, log_drawn, log_rows = _laws(release, runs, every, progress)
    for rows, log_chances in log_rows:
        distance += _added(release, runs.codes[rows], runs.chances[rows, 0], log_chances)
    log_shown = log_drawn[~unsafe]
    if unsafe.any():
        values, rho = log_drawn[unsafe] - release.log_correction_totals[:, None], float(release.correction_rate)
        corrected = log_sums(every[unsafe], values, every[~unsafe], rate=rho, progress=progress)
        log_shown = np.logaddexp(log_shown, corrected)
    return distance, float(np.exp(log_shown[:, 1] - log_shown[:, 0]).max())


_Law = tuple[float, Floats, Iterator[tuple[slice, Floats]]]
"""E[distance] of what is drawn; for each observation ln Pr(it is drawn) alone and with a secret; and, some runs at a
time, ln Pr(each unsafe observation is drawn | run)."""


def _sums(
    release: CorrectedRelease, rate: float, runs: ObservationTable, every: NDArray[np.int32], progress: Progress
) -> _Law:
    terms, log_total = log_totals(distance_counts(every, runs.codes, progress=progress), rate)
    mean = np.exp(terms - log_total[:, None]) @ np.arange(terms.shape[1])
    with np.errstate(divide="ignore"):
        log_values = np.log(runs.chances) - log_total[:, None]
    drawn = log_sums(runs.codes, log_values, every, rate=rate, progress=progress)

    def rows() -> Iterator[tuple[slice, Floats]]:
        unsafe = one_hot(release.unsafe, len(release.alphabet))
        step = max(1, _AT_ONCE // max(len(unsafe), 1))
        for begin in range(0, len(runs.codes), step):
            part = slice(begin, begin + step)
            alike = one_hot(runs.codes[part], len(release.alphabet)) @ unsafe.T
            yield part, rate * (alike - runs.codes.shape[1]) - log_total[part, None]

    return float(runs.chances[:, 0] @ mean), drawn, rows()


def _laws(release: CorrectedRelease, runs: ObservationTable, every: NDArray[np.int32], progress: Progress) -> _Law:
    if max(len(every), len(runs.codes)) > _MOST_LAWS:
        raise TooLargeError(
            f"enforcement: expected at most {_MOST_LAWS} observations to judge {release.described} by, found more; use "
            "a smaller length (the policy private releases without such a list)"
        )
    logs = np.empty((len(runs.codes), len(every)))
    for row, word in enumerate(runs.codes):
        progress(row, len(runs.codes))
        logs[row] = release.through.log_probabilities(word, every)
    distance = float((runs.chances[:, 0, None] * np.exp(logs) * all_distances(runs.codes, every)).sum())
    with np.errstate(divide="ignore"):
        drawn = np.logaddexp.reduce(np.log(runs.chances)[:, None, :] + logs[:, :, None], axis=0)
    unsafe = release.safe.first_impossible(every) > 0
    return distance, drawn, iter([(slice(None), logs[:, unsafe])])


def _added(release: CorrectedRelease, codes: NDArray[np.int32], chances: Floats, log_chances: Floats) -> float:
    """By how much corrections change the distance: Σ p(w)·P(o|w)·(E[d(w, shown for o)] − d(w, o)) over unsafe o."""
    if not log_chances.shape[1]:
        return 0.0
    nearer = one_hot(codes, len(release.alphabet)) @ release.kept_by_correction.T
    return float(chances @ (np.exp(log_chances) * nearer).sum(axis=1))


def one_hot(codes: NDArray[np.int32], symbols: int) -> Floats:
    """A column for every position and symbol: 1 where the word has it there.

    >>> one_hot(np.array([[0, 1]], dtype=np.int32), 2).tolist()
    [[1.0, 0.0, 0.0, 1.0]]
    """
    columns = (codes[:, :, None] == np.arange(symbols)).astype(np.float64)
    return np.asarray(columns.reshape(len(codes), codes.shape[1] * symbols))
