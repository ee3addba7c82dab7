"""Pictures as files: the automaton of a word, the law of the distance to its private versions, any diagram."""

from __future__ import annotations

from pathlib import Path

from symveil.errors import ParameterError, either
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.language import Language
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.run_product import product_diagram
from symveil.laws.adjacency import AdjacencyTable
from symveil.models.word import Word
from symveil.numbers.rationals import spelled
from symveil.pictures.curves import Curve
from symveil.pictures.diagram import Diagram
from symveil.pictures.dot import to_dot
from symveil.pictures.svg import to_svg
from symveil.storage.atomic import write_text
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
    """Plot how many alternatives each position of a typical word has within each b, as `.png` or `.svg`.

    Parameters
    ----------
    table
        What each b hides.
    path
        The file to write.
    """
    from symveil.pictures.plots import draw_curves  # noqa: PLC0415 - matplotlib, which the studio's pages do without

    positions = range(1, table.length + 1)
    curves = [
        Curve("all words" if row.adjacency == "all" else f"b = {row.adjacency}", positions, row.by_position, "points")
        for row in table.rows
        if any(row.by_position)
    ]
    if not curves:
        raise ParameterError("plot", expected="a position with alternatives", found="none: no two words can differ")
    draw_curves(
        curves,
        title="Alternatives at each position of a typical word",
        x_label="position",
        y_label="words within b that differ there",
        log_y=True,
        path=path,
    )


def plot_law(explanation: Explanation, path: Path) -> None:
    """Plot the law of the distance as `.png` or `.svg`."""
    from symveil.pictures.plots import draw_bars  # noqa: PLC0415 - matplotlib, which the studio's pages do without

    law, mechanism = explanation.law, explanation.mechanism
    draw_bars(
        law.distances,
        law.probabilities,
        title=f"{mechanism.name}, ε = {spelled(mechanism.epsilon)}",
        x_label=law.unit,
        y_label="probability",
        mark=law.expected_error,
        mark_label=f"expected {law.expected_error:.4g}",
        path=path,
    )
