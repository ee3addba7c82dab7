"""Explain what a mechanism would do to a word: for the holder of the word only.

What a mechanism does to the words of the public model on average, beside what no private mechanism can do better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from symveil.bounds.lower_bound import LowerBound, lower_bound
from symveil.calibration.search import CertifiedRate
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.language import Language
from symveil.languages.run_product import AutomatonSize
from symveil.laws.law import DistanceLaw
from symveil.laws.protection import Protection, protection
from symveil.mechanisms.attacker import AttackerView, attacker_view
from symveil.mechanisms.attacker_versions import attacker_of_versions
from symveil.mechanisms.averages import expected_errors_of_words, mean_of_words, prior_of
from symveil.mechanisms.by_length import of_length
from symveil.mechanisms.calibrate import automaton_size
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Word
from symveil.numbers.conversions import decimal, shortened
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import at_least, shown_at_least, shown_at_most, spelled
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table, facts_report
from symveil.tasks.doubts import (
    attacker_facts,
    doubts,
    guarantee_in_words,
    hides_little,
    no_better_than_classic,
    promise_in_words,
    protects,
)

AVERAGES = "On average over the public model"
"""The title of what is known without a word."""
_MOST_ROWS = 24
NO_BOUND = "no lower bound: the model is too large for a quick one (sv.lower_bound takes its time)"


@dataclass(frozen=True, slots=True)
class PublicAverages(Reported):
    """A mechanism on the words of a public model: its guarantee, its mean error, and the least error there can be.

    `standard_error` is that of `expected_error`; 0 where the average was taken over all words.
    """

    mechanism: Mechanism
    expected_error: float
    standard_error: float
    bound: LowerBound | None
    protection: Protection | None
    expected_cost: float | None = None
    """What the wrong symbols cost together, where costs are given."""
    attacker: AttackerView | None = None
    """How often an attacker who knows the public model guesses right."""
    versions: AttackerView | None = None
    """The same with several private versions of one word."""

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        proof = self.mechanism.law.certificate
        return {
            **_common(self),
            "length": self.mechanism.length,
            "expected_error": self.expected_error,
            **({} if self.expected_cost is None else {"expected_cost": self.expected_cost}),
            "standard_error": self.standard_error,
            "certificate": {"worst_found": None, **proof.document()} if proof else None,
        }

    def sentence(self) -> str:
        """The two numbers side by side, as people read them."""
        error = f"expected error {self.expected_error:.4g}"
        return error if self.bound is None else f"{error}; {bound_sentence(self.bound)}"

    def report(self) -> Report:
        """What the mechanism does on average over the public model."""
        mechanism = self.mechanism
        facts = [*_promise_facts(mechanism), ("on average", self.sentence())]
        facts += attacker_facts(mechanism, self.attacker, versions=self.versions, error=self.expected_error)
        if self.expected_cost is not None:
            facts.append(("expected cost", f"{self.expected_cost:.6g} units of the costs"))
        if self.protection:
            facts.append(("protection", self.protection.sentence()))
        return facts_report(AVERAGES, facts + _choice_facts(mechanism))


def average_over_model(mechanism: Mechanism, *, count: int = 1, progress: Progress | None = None) -> PublicAverages:
    """What a mechanism does to the words of its language on average. Nothing secret is read.

    Parameters
    ----------
    mechanism
        On words of one length.
    count
        How many private versions of one word an attacker sees.
    progress
        Called with the number of words done, and of how many, where they are looked at one by one.

    >>> import symveil as sv
    >>> averages = average_over_model(sv.Exponential(sv.words("abc", 3), epsilon=2))
    >>> averages.sentence()
    'expected error 0.639; no ε-private mechanism can have less than 0.639'
    """
    if mechanism.length is None or mechanism.metric != "hamming":
        raise ParameterError("language", expected="words of one public length", found=repr(mechanism.language))
    errors, costs = expected_errors_of_words(mechanism, progress)
    mean, spread = mean_of_words(mechanism, errors)
    return PublicAverages(
        mechanism=mechanism,
        expected_error=mean,
        standard_error=spread,
        bound=least_possible(mechanism),
        protection=protection(mechanism.language, mechanism.adjacency),
        expected_cost=None if costs is None else mean_of_words(mechanism, costs)[0],
        attacker=attacker_view(mechanism),
        versions=attacker_of_versions(mechanism, count) if count != 1 else None,
    )


def least_possible(mechanism: Mechanism) -> LowerBound | None:
    """The bound for mechanisms with the same parameters, found in about a second; None where there is none.

    It is about mechanisms that keep the same promise: the graceful one if this mechanism does, else ε within b.
    """
    return least_possible_on(mechanism, mechanism.language)


def least_possible_on(mechanism: Mechanism, language: Language) -> LowerBound | None:
    """The same with another language of the same words."""
    if mechanism.metric != "hamming" or mechanism.length is None or mechanism.epsilon <= 0 or not mechanism.private:
        return None
    try:
        return lower_bound(
            language,
            epsilon=mechanism.epsilon,
            adjacency=mechanism.adjacency,
            prior=prior_of(mechanism),
            quick=True,
            beyond=_promise(mechanism),
        )
    except (TooLargeError, ParameterError):
        return None  # too large for a quick answer, or with chances too small for floats


def bound_document(bound: LowerBound | None) -> dict[str, object] | None:
    """What the contract has under `lower_bound`."""
    if bound is None:
        return None
    return {"value": bound.value, "confidence": bound.confidence, "prior": bound.prior, "beyond": bound.beyond}


def bound_sentence(bound: LowerBound) -> str:
    """What no mechanism can do better, as people read it."""
    sure = "" if bound.confidence is None else f" (confidence {bound.confidence:g})"
    return f"no {bound.bounded} can have less than {shown_at_most(bound.value, 4)}{sure}"


def _promise(mechanism: Mechanism) -> str:
    """What a mechanism keeps beyond b; on words over an alphabet that differ in one symbol both promises are one."""
    same = mechanism.language.homogeneous and mechanism.adjacency == 1
    return "graceful" if not same and excess(mechanism) <= 1 else "nothing"


@dataclass(frozen=True, slots=True)
class Explanation(Reported):
    """A mechanism, a word, and how far the word's private versions lie from it."""

    mechanism: Mechanism
    length: int
    law: DistanceLaw
    automaton: AutomatonSize
    protection: Protection | None
    bound: LowerBound | None = None
    """The least expected error of any private mechanism, on average over the public model, not for this word."""
    attacker: AttackerView | None = None
    """How often an attacker who knows the public model guesses right, on average over it, not for this word."""
    versions: AttackerView | None = None
    """The same with several private versions of one word."""

    @property
    def certificate(self) -> CertifiedRate | None:
        """The proof behind the mechanism's rate."""
        return self.mechanism.law.certificate

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        law = self.law
        return {
            **_common(self),
            "length": self.length,
            "max_length": self.mechanism.language.max_length,
            "measured": law.measured,
            "distances": law.document(),
            "expected_error": law.expected_error,
            **({} if law.expected_cost is None else {"expected_cost": law.expected_cost}),
            "bounds": law.bounds.document() if law.bounds else None,
            "automaton": {"states": self.automaton.state_count, "edges": self.automaton.edge_count},
            "certificate": self.certificate.document() if self.certificate else None,
        }

    def report(self) -> Report:
        """What would be released for the word: the promise, the error, and the law of the distance.

        >>> import symveil as sv
        >>> report = explain_word("abc", sv.Exponential(sv.words("abc", 3), epsilon=5)).report()
        >>> report.facts("What would be released")["guarantee"]
        'epsilon = 5 (exact); requested: 5'
        """
        mechanism, law, automaton = self.mechanism, self.law, self.automaton
        parameters = mechanism.parameters_document()
        facts = _promise_facts(mechanism)
        if parameters:
            facts.append(("parameters", ", ".join(f"{name} {value}" for name, value in parameters.items())))
        facts.append(("expected error", f"{law.expected_error:.6g} {_unit(law)}"))
        if law.expected_cost is not None:
            facts.append(("expected cost", f"{law.expected_cost:.6g} units of the costs"))
        if self.bound:
            facts.append(("on average", bound_sentence(self.bound)))
        facts += attacker_facts(mechanism, self.attacker, versions=self.versions)
        facts.append(("automaton", f"{automaton.state_count} states, {automaton.edge_count} edges"))
        if self.certificate and mechanism.metric == "hamming":
            proof = self.certificate
            facts.append(("certificate", f"rate {float(proof.rate):.6g}, ln Z(v)/Z(w) at most {proof.ratio_bound:.4g}"))
        if self.protection:
            facts.append(("protection", self.protection.sentence()))
        facts += _choice_facts(mechanism)
        if law.bounds:
            why = " (B26 Theorem 2)" if mechanism.metric == "hamming" else ": far words all have the same weight"
            facts.append(("bounds", f"{law.bounds.lower:.6g} to {law.bounds.upper:.6g}{why}"))
        if mechanism.metric == "levenshtein":
            near_words = [f"{law.label(index)}: {count}" for index, count in enumerate(law.counts) if count is not None]
            if near_words:
                facts.append(("words at distance", ", ".join(near_words[:_MOST_ROWS])))
        report = facts_report("What would be released", facts, _law_section(law))
        classic = no_better_than_classic(mechanism.guarantee.how, mechanism.calibration)
        warnings = (*doubts(mechanism, self.protection), *hides_little(self.attacker))
        return replace(report, notes=(*mechanism.remarks.notes, *classic), warnings=warnings)


