"""The five tables of times: sensitivities and whole losses by enumeration, names by content, the fit and the draws."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from central.test_time_counts import batch_of, random_case
from symveil.central.cells import GRID
from symveil.central.learned import LearnedLaw
from symveil.central.limits import LIMITS
from symveil.central.noise import NoisyTable, Quality
from symveil.central.time_law import TimeLaw, _moved, draw_times, smoothed_law, tilted, wait_laws
from symveil.central.time_tables import (
    TIME_SHARES,
    PersonTimes,
    Rows,
    Steps,
    TimeSettings,
    clock_names,
    duration_names,
    expected_weights,
    time_queries,
)
from symveil.central.word_law import Support, no_parameters
from symveil.models.times import (
    INSTANT,
    LAST_SECOND,
    MICROSECONDS,
    Period,
    Stamps,
    WaitGrid,
    WallClock,
    day_of,
    hour_of,
    weekday_of,
)
from symveil.randomness import NotPrivateSeededBits, RecordKey

DAY = 86_400
SUPPORT = Support.of(symbols=3, graph=None, zone=np.zeros(3, dtype=np.int64), shortest=1, longest=4)
STEPS = Steps.of(SUPPORT)
SETTINGS = TimeSettings(
    period=Period.read("1970-01-01..1970-02-01"), grid=WaitGrid.from_edges((0, 60, 4 * 3600, DAY, 30 * DAY))
)
MAPPED = Steps.of(SUPPORT, np.array([100.0, 300.0, 120.0]))


def tables_of(persons: list, rows: Rows, row_of_activity: np.ndarray, steps: Steps = STEPS) -> dict[str, np.ndarray]:
    """The sums of all five tables of a file."""
    batch = batch_of(persons)
    true = PersonTimes.gathered(lambda: [batch], steps, SETTINGS, shortest=1, longest=4, cut=True)
    grid, clock_count = SETTINGS.grid, int(row_of_activity.max()) + 1
    sums = {
        "durations": true.durations(rows, len(steps.waits or grid)),
        "cycle": true.cycles(len(grid)),
        "clock": true.clocks(row_of_activity, grid.from_lower(LIMITS.now.long), clock_count),
        "weekday": true.weekdays(grid.from_lower(LIMITS.now.day_long)),
        "weeks": true.weeks(SETTINGS.period),
    }
    return {name: np.array(values, dtype=object) for name, values in sums.items()}


def random_rows(rng: random.Random, steps: Steps = STEPS) -> Rows:
    return Rows.chosen(steps, np.array([rng.choice([0.0, 1.0, 5.0]) for _ in range(len(steps.source))]), 4.0)


@pytest.mark.parametrize("steps", [STEPS, MAPPED], ids=["log", "map"])
def test_a_person_changes_every_table_by_at_most_one_on_the_grid(steps):
    rng = random.Random(4)
    largest = dict.fromkeys(TIME_SHARES, 0.0)
    for _ in range(400):
        persons = [[random_case(rng) for _ in range(rng.randrange(4))] for _ in range(rng.randrange(1, 4))]
        other = [random_case(rng) for _ in range(rng.randrange(1, 7))]
        rows, activities = random_rows(rng, steps), np.array([rng.choice([0, 0, 1]) for _ in range(2)] + [1])
        whole, without, instead = (
            tables_of(file, rows, activities, steps) for file in (persons, [*persons[:-1], []], [*persons[:-1], other])
        )
        for name in TIME_SHARES:
            assert (whole[name] >= without[name]).all()
            assert sum(whole[name] - without[name]) <= GRID
            assert sum(abs(whole[name] - instead[name])) <= 2 * GRID
            largest[name] = max(largest[name], sum(whole[name] - without[name]) / GRID)
    assert all(value > 0.999 for value in largest.values()), largest


def every_person() -> list[list]:
    """All persons with a case of one or two events over two symbols, and some with longer or several cases."""
    hour = 3600 * 10**6
    stamps = [(0, 0), (10 * hour, 1), (15 * hour, 1), (90 * hour, 1), (15 * hour, 2)]
    cases = [
        (list(word), list(times))
        for size in (1, 2)
        for word in itertools.product(range(2), repeat=size)
        for times in itertools.product(stamps, repeat=size)
    ]
    rng = random.Random(9)
    long = [
        ([rng.randrange(3) for _ in range(size)], [rng.choice(stamps) for _ in range(size)]) for size in [3, 4] * 20
    ]
    return [[case] for case in cases + long] + [rng.sample(cases + long, rng.randrange(2, 5)) for _ in range(40)]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_loss_of_all_tables_is_the_epsilon_of_times_whatever_rows_earlier_answers_lead_to(neighbours):
    """Discrete Laplace noise of scale s: the largest log-ratio of an outcome is the sum of |difference|/s over cells.

    Rows follow from the released table of words, whatever it is: the loss holds for each of its outcomes.
    """
    queries = dict(zip(TIME_SHARES, time_queries(Fraction(2, 5), neighbours), strict=True))
    later = 21 * 24 * 3600 * 10**6
    other = [([2, 2], [(later + 40 * 3600 * 10**6, 1), (later + 200 * 3600 * 10**6, 1)])]  # in other cells
    worst = Fraction(0)
    for released in ([9.0] * 9, [9.0] + [1.0] * 8, [0.0] * 9):
        rows = Rows.chosen(STEPS, np.array(released), 4.0)
        activities = np.array([0, 1, 2]) if released[-1] > 4 else np.zeros(3, dtype=np.int64)
        instead = tables_of([other if neighbours == "replace" else []], rows, activities)
        for person in every_person():
            own = tables_of([person], rows, activities)
            loss = sum(Fraction(int(sum(abs(own[name] - instead[name])))) / queries[name].scale for name in queries)
            assert loss <= Fraction(2, 5)
            worst = max(worst, loss)
    assert worst == Fraction(2, 5)


def test_shares_of_epsilon_add_up_and_replacing_doubles_the_scale():
    queries = time_queries(Fraction(2, 5), "add-remove")
    assert sum(query.epsilon for query in queries) == Fraction(2, 5)
    assert all(query.bound == 1 for query in queries)
    doubled = time_queries(Fraction(2, 5), "replace")
    assert [other.scale / one.scale for one, other in zip(queries, doubled, strict=True)] == [2] * 5


def test_other_rows_have_other_noise_and_the_same_rows_the_same():
    """A row rule that comes out differently the second time must not put the same noise on other sums."""
    keys = RecordKey(bytes(32), "release")
    query = time_queries(Fraction(1), "add-remove")[0]
    grid = SETTINGS.grid
    alone = Rows.chosen(STEPS, np.array([9.0] + [0.0] * 8), 4.0)
    pooled = Rows.chosen(STEPS, np.zeros(9), 4.0)
    assert len(alone) == 2
    assert len(pooled) == 1
    drawn = {}
    for name, rows in (("alone", alone), ("pooled", pooled), ("again", replace(alone, group=alone.group.copy()))):
        cells = duration_names(rows, STEPS, "abc", grid)
        assert len(set(cells)) == len(cells)
        drawn[name] = query.answered([0] * len(cells), keys, cells=cells)
    assert drawn["alone"] == drawn["again"]
    assert not set(drawn["alone"]) & set(drawn["pooled"])
    one = query.answered([0] * 48, keys, cells=clock_names(np.array([0, 0, 0]), "abc", grid))
    other = query.answered([0] * 72, keys, cells=clock_names(np.array([1, 0, 0]), "abc", grid))
    assert one[:24] == other[:24]  # starts are the same question
    assert not set(one[24:]) & set(other[24:])


def test_a_row_that_stays_while_others_are_split_otherwise_has_other_sums_and_other_noise():
    """A person's weight in a row depends on how many rows are theirs: the same noise would show the difference."""
    split = [Rows.chosen(STEPS, np.array(weights), 4.0) for weights in ([9.0, 9.0] + [0.0] * 7, [9.0] + [0.0] * 8)]
    assert [len(rows) for rows in split] == [3, 2]
    kept = [np.flatnonzero(rows.of_move == rows.of_move[0]).tolist() for rows in split]
    assert kept == [[0], [0]]
    # one person with the moves a→a, a→b and b→c
    words = [([0, 0, 1, 2], [(60 * 10**6 * at, 1) for at in range(4)])]
    sums = []
    for rows in split:
        table = tables_of([words], rows, np.zeros(3, dtype=np.int64))["durations"].reshape(len(rows), -1)
        sums.append(int(table[rows.of_move[0]].sum()))
    assert sums == [GRID // 3, GRID // 2]
    bins = len(SETTINGS.grid)
    first, second = (
        set(duration_names(rows, STEPS, "abc", SETTINGS.grid)[rows.of_move[0] * bins :][:bins]) for rows in split
    )
    assert not first & second


def test_rows_are_moves_then_activities_and_one_row_of_all_that_is_left():
    weight = np.array([9.0, 1, 1, 1, 2, 1, 0, 2.5, 0.1])  # moves a→a, a→b, …, c→c
    rows = Rows.chosen(STEPS, weight, 4.0)
    by_row = [np.flatnonzero(rows.of_move == row).tolist() for row in range(len(rows))]
    assert by_row == [[0], [1, 4, 7], [2, 3, 5, 6, 8]]
    assert rows.group.tolist() == [0, 1, -1]
    assert len(Rows.chosen(STEPS, np.full(9, 9.0), 4.0)) == 9
    assert len(Rows.chosen(STEPS, np.zeros(9), 4.0)) == 1


def test_expected_weights_are_what_persons_with_such_words_add():
    rng = random.Random(2)
    words = [[rng.randrange(3) for _ in range(rng.randrange(1, 5))] for _ in range(40)]
    codes, lengths = np.array([code for word in words for code in word]), np.array([len(word) for word in words])
    persons = [[(word, [(60 * 10**6 * at, 1) for at in range(len(word))])] for word in words]
    every = Rows.chosen(STEPS, np.full(9, 9.0), 4.0)
    added = tables_of(persons, every, np.zeros(3, dtype=np.int64))["durations"].reshape(9, -1).sum(axis=1)
    assert np.allclose(expected_weights(STEPS, codes, lengths, 40.0), added.astype(float) / GRID, atol=1e-6)


# --- the fit ---------------------------------------------------------------------------------------


def test_a_tilt_solves_its_equation_and_shrinks_in_ratio():
    rng = np.random.default_rng(0)  # utility only: no privacy depends on these numbers
    for _ in range(50):
        parent = rng.dirichlet(np.ones(6)) + 1e-4
        parent /= parent.sum()
        row, deviation = rng.normal(20, 30, 6), float(rng.uniform(0.5, 20))
        found = tilted(row, parent, deviation)
        assert found.sum() == pytest.approx(1)
        if row.sum() <= deviation:
            assert (found == parent).all()
            continue
        size = row.sum() * parent
        low, high = np.full(6, -500.0), np.full(6, 500.0)
        for _ in range(300):
            middle = (low + high) / 2
            above = size * np.exp(np.minimum(middle, 600)) + deviation * middle > row
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        exact = size * np.exp(high)
        assert np.allclose(found, exact / exact.sum(), atol=1e-9)
    assert tilted(np.array([1e6, 0.0]), np.array([0.5, 0.5]), 1.0)[0] > 0.9999


def test_smoothing_is_a_law_whatever_comes_in():
    rng = np.random.default_rng(1)
    for size, circular in ((24, True), (17, False), (1, False), (2, True), (200, False)):
        for values in (rng.normal(0, 10, size), np.zeros(size), rng.normal(30, 10, size), np.full(size, -5.0)):
            found = smoothed_law(values, 10.0, circular=circular)
            assert (found >= 0).all()
            assert found.sum() == pytest.approx(1)
    clear = np.array([0.0, 1000, 0, 0, 0, 0])
    assert smoothed_law(clear, 0.01).round(3).tolist() == [0, 1, 0, 0, 0, 0]
    assert smoothed_law(rng.normal(50, 30, 24), 30.0, circular=True).std() < 0.02


def test_without_noise_every_row_is_what_was_counted():
    rows = Rows.chosen(STEPS, np.full(9, 9.0), 4.0)
    counts = np.arange(1.0, 37.0).reshape(9, 4) * 1000
    laws = wait_laws(NoisyTable(values=counts.reshape(-1), deviation=1e-6), rows, 4)
    assert np.allclose(laws, counts / counts.sum(axis=1, keepdims=True), atol=1e-5)


def test_no_more_waits_than_cycles_are_beyond_an_edge():
    """A wait is at most its cycle: what noise leaves beyond all cycles would show in every long case."""
    rows = Rows.chosen(STEPS, np.zeros(9), 4.0)
    noisy = NoisyTable(values=np.array([900.0, 60, 20, 20]), deviation=1e-6)
    longest = np.array([0.5, 0.49, 0.01, 0.0])
    assert wait_laws(noisy, rows, 4)[0].round(3).tolist() == [0.9, 0.06, 0.02, 0.02]
    blurred = wait_laws(replace(noisy, deviation=1000.0), rows, 4, longest=longest)[0]
    assert blurred[-1] <= LIMITS.now.floor
    assert blurred[2:].sum() <= longest[2:].sum() + LIMITS.now.floor
    assert blurred.sum() == pytest.approx(1)


# --- the draws -------------------------------------------------------------------------------------


def law_of(zone: str = "Europe/Amsterdam", **changed: object) -> TimeLaw:
    grid = WaitGrid()
    settings = TimeSettings(period=Period.read("2024-02-10..2024-11-20"), grid=grid, clock=WallClock.read(zone))
    bins = len(grid)
    law = {
        "settings": settings,
        "steps": STEPS,
        "rows": np.zeros(9, dtype=np.int64),
        "waits": np.full((1, bins), 1 / bins),
        "cycle": np.full(bins, 1 / bins),
        "row_of_activity": np.zeros(3, dtype=np.int64),
        "hours": np.eye(24)[[9]],
        "start_hours": np.full(24, 1 / 24),
        "start_weekdays": np.full(7, 1 / 7),
        "weekdays": np.eye(7)[2],
        "weeks": np.full(settings.period.weeks, 1 / settings.period.weeks),
    }
    return TimeLaw(**(law | changed))  # type: ignore[arg-type]


def drawn(law: TimeLaw, count: int = 3000, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    bits = NotPrivateSeededBits(seed)
    plain = LearnedLaw(
        support=SUPPORT, parameters=no_parameters(SUPPORT), symbols=("a", "b", "c"), zone_names=("all",),
        quality=Quality(1.0, ()),
    )  # fmt: skip
    codes, lengths = plain.draw(max(count, 2000), bits)
    instants = draw_times(law, codes, lengths, count, bits)
    return codes[: len(instants)], lengths[:count], instants


@pytest.mark.parametrize("zone", ["Europe/Amsterdam", "America/St_Johns", "UTC"])
def test_instants_never_decrease_and_waits_stay_in_bins_that_their_law_has(zone):
    grid = WaitGrid()
    for number in range(len(grid)):
        law = law_of(zone, waits=np.eye(len(grid))[[number]])
        _, lengths, instants = drawn(law, 400)
        word = np.repeat(np.arange(400), lengths)
        waits = np.diff(instants)[word[1:] == word[:-1]]
        assert (waits >= 0).all()
        assert (grid.bins(waits) == number).all()


def test_starts_are_in_the_period_also_at_its_last_day_and_at_hours_of_the_clock():
    law = law_of(weeks=np.eye(law_of().settings.period.weeks)[-1], start_hours=np.eye(24)[2])
    _, lengths, instants = drawn(law)
    starts = law.settings.clock.local(instants[np.cumsum(lengths) - lengths])
    days = np.unique(starts // DAY)
    period = law.settings.period
    assert period.inside(days).all()
    assert (period.week(days) == period.weeks - 1).all()
    assert set(hour_of(starts).tolist()) == {2}
    spring = law_of(zone="Europe/Amsterdam", start_hours=np.eye(24)[2])
    spring = replace(
        spring, settings=replace(spring.settings, period=Period.read("2024-03-31..2024-03-31")), weeks=np.ones(1)
    )
    _, lengths, instants = drawn(spring, 200)
    shown = spring.settings.clock.local(instants[np.cumsum(lengths) - lengths])
    assert set(hour_of(shown).tolist()) == {3}  # the hour from two to three does not exist on that day


def test_cases_that_leave_the_calendar_end_at_its_last_second():
    law = law_of(waits=np.eye(len(WaitGrid()))[[-1]])
    law = replace(law, settings=replace(law.settings, period=Period.read("9998-12-31..9998-12-31")), weeks=np.ones(1))
    _, lengths, instants = drawn(law, 50)
    assert lengths.max() > 1
    assert instants.max() == LAST_SECOND
    assert len(law.settings.clock.local(instants)) == lengths.sum()


@pytest.mark.parametrize(
    ("period", "zone"), [("0002-01-01..0002-01-01", "Pacific/Apia"), ("9998-12-31..9998-12-31", "America/New_York")]
)
def test_cases_at_the_ends_of_the_calendar_have_times_that_can_be_read(period, zone):
    """There a date of the clock has instants in years whose times are unknown."""
    law = law_of(zone)
    law = replace(law, settings=replace(law.settings, period=Period.read(period)), weeks=np.ones(1))
    _, lengths, instants = drawn(law, 200)
    stamps = Stamps.in_calendar(instants * MICROSECONDS, np.full(len(instants), INSTANT, dtype=np.int8))
    assert (stamps.kind == INSTANT).all()
    starts = instants[np.cumsum(lengths) - lengths]
    assert law.settings.period.inside(day_of(law.settings.clock.local(starts))).all()


def test_long_waits_end_at_likely_hours_and_day_long_ones_on_likely_days():
    grid = WaitGrid()
    week_long = grid.edges.index(7 * DAY)
    waits, cycle = np.eye(len(grid))[[week_long]], np.full(len(grid), 1 / len(grid))

    def clocks(law: TimeLaw) -> np.ndarray:
        _, lengths, instants = drawn(law, 1000)
        word = np.repeat(np.arange(1000), lengths)
        return law.settings.clock.local(instants[np.flatnonzero(word[1:] == word[:-1]) + 1])

    even = np.full(7, 1 / 7)
    assert (hour_of(clocks(law_of("UTC", waits=waits, cycle=cycle, weekdays=even))) == 9).all()
    # where clocks change between the two ends of a move, the hour next to it
    assert set(hour_of(clocks(law_of(waits=waits, cycle=cycle, weekdays=even))).tolist()) <= {8, 9, 10}
    # by weekday, wait by wait: a wait from whose window a Wednesday is in reach ends on one, any other stays
    law = law_of("UTC", hours=np.full((1, 24), 1 / 24))
    rng = random.Random(6)
    wait = np.array([rng.randrange(7 * DAY, 14 * DAY) for _ in range(2000)])
    before = np.array([rng.randrange(10**9, 10**9 + 60 * DAY) for _ in range(2000)])
    low, high = np.full(2000, 7 * DAY), np.full(2000, 14 * DAY - 1)
    moved = _moved(law, np.zeros(2000, dtype=np.int32), before, wait, low, high, True, NotPrivateSeededBits(2))
    least, most = np.maximum(low, wait - 302_400), np.minimum(high, wait + 302_400)
    assert ((moved >= least) & (moved <= most)).all()
    reach = np.zeros(2000, dtype=bool)
    for day in range(9):  # each day that the window touches: its first one, and those after it
        first = (before + least) // DAY + day
        reach |= (weekday_of(first * DAY) == 2) & (first * DAY <= before + most)
    assert (weekday_of((before + moved)[reach]) == 2).all()
    assert (moved[~reach] == wait[~reach]).all()
    assert 100 < (~reach).sum() < 600


def test_cycles_follow_their_law_where_candidates_can_reach_it():
    grid = WaitGrid()
    target = np.zeros(len(grid))
    target[[0, 6, 8, 10]] = [0.25, 0.35, 0.25, 0.15]  # a quarter of all words has one event, and a cycle of 0
    free = law_of(cycle=target, hours=np.full((1, 24), 1 / 24), weekdays=np.full(7, 1 / 7))
    _, lengths, instants = drawn(free, 6000)
    ends = np.cumsum(lengths) - 1
    cycles = instants[ends] - instants[ends - lengths + 1]
    shares = np.bincount(grid.bins(cycles), minlength=len(grid)) / len(cycles)
    assert (lengths == 1).mean() == pytest.approx(0.25, abs=0.03)
    assert np.abs(shares - target).sum() < 0.2  # some cycles leave their bin when long waits move
    even = law_of(cycle=np.full(len(grid), 1 / len(grid)))
    _, lengths, instants = drawn(even, 6000)
    ends = np.cumsum(lengths) - 1
    others = np.bincount(grid.bins(instants[ends] - instants[ends - lengths + 1]), minlength=len(grid)) / len(ends)
    assert np.abs(others - target).sum() > 0.8


def test_few_words_have_times_as_many_have():
    law = law_of(cycle=np.eye(17)[8])
    _, lengths, instants = drawn(law, 3)
    assert len(lengths) == 3
    assert len(instants) == lengths.sum()


def test_a_law_of_times_survives_its_model_file_and_others_are_refused():
    law = law_of()
    document = law.document()
    again = TimeLaw.from_document(document, SUPPORT)
    assert again.document() == document
    for name, value in (
        ("waits", [[0.5, 0.5]]), ("rows", [0] * 8), ("rows", [5] * 9), ("cycle", [2.0] + [0.0] * 16), ("weeks", [1.0]),
        ("hours", [[-1.0] + [2 / 23] * 23]), ("metres", [1.0]), ("row_of_activity", [0]),
    ):  # fmt: skip
        with pytest.raises((ValueError, IndexError)):
            TimeLaw.from_document(document | {name: value}, SUPPORT)
