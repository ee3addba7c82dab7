"""Statistics of the true words behind a release on a model, by releasing again; and of times of events.

Words behind an online release are assumed to come from a first-order chain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError, InputError, ParameterError, WordError
from symveil.estimation.hidden_chain import ChainTables, HiddenChain, ReleasedOfLength
from symveil.estimation.iterated import Iterates
from symveil.estimation.limits import LIMITS
from symveil.estimation.named_table import Estimate
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import Batch, EstimatedTable, group_count, projected, shares_of_rows, windows
from symveil.estimation.timed_tables import TimedTables, WaitEstimate, refusal
from symveil.languages.language import gathered
from symveil.mechanisms.online import Online
from symveil.mechanisms.timed_events import choose_event_law
from symveil.models.alphabet import Codes, Lengths, split_words
from symveil.numbers.rationals import percent
from symveil.randomness import BitSource, NotPrivateSeededBits
from symveil.release.private_file import PrivateFile
from symveil.release.rerelease import Rerelease
from symveil.release.timed import TimedEvents

_MOST_CELLS = 4_000_000
_CHAINS = 2
"""How often words are released again: the mean of several is less noisy."""
_LOOKED_AT = 200
_LARGEST_EPSILON = 50

_GROUPS_REQUESTED = 40

OwnStatistic = Callable[[list[tuple[str, ...]]], Sequence[float]]
"""A statistic of one's own: from a list of words to numbers that add up over words."""
Cells = Callable[[Batch], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""The cells of what is counted in a batch, and in which word each stands."""


def iterated(released: PrivateFile, cells: Cells, size: int, expected: int) -> tuple[Iterates, NDArray[np.int64]]:
    """The statistic of the words, of a release of them, and of a release of that; and the cells that occur.

    About `expected` of the `size` cells can occur, by the model.
    """
    chains = _Chains(released)
    groups = group_count(released.units(), 3 * min(size, max(expected, 1)))
    index = np.full(size, -1, dtype=np.int64)
    sums, used = np.zeros((3, max(groups, 1), 64)), 0
    sizes = np.zeros(max(groups, 1), dtype=np.int64)
    for batch in released.batches(groups):
        sizes += np.bincount(batch.groups, minlength=len(sizes))
        for _ in range(_CHAINS):
            for step, codes in chains.of(batch):
                result, word = cells(Batch(codes, batch.lengths, batch.groups))
                new = np.unique(result)
                new = new[index[new] < 0]
                index[new] = np.arange(used, used + len(new))
                used += len(new)
                if used > sums.shape[2]:
                    grown = np.zeros((3, len(sizes), max(used, 2 * sums.shape[2])))
                    grown[:, :, : sums.shape[2]] = sums
                    sums = grown
                at = batch.groups[word] * sums.shape[2] + index[result]
                counts = np.bincount(at, minlength=sums[0].size).reshape(sums[0].shape)
                sums[step] += counts / _CHAINS
    agreement = chains.agreement()
    occurring = np.flatnonzero(index >= 0)
    ordered = sums[:, :, index[occurring]]
    return Iterates(sums=ordered, sizes=sizes, agreement=agreement, seed=released.seed), occurring


def iterated_vectors(released: PrivateFile, statistic: OwnStatistic) -> Iterates:
    """The same for a statistic of one's own, which is asked for the words of each group.

    Its numbers add up over words.
    """
    chains = _Chains(released)
    groups = min(_GROUPS_REQUESTED, released.units())
    names = np.array([str(symbol) for symbol in released.release.alphabet.symbols], dtype=object)
    sums: NDArray[np.float64] | None = None
    sizes = np.zeros(max(groups, 1), dtype=np.int64)
    for batch in released.batches(groups):
        sizes += np.bincount(batch.groups, minlength=len(sizes))
        for step, codes in chains.of(batch):
            words = [tuple(names[word].tolist()) for word in split_words(codes, batch.lengths)]
            for group in np.unique(batch.groups).tolist():
                own = _vector(statistic([words[index] for index in np.flatnonzero(batch.groups == group)]))
                if sums is None:
                    sums = np.zeros((3, len(sizes), len(own)))
                if len(own) != sums.shape[2]:
                    raise ParameterError("statistic", expected="as many numbers for all words", found="more or fewer")
                sums[step, group] += own
    agreement = chains.agreement()
    results = np.zeros((3, len(sizes), 0)) if sums is None else sums
    return Iterates(sums=results, sizes=sizes, agreement=agreement, seed=released.seed)


class _Chains:
    """Words, a release of them and a release of that; with how many symbols the first release leaves as they are."""

    def __init__(self, released: PrivateFile) -> None:
        self._released = released
        self._again = Rerelease(released.release, released.document, where=str(released.manifest_file))
        self._bits: BitSource = NotPrivateSeededBits(released.seed)
        self._same = self._symbols = 0

    def of(self, batch: Batch) -> Iterator[tuple[int, Codes]]:
        """Each step and its words."""
        codes, compared = batch.codes, _compared(self._released, batch)
        yield 0, codes
        for step in (1, 2):
            before, codes = codes, _stepped(self._again, codes, batch.lengths, self._bits)
            if step == 1:
                self._same += int(np.count_nonzero((before == codes) & compared))
                self._symbols += int(np.count_nonzero(compared))
            yield step, codes

    def agreement(self) -> float:
        """The share of symbols that stay; refused where it is too small, with about the ε that would be enough."""
        agreement = self._same / self._symbols if self._symbols else 1.0
        if agreement < LIMITS.now.least_agreement:
            raise InputError(
                f"estimate: expected a release that leaves at least {percent(LIMITS.now.least_agreement)} of the "
                f"symbols as they are, found {percent(agreement)}: nothing can be said from it; "
                f"{_enough(self._released, LIMITS.now.least_agreement)}"
            )
        return agreement


def _compared(released: PrivateFile, batch: Batch) -> NDArray[np.bool_]:
    """Which symbols agreement is about: a public start is never changed."""
    return np.asarray(batch.position >= (1 if released.release.choice.public_start else 0))


def _vector(numbers: Sequence[float]) -> NDArray[np.float64]:
    try:
        own = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        own = np.empty((0, 0))
    if own.ndim != 1 or not np.isfinite(own).all():
        raise ParameterError("statistic", expected="a function from words to a list of numbers", found="another one")
    return own


def _stepped(again: Rerelease, codes: Codes, lengths: Lengths, bits: BitSource) -> Codes:
    for _ in range(again.steps):
        codes = again.draw(codes, lengths, bits)
    return codes


def _enough(released: PrivateFile, least: float) -> str:
    """About which epsilon, on a grid of halves, has so much agreement: more of it changes fewer symbols."""
    own = released.release.choice.epsilon
    batch = next(released.batches(0))
    few = batch.only(np.arange(len(batch.lengths)) < _LOOKED_AT)
    compared = _compared(released, few)

    def agrees(step: int) -> bool:
        bits, faster = NotPrivateSeededBits(released.seed), Fraction(step, 2) / own
        again = Rerelease(released.release, released.document, where=str(released.manifest_file), faster=faster)
        once = again.draw(few.codes, few.lengths, bits)
        return float(np.mean((_stepped(again, once, few.lengths, bits) == once)[compared])) >= least

    low, high = math.floor(2 * own), 2 * _LARGEST_EPSILON
    if low >= high or not compared.any() or not agrees(high):
        return f"no epsilon up to {_LARGEST_EPSILON} would have been enough"
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if agrees(middle) else (middle, high)
    return f"about epsilon {high / 2:g} would have been enough"


def run_table(released: PrivateFile, wanted: Statistic) -> tuple[EstimatedTable, list[str]]:
    """The table of a statistic behind a release on a model, and what it rests on."""
    m, (shape, size) = len(released.release.alphabet), _shape(released, wanted)
    leading = {"positions": "position", "presence": "length"}.get(wanted.kind)
    counted = partial(_cells, wanted, m=m)
    result, occurring = iterated(released, counted, size, _expected(released, wanted, size))
    total = np.zeros(size)
    total[occurring] = result.sums[0].sum(axis=0)
    again = Rerelease(released.release, released.document, where=str(released.manifest_file))
    notes = ["estimated by releasing the private sequences again; no chain or other model of them is assumed"]
    if again.steps == 2:
        notes.append("every other release is used, because this mechanism can have negative eigenvalues")
    if again.is_heuristic:
        notes.append("a heuristic: for online release it is not proved that repeating it comes closer to the truth")
    if result.agreement < LIMITS.now.sure_agreement:
        notes.append(f"for intervals {_enough(released, LIMITS.now.sure_agreement)}")
    axes = 1 if leading else wanted.order
    by_row = total.reshape(shape).sum(axis=tuple(range(-axes, 0)), keepdims=True) if wanted.kind != "presence" else None
    if wanted.kind == "transitions":
        small = result.shares(occurring // m)
        spread = _spread(small, occurring, shape, None, None, axes)
        listed = np.zeros(size, dtype=np.bool_)
        listed[occurring] = small.listed
        full = np.zeros(size)
        full[occurring] = small.consistent
        return replace(spread, most=1.0, listed=listed.reshape(shape), consistent=full.reshape(shape)), notes
    small = result.table()
    table = _spread(small, occurring, shape, leading, by_row, axes)
    return table, notes


def _shape(released: PrivateFile, wanted: Statistic) -> tuple[tuple[int, ...], int]:
    """The shape of the table of a statistic, and how many cells that are; refused where they are too many."""
    longest = max((row["lengths"][1] or 0 for row in released.document["classes"]), default=0)
    first = {"positions": longest, "presence": longest + 1}.get(wanted.kind)
    shape = (*(() if first is None else (first,)), *(len(released.release.alphabet),) * wanted.order)
    size = int(np.prod(shape, dtype=np.int64))
    if size > _MOST_CELLS:
        raise ParameterError("statistic", expected=f"a table of at most {_MOST_CELLS:,} cells", found=f"{size:,} cells")
    return shape, size


def _cells(wanted: Statistic, batch: Batch, *, m: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The cells of what a statistic counts in a batch of words over m symbols, and in which word each stands."""
    if wanted.kind == "presence":
        keys = np.unique(batch.word * m + batch.codes)
        return batch.lengths[keys // m] * m + keys % m, keys // m
    counted = windows(wanted, batch)
    return counted.cells(m), counted.word


def _expected(released: PrivateFile, wanted: Statistic, size: int) -> int:
    """About how many cells can occur: words have few neighbours on most models, so most pairs never do."""
    graph = released.release.mechanism.language.graph
    if graph is None or wanted.kind not in ("ngrams", "transitions") or wanted.order < 2:
        return min(size, 3 * int(released.document["counts"]["symbols"]))
    return min(size, math.ceil(graph.edge_count * (graph.edge_count / graph.state_count) ** (wanted.order - 2) * 1.2))


def _spread(
    small: EstimatedTable,
    occurring: NDArray[np.int64],
    shape: tuple[int, ...],
    leading: str | None,
    by_row: NDArray[np.float64] | None,
    axes: int,
) -> EstimatedTable:
    """A table of some cells as one of all, in which only they are listed."""

    def full(values: NDArray[np.float64]) -> NDArray[np.float64]:
        table = np.zeros(int(np.prod(shape, dtype=np.int64)))
        table[occurring] = values
        return table.reshape(shape)

    listed = np.zeros(int(np.prod(shape, dtype=np.int64)), dtype=np.bool_)
    listed[occurring] = True
    estimate = full(small.estimate)
    most = np.inf if by_row is None else np.broadcast_to(by_row, shape)
    consistent = np.clip(estimate, 0.0, None) if by_row is None else projected(estimate, axes=axes)
    return replace(
        small,
        released=full(small.released),
        estimate=estimate,
        variances=replace(small.variances, values=full(small.variances.values)),
        consistent=consistent,
        most=most,
        listed=listed.reshape(shape),
        leading=leading,
        centre=full(small.centre if small.centre is not None else small.estimate),
        allowance=full(np.asarray(small.allowance)),
    )


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
    m, (shape, size) = len(released.release.alphabet), _shape(released, wanted)
    gathering = _Gathering(released)
    counts = np.zeros(size)
    for batch in released.batches(gathering.groups):
        gathering.add(batch)
        counts += np.bincount(_cells(wanted, batch, m=m)[0], minlength=size)
    chain = gathering.chain()
    shown = counts.reshape(shape)
    if wanted.kind == "transitions":
        shown = shares_of_rows(shown)
    even = chain.evenly
    near = chain.normalised(gathering.taken + 0.5)  # no edge is ruled out
    table = ChainTables(chain, wanted, shape).estimated([near, even], gathering.sizes, shown)
    return table, [ASSUMED]


@dataclass(eq=False)
class _Gathering:
    """The different words of a file, and the chances with which each of their symbols is released."""

    released: PrivateFile
    _emissions: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    _rows: list[NDArray[np.float64]] = field(default_factory=list)
    _words: dict[int, list[tuple[Codes, NDArray[np.int64]]]] = field(default_factory=dict)
    _masks: dict[bytes, int] = field(default_factory=dict)
    _laws: dict[tuple[int, int], tuple[list[int], NDArray[np.float64]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._again = Rerelease(self.released.release, self.released.document, where=str(self.released.manifest_file))
        self.groups = min(LIMITS.now.fewest_groups, self.released.units())
        self.sizes = np.zeros(max(self.groups, 1), dtype=np.int64)
        self._graph = self.released.release.mechanism.language.graph
        self.taken = np.zeros(0 if self._graph is None else self._graph.edge_count)

    def add(self, batch: Batch) -> None:
        """Some more words."""
        self.sizes += np.bincount(batch.groups, minlength=len(self.sizes))
        for length in np.unique(batch.lengths[batch.lengths > 0]).tolist():
            rows = np.flatnonzero(batch.lengths == length)
            words = gathered(batch.codes, batch.lengths, rows, length)
            self._words.setdefault(length, []).append((words, batch.groups[rows]))

    def chain(self) -> HiddenChain:
        """All of it."""
        results = []
        for length, parts in sorted(self._words.items()):
            words = np.concatenate([each for each, _ in parts])
            groups = np.concatenate([each for _, each in parts])
            different, number = np.unique(words, axis=0, return_inverse=True)
            counts = np.zeros((len(different), len(self.sizes)))
            np.add.at(counts, (number.reshape(-1), groups), 1.0)
            results.append(ReleasedOfLength(self._emission_rows(length, different, counts.sum(axis=1)), counts))
        if not results or self._graph is None:
            raise InputError("estimate: expected at least one sequence with a symbol in the private file, found none")
        return HiddenChain(self._graph, np.array(self._rows), results)

    def _emission_rows(self, length: int, words: Codes, counts: NDArray[np.float64]) -> NDArray[np.int64]:
        mechanism = self._again.mechanism(length)
        language = mechanism.language.runs
        assert isinstance(mechanism, Online) and language is not None  # noqa: S101 - asked before
        try:
            edges = language.walk_edges(words)
        except WordError:
            raise FileError(str(self.released.path), expected="words that the model has", found="others") from None
        np.add.at(self.taken, edges, counts[:, None])
        rows = np.empty(edges.shape, dtype=np.int64)
        for position in range(length):
            alive = language.alive[length - position - 1]
            mask = self._masks.setdefault(alive.tobytes(), len(self._masks))
            public = position == 0 and language.public_start
            different, number = np.unique(edges[:, position], return_inverse=True)
            known = [self._emission(mechanism, edge, alive, mask, public) for edge in different.tolist()]
            rows[:, position] = np.array(known)[number]
        return rows

    def _emission(self, mechanism: Online, edge: int, alive: NDArray[np.bool_], mask: int, public: bool) -> int:
        """The row of the chances of an edge given each true symbol."""
        key = (mask, edge, public)
        if key not in self._emissions:
            graph = mechanism.language.graph
            assert graph is not None  # noqa: S101 - online releases words of a model
            state = int(np.searchsorted(graph.first, edge, side="right")) - 1
            if public:
                row = (np.arange(len(mechanism.alphabet)) == graph.symbol[edge]).astype(np.float64)
            else:
                if (mask, state) not in self._laws:
                    self._laws[mask, state] = mechanism.step_law(state, alive)
                options, chances = self._laws[mask, state]
                row = chances[:, options.index(edge)]
            self._emissions[key] = len(self._rows)
            self._rows.append(row)
        return self._emissions[key]


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
