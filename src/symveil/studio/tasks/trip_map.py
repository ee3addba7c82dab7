"""Map: a trip before and after, on the roads it was driven."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache

from symveil.errors import ModelError
from symveil.examples.paper_systems import network_coordinates
from symveil.formats.shapes import read_coordinates
from symveil.laws.protection import protection
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import epsilon_text, spelled
from symveil.parameters import read_whole
from symveil.pictures.maps import Road, covers_most, road_map_svg
from symveil.reports.report import Headline, Marked, Picture, Report, Section, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.limits import LIMITS
from symveil.studio.tasks.release import CHOOSING, PROVING, edits_made, view_of_attacker
from symveil.studio.tasks.subject import (
    File,
    choose_adjacency,
    model_in,
    promise,
    promise_lines,
    read_quick_mechanism,
    read_subject,
    source_file,
    undecided,
)
from symveil.tasks.release import ReleasedTrip, released_trips, require_coordinates

_NOTICE = "the true trip is left out; how many roads were changed is known from it: for its holder only"


def answer_map(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Map panel."""
    subject = read_subject(values)
    file = source_file(values)
    model = model_in(file)[0]
    roads = _roads(file, values["coordinates"])
    if undecided(values):
        return choose_adjacency(subject.language, "trip")
    named(progress, CHOOSING)(0, None)
    mechanism, published = read_quick_mechanism(values, subject)
    named(progress, PROVING)(0, None)
    count = max(1, min(LIMITS.now.samples, read_whole("samples", values["samples"])))
    hides_lengths = mechanism.metric == "levenshtein"
    naive = _without_roads(values, mechanism) if hides_lengths else None
    released, ignorant = released_trips(model, subject.word, mechanism, count=count, ignorant=naive)
    law = mechanism.distances(subject.word)
    view = view_of_attacker(mechanism, values, progress)
    trip = tuple(map(str, subject.word))
    # on a large map one looks at the part that is driven, and at the whole of it beside
    driven = {*trip, *(str(road) for each in released for road in each.roads)}
    around = set() if len(roads) <= LIMITS.now.map_roads or covers_most(roads, driven) else driven
    guarantee = mechanism.guarantee
    feasible = sum(each.feasible for each in released)
    driven_trips = f"**{feasible} of {count}** private trips below can be driven: all of their turns exist, because "
    cost = Headline(f"{law.expected_error:.3g} of {law.length}", "roads are changed on average.")
    hidden = promise(mechanism, "trip", symbol="edit" if hides_lengths else "road")
    promised: list[Headline | Text] = [
        Headline(f"ε = {epsilon_text(guarantee.epsilon)}", hidden, guarantee.how),
        edits_made(law, len(trip), "road") if hides_lengths else cost,
        Text(f"{driven_trips}nothing else is ever drawn."),
        *published,
        *promise_lines(mechanism, "trip", view, protection(mechanism.language, mechanism.adjacency)),
    ]
    remarks = mechanism.remarks
    if remarks.given_up and not remarks.tells_apart:
        promised.append(Text(Marked((f"Given up: {remarks.given_up}.",)), "quiet"))
    whole = f"All {len(roads):,} roads. The other pictures show the part that is driven."
    sections = (
        Section("What is promised", tuple(promised)),
        _drawn(
            "The true trip" if not subject.typical else "A typical trip of the public model",
            "Numbers tell the order; the first has a thick rim. On small roads: a ring.",
            road_map_svg(roads, trip, title="the true trip", around=around),
        ),
        *([_drawn("Where that is on the map", whole, road_map_svg(roads, trip, title="the map"))] if around else []),
        *(_sample(roads, trip, each, number, around) for number, each in enumerate(released, start=1)),
        _ignorant(roads, trip, ignorant),
        _numbers(released, ignorant, "edits" if hides_lengths else "roads changed"),
    )
    return Answer(
        report=Report(title=f"symveil: trips on a map, ε = {spelled(mechanism.epsilon)}", sections=sections),
        document={
            "guarantee": guarantee.document(),
            "expected_error": law.expected_error,
            "attacker": None if view is None else view.document(),
            # the true trip is in the pictures, for its holder; a document is easily passed on
            **({"trip": list(trip)} if subject.typical else {"notice": _NOTICE}),
            "released": [
                {"trip": list(each.roads), "changed": each.changed, "broken_turns": each.broken_turns}
                for each in released
            ],
            "without_the_model": {
                "trip": list(ignorant.roads),
                "changed": ignorant.changed,
                "broken_turns": ignorant.broken_turns,
            },
        },
        columns=("sample", "edits" if hides_lengths else "roads changed", "turns that do not exist", "trip"),
        rows=tuple(
            (number, each.changed, each.broken_turns, " ".join(map(str, each.roads)))
            for number, each in enumerate(released, start=1)
        ),
        marks=(
            ("epsilon", values["epsilon"]),
            ("error", repr(law.expected_error)),
            ("guarantee", repr(guarantee.epsilon)),
        ),
        secret=not subject.typical,
    )


