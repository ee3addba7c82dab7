"""Pictures and reports of explanations: what a mechanism does to a word, or on average to words of a public model.

A picture of a word is an automaton, or the law of the distance to its private versions. Curves show expected error
against ε, for every mechanism."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from symveil.errors import InputError, ParameterError, either
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.language import Language
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.run_product import product_diagram
from symveil.laws.adjacency import AdjacencyTable, chosen_adjacency
from symveil.laws.parameters import Adjacency
from symveil.laws.protection import typical_words
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.selection import choose_mechanism
from symveil.mechanisms.staircase import Staircase
from symveil.models.alphabet import Word, decode
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import exact, percent, shown_at_most, spelled
from symveil.parameters import File, Whole, declared, listing_fields
from symveil.pictures.charts import Curve, curves_chart
from symveil.pictures.diagram import Diagram, to_dot
from symveil.pictures.marks import SUFFIXES, save_chart
from symveil.pictures.svg import to_svg
from symveil.reports.report import Report, Section, Table
from symveil.storage.files import write_text
from symveil.tasks.doubts import (
    doubts,
    given_up_notes,
    hides_little,
    no_better_than_classic,
)
from symveil.tasks.explain import AVERAGES, NO_BOUND, Explanation, PublicAverages, average_over_model

_EDITS_DRAWN = 2


def draw_automaton(word: Word, language: Language, path: Path, *, distance: int | None = None) -> None:
    """Draw the word's automaton, on a model its product with it, as `.svg` or `.dot`: for the holder only.

    Words of one length are drawn at exactly a distance; for words of different lengths it is the Levenshtein
    automaton within a distance, without the model.
    """
    try:
        diagram = _automaton_diagram(word, language, distance)
    except ParameterError as error:
        raise error.about("at_distance") from None
    save_diagram(diagram, path)


def _automaton_diagram(word: Word, language: Language, distance: int | None) -> Diagram:
    if language.metric == "levenshtein":
        within = _EDITS_DRAWN if distance is None else distance
        return levenshtein_automaton(word, within, alphabet=language.alphabet).to_diagram()
    if language.runs is None:
        return hamming_automaton(word, alphabet=language.alphabet, exactly=distance).to_diagram()
    if distance is None:
        raise ParameterError("distance", expected="`at_distance` with `draw` on a model", found=None)
    return product_diagram(language.runs, language.encode(word), exactly=distance)


def save_diagram(diagram: Diagram, path: Path) -> None:
    """Write a picture as `.svg` or `.dot`, by the name of the file."""
    write_text(path, diagram_text(diagram, path))


def diagram_text(diagram: Diagram, path: Path) -> str:
    """A picture in the format that the name of its file says: `.svg` or `.dot`."""
    drawings = {".svg": to_svg, ".dot": to_dot}
    if path.suffix.lower() not in drawings:
        raise ParameterError("draw", expected=f"a file name ending in {either(tuple(drawings))}", found=repr(path.name))
    return drawings[path.suffix.lower()](diagram)


def plot_adjacency_table(table: AdjacencyTable, path: Path) -> None:
    """Plot how many alternatives each position of a typical word has within each b, as `save_chart` does."""
    positions = range(1, table.length + 1)
    curves = [
        Curve("all words" if row.adjacency == "all" else f"b = {row.adjacency}", positions, row.by_position, "points")
        for row in table.rows
        if any(row.by_position)
    ]
    if not curves:
        raise ParameterError("plot", expected="a position with alternatives", found="none: no two words can differ")
    save_chart(
        curves_chart(
            curves,
            title="Alternatives at each position of a typical word",
            x_label="position",
            y_label="words within b that differ there",
            log_y=True,
        ),
        path,
    )


def plot_law(explanation: Explanation, path: Path) -> None:
    """Plot the law of the distance as a file that `save_chart` writes."""
    mechanism = explanation.mechanism
    save_chart(explanation.law.chart(f"{mechanism.name}, ε = {spelled(mechanism.epsilon)}"), path)


@listing_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Which pictures of an explanation are written, and where.

    >>> Pictures().written
    {}
    """

    plot: Path | None = field(
        default=None,
        metadata=declared(
            "Plot the law of the distance; without `epsilon`, what each adjacency hides (.svg; .png and .pdf with "
            "symveil[plots]).",
            label="Plot of the law",
            domain=File(),
        ),
    )
    draw: Path | None = field(
        default=None,
        metadata=declared("Draw the word's automaton (.svg, .dot).", label="Drawing of the automaton", domain=File()),
    )
    curves: Path | None = field(
        default=None,
        metadata=declared(
            "Plot the expected error of all mechanisms against epsilon (.svg, .json; .png and .pdf with "
            "symveil[plots]).",
            label="Curves of the error",
            domain=File(),
        ),
    )
    at_distance: int | None = field(
        default=None,
        metadata=declared(
            "With `draw`: the words at exactly this distance; with metric levenshtein, within it.",
            label="Automaton at distance",
            domain=Whole(placeholder="L"),
        ),
    )

    @property
    def written(self) -> dict[str, Path]:
        """The files that are written, by the names of their fields."""
        files = {"draw": self.draw, "plot": self.plot, "curves": self.curves}
        return {name: path for name, path in files.items() if path is not None}

    def refuse(self, *names: str, expected: str) -> None:
        """Refuse pictures and their options where there is nothing to draw them of."""
        for name in names:
            if getattr(self, name) is not None:
                raise ParameterError(name, expected=expected.format(name), found="none")


