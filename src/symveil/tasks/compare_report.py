"""The page of a comparison: its numbers and pictures, and on top whom it is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from symveil.comparison.distributions import CodedWords, Integers
from symveil.comparison.times import FEWEST_WAITS, TimedWords
from symveil.models.times import DAY, HOUR, hour_of
from symveil.pictures.charts import Curve, Style, curves_chart, paired_bars_chart
from symveil.pictures.maps import road_weights_svg
from symveil.reports.page import report_page
from symveil.reports.report import Part, Picture, Report, Section, Table, Text
from symveil.tasks.compare import Comparison
from symveil.tasks.compare_tables import TableComparison

_SHOWN, _SHOWN_WAITS, _SHOWN_CYCLES = 20, 12, 0.97
_HALF = 520.0  # as two charts stand side by side
_UNITS = (("days", DAY), ("hours", HOUR), ("minutes", 60), ("seconds", 1))
_LABELS = ("true", "private")
_STYLES: tuple[Style, Style] = ("solid", "dashed")


def comparison_page(comparison: Comparison | TableComparison) -> str:
    """The report as HTML.

    >>> from symveil.tasks.compare import compare
    >>> text = comparison_page(compare(["abca", "abc"], ["abca", "acc"]))
    >>> "holder" in text, text.count("<svg")
    (True, 4)
    """
    report, for_whom = comparison.report(), "Only the holder of the true file may see this page."
    (metrics,) = (part for section in report.sections for part in section.parts)
    left_out = "; ".join(report.notes)
    sections = [Section("Metrics", (metrics, *([Text(f"{left_out}.")] if left_out else [])))]
    if isinstance(comparison, TableComparison):
        title, lead = "symveil compare: a table beside the true file", f"{comparison.what}. {for_whom}"
        rows = [(" → ".join(cell), f"{true:,}", f"{count:,.1f}") for cell, true, count in comparison.differences]
        sections.append(Section("Largest differences", (Table.from_rows(("row", "true", "released"), rows),)))
    else:
        title = "symveil compare: a utility report"
        synthetic = "" if comparison.private.what is None else f"The private file has {comparison.private.what}. "
        lead = f"What the private file keeps of the true one. {synthetic}{for_whom}"
        sections = [Section("The two files", (_files(comparison),)), *sections, *comparison_sections(comparison)]
    whole = Report(title=title, lead=lead[0].upper() + lead[1:], sections=tuple(sections), warnings=report.warnings)
    return report_page(whole)


def _files(comparison: Comparison) -> Table:
    rows = [
        (label, each.file or "words handed over", f"{len(each.words):,}", f"{len(each.words.codes):,}")
        for label, each in zip(_LABELS, (comparison.true, comparison.private), strict=True)
    ]
    return Table.from_rows(("", "file", "sequences", "symbols"), rows)


def comparison_sections(comparison: Comparison) -> Iterable[Section]:
    """Pictures of both files beside each other: for the holder of the true one only."""
    if comparison.roads:
        yield Section("On the map", _maps(comparison))
    if comparison.times is not None:
        yield from _times(*comparison.times, comparison)
    yield Section("Visits", _visits(comparison), half=True)
    yield Section("Lengths", _lengths(comparison), half=True)
    if comparison.diameters is not None:
        ends, *counts = comparison.diameters
        curves = [
            Curve(label, (ends[1:] + ends[:-1]) / 2, _shares(each), style) for label, each, style in _styled(counts)
        ]
        yield Section("Diameters", (_curves(curves, "diameters", "diameter (unit of the map)"),), half=True)
    yield Section("Origins and destinations", _origins(comparison), half=True)
    yield Section("Which symbol follows which", _pairs(comparison), half=True)
    yield Section("Frequent patterns", _patterns(comparison))


def _visits(comparison: Comparison) -> tuple[Part, ...]:
    one, other = (_shares(words.visits()) for words in _words(comparison))
    order = np.argsort(-one, kind="stable")[:_SHOWN]
    names = [comparison.symbols[code] for code in order.tolist()]
    text = f"The {len(order)} most visited symbols of the true file, as shares of all visits."
    return Text(text), _bars(names, one[order], other[order], "visits")


def _maps(comparison: Comparison) -> tuple[Part, ...]:
    shares = [
        dict(zip(comparison.symbols, _shares(words.visits()).tolist(), strict=True)) for words in _words(comparison)
    ]
    heaviest = max(max(each.values()) for each in shares)
    maps = [
        Picture(
            road_weights_svg(comparison.roads, each, title=f"visits on the map, {label}", heaviest=heaviest),
            label,
            caption=label,
        )
        for label, each in zip(_LABELS, shares, strict=True)
    ]
    text = "The thicker and darker, the more visits; the same scale on both maps."
    return Text(text), *maps


def _times(true: TimedWords, private: TimedWords, comparison: Comparison) -> Iterable[Section]:
    """At which hours cases start, how long they take, and how long moves wait, where both files have such times."""
    starts = (true.starts(), private.starts())
    if all(map(len, starts)):
        hours = np.arange(24)
        shares = [_shares(np.bincount(hour_of(each), minlength=24)) for each in starts]
        curves = [Curve(label, hours, own, style) for label, own, style in zip(_LABELS, shares, _STYLES, strict=True)]
        yield Section("Hours", (_curves(curves, "starts by the hour", "hour of the day"),), half=True)
    cycles = (true.cycles(), private.cycles())
    if all(map(len, cycles)):
        at = np.linspace(0, _SHOWN_CYCLES, 60)
        unit, seconds = _unit_of(float(np.quantile(np.concatenate(cycles), _SHOWN_CYCLES)))
        curves = [
            Curve(label, np.quantile(own, at) / seconds, at, style)
            for label, own, style in zip(_LABELS, cycles, _STYLES, strict=True)
        ]
        yield Section("Cycle times", (_curves(curves, "done within", f"{unit} from the first event"),), half=True)
    own, theirs = _median_waits(true), _median_waits(private)
    moves = [move for move in own if move in theirs][:_SHOWN_WAITS]
    if moves:
        unit, seconds = _unit_of(max(max(own[move], theirs[move]) for move in moves))
        names = [" → ".join(comparison.spelled(divmod(move, true.words.symbols))) for move in moves]
        text = f"The median wait in {unit} of the {len(moves)} most frequent moves."
        one, other = ([each[move] / seconds for move in moves] for each in (own, theirs))
        yield Section("Waits", (Text(text), _bars(names, one, other, "median waits")), half=True)


def _median_waits(timed: TimedWords) -> dict[int, float]:
    """The median wait in seconds of each move with enough of them, the most frequent first."""
    moves, waits = timed.waits()
    listed, counts = np.unique(moves, return_counts=True)
    often = [move for move, count in zip(listed.tolist(), counts.tolist(), strict=True) if count >= FEWEST_WAITS]
    most = dict(zip(listed.tolist(), counts.tolist(), strict=True))
    return {move: float(np.median(waits[moves == move])) for move in sorted(often, key=lambda move: -most[move])}


def _unit_of(longest: float) -> tuple[str, int]:
    """In which unit durations are shown, and how many seconds it has."""
    return next((each for each in _UNITS if longest >= 2 * each[1]), _UNITS[-1])


def _origins(comparison: Comparison) -> tuple[Part, ...]:
    names, zone = np.unique(np.array(comparison.zone_of), return_inverse=True)

    def shares(words: CodedWords) -> dict[tuple[int, int], float]:
        first, last = words.ends()
        pairs, counts = np.unique(np.column_stack([zone[first], zone[last]]), axis=0, return_counts=True)
        return dict(zip(map(tuple, pairs.tolist()), _shares(counts).tolist(), strict=True)) if len(first) else {}

    one, other = (shares(words) for words in _words(comparison))
    top = sorted(one, key=lambda pair: (-one[pair], pair))[:_SHOWN]
    if not top:
        return (Text("No sequence has two symbols."),)
    text = f"The {len(top)} most frequent pairs of zones ({comparison.zones}), as shares of all sequences."
    return Text(text), _bars(
        [f"{names[a]} → {names[b]}" for a, b in top],
        [one[pair] for pair in top],
        [other.get(pair, 0.0) for pair in top],
        "origins and destinations",
    )


def _lengths(comparison: Comparison) -> tuple[Part, ...]:
    one, other = (words.lengths for words in _words(comparison))
    low, high = int(min(one.min(), other.min())), int(max(np.quantile(one, 0.995), np.quantile(other, 0.995)))
    across = np.arange(low, max(high, low + 1) + 1)
    curves = [
        Curve(label, across, [float(np.count_nonzero(own == length)) / len(own) for length in across], style)
        for label, own, style in _styled((one, other))
    ]
    return (_curves(curves, "lengths", "symbols in a sequence"),)


def _patterns(comparison: Comparison) -> tuple[Part, ...]:
    if comparison.frequent is None:
        return (Text("A file has no sequence of so many symbols."),)
    private = {pattern for pattern, *_ in comparison.frequent.private}
    rows = [
        (" ".join(comparison.spelled(pattern)), f"{one:,}", f"{other:,}", "yes" if pattern in private else "no")
        for pattern, one, other in comparison.frequent.true[:_SHOWN]
    ]
    least, largest = comparison.patterns
    text = (
        f"The most frequent patterns of {least} to {largest} symbols in the true file, and whether they are among the "
        f"private file's {comparison.top}."
    )
    return Text(text), Table.from_rows(("pattern", "true", "private", "kept"), rows, words=(0,))


def _pairs(comparison: Comparison) -> tuple[Part, ...]:
    if comparison.pairs is None:
        return (Text("A file has no sequence of two symbols."),)
    edges = comparison.pairs.directly_follows()
    one, other = (int(table.sum()) for table in (comparison.pairs.table.true, comparison.pairs.table.private))
    rows = comparison.pairs.largest_differences(_SHOWN)
    graph = Text(
        f"The directly-follows graph has {edges['edges_true']:,} edges in the true file and "
        f"{edges['edges_private']:,} in the private one; {edges['edges_both']:,} are in both, "
        f"{edges['edges_true'] - edges['edges_both']:,} are lost, {edges['edges_private'] - edges['edges_both']:,} are "
        "new."
    )
    if not rows:
        return graph, Text("All pairs have the same shares.")
    return (
        graph,
        Text("The pairs whose shares differ most."),
        _bars(
            [" → ".join(comparison.spelled(pair)) for pair, *_ in rows],
            [count / one for _, count, _ in rows],
            [count / other for *_, count in rows],
            "pairs",
        ),
    )


def _words(comparison: Comparison) -> tuple[CodedWords, CodedWords]:
    return comparison.true.words, comparison.private.words


def _bars(names: Sequence[str], one: Iterable[float], other: Iterable[float], title: str) -> Picture:
    chart = paired_bars_chart(names, [*map(float, one)], [*map(float, other)], title=title, labels=_LABELS)
    return Picture(chart.to_svg(), title.replace(" ", "-"))


def _curves(curves: list[Curve], title: str, across: str) -> Picture:
    chart = curves_chart(curves, title=title, x_label=across, y_label="share of sequences", wide=_HALF)
    return Picture(chart.to_svg(), title.replace(" ", "-"))


def _styled(pair: Sequence[Integers]) -> list[tuple[str, Integers, Style]]:
    return list(zip(_LABELS, pair, _STYLES, strict=True))


def _shares(counts: Integers) -> np.ndarray:
    return np.asarray(counts / max(1, int(counts.sum())))
