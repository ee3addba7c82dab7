"""Release: what a mechanism would do to a word, and ten private words.

The automaton of a word as a picture: state by state where that can be read, else summed up on a grid.

Map: a trip before and after, on the roads it was driven.
"""

from __future__ import annotations

import difflib
import operator
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, SymveilError, TooLargeError
from symveil.examples.paper_systems import network_coordinates
from symveil.formats.shapes import read_coordinates
from symveil.languages.free import FreeLanguage
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.run_product import ErrorGrid, error_grid, product_diagram
from symveil.languages.runs import RunLanguage
from symveil.laws.law import DistanceLaw
from symveil.laws.protection import protection
from symveil.mechanisms.attacker import AttackerView, attacker_view
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.alphabet import Metric, decode
from symveil.numbers.conversions import decimal
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import epsilon_text, spelled
from symveil.pictures.charts import Cell, heat_grid_chart
from symveil.pictures.maps import Road, covers_most, road_map_svg
from symveil.pictures.svg import to_svg
from symveil.reports.report import Facts, Headline, Marked, Part, Picture, Report, Section, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.tasks.subject import (
    AT_ONCE,
    File,
    Subject,
    choose_adjacency,
    marked_edits,
    marked_word,
    model_in,
    promise,
    promise_lines,
    read_quick_mechanism,
    read_subject,
    read_whole,
    source_file,
    undecided,
)
from symveil.tasks.explain import Explanation, explain_word
from symveil.tasks.release import ReleasedTrip, WordRelease, release_word, released_trips, require_coordinates

MOST_STATES = 30
"""More than these on one picture cannot be read on a screen."""
_MOST_COLUMNS, _MOST_ROWS = 26, 16
_SEEN = 5e-4

Language = FreeLanguage | RunLanguage


@lru_cache(maxsize=64)
def trellis_svg(language: Language, codes: tuple[int, ...], distance: int) -> str | None:
    """The automaton of the words at one distance, with V and μ; None where it has too many states."""
    row = np.array(codes, dtype=np.int32)
    if language.runs is None:
        automaton = hamming_automaton(
            decode(row, language.alphabet, like=()), alphabet=language.alphabet, exactly=distance
        )
        return automaton.to_svg() if automaton.state_count <= MOST_STATES else None
    try:
        return to_svg(product_diagram(language.runs, row, exactly=distance, most_states=MOST_STATES))
    except TooLargeError:
        return None


@lru_cache(maxsize=16)
def _grid(language: Language, codes: tuple[int, ...]) -> ErrorGrid:
    return error_grid(language, np.array(codes, dtype=np.int32))


def grid_svg(language: Language, codes: tuple[int, ...], law: NDArray[np.float64], title: str) -> str:
    """Position × errors for a law of the distance (law[ℓ]): how likely each cell is, and how likely an error there."""
    through, errs = _grid(language, codes).mixed(law)
    length = language.length
    columns = np.unique(np.linspace(0, length, min(length + 1, _MOST_COLUMNS)).round().astype(int))
    highest = int(np.max(np.nonzero((through >= _SEEN).any(axis=0))[0], initial=0))
    rows = range(min(highest, _MOST_ROWS - 1) + 1)
    cells = [
        Cell(
            column=index,
            row=errors,
            heat=float(through[position, errors]),
            value=_share(through[position, errors]),
            annotation="" if position == length else _share(errs[position, errors]),
            hint=_hint(position, errors, through[position, errors], errs[position, errors], length),
        )
        for index, position in enumerate(columns.tolist())
        for errors in rows
        if errors <= position and through[position, errors] >= _SEEN
    ]
    return heat_grid_chart(
        cells,
        title=title,
        columns=[str(position) for position in columns],
        rows=[str(errors) for errors in rows],
        x_label="symbols read",
        y_label="of them changed",
        value_meaning="P: passes here",
        annotation_meaning="μ: the next symbol is changed",
    ).to_svg()


def _share(value: float) -> str:
    percent = 100 * float(value)
    if percent < 0.05:
        return "0"
    return f"{percent:.1f}%" if percent < 9.95 else f"{percent:.0f}%"


def _hint(position: int, errors: int, through: float, errs: float, length: int) -> str:
    text = f"after {position} symbols, {errors} changed: probability {through:.4g}"
    return text if position == length else f"{text}; the next one is changed with probability {errs:.4g}"


SHOWN_WORDS = 10
PROVING = "Proving the guarantee; the first time on a machine this can take minutes"
CHOOSING = "Choosing the mechanism by its public error"
GUESSING = "Playing an attacker who knows the public model"
_EDITS_DRAWN = 1
_LONG_WORD = 30  # characters: a longer word gets the whole width