@lru_cache(maxsize=4)
def _roads(file: File, coordinates: str) -> dict[str, Road]:
    if file[0] == "":
        return network_coordinates()
    if not coordinates:
        raise ModelError("coordinates", expected="a table of coordinates: drop a file below", found="none yet")
    return require_coordinates(model_in(file)[0], read_coordinates(coordinates))


def _drawn(heading: str, explained: str, svg: str) -> Section:
    """A map with what it shows; its file has the name of the heading."""
    return Section(heading, (Text(explained, "quiet"), Picture(svg, heading.lower().replace(" ", "-"))), half=True)


def _without_roads(values: Mapping[str, str], mechanism: Mechanism) -> Mechanism:
    """A mechanism with the same promise that ignores the roads, where lengths are hidden."""
    choice = MechanismChoice(
        epsilon=mechanism.epsilon,
        adjacency=mechanism.adjacency,
        metric="levenshtein",
        max_length=read_whole("max_length", values["max_length"]),
    )
    return choose_mechanism(choice, choice.language(alphabet=mechanism.language.alphabet))


def _laid_against(trip: tuple[str, ...], private: tuple[str, ...]) -> tuple[str, ...]:
    """The true road at each place of a private trip, "" where it has none there: of another length, as few as can be.

    >>> _laid_against(("a", "b", "c"), ("a", "c")), _laid_against(("a", "b"), ("a", "d"))
    (('a', 'c'), ('a', 'b'))
    """
    if len(trip) == len(private):
        return trip
    places = [""] * len(private)
    for match in difflib.SequenceMatcher(None, trip, private, autojunk=False).get_matching_blocks():
        places[match.b : match.b + match.size] = trip[match.a : match.a + match.size]
    return tuple(places)


def _sample(
    roads: dict[str, Road], trip: tuple[str, ...], released: ReleasedTrip, number: int, around: set[str]
) -> Section:
    private = tuple(map(str, released.roads))
    changed = f"{released.changed} of {len(trip)} roads changed"
    if len(private) != len(trip):
        changed = f"{released.changed} edits, {len(private)} roads for {len(trip)}"
    explained = f"{changed} (dashed); " + (
        "every turn exists." if released.feasible else f"{released.broken_turns} turns do not exist."
    )
    name = f"Private trip {number}"
    original = _laid_against(trip, private)
    return _drawn(name, explained, road_map_svg(roads, private, title=name, original=original, around=around))


def _ignorant(roads: dict[str, Road], trip: tuple[str, ...], released: ReleasedTrip) -> Section:
    private = tuple(map(str, released.roads))
    explained = (
        f"The same ε, each road changed on its own, as if any could follow any: {released.broken_turns} of "
        f"{len(private)} turns do not exist, and anyone sees that something was changed."
    )
    svg = road_map_svg(roads, private, title="without the map", original=_laid_against(trip, private))
    return _drawn("Without the map", explained, svg)


def _numbers(released: tuple[ReleasedTrip, ...], ignorant: ReleasedTrip, changed: str) -> Section:
    trips = [(f"private trip {number}", each) for number, each in enumerate(released, start=1)]
    rows = [
        (name, str(each.changed), str(each.broken_turns), "yes" if each.feasible else "no")
        for name, each in (*trips, ("without the map", ignorant))
    ]
    columns = ("trip", changed, "turns that do not exist", "can be driven")
    return Section("Could it have been driven?", (Table.from_rows(columns, rows),))
