"""The papers' figures as files, with our curves beside theirs.

All papers, and what reproduces each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from symveil.enforcement.enforce import enforce_opacity
from symveil.errors import ParameterError
from symveil.examples import paper_systems
from symveil.examples.paper_systems import TRIP, network_language
from symveil.languages.free import words
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.run_product import product_diagram
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.numbers.progress import Progress, named
from symveil.pictures.charts import Band, Curve, curves_chart
from symveil.pictures.marks import save_chart
from symveil.pictures.svg import to_svg
from symveil.storage.files import write_text
from symveil.tasks.reproduce import mechanisms, verification
from symveil.tasks.reproduce.rows import Reproduction, Row
from symveil.tasks.verify import privacy_curve
from symveil.verification.opacity.observation import observer

FIGURE_5_EPSILONS = tuple(Fraction(step, 2) for step in range(1, 21))


def draw_figures(folder: Path, suffix: str, paper: str | None = None) -> Iterator[Path]:
    """Draw every figure of one paper, or of all, into `folder`; yields each file when it is there."""
    if paper in (None, "jones2019"):
        yield from _jones2019(folder, suffix)
    if paper in (None, "benvenuti2026"):
        yield from _benvenuti2026(folder, suffix)
    if paper in (None, "zhao2025"):
        yield from _zhao2025(folder)
    if paper in (None, "chistikov2019"):
        yield from _chistikov2019(folder, suffix)


def _jones2019(folder: Path, suffix: str) -> Iterator[Path]:
    for name, as_printed in (("jones2019_fig1a_automaton.svg", False), ("jones2019_algorithm1_as_printed.svg", True)):
        write_text(folder / name, levenshtein_automaton("abc", 2, printed=as_printed).to_svg())
        yield folder / name
    automaton = folder / "jones2019_fig2_automaton.svg"
    write_text(automaton, hamming_automaton("abc", alphabet="abc", exactly=2).to_svg())
    yield automaton
    language = words(sorted(set(mechanisms.SENTENCE)), len(mechanisms.SENTENCE))
    curves = []
    for epsilon in mechanisms.EPSILONS:
        printed = Jones2019Printed(language, epsilon=epsilon).distances()
        curves.append(Curve(f"as printed, ε = {float(epsilon):g}", printed.distances, printed.probabilities, "dashed"))
    right = mechanisms.ExponentialAtAnyEpsilon(
        language, epsilon=1, utility="inverse", calibration="classic"
    ).distances()
    curves.append(Curve("right law, ε = 1", right.distances, right.probabilities))
    path = folder / f"jones2019_case_study_1.{suffix}"
    save_chart(
        curves_chart(
            curves,
            title="J19 Case Study 1: law of the distance",
            x_label="symbols changed, of 32",
            y_label="probability",
        ),
        path,
    )
    yield path


def _benvenuti2026(folder: Path, suffix: str) -> Iterator[Path]:
    for panel in mechanisms.PANELS:
        values = [float(value) for value in panel.values]
        points = [panel.parameters(value) for value in panel.values]
        classic = [mechanisms.classic_law(*point) for point in points]
        tight = [Exponential(language, epsilon=epsilon).distances() for language, epsilon in points]
        flip = [PermuteAndFlip(language, epsilon=epsilon).distances() for language, epsilon in points]
        upper = [law.bounds.upper for law in classic if law.bounds]
        lower = [max(0.0, law.bounds.lower) for law in classic if law.bounds]
        letter = panel.name.strip("()")
        path = folder / f"benvenuti2026_fig2{letter}.{suffix}"
        save_chart(
            curves_chart(
                [
                    Curve("permute-and-flip, as in B26", values, [law.expected_error for law in classic]),
                    Curve("exponential, classic (upper bound of Theorem 2)", values, upper, "dashed"),
                    Curve("permute-and-flip, tight", values, [law.expected_error for law in flip]),
                    Curve("exponential, tight", values, [law.expected_error for law in tight]),
                ],
                [Band("", values, lower, upper)],
                title=f"B26 Fig. 2{panel.name}: expected error, {panel.fixed}",
                x_label=panel.variable,
                y_label="symbols changed",
            ),
            path,
        )
        yield path
    product = folder / "benvenuti2026_fig3_product.svg"
    language = paper_systems.four_states()
    diagram = product_diagram(language, language.encode(("y1", "y2", "y3")), exactly=2)
    write_text(product, to_svg(diagram))
    yield product
    yield _figure_5(folder / f"benvenuti2026_fig5.{suffix}")


def _figure_5(path: Path) -> Path:
    """B26 Fig. 5 on the generated network: exact expectations, samples, and the certified calibration."""
    language = network_language()
    points = [mechanisms.experiment(language, epsilon) for epsilon in FIGURE_5_EPSILONS]
    epsilons = [float(point.epsilon) for point in points]
    tight = [
        Exponential(language, epsilon=point.epsilon, adjacency=1).distances(TRIP).expected_error for point in points
    ]
    save_chart(
        curves_chart(
            [
                Curve("permute-and-flip (B26 Mechanism 2)", epsilons, [point.flip for point in points]),
                Curve("exponential, classic", epsilons, [point.exponential for point in points], "dashed"),
                Curve("mean of 2,000 samples", epsilons, [point.flip_samples for point in points], "points"),
                Curve("exponential, certified", epsilons, tight),
            ],
            title="B26 Fig. 5 on a generated network: 43 segments, n = 14",
            x_label="ε",
            y_label="segments changed",
        ),
        path,
    )
    return path


def _zhao2025(folder: Path) -> Iterator[Path]:
    """Z25 Figs. 1 and 3–10; the systems are reconstructed from the text."""
    first, second, medical = paper_systems.example_3(), paper_systems.example_4(), paper_systems.medical()
    diagrams = {
        "fig1_levenshtein_automaton": hamming_automaton("bbc", alphabet="abc", within=2).to_diagram(),
        "fig3a_system": first.to_diagram(),
        "fig3b_observer": observer(first).to_diagram(),
        "fig4a_system": second.to_diagram(),
        "fig4b_observer": observer(second).to_diagram(),
        "fig5_distance_limited": hamming_automaton("bbc", alphabet="abc", exactly=2).to_diagram(),
        "fig6_distance_limited": enforce_opacity(second, 1, policy="substitution", omega=2).to_diagram(),
        "fig7_modified": enforce_opacity(second, 1, policy="safe", omega=2).to_diagram(),
        "fig8a_medical_system": medical.to_diagram(),
        "fig8b_medical_observer": observer(medical).to_diagram(),
        "fig9_medical_distance_limited": enforce_opacity(medical, 2, policy="substitution", omega=1).to_diagram(),
        "fig10_medical_modified": enforce_opacity(medical, 2, policy="safe", omega=1).to_diagram(),
    }
    for name, diagram in diagrams.items():
        path = folder / f"zhao2025_{name}.svg"
        write_text(path, to_svg(diagram))
        yield path


def _chistikov2019(folder: Path, suffix: str) -> Iterator[Path]:
    chain = folder / "chistikov2019_fig4a_pin_checker.svg"
    write_text(chain, paper_systems.pin_checker().to_svg())
    yield chain
    alphas = sorted({*verification.PIN_ALPHAS, *(1 + Fraction(step, 100) for step in range(31))})
    path = folder / f"chistikov2019_fig4b.{suffix}"
    privacy_curve(paper_systems.pin_checker(), alphas=alphas).draw(
        path, title="C19 Fig. 4b: privacy of the PIN checker"
    )
    yield path


PAPERS = {
    "jones2019": (mechanisms.jones2019_rows, mechanisms.grid_rows),
    "benvenuti2026": (mechanisms.benvenuti2026_rows, mechanisms.road_rows),
    "zhao2025": (verification.zhao2025_rows,),
    "chistikov2019": (verification.chistikov2019_rows,),
}


def reproduce(paper: str | None = None, *, progress: Progress | None = None) -> Reproduction:
    """The rows of one paper, or of all; `progress` is called with the next one.

    >>> reproduction = reproduce("jones2019")
    >>> [row.item for row in reproduction.rows if row.ours == "561"]
    ['Case Study 1: states of the automaton']
    """
    if paper is not None and paper not in PAPERS:
        raise ParameterError("paper", expected=f"one of {', '.join(PAPERS)}", found=paper)
    rows: list[Row] = []
    names = tuple(PAPERS) if paper is None else (paper,)
    for number, name in enumerate(names):
        named(progress, name)(number, len(names))
        rows += [replace(row, paper=name) for part in PAPERS[name] for row in part()]
        named(progress, name)(number + 1, len(names))
    return Reproduction(tuple(rows))
