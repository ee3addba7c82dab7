"""Pictures of one word: its automaton, and the law of the distance to its private versions."""

from __future__ import annotations

from pathlib import Path

from symveil.drawing.plots import draw_bars
from symveil.errors import ParameterError
from symveil.io.files import write_text
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.models.alphabet import Alphabet
from symveil.models.word import Word
from symveil.numerics.rationals import spelled
from symveil.workflows.explain import Explanation


def draw_automaton(word: Word, alphabet: Alphabet, path: Path, *, exactly: int | None = None) -> None:
    """Draw the word's Hamming automaton, for the holder of the word only, as `.svg` or `.dot`."""
    automaton = hamming_automaton(word, alphabet=alphabet, exactly=exactly)
    drawings = {".svg": automaton.to_svg, ".dot": automaton.to_dot}
    if path.suffix.lower() not in drawings:
        raise ParameterError("draw", expected="a file name ending in .svg or .dot", found=repr(path.name))
    write_text(path, drawings[path.suffix.lower()]())


def plot_law(explanation: Explanation, path: Path) -> None:
    """Plot the law of the distance as `.png` or `.svg`."""
    law, mechanism = explanation.law, explanation.mechanism
    draw_bars(
        law.distances,
        law.probabilities,
        title=f"{mechanism.name}, ε = {spelled(mechanism.epsilon)}",
        x_label="symbols changed",
        y_label="probability",
        mark=law.expected_error,
        mark_label=f"expected {law.expected_error:.4g}",
        path=path,
    )
