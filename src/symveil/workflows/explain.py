"""Explain what a mechanism would do to a word: for the holder of the word only."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.languages.hamming_automaton import HammingAutomaton, hamming_automaton
from symveil.mechanisms.mechanism import WordMechanism
from symveil.models.word import Word
from symveil.numerics.integers import decimal
from symveil.numerics.rationals import at_least
from symveil.privacy.law import DistanceLaw


@dataclass(frozen=True, slots=True)
class Explanation:
    """A mechanism, a word, the law of the distance between the word and its private versions."""

    mechanism: WordMechanism
    law: DistanceLaw
    automaton: HammingAutomaton

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        mechanism, law = self.mechanism, self.law
        rows = zip(law.distances.tolist(), law.probabilities.tolist(), law.log_probabilities.tolist(), strict=True)
        return {
            "mechanism": mechanism.name,
            "epsilon": at_least(mechanism.epsilon),
            "adjacency": mechanism.adjacency,
            "calibration": mechanism.calibration,
            "length": mechanism.language.length,
            "language_size": decimal(mechanism.language.size),
            "guarantee": mechanism.guarantee.document(),
            "distances": [
                {
                    "distance": distance,
                    "words": decimal(law.count(distance)),
                    "probability": probability,
                    "log_probability": log_probability,
                }
                for distance, probability, log_probability in rows
            ],
            "expected_error": law.expected_error,
            "bounds": {"lower": law.bounds.lower, "upper": law.bounds.upper} if law.bounds else None,
            "automaton": {"states": self.automaton.state_count, "edges": self.automaton.edge_count},
            "protection": None,  # every word of the free language has all its neighbours
        }


def explain_word(word: Word, mechanism: WordMechanism) -> Explanation:
    """What `mechanism` would do to `word`.

    >>> import symveil as sv
    >>> explanation = explain_word("abc", sv.Exponential(sv.words("abc", 3), epsilon=5))
    >>> document = explanation.document()
    >>> document["automaton"], document["language_size"]
    ({'states': 10, 'edges': 12}, '27')
    """
    return Explanation(
        mechanism=mechanism,
        law=mechanism.distances(word),
        automaton=hamming_automaton(word, alphabet=mechanism.language.alphabet),
    )
