"""Choosing a mechanism by its name, or the one with the least expected error.

The choice reads the public parameters only (length, alphabet, ε, adjacency), never a word: a rule
that looked at the secret word would itself be a release.
"""

from __future__ import annotations

from typing import overload

from symveil.errors import NotPrivateError, ParameterError
from symveil.languages.free import FreeLanguage
from symveil.languages.run_counts import can_count
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.edit_mechanism import EditMechanism, OpenLanguage
from symveil.mechanisms.edit_selection import EDIT_MECHANISM_NAMES, select_edit_mechanism
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.jones2019_printed import Jones2019Printed
from symveil.mechanisms.mechanism import WordMechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.numerics.rationals import Number
from symveil.privacy.parameters import Adjacency

MECHANISM_NAMES = ("auto", Exponential.name, PermuteAndFlip.name, Staircase.name, Online.name, Jones2019Printed.name)


@overload
def select_mechanism(
    language: FreeLanguage | RunLanguage,
    *,
    epsilon: Number,
    mechanism: str = ...,
    adjacency: Adjacency = ...,
    calibration: str = ...,
    prior: str = ...,
    utility: str = ...,
    offset: Number = ...,
    cutoff: int | None = ...,
    not_private: bool = ...,
) -> WordMechanism: ...


@overload
def select_mechanism(
    language: OpenLanguage,
    *,
    epsilon: Number,
    mechanism: str = ...,
    adjacency: Adjacency = ...,
    calibration: str = ...,
    prior: str = ...,
    utility: str = ...,
    offset: Number = ...,
    cutoff: int | None = ...,
    not_private: bool = ...,
) -> EditMechanism: ...


def select_mechanism(
    language: FreeLanguage | RunLanguage | OpenLanguage,
    *,
    epsilon: Number,
    mechanism: str = "auto",
    adjacency: Adjacency = 1,
    calibration: str = "tight",
    prior: str = "uniform",
    utility: str = "distance",
    offset: Number = 1,
    cutoff: int | None = None,
    not_private: bool = False,
) -> WordMechanism | EditMechanism:
    """The mechanism of that name; "auto" is the one with the least expected error at this ε.

    The language says what adjacency means: on words of one length (`words`, `runs`) substitutions, the
    Hamming distance; on words of different lengths (`words_up_to`, `runs_up_to`) insertions and deletions
    too, the Levenshtein distance.

    >>> import symveil as sv
    >>> words = sv.words("abc", 6)
    >>> sv.select_mechanism(words, epsilon=2).name
    'exponential'
    >>> sv.select_mechanism(words, epsilon=2, adjacency=3).name
    'staircase'
    >>> sv.select_mechanism(sv.words_up_to("abc", 6), epsilon=6).name
    'truncated-levenshtein'
    """
    if isinstance(language, OpenLanguage):
        for name, found, default in (("prior", prior, "uniform"), ("utility", utility, "distance")):
            if found != default:
                raise ParameterError(name, expected=f"{default} with metric levenshtein", found=found)
        return select_edit_mechanism(
            language,
            epsilon=epsilon,
            mechanism=mechanism,
            adjacency=adjacency,
            calibration=calibration,
            cutoff=cutoff,
        )
    if mechanism in EDIT_MECHANISM_NAMES[1:]:
        raise ParameterError(
            "mechanism",
            expected=f"one of {', '.join(MECHANISM_NAMES)} on words of one length (metric hamming); {mechanism} needs "
            "metric levenshtein: words of different lengths",
            found=mechanism,
        )
    if cutoff is not None:
        raise ParameterError("cutoff", expected="mechanism truncated-levenshtein with it", found=mechanism)
    return _select_on_one_length(
        language,
        epsilon=epsilon,
        mechanism=mechanism,
        adjacency=adjacency,
        calibration=calibration,
        prior=prior,
        utility=utility,
        offset=offset,
        not_private=not_private,
    )


def _select_on_one_length(  # noqa: PLR0911 - one return per mechanism
    language: FreeLanguage | RunLanguage,
    *,
    epsilon: Number,
    mechanism: str,
    adjacency: Adjacency,
    calibration: str,
    prior: str,
    utility: str,
    offset: Number,
    not_private: bool,
) -> WordMechanism:
    exponential = Exponential(
        language,
        epsilon=epsilon,
        adjacency=adjacency,
        calibration=calibration,
        prior=prior,
        utility=utility,
        offset=offset,
    )
    if mechanism == Exponential.name:
        return exponential
    if mechanism == Jones2019Printed.name:
        if not not_private:
            raise NotPrivateError(
                "mechanism jones2019-printed: expected --not-private (in Python not_private=True), because its "
                "law as printed is not ε-private; it is kept to reproduce the paper"
            )
        return Jones2019Printed(language, epsilon=epsilon, adjacency=adjacency, offset=offset)
    if utility != "distance" or prior != "uniform":
        if mechanism == "auto":
            return exponential  # the only mechanism that has another utility, or a prior
        name, found = ("utility", utility) if utility != "distance" else ("prior", prior)
        raise ParameterError(name, expected=f"the default for mechanism {mechanism}", found=found)
    if mechanism == Online.name:
        if calibration != "tight":
            raise ParameterError(
                "calibration", expected="tight for mechanism online, which needs no factor 2", found=calibration
            )
        return Online(language, epsilon=epsilon, adjacency=adjacency)
    if mechanism == PermuteAndFlip.name:
        return PermuteAndFlip(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
    if mechanism == Staircase.name:
        return Staircase(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
    if mechanism != "auto":
        raise ParameterError("mechanism", expected=f"one of {', '.join(MECHANISM_NAMES)}", found=mechanism)
    return _least_error(exponential)


def _least_error(exponential: Exponential) -> WordMechanism:
    """The best of the three at the same public parameters; on a tie the simplest."""
    language, epsilon = exponential.language, exponential.epsilon
    adjacency, calibration = exponential.adjacency, exponential.calibration
    if not isinstance(language, FreeLanguage):
        return _least_error_on_model(exponential)
    if exponential.reach <= 1 and calibration == "tight":
        return exponential  # the staircase with steps of width 1, which no mechanism beats
    staircase = Staircase(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
    if calibration == "tight":
        # Optimal among all laws that depend on the distance only, permute-and-flip's among them.
        return staircase
    flip = PermuteAndFlip(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
    # B26 Theorem 2: permute-and-flip is never worse than the exponential mechanism.
    return min(flip, staircase, key=lambda candidate: candidate.distances().expected_error)


def _least_error_on_model(exponential: Exponential) -> WordMechanism:
    """With a certified rate the exponential mechanism; without one permute-and-flip, where it can count."""
    language = exponential.language
    if exponential.guarantee.how != "classic" or not can_count(language):
        return exponential
    return PermuteAndFlip(
        language,
        epsilon=exponential.epsilon,
        adjacency=exponential.adjacency,
        calibration=exponential.calibration,
    )
