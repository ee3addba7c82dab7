"""What a mechanism does to the words of the public model on average, beside what no private mechanism can do better."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError, TooLargeError
from symveil.languages.language import Language
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.attacker import AttackerView, attacker_view
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.optimal import MOST_WORDS
from symveil.models.word import Codes, decode
from symveil.numerics.integers import decimal
from symveil.numerics.progress import Progress
from symveil.numerics.rationals import at_least, shown_at_most
from symveil.privacy.lower_bounds.lower_bound import LowerBound, lower_bound
from symveil.privacy.lower_bounds.prior import Prior
from symveil.privacy.protection import Protection, protection
from symveil.privacy.public_words import public_words
from symveil.workflows.doubts import guarantee_in_words

NO_BOUND = "no lower bound: the model is too large for a quick one (sv.lower_bound takes its time)"

# All words of a language up to this size; beyond it so many, fewer where a word takes long.
_ALL_WORDS = 64
_MOST_WORDS, _FEWEST_WORDS = 200, 20
_MOST_STEPS = 2_000_000
# What a manifest says is worked out for every release: about a second at most.
_LONGEST_IN_A_MANIFEST, _MOST_STEPS_IN_A_MANIFEST = 500, 10_000


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
    """How often somebody who knows the public model guesses right."""

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        mechanism = self.mechanism
        size, proof = mechanism.language.size, mechanism.certified
        return {
            "mechanism": mechanism.name,
            "metric": mechanism.metric,
            "epsilon": at_least(mechanism.epsilon),
            "adjacency": mechanism.adjacency,
            "calibration": mechanism.calibration,
            "length": mechanism.length,
            "language_size": None if size is None else decimal(size),
            "guarantee": mechanism.guarantee.document(),
            "guarantee_in_words": guarantee_in_words(mechanism.guarantee.how, mechanism.calibration),
            "expected_error": self.expected_error,
            **({} if self.expected_cost is None else {"expected_cost": self.expected_cost}),
            "standard_error": self.standard_error,
            "lower_bound": bound_document(self.bound),
            "attacker": self.attacker.document() if self.attacker else None,
            "protection": self.protection.document() if self.protection else None,
            "certificate": {"worst_found": None, **proof.document()} if proof else None,
            "parameters": mechanism.parameters_document(),
            "given_up": mechanism.given_up,
            "chosen_because": mechanism.chosen_because,
        }

    def sentence(self) -> str:
        """The two numbers side by side, as people read them."""
        error = f"expected error {self.expected_error:.4g}"
        return error if self.bound is None else f"{error}; {bound_sentence(self.bound)}"


def average_over_model(mechanism: Mechanism, *, progress: Progress | None = None) -> PublicAverages:
    """What a mechanism does to the words of its language on average. Nothing secret is read.

    Parameters
    ----------
    mechanism
        On words of one length.
    progress
        Called with the number of words done, and of how many, where they are looked at one by one.

    >>> import symveil as sv
    >>> averages = average_over_model(sv.Exponential(sv.words("abc", 3), epsilon=2))
    >>> averages.sentence()
    'expected error 0.639; no ε-private mechanism can have less than 0.639'
    """
    if mechanism.length is None or mechanism.metric != "hamming":
        raise ParameterError("language", expected="words of one public length", found=repr(mechanism.language))
    errors, costs = _errors(mechanism, progress)
    whole = mechanism.language.homogeneous or mechanism.language.has_at_most(_written_out(mechanism))
    shares = _shares(mechanism) if whole and len(errors) > 1 else np.full(len(errors), 1 / len(errors))
    spread = 0.0 if whole else float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    return PublicAverages(
        mechanism=mechanism,
        expected_error=float(shares @ np.array(errors)),
        standard_error=spread,
        bound=least_possible(mechanism),
        protection=protection(mechanism.language, mechanism.adjacency),
        expected_cost=None if costs is None else float(shares @ np.array(costs)),
        attacker=attacker_view(mechanism),
    )


def expected_error_of_file(mechanism: Mechanism, lengths: NDArray[np.int64]) -> dict[str, object] | None:
    """For a manifest: how many symbols change on average in words of the middle one of the lengths of a file.

    The average is over the public model, and only where it takes little time; None elsewhere, and where lengths are
    secret.

    Parameters
    ----------
    mechanism
        What releases the file.
    lengths
        The lengths that occur, sorted.

    >>> import symveil as sv
    >>> expected_error_of_file(sv.Exponential(sv.words("abc", 3), epsilon=2), np.array([3]))
    {'length': 3, 'symbols': 0.639042, 'standard_error': 0.0, 'words': 'uniform'}
    """
    positive = lengths[lengths > 0]
    if mechanism.metric != "hamming" or not len(positive):
        return None
    length = int(positive[len(positive) // 2])
    own = mechanism.of_length(length) if length <= _LONGEST_IN_A_MANIFEST else None
    if own is None or own.length != length:
        return None
    language = own.language.runs
    if language is None and not own.language.homogeneous:
        return None
    if language is not None and (
        own.weighting is None or length * language.graph.edge_count > _MOST_STEPS_IN_A_MANIFEST
    ):
        return None
    errors, _ = _errors(own, None)
    mean, spread = _mean(own, errors)
    return {
        "length": length,
        "symbols": float(f"{mean:.6g}"),
        "standard_error": float(f"{spread:.3g}"),
        "words": _prior(own),
    }


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
    return _mean(mechanism, _errors(mechanism, progress)[0])


def _mean(mechanism: Mechanism, errors: list[float]) -> tuple[float, float]:
    """The average of errors over the words of a language, and its standard error; 0 where all words were looked at."""
    whole = mechanism.language.homogeneous or mechanism.language.has_at_most(_written_out(mechanism))
    shares = _shares(mechanism) if whole and len(errors) > 1 else np.full(len(errors), 1 / len(errors))
    spread = 0.0 if whole else float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
    return float(shares @ np.array(errors)), spread


def least_possible(mechanism: Mechanism) -> LowerBound | None:
    """The bound for mechanisms with the same parameters, found in about a second; None where there is none.

    Parameters
    ----------
    mechanism
        Any mechanism; its language, ε, adjacency and prior are looked at.
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
            prior=_prior(mechanism),
            quick=True,
        )
    except (TooLargeError, ParameterError):
        return None  # too large for a quick answer, or with chances too small for floats


