"""Release: what a mechanism would do to a word, and ten private words.

The automaton of a word as a picture: state by state where that can be read, else summed up on a grid.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from symveil.errors import SymveilError, TooLargeError
from symveil.languages.free import FreeLanguage
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.run_product import ErrorGrid, error_grid, product_diagram
from symveil.languages.runs import RunLanguage
from symveil.laws.law import DistanceLaw
from symveil.mechanisms.attacker import AttackerView, attacker_view
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Metric, decode
from symveil.numbers.conversions import decimal
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import epsilon_text, spelled
from symveil.parameters import read_whole
from symveil.pictures.charts import Cell, heat_grid_chart
from symveil.pictures.svg import to_svg
from symveil.reports.report import Facts, Headline, Part, Picture, Report, Section, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.limits import LIMITS
from symveil.studio.tasks.subject import (
    AT_ONCE,
    Subject,
    choose_adjacency,
    marked_edits,
    marked_word,
    promise,
    promise_lines,
    read_quick_mechanism,
    read_subject,
    undecided,
)
from symveil.tasks.explain import Explanation, explain_word
from symveil.tasks.release import WordRelease, release_word

_MOST_COLUMNS, _MOST_ROWS = 26, 16

Language = FreeLanguage | RunLanguage


@lru_cache(maxsize=64)
def trellis_svg(language: Language, codes: tuple[int, ...], distance: int) -> str | None:
    """The automaton of the words at one distance, with V and μ; None where it has too many states."""
    row = np.array(codes, dtype=np.int32)
    if language.runs is None:
        automaton = hamming_automaton(
            decode(row, language.alphabet, like=()), alphabet=language.alphabet, exactly=distance
        )
        return automaton.to_svg() if automaton.state_count <= LIMITS.now.states else None
    try:
        return to_svg(product_diagram(language.runs, row, exactly=distance, most_states=LIMITS.now.states))
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
    highest = int(np.max(np.nonzero((through >= LIMITS.now.seen).any(axis=0))[0], initial=0))
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
        if errors <= position and through[position, errors] >= LIMITS.now.seen
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
    explanation = replace(explanation, attacker=view_of_attacker(explanation.mechanism, values, progress))
    named(progress, "Drawing private versions")(0, None)
    released = release_word(subject.word, mechanism, count=LIMITS.now.words, thin=True)
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


def view_of_attacker(mechanism: Mechanism, values: Mapping[str, str], progress: Progress) -> AttackerView | None:
    """What an attacker learns; None where something is to be shown at once."""
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


def edits_made(law: DistanceLaw, length: int, symbol: str) -> Headline:
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
        cost = edits_made(law, explanation.length, "symbol")
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
    once = f"All {LIMITS.now.words} together would cost ε = {epsilon_text(released.total_epsilon)}."
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
    if automaton.state_count > LIMITS.now.states or len(subject.language.alphabet) > LIMITS.now.states:
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
