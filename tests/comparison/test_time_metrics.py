"""Metrics of times against sums written out."""

from __future__ import annotations

import numpy as np
import pytest

from symveil.comparison.distributions import CodedWords
from symveil.comparison.times import TIME_METRICS, TimedWords, time_metrics
from symveil.models.times import Period, Stamps, WallClock

DAY = 86_400


def timed(cases: list[list[int]]) -> TimedWords:
    """Cases of symbols 0, 1, … whose events have these seconds."""
    words = CodedWords.from_words([list(range(len(case))) for case in cases], symbols=3)
    seconds = np.array([second for case in cases for second in case], dtype=np.int64)
    return TimedWords(words, Stamps(seconds * 10**6, np.ones(len(seconds), dtype=np.int8)), WallClock())


def test_every_metric_is_its_formula():
    true = timed([[0, 60, 3600]] * 10)
    private = timed([[7 * DAY, 7 * DAY + 180, 7 * DAY + 7200]] * 10)
    found = time_metrics(true, private, Period.read("1970-01-01..1970-01-31"))
    assert set(found) == set(TIME_METRICS)
    for name in ("mean", "median", "p90"):
        assert found[f"cycle_{name}_error"] == 1.0
    assert found["cycle_w1"] == 1.0
    doublings = (np.log2((180 + 60) / (60 + 60)) + np.log2((7020 + 60) / (3540 + 60))) / 2
    assert found["wait_median_log2"] == pytest.approx(doublings)
    assert found["wait_mean_log2"] == pytest.approx(doublings)
    assert found["start_hour_jsd"] == 0.0
    assert found["week_l1"] == 2.0
    assert found["weekday_jsd"] == 0.0
    hours = {"true": [2 / 3, 1 / 3, 0], "private": [2 / 3, 0, 1 / 3]}
    middle = [(p + q) / 2 for p, q in zip(*hours.values(), strict=True)]
    jsd = sum(0.5 * p * np.log(p / m) for each in hours.values() for p, m in zip(each, middle, strict=True) if p)
    assert found["hour_jsd"] == pytest.approx(jsd)


def test_a_file_against_itself_is_perfect_and_without_times_nothing_is_found():
    true = timed([[0, 60, 3600]] * 10)
    assert set(time_metrics(true, true, None).values()) == {0.0}
    unknown = TimedWords(true.words, Stamps.unknown(len(true.words.codes)), WallClock())
    assert set(time_metrics(true, unknown, None).values()) == {None}
