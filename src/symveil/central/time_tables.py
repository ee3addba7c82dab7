"""Five tables of times beside a law of words, each with its share of ε: waits, cycles, hours, weekdays and weeks.

*Promise.* By A1 of the theory (docs/theory/central.md) what a person has in each table is a function of that person's
records and of public or released things only: cases belong to one person, order and ties are within a case, every time
is read by itself. What a person adds to one table is at most M on the grid, so with discrete Laplace noise of scale M/ε
each table is ε-private. Rows follow from released tables alone, so the shares add up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symveil.central.cells import GRID, Entries, EventTimes, Read, cell_name, summed
from symveil.central.limits import LIMITS
from symveil.central.noise import Neighbours, Query, queries_of_shares
from symveil.central.word_law import Support
from symveil.estimation.table import Indices
from symveil.models.alphabet import Codes, Lengths
from symveil.models.times import Period, WaitGrid, WallClock, day_of, hour_of, weekday_of
from symveil.numbers.rationals import spelled
from symveil.randomness import RecordKey

TIME_SHARES = {
    "durations": Fraction(50, 100),
    "cycle": Fraction(16, 100),
    "clock": Fraction(18, 100),
    "weekday": Fraction(5, 100),
    "weeks": Fraction(11, 100),
}
"""What each table gets of the ε of times."""
USUAL_TIME_SHARE = Fraction(2, 5)
"""Of ε, for times."""
WORDS_NAME = b"times: words that rows are chosen by"
"""Of the stream of random bits that they are drawn from."""
PACE = WaitGrid((0, 28, 36, 45, 60, 72, 90, 120, 144, 180, 240, 360, 720, 1800, 3600))
"""Bins of seconds for a kilometre, where links have a length: from more than 128 km/h down to below 2 km/h."""
_KILOMETRE = 1000


@dataclass(frozen=True, kw_only=True)
class TimeSettings:
    """What is public about times.

    Parameters
    ----------
    period
        The dates on which cases start.
    grid
        The bins of waits and of cycles.
    clock
        What the hour of an instant is.
    share
        Of ε, for times.
    """

    period: Period
    grid: WaitGrid = field(default_factory=WaitGrid)
    clock: WallClock = field(default_factory=WallClock)
    share: Fraction = USUAL_TIME_SHARE

    def document(self) -> dict[str, Any]:
        """The JSON form, for models and manifests."""
        return {
            "artificial": False,
            "learned": True,
            "period": self.period.spelled(),
            "timezone": self.clock.zone,
            "edges_seconds": list(self.grid.edges),
            "share": spelled(self.share),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The settings in a model or a manifest."""
        return cls(
            period=Period.read(document["period"]),
            grid=WaitGrid.from_edges(document["edges_seconds"]),
            clock=WallClock.read(document["timezone"]),
            share=Fraction(document["share"]),
        )


