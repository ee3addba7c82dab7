"""The demo as reports: a summary, and the page of the town, true and private trips, what is still learned, what is not.

The page shows true trips beside private ones: they are made up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import symveil as sv
from symveil.examples import millford as town
from symveil.examples.millford import DAYS, LONGEST, MOST_TRIPS, SHORTEST, STREETS
from symveil.numbers.rationals import percent, shown_at_least, spelled
from symveil.pictures.charts import Curve, Whisker, curves_chart, whiskers_chart
from symveil.pictures.maps import road_weights_svg, town_svg
from symveil.reports.page import report_page
from symveil.reports.report import Listing, Part, Picture, Report, Section, Table, Text
from symveil.storage.files import write_text
from symveil.tasks.demo import ADJACENCY, EPSILON_PER_PERSON, TYPICAL_LENGTH, Answer, Demo, covered, released_trips

SHOWN = ("trip-0041", "trip-0038", "trip-0040")
_MOST_BARS = 12
_PURPOSES = {"work": "to work", "school": "to school", "shopping": "to the shops", "home": "home"}


def write_report(demo: Demo) -> Report:
    """Write the page and the picture of the errors; the summary of both."""
    write_text(demo.report.with_name("expected_error.svg"), _errors_picture(demo).svg)
    write_text(demo.report, report_page(demo_report(demo)))
    return summary(demo)


def summary(demo: Demo) -> Report:
    """The releases, and what may be text about them and the answers."""
    title = f"{len(demo.trips)} synthetic trips of {demo.people} people in Millford, each made private by itself"
    last, total = demo.rows[-1].epsilon, sum(row.epsilon for row in demo.rows)
    texts = (
        f"Two trips that differ in d blocks lose at most d/{ADJACENCY} of epsilon, for every d, ours and as published; "
        "every private trip can be driven.",
        f"An attacker knows the map and names {percent(demo.rows[0].attacker.symbol.before)} of blocks before seeing "
        "the private trip.",
        f"Each file is a release of its own: publishing all of them costs {total} per trip.",
        f"Trips between quarters, from the whole file with epsilon {EPSILON_PER_PERSON} per person: "
        f"{coverage(demo.flows)}",
        f"Drives on each block, from the private file with epsilon {last}: {coverage(demo.visits)}",
        f"Turns, from the same file: {coverage(demo.turns)}",
        f"Report: {demo.report}",
    )
    return Report(title=title, sections=(Section(title, (*_releases(demo), *map(Text, texts))),))


def coverage(answers: Sequence[Answer]) -> str:
    """How many intervals have the true number in them, in words.

    >>> coverage([Answer(("a",), 5, 4, 4.5, 3.0, 6.0), Answer(("b",), 9, 4, 4.5, 3.0, 6.0)])
    '1 of all 2 intervals have the true number in them.'
    """
    if any(answer.low is None for answer in answers):
        return "The noise of this release leaves no intervals."
    return f"{covered(answers)} of all {len(answers)} intervals have the true number in them."


def _releases(demo: Demo) -> tuple[Part, ...]:
    """A row for each private file; their names stand below, because a narrow table would break them."""
    columns = (
        f"epsilon, up to {ADJACENCY} blocks", "per block", "proved loss", f"blocks changed, of {TYPICAL_LENGTH}",
        "trips left as they were", "checked", "as published", "an attacker names",
    )  # fmt: skip
    published = list(demo.curves.values())[:-1]
    rows = [
        (
            str(row.epsilon),
            spelled(row.per_block),
            f"{shown_at_least(row.guarantee['epsilon'])} ({row.guarantee['how']})",
            f"{row.expected_error:.2f}",
            percent(row.unchanged_trips),
            "yes" if row.checked else "NO",
            f"{min(errors[row.epsilon] for errors in published):.2f}",
            f"{percent(row.attacker.symbol.after)} of blocks",
        )
        for row in demo.rows
    ]
    files = tuple(f"epsilon {row.epsilon}: {row.release.out.name}" for row in demo.rows)
    return Table.from_rows(columns, rows), Text("Private files, beside the report:"), Listing(files)


# --- the page ----------------------------------------------------------------------------------


def demo_report(demo: Demo) -> Report:
    """The whole page."""
    lead = (
        f"{demo.people} people answered a survey about where they drove in {DAYS} days: {len(demo.trips):,} trips on "
        f"{demo.streets} blocks of {len(STREETS)} streets. Town, people and trips are made up, and that is the only "
        "reason why this page may show the true trips beside the private ones."
    )
    sections = (_town(), *_trips(demo), *_learned(demo), _hidden(demo), _published(demo))
    return Report(title="symveil demo: a week in Millford", lead=lead, sections=sections)


def trip_map(trip: Sequence[str], original: Sequence[str] | None = None) -> str:
    """The town with a trip; blocks that differ from the original's at the same position are dashed.

    >>> trip_map(["High Street 1", "High Street 2"])[:4]
    '<svg'
    """
    title = f"a trip over {len(trip)} blocks: {', '.join(trip)}"
    if original is not None:
        wrong = sum(one != other for one, other in zip(trip, original, strict=True))
        title = f"a trip over {len(trip)} blocks, {wrong} of them changed: {', '.join(trip)}"
    return town_svg(town.town_plan(), trip, title=title, original=original)


def _town() -> Section:
    text = (
        "The map is public: its streets, which of them are one-way (arrows), and where one may turn. So are two rules "
        f"of the survey: a trip has {SHORTEST} to {LONGEST} blocks, and a person has at most {MOST_TRIPS} trips. "
        "Secret are the trips: where each began, which way it took and where it ended."
    )
    plan = town_svg(town.town_plan(), title="A map of Millford with its street names", named=True)
    return Section("The town", (Text(text), Picture(plan, "town", large=True)))


def _trips(demo: Demo) -> Iterable[Section]:
    opening = (
        "Each trip was replaced by one that can really be driven, with no U-turn and no one-way street the wrong way. "
        "Drawn are the true trip (pale), its private version (blue), and the blocks that were changed (orange, "
        "dashed). The ring is where it began, the arrow where it ended. A smaller ε hides more and changes more."
    )
    closing = (
        f"ε is what two trips lose that differ in {ADJACENCY} blocks. Those that differ in fewer lose less, in more "
        f"blocks more: every block costs ε/{ADJACENCY}, whatever the trips. {ADJACENCY} is the least number with which "
        "every block of a typical trip has alternatives on this map. “Blocks changed” is an average over trips of the "
        "public map, which tells nothing of the true ones. Every file was checked against its manifest. Each of them "
        f"is a release of its own: who publishes all three spends {sum(row.epsilon for row in demo.rows)} per trip."
    )
    yield Section("True trips and private trips", (Text(opening), *_releases(demo), Text(closing)))
    private = [released_trips(row.release) for row in demo.rows]
    for name in SHOWN:
        trip = demo.trips[name]
        maps = [Picture(trip_map(trip.blocks), f"{name}-true", caption="the true trip")]
        for row, released in zip(demo.rows, private, strict=True):
            picture = trip_map(released[name], trip.blocks)
            maps.append(Picture(picture, f"{name}-{row.epsilon}", caption=f"ε = {row.epsilon}"))
        yield Section(f"A trip {_PURPOSES[trip.purpose]}", tuple(maps))


def _learned(demo: Demo) -> Iterable[Section]:
    best, busiest = demo.rows[-1], demo.visits[:_MOST_BARS]
    yield Section(
        "What an analyst still learns: from the whole file, held by a trusted office",
        (
            Text(
                "If the survey office may see the trips and publishes a table, it needs little noise, and protects "
                f"people instead of single trips (`symveil count`). Here ε = {EPSILON_PER_PERSON} is for everything "
                "that a person has in the file, all of their trips together. Trips between the quarters of the town; "
                "bars are the published numbers, whiskers 95 % intervals, and a cross is the true number, which the "
                "analyst does not have:"
            ),
            _bars(demo.flows[:_MOST_BARS], "trips from quarter to quarter, with noise for each person"),
            Text(coverage(demo.flows)),
        ),
    )
    truth = {answer.symbols[0]: float(answer.true) for answer in demo.visits}
    weights = {answer.symbols[0]: max(0.0, answer.estimate) for answer in demo.visits}
    upright = {name: ((a, -b), (c, -d)) for name in truth for (a, b), (c, d) in [town.town_plan().lane(name)]}
    maps = (
        Picture(road_weights_svg(upright, each, title=title, heaviest=max(truth.values())), title, caption=title)
        for each, title in (
            (truth, "true number of drives"),
            (weights, f"estimated from the private file, ε = {best.epsilon}"),
        )
    )
    yield Section(
        "What an analyst still learns: from a private file alone",
        (
            Text(
                "If no one may be trusted with the true trips, each is made private by the driver's own telephone. The "
                f"analyst has the private file with ε = {best.epsilon} and the public law of its noise, and undoes, on "
                "average, what the noise has done (`symveil estimate`). That takes a far larger ε, which protects a "
                "single trip hardly at all (see below). How often each block was driven, truly and as estimated:"
            ),
            *maps,
            Text(f"The {len(busiest)} busiest of {len(demo.visits)} blocks:"),
            _bars(busiest, "drives, estimated from private trips"),
            Text(coverage(demo.visits)),
        ),
    )
    rows = [(_name(each), str(each.true), f"{each.estimate:.0f}", _interval(each)) for each in demo.turns[:_MOST_BARS]]
    bias = (
        f"{coverage(demo.turns)} Estimates from trips of a map allow for a bias by a rule of thumb, so that their "
        "intervals are rather too wide than too narrow."
    )
    heading = f"Which way people turn: the {_MOST_BARS} most frequent of {len(demo.turns)} turns"
    yield Section(heading, (Table.from_rows(("turn", "true", "estimated", "95 % interval"), rows), Text(bias)))


def _hidden(demo: Demo) -> Section:
    near = sv.protection(sv.runs(town.millford(), TYPICAL_LENGTH), adjacency=ADJACENCY)
    assert near is not None  # noqa: S101 - these are words of a model
    apart, before, most = (1, 2, ADJACENCY), demo.rows[0].attacker, demo.rows[-1].epsilon
    sure = [
        (f"{row.epsilon} per trip", *(_surest(float(row.per_block * blocks)) for blocks in apart)) for row in demo.rows
    ]
    seen = [
        (f"{row.epsilon} per trip", *(percent(guess.after) for guess in (row.attacker.symbol, row.attacker.word)))
        for row in demo.rows
    ]
    texts = (
        "Take an attacker who knows the town, this program and all trips of everybody else, and who knows of yours "
        "that it was one of two. They would guess right every second time. After they have seen its private version, "
        "they are right at most so often, however clever they are, where the two trips differ in",
        f"With the table of quarters (ε = {EPSILON_PER_PERSON} per person) they want to know whether a person took "
        f"part, and are right at most {_surest(EPSILON_PER_PERSON)} of the time. An attacker who knows only the map, "
        f"and takes every trip for as likely as any other, names {percent(before.symbol.before)} of the "
        f"{TYPICAL_LENGTH} blocks of a trip before, and {percent(before.word.before)} of whole trips. "
        "With the private trip:",
        f"So ε = {most} hides little of a single trip. It is shown because then the private file alone answers "
        "questions with intervals; choose a smaller ε where single trips matter, or let a trusted office count.",
        "**Hidden in the private files:** where exactly a trip began or ended, which way it took, on which side it "
        f"went round a block; the less, the more blocks it concerns. A typical trip of {TYPICAL_LENGTH} blocks has "
        f"{near.neighbours_within_adjacency:.0f} other trips within {ADJACENCY} blocks.",
        "**Hidden in the table of quarters:** everything that one person did in the week, and that they took part.",
        "**Not hidden, and you should know:** how many trips the private files have, in which order, and how many "
        "blocks each of them has. Roughly where in town it was: trips that have no block in common lose "
        f"{TYPICAL_LENGTH} × ε/{ADJACENCY}. And losses add up: if an attacker knew which {MOST_TRIPS} trips are yours, "
        f"these would lose {MOST_TRIPS} × {most} = {MOST_TRIPS * most} together at ε = {most}. The private files do "
        "not say whose a trip is; who needs a promise for persons takes the table, or a ledger of budgets.",
    )
    opening, known, *closing = map(Text, texts)
    heads = ("ε", "one block", *(f"{blocks} blocks" for blocks in apart[1:]))
    guesses = Table.from_rows(("ε", "blocks named", "whole trips named"), seen)
    return Section("What no attacker can learn", (opening, Table.from_rows(heads, sure), known, guesses, *closing))


def _published(demo: Demo) -> Section:
    text = (
        "The same promise for the same trips, with the mechanisms of the papers: the exponential mechanism (J19: "
        "Jones, Leahy and Hale) and permute-and-flip (B26: Benvenuti, Rao and Hale). Two trips that differ in d blocks "
        f"lose at most dε/{ADJACENCY} with either, and with symveil. The papers halve the rate of their noise to be on "
        "the safe side; symveil compares all pairs of trips and takes the largest rate that keeps the promise. Blocks "
        f"changed in a trip of {TYPICAL_LENGTH}, on average over the map:"
    )
    rows = [(name, *(f"{errors[row.epsilon]:.2f}" for row in demo.rows)) for name, errors in demo.curves.items()]
    table = Table.from_rows(("mechanism", *(f"ε = {row.epsilon}" for row in demo.rows)), rows)
    return Section("What it would have been as published", (Text(text), table, _errors_picture(demo)))


def _errors_picture(demo: Demo) -> Picture:
    """The blocks that each mechanism changes, against ε."""
    curves = [
        Curve(name, list(errors), list(errors.values()), "solid" if name == list(demo.curves)[-1] else "dashed")
        for name, errors in demo.curves.items()
    ]
    chart = curves_chart(
        curves,
        title=f"Blocks changed in a trip of {TYPICAL_LENGTH}, against ε",
        x_label=f"ε for {ADJACENCY} blocks (smaller is more private)",
        y_label=f"blocks changed, of {TYPICAL_LENGTH}",
    )
    return Picture(chart.to_svg(), "expected_error")


def _surest(epsilon: float) -> str:
    """e^ε/(1 + e^ε): how sure one can be after even odds."""
    return f"{math.ceil(1000 / (1 + math.exp(-epsilon))) / 10:.1f} %"


def _name(answer: Answer) -> str:
    return " → ".join(answer.symbols)


def _bars(answers: Sequence[Answer], title: str) -> Picture:
    bars = [
        Whisker(
            _name(each),
            each.estimate,
            each.estimate if each.low is None else each.low,
            each.estimate if each.high is None else each.high,
            float(each.true),
        )
        for each in answers
    ]
    return Picture(whiskers_chart(bars, title=title, reference="the true number").to_svg(), title)


def _interval(answer: Answer) -> str:
    if answer.low is None or answer.high is None:
        return "none"
    return f"{max(0.0, answer.low):.0f} to {answer.high:.0f}"
