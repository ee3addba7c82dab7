"""Compare: expected error against ε for all mechanisms, and the price of privacy in one sentence."""

from __future__ import annotations

import html
from collections.abc import Mapping

from symveil.errors import ParameterError
from symveil.formats.page import table
from symveil.laws.parameters import Adjacency, read_epsilon
from symveil.numbers.progress import Progress, named
from symveil.pictures.curves import Curve
from symveil.pictures.svg_plots import curves_svg
from symveil.studio.answer import Answer, Section
from symveil.studio.tasks.subject import Subject, adjacency_of, read_subject, undecided
from symveil.studio.tasks.words import choose_adjacency
from symveil.tasks.curves import EPSILONS, ErrorCurve, error_curves
from symveil.tasks.release_report import factor

PAPERS = {
    "exponential, classic": "Jones 2019; Benvenuti 2026, reference [21]",
    "permute-and-flip, classic": "Benvenuti 2026, Mechanism 2",
}


def answer_compare(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Compare panel."""
    subject = read_subject(values)
    if undecided(values):
        return choose_adjacency(subject.language, "word")
    adjacency = adjacency_of(values)
    if values["which"] not in ("all", "few"):
        raise ParameterError("which", expected="all or few", found=values["which"])
    curves = _curves(subject, adjacency, progress)
    shown = [curve for curve in curves if values["which"] == "all" or "staircase" not in curve.mechanism]
    here = nearest_step(values["epsilon"])
    return Answer(
        title="symveil: expected error against ε",
        sections=(
            _price(subject, curves, here, adjacency),
            _picture(subject, shown, float(EPSILONS[here])),
            _numbers(curves, here, subject.language.length),
        ),
        document={
            "length": subject.language.length,
            "adjacency": adjacency,
            "curves": [
                {"mechanism": each.mechanism, "epsilon": list(each.epsilons), "expected_error": list(each.errors)}
                for each in curves
            ],
        },
        columns=("epsilon", *(curve.mechanism for curve in curves)),
        rows=tuple(
            (epsilon, *(curve.errors[index] for curve in curves)) for index, epsilon in enumerate(curves[0].epsilons)
        ),
        marks=(("epsilon", values["epsilon"]), ("curves", str(len(curves)))),
        secret=not subject.language.homogeneous and not subject.typical,
    )


_kept: dict[tuple[object, ...], tuple[ErrorCurve, ...]] = {}
"""The last curves: another place to look at does not change them."""


def _curves(subject: Subject, adjacency: Adjacency, progress: Progress) -> tuple[ErrorCurve, ...]:
    word = None if subject.language.homogeneous else subject.word
    key = (subject.language, word, adjacency)
    if key not in _kept:
        computing = named(progress, "Computing the curves")
        computing(0, None)
        curves = error_curves(subject.language, word=word, adjacency=adjacency, progress=computing)
        _kept.clear()
        _kept[key] = curves
    return _kept[key]


def nearest_step(text: str) -> int:
    """Which of the budgets that the curves are computed at is looked at.

    >>> EPSILONS[nearest_step("3.1")]
    Fraction(3, 1)
    """
    epsilon = read_epsilon(text)
    return min(range(len(EPSILONS)), key=lambda index: abs(EPSILONS[index] - epsilon))


def _best(curves: tuple[ErrorCurve, ...], index: int) -> ErrorCurve:
    return min(curves, key=lambda curve: curve.errors[index])


def _price(subject: Subject, curves: tuple[ErrorCurve, ...], here: int, adjacency: Adjacency) -> Section:
    """What ε buys, for somebody who has never heard of it."""
    length, epsilon = subject.language.length, float(EPSILONS[here])
    best = _best(curves, here)
    papers = min((curve for curve in curves if curve.mechanism in PAPERS), key=lambda curve: curve.errors[here])
    ours, theirs = best.errors[here], papers.errors[here]
    hidden = {1: "any one symbol", "all": "all symbols together"}.get(adjacency, f"any {adjacency} symbols")
    sentence = (
        f"To keep {hidden} deniable (nobody becomes more than {factor(epsilon)} times surer of it), about "
        f"<b>{_share(ours, length)}</b> of a private word {'are' if '%' in _share(ours, length) else 'is'} wrong"
    )
    if theirs > ours * 1.02:
        sentence += f"; the published mechanisms get <b>{_share(theirs, length)}</b> wrong at the same ε and b"
    body = f'<p class="sentence">{sentence}.</p>'
    cheaper = next((float(each) for at, each in enumerate(EPSILONS) if best.errors[at] <= ours / 2), None)
    if cheaper is not None and ours > 0.01 and cheaper > epsilon:
        body += (
            f'<p class="quiet">Half as many errors need ε = {cheaper:g} instead of {epsilon:g}: then somebody may '
            f"become {factor(cheaper)} times surer.</p>"
        )
    return Section(heading="The price of privacy", body=body, wide=True)


def _share(errors: float, length: int) -> str:
    """An expected number of errors as people say it.

    >>> _share(2.0, 8), _share(0.004, 10), _share(9.9, 10)
    ('1 symbol in 4', '1 symbol in 2,500', '99 % of the symbols')
    """
    if length == 0 or errors <= 0:
        return "nothing"
    share = errors / length
    return f"{100 * share:.0f} % of the symbols" if share > 0.3 else f"1 symbol in {1 / share:,.0f}"


def _picture(subject: Subject, curves: list[ErrorCurve], epsilon: float) -> Section:
    drawn = [
        Curve(
            _label(curve.mechanism), curve.epsilons, curve.errors, "dashed" if "classic" in curve.mechanism else "solid"
        )
        for curve in curves
    ]
    svg = curves_svg(
        drawn,
        title="Expected error against ε",
        x_label="privacy budget ε",
        y_label=f"symbols changed, of {subject.language.length}",
        mark=epsilon,
        mark_label=f"ε = {epsilon:g}",
    )
    explained = (
        "Dashed: the papers' calibration, with its factor 2. Solid: symveil's, at the same guarantee. "
        "All values are exact expectations, none is a simulation."
    )
    return Section(
        heading="Expected error against ε",
        body=f"<p>{explained}</p>",
        svg=svg,
        picture="expected-error",
        wide=True,
        large=True,
    )


def _label(mechanism: str) -> str:
    return f"{mechanism} (papers)" if mechanism in PAPERS else mechanism


def _numbers(curves: tuple[ErrorCurve, ...], here: int, length: int) -> Section:
    best = _best(curves, here)
    rows = [
        (
            html.escape(curve.mechanism) + (" <b>least</b>" if curve is best else ""),
            f"{curve.errors[here]:.4g}",
            f"{100 * curve.errors[here] / length:.3g} %" if length else "—",
            html.escape(PAPERS.get(curve.mechanism, "symveil")),
        )
        for curve in curves
    ]
    body = table(("mechanism", "symbols changed", "of the word", "from"), rows)
    return Section(heading=f"At ε = {float(EPSILONS[here]):g}", body=body, wide=True)
