"""Compare, what follows: the best mechanism on average over the public model, beside the least error there can be.

A bound takes seconds where the words are those of a model. So they are found a few at a time, the one that is looked
at first, and the page stays free for other questions in between.
"""

from __future__ import annotations

import html
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from symveil.formats.page import table
from symveil.languages.language import Language
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.attacker import percent
from symveil.mechanisms.choice import read_choice
from symveil.mechanisms.selection import choose_mechanism
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import shown_at_most, spelled
from symveil.pictures.curves import Band, Curve
from symveil.pictures.svg_plots import curves_svg
from symveil.studio.answer import Answer, Section
from symveil.studio.tasks.compare import nearest_step
from symveil.studio.tasks.subject import adjacency_of, read_subject
from symveil.studio.tasks.words import attacker_lines, counted
from symveil.tasks.curves import EPSILONS
from symveil.tasks.public_averages import NO_BOUND, PublicAverages, average_over_model

_SLICE = 1.0  # seconds, after which the worker looks for other questions

_kept: dict[tuple[Language, Adjacency], dict[Fraction, PublicAverages]] = {}
"""Those of the last language and adjacency."""


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
            found = known.get(epsilon)
            if found is None:
                return ("", "", "")
            bound = found["lower_bound"]
            return found["mechanism"], found["expected_error"], bound["value"] if isinstance(bound, dict) else ""

        return replace(
            answer,
            sections=(*answer.sections, self.section),
            document={**answer.document, "averages": list(self.documents)},
            columns=(*answer.columns, "chosen by auto", "on average", "least possible on average"),
            rows=tuple((*row, *cells(row[0])) for row in answer.rows),
        )


def average_more(values: Mapping[str, str], progress: Progress) -> Averages:
    """A few more of the averages that a form of the Compare panel asks for, and all that were found before."""
    language = read_subject(values).language
    adjacency = adjacency_of(values)
    here = EPSILONS[nearest_step(values["epsilon"])]
    if (language, adjacency) not in _kept:
        _kept.clear()
    known = _kept.setdefault((language, adjacency), {})
    wanted = sorted((each for each in EPSILONS if each not in known), key=lambda each: abs(each - here))
    began = time.monotonic()
    tell = named(progress, "Averaging over the public model")
    for epsilon in wanted:
        choice = read_choice(spelled(epsilon), adjacency=adjacency, public_start=language.public_start)
        known[epsilon] = average_over_model(choose_mechanism(choice, language))
        tell(len(known), len(EPSILONS))
        if time.monotonic() - began > _SLICE:
            break
    rows = [known[epsilon] for epsilon in EPSILONS if epsilon in known]
    return Averages(
        section=_section(rows, known[here], language),
        documents=tuple(each.document() for each in rows),
        done=len(rows),
        of=len(EPSILONS),
    )


def _section(rows: list[PublicAverages], here: PublicAverages, language: Language) -> Section:
    epsilon, sentence = spelled(here.mechanism.epsilon), here.sentence()
    body = f'<p class="sentence">At ε = {epsilon}: {html.escape(sentence)}.</p><p class="quiet">{_which(here)}</p>'
    body += attacker_lines(here.mechanism, here.attacker, here.expected_error)
    if here.bound is None:
        body += f'<p class="warning">{html.escape(NO_BOUND.capitalize())}.</p>'
    return Section(
        heading="How much is left, on average over all words",
        body=body,
        svg=_picture(rows, here, language),
        picture="least-error",
        after=_table(rows),
        wide=True,
        large=True,
    )


def _which(here: PublicAverages) -> str:
    """Which average it is: a bound over the public words says nothing about the one word above."""
    mechanism = here.mechanism
    chosen = f"Symbols changed by {html.escape(mechanism.described)}, which auto chooses ({mechanism.guarantee.how})."
    if mechanism.language.homogeneous:
        return f"{chosen} All words of {counted(mechanism.length or 0, 'symbol')} have the same expected error."
    drawn = f"; sampled, with a standard error of {here.standard_error:.2g}" if here.standard_error else ""
    return (
        f"{chosen} The average is over the feasible words of {counted(mechanism.length or 0, 'symbol')} of the public "
        f"model, each as likely as any other{drawn}. The curves above are about one word: do not compare the two."
    )


def _picture(rows: list[PublicAverages], here: PublicAverages, language: Language) -> str:
    curves, bands = [], []
    bounded = [(float(each.mechanism.epsilon), each.bound.value) for each in rows if each.bound is not None]
    if bounded:
        places, least = zip(*bounded, strict=True)
        curves.append(Curve("no mechanism with this promise can be below (shaded)", places, least))
        bands.append(Band("", places, [0.0] * len(places), least))
    own = [(float(each.mechanism.epsilon), each.expected_error) for each in rows]
    places, errors = zip(*own, strict=True)
    curves.append(Curve("symveil, chosen by auto", places, errors))
    epsilon = float(here.mechanism.epsilon)
    return curves_svg(
        curves,
        bands,
        title="Expected error against ε on average over the public model, with what is impossible shaded",
        x_label="privacy budget ε",
        y_label=f"symbols changed, of {language.length}",
        mark=epsilon,
        mark_label=f"ε = {epsilon:g}",
    )


def _table(rows: list[PublicAverages]) -> str:
    shown = []
    for each in rows:
        sampled = f" ± {each.standard_error:.2g}" if each.standard_error else ""
        least, sure = "—", "—"
        if each.bound is not None:
            least = shown_at_most(each.bound.value, 4)
            sure = "proved" if each.bound.confidence is None else f"confidence {each.bound.confidence:g}"
        mechanism = each.mechanism
        name = f"{html.escape(mechanism.described)}, {mechanism.guarantee.how}"
        guessed = "—" if each.attacker is None else percent(each.attacker.symbol.after)
        shown.append((spelled(mechanism.epsilon), name, f"{each.expected_error:.4g}{sampled}", guessed, least, sure))
    columns = ("ε", "chosen by auto", "symbols changed", "attacker names", "least possible", "how that is known")
    return table(columns, shown)
