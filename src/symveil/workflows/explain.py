"""Explain what a mechanism would do to a word: for the holder of the word only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from symveil.languages.free import FreeLanguage
from symveil.languages.hamming_automaton import HammingAutomaton, hamming_automaton
from symveil.languages.run_product import ProductSize, product_size
from symveil.mechanisms.edit_mechanism import EditMechanism
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import WordMechanism
from symveil.models.word import Word
from symveil.numerics.integers import decimal
from symveil.numerics.rationals import at_least
from symveil.privacy.calibration.certificate import CertifiedRate
from symveil.privacy.law import DistanceLaw
from symveil.privacy.protection import Protection, protection
from symveil.workflows.explain_edits import EditExplanation, explain_edits


@dataclass(frozen=True, slots=True)
class Explanation:
    """A mechanism, a word, the law of the distance between the word and its private versions."""

    mechanism: WordMechanism
    law: DistanceLaw
    automaton: HammingAutomaton | ProductSize
    protection: Protection | None
    certificate: CertifiedRate | None

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        mechanism, law = self.mechanism, self.law
        return {
            "mechanism": mechanism.name,
            "epsilon": at_least(mechanism.epsilon),
            "adjacency": mechanism.adjacency,
            "calibration": mechanism.calibration,
            "length": mechanism.language.length,
            "language_size": decimal(mechanism.language.size),
            "guarantee": mechanism.guarantee.document(),
            "distances": law.document(),
            "expected_error": law.expected_error,
            "bounds": law.bounds.document() if law.bounds else None,
            "automaton": {"states": self.automaton.state_count, "edges": self.automaton.edge_count},
            "protection": self.protection.document() if self.protection else None,
            "certificate": self.certificate.document() if self.certificate else None,
        }


@overload
def explain_word(word: Word, mechanism: WordMechanism) -> Explanation: ...
@overload
def explain_word(word: Word, mechanism: EditMechanism) -> EditExplanation: ...
@overload
def explain_word(word: Word, mechanism: WordMechanism | EditMechanism) -> Explanation | EditExplanation: ...


def explain_word(word: Word, mechanism: WordMechanism | EditMechanism) -> Explanation | EditExplanation:
    """What `mechanism` would do to `word`.

    >>> import symveil as sv
    >>> explanation = explain_word("abc", sv.Exponential(sv.words("abc", 3), epsilon=5))
    >>> document = explanation.document()
    >>> document["automaton"], document["language_size"]
    ({'states': 10, 'edges': 12}, '27')
    """
    if isinstance(mechanism, EditMechanism):
        return explain_edits(word, mechanism)
    language = mechanism.language
    law = mechanism.distances(word)
    if isinstance(language, FreeLanguage):
        # every word of the free language has all its neighbours: there is nothing to warn about
        return Explanation(mechanism, law, hamming_automaton(word, alphabet=language.alphabet), None, None)
    return Explanation(
        mechanism=mechanism,
        law=law,
        automaton=product_size(language, language.encode(word)),
        protection=protection(language, mechanism.adjacency),
        certificate=mechanism.certified if isinstance(mechanism, Exponential) else None,
    )
