"""From a choice to a mechanism: the one of a name, or of all candidates the one with the least expected error.

The choice reads public things only (the language, ε, the adjacency, public bounds), never a word: a rule
that looked at the secret word would itself be a release.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, Unpack

import numpy as np

from symveil.errors import ParameterError
from symveil.languages.language import AnyLength, Language, require_language
from symveil.laws.adjacency import chosen_adjacency
from symveil.laws.parameters import EveryChoiceParameter
from symveil.mechanisms.by_length import ByLength
from symveil.mechanisms.choice import AUTO, BY_NAME, MechanismChoice, requested_choice
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.edit_channel import EditChannel
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.model_selection import least_error_on_model
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.mechanisms.truncated_levenshtein import TruncatedLevenshtein
from symveil.models.alphabet import decode
from symveil.parameters import shows_fields

_OF_THE_LANGUAGE = ("metric", "public_start", "max_length")

Kind = TypeVar("Kind", bound=Mechanism)


@shows_fields(MechanismChoice, types=EveryChoiceParameter, first=(), without=_OF_THE_LANGUAGE)
def select_mechanism(language: Language, **choice: Unpack[EveryChoiceParameter]) -> Mechanism:
    """The mechanism of that name; "auto" is the candidate with the least expected error of those that keep the promise.

    Parameters
    ----------
    language
        The words. It says what adjacency means: on words of one length (`words`, `runs`) substitutions, the
        Hamming distance; on words of different lengths (`words_up_to`, `runs_up_to`) insertions and deletions
        too, the Levenshtein distance.
    choice
        The fields of `MechanismChoice` by name; the metric and the public start are those of the language.
    epsilon, mechanism, adjacency, calibration, prior, utility, offset, cutoff, not_private
        As in `MechanismChoice`.
    cost, cap, balanced, step, costs, beyond
        As in `MechanismChoice`.

    >>> import symveil as sv
    >>> words = sv.words("abc", 6)
    >>> sv.select_mechanism(words, epsilon=2).name
    'exponential'
    >>> sv.select_mechanism(words, epsilon=2, adjacency=3).name
    'exponential'
    >>> sv.select_mechanism(words, epsilon=2, adjacency=3, beyond="nothing").name
    'staircase'
    >>> sv.select_mechanism(sv.words_up_to("abc", 6), epsilon=6).name
    'truncated-levenshtein'
    """
    require_language(language)
    settled: dict[str, Any] = {"metric": language.metric, "public_start": language.public_start, "max_length": None}
    return choose_mechanism(
        requested_choice("select_mechanism", EveryChoiceParameter, dict(choice), **settled), language
    )


def choose_mechanism(choice: MechanismChoice, language: Language) -> Mechanism:
    """What a choice means on a language.

    Parameters
    ----------
    choice
        Which mechanism, with which parameters.
    language
        The words to be released, of the metric of the choice.

    >>> import symveil as sv
    >>> choose_mechanism(MechanismChoice(epsilon=2), sv.words("abc", 3)).name
    'exponential'
    """
    _check_together(choice, language)
    choice = replace(choice, adjacency=chosen_adjacency(choice.adjacency, language))
    if isinstance(language, AnyLength):
        return ByLength(language, choice, select_one_of_many)
    if choice.mechanism != AUTO:
        return BY_NAME[choice.mechanism].from_choice(language, choice)
    return _least_error(choice, language) if choice.metric == "hamming" else _fewest_edits(choice, language)


def select_one_of_many(choice: MechanismChoice, language: Language) -> Mechanism:
    """The same for one of many lengths: "auto" leaves out certificates that would take long for each of them.

    >>> import symveil as sv
    >>> select_one_of_many(MechanismChoice(epsilon=2), sv.words("abc", 3)).name
    'exponential'
    """
    if choice.mechanism == AUTO and choice.metric == "hamming":
        _check_together(choice, language)
        return _least_error(choice, language, of_many_lengths=True)
    made = choose_mechanism(choice, language)
    made._of_many_lengths = True
    return made


def _check_together(choice: MechanismChoice, language: Language) -> None:
    """Refuse a language that is not what the choice is about: what the choice says of it would not be true."""
    if choice.metric != language.metric:
        raise ParameterError("metric", expected=f"{language.metric} for {language!r}", found=choice.metric)
    if choice.public_start != language.public_start:
        expected = f"{str(language.public_start).lower()} for {language!r}"
        raise ParameterError("public_start", expected=expected, found=choice.public_start)
    if choice.max_length not in (None, language.max_length):
        raise ParameterError("max_length", expected=f"that of {language!r}", found=choice.max_length)


# --- "auto" on words of one length -------------------------------------------------------------


def _least_error(choice: MechanismChoice, language: Language, *, of_many_lengths: bool = False) -> Mechanism:
    """The best of the candidates at the same public parameters; on a tie the simplest."""
    if language.runs is not None and choice.utility == "distance" and choice.prior == "uniform":
        return least_error_on_model(choice, language.runs, of_many_lengths=of_many_lengths)
    exponential = Exponential.from_choice(language, choice)
    if choice.utility != "distance" or choice.prior != "uniform":
        return exponential  # the only mechanism that has another utility, or a prior
    tight = choice.calibration == "tight"
    if exponential.reach <= 1 and tight:
        return exponential  # the staircase with steps of width 1, which no mechanism beats
    staircase = Staircase.from_choice(language, choice)
    within_grace = choice.grace is None or excess(staircase) <= choice.grace
    if tight:
        # The staircase is optimal among all laws that depend on the distance only, permute-and-flip's among them; the
        # exponential mechanism at ε/b among all that lose at most (d/b)·ε.
        return staircase if within_grace else exponential
    # B26 Theorem 2: permute-and-flip is never worse than the exponential mechanism.
    return min(PermuteAndFlip.from_choice(language, choice), staircase if within_grace else exponential, key=_error)


def _error(mechanism: Mechanism) -> float:
    return mechanism.distances().expected_error


# --- "auto" where lengths are a secret ---------------------------------------------------------


def _fewest_edits(choice: MechanismChoice, language: Language) -> Mechanism:
    """The mechanism with fewer expected edits on a public stand-in.

    On a model it is always the truncated mechanism, the only one that releases words of the model.
    Without a public bound on the length it is always the edit channel, the only one that needs none. The stand-in
    is the word that runs through the alphabet over and over up to the public bound; never a secret word.
    """
    if choice.grace is not None and language.graph is not None:
        raise ParameterError(
            "beyond",
            expected="nothing on a model with hidden lengths, where nothing else is proved; loss_at says what holds",
            found=choice.beyond,
        )
    if language.max_length is None:
        if choice.cutoff is not None:
            raise ParameterError(
                "cutoff",
                expected="none for mechanism edit, which has no truncation, or a max_length",
                found=choice.cutoff,
            )
        return _channel(choice, language)
    only_truncated = choice.cutoff is not None or choice.calibration != "tight" or language.graph is not None
    if not only_truncated and language.max_length > LIMITS.now.compared_length:
        return _channel(choice, language)
    truncated = TruncatedLevenshtein.from_choice(language, choice)
    # words one edit apart lead from any word to any other, so that the loss of one edit is the whole promise
    keeps = choice.grace is None or excess(truncated) <= choice.grace
    if only_truncated and not keeps:
        raise ParameterError(
            "beyond",
            expected="nothing with this cutoff or calibration: one edit may lose more than ε/b",
            found=choice.beyond,
        )
    if only_truncated:
        return truncated
    channel = _channel(choice, language)
    if not keeps:
        return channel
    symbols = language.alphabet
    stand_in = decode(np.arange(language.max_length, dtype=np.int32) % len(symbols), symbols, like=())
    law = truncated.distances(stand_in)
    edits = law.bounds.upper if law.bounds else law.expected_error
    return truncated if edits <= channel.expected_edits(channel.nominal_length) else channel


def _channel(choice: MechanismChoice, language: Language) -> EditChannel:
    """The edit channel; refused where words are too short for b edits, so that one of them would lose more than ε/b."""
    channel = EditChannel.from_choice(language, choice)
    if choice.grace is not None and channel.reach < channel.adjacency and excess(channel) > choice.grace:
        raise ParameterError(
            "adjacency",
            expected=f"at most {channel.reach}, the most edits that words can be apart",
            found=choice.adjacency,
        )
    return channel
