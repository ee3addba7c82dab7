"""The report of a comparison: one HTML page with its numbers and pictures, and on top whom it is for."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from symveil.comparison.distributions import CodedWords, Integers
from symveil.pictures.charts import Curve, Style, curves_chart, paired_bars_chart
from symveil.pictures.road_map import road_weights_svg
from symveil.reports.page import figure, page, table
from symveil.tasks.compare import HOLDER_ONLY, Comparison

_SHOWN = 20
_LABELS = ("true", "private")
_STYLE = """
p.holder { border: 2px solid var(--mark); border-radius: 8px; padding: .6rem .9rem; font-weight: 600; }
.maps { display: grid; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); gap: 1rem; }
.maps figure svg { min-width: 0; }
"""


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is presented."""

    label: str
    best: str
    meaning: str
    source: str


METRICS = {
    "visits_jsd": Metric("visits: divergence", "0, at most 0.693", "how often each symbol occurs", "LDPTrace, density"),
    "coverage_kendall_tau": Metric(
        "coverage: Kendall's τ", "1, at least −1", "symbols in the order of how many sequences have them", "AdaTrace"
    ),
    "hotspot_ndcg": Metric("hotspots: NDCG", "1, at least 0", "the five most visited symbols, in order", "LDPTrace"),
    "od_jsd": Metric(
        "origin–destination: divergence", "0, at most 0.693", "first and last zone", "AdaTrace, trip error"
    ),
    "length_jsd": Metric(
        "lengths: divergence", "0, at most 0.693", "how many symbols sequences have", "AdaTrace, adapted"
    ),
    "diameter_jsd": Metric(
        "diameters: divergence", "0, at most 0.693", "largest distance within a sequence, 20 buckets", "AdaTrace"
    ),
    "range_query_error": Metric(
        "range queries: relative error", "0", "visits in 225 squares on the map", "LDPTrace, lattice"
    ),
    "pattern_f1": Metric("frequent patterns: F1", "1, at least 0", "the most frequent patterns", "AdaTrace"),
    "pattern_support_error": Metric(
        "frequent patterns: support error", "0", "how often the true file's top patterns occur", "AdaTrace"
    ),
    "bigram_l1": Metric("pairs: L1", "0, at most 2", "which symbol follows which, as shares of all pairs", "formula"),
    "transition_tv": Metric(
        "transitions: total variation", "0, at most 1", "the next symbol, given the last", "formula"
    ),
    "log_similarity": Metric(
        "log similarity: 1 − EMD", "1, at least 0", "whole sequences, normalised edit distance", "Leemans et al. 2019"
    ),
    "cycle_mean_error": Metric("cycle time, mean: relative error", "0", "from the first to the last event", "formula"),
    "cycle_median_error": Metric("cycle time, median: relative error", "0", "the same, median", "formula"),
    "cycle_p90_error": Metric("cycle time, 90 %: relative error", "0", "the same, 0.9 quantile", "formula"),
    "cycle_w1": Metric("cycle time: W1 ÷ mean", "0", "all quantiles of cycle times", "formula"),
    "wait_median_log2": Metric("median waits: |log₂|", "0, at most 10", "doublings, moves with ten waits", "formula"),
    "wait_mean_log2": Metric("mean waits: |log₂|", "0, at most 10", "doublings, moves with ten waits", "formula"),
    "hour_jsd": Metric("hours: divergence", "0, at most 0.693", "at which hour events happen", "formula"),
    "start_hour_jsd": Metric("start hours: divergence", "0, at most 0.693", "at which hour cases start", "formula"),
    "weekday_jsd": Metric("weekdays: divergence", "0, at most 0.693", "on which weekday events happen", "formula"),
    "week_l1": Metric("weeks: L1", "0, at most 2", "in which week cases start", "formula"),
}
"""In the order of the report."""


