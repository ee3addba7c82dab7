"""What a mechanism does to a word, or to the words of a public model, as reports."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from symveil.errors import InputError
from symveil.languages.language import Language
from symveil.laws.adjacency import AdjacencyTable
from symveil.laws.law import DistanceLaw
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.numbers.conversions import shortened
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import exact, shown_at_least, shown_at_most, spelled
from symveil.numbers.texts import percent
from symveil.reports.report import Report, Section, Table, facts_report
from symveil.tasks.doubts import (
    attacker_facts,
    doubts,
    given_up_notes,
    hides_little,
    no_better_than_classic,
    promise_in_words,
    protects,
)
from symveil.tasks.draw import ErrorCurve, error_curves
from symveil.tasks.explain import NO_BOUND, Explanation, PublicAverages, average_over_model, bound_sentence

Rows = list[tuple[str, str]]

_MOST_ROWS = 24


def explanation_report(explanation: Explanation) -> Report:
    """What would be released for a word: the promise, the error, and the law of the distance.

    >>> import symveil as sv
    >>> from symveil.tasks.explain import explain_word
    >>> report = explanation_report(explain_word("abc", sv.Exponential(sv.words("abc", 3), epsilon=5)))
    >>> report.facts("What would be released")["guarantee"]
    'epsilon = 5 (exact); requested: 5'
    """
    mechanism, law, automaton = explanation.mechanism, explanation.law, explanation.automaton
    parameters = mechanism.parameters_document()
    facts = promise_facts(mechanism)
    if parameters:
        facts.append(("parameters", ", ".join(f"{name} {value}" for name, value in parameters.items())))
    facts.append(("expected error", f"{law.expected_error:.6g} {_unit(law)}"))
    if law.expected_cost is not None:
        facts.append(("expected cost", f"{law.expected_cost:.6g} units of the costs"))
    if explanation.bound:
        facts.append(("on average", bound_sentence(explanation.bound)))
    facts += attacker_facts(mechanism, explanation.attacker, versions=explanation.versions)
    facts.append(("automaton", f"{automaton.state_count} states, {automaton.edge_count} edges"))
    if explanation.certificate and mechanism.metric == "hamming":
        proof = explanation.certificate
        facts.append(("certificate", f"rate {float(proof.rate):.6g}, ln Z(v)/Z(w) at most {proof.ratio_bound:.4g}"))
    if explanation.protection:
        facts.append(("protection", explanation.protection.sentence()))
    facts += choice_facts(mechanism)
    if law.bounds:
        why = " (B26 Theorem 2)" if mechanism.metric == "hamming" else ": far words all have the same weight"
        facts.append(("bounds", f"{law.bounds.lower:.6g} to {law.bounds.upper:.6g}{why}"))
    if mechanism.metric == "levenshtein":
        near_words = [f"{law.label(index)}: {count}" for index, count in enumerate(law.counts) if count is not None]
        if near_words:
            facts.append(("words at distance", ", ".join(near_words[:_MOST_ROWS])))
    report = facts_report("What would be released", facts, _law_section(law))
    classic = no_better_than_classic(mechanism.guarantee.how, mechanism.calibration)
    warnings = (*doubts(mechanism, explanation.protection), *hides_little(explanation.attacker))
    return replace(report, notes=(*mechanism.notes, *classic), warnings=warnings)


def averages_report(averages: PublicAverages) -> Report:
    """What a mechanism does on average over the public model."""
    mechanism = averages.mechanism
    facts = [*promise_facts(mechanism), ("on average", averages.sentence())]
    facts += attacker_facts(mechanism, averages.attacker, versions=averages.versions, error=averages.expected_error)
    if averages.expected_cost is not None:
        facts.append(("expected cost", f"{averages.expected_cost:.6g} units of the costs"))
    if averages.protection:
        facts.append(("protection", averages.protection.sentence()))
    return facts_report(_AVERAGES, facts + choice_facts(mechanism))


_AVERAGES = "On average over the public model"


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
    return Report(title=_AVERAGES, sections=(Section(_AVERAGES, (Table.from_rows(columns, rows),)),))


def compared_section(compared: Sequence[ErrorCurve], epsilons: Sequence[str]) -> Section:
    """The error of each mechanism at several ε."""
    rows = [(each.mechanism, *(f"{error:.4g}" for error in each.errors)) for each in compared]
    columns = ("mechanism, calibration", *(f"epsilon {each}" for each in epsilons))
    heading = "Expected error of each mechanism, over typical words of the public model"
    return Section(heading, (Table.from_rows(columns, rows),))


def adjacency_report(table: AdjacencyTable) -> Report:
    """What each adjacency hides on a model."""
    rows = [
        (
            str(row.adjacency),
            percent(row.positions_with_alternatives),
            f"{row.alternatives:.3g}",
            f"{row.at_middle:.3g}",
        )
        for row in table.rows
    ]
    which = "all words" if table.all_words else f"{table.words} typical words"
    title = f"What each adjacency b hides in words of {table.length} symbols, over {which} of the public model"
    columns = ("b", "positions with alternatives", "alternatives a position, mean", "at a middle position")
    return Report(title=title, sections=(Section(title, (Table.from_rows(columns, rows),)),))


def promise_facts(mechanism: Mechanism) -> Rows:
    """What a mechanism promises, about which words."""
    guarantee, language = mechanism.guarantee, mechanism.language
    loss, requested = shown_at_least(guarantee.epsilon), spelled(mechanism.epsilon)
    facts = [
        ("mechanism", f"{mechanism.name}, {mechanism.calibration} calibration"),
        ("guarantee", f"epsilon = {loss} ({guarantee.how}); requested: {requested}"),
        ("loss by distance", f"two words that differ in {promise_in_words(mechanism)}"),
        ("protects", protects(mechanism)),
    ]
    if language.length is None:
        bound = language.max_length
        public = "no bound on the length" if bound is None else f"no word has more than {bound} symbols"
        facts.append(("public", public))
    facts.append(("words", "without end" if language.size is None else shortened(language.size)))
    return facts


def choice_facts(mechanism: Mechanism) -> Rows:
    """Why a mechanism was chosen, and what that costs."""
    reasons = (
        ("chosen", mechanism.chosen_because),
        ("given up", mechanism.given_up),
        ("price", mechanism.price_of_grace),
    )
    return [(name, text) for name, text in reasons if text]


def _unit(law: DistanceLaw) -> str:
    return "edits made (the distance is at most that)" if law.measured == "edits" else law.unit


def _law_section(law: DistanceLaw) -> Section:
    """The law of the distance: its likeliest rows."""
    chances = law.probabilities.tolist()
    shown = sorted(sorted(range(len(chances)), key=lambda index: -chances[index])[:_MOST_ROWS])
    left_out = len(chances) - len(shown)
    heading = "Law of the distance" + (f" (the {len(shown)} likeliest; {left_out} more)" if left_out else "")
    labels = [law.label(index) for index in shown]
    return Section(
        heading,
        (Table.from_numbers((_unit(law), "probability"), labels, [chances[index] for index in shown]),),
    )


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
        report = settings_report(self.averages) if self.several else averages_report(self.averages[0])
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