def _common(result: PublicAverages | Explanation) -> dict[str, object]:
    """The mechanism, its promise, and what is known on average over the public model, as JSON."""
    mechanism, size = result.mechanism, result.mechanism.language.size
    return {
        "mechanism": mechanism.name,
        "metric": mechanism.metric,
        "epsilon": at_least(mechanism.epsilon),
        "adjacency": mechanism.adjacency,
        "calibration": mechanism.calibration,
        "language_size": None if size is None else decimal(size),
        "guarantee": mechanism.guarantee.document(),
        "guarantee_in_words": guarantee_in_words(mechanism.guarantee.how, mechanism.calibration),
        "lower_bound": bound_document(result.bound),
        "attacker": result.attacker.document() if result.attacker else None,
        **({"attacker_of_versions": result.versions.document()} if result.versions else {}),
        "protection": result.protection.document() if result.protection else None,
        "parameters": mechanism.parameters_document(),
        "given_up": mechanism.remarks.given_up,
        "chosen_because": mechanism.remarks.chosen_because,
    }


def explain_word(word: Word, mechanism: Mechanism, *, bounded: bool = True, count: int = 1) -> Explanation:
    """What `mechanism` would do to `word`.

    The word is secret, and so is the explanation. `bounded` says whether to look for the least error that any private
    mechanism can have, and how often an attacker guesses right, which takes seconds on a model; the attacker sees
    `count` private versions.

    >>> import symveil as sv
    >>> explanation = explain_word("abc", sv.Exponential(sv.words("abc", 3), epsilon=5))
    >>> document = explanation.document()
    >>> document["automaton"], document["language_size"]
    ({'states': 10, 'edges': 12}, '27')
    >>> explanation = explain_word("abc", sv.TruncatedLevenshtein(sv.words_up_to("abc", 4), epsilon=5))
    >>> [row["words"] for row in explanation.document()["distances"]]
    ['1', '18', '60', '41', '1']
    """
    length = len(mechanism.language.encode(word))
    mechanism = of_length(mechanism, length) or mechanism  # where each length has one of its own, that one
    language = mechanism.language
    return Explanation(
        mechanism=mechanism,
        length=length,
        law=mechanism.distances(word),
        automaton=automaton_size(mechanism.law, word),
        protection=protection(language, mechanism.adjacency),
        bound=least_possible(mechanism) if bounded else None,
        attacker=attacker_view(mechanism) if bounded else None,
        versions=attacker_of_versions(mechanism, count) if count != 1 else None,
    )


def _promise_facts(mechanism: Mechanism) -> list[tuple[str, str]]:
    """What a mechanism promises, about which words."""
    guarantee, language = mechanism.guarantee, mechanism.language
    loss, requested = shown_at_least(guarantee.epsilon), spelled(mechanism.epsilon)
    facts = [
        ("mechanism", f"{mechanism.name}, {mechanism.calibration} calibration"),
        ("guarantee", f"epsilon = {loss} ({guarantee.how}); requested: {requested}"),
        ("loss by distance", promise_in_words(mechanism)),
        ("protects", protects(mechanism)),
    ]
    if language.length is None:
        bound = language.max_length
        public = "no bound on the length" if bound is None else f"no word has more than {bound} symbols"
        facts.append(("public", public))
    facts.append(("words", "without end" if language.size is None else shortened(language.size)))
    return facts


def _choice_facts(mechanism: Mechanism) -> list[tuple[str, str]]:
    """Why a mechanism was chosen, and what that costs."""
    reasons = (
        ("chosen", mechanism.remarks.chosen_because),
        ("given up", mechanism.remarks.given_up),
        ("price", mechanism.remarks.price_of_grace),
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