def comparison_page(comparison: Comparison) -> str:
    """The report as HTML.

    >>> from symveil.tasks.compare import compare
    >>> text = comparison_page(compare(["abca", "abc"], ["abca", "acc"]))
    >>> "holder" in text, text.count("<svg")
    (True, 4)
    """
    files = [
        (label, _escaped(each.file or "words handed over"), f"{len(each.words):,}", f"{len(each.words.codes):,}")
        for label, each in zip(_LABELS, (comparison.true, comparison.private), strict=True)
    ]
    sections = [
        (
            "Whom this is for",
            f'<p class="holder">{_escaped(HOLDER_ONLY[0].upper() + HOLDER_ONLY[1:])}.</p>'
            + table(("", "file", "sequences", "symbols"), files),
        ),
        ("Metrics", _metrics(comparison)),
        ("Visits", _visits(comparison)),
        *([("On the map", _maps(comparison))] if comparison.roads else []),
        ("Origins and destinations", _origins(comparison)),
        ("Lengths", _lengths(comparison)),
        *([("Diameters", _diameters(comparison))] if comparison.diameters is not None else []),
        ("Frequent patterns", _patterns(comparison)),
        ("Which symbol follows which", _pairs(comparison)),
    ]
    synthetic = "" if comparison.private.what is None else f"The private file has {comparison.private.what}. "
    lead = (
        f"What the private file keeps of the true one. {synthetic}Only the holder of the true file may see this page."
    )
    return page("symveil compare: a utility report", lead, sections, style=_STYLE)


def _metrics(comparison: Comparison) -> str:
    rows = [
        (each.label, f"{comparison.metrics[name]:.4g}", each.best, each.meaning, each.source, name)
        for name, each in METRICS.items()
        if name in comparison.metrics
    ]
    text = table(
        ("metric", "value", "best", "of", "as in", "name"),
        [tuple(map(_escaped, row)) for row in rows],
        word_columns=(5,),
    )
    if comparison.left_out:
        left = "; ".join(f"{METRICS[name].label} ({why})" for name, why in comparison.left_out.items())
        text += f"<p>Left out: {_escaped(left)}.</p>"
    return text


def _visits(comparison: Comparison) -> str:
    one, other = (_shares(words.visits()) for words in _words(comparison))
    order = np.argsort(-one, kind="stable")[:_SHOWN]
    return f"<p>The {len(order)} most visited symbols of the true file, as shares of all visits.</p>" + _bars(
        [comparison.symbols[code] for code in order.tolist()], one[order], other[order], "visits"
    )


def _maps(comparison: Comparison) -> str:
    shares = [
        dict(zip(comparison.symbols, _shares(words.visits()).tolist(), strict=True)) for words in _words(comparison)
    ]
    heaviest = max(max(each.values()) for each in shares)
    maps = [
        figure(road_weights_svg(comparison.roads, each, title=f"visits on the map, {label}", heaviest=heaviest))
        + f"<p>{label}</p>"
        for label, each in zip(_LABELS, shares, strict=True)
    ]
    cells = "".join(f"<div>{each}</div>" for each in maps)
    return (
        f'<p>The thicker and darker, the more visits; the same scale on both maps.</p><div class="maps">{cells}</div>'
    )


def _origins(comparison: Comparison) -> str:
    names, zone = np.unique(np.array(comparison.zone_of), return_inverse=True)

    def shares(words: CodedWords) -> dict[tuple[int, int], float]:
        first, last = words.ends()
        pairs, counts = np.unique(np.column_stack([zone[first], zone[last]]), axis=0, return_counts=True)
        return dict(zip(map(tuple, pairs.tolist()), _shares(counts).tolist(), strict=True)) if len(first) else {}

    one, other = (shares(words) for words in _words(comparison))
    top = sorted(one, key=lambda pair: (-one[pair], pair))[:_SHOWN]
    if not top:
        return "<p>No sequence has two symbols.</p>"
    return (
        f"<p>The {len(top)} most frequent pairs of zones ({_escaped(comparison.zones)}), as shares of all "
        "sequences.</p>"
        + _bars(
            [f"{names[a]} → {names[b]}" for a, b in top],
            [one[pair] for pair in top],
            [other.get(pair, 0.0) for pair in top],
            "origins and destinations",
        )
    )


