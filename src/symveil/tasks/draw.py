"""Pictures as files: the automaton of a word, the law of the distance to its private versions, any diagram.

Expected error against ε, for every mechanism: for one word, or on average over the public model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from symveil.errors import ParameterError, either
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.language import Language
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.run_product import product_diagram
from symveil.laws.adjacency import AdjacencyTable, chosen_adjacency
from symveil.laws.parameters import Adjacency
from symveil.laws.protection import typical_words
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online.mechanism import Online
from symveil.mechanisms.permute_and_flip.mechanism import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.models.word import Word, decode
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import spelled
from symveil.parameters.declaration import File, Whole, declared, listing_fields
from symveil.pictures.charts import Curve, curves_chart
from symveil.pictures.diagram import Diagram, to_dot
from symveil.pictures.marks import SUFFIXES, save_chart
from symveil.pictures.svg import to_svg
from symveil.storage.files import write_text
from symveil.tasks.explain import Explanation

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
    """Plot how many alternatives each position of a typical word has within each b, as a file that `save_chart` writes.

    Parameters
    ----------
    table
        What each b hides.
    path
        The file to write.
    """
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
    """Write pictures of what a mechanism does to a word; a note for each.

    Parameters
    ----------
    explanation, word
        What is drawn.
    pictures
        Which pictures, and where.
    progress
        Called while curves are computed.
    """
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

    Parameters
    ----------
    language
        Words of one length.
    word
        One of them; None: a few typical words of the public model.
    adjacency
        Up to what distance words are to look alike. None: 1 over an alphabet; on a model it has to be given.
    epsilons
        At which budgets.
    progress
        Called with how much is done, and of how much.

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