def draw_explanation(explanation: Explanation, word: Word, pictures: Pictures, *, progress: Progress) -> list[str]:
    """Write pictures of what a mechanism does to a word; a note for each."""
    mechanism = explanation.mechanism
    if pictures.draw is not None:
        draw_automaton(word, mechanism.language, pictures.draw, distance=pictures.at_distance)
    if pictures.plot is not None:
        plot_law(explanation, pictures.plot)
    if pictures.curves is not None:
        curves = error_curves(mechanism.language, word=word, adjacency=mechanism.adjacency, progress=progress)
        save_curves(curves, pictures.curves)
    return [f"wrote {path}" for path in pictures.written.values()]


EPSILONS = tuple(Fraction(step, 2) for step in range(1, 21))
_TYPICAL_WORDS = 10


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """One mechanism: its expected error at each ε."""

    mechanism: str
    epsilons: tuple[float, ...]
    errors: tuple[float, ...]

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {"mechanism": self.mechanism, "epsilon": list(self.epsilons), "expected_error": list(self.errors)}


def error_curves(
    language: Language,
    *,
    word: Word | None = None,
    adjacency: Adjacency | None = None,
    epsilons: Sequence[Fraction] = EPSILONS,
    progress: Progress | None = None,
) -> tuple[ErrorCurve, ...]:
    """The curves of every mechanism for `word`; without one the average over words of the public model.

    Words are to look alike up to `adjacency`: None is 1 over an alphabet; on a model it has to be given.

    >>> import symveil as sv
    >>> curves = error_curves(sv.words("ab", 5))
    >>> [curve.mechanism for curve in curves][:2]
    ['exponential, tight', 'exponential, classic']
    >>> round(curves[1].errors[9], 6)          # ε = 5
    0.379291
    """
    words = [word] if word is not None else _public_words(language)
    makers = dict(_makers(language, chosen_adjacency(adjacency, language)))
    curves = []
    for number, (name, make) in enumerate(makers.items()):
        errors = []
        for step, epsilon in enumerate(epsilons):
            mechanism = make(epsilon)
            errors.append(sum(mechanism.distances(each).expected_error for each in words) / len(words))
            if progress:
                progress(number * len(epsilons) + step + 1, len(makers) * len(epsilons))
        curves.append(ErrorCurve(name, tuple(map(float, epsilons)), tuple(errors)))
    return tuple(curves)


def _makers(language: Language, adjacency: Adjacency) -> Iterator[tuple[str, Callable[[Fraction], Mechanism]]]:
    for kind in (Exponential, PermuteAndFlip, Staircase):
        for calibration in ("tight", "classic"):
            if calibration == "tight" and kind is not Exponential and not language.homogeneous:
                continue  # no tight analysis on a model: it would be the classic curve again
            yield (
                f"{kind.name}, {calibration}",
                lambda epsilon, kind=kind, calibration=calibration: kind(  # type: ignore[misc]
                    language, epsilon=epsilon, adjacency=adjacency, calibration=calibration
                ),
            )
    if language.graph is not None:
        yield Online.name, lambda epsilon: Online(language, epsilon=epsilon, adjacency=adjacency)


def _public_words(language: Language) -> Sequence[Word | None]:
    if language.runs is None:
        return [None]  # all words of the free language have the same law
    rows = typical_words(language.runs, _TYPICAL_WORDS)
    return [decode(row, language.alphabet, like=()) for row in rows]


def save_curves(curves: Sequence[ErrorCurve], path: Path) -> None:
    """Write the curves as a picture (`.png`, `.svg`) or as numbers (`.json`)."""
    if path.suffix.lower() == ".json":
        write_text(path, json.dumps({"curves": [each.document() for each in curves]}) + "\n")
        return
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(
            "curves", expected=f"a file name ending in {either((*SUFFIXES, '.json'))}", found=repr(path.name)
        )
    save_chart(
        curves_chart(
            [
                Curve(each.mechanism, each.epsilons, each.errors, "dashed" if "classic" in each.mechanism else "solid")
                for each in curves
            ],
            title="Expected error",
            x_label="ε",
            y_label="symbols changed",
        ),
        path,
    )


