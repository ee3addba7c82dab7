"""Explain what a mechanism would do to a word: for the holder of the word only.

What a mechanism does to the words of the public model on average, beside what no private mechanism can do better.
"""

from __future__ import annotations

from dataclasses import dataclass

from symveil.bounds.lower_bound import LowerBound, lower_bound
from symveil.calibration.certificate import CertifiedRate
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.language import Language
from symveil.languages.run_product import AutomatonSize
from symveil.laws.law import DistanceLaw
from symveil.laws.protection import Protection, protection
from symveil.mechanisms.attacker.versions import attacker_of_versions
from symveil.mechanisms.attacker.view import AttackerView, attacker_view
from symveil.mechanisms.averages import expected_errors_of_words, mean_of_words, prior_of
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.word import Word
from symveil.numbers.conversions import decimal
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import at_least, shown_at_most
from symveil.tasks.doubts import guarantee_in_words

NO_BOUND = "no lower bound: the model is too large for a quick one (sv.lower_bound takes its time)"


@dataclass(frozen=True, slots=True)
class PublicAverages:
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
        proof = self.mechanism.certified
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

    Parameters
    ----------
    mechanism
        Any mechanism; its language, ε, adjacency, prior and losses are looked at.
    """
    return least_possible_on(mechanism, mechanism.language)


def least_possible_on(mechanism: Mechanism, language: Language) -> LowerBound | None:
    """The same with another language of the same words.

    Parameters
    ----------
    mechanism
        Its ε, adjacency and prior are looked at.
    language
        Its words, by which the bound is found.
    """
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
class Explanation:
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
        return self.mechanism.certified

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
        "given_up": mechanism.given_up,
        "chosen_because": mechanism.chosen_because,
    }


def explain_word(word: Word, mechanism: Mechanism, *, bounded: bool = True, count: int = 1) -> Explanation:
    """What `mechanism` would do to `word`.

    Parameters
    ----------
    word
        A word of the mechanism's language. It is secret, and so is the explanation.
    mechanism
        Any mechanism.
    bounded
        Whether to look for the least error that any private mechanism can have, and how often an attacker guesses
        right, which takes seconds on a model.
    count
        How many private versions of one word an attacker sees.

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
    mechanism = mechanism.of_length(length) or mechanism  # where each length has one of its own, that one
    language = mechanism.language
    return Explanation(
        mechanism=mechanism,
        length=length,
        law=mechanism.distances(word),
        automaton=mechanism.automaton_size(word),
        protection=protection(language, mechanism.adjacency),
        bound=least_possible(mechanism) if bounded else None,
        attacker=attacker_view(mechanism) if bounded else None,
        versions=attacker_of_versions(mechanism, count) if count != 1 else None,
    )
