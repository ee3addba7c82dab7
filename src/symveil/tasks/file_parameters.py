"""What may be said when a whole file is counted or learned privately, beside its columns: each parameter declared once.

The options of `symveil count`, `learn` and `synthesize` and the fields of the studio's panel are made of these.
"""

from __future__ import annotations

from symveil.parameters.declaration import Domain, Exact, File, Flag, OneOf, Parameter, Whole


def _declared(
    name: str, label: str, help: str, domain: Domain, *, option: str = "", default: object = None
) -> Parameter:
    option = option or f"--{name.replace('_', '-')}"
    return Parameter(name=name, label=label, help=help, more="", domain=domain, option=option, default=default)


def _text(placeholder: str) -> Domain:
    return Domain(placeholder=placeholder)


_DECLARED = (
    _declared(
        "epsilon", "ε for each person", "Privacy budget: a decimal or a fraction, above 0.", Exact(placeholder="E")
    ),
    _declared(
        "statistic",
        "Count",
        "One of visits, first, last, transitions, od, ngrams:K, lengths, directly-follows; with `time` also starts, "
        "durations, cycle-times, longest-waits, time-shares, mean-waits.",
        _text("S"),
    ),
    _declared("alphabet", "Alphabet", "Characters, a comma list, or @file with a symbol per line.", _text("A")),
    _declared("model", "Or a model", "A public model: only its words count.", File(placeholder="M")),
    _declared(
        "delta",
        "δ",
        "Instead of `alphabet` or `model`: show the rows that are frequent enough. Another promise: (epsilon, delta).",
        _text("D"),
    ),
    _declared(
        "bound",
        "A person adds at most",
        "What one person adds at most: a number, chosen privately, or 1 shared among all their records.",
        _text("L|auto|normalised"),
        default="auto",
    ),
    _declared("places", "Places", "Where symbols lie: CSV with symbol, x, y.", File()),
    _declared(
        "zones", "Zones", "Zones: a grid such as 6 or 6x4 over the places, or CSV with symbol, zone.", _text("G|FILE")
    ),
    _declared(
        "max_length",
        "Longest sequence",
        "The longest sequence that counts, a public number; longer ones add nothing.",
        Whole(least=1),
    ),
    _declared(
        "time",
        "Times",
        "The column of times, ISO 8601 or as `date_format` says; such as time:timestamp.",
        _text("COL"),
    ),
    _declared(
        "by",
        "By",
        "Of times: hour, weekday, hour-of-week, week or month of starts; move or activity of waits.",
        _text("WHAT"),
    ),
    _declared(
        "period",
        "Dates",
        "Of times: the dates of starts, both included, such as 2024-01-01..2024-12-31.",
        _text("A..B"),
    ),
    _declared(
        "durations",
        "Bins of waits",
        "Of times: the public bins of waits, such as 1s..365d (the default) or their edges, 0,1m,1h,1d.",
        _text("A..B|EDGES"),
    ),
    _declared("cap", "Waits count at most as", "Of mean-waits: longer waits count as so long, such as 7d.", _text("C")),
    _declared(
        "threshold",
        "Long waits from",
        "Of longest-waits: from which wait on one is called long; 14d by default.",
        _text("T"),
        option="--from",
    ),
    _declared(
        "quantiles", "Quantiles", "Of durations and cycle-times: which quantiles, such as 0.5,0.9.", _text("P,...")
    ),
    _declared(
        "neighbours",
        "Files that look alike",
        "Which files are to look alike: without a person, or with other records in their place.",
        OneOf(labels={"add-remove": "with or without a person", "replace": "other records of a person"}),
        default="add-remove",
    ),
    _declared("confidence", "Confidence", "How often intervals are to cover.", _text("C"), default="0.95"),
    _declared(
        "lengths", "Lengths", "With `epsilon`: the shortest and the longest sequence that counts.", _text("N..M")
    ),
    _declared(
        "kind",
        "Law",
        "With `epsilon`: of trips, or of the cases of an event log.",
        OneOf(labels={"auto": "by the file", "trips": "of trips", "log": "of cases"}),
        default="auto",
    ),
    _declared("time_share", "Share of times", "With `time`: what times get of epsilon; 0.4 by default.", _text("S")),
    _declared(
        "attribute_share", "Share of attributes", "What each attribute gets of epsilon; 0.1 by default.", _text("S")
    ),
    _declared(
        "no_repeats",
        "No symbol twice",
        "Words have every symbol at most once; others are illegal.",
        Flag(),
        default=False,
    ),
    _declared("constraint", "Rule", "A model: words must be words of it too.", File()),
    _declared("count", "Synthetic sequences", "How many words: declared, not counted in secret data.", Whole(least=1)),
)

FILE_PARAMETERS = {each.name: each for each in _DECLARED}
"""By name."""
