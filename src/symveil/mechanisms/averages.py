"""Expected errors on average over the words of a public model: of all words, or of a sample by public bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.prior import Prior
from symveil.languages.language import AnyLength
from symveil.languages.runs import RunLanguage
from symveil.laws.protection import public_words
from symveil.mechanisms.attacker import AttackerView, Guess, attacker_view
from symveil.mechanisms.by_length import of_length
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Codes
from symveil.numbers.progress import Progress, reporting_to
from symveil.numbers.rationals import shown_at_least
from symveil.randomness import NotPrivateSeededBits

_FEWEST_WORDS = 20
"""Of a sample, however long a word takes."""

# What stands for longer words, in the order in which it is tried.
_SHORTER = (100, 50, 20, 10)
_SIMULATED, _SEED = 40, 13


def mean_error(mechanism: Mechanism, *, progress: Progress | None = None) -> tuple[float, float]:
    """The expected error over the words of a language, each as likely as any other, and its standard error.

    `progress` is called where words are looked at one by one.

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
    return LIMITS.now.averaged_words if mechanism.law.table is None else LIMITS.now.optimal_words


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
    count = int(min(LIMITS.now.sampled_words, max(_FEWEST_WORDS, LIMITS.now.sampled_steps // steps)))
    return public_words(language, count, prior=kind)


def _shares(mechanism: Mechanism) -> NDArray[np.float64]:
    """How likely each word of a language is that is written out."""
    language = mechanism.language.runs
    assert language is not None  # noqa: S101 - others have one law for all words
    return Prior(language, prior_of(mechanism)).word_probabilities(
        language.enumerate_codes(at_most=_written_out(mechanism))
    )


# --- of a file, for its manifest ----------------------------------------------------------------


def expected_error_of_file(mechanism: Mechanism, lengths: NDArray[np.int64]) -> dict[str, object] | None:
    """For a manifest: how many symbols change on average in words of the middle one of the lengths of a file.

    The average is over the public model. Where words are long or the model is large, shorter words stand for them; None
    where that takes long too, and where lengths are secret.

    >>> import symveil as sv
    >>> expected_error_of_file(sv.Exponential(sv.words("abc", 3), epsilon=2), np.array([3]))
    {'length': 3, 'symbols': 0.639042, 'standard_error': 0.0, 'words': 'uniform'}
    """
    own = _of_middle_length(mechanism, lengths)
    if own is None:
        return None
    language = own.language.runs
    if language is None and not own.language.homogeneous:
        return None
    if language is not None and own.weighting is None and own.law.table is None:
        words = public_words(language, _SIMULATED, prior=prior_of(own))
        drawn = own.release_codes(words, bits=NotPrivateSeededBits(_SEED))
        errors = np.count_nonzero(drawn != words, axis=1).astype(np.float64).tolist()
        mean, spread = float(np.mean(errors)), float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    else:
        errors, _ = expected_errors_of_words(own, None)
        mean, spread = mean_of_words(own, errors)
    return {
        "length": own.length,
        "symbols": float(f"{mean:.6g}"),
        "standard_error": float(f"{spread:.3g}"),
        "words": prior_of(own),
    }


def attacker_of_file(mechanism: Mechanism, lengths: NDArray[np.int64]) -> dict[str, object] | None:
    """For a manifest: what an attacker guesses who knows the public model and sees one private word of the middle
    length.

    The public model, the lengths and the mechanism decide it, never the words of the file. None where lengths are
    secret and where it would take long.

    >>> import symveil as sv
    >>> document = attacker_of_file(sv.Exponential(sv.words("abc", 3), epsilon=2), np.array([3]))
    >>> document["length"], document["symbol"], document["how"]
    (3, {'before': 0.333333, 'after': 0.786986}, 'exact')
    """
    own = _of_middle_length(mechanism, lengths)
    view = None if own is None else attacker_view(own)
    if own is None or view is None:
        return None
    return {"length": own.length, **_six_digits(view).document()}


def _six_digits(view: AttackerView) -> AttackerView:
    """The same as machines agree on it; what is promised at most, and the ends of an interval, rounded outwards."""

    def nearest(guess: Guess) -> Guess:
        return Guess(float(f"{guess.before:.6g}"), float(f"{guess.after:.6g}"))

    ends = view.interval and (max(view.interval[0] - 1e-6, 0.0), min(view.interval[1] + 1e-6, 1.0))
    rounded = ends and (float(f"{ends[0]:.6g}"), float(f"{ends[1]:.6g}"))
    promised = None if view.promised is None else min(float(shown_at_least(view.promised, 6)), 1.0)
    return replace(
        view,
        symbol=nearest(view.symbol),
        first=nearest(view.first),
        last=nearest(view.last),
        word=nearest(view.word),
        interval=rounded,
        promised=promised,
    )


def _of_middle_length(mechanism: Mechanism, lengths: NDArray[np.int64]) -> Mechanism | None:
    """What releases words of the middle one of the lengths that occur, or shorter ones where those take long.

    None where lengths are secret, and where all of that takes long.
    """
    positive = lengths[lengths > 0]
    if mechanism.metric != "hamming" or not len(positive):
        return None
    for length in _quick_lengths(mechanism, int(positive[len(positive) // 2])):
        own = of_length(mechanism, length)
        if own is not None and own.length == length:
            return own
    return None


def _quick_lengths(mechanism: Mechanism, length: int) -> list[int]:
    """This length and shorter ones in its place, without those that take long."""
    graph = mechanism.language.graph
    steps = 0 if graph is None else graph.edge_count
    return [
        each
        for each in (length, *(shorter for shorter in _SHORTER if shorter < length))
        if each <= LIMITS.now.manifest_length and each * steps <= LIMITS.now.manifest_steps
    ]


def averaged_lengths(mechanism: Mechanism, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The lengths that averages in a manifest may be about, where words of these lengths occur: they need laws too."""
    language = mechanism.language
    if not isinstance(language, AnyLength):
        return lengths
    averaged = set()
    for length in lengths[lengths > 0].tolist():
        quick = _quick_lengths(mechanism, length)
        averaged.update(next(([each] for each in quick if language.of_length(each) is not None), []))
    return np.array(sorted(averaged), dtype=np.int64)
