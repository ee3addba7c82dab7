"""Draw error against ε with what is impossible shaded: `python docs/least_error_pictures.py` (some minutes).

All numbers are averages over uniform feasible words of the public model: over all of them where they are few, else over
words that were drawn. Shown is what `auto` takes, beside the papers' mechanism with its factor 2.
"""

from fractions import Fraction
from pathlib import Path

import symveil as sv
from symveil.examples.millford import millford
from symveil.examples.paper_systems import town
from symveil.pictures.charts import Band, Curve, curves_chart
from symveil.pictures.marks import save_chart
from symveil.tasks.explain import PublicAverages, average_over_model

_FEW = 10_000
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


def taken(language: sv.RunLanguage, epsilon: Fraction, beyond: str) -> PublicAverages:
    """What `auto` takes for b = 1, its error over public words, and the bound of the promise that it keeps."""
    return average_over_model(sv.select_mechanism(language, epsilon=epsilon, adjacency=1, beyond=beyond))


def error(average: PublicAverages) -> float:
    """The error over all words of a language of at most ten thousand; else over those that were drawn."""
    language = average.mechanism.language.runs
    if language is None or not language.has_at_most(_FEW):
        return average.expected_error
    symbols, _costs = average.mechanism.expected_errors(language.enumerate_codes(at_most=_FEW))
    return float(symbols.mean())


def draw(language: sv.RunLanguage, name: str, title: str, *, beyond: str = "nothing") -> None:
    """One picture, of one promise; the papers' mechanism keeps the graceful one."""
    found, papers = [], []
    for epsilon in EPSILONS:
        found.append(taken(language, epsilon, beyond))
        papers.append(average_over_model(sv.Exponential(language, epsilon=epsilon, adjacency=1, calibration="classic")))
        how = found[-1].mechanism.guarantee.how
        print(f"{name}, ε = {float(epsilon):g}: {found[-1].mechanism.described}, {how}, {found[-1].sentence()}")  # noqa: T201
    x = [float(epsilon) for epsilon in EPSILONS]
    impossible = "no ε-private mechanism" if beyond == "nothing" else "nothing with the same promise"
    bounds = [each.bound.value if each.bound else 0.0 for each in found]
    save_chart(
        curves_chart(
            [
                Curve(f"{impossible} has less (shaded: impossible)", x, bounds),
                Curve("symveil, what auto takes", x, [error(each) for each in found]),
                Curve("exponential, as published (J19)", x, [error(each) for each in papers], "dashed"),
            ],
            [Band("", x, [min(bounds) / 2] * len(x), bounds)],
            title=title,
            x_label="ε (smaller is more private)"
            if beyond == "nothing"
            else "ε for each street (smaller is more private)",
            y_label="wrong symbols, on average over all trips",
            log_y=True,
        ),
        FOLDER / f"{name}.svg",
    )


if __name__ == "__main__":
    draw(sv.runs(sparse_network(), 9), "least-error-sparse", "Sparse network: wrong streets of 9 that ε costs")
    draw(sv.runs(millford(), 7), "least-error-millford", "Millford: wrong streets of 7 that ε costs", beyond="graceful")
    draw(sv.runs(town(), 9), "least-error-town", "43 streets: wrong ones of 9 that ε costs")
