"""Choosing a mechanism for words of different lengths, by name or by its expected error.

The choice reads public things only: the alphabet or the model, ε, the adjacency and the public bound on
the length. The expected errors that it compares are those of a stand-in, the word that runs through the
alphabet over and over up to the public bound; never those of a secret word.
"""

from __future__ import annotations

import numpy as np

from symveil.errors import ParameterError
from symveil.languages.bounded import BoundedRuns, BoundedWords, EveryWord
from symveil.mechanisms.edit_channel import EditChannel
from symveil.mechanisms.edit_mechanism import EditMechanism, OpenLanguage
from symveil.mechanisms.truncated_levenshtein import TruncatedLevenshtein
from symveil.models.word import decode
from symveil.numerics.rationals import Number
from symveil.privacy.parameters import Adjacency

EDIT_MECHANISM_NAMES = ("auto", EditChannel.name, TruncatedLevenshtein.name)

# For longer words the uniform part of the truncated mechanism outweighs everything at any usual ε.
_LONGEST_COMPARED = 100


def select_edit_mechanism(
    language: OpenLanguage,
    *,
    epsilon: Number,
    mechanism: str = "auto",
    adjacency: Adjacency = 1,
    calibration: str = "tight",
    cutoff: int | None = None,
) -> EditMechanism:
    """The mechanism of that name for words of different lengths; "auto" is the one with fewer expected edits.

    On a model it is always the truncated mechanism, the only one that releases words of the model.
    Without a public bound on the length it is always the edit channel, the only one that needs none.

    >>> import symveil as sv
    >>> select_edit_mechanism(sv.words_up_to("abcd", 6), epsilon=8).name
    'truncated-levenshtein'
    >>> select_edit_mechanism(sv.words_up_to("abcd", 80), epsilon=8).name
    'edit'
    """
    if mechanism not in EDIT_MECHANISM_NAMES:
        raise ParameterError(
            "mechanism", expected=f"one of {', '.join(EDIT_MECHANISM_NAMES)} with metric levenshtein", found=mechanism
        )
    if mechanism == EditChannel.name or (mechanism == "auto" and isinstance(language, EveryWord)):
        if cutoff is not None:
            raise ParameterError(
                "cutoff", expected="none for mechanism edit, which has no truncation, or a max_length", found=cutoff
            )
        return _channel(language, epsilon, adjacency, calibration)
    if isinstance(language, EveryWord):
        raise ParameterError(
            "max_length",
            expected=f"a public bound on the length for mechanism {mechanism} (the length itself is secret)",
            found="none",
        )
    told_which = mechanism != "auto" or cutoff is not None or calibration != "tight"
    no_choice = told_which or isinstance(language, BoundedRuns)
    if not no_choice and language.max_length > _LONGEST_COMPARED:
        return _channel(language, epsilon, adjacency, calibration)
    truncated = TruncatedLevenshtein(
        language, epsilon=epsilon, adjacency=adjacency, calibration=calibration, cutoff=cutoff
    )
    if no_choice:
        return truncated
    channel = _channel(language, epsilon, adjacency, calibration)
    return min(truncated, channel, key=_public_error)


def _channel(language: OpenLanguage, epsilon: Number, adjacency: Adjacency, calibration: str) -> EditChannel:
    if isinstance(language, BoundedRuns):
        raise edit_on_a_model()
    if calibration != "tight":
        raise ParameterError(
            "calibration", expected="tight for mechanism edit, whose loss is known exactly", found=calibration
        )
    return EditChannel(language.alphabet, epsilon=epsilon, adjacency=adjacency, max_length=language.max_length)


def edit_on_a_model() -> ParameterError:
    """What is said to those who ask for the edit channel on a model.

    >>> edit_on_a_model().name
    'mechanism'
    """
    return ParameterError(
        "mechanism",
        expected="truncated-levenshtein on a model: the edit channel releases words that the model cannot produce",
        found=EditChannel.name,
    )


def _public_error(mechanism: EditMechanism) -> float:
    """What a mechanism is expected to do to the stand-in, at worst."""
    if isinstance(mechanism, EditChannel):
        return mechanism.expected_edits(mechanism.nominal_length)
    language = mechanism.language
    assert isinstance(language, BoundedWords)  # noqa: S101 - on a model nothing is compared
    stand_in = np.arange(language.max_length, dtype=np.int32) % len(language.alphabet)
    law = mechanism.distances(decode(stand_in, language.alphabet, like=()))
    return law.bounds.upper if law.bounds else law.expected_error
