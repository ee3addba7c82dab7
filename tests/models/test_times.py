"""Wall clocks, grids and periods against Python's own calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from symveil.errors import ParameterError
from symveil.models.times import (
    DEFAULT_EDGES,
    Period,
    Stamps,
    WaitGrid,
    WallClock,
    day_of,
    hour_of,
    wall_seconds,
    weekday_of,
)

ZONES = ("UTC", "Europe/Amsterdam", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Monrovia")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("zone", ZONES)
def test_the_wall_clock_is_that_of_python_for_every_quarter_of_an_hour_of_a_year_and_at_the_ends_of_the_calendar(zone):
    first = int((datetime(2024, 1, 1, tzinfo=UTC) - EPOCH).total_seconds())
    ends = [
        datetime(2, 1, 1, tzinfo=UTC),
        datetime(9998, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(1919, 3, 1, tzinfo=UTC),
    ]
    seconds = np.array(
        [*range(first, first + 366 * 86_400, 900), *(int((end - EPOCH).total_seconds()) for end in ends)]
    )
    wall = WallClock.read(zone).local(seconds)
    for instant, shown in zip(seconds.tolist()[::7], wall.tolist()[::7], strict=True):
        moment = (EPOCH + timedelta(seconds=instant)).astimezone(ZoneInfo(zone))
        expected = (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
        assert shown == expected
        assert hour_of(np.array([shown]))[0] == moment.hour
        assert weekday_of(np.array([shown]))[0] == moment.weekday()
        assert date(1970, 1, 1) + timedelta(days=int(day_of(np.array([shown]))[0])) == moment.date()


@pytest.mark.parametrize("zone", ZONES)
def test_a_skipped_time_moves_forward_and_of_one_that_occurs_twice_the_first_is_taken(zone):
    clock, rules = WallClock.read(zone), ZoneInfo(zone)
    first = int((datetime(2024, 1, 1, tzinfo=UTC) - EPOCH).total_seconds())
    wall = np.arange(first, first + 366 * 86_400, 600)
    instants = clock.instants(wall)
    shown = clock.local(instants)
    assert (shown >= wall).all()
    for at in np.flatnonzero(shown != wall).tolist():  # only times that no instant shows
        plain = (EPOCH + timedelta(seconds=int(wall[at]))).replace(tzinfo=None)
        assert plain.replace(tzinfo=rules).astimezone(UTC).astimezone(rules).replace(tzinfo=None) != plain
    for at in range(0, len(wall), 97):
        plain = (EPOCH + timedelta(seconds=int(wall[at]))).replace(tzinfo=None)
        expected = (plain.replace(tzinfo=rules, fold=0).astimezone(UTC) - EPOCH) // timedelta(seconds=1)
        assert instants[at] == expected  # Python's reading of the first occurrence, and of a gap
    if zone == "Europe/Amsterdam":
        spring = int((datetime(2024, 3, 31, 2, 30, tzinfo=UTC) - EPOCH).total_seconds())
        autumn = int((datetime(2024, 10, 27, 2, 30, tzinfo=UTC) - EPOCH).total_seconds())
        assert clock.local(clock.instants(np.array([spring]))).tolist() == [spring + 3600]
        assert clock.instants(np.array([autumn])).tolist() == [autumn - 7200]


def test_the_usual_grid_has_seventeen_bins_and_the_last_one_is_open():
    grid = WaitGrid()
    assert len(grid) == 17
    assert grid.edges == DEFAULT_EDGES
    waits = np.array([-7, 0, 1, 9, 10, 365 * 86_400, 10**12])
    assert grid.bins(waits).tolist() == [0, 0, 1, 1, 2, 16, 16]
    assert grid.ends(16) == (120 * 86_400, None)
    assert WaitGrid.read("1s..365d") == grid
    assert WaitGrid.read("10m..30h").edges == (0, 600, 900, 3600, 14_400, 43_200, 86_400, 108_000)


@pytest.mark.parametrize("text", ["1m,1h", "0", "0,1m,1m", "0,1h,1m", "1h..1m", "0,5x", "", "0,99999999d"])
def test_grids_that_are_none_are_refused_before_any_file_is_opened(text):
    with pytest.raises(ParameterError, match="durations"):
        WaitGrid.read(text)


@pytest.mark.parametrize(
    "text", ["2024-01-02..2024-01-01", "2024-01..2024-02", "0001-01-01..0001-02-01", "x", "2024-02-30..2024-03-01"]
)
def test_periods_that_are_none_are_refused(text):
    with pytest.raises(ParameterError, match="period"):
        Period.read(text)


def test_weeks_are_blocks_of_seven_dates_and_months_are_those_of_the_calendar():
    period = Period.read("2024-01-30..2024-03-01")
    days = period.first_day + np.arange(period.days)
    assert period.week(days).tolist() == [number // 7 for number in range(32)]
    assert period.weeks == 5
    assert period.month(days).tolist() == [0, 0, *[1] * 29, 2]
    assert period.month_names() == ("2024-01", "2024-02", "2024-03")
    assert period.inside(np.array([days[0] - 1, days[0], days[-1], days[-1] + 1])).tolist() == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("zone", ["Nowhere/Land", "../etc/passwd", "", "Europe"])
def test_a_zone_that_is_none_is_refused(zone):
    with pytest.raises(ParameterError, match="timezone"):
        WallClock.read(zone)


def test_a_time_without_an_offset_is_never_converted():
    clock = WallClock.read("Asia/Kathmandu")
    stamps = Stamps(np.array([3_600_000_000, 3_600_000_000]), np.array([1, 2], dtype=np.int8))
    assert wall_seconds(stamps, clock).tolist() == [3600 + 5 * 3600 + 1800, 3600]  # 05:30 in 1970
