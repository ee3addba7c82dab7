"""Explain what a mechanism for words of different lengths would do to a word: for the holder of the word only."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.languages.bounded import BoundedRuns, BoundedWords
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.mechanisms.edit_channel import EditChannel
from symveil.mechanisms.edit_mechanism import EditMechanism
from symveil.mechanisms.truncated_levenshtein import TruncatedLevenshtein
from symveil.models.word import Word
from symveil.numerics.integers import decimal
from symveil.numerics.rationals import at_least, spelled
from symveil.privacy.edit_law import EditDistanceLaw
from symveil.privacy.edit_protection import edit_protection
from symveil.privacy.protection import Protection

_EDITS_SHOWN = 2


@dataclass(frozen=True, slots=True)
class EditExplanation:
    """A mechanism, a word, and how far the word's private versions lie from it."""

    mechanism: EditMechanism
    length: int
    law: EditDistanceLaw
    automaton: tuple[int, int]
    protection: Protection | None

    @property
    def language_size(self) -> int | None:
        """How many words there are within the public bound; None without one."""
        language = self.mechanism.language
        return language.size if isinstance(language, BoundedWords | BoundedRuns) else None

    def document(self) -> dict[str, object]:
        """The JSON form of the contract, with what only these mechanisms have."""
        mechanism, law, size = self.mechanism, self.law, self.language_size
        proof = mechanism.certified if isinstance(mechanism, TruncatedLevenshtein) else None
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
            "measured": law.measured,
            "distances": law.document(),
            "expected_error": law.expected_error,
            "bounds": law.bounds.document() if law.bounds else None,
            "automaton": {"states": self.automaton[0], "edges": self.automaton[1]},
            "protection": self.protection.document() if self.protection else None,
            "certificate": proof.document() if proof else None,
            "parameters": self._parameters(),
        }

    def _parameters(self) -> dict[str, object]:
        """What the mechanism was given or has chosen; all of it public."""
        if isinstance(self.mechanism, TruncatedLevenshtein):
            return {"cutoff": self.mechanism.cutoff, "rate": float(self.mechanism.rate)}
        assert isinstance(self.mechanism, EditChannel)  # noqa: S101 - there are two
        chosen = self.mechanism.parameters
        return {
            "ratio": spelled(chosen.ratio),
            "power": spelled(chosen.power),
            "deletion": spelled(chosen.deletion),
            "substitution": spelled(chosen.substitution),
            "keep": spelled(chosen.keep),
            "nominal_length": self.mechanism.nominal_length,
            "tells_nothing": chosen.tells_nothing,
        }


def explain_edits(word: Word, mechanism: EditMechanism) -> EditExplanation:
    """What `mechanism` would do to `word`.

    >>> import symveil as sv
    >>> explanation = explain_edits("abc", sv.TruncatedLevenshtein(sv.words_up_to("abc", 4), epsilon=5))
    >>> [row["words"] for row in explanation.document()["distances"]]
    ['1', '18', '60', '41', '1']
    """
    language = mechanism.language
    if isinstance(mechanism, TruncatedLevenshtein):
        size = mechanism.automaton_size(word)
    else:
        automaton = levenshtein_automaton(word, _EDITS_SHOWN, alphabet=mechanism.alphabet)
        size = (automaton.state_count, automaton.edge_count)
    return EditExplanation(
        mechanism=mechanism,
        length=len(language.encode(word)),
        law=mechanism.distances(word),
        automaton=size,
        protection=edit_protection(language, mechanism.adjacency) if isinstance(language, BoundedRuns) else None,
    )
