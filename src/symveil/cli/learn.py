"""`symveil learn` and `symveil synthesize`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symveil.cli.field_options import ENGINE, EVENTS, PATH, SIZES, WIDE_FORM, named_options, read_pairs
from symveil.cli.options import (
    epsilon_option,
    file_option,
    json_option,
    number_option,
    out_option,
    public_support,
    time_option,
)
from symveil.cli.output import command, print_result
from symveil.errors import ParameterError

_LENGTHS = "a shortest and a longest length such as 15..49, public numbers"
_ATTRIBUTES = "a column and its public values, COL=FILE or COL=0,10,100, each column once"
_PRIVATE_ONLY = (
    *("alphabet", "person", "places", "zones", "constraint", "lengths"),
    *("ledger", "release_id", "engine", "master"),
    *("time", "period", "durations", "timezone", "time_share", "attributes", "attribute_share"),
)


@command(
    "learn",
    example="symveil learn examples/city_trips.csv --epsilon 1 --sequence streets --person rider "
    '--separator "|" --from-graph examples/roads.json --lengths 2..12 --out model.json',
)
@click.argument("source", metavar="IN", type=PATH)
@out_option("The model, as JSON")
@click.option("--smooth", metavar="X", default="0", show_default=True, help="Add this to every allowed move's count.")
@file_option("--from-graph", "model", text="A model whose moves are the allowed ones.")
@epsilon_option(required=False)
@click.option("--alphabet", metavar="A", help="Characters, a comma list, or @file with a symbol per line.")
@click.option("--lengths", metavar="N..M", help="With --epsilon: the shortest and the longest sequence that counts.")
@named_options("person", "places", "zones", "kind")
@time_option
@named_options("period", "durations", "timezone", "time_share", "attributes", "attribute_share")
@named_options("no_repeats", "constraint", "neighbours", "ledger", "release_id", "again")
@named_options(*ENGINE, *WIDE_FORM, *EVENTS, *SIZES)
@json_option
def learn_command(
    source: Path,
    out: Path,
    smooth: str,
    model: Path | None,
    epsilon: str | None,
    neighbours: str,
    kind: str,
    no_repeats: bool,
    again: bool,
    as_json: bool,
    **named: object,
) -> None:
    """Learn a model from public sequences, or privately.

    IN is CSV, JSON Lines, Parquet or XES, each also gzipped. Without --epsilon the chain's probabilities are the
    relative frequencies of the moves, exactly: it is not private, learn it from public data. With --epsilon each person
    loses at most that: moves are those of --from-graph or --alphabet, which are public; synthesize draws from it. The
    law is that of trips on a chain or a map, and else that of an event log: lengths, activities that a case has at most
    once, moves early and late in a case.

    With --time the times of synthetic words are learned too: how long they wait, when they start, how long they take.
    For example: symveil learn log.csv --epsilon 1 --alphabet @activities.txt --lengths 1..50 --time time:timestamp
    --period 2024-01-01..2024-12-31 --timezone Europe/Amsterdam --out model.json
    """
    from symveil.tasks.learn import learn_file

    private = {name: named.pop(name) for name in _PRIVATE_ONLY}
    if epsilon is not None:
        private |= {"kind": kind, "no_repeats": no_repeats, "neighbours": neighbours, "again": again}
        _learn_privately(source, out, epsilon, model, smooth, as_json, private, named)
        return
    private |= {"kind": None if kind == "auto" else kind, "no_repeats": no_repeats or None, "again": again or None}
    for name, value in private.items():
        if value not in (None, "local", ()):
            raise ParameterError(name.replace("_", "-"), expected="--epsilon with it", found="none")
    learned = learn_file(source, out, smooth=smooth, graph=model, **named)
    print_result(learned.document, learned.report(), as_json=as_json)


def _learn_privately(
    source: Path,
    out: Path,
    epsilon: str,
    graph: Path | None,
    smooth: str,
    as_json: bool,
    private: dict[str, Any],
    reading: dict[str, Any],
) -> None:
    from symveil.central.noise import read_neighbours
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.laws.parameters import read_epsilon
    from symveil.parameters import read_range
    from symveil.tasks.learn_privately import learn

    if smooth != "0":
        raise ParameterError(
            "smooth", expected="no --smooth with --epsilon: noise decides what is believed", found=smooth
        )
    read_epsilon(epsilon)
    lengths = read_range("lengths", private.pop("lengths"), expected=_LENGTHS)
    private["attributes"] = read_pairs("attribute", private["attributes"], expected=_ATTRIBUTES)
    given = public_support(private.pop("alphabet"), graph, model_option="--from-graph")
    sizes = {name: reading.pop(name) for name in ("longest", "gzip_ratio")}
    learned = learn(
        source,
        out,
        epsilon=epsilon,
        lengths=lengths,
        **given,
        neighbours=read_neighbours(private.pop("neighbours")),
        columns=ColumnOptions(person=private.pop("person"), time=private.pop("time"), **reading),
        **sizes,
        **private,
    )
    print_result(learned.document, learned.report(), as_json=as_json)


@command("synthesize", example='symveil synthesize model.json --count 1000 --separator "|" --out synthetic.csv')
@click.argument("model", metavar="MODEL", type=PATH)
@number_option("--count", "N", text="How many words: declared, not counted in secret data.", required=True)
@out_option("The words, as .csv, .jsonl, .parquet or .xes")
@click.option("--separator", metavar="S", default=" ", show_default=True, help="What joins symbols in CSV.")
@named_options("no_repeats", "constraint")
@json_option
def synthesize_command(
    model: Path, count: int, out: Path, separator: str, no_repeats: bool, constraint: Path | None, as_json: bool
) -> None:
    """Draw synthetic words from a learned MODEL.

    MODEL is what symveil learn --epsilon wrote. Every word is one that its graph allows, of the lengths that it was
    learned for, and obeys the rules that it was learned with and those that are declared here. Drawing costs no
    privacy, however many words are drawn. Where the model has times (symveil learn --time), every format has an event
    in each row, with its time: of a process log take medians, since means of rare long waits are not learned.
    """
    from symveil.tasks.synthesize import synthesize

    drawn = synthesize(model, out, count=count, no_repeats=no_repeats, constraint=constraint, separator=separator)
    print_result(drawn.document, drawn.report(), as_json=as_json)