def _lengths(comparison: Comparison) -> str:
    one, other = (words.lengths for words in _words(comparison))
    low, high = int(min(one.min(), other.min())), int(max(np.quantile(one, 0.995), np.quantile(other, 0.995)))
    lengths_shown = np.arange(low, max(high, low + 1) + 1)
    curves = [
        Curve(
            label,
            lengths_shown,
            [float(np.count_nonzero(lengths == length)) / len(lengths) for length in lengths_shown],
            style,
        )
        for label, lengths, style in _styled((one, other))
    ]
    return figure(
        curves_chart(curves, title="lengths", x_label="symbols in a sequence", y_label="share of sequences").to_svg()
    )


def _diameters(comparison: Comparison) -> str:
    assert comparison.diameters is not None  # noqa: S101 - asked for only where there are some
    ends, *counts = comparison.diameters
    middles = (ends[1:] + ends[:-1]) / 2
    curves = [Curve(label, middles, _shares(each), style) for label, each, style in _styled(counts)]
    return figure(
        curves_chart(
            curves, title="diameters", x_label="diameter (unit of the map)", y_label="share of sequences"
        ).to_svg()
    )


def _patterns(comparison: Comparison) -> str:
    if comparison.frequent is None:
        return "<p>A file has no sequence of so many symbols.</p>"
    private_patterns = {pattern for pattern, *_ in comparison.frequent.private}
    rows = [
        (_word(comparison, pattern), f"{one:,}", f"{other:,}", "yes" if pattern in private_patterns else "no")
        for pattern, one, other in comparison.frequent.true[:_SHOWN]
    ]
    least, largest = comparison.patterns
    return (
        f"<p>The most frequent patterns of {least} to {largest} symbols in the true file, and whether they are among "
        f"the private file's {comparison.top}.</p>"
        + table(("pattern", "true", "private", "kept"), rows, word_columns=(0,))
    )


def _pairs(comparison: Comparison) -> str:
    if comparison.pairs is None:
        return "<p>A file has no sequence of two symbols.</p>"
    edges = comparison.pairs.directly_follows()
    one, other = (int(table_.sum()) for table_ in (comparison.pairs.table.true, comparison.pairs.table.private))
    rows = comparison.pairs.largest_differences(_SHOWN)
    text = (
        f"<p>The directly-follows graph has {edges['edges_true']:,} edges in the true file and "
        f"{edges['edges_private']:,} in the private one; {edges['edges_both']:,} are in both, "
        f"{edges['edges_true'] - edges['edges_both']:,} are lost, {edges['edges_private'] - edges['edges_both']:,} are "
        "new.</p>"
    )
    if not rows:
        return f"{text}<p>All pairs have the same shares.</p>"
    return f"{text}<p>The pairs whose shares differ most.</p>" + _bars(
        [" → ".join(comparison.spelled(pair)) for pair, *_ in rows],
        [count / one for _, count, _ in rows],
        [count / other for *_, count in rows],
        "pairs",
    )


def _words(comparison: Comparison) -> tuple[CodedWords, CodedWords]:
    return comparison.true.words, comparison.private.words


def _bars(names: Sequence[str], one: Iterable[float], other: Iterable[float], title: str) -> str:
    return figure(
        paired_bars_chart(names, [*map(float, one)], [*map(float, other)], title=title, labels=_LABELS).to_svg()
    )


def _styled(pair: Sequence[Integers]) -> list[tuple[str, Integers, Style]]:
    styles: tuple[Style, Style] = ("solid", "dashed")
    return [(label, each, style) for label, each, style in zip(_LABELS, pair, styles, strict=True)]


def _shares(counts: Integers) -> np.ndarray:
    return np.asarray(counts / max(1, int(counts.sum())))


def _word(comparison: Comparison, codes: Iterable[int]) -> str:
    return " ".join(map(_escaped, comparison.spelled(codes)))


_escaped: Callable[[str], str] = html.escape
