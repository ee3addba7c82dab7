"""Draw error against ε with what is impossible shaded: `python docs/least_error_pictures.py` (some minutes).

All numbers are averages over the same words: uniform feasible words of the public model. Only mechanisms whose loss is
exact or certified at that ε are drawn, beside the papers' mechanism with its factor 2.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import symveil as sv
from symveil.drawing.plots import Band, Curve, draw_curves
from symveil.examples.road_network import town
from symveil.workflows.public_averages import PublicAverages, average_over_model

FOLDER = Path(__file__).parent / "pictures"
EPSILONS = [Fraction(step, 2) for step in range(2, 13)]


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


def candidates(language: sv.RunLanguage, epsilon: Fraction) -> Iterator[sv.Exponential]:
    """What one would choose from for b = 1, by name: a mechanism that is asked for gets its certificate."""
    for cost in ("hamming", "swap"):
        yield sv.Exponential(language, epsilon=epsilon, cost=cost)


def least(language: sv.RunLanguage, epsilon: Fraction) -> PublicAverages:
    """The candidate with the least error over public words, of those whose guarantee is more than the papers'."""
    proved = [each for each in candidates(language, epsilon) if each.guarantee.how != "classic"]
    return min(map(average_over_model, proved), key=lambda each: each.expected_error)


def draw(language: sv.RunLanguage, name: str, title: str) -> None:
    """One picture."""
    found = [least(language, epsilon) for epsilon in EPSILONS]
    papers = [average_over_model(sv.PermuteAndFlip(language, epsilon=e, calibration="classic")) for e in EPSILONS]
    x = [float(epsilon) for epsilon in EPSILONS]
    bounds = [each.bound.value if each.bound else 0.0 for each in found]
    for epsilon, each, bound in zip(x, found, bounds, strict=True):
        print(epsilon, each.mechanism.parameters_document(), each.expected_error, bound)  # noqa: T201
    draw_curves(
        [
            Curve("no ε-private mechanism has less (shaded: impossible)", x, bounds),
            Curve("symveil, certified", x, [each.expected_error for each in found]),
            Curve("as published (B26)", x, [each.expected_error for each in papers], "dashed"),
        ],
        [Band("", x, [0.0] * len(x), bounds)],
        title=title,
        x_label="ε (smaller is more private)",
        y_label="wrong streets, on average over all trips",
        path=FOLDER / f"{name}.svg",
    )


if __name__ == "__main__":
    draw(sv.runs(sparse_network(), 9), "least-error-sparse", "Sparse network: wrong streets of 9 that ε costs")
    draw(sv.runs(town(), 9), "least-error-town", "Demo network: wrong streets of 9 that ε costs")
