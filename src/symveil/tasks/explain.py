"""Explain what a mechanism would do to a word: for the holder of the word only."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.bounds.lower_bound import LowerBound
from symveil.calibration.certificate import CertifiedRate
from symveil.languages.run_product import AutomatonSize
from symveil.laws.law import DistanceLaw
from symveil.laws.protection import Protection, protection
from symveil.mechanisms.attacker import AttackerView, attacker_view
from symveil.mechanisms.attacker_versions import attacker_of_versions
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.word import Word
from symveil.numbers.integers import decimal
from symveil.numbers.rationals import at_least
from symveil.tasks.doubts import guarantee_in_words
from symveil.tasks.public_averages import bound_document, least_possible


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
    """How often somebody who knows the public model guesses right, on average over it, not for this word."""
    versions: AttackerView | None = None
    """The same with several private versions of one word."""

    @property
    def certificate(self) -> CertifiedRate | None:
        """The proof behind the mechanism's rate."""
        return self.mechanism.certified

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        mechanism, law, size = self.mechanism, self.law, self.mechanism.language.size
        return {
            "mechanism": mechanism.name,
            "metric": mechanism.metric,
            "epsilon": at_least(mechanism.epsilon),
            "adjacency": mechanism.adjacency,
            "calibration": mechanism.calibration,
            "length": self.length,
            "max_length": mechanism.language.max_length,
            "language_size": None if size is None else decimal(size),
            "guarantee": mechanism.guarantee.document(),
            "guarantee_in_words": guarantee_in_words(mechanism.guarantee.how, mechanism.calibration),
            "measured": law.measured,
            "distances": law.document(),
            "expected_error": law.expected_error,
            **({} if law.expected_cost is None else {"expected_cost": law.expected_cost}),
            "lower_bound": bound_document(self.bound),
            "attacker": self.attacker.document() if self.attacker else None,
            **({"attacker_of_versions": self.versions.document()} if self.versions else {}),
            "bounds": law.bounds.document() if law.bounds else None,
            "automaton": {"states": self.automaton.state_count, "edges": self.automaton.edge_count},
            "protection": self.protection.document() if self.protection else None,
            "certificate": self.certificate.document() if self.certificate else None,
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
