"""Private counts of times: starts by hour, waits and cycle times on a public grid, bottlenecks, means.

Cells are those of `time_cells`, noise and intervals those of `noise.Query`. Quantiles and means have intervals of their
own from noisy sums: proved (docs/theory/central.md), and narrower than bounds that hold for all cells at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from flint import arb
from numpy.typing import NDArray

from symveil.central.cells import GRID, Read
from symveil.central.counts import CountTerms, PrivateCounts
from symveil.central.limits import LIMITS
from symveil.central.noise import Query
from symveil.central.time_cells import SHARED_OUT, TimeCells, TimeQuestion, group_columns
from symveil.estimation.named_table import SHOWN
from symveil.models.times import spelled_duration
from symveil.numbers.conversions import ball, dyadic, precision, upper_bound
from symveil.numbers.rationals import percent
from symveil.randomness import RecordKey
from symveil.reports.report import Report, Section, Table

_BITS = 256
_TINY = 1e-9


def quantile_bins(noisy: Sequence[int], wanted: Fraction, widths: Sequence[int]) -> tuple[int, int]:
    """The first and the last bin, counted from 1, between which the bin of a quantile is, as often as widths promise.

    With Ĝ_k = Σ_{j≤k} y_j − p Σ_j y_j the bin of the quantile is the first k with G_k ≥ 0. It is at least the first k
    with Ĝ_k + h_k ≥ 0, and at most 1 + the last k with Ĝ_k − h_k < 0 (docs/theory/central.md).

    `widths` are those of `quantile_widths`: for each k below the number of bins c·h_k, where c is the denominator of p.

    >>> quantile_bins([0, 10, 0, 0], Fraction(1, 2), [0, 0, 0])
    (2, 2)
    """
    over, under = wanted.denominator, wanted.numerator
    total, running = sum(noisy), 0
    low, high = len(noisy), 1
    for k, value in enumerate(noisy[:-1], start=1):
        running += value
        above = over * running - under * total
        if above + widths[k - 1] >= 0:
            low = min(low, k)
        if above - widths[k - 1] < 0:
            high = k + 1
    return min(low, high), max(low, high)


def quantile_widths(bins: int, wanted: Fraction, scale: Fraction, confidence: float) -> list[int]:
    """c·h_k for k from 1 to `bins` − 1: the noise of Ĝ_k is above h_k with a chance of at most (1 − confidence)/2.

    By Chernoff: e^{−xh}·Π E e^{x w Z} with weights w = 1 − p for the first k bins and p for the others. Any x below
    1/(scale·max w) is valid: one is searched for with floats, and the bound is evaluated with balls, upwards.

    The scale of the noise is in steps of the grid.
    """
    p = float(wanted)
    widths = []
    for k in range(1, bins):
        weights = ((wanted, bins - k), (1 - wanted, k))

        def height(t: float, k: int = k) -> float:
            first, second = -k * math.log1p(-(((1 - p) * t) ** 2)), -(bins - k) * math.log1p(-((p * t) ** 2))
            return (first + second + math.log(2 / (1 - confidence))) / t

        least, most = 1e-6, (1 - 1e-9) / max(p, 1 - p)
        for _ in range(80):  # the bound has one minimum
            one, other = least + (most - least) * 0.382, least + (most - least) * 0.618
            least, most = (least, other) if height(one) < height(other) else (one, most)
        at = Fraction((least + most) / 2)
        with precision(_BITS):
            step = 1 / ball(scale)
            spread = arb(0)
            for weight, times in weights:
                rate = ball(weight * at) * step
                up, down = 1 - (rate - step).exp(), 1 - (-rate - step).exp()
                spread += times * (2 * (1 - (-step).exp()).log() - up.log() - down.log())
            outside = (1 - arb(dyadic(confidence))) / 2
            width = upper_bound((spread - outside.log()) / (ball(at) * step) * wanted.denominator)
        widths.append(-(-width.numerator // width.denominator))
    return widths


def mean_widths(confidence: float, scale: Fraction) -> NDArray[np.float64]:
    """h(u) in steps of the grid, at the ends of `mean_cells` equal parts of [0, 1], rounded upwards.

    P(|(1 − u)Z₁ − uZ₂| > h) for continuous Laplace noise of scales s₁ ≥ s₂ = scale·(max, min)(u, 1 − u) is
    (s₁²e^{−h/s₁} − s₂²e^{−h/s₂})/(s₁² − s₂²); discrete noise is within one step of it.
    """
    u = np.arange(LIMITS.now.mean_cells // 2 + 1) / LIMITS.now.mean_cells
    large, small = 1 - u, u
    low, high = np.zeros(len(u)), np.full(len(u), 60.0)
    for _ in range(200):
        middle = (low + high) / 2
        too_likely = _tail(middle, large, small) > (1 - confidence) * (1 - _TINY)
        low, high = np.where(too_likely, middle, low), np.where(too_likely, high, middle)
    half = np.maximum.accumulate(high[::-1])[::-1] * (1 + _TINY)  # from the middle outwards it does not fall
    widths = np.concatenate([half, half[-2::-1]]) * float(scale) * (1 + _TINY) + 1
    return np.asarray(widths)


def _tail(height: NDArray[np.float64], large: NDArray[np.float64], small: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        second = np.where(small > 0, small**2 * np.exp(-height / np.maximum(small, 1e-300)), 0.0)
        apart = (large**2 * np.exp(-height / large) - second) / (large**2 - small**2)
    alike = (1 + height / (2 * large)) * np.exp(-height / large)
    # where scales nearly agree the difference quotient loses digits; the tail of two scales that agree is above it
    return np.asarray(np.where(large - small < 1e-4, alike, apart))


def mean_interval(waited: int, total: int, widths: NDArray[np.float64]) -> tuple[float, float]:
    """The hull of the u in [0, 1] with |â − u·(â + b̂)| ≤ h(u), outwards; where there is none, the nearer end.

    `waited` and `total` are â and â + b̂ in steps of the grid, `widths` those of `mean_widths`.
    """
    u = np.arange(LIMITS.now.mean_cells + 1) / LIMITS.now.mean_cells
    apart = np.array([float(waited - 0)]) - u * float(total)
    slack = _TINY * (abs(float(waited)) + abs(float(total)))
    one, other = apart[:-1], apart[1:]
    least = np.where((one <= 0) != (other <= 0), 0.0, np.minimum(np.abs(one), np.abs(other)))
    inside = np.flatnonzero(least <= np.maximum(widths[:-1], widths[1:]) + slack)
    if not len(inside):
        end = 1.0 if abs(float(waited - total)) < abs(float(waited)) else 0.0
        return end, end
    return float(u[inside[0]]), float(u[inside[-1] + 1])


@dataclass(frozen=True, kw_only=True, eq=False)
class TimeCounts(PrivateCounts):
    """Private counts of times: rows have the hour, the date or the bin that they count.

    Parameters
    ----------
    question
        What was counted.
    keys
        The columns that tell rows of one group apart.
    quantile_rows
        The rows of quantiles, each with the ends of its interval.
    epsilon, bound, clipped_share, queries, notes, delta, threshold
        As in `PrivateCounts`.
    statistic, confidence, symbols, leading, places, codes, numbers
        As in `NamedTable`.
    """

    question: TimeQuestion
    keys: dict[str, list[Any]] = field(repr=False)
    quantile_rows: tuple[dict[str, Any], ...] = ()
    what: ClassVar[str] = "private counts of times"

    def row(self, index: int) -> dict[str, Any]:
        """One row, by its rank."""
        plain = super().row(index)
        own = {name: values[index] for name, values in self.keys.items()}
        return _with_group(self.question, plain["symbols"]) | own | {k: v for k, v in plain.items() if k != "symbols"}

    def largest(self, count: int) -> TimeCounts:
        """The first so many rows."""
        return replace(super().largest(count), keys={name: values[:count] for name, values in self.keys.items()})

    def as_text(self, columns: Sequence[str], *, top: int) -> tuple[list[str], list[list[str]]]:
        """The heads and the first rows of a table for people."""
        names = [name for name in self.keys if not name.endswith("_seconds")]
        grid = "from_seconds" in self.keys
        shown = [name for name in columns if name in self.numbers]
        heads = [*(["symbols"] if self.codes.shape[1] else []), *names, *(["wait"] if grid else []), *shown]
        rows = []
        for index in range(min(len(self), top)):
            row = self.row(index)
            text = [" → ".join(row["symbols"])] if self.codes.shape[1] else []
            text += [str(row[name]) for name in names]
            if grid:
                text.append(_bin_text(row["from_seconds"], row["to_seconds"]))
            rows.append(text + [_short(row[name], self.question, name) for name in shown])
        return [name.replace("_", " ") for name in heads], rows

    def document(self, top: int | None = None) -> dict[str, Any]:
        """The JSON form; rows of quantiles stand behind the others."""
        plain = super().document(top)
        return {**plain, "rows": [*plain["rows"], *self.quantile_rows], "time": self.question.document()}

    @property
    def table(self) -> pa.Table:
        """All rows as an Arrow table, those of quantiles at the end."""
        plain = super().table
        order = self.codes.shape[1]
        own = group_columns(self.question, order)
        columns = {name: plain[at] for at, name in enumerate(own)}
        columns |= {
            name: pa.array(values, type=pa.string() if values and isinstance(values[0], str) else pa.int64())
            for name, values in self.keys.items()
        }
        columns |= {name: plain[name] for name in self.numbers}
        table = pa.table(columns)
        if not self.quantile_rows:
            return table
        listed = self.quantile_rows
        rows = {name: pa.array([row["symbols"][at] for row in listed], type=pa.string()) for at, name in enumerate(own)}
        rows |= {
            name: pa.array([row[name] for row in listed], type=pa.float64()) for name in ("quantile", "low", "high")
        }
        return pa.concat_tables([table, pa.table(rows)], promote_options="default")

    def report(self, top: int = SHOWN) -> Report:
        """The first rows, and those of quantiles."""
        plain = super().report(top)
        if not self.quantile_rows:
            return plain

        def ended(seconds: float | None) -> str:
            return "open" if seconds is None else spelled_duration(int(seconds))

        rows = [
            (" → ".join(row["symbols"]) or "all", f"{row['quantile']:g}", ended(row["low"]), ended(row["high"]))
            for row in self.quantile_rows[:SHOWN]
        ]
        table = Table.from_rows(("of", "quantile", "low", "high"), rows)
        quantiles = Section(f"Quantiles, {percent(self.confidence)} intervals each", (table,))
        return replace(plain, sections=(*plain.sections, quantiles))

    def _name(self, index: int) -> str:
        row = self.row(index)
        parts = [" → ".join(row["symbols"])] if row["symbols"] else []
        if "from_seconds" in row:
            parts.append(_bin_text(row["from_seconds"], row["to_seconds"]))
        parts += [str(values[index]) for name, values in self.keys.items() if not name.endswith("_seconds")]
        return ", ".join(parts)


def _with_group(question: TimeQuestion, symbols: list[str]) -> dict[str, Any]:
    """What names the group of a row."""
    own: dict[str, Any] = {"symbols": symbols}
    if question.by == "activity":
        own["activity"] = symbols[0]
    elif question.by == "move":
        own["move"] = symbols
    return own


def _bin_text(low: int, high: int | None) -> str:
    return (
        f"{spelled_duration(low)} or more" if high is None else f"{spelled_duration(low)} to {spelled_duration(high)}"
    )


def _about(seconds: float) -> str:
    """A duration for readers, with three digits."""
    size, unit = next(
        ((size, unit) for size, unit in ((86_400, "d"), (3600, "h"), (60, "m")) if seconds >= size), (1, "s")
    )
    return f"{seconds / size:.3g}{unit}"


def _short(value: float | None, question: TimeQuestion, name: str) -> str:
    if value is None:
        return "not known"
    if question.kind == "mean-waits" and name != "count":
        return _about(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def private_time_counts(
    cells: TimeCells, read: Read, persons: int, terms: CountTerms, *, names: Sequence[str], keys: RecordKey
) -> TimeCounts:
    """Count times with one ε per person.

    The groups of words are persons, numbered from 0; how many there are is a secret.
    """
    question = cells.question
    if question.kind in SHARED_OUT:
        queries, share = replace(terms, bound="normalised").queries(question.name, 1), None
        answers = queries[-1].answered(cells.shared_out(read), keys, cells=cells.names(names))
    else:
        answers, queries, share = terms.answered(question.name, cells, read, persons, names=names, keys=keys)
    return released_times(cells, answers, queries, names=names, clipped_share=share, confidence=terms.confidence)


def released_times(
    cells: TimeCells,
    answers: Sequence[int],
    queries: Sequence[Query],
    *,
    names: Sequence[object],
    clipped_share: float | None,
    confidence: float,
) -> TimeCounts:
    """The table that noisy sums lead to: everything here reads released numbers only.

    Answers are in steps of the grid.
    """
    question = cells.question
    plain = PrivateCounts.of(
        cells.statistic, cells.codes(), answers, queries,
        names=names, clipped_share=clipped_share, confidence=confidence,
    )  # fmt: skip
    every = {each.name: getattr(plain, each.name) for each in fields(PrivateCounts)}
    order = np.argsort(-np.array([answer / GRID for answer in answers]), kind="stable").tolist()
    own = {name: [values[at] for at in order] for name, values in cells.keys().items()}
    if question.kind == "mean-waits":
        every |= _mean_rows(cells, answers, queries[-1], confidence)
        own = {}
    return TimeCounts(
        **every,
        question=question,
        keys=own,
        quantile_rows=_quantile_rows(cells, answers, queries[-1], names, confidence),
    )


def _quantile_rows(
    cells: TimeCells, answers: Sequence[int], query: Query, names: Sequence[object], confidence: float
) -> tuple[dict[str, Any], ...]:
    question, bins = cells.question, cells.slots
    rows = []
    for wanted in question.quantiles:
        widths = quantile_widths(bins, wanted, query.scale, confidence)
        for group, codes in enumerate(cells.groups.tolist()):
            noisy = answers[group * bins : (group + 1) * bins]
            low, high = quantile_bins(noisy, wanted, widths)
            rows.append(
                {
                    **_with_group(question, [str(names[code]) for code in codes]),
                    "quantile": float(wanted),
                    "low": float(question.grid.edges[low - 1]),
                    "high": None if high == bins else float(question.grid.edges[high]),
                }
            )
    return tuple(rows)


def _mean_rows(cells: TimeCells, answers: Sequence[int], query: Query, confidence: float) -> dict[str, Any]:
    """The columns of a table of means: the weight of each row, what its waits have of it, the mean and its interval."""
    cap = float(cells.question.cap or 1)
    waited, rest = np.array(answers[::2], dtype=object), np.array(answers[1::2], dtype=object)
    total = waited + rest
    rows = len(total)
    columns: dict[str, NDArray[np.float64]] = {
        "mean": np.array([
            cap * min(max(a / t, 0.0), 1.0) if t > 0 else math.nan for a, t in zip(waited, total, strict=True)
        ]),
        "count": np.array([value / GRID for value in total]),
        "waited": np.array([value / GRID for value in waited]),
    }  # fmt: skip
    for suffix, level in (("", confidence), ("_all", confidence ** (1 / max(rows, 1)))):
        widths = mean_widths(level, query.scale)
        ends = [mean_interval(a, t, widths) for a, t in zip(waited, total, strict=True)]
        columns[f"low{suffix}"] = np.array([math.nextafter(low * cap, -1.0) if low > 0 else 0.0 for low, _ in ends])
        columns[f"high{suffix}"] = np.array([min(math.nextafter(high * cap, math.inf), cap) for _, high in ends])
    columns["consistent"] = np.where(np.isnan(columns["mean"]), 0.0, columns["mean"])
    # by what is sure: a row of noise alone may have any mean, and its interval begins at 0
    order = np.lexsort((-columns["consistent"], -columns["low"], -columns["low_all"]))
    return {"codes": cells.groups[order], "numbers": {name: values[order] for name, values in columns.items()}}
