"""Statistics of the true words behind a release on a model, by releasing again; and of times of events.

Words behind an online release are assumed to come from a first-order chain."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from symveil.errors import InputError, ParameterError
from symveil.estimation.hidden_chain import ChainTables
from symveil.estimation.iterated import IteratedTables, IteratedVectors, Iterates, OwnStatistic, Steps
from symveil.estimation.limits import LIMITS
from symveil.estimation.named_table import Estimate
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import EstimatedTable, group_count, shares_of_rows, windows
from symveil.estimation.timed_tables import TimedTables, WaitEstimate, refusal
from symveil.mechanisms.online import Online
from symveil.mechanisms.timed_events import choose_event_law
from symveil.numbers.rationals import percent
from symveil.release.private_file import PrivateFile
from symveil.release.rerelease import Iteration, OnlineWords, Rerelease
from symveil.release.timed import TimedEvents
from symveil.tasks.limits import LIMITS as TASK_LIMITS

Words = TypeVar("Words", IteratedTables, IteratedVectors)


def iterated(released: PrivateFile, sums: Callable[[Steps], Words]) -> tuple[Words, float]:
    """Sums over the words, a release of them and a release of that; and the share of symbols that stay.

    Refused where that is too small, with about the ε that would be enough.
    """
    iteration = Iteration(Rerelease.of(released), released.seed)
    words = sums(iteration.of)
    released.into(words)
    agreement, least = iteration.agreement, LIMITS.now.least_agreement
    if agreement < least:
        raise InputError(
            f"estimate: expected a release that leaves at least {percent(least)} of the symbols as they are, found "
            f"{percent(agreement)}: nothing can be said from it; {_enough(released, least)}"
        )
    return words, agreement


def iterated_vectors(released: PrivateFile, statistic: OwnStatistic) -> Iterates:
    """A statistic of one's own of the words, of a release of them, and of a release of that.

    Its numbers add up over words.
    """
    names = [str(symbol) for symbol in released.release.alphabet.symbols]
    groups = min(TASK_LIMITS.now.run_groups, released.units())
    sums, agreement = iterated(released, lambda steps: IteratedVectors(statistic, names, steps, groups=groups))
    return sums.iterates(agreement=agreement, seed=released.seed)


def _enough(released: PrivateFile, least: float) -> str:
    """About which epsilon, on a grid of halves, has so much agreement: more of it changes fewer symbols."""
    own = released.release.choice.epsilon
    batch = next(released.batches(0))
    few = batch.only(np.arange(len(batch.lengths)) < TASK_LIMITS.now.agreeing_words)

    def agrees(step: int) -> bool:
        faster = Rerelease.of(released, faster=Fraction(step, 2) / own)
        return faster.agreement(few, released.seed) >= least

    low, high = math.floor(2 * own), 2 * TASK_LIMITS.now.epsilon
    if low >= high or not Rerelease.of(released).compared(few).any() or not agrees(high):
        return f"no epsilon up to {TASK_LIMITS.now.epsilon} would have been enough"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if agrees(middle) else (middle, high)
    return f"about epsilon {high / 2:g} would have been enough"


def run_table(released: PrivateFile, wanted: Statistic) -> tuple[EstimatedTable, list[str]]:
    """The table of a statistic behind a release on a model, and what it rests on."""
    shape = table_shape(released, wanted)
    groups = group_count(released.units(), 3 * max(_expected(released, wanted, math.prod(shape)), 1))
    sums, agreement = iterated(released, lambda steps: IteratedTables(wanted, shape, steps, groups=groups))
    result = sums.iterates(agreement=agreement, seed=released.seed)
    again = Rerelease.of(released)
    notes = ["estimated by releasing the private sequences again; no chain or other model of them is assumed"]
    if again.steps == 2:
        notes.append("every other release is used, because this mechanism can have negative eigenvalues")
    if again.is_heuristic:
        notes.append("a heuristic: for online release it is not proved that repeating it comes closer to the truth")
    if result.agreement < LIMITS.now.sure_agreement:
        enough = _enough(released, LIMITS.now.sure_agreement)
        notes.append(
            f"for intervals {enough}; a second release of the same sequences adds its epsilon to that of this one"
        )
    return result.whole(wanted, shape, sums.occurring), notes


def table_shape(released: PrivateFile, wanted: Statistic) -> tuple[int, ...]:
    """The axes of the table of a statistic; refused where it has too many cells."""
    longest = max((row["lengths"][1] or 0 for row in released.document["classes"]), default=0)
    shape = wanted.shape(len(released.release.alphabet), longest)
    size, most = math.prod(shape), TASK_LIMITS.now.table_cells
    if size > most:
        raise ParameterError("statistic", expected=f"a table of at most {most:,} cells", found=f"{size:,} cells")
    return shape


def _expected(released: PrivateFile, wanted: Statistic, size: int) -> int:
    """About how many cells can occur: words have few neighbours on most models, so most pairs never do."""
    graph = released.release.mechanism.language.graph
    if graph is None or wanted.kind not in ("ngrams", "transitions") or wanted.order < 2:
        return min(size, 3 * int(released.document["counts"]["symbols"]))
    return min(size, math.ceil(graph.edge_count * (graph.edge_count / graph.state_count) ** (wanted.order - 2) * 1.2))


ASSUMED = (
    "an assumption: the true sequences are independent draws from one first-order Markov chain on the states of the "
    "model; where they are not, the estimate is biased, and nothing here shows it"
)


def chain_table(released: PrivateFile, wanted: Statistic) -> tuple[EstimatedTable, list[str]]:
    """The table of a statistic behind an online release, and what it rests on."""
    used = {row["mechanism"] for row in released.document.get("law") or released.document["classes"]}
    if released.release.model is None or used != {Online.name}:
        raise ParameterError(
            "assume",
            expected="nothing but for releases by the mechanism online, whose estimates need an assumption",
            found=f"chain for one by {', '.join(sorted(used)) or released.document['mechanism']}; leave it out",
        )
    shape = table_shape(released, wanted)
    words, counts = OnlineWords(released), np.zeros(math.prod(shape))
    for batch in released.batches(words.groups):
        words.add(batch)
        counts += np.bincount(windows(wanted, batch).cells(shape[-1]), minlength=len(counts))
    chain = words.chain()
    shown = counts.reshape(shape)
    if wanted.kind == "transitions":
        shown = shares_of_rows(shown)
    near = chain.normalised(words.taken + 0.5)  # no edge is ruled out
    return ChainTables(chain, wanted, shape).estimated([near, chain.evenly], words.sizes, shown), [ASSUMED]


DURATIONS = "durations"
TIMED = "times"
"""The kind of statistics of times."""
_MORE = (Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(6), Fraction(8), Fraction(16))
"""By how much epsilon is raised to see what would have been enough."""


def estimate_times(
    released: PrivateFile, wanted: Statistic, by: str | None, *, target: str, assume: str | None, confidence: float
) -> Estimate:
    """The hours of symbols, or waits, with intervals.

    Only times of the file itself can be estimated, and nothing is assumed.
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
    waits = times.grid.waits
    leading = times.grid.name if waits is None else "wait"
    tables = released.into(TimedTables(times.law, by_symbol=by_symbol, leading=leading), timed=True)
    events = tables.events
    if not TimedTables.usable(times.law, events, by_symbol=by_symbol):
        raise refusal(times.law, events, _advice(released, times, events, by_symbol), by_symbol=by_symbol)
    notes = released.assumptions()
    notes.append("intervals are for the events of this file, not for others like them")
    if not joint and by is not None:
        notes.append("on a model hours are counted without symbols, whose noise is that of whole words")
    settings: dict[str, Any] = {} if waits is None else {"edges": waits.edges}
    return (Estimate if waits is None else WaitEstimate).of(
        wanted,
        tables.finish(),
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
