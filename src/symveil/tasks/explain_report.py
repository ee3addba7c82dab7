"""What a mechanism does to a word, or to the words of a public model, as reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from symveil.errors import InputError
from symveil.languages.language import Language
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.selection import choose_mechanism
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import exact, percent, shown_at_most, spelled
from symveil.reports.report import Report, Section, Table
from symveil.tasks.doubts import (
    doubts,
    given_up_notes,
    hides_little,
    no_better_than_classic,
)
from symveil.tasks.draw import ErrorCurve, error_curves
from symveil.tasks.explain import AVERAGES, NO_BOUND, PublicAverages, average_over_model


def settings_report(settings: Sequence[PublicAverages]) -> Report:
    """The averages at several ε, one in a row."""
    rows = [
        (
            spelled(each.mechanism.epsilon),
            each.mechanism.name,
            each.mechanism.guarantee.how,
            f"{each.expected_error:.4g}",
            "" if each.bound is None else shown_at_most(each.bound.value, 4),
            "" if each.attacker is None else percent(each.attacker.symbol.after),
        )
        for each in settings
    ]
    columns = ("epsilon", "mechanism", "guarantee", "expected error", "least possible", "attacker names")
    return Report(title=AVERAGES, sections=(Section(AVERAGES, (Table.from_rows(columns, rows),)),))


def compared_section(compared: Sequence[ErrorCurve], epsilons: Sequence[str]) -> Section:
    """The error of each mechanism at several ε."""
    rows = [(each.mechanism, *(f"{error:.4g}" for error in each.errors)) for each in compared]
    columns = ("mechanism, calibration", *(f"epsilon {each}" for each in epsilons))
    heading = "Expected error of each mechanism, over typical words of the public model"
    return Section(heading, (Table.from_rows(columns, rows),))


# --- several ε, for choosing ε and b -------------------------------------------------------------

_MOST_SETTINGS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The averages at each ε; where it was requested, the errors of all mechanisms too."""

    averages: tuple[PublicAverages, ...]
    several: bool
    """Whether a range of ε was typed; then there is a list, also of one."""
    compared: tuple[ErrorCurve, ...] | None = None

    def document(self) -> dict[str, object]:
        """The JSON form: of one ε its averages, of several a list under `settings`."""
        documents = [each.document() for each in self.averages]
        document: dict[str, object] = {"settings": documents} if self.several else documents[0]
        if self.compared is None:
            return document
        return document | {"compared": [each.document() for each in self.compared]}

    def report(self) -> Report:
        """The report, with what should be known about each ε, once."""
        report = settings_report(self.averages) if self.several else self.averages[0].report()
        if self.compared:
            epsilons = [spelled(each.mechanism.epsilon) for each in self.averages]
            report = replace(report, sections=(*report.sections, compared_section(self.compared, epsilons)))
        mechanisms = [each.mechanism for each in self.averages]
        notes = [NO_BOUND] if any(each.bound is None for each in self.averages) else []
        if self.several:
            notes += [note for each in mechanisms for note in given_up_notes(each)]
        notes += [note for each in mechanisms for note in no_better_than_classic(each.guarantee.how, each.calibration)]
        warnings = (
            text
            for each in self.averages
            for text in (*doubts(each.mechanism, each.protection), *hides_little(each.attacker))
        )
        return replace(report, notes=_once(notes), warnings=_once(warnings))


def explain_settings(
    language: Language,
    choice: MechanismChoice,
    epsilons: str,
    *,
    count: int = 1,
    compare: bool = False,
    progress: Progress,
) -> Settings:
    """The averages over the words of a language at one ε, or at each of a range.

    Parameters
    ----------
    language, choice
        The words of a public model, and the mechanism but for its ε.
    epsilons
        As in `read_epsilons`.
    count
        How many private versions of one word an attacker sees.
    compare
        Whether the errors of all mechanisms are computed too.
    progress
        Called with the number of settings done, and of how many.
    """
    values, averages = read_epsilons(epsilons), []
    for number, epsilon in enumerate(values, start=1):
        chosen = choose_mechanism(replace(choice, epsilon=exact(epsilon)), language)
        averages.append(average_over_model(chosen, count=count))
        progress(number, len(values))
    settings = Settings(averages=tuple(averages), several=".." in epsilons)
    if not compare:
        return settings
    curves = error_curves(
        language,
        adjacency=choice.adjacency,
        epsilons=[exact(epsilon) for epsilon in values],
        progress=named(progress, "comparing"),
    )
    return replace(settings, compared=tuple(curves))


def read_epsilons(text: str) -> list[str]:
    """One ε, or those of `A..B`: A, A+1 … up to B.

    >>> read_epsilons("1..3"), read_epsilons("0.5..2"), read_epsilons("1/2")
    (['1', '2', '3'], ['0.5', '1.5'], ['1/2'])
    """
    first, dots, last = text.partition("..")
    if not dots:
        return [text]
    expected = "a number such as 0.5, or several such as 1..6"
    low, high = (exact(each, name="epsilon", expected=expected) for each in (first, last))
    count = int(high - low) + 1
    if not 0 < low <= high or count > _MOST_SETTINGS:
        raise InputError(f"epsilon: expected {expected}, rising, at most {_MOST_SETTINGS} of them, found {text!r}")
    return [spelled(low + step) for step in range(count)]


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    """Each sentence once, in their order."""
    return tuple(dict.fromkeys(texts))