def bound_document(bound: LowerBound | None) -> dict[str, object] | None:
    """What the contract has under `lower_bound`."""
    return None if bound is None else {"value": bound.value, "confidence": bound.confidence, "prior": bound.prior}


def bound_sentence(bound: LowerBound) -> str:
    """What no mechanism can do better, as people read it."""
    sure = "" if bound.confidence is None else f" (confidence {bound.confidence:g})"
    return f"no ε-private mechanism can have less than {shown_at_most(bound.value, 4)}{sure}"


def _prior(mechanism: Mechanism) -> str:
    return str(getattr(mechanism, "prior", "uniform"))


def _written_out(mechanism: Mechanism) -> int:
    """Up to how many words all of them are looked at: a law that is written down has them all."""
    return MOST_WORDS if mechanism.carries_law else _ALL_WORDS


def _errors(mechanism: Mechanism, progress: Progress | None) -> tuple[list[float], list[float] | None]:
    """The expected error of all words, or of a sample from the prior by public bits; one where all have the same.

    And what it costs, where costs are given.
    """
    language = mechanism.language.runs
    if language is None:
        return [mechanism.distances().expected_error], None
    if language.has_at_most(_written_out(mechanism)):
        rows = language.enumerate_codes(at_most=_written_out(mechanism))
    else:
        rows = _drawn(language, _prior(mechanism))
    if mechanism.carries_law or mechanism.errors_at_once or mechanism.weighting is not None:
        symbols, spent = mechanism.expected_errors(rows)  # all at once, without the law of the distance
        return symbols.tolist(), spent.tolist() if getattr(mechanism, "cost", None) == "given" else None
    errors = []
    for number, row in enumerate(rows, start=1):
        errors.append(mechanism.distances(decode(row, language.alphabet, like=())).expected_error)
        if progress:
            progress(number, len(rows))
    return errors, None


def _drawn(language: RunLanguage, kind: str) -> Codes:
    steps = max(language.length * language.graph.edge_count, 1)
    count = int(min(_MOST_WORDS, max(_FEWEST_WORDS, _MOST_STEPS // steps)))
    return public_words(language, count, prior=kind)


def _shares(mechanism: Mechanism) -> np.ndarray:
    language = mechanism.language.runs
    assert language is not None  # noqa: S101 - others have one law for all words
    return Prior(language, _prior(mechanism)).word_probabilities(
        language.enumerate_codes(at_most=_written_out(mechanism))
    )