def settings_report(settings: Sequence[PublicAverages]) -> Report:
    """The averages at several ε, one in a row."""
    rows = [
        (
            spelled(each.mechanism.epsilon),
            each.mechanism.name,
            each.mechanism.guarantee.how,
            f"{each.expected_error:.4g}",
            "" if each.bound is None else shown_at_most(each.bound.value, 4),
            "" if each.attacker is None else percent(each.attacker.symbol.after),
        )
        for each in settings
    ]
    columns = ("epsilon", "mechanism", "guarantee", "expected error", "least possible", "attacker names")
    return Report(title=AVERAGES, sections=(Section(AVERAGES, (Table.from_rows(columns, rows),)),))


def compared_section(compared: Sequence[ErrorCurve], epsilons: Sequence[str]) -> Section:
    """The error of each mechanism at several ε."""
    rows = [(each.mechanism, *(f"{error:.4g}" for error in each.errors)) for each in compared]
    columns = ("mechanism, calibration", *(f"epsilon {each}" for each in epsilons))
    heading = "Expected error of each mechanism, over typical words of the public model"
    return Section(heading, (Table.from_rows(columns, rows),))


# --- several ε, for choosing ε and b -------------------------------------------------------------

_MOST_SETTINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The averages at each ε; where it was requested, the errors of all mechanisms too."""

    averages: tuple[PublicAverages, ...]
    several: bool
    """Whether a range of ε was typed; then there is a list, also of one."""
    compared: tuple[ErrorCurve, ...] | None = None

    def document(self) -> dict[str, object]:
        """The JSON form: of one ε its averages, of several a list under `settings`."""
        documents = [each.document() for each in self.averages]
        document: dict[str, object] = {"settings": documents} if self.several else documents[0]
        if self.compared is None:
            return document
        return document | {"compared": [each.document() for each in self.compared]}

    def report(self) -> Report:
        """The report, with what should be known about each ε, once."""
        report = settings_report(self.averages) if self.several else self.averages[0].report()
        if self.compared:
            epsilons = [spelled(each.mechanism.epsilon) for each in self.averages]
            report = replace(report, sections=(*report.sections, compared_section(self.compared, epsilons)))
        mechanisms = [each.mechanism for each in self.averages]
        notes = [NO_BOUND] if any(each.bound is None for each in self.averages) else []
        if self.several:
            notes += [note for each in mechanisms for note in given_up_notes(each)]
        notes += [note for each in mechanisms for note in no_better_than_classic(each.guarantee.how, each.calibration)]
        warnings = (
            text
            for each in self.averages
            for text in (*doubts(each.mechanism, each.protection), *hides_little(each.attacker))
        )
        return replace(report, notes=_once(notes), warnings=_once(warnings))


def explain_settings(
    language: Language,
    choice: MechanismChoice,
    epsilons: str,
    *,
    count: int = 1,
    compare: bool = False,
    progress: Progress,
) -> Settings:
    """The averages over the words of a language at one ε, or at each of a range.

    `epsilons` is as in `read_epsilons`; an attacker sees `count` private versions of one word. With `compare` the
    errors of all mechanisms are computed too.
    """
    values, averages = read_epsilons(epsilons), []
    for number, epsilon in enumerate(values, start=1):
        chosen = choose_mechanism(replace(choice, epsilon=exact(epsilon)), language)
        averages.append(average_over_model(chosen, count=count))
        progress(number, len(values))
    settings = Settings(averages=tuple(averages), several=".." in epsilons)
    if not compare:
        return settings
    curves = error_curves(
        language,
        adjacency=choice.adjacency,
        epsilons=[exact(epsilon) for epsilon in values],
        progress=named(progress, "comparing"),
    )
    return replace(settings, compared=tuple(curves))


def read_epsilons(text: str) -> list[str]:
    """One ε, or those of `A..B`: A, A+1 … up to B.

    >>> read_epsilons("1..3"), read_epsilons("0.5..2"), read_epsilons("1/2")
    (['1', '2', '3'], ['0.5', '1.5'], ['1/2'])
    """
    first, dots, last = text.partition("..")
    if not dots:
        return [text]
    expected = "a number such as 0.5, or several such as 1..6"
    low, high = (exact(each, name="epsilon", expected=expected) for each in (first, last))
    count = int(high - low) + 1
    if not 0 < low <= high or count > _MOST_SETTINGS:
        raise InputError(f"epsilon: expected {expected}, rising, at most {_MOST_SETTINGS} of them, found {text!r}")
    return [spelled(low + step) for step in range(count)]


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    """Each sentence once, in their order."""
    return tuple(dict.fromkeys(texts))
