"""Draw error against ε with what is impossible shaded: `python docs/least_error_pictures.py`."""

from fractions import Fraction
from pathlib import Path

import symveil as sv
from symveil.drawing.plots import Band, Curve, draw_curves
from symveil.examples.road_network import town
from symveil.workflows.public_averages import average_over_model

FOLDER = Path(__file__).parent / "pictures"
EPSILONS = [Fraction(step, 2) for step in range(2, 17)]


def sparse_network(streets: int = 60) -> sv.MarkovChain:
    """A ring of one-way streets with a parallel street at every fifth."""
    rows = []
    for number in range(streets):
        following = f"s{(number + 1) % streets}"
        if number % 5:
            rows.append((f"s{number}", following, Fraction(1)))
        else:
            rows += [(f"s{number}", each, Fraction(1, 2)) for each in (following, f"p{(number + 1) % streets}")]
            rows.append((f"p{(number + 1) % streets}", f"s{(number + 2) % streets}", Fraction(1)))
    return sv.MarkovChain.from_transitions(rows)


def draw(language: sv.RunLanguage, name: str, title: str) -> None:
    """One picture."""
    found = [average_over_model(sv.Exponential(language, epsilon=epsilon)) for epsilon in EPSILONS]
    x = [float(epsilon) for epsilon in EPSILONS]
    least = [each.bound.value if each.bound else 0.0 for each in found]
    draw_curves(
        [Curve("least possible", x, least), Curve("exponential", x, [each.expected_error for each in found])],
        [Band("impossible", x, [0.0] * len(x), least)],
        title=title,
        x_label="ε",
        y_label="symbols changed",
        path=FOLDER / f"{name}.svg",
    )


if __name__ == "__main__":
    draw(sv.runs(town(), 9), "least-error-town", "Demo town, 9 streets, b = 1")
    draw(sv.runs(sparse_network(), 9), "least-error-sparse", "Sparse network, 9 streets, b = 1")
