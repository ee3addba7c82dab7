"""Compare: expected error against ε for all mechanisms, and the price of privacy in one sentence.

Compare, what follows: the best mechanism on average over the public model, beside the least error there can be.

A bound takes seconds where the words are those of a model. So they are found a few at a time, the one that is looked
at first, and the page stays free for other questions in between.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from symveil.errors import ParameterError
from symveil.languages.language import Language
from symveil.laws.parameters import Adjacency, read_beyond, read_epsilon
from symveil.mechanisms.choice import read_choice
from symveil.mechanisms.selection import choose_mechanism
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import counted, factor, percent, share_of_symbols, spelled
from symveil.pictures.charts import Band, Curve, curves_chart
from symveil.reports.report import Marked, Part, Picture, Report, Section, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.limits import LIMITS
from symveil.studio.tasks.subject import (
    Subject,
    adjacency_of,
    attacker_lines,
    choose_adjacency,
    read_subject,
    undecided,
    warning,
)
from symveil.tasks.draw import EPSILONS, ErrorCurve, error_curves, settings_report
from symveil.tasks.explain import NO_BOUND, PublicAverages, average_over_model

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
    read_beyond(values["beyond"])
    if values["which"] not in ("all", "few"):
        raise ParameterError("which", expected="all or few", found=values["which"])
    curves = _curves(subject, adjacency, progress)
    shown = [curve for curve in curves if values["which"] == "all" or "staircase" not in curve.mechanism]
    here = nearest_step(values["epsilon"])
    return Answer(
        report=Report(
            title="symveil: expected error against ε",
            sections=(
                _price(subject, curves, here, adjacency),
                _picture(subject, shown, float(EPSILONS[here])),
                _numbers(curves, here, subject.language.length),
            ),
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


_cached: dict[tuple[object, ...], tuple[ErrorCurve, ...]] = {}
"""The last curves: another place to look at does not change them."""


def _curves(subject: Subject, adjacency: Adjacency, progress: Progress) -> tuple[ErrorCurve, ...]:
    word = None if subject.language.homogeneous else subject.word
    key = (subject.language, word, adjacency)
    if key not in _cached:
        computing = named(progress, "Computing the curves")
        computing(0, None)
        curves = error_curves(subject.language, word=word, adjacency=adjacency, progress=computing)
        _cached.clear()
        _cached[key] = curves
    return _cached[key]


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
    """What ε buys, for readers who do not know it."""
    length, epsilon = subject.language.length, float(EPSILONS[here])
    best = _best(curves, here)
    papers = min((curve for curve in curves if curve.mechanism in PAPERS), key=lambda curve: curve.errors[here])
    ours, theirs = best.errors[here], papers.errors[here]
    hidden = {1: "any one symbol", "all": "all symbols together"}.get(adjacency, f"any {adjacency} symbols")
    share = share_of_symbols(ours, length)
    sentence = (
        f"To keep {hidden} deniable (no attacker becomes more than {factor(epsilon)} times surer of it), about "
        f"**{share}** of a private word {'are' if '%' in share else 'is'} wrong"
    )
    if theirs > ours * 1.02:
        sentence += f"; the published mechanisms get **{share_of_symbols(theirs, length)}** wrong at the same ε and b"
    parts = [Text(f"{sentence}.", "sentence")]
    cheaper = next((float(each) for at, each in enumerate(EPSILONS) if best.errors[at] <= ours / 2), None)
    if cheaper is not None and ours > 0.01 and cheaper > epsilon:
        then = f"then an attacker may become {factor(cheaper)} times surer"
        parts.append(Text(f"Half as many errors need ε = {cheaper:g} instead of {epsilon:g}: {then}.", "quiet"))
    return Section("The price of privacy", tuple(parts))


def _picture(subject: Subject, curves: list[ErrorCurve], epsilon: float) -> Section:
    drawn = [
        Curve(
            _label(curve.mechanism), curve.epsilons, curve.errors, "dashed" if "classic" in curve.mechanism else "solid"
        )
        for curve in curves
    ]
    svg = curves_chart(
        drawn,
        title="Expected error against ε",
        x_label="privacy budget ε",
        y_label=f"symbols changed, of {subject.language.length}",
        mark=epsilon,
        mark_label=f"ε = {epsilon:g}",
    ).to_svg()
    explained = (
        "Dashed: the papers' calibration, with its factor 2. Solid: symveil's, at the same guarantee. "
        "All values are exact expectations, none is a simulation."
    )
    return Section("Expected error against ε", (Text(explained), Picture(svg, "expected-error", large=True)))


def _label(mechanism: str) -> str:
    return f"{mechanism} (papers)" if mechanism in PAPERS else mechanism


def _numbers(curves: tuple[ErrorCurve, ...], here: int, length: int) -> Section:
    best = _best(curves, here)
    rows = [
        (
            Marked((f"{curve.mechanism} ", "least" if curve is best else "")),
            f"{curve.errors[here]:.4g}",
            percent(curve.errors[here] / length, 3) if length else "—",
            PAPERS.get(curve.mechanism, "symveil"),
        )
        for curve in curves
    ]
    columns = ("mechanism", "symbols changed", "of the word", "from")
    return Section(f"At ε = {float(EPSILONS[here]):g}", (Table.from_rows(columns, rows),))


_averages_cache: dict[tuple[Language, Adjacency, str], dict[Fraction, PublicAverages]] = {}
"""Those of the last language and adjacency, and of what is kept beyond it."""


@dataclass(frozen=True, slots=True)
class Averages:
    """What is known so far, ready for the page, and how many budgets that are of how many."""

    section: Section
    documents: tuple[dict[str, object], ...]
    done: int
    of: int

    def added_to(self, answer: Answer) -> Answer:
        """The answer that they follow, with them: for reports and downloads."""
        known = {each["epsilon"]: each for each in self.documents}

        def cells(epsilon: object) -> tuple[object, ...]:
            result = known.get(epsilon)
            if result is None:
                return ("", "", "")
            bound = result["lower_bound"]
            return result["mechanism"], result["expected_error"], bound["value"] if isinstance(bound, dict) else ""

        return replace(
            answer.with_sections(self.section),
            document={**answer.document, "averages": list(self.documents)},
            columns=(*answer.columns, "chosen by auto", "on average", "least possible on average"),
            rows=tuple((*row, *cells(row[0])) for row in answer.rows),
        )


def average_more(values: Mapping[str, str], progress: Progress) -> Averages:
    """A few more of the averages that a form of the Compare panel asks for, and all that were found before."""
    language = read_subject(values).language
    adjacency, beyond = adjacency_of(values), read_beyond(values["beyond"])
    here = EPSILONS[nearest_step(values["epsilon"])]
    if (language, adjacency, beyond) not in _averages_cache:
        _averages_cache.clear()
    known = _averages_cache.setdefault((language, adjacency, beyond), {})
    wanted = sorted((each for each in EPSILONS if each not in known), key=lambda each: abs(each - here))
    began = time.monotonic()
    tell = named(progress, "Averaging over the public model")
    for epsilon in wanted:
        choice = read_choice(spelled(epsilon), adjacency=adjacency, beyond=beyond, public_start=language.public_start)
        known[epsilon] = average_over_model(choose_mechanism(choice, language))
        tell(len(known), len(EPSILONS))
        if time.monotonic() - began > LIMITS.now.slice_seconds:
            break
    rows = [known[epsilon] for epsilon in EPSILONS if epsilon in known]
    return Averages(
        section=_section(rows, known[here], language),
        documents=tuple(each.document() for each in rows),
        done=len(rows),
        of=len(EPSILONS),
    )


def _section(rows: list[PublicAverages], here: PublicAverages, language: Language) -> Section:
    parts: list[Part] = [
        Text(f"At ε = {spelled(here.mechanism.epsilon)}: {here.sentence()}.", "sentence"),
        Text(_which(here), "quiet"),
        *attacker_lines(here.mechanism, here.attacker, here.expected_error),
        *([warning(NO_BOUND)] if here.bound is None else []),
        Picture(_averages_picture(rows, here, language), "least-error", large=True),
    ]
    (table,) = settings_report(rows).sections
    return Section("How much is left, on average over all words", (*parts, *table.parts))


def _which(here: PublicAverages) -> str:
    """Which average it is: a bound over the public words says nothing about the one word above."""
    mechanism = here.mechanism
    chosen = f"Symbols changed by {mechanism.described}, which auto chooses ({mechanism.guarantee.how})."
    if mechanism.language.homogeneous:
        return f"{chosen} All words of {counted(mechanism.length or 0, 'symbol')} have the same expected error."
    drawn = f"; sampled, with a standard error of {here.standard_error:.2g}" if here.standard_error else ""
    return (
        f"{chosen} The average is over the feasible words of {counted(mechanism.length or 0, 'symbol')} of the public "
        f"model, each as likely as any other{drawn}. The curves above are about one word: do not compare the two."
    )


def _averages_picture(rows: list[PublicAverages], here: PublicAverages, language: Language) -> str:
    curves, bands = [], []
    bounded = [(float(each.mechanism.epsilon), each.bound.value) for each in rows if each.bound is not None]
    if bounded:
        positions, least = zip(*bounded, strict=True)
        curves.append(Curve("no mechanism with this promise can be below (shaded)", positions, least))
        bands.append(Band("", positions, [0.0] * len(positions), least))
    own = [(float(each.mechanism.epsilon), each.expected_error) for each in rows]
    positions, errors = zip(*own, strict=True)
    curves.append(Curve("symveil, chosen by auto", positions, errors))
    epsilon = float(here.mechanism.epsilon)
    return curves_chart(
        curves,
        bands,
        title="Expected error against ε on average over the public model, with what is impossible shaded",
        x_label="privacy budget ε",
        y_label=f"symbols changed, of {language.length}",
        mark=epsilon,
        mark_label=f"ε = {epsilon:g}",
    ).to_svg()
