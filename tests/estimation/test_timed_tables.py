"""Estimates from private times: unbiased and with the right variance by enumeration, and refused by the public rule."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.errors import InputError, ParameterError
from symveil.estimation.table import Batch
from symveil.estimation.timed_tables import TimedTables, refusal
from symveil.laws.event_law import EventLaw
from symveil.mechanisms.timed_events import EventDraws, choose_event_law
from symveil.randomness import NotPrivateSeededBits

LAWS = [
    EventLaw(symbols=3, bins=4, circle=True, shift=1, step=1, rate=Fraction(2)),
    EventLaw(symbols=2, bins=5, circle=True, shift=2, step=2, rate=Fraction(3)),
    EventLaw(symbols=1, bins=5, circle=True, shift=2, step=2, rate=Fraction(3)),
    EventLaw(symbols=2, bins=4, circle=False, shift=1, step=1, rate=Fraction(2)),
    EventLaw(symbols=3, bins=4, circle=False, shift=3, step=2, rate=Fraction(4)),
    EventLaw.uniform(symbols=2, bins=4, circle=False, rate=Fraction(1)),
    EventLaw.uniform(symbols=3, bins=5, circle=True, rate=Fraction(2)),
]


def outcomes(law, events):
    """Every private version of some events with its probability."""
    same, other = law.kernels(math.exp(-float(law.rate)))
    every = list(itertools.product(range(law.symbols), range(law.bins)))
    for out in itertools.product(every, repeat=len(events)):
        chance = math.prod(
            (same if true[0] == released[0] else other)[true[1]][released[1]]
            for true, released in zip(events, out, strict=True)
        )
        yield out, chance


def estimated(law, events, by_symbol):
    tables = TimedTables(law, by_symbol=by_symbol, leading="hour")
    codes, bins = (np.array(each, dtype=np.int64) for each in (zip(*events, strict=True) if events else ((), ())))
    tables.add(one_word(codes, bins))
    return tables.finish()


def one_word(codes: np.ndarray, bins: np.ndarray) -> Batch:
    """A word whose events have these bins."""
    return Batch(codes.astype(np.int32), np.array([len(codes)]), np.array([0]), attributes=(bins,))


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("by_symbol", [True, False])
def test_unbiased_with_its_variance_by_enumeration_for_two_events(law, by_symbol):
    events = [(0, 1), (law.symbols - 1, law.bins - 1)]
    true = np.zeros((law.bins, law.symbols))
    for code, bin_ in events:
        true[bin_, code] += 1
    shown = true if by_symbol and law.symbols > 1 else true.sum(axis=1)
    mean, square, said, total = np.zeros(shown.shape), np.zeros(shown.shape), np.zeros(shown.shape), 0.0
    for out, chance in outcomes(law, events):
        table = estimated(law, out, by_symbol and law.symbols > 1)
        mean += chance * table.estimate
        square += chance * table.estimate**2
        # before it is cut at 0: only the closed form is unbiased
        said += chance * (_squares(law, out, by_symbol and law.symbols > 1) - table.estimate)
        total += chance
    assert abs(total - 1) < 1e-12
    scale = max(1.0, float(square.max()))
    assert np.abs(mean - shown).max() < 1e-12 * scale
    assert np.abs(said - (square - mean**2)).max() < 1e-11 * scale


def _squares(law, out, by_symbol):
    """Σ ĥ² by the definition: the estimate from each event alone, squared."""
    return sum(estimated(law, [event], by_symbol).estimate ** 2 for event in out)


def test_the_variance_that_is_reported_is_the_closed_form_or_the_squares_where_it_is_negative():
    law = LAWS[0]
    for out, _ in itertools.islice(outcomes(law, [(0, 1), (2, 3)]), 0, None, 7):
        table = estimated(law, out, True)
        squares = _squares(law, out, True)
        closed = squares - table.estimate
        assert np.abs(table.variances.values - np.where(closed > 0, closed, squares)).max() < 1e-9


@pytest.mark.parametrize(
    ("epsilon", "bar"), [pytest.param(1, 0.30, id="1"), pytest.param(2, 0.18, id="2"), pytest.param(4, 0.016, id="4")]
)
def test_bar_of_the_joint_table(epsilon, bar):
    """100,000 × 6 events, 8 symbols × 24 hours, shift 1: the L1 distance of normalised tables (0 to 2)."""
    rng = np.random.default_rng(5)
    hours, m = np.arange(24), 8
    truth = rng.dirichlet(np.full(m, 2.0))[:, None] * np.array(
        [1 + 0.9 * np.cos(2 * np.pi * (hours - rng.uniform(0, 24)) / 24) for _ in range(m)]
    )
    cells = rng.choice(m * 24, size=600_000, p=(truth / truth.sum()).ravel())
    codes, bins = (cells // 24).astype(np.int32), cells % 24
    law = choose_event_law(symbols=m, bins=24, circle=True, shift=1, epsilon=Fraction(epsilon))
    released, there = EventDraws(law).draw(codes, bins, np.full(100_000, 6), NotPrivateSeededBits(epsilon))
    tables = TimedTables(law, by_symbol=True, leading="hour")
    tables.add(one_word(released, there))
    result = tables.finish()
    true = np.bincount(bins * m + codes, minlength=24 * m).reshape(24, m)
    assert np.abs(result.consistent / result.consistent.sum() - true / true.sum()).sum() < bar
    low, high, _, _ = result.intervals(0.95)
    assert 0.88 < ((low <= true) & (true <= high)).mean() <= 1


def log(folder: Path, cases: int) -> Path:
    file = folder / "log.csv"
    rows = []
    for case in range(cases):
        rows.append(f"k{case},a,2024-05-06T{8 + case % 2:02d}:00:00")
        rows.append(f"k{case},b,2024-05-06T{12 + case % 2:02d}:30:00")
    file.write_text("case,activity,stamp\n" + "\n".join(rows) + "\n")
    return file


NAMED = {"case": "case", "symbol": "activity", "order": "stamp", "time": "stamp", "alphabet": "abc"}


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_visits_by_hour(tmp_path, suffix):
    if suffix == "csv":
        source = log(tmp_path, 1500)
    else:
        import pyarrow as pa
        import pyarrow.csv as pc
        import pyarrow.parquet as pq

        table = pc.read_csv(log(tmp_path, 1500))
        source = tmp_path / f"log.{suffix}"
        if suffix == "parquet":
            pq.write_table(table, source)
        else:
            names = table.cast(pa.schema([(name, pa.string()) for name in table.column_names])).to_pylist()
            source.write_text("".join(f"{__import__('json').dumps(row)}\n" for row in names))
    release = sv.privatize_file(source, tmp_path / f"p.{suffix}", epsilon=4, time_grid="hour", time_shift=1, **NAMED)
    answer = sv.estimate(release.out, "visits", by="hour", confidence=0.999999)
    rows = {(row["symbols"][0], row["hour"]): row for row in (answer.row(index) for index in range(len(answer)))}
    assert len(rows) == 72
    for key, count in {("a", 8): 750, ("a", 9): 750, ("b", 12): 750, ("b", 13): 750, ("c", 3): 0}.items():
        assert rows[key]["low_all"] <= count <= rows[key]["high_all"]
    assert answer.document(1)["rows"][0]["hour"] in (8, 9, 12, 13)
    assert "hour" in answer.table.column_names
    # other statistics of the symbols know their noise too: that of the symbol alone
    visits = sv.estimate(release.out, "visits", confidence=0.999999)
    every = {row["symbols"][0]: row for row in (visits.row(index) for index in range(3))}
    assert every["a"]["low_all"] <= 1500 <= every["a"]["high_all"]
    assert every["c"]["low_all"] <= 0 <= every["c"]["high_all"]
    assert every["a"]["standard_error"] < 120


@pytest.mark.parametrize("by", [None, "activity"])
def test_durations(tmp_path, by):
    release = sv.privatize_file(
        log(tmp_path, 2500), tmp_path / "p.csv", epsilon=4, time_grid="wait:0,1h,4h,1d", time_shift=1, **NAMED
    )
    answer = sv.estimate(release.out, "durations", by=by, confidence=0.999999)
    rows = [answer.row(index) for index in range(len(answer))]
    assert len(rows) == (3 if by is None else 9)
    long = [row for row in rows if row["from_seconds"] == 4 * 3600 and (by is None or row["symbols"] == ["b"])]
    assert long[0]["low_all"] <= 2500 <= long[0]["high_all"]
    assert (long[0]["wait"], long[0]["to_seconds"]) == ("from 4h", None)
    assert answer.table.column_names[: 3 if by is None else 4][-3:] == ["wait", "from_seconds", "to_seconds"]
    with pytest.raises(InputError, match="expected the statistic durations or lengths where waits are released"):
        sv.estimate(release.out, "visits")
    assert sv.estimate(release.out, "lengths").row(0)["estimate"] == 2500


def test_refused_where_too_little_is_left(tmp_path):
    release = sv.privatize_file(
        log(tmp_path, 30), tmp_path / "p.csv", epsilon=1, time_grid="hour", time_shift=3, **NAMED
    )
    with pytest.raises(InputError, match=r"least factor × √events at least 5.*epsilon .* would have been enough"):
        sv.estimate(release.out, "visits", by="hour")
    vanishing = EventLaw(symbols=3, bins=24, circle=True, shift=3, step=2, rate=Fraction(9))
    assert not TimedTables.usable(vanishing, 10**12, by_symbol=True)
    assert "no number of events is enough" in str(refusal(vanishing, 10**12, "advice", by_symbol=True))


def test_refusals(tmp_path):
    hours = sv.privatize_file(log(tmp_path, 3), tmp_path / "p.csv", epsilon=9, time_grid="hour", **NAMED)
    plain = sv.privatize_file(
        log(tmp_path, 3), tmp_path / "q.csv", epsilon=9, **{key: NAMED[key] for key in ("case", "symbol", "alphabet")}
    )
    for out, statistic, by, message in (
        (hours.out, "durations", None, "private waits .* for durations, found hours"),
        (hours.out, "visits", "hour-of-week", "private hour-of-weeks .* found hours"),
        (plain.out, "visits", "hour", "private hours .* found none"),
    ):
        with pytest.raises(InputError, match=message):
            sv.estimate(out, statistic, by=by)
    for statistic, by in (("visits", "activity"), ("od", "hour"), ("durations", "hour")):
        with pytest.raises(ParameterError, match="by: expected"):
            sv.estimate(hours.out, statistic, by=by)
    with pytest.raises(ParameterError, match="target: expected file"):
        sv.estimate(hours.out, "visits", by="hour", target="population")
    with pytest.raises(InputError, match="statistic by name where symbols are released with their times"):
        sv.estimate_statistic(hours.out, lambda words: [len(words)])