def answer_release(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Release panel."""
    subject = read_subject(values)
    if undecided(values):
        return choose_adjacency(subject.language, "word")
    named(progress, CHOOSING)(0, None)
    mechanism, published = read_quick_mechanism(values, subject)
    if not mechanism.language.homogeneous:
        named(progress, PROVING)(0, None)
    explanation = explain_word(subject.word, mechanism, bounded=False)  # Compare has the bound; here a slider moves
    explanation = replace(explanation, attacker=_attacker(explanation.mechanism, values, progress))
    named(progress, "Drawing private versions")(0, None)
    released = release_word(subject.word, mechanism, count=SHOWN_WORDS, thin=True)
    law = explanation.law
    # short words stand beside the law
    short = sum(len(str(symbol)) + len(subject.shown_separator) for symbol in subject.word) <= _LONG_WORD
    return Answer(
        report=Report(
            title=f"symveil: {mechanism.name}, ε = {spelled(mechanism.epsilon)}",
            sections=(
                _guarantee(explanation, subject, published),
                _law(law, half=short),
                _words(subject, released, mechanism.metric, half=short),
                *_automaton(subject, explanation, values["distance"]),
                _facts(explanation, subject),
            ),
        ),
        document={"explain": explanation.document(), "release": released.document()},
        columns=("distance" if mechanism.metric == "hamming" else law.unit, "words", "probability"),
        rows=tuple(
            (law.label(index), "" if count is None else decimal(count), float(law.probabilities[index]))
            for index, count in enumerate(law.counts)
        ),
        marks=(
            ("epsilon", values["epsilon"]),
            ("guarantee", repr(mechanism.guarantee.epsilon)),
            ("how", mechanism.guarantee.how),
            ("error", repr(law.expected_error)),
            ("mechanism", mechanism.name),
        ),
        secret=True,
    )


def answer_at_once(
    task: Callable[[Mapping[str, str], Progress], Answer], values: Mapping[str, str], progress: Progress
) -> Answer | None:
    """What can be shown while a task proves its guarantee, or None: drawn at the published rate, without an attacker.

    That keeps ε as well, with more errors, and nothing has to be proved.
    """
    try:
        answer = task({**values, AT_ONCE: "yes"}, progress)
    except SymveilError:
        return None  # it is shown when the task itself is refused
    return replace(answer, preliminary=True) if answer.document else None


def _attacker(mechanism: Mechanism, values: Mapping[str, str], progress: Progress) -> AttackerView | None:
    if AT_ONCE in values:
        return None
    named(progress, GUESSING)(0, None)
    return attacker_view(mechanism)


def warm_up(values: Mapping[str, str], progress: Progress) -> None:
    """Import the workflows before anybody asks; with values also compile the loops that prove guarantees."""
    if values:
        answer_release(values, progress)


def timed_answer(
    task: Callable[[Mapping[str, str], Progress], Answer], values: Mapping[str, str], progress: Progress
) -> tuple[float, Answer]:
    """An answer that is asked for before anyone looks at it, after how many seconds of the processor it took."""
    began = time.process_time()
    answer = task(values, progress)
    return time.process_time() - began, answer


def _edits(law: DistanceLaw, length: int, symbol: str) -> Headline:
    """What a word costs where its length is hidden."""
    return Headline(
        f"{law.expected_error:.3g} {'edits made' if law.measured == 'edits' else law.unit}",
        f"on average. An edit inserts, deletes or replaces a {symbol}; the length, here {length}, is hidden as well.",
    )


def _guarantee(explanation: Explanation, subject: Subject, published: tuple[Text, ...]) -> Section:
    mechanism, law = explanation.mechanism, explanation.law
    guarantee = mechanism.guarantee
    noun = "word" if subject.separator == "" else "sequence"
    unchanged = float(law.probabilities[0]) if len(law.distances) and law.distances[0] == 0 else 0.0
    hides_lengths = mechanism.metric == "levenshtein"
    promise_text = promise(mechanism, noun, symbol="edit" if hides_lengths else "symbol")
    if hides_lengths:
        cost = _edits(law, explanation.length, "symbol")
    else:
        cost = Headline(
            f"{law.expected_error:.3g} of {law.length}",
            f"symbols are changed on average; nothing at all is changed with probability {unchanged:.3g}.",
        )
    parts: tuple[Part, ...] = (
        Headline(f"ε = {epsilon_text(guarantee.epsilon)}", promise_text, guarantee.how),
        cost,
        *published,
        *promise_lines(mechanism, noun, explanation.attacker, explanation.protection),
    )
    return Section("What is promised, and what it costs", parts)


def _law(law: DistanceLaw, *, half: bool) -> Section:
    parts: tuple[Part, ...] = (Picture(law.to_svg(), "law"),)
    if law.bounds:
        why = " (Benvenuti 2026, Theorem 2)" if law.metric == "hamming" else ": far words all have the same weight"
        between = f"lies between {law.bounds.lower:.4g} and {law.bounds.upper:.4g}{why}"
        parts += (Text(f"Proved beforehand: the expected error {between}.", "quiet"),)
    return Section("How far the private word lies from the true one", parts, half=half)


def _words(subject: Subject, released: WordRelease, metric: Metric, *, half: bool) -> Section:
    separator = subject.shown_separator
    if metric == "hamming":
        columns = ("private version (changed symbols underlined)", "changed")
        rows = [
            (marked_word(subject.word, word, separator), str(sum(map(operator.ne, subject.word, word))))
            for word in released.released
        ]
    else:
        columns = ("private version (new symbols underlined, · where some are gone)", "length")
        rows = [(marked_edits(subject.word, word, separator), str(len(word))) for word in released.released]
    what = "A typical word of the public model" if subject.typical else "Your word"
    once = f"All {SHOWN_WORDS} together would cost ε = {epsilon_text(released.total_epsilon)}."
    parts = (
        Text(f"{what}:", "quiet"),
        Text(marked_word(subject.word, subject.word, separator), "word true"),
        Table.from_rows(columns, rows, words=(0,)),
        Text(f"For your eyes only: publish one of them. {once}", "quiet"),
    )
    return Section("Ten private versions", parts, half=half)


def _automaton(subject: Subject, explanation: Explanation, wanted: str) -> tuple[Section, ...]:
    if explanation.mechanism.metric == "hamming":
        return (_trellis(subject, explanation, wanted),)
    automaton = levenshtein_automaton(subject.word, _EDITS_DRAWN, alphabet=subject.language.alphabet)
    if automaton.state_count > MOST_STATES or len(subject.language.alphabet) > MOST_STATES:
        return ()
    explained = "The Levenshtein automaton of the word: a state has read some symbols and made some edits."
    return (Section("The words one edit away", (Text(explained), _automaton_picture(automaton.to_svg()))),)


def _automaton_picture(svg: str) -> Picture:
    return Picture(svg, "automaton", large=True)


def _trellis(subject: Subject, explanation: Explanation, wanted: str) -> Section:
    law, mechanism, language = explanation.law, explanation.mechanism, subject.language
    codes = tuple(language.encode(subject.word).tolist())
    possible = law.distances.tolist()
    if wanted == "auto":
        distance = int(law.distances[int(np.argmax(law.probabilities))])
        if distance == 0 and len(possible) > 1:
            distance = possible[1]  # the word itself is no picture
    else:
        distance = read_whole("distance", wanted)
        distance = min(possible, key=lambda each: abs(each - distance))
    heading = "The automaton it is drawn from"
    svg = trellis_svg(language, codes, distance)
    if svg is not None:
        explained = (
            f"All words at distance {distance}, state by state. **V** counts the ways to finish from a state; "
            "following **μ** draws each word with the same probability."
        )
        return Section(heading, (Text(explained), _automaton_picture(svg)))
    size = f"{explanation.automaton.state_count:,} states and {explanation.automaton.edge_count:,} edges"
    weighted = isinstance(mechanism, DistanceWeighted)
    chances = np.zeros(language.length + 1)
    if weighted:
        chances[law.distances] = law.probabilities
        what = "as this mechanism draws it"
    else:
        chances[distance] = 1.0
        what = f"for a word drawn at distance {distance}"
    try:
        grid = grid_svg(language, codes, chances, f"Position × errors of an automaton of {size}")
    except TooLargeError:
        return Section(heading, (Text(f"It has {size}: too many to draw. Try a shorter word."),))
    explained = (
        f"The automaton has {size}: summed up here over the states of the model, {what}. Each cell: how likely the "
        "draw passes there, and how likely the next symbol is changed."
    )
    return Section(f"{heading}, summed up", (Text(explained), _automaton_picture(grid)))


_SHOWN_ABOVE = {"loss by distance", "attacker", "attacker, in detail"}
"""What stands below the guarantee."""


def _facts(explanation: Explanation, subject: Subject) -> Section:
    """The other facts that the command line prints, and what there is to say about the model."""
    report = explanation.report()
    rows = [row for row in report.facts(report.title).items() if row[0] not in _SHOWN_ABOVE]
    return Section("Facts", (Facts.from_rows([*rows, *(("note", note) for note in subject.notes)]),))


MOST_SAMPLES = 6
_NOTICE = "the true trip is left out; how many roads were changed is known from it: for its holder only"
_WHOLE_MAP = 150  # roads that can still be told apart on one picture


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
    count = max(1, min(MOST_SAMPLES, read_whole("samples", values["samples"])))
    hides_lengths = mechanism.metric == "levenshtein"
    naive = _without_roads(values, mechanism) if hides_lengths else None
    released, ignorant = released_trips(model, subject.word, mechanism, count=count, ignorant=naive)
    law = mechanism.distances(subject.word)
    view = _attacker(mechanism, values, progress)
    trip = tuple(map(str, subject.word))
    # on a large map one looks at the part that is driven, and at the whole of it beside
    driven = {*trip, *(str(road) for each in released for road in each.roads)}
    around = set() if len(roads) <= _WHOLE_MAP or covers_most(roads, driven) else driven
    guarantee = mechanism.guarantee
    feasible = sum(each.feasible for each in released)
    driven_trips = f"**{feasible} of {count}** private trips below can be driven: all of their turns exist, because "
    cost = Headline(f"{law.expected_error:.3g} of {law.length}", "roads are changed on average.")
    hidden = promise(mechanism, "trip", symbol="edit" if hides_lengths else "road")
    promised: list[Headline | Text] = [
        Headline(f"ε = {epsilon_text(guarantee.epsilon)}", hidden, guarantee.how),
        _edits(law, len(trip), "road") if hides_lengths else cost,
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
