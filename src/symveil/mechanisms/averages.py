"""Expected errors on average over the words of a public model: of all words, or of a sample by public bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.prior import Prior
from symveil.languages.runs import RunLanguage
from symveil.laws.public_words import public_words
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.optimal.mechanism import MOST_WORDS
from symveil.models.word import Codes
from symveil.numbers.progress import Progress, reporting_to

# All words of a language up to this size; beyond it so many, fewer where a word takes long.
_ALL_WORDS = 64
_MOST_WORDS, _FEWEST_WORDS = 200, 20
_MOST_STEPS = 2_000_000


def mean_error(mechanism: Mechanism, *, progress: Progress | None = None) -> tuple[float, float]:
    """The expected error over the words of a language, each as likely as any other, and its standard error.

    Parameters
    ----------
    mechanism
        On words of one length.
    progress
        Called with the number of words done, and of how many, where they are looked at one by one.

    >>> import symveil as sv
    >>> round(mean_error(sv.Exponential(sv.words("abc", 3), epsilon=2))[0], 3)
    0.639
    """
    return mean_of_words(mechanism, expected_errors_of_words(mechanism, progress)[0])


def mean_of_words(mechanism: Mechanism, errors: Sequence[float]) -> tuple[float, float]:
    """The average of errors over the words of a language, and its standard error; 0 where all words were looked at."""
    whole = mechanism.language.homogeneous or mechanism.language.has_at_most(_written_out(mechanism))
    shares = _shares(mechanism) if whole and len(errors) > 1 else np.full(len(errors), 1 / len(errors))
    spread = 0.0 if whole else float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    return float(shares @ np.array(errors)), spread


def prior_of(mechanism: Mechanism) -> str:
    """What averages are over: "uniform" words, or words as the "chain" has them."""
    return str(getattr(mechanism, "prior", "uniform"))


def _written_out(mechanism: Mechanism) -> int:
    """Up to how many words all of them are looked at: a law that is written down has them all."""
    return _ALL_WORDS if mechanism.law.table is None else MOST_WORDS


def expected_errors_of_words(
    mechanism: Mechanism, progress: Progress | None = None
) -> tuple[list[float], list[float] | None]:
    """The expected error of all words, or of a sample from the prior by public bits; one where all have the same.

    And what it costs, where costs are given.
    """
    language = mechanism.language.runs
    if language is None:
        return [mechanism.distances().expected_error], None
    if language.has_at_most(_written_out(mechanism)):
        rows = language.enumerate_codes(at_most=_written_out(mechanism))
    else:
        rows = _sampled(language, prior_of(mechanism))
    with nullcontext() if progress is None else reporting_to(progress):
        symbols, spent = mechanism.expected_errors(rows)
    return symbols.tolist(), spent.tolist() if getattr(mechanism, "cost", None) == "given" else None


def _sampled(language: RunLanguage, kind: str) -> Codes:
    steps = max(language.length * language.graph.edge_count, 1)
    count = int(min(_MOST_WORDS, max(_FEWEST_WORDS, _MOST_STEPS // steps)))
    return public_words(language, count, prior=kind)


def _shares(mechanism: Mechanism) -> NDArray[np.float64]:
    """How likely each word of a language is that is written out."""
    language = mechanism.language.runs
    assert language is not None  # noqa: S101 - others have one law for all words
    return Prior(language, prior_of(mechanism)).word_probabilities(
        language.enumerate_codes(at_most=_written_out(mechanism))
    )
