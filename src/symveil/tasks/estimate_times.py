"""Estimates of times of events, from a release that has private ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from symveil.errors import InputError, ParameterError
from symveil.estimation.named_table import Estimate
from symveil.estimation.statistics import Statistic
from symveil.estimation.timed_tables import TimedTables, WaitEstimate, refusal
from symveil.mechanisms.timed_events import choose_event_law
from symveil.release.private_file import PrivateFile
from symveil.release.timed import TimedEvents

DURATIONS = "durations"
TIMED = "times"
"""The kind of statistics of times."""
_MORE = (Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(6), Fraction(8), Fraction(16))
"""By how much epsilon is raised to see what would have been enough."""


def estimate_times(
    released: PrivateFile, wanted: Statistic, by: str | None, *, target: str, assume: str | None, confidence: float
) -> Estimate:
    """The hours of symbols, or waits, with intervals.

    Parameters
    ----------
    released
        The private file and its manifest.
    wanted, by
        What is counted.
    target, assume
        Only those of the file itself can be estimated, and nothing is assumed.
    confidence
        How often intervals are to cover.
    """
    if target != "file":
        raise ParameterError("target", expected="file for statistics of times", found=target)
    if assume is not None:
        raise ParameterError("assume", expected="nothing for statistics of times", found=assume)
    times = _times_for(released, wanted, by)
    joint = times.joint
    by_symbol = joint and by is not None
    if by == "activity" and not joint:
        raise ParameterError("by", expected="none on a model, where symbols have another noise", found=by)
    tables, events = TimedTables(times.law, by_symbol=by_symbol), 0
    for batch in released.batches(0, timed=True):
        (bins,) = batch.attributes
        timed = bins >= 0
        codes = batch.codes[timed] if joint else np.zeros(int(timed.sum()), dtype=np.int32)
        tables.add(codes, bins[timed])
        events += len(codes)
    if not TimedTables.usable(times.law, events, by_symbol=by_symbol):
        raise refusal(times.law, events, _advice(released, times, events, by_symbol), by_symbol=by_symbol)
    notes = released.assumptions()
    notes.append("intervals are for the events of this file, not for others like them")
    if not joint and by is not None:
        notes.append("on a model hours are counted without symbols, whose noise is that of whole words")
    waits = times.grid.waits
    settings: dict[str, Any] = {} if waits is None else {"edges": waits.edges}
    return (Estimate if waits is None else WaitEstimate).of(
        wanted,
        tables.finish(times.grid.name if waits is None else "wait"),
        symbols=released.release.alphabet.symbols,
        method="exact-unbiased",
        target="file",
        confidence=confidence,
        assumptions=notes,
        **settings,
    )


def _times_for(released: PrivateFile, wanted: Statistic, by: str | None) -> TimedEvents:
    """How the release has its times; refused where it has no such times."""
    times, waits = released.release.times, wanted.name.startswith(DURATIONS)
    if times is not None and waits == (times.grid.waits is not None) and (waits or times.grid.name == by):
        return times
    has = "none" if times is None else f"{times.grid.name.split(':')[0]}s"
    need = "waits (`time_grid='wait:…'` of the release)" if waits else f"{by}s (`time_grid='{by}'` of the release)"
    raise InputError(f"estimate: expected a release with private {need} for {wanted.name}, found {has}")


def _advice(released: PrivateFile, times: TimedEvents, events: int, by_symbol: bool) -> str:
    """Which epsilon would have been enough with everything else as it is."""
    law, own = times.law, released.release.choice.epsilon
    b = released.release.choice.adjacency
    share = Fraction(1) if times.share is None else times.share
    for more in _MORE:
        if not isinstance(b, int):
            break
        other = choose_event_law(
            symbols=law.symbols, bins=law.bins, circle=law.circle, shift=law.shift, epsilon=own * more * share / b
        )
        if TimedTables.usable(other, events, by_symbol=by_symbol):
            return f"epsilon {float(own * more):g} would have been enough"
    return f"no epsilon up to {float(own * _MORE[-1]):g} would have been enough; use coarser bins or more sequences"