@dataclass(frozen=True, eq=False)
class Steps:
    """The moves between whose ends time passes, and by what their rows are chosen.

    Parameters
    ----------
    source, target
        The moves, increasing.
    symbols
        How many symbols there are.
    own, group
        The finest row that a move may be in, and the row that it is pooled into where that is too rare.
    metres
        Where links have a length: how long the link is that a move leaves; then waits are counted for a kilometre.
    """

    source: Indices
    target: Indices
    symbols: int
    own: Indices
    group: Indices
    metres: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, support: Support, lengths: NDArray[np.float64] | None = None) -> Self:
        """Those of a support: rows by move, pooled by activity; with lengths by link, pooled by octaves of the length.

        `lengths` are those of symbols, in metres.
        """
        order = np.argsort(support.source * support.symbols + support.target)
        source, target = support.source[order], support.target[order]
        if lengths is None:
            return cls(source, target, support.symbols, np.arange(len(source)), target)
        octave = np.floor(np.log2(np.maximum(lengths, 1.0))).astype(np.int64)
        return cls(source, target, support.symbols, source, octave[source], np.maximum(lengths, 1.0)[source])

    @property
    def waits(self) -> WaitGrid | None:
        """The grid of what is counted, where it is not that of waits."""
        return None if self.metres is None else PACE

    def number(self, before: NDArray[Any], after: NDArray[Any]) -> Indices:
        """Which move leads from one symbol to another."""
        listed = self.source * self.symbols + self.target
        return np.asarray(np.searchsorted(listed, before.astype(np.int64) * self.symbols + after))

    def counted(self, moves: Indices, waits: Indices) -> Indices:
        """What is counted of waits: seconds, or seconds for a kilometre."""
        if self.metres is None:
            return waits
        return np.asarray(np.floor(waits * (_KILOMETRE / self.metres[moves])), dtype=np.int64)

    def seconds(self, moves: Indices, counted: NDArray[np.float64]) -> NDArray[np.float64]:
        """The waits that were counted so."""
        return counted if self.metres is None else np.asarray(counted * (self.metres[moves] / _KILOMETRE))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table: which one each move is in, and which group of moves each row belongs to.

    Parameters
    ----------
    of_move
        The row of each move.
    group
        The group of each row; -1 where it has moves of several.
    """

    of_move: Indices
    group: Indices

    def __len__(self) -> int:
        return len(self.group)

    @classmethod
    def chosen(cls, steps: Steps, weight: NDArray[np.float64], least: float) -> Self:
        """The rows that are heavy enough; the others by group where those are, and all that is left in one row.

        A row needs at least the expected weight `least`.
        """

        def heavy(keys: Indices, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
            _, which = np.unique(keys, return_inverse=True)
            total = np.bincount(which, weights=np.where(among, weight, 0.0))
            return np.asarray(among & (total[which] >= least))

        every = np.ones(len(weight), dtype=np.bool_)
        alone = heavy(steps.own, every)
        pooled = heavy(steps.group, ~alone)
        kind = np.where(alone, 0, np.where(pooled, 1, 2))
        key = np.where(alone, steps.own, np.where(pooled, steps.group, 0))
        pairs, of_move = np.unique(np.stack([kind, key]), axis=1, return_inverse=True)
        of_move = of_move.reshape(-1)
        group = np.array(
            [-1 if k == 2 else int(steps.group[of_move == row][0]) for row, k in enumerate(pairs[0].tolist())]
        )
        return cls(of_move.astype(np.int64), group.astype(np.int64))

    def names(self, steps: Steps, symbols: Sequence[str]) -> list[str]:
        """A name of each row by the sorted list of its moves, and by the other rows."""
        listed: list[list[list[str]]] = [[] for _ in range(len(self))]
        for row, a, b in zip(self.of_move.tolist(), steps.source.tolist(), steps.target.tolist(), strict=True):
            listed[row].append([symbols[a], symbols[b]])
        return among_all([digest_of_names(sorted(moves)) for moves in listed])


def digest_of_names(content: object) -> str:
    """A short name of a list of names."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def among_all(names: Sequence[str]) -> list[str]:
    """Names of rows by their own content and by that of all rows.

    What a person adds to a row depends on how many rows that person is in. So where other rows are split otherwise the
    second time, the row has other sums, and must not draw the same noise.
    """
    return [digest_of_names([name, sorted(names)]) for name in names]


def row_rule(steps: Steps) -> dict[str, object]:
    """What decides rows and bins beside the declared parameters, for the stamp of a release.

    It has the lengths of links, because they decide the bins of waits, which their names do not say.
    """
    return {
        "own row": LIMITS.now.own_row,
        "rows named": "among all",
        "clock row": LIMITS.now.clock_row,
        "words": LIMITS.now.judging_words,
        "persons": LIMITS.now.fewest_persons,
        "long": [LIMITS.now.long, LIMITS.now.day_long],
        "pace": list(PACE.edges),
        "metres": None if steps.metres is None else digest_of_names(steps.metres.tolist()),
        "shares": {name: spelled(share) for name, share in TIME_SHARES.items()},
    }


def words_and_times(epsilon: Fraction, *, times: Fraction, attributes: Fraction) -> tuple[Fraction, Fraction]:
    """What of ε is for words and what is for times: attributes have a share of all of ε, and times one of the rest.

    >>> [str(each) for each in words_and_times(Fraction(10), times=Fraction(2, 5), attributes=Fraction(1, 5))]
    ['24/5', '16/5']
    """
    rest = epsilon * (1 - attributes)
    return rest * (1 - times), rest * times


def time_queries(
    epsilon: Fraction, neighbours: Neighbours, shares: Mapping[str, Fraction] = TIME_SHARES
) -> tuple[Query, ...]:
    """The queries of times, in their order.

    >>> [str(each.epsilon) for each in time_queries(Fraction(1), "add-remove")]
    ['1/2', '4/25', '9/50', '1/20', '11/100']
    """
    return queries_of_shares("times", dict.fromkeys(TIME_SHARES, 1), shares, epsilon, neighbours)


