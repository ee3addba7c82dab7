"""Draw error against ε with what is impossible shaded: `python docs/least_error_pictures.py` (some minutes).

All numbers are averages over the same words: uniform feasible words of the public model. Drawn is what `auto` takes,
beside the papers' mechanism with its factor 2.
"""

from fractions import Fraction
from pathlib import Path

import symveil as sv
from symveil.drawing.plots import Band, Curve, draw_curves
from symveil.examples.road_network import town
from symveil.workflows.public_averages import PublicAverages, average_over_model

FOLDER = Path(__file__).parent / "pictures"
EPSILONS = [Fraction(step, 2) for step in (2, 3, 4, 5, 6, 7, 8, 10, 12)]


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


def taken(language: sv.RunLanguage, epsilon: Fraction) -> PublicAverages:
    """What `auto` takes for b = 1, and its error over public words."""
    return average_over_model(sv.select_mechanism(language, epsilon=epsilon, beyond="nothing"))


def draw(language: sv.RunLanguage, name: str, title: str) -> None:
    """One picture."""
    found, papers = [], []
    for epsilon in EPSILONS:
        found.append(taken(language, epsilon))
        papers.append(average_over_model(sv.Exponential(language, epsilon=epsilon, calibration="classic")))
        how = found[-1].mechanism.guarantee.how
        print(f"{name}, ε = {float(epsilon):g}: {found[-1].mechanism.described}, {how}, {found[-1].sentence()}")  # noqa: T201
    x = [float(epsilon) for epsilon in EPSILONS]
    bounds = [each.bound.value if each.bound else 0.0 for each in found]
    draw_curves(
        [
            Curve("no ε-private mechanism has less (shaded: impossible)", x, bounds),
            Curve("symveil, what auto takes", x, [each.expected_error for each in found]),
            Curve("exponential, as published (J19)", x, [each.expected_error for each in papers], "dashed"),
        ],
        [Band("", x, [min(bounds) / 2] * len(x), bounds)],
        title=title,
        x_label="ε (smaller is more private)",
        y_label="wrong streets, on average over all trips",
        log_y=True,
        path=FOLDER / f"{name}.svg",
    )


if __name__ == "__main__":
    draw(sv.runs(sparse_network(), 9), "least-error-sparse", "Sparse network: wrong streets of 9 that ε costs")
    draw(sv.runs(town(), 9), "least-error-town", "43 streets: wrong ones of 9 that ε costs")
