"""The metrics of comparisons: what each is called, which value is the best, and the table of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from symveil.reports.report import Report, Section, Table

HOLDER_ONLY = (
    "for the holder of the true file only: these numbers depend on the secret sequences and are not private; do not "
    "publish them, nor choose by them which private file to publish"
)


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
"""Of two files of sequences, in the order of the report."""

TABLE_METRICS = {
    "l1": Metric("shares: L1", "0, at most 2", "differences of shares, over all cells", "formula"),
    "jsd": Metric("shares: divergence", "0, at most 0.693", "divergence of the two tables", "formula"),
    "covered": Metric("intervals: coverage", "1", "rows whose interval holds the true raw count", "formula"),
    "top_f1": Metric("frequent rows: F1", "1, at least 0", "the most frequent rows found", "AdaTrace, adapted"),
    "listed_share": Metric(
        "listed share", "1", "of all that is counted in the true file, what the table has rows for", "formula"
    ),
}
"""Of a table beside the true file."""


def compared(
    metrics: Mapping[str, float], meanings: Mapping[str, Metric], *, title: str, notes: Iterable[str] = ()
) -> Report:
    """What was compared, as a table of metrics, with whom it is for.

    Parameters
    ----------
    metrics, meanings
        The values, and how each is presented: `METRICS` or `TABLE_METRICS`, which say the order.
    title
        Of the table.
    notes
        What should be known besides.

    >>> compared({"l1": 0.25}, TABLE_METRICS, title="A table").sections[0].parts[0].rows
    (('shares: L1', '0.25', '0, at most 2', 'differences of shares, over all cells', 'formula', 'l1'),)
    """
    rows = [
        (each.label, f"{metrics[name]:.4g}", each.best, each.meaning, each.source, name)
        for name, each in meanings.items()
        if name in metrics
    ]
    table = Table.from_rows(("metric", "value", "best", "of", "as in", "name"), rows, words=(5,))
    return Report(title=title, sections=(Section(title, (table,)),), notes=tuple(notes), warnings=(HOLDER_ONLY,))