@dataclass(frozen=True, eq=False)
class PersonTimes:
    """All that persons have of times: a secret. Waits are numbered by their move, whatever the rows will be.

    Parameters
    ----------
    waiting, move, wait_bin, counted_bin, activity, hour, weekday
        Of each wait: its person, its move, its bin, the bin of what is counted of it, the activity that ends it, and
        the clock then.
    starting, start_hour, start_weekday, start_day
        Of each start: its person and its clock.
    cycling, cycle_bin
        Of each cycle.
    """

    waiting: Indices
    move: Indices
    wait_bin: Indices
    counted_bin: Indices
    activity: Indices
    hour: Indices
    weekday: Indices
    starting: Indices
    start_hour: Indices
    start_weekday: Indices
    start_day: Indices
    cycling: Indices
    cycle_bin: Indices

    @classmethod
    def gathered(
        cls, read: Read, steps: Steps, settings: TimeSettings, *, shortest: int, longest: int, cut: bool
    ) -> Self:
        """Look through all words once.

        `cut`: whether longer words count with their first events, or not at all.
        """
        parts: list[tuple[Indices, ...]] = []
        grid, clock = settings.grid, settings.clock
        for batch in read():
            words = batch if cut else batch.only(np.asarray(batch.lengths <= longest))
            times = EventTimes.of(words, clock, shortest=shortest, longest=longest)
            at, person = times.waited, words.groups
            move = steps.number(words.codes[at - 1], words.codes[at])
            counted = steps.counted(move, times.wait)
            parts.append((
                person[words.word[at]], move, grid.bins(times.wait), (steps.waits or grid).bins(counted),
                words.codes[at].astype(np.int64), hour_of(times.arrived), weekday_of(times.arrived),
                person[times.started], hour_of(times.start), weekday_of(times.start), day_of(times.start),
                person[times.cycled], grid.bins(times.cycle),
            ))  # fmt: skip
        nothing = np.zeros(0, dtype=np.int64)
        return cls(*(np.concatenate([nothing, *(part[column] for part in parts)]) for column in range(13)))

    def durations(self, rows: Rows, bins: int) -> list[int]:
        """The sums of waits by row and bin: ⌊M/(r·n)⌋ for each of the n waits that a person has in one of r rows."""
        row = rows.of_move[self.move]
        weights = Entries(self.waiting, row, self.counted_bin).shared()
        return summed(row * bins + self.counted_bin, weights, len(rows) * bins)

    def cycles(self, bins: int) -> list[int]:
        """The sums of cycles by bin: ⌊M/T⌋ for each of a person's T."""
        return summed(self.cycle_bin, Entries(self.cycling, self.cycle_bin, self.cycle_bin).each_alike(), bins)

    def clocks(self, row_of_activity: Indices, long: NDArray[np.bool_], rows: int) -> list[int]:
        """The sums of hours: row 0 of starts, then those of the activities that end long waits."""
        wanted = long[self.wait_bin]
        row = row_of_activity[self.activity[wanted]] + 1
        return self._two_kinds(self.start_hour, self.waiting[wanted], row, self.hour[wanted], 1 + rows, 24)

    def weekdays(self, long: NDArray[np.bool_]) -> list[int]:
        """The sums of weekdays: of starts, and of the ends of waits that are day-long."""
        wanted = long[self.wait_bin]
        row = np.ones(int(wanted.sum()), dtype=np.int64)
        return self._two_kinds(self.start_weekday, self.waiting[wanted], row, self.weekday[wanted], 2, 7)

    def _two_kinds(
        self, start: Indices, waiting: Indices, row: Indices, value: Indices, rows: int, columns: int
    ) -> list[int]:
        """⌊(M/2)/s⌋ for each of a person's s starts and ⌊(M/2)/n⌋ for each of n waits; M where there is one kind."""
        size = int(max(self.starting.max(initial=-1), waiting.max(initial=-1))) + 1
        starts, waits = (np.bincount(each, minlength=size) for each in (self.starting, waiting))
        most = np.where((starts > 0) & (waits > 0), GRID // 2, GRID)
        amounts = [(most // np.maximum(count, 1))[own] for count, own in ((starts, self.starting), (waits, waiting))]
        cells = np.concatenate([start, row * columns + value])
        return summed(cells, np.concatenate(amounts), rows * columns)

    def weeks(self, period: Period) -> list[int]:
        """The sums of starts by week: ⌊M/s⌋ for each of a person's s starts in the period."""
        inside = period.inside(self.start_day)
        week = period.week(self.start_day[inside])
        return summed(week, Entries(self.starting[inside], week, week).each_alike(), period.weeks)


@dataclass(frozen=True, kw_only=True, eq=False)
class WordsReleased:
    """What tables beside a released law of words stand on: the law, the file, and how it is asked.

    Parameters
    ----------
    support, symbols
        The moves and the lengths, and the names of symbols.
    words
        Some words of the law, drawn with the release's key: rows are chosen by them, and a run that is made again
        chooses the same.
    persons
        How many persons there are, by released tables.
    read
        Reads all legal words with what is beside their symbols; their groups are persons.
    cut
        Whether longer words count with their first events, or not at all.
    neighbours, keys
        Between which files, and where noise comes from.
    """

    support: Support
    symbols: Sequence[str]
    words: tuple[Codes, Lengths]
    persons: float
    read: Read
    cut: bool
    neighbours: Neighbours
    keys: RecordKey

    @property
    def judged(self) -> float:
        """How many persons rows are chosen for."""
        return max(LIMITS.now.fewest_persons, self.persons)


def expected_weights(steps: Steps, codes: Codes, lengths: Lengths, persons: float) -> NDArray[np.float64]:
    """The weight that each move is expected to have as a row of its own, by some words of a law."""
    word, at = waits_of(lengths)
    move = steps.number(codes[at - 1], codes[at])
    share = Entries(word[at], steps.own[move], move).shared() / GRID
    return np.asarray(persons / max(len(lengths), 1) * np.bincount(move, weights=share, minlength=len(steps.source)))


def waits_of(lengths: Lengths) -> tuple[Indices, Indices]:
    """Of words one after the other: the word of each event, and the events before which there is a wait.

    >>> [each.tolist() for each in waits_of(np.array([2, 1, 2]))]
    [[0, 0, 1, 2, 2], [1, 4]]
    """
    word = np.repeat(np.arange(len(lengths)), lengths)
    return word, np.flatnonzero(word[1:] == word[:-1]) + 1


def own_rows(heavy: NDArray[np.bool_]) -> Indices:
    """The row of each activity: the heavy ones have their own, and the others share the last one.

    >>> own_rows(np.array([False, True, False, True])).tolist()
    [2, 0, 2, 1]
    """
    return np.where(heavy, np.cumsum(heavy) - 1, int(heavy.sum()))


def row_names(row_of_activity: Indices, symbols: Sequence[str]) -> list[str]:
    """A name of each row by the sorted list of its activities."""
    listed: list[list[str]] = [[] for _ in range(int(row_of_activity.max(initial=-1)) + 1)]
    for row, symbol in zip(row_of_activity.tolist(), symbols, strict=True):
        listed[row].append(symbol)
    return [digest_of_names(sorted(own)) for own in listed]


def clock_rows(
    steps: Steps,
    codes: Codes,
    lengths: Lengths,
    persons: float,
    long_share: NDArray[np.float64],
    least: float,
) -> Indices:
    """The row of each activity in the table of hours: its own where enough long waits are expected to end at it.

    `long_share`: how likely the wait of each move is long, by the released table of waits. A row needs at least the
    weight `least`.
    """
    word, at = waits_of(lengths)
    likely = long_share[steps.number(codes[at - 1], codes[at])]
    in_word = np.maximum(np.bincount(word[at], weights=likely, minlength=len(lengths)), 1.0)
    weight = np.bincount(codes[at], weights=likely / in_word[word[at]], minlength=steps.symbols) / 2
    return own_rows(weight * persons / max(len(lengths), 1) >= least)


def names_of_bins(grid: WaitGrid) -> list[str]:
    """The names of bins by their ends."""
    return [f"{low}..{high}" for low, high in map(grid.ends, range(len(grid)))]


def duration_names(rows: Rows, steps: Steps, symbols: Sequence[str], grid: WaitGrid) -> list[bytes]:
    """The cells of waits: the moves of a row, and a bin."""
    return [cell_name([row, each]) for row in rows.names(steps, symbols) for each in names_of_bins(grid)]


def clock_names(row_of_activity: Indices, symbols: Sequence[str], grid: WaitGrid) -> list[bytes]:
    """The cells of hours: starts, or the activities of a row, and an hour."""
    parts = ["start", *(f"{row} {_long_name(grid, LIMITS.now.long)}" for row in row_names(row_of_activity, symbols))]
    return [cell_name([part, hour]) for part in parts for hour in range(24)]


def weekday_names(grid: WaitGrid) -> list[bytes]:
    """The cells of weekdays."""
    return [
        cell_name([part, day])
        for part in ("start", f"wait {_long_name(grid, LIMITS.now.day_long)}")
        for day in range(7)
    ]


def _long_name(grid: WaitGrid, least: int) -> str:
    """Which waits are long: the lower edges of their bins."""
    return ",".join(str(edge) for edge in grid.edges[:-1] if edge >= least)
