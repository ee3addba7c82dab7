""" "auto" on the words of a model: the candidate with the least expected error over public words.

Candidates are the exponential mechanism and the staircase, by Hamming distance or by swaps, plain or balanced,
permute-and-flip where nothing is certified, and on small languages the online mechanism. Errors are averages over
uniform feasible words of the public model, from a fixed seed: nothing secret is read, so the choice costs no privacy.
Each candidate is compared at the rate that it would be released with. A certificate for another cost than the Hamming
distance takes from seconds to minutes, so that "auto" asks for one only on languages that are small enough to be
written out; elsewhere such candidates stand at their classic rate, and a mechanism that is asked for by name gets its
certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from symveil.errors import SymveilError
from symveil.languages.run_counts import can_count
from symveil.languages.runs import RunLanguage
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.models.word import Codes
from symveil.privacy.public_words import public_words

_MOST_CERTIFIED = 200  # words: so few are written out, and every pair of them is compared at once
_MOST_WORK = 1_000_000  # edges × symbols: beyond it only the Hamming distance is looked at
_WORK_OF_ERRORS = 400_000
_FEWEST_WORDS, _MOST_WORDS = 4, 24
_CLEARLY, _BY_FAR = 0.97, 0.75
"""What is less plain must have less than the first share of the error; without a certificate, less than the second."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    mechanism: Mechanism
    error: float


def least_error_on_model(choice: MechanismChoice, language: RunLanguage) -> Mechanism:
    """The best of the candidates at the same public parameters; on a tie the simplest.

    Parameters
    ----------
    choice
        With mechanism "auto"; costs, a cap, a step or balance that it asks for are kept to.
    language
        The words of a model, of one length.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=30, public_start=True)
    >>> found = least_error_on_model(sv.MechanismChoice(epsilon=1, public_start=True), words)
    >>> found.name, found.chosen_because.partition(" (")[0]
    ('exponential', 'expected error 2.57 over uniform words of the model')
    """
    plain = _plain(choice, language)
    others = [] if _is_settled(choice, language) else list(_others(choice, language))
    if not others:
        return plain if plain is not None else Exponential.from_choice(language, choice)
    words = public_words(language, _word_count(language))
    best = None if plain is None else _Candidate(plain, _expected(plain, words, choice))
    compared = [] if best is None else [(best.mechanism.described, best.error)]
    for mechanism in others:
        error = _expected(mechanism, words, choice)
        compared.append((mechanism.described, error))
        certified_before = best is not None and best.mechanism.guarantee.how != "classic"
        share = _BY_FAR if certified_before and mechanism.guarantee.how == "classic" else _CLEARLY
        if best is None or error < share * best.error:
            best = _Candidate(mechanism, error)
    assert best is not None  # noqa: S101 - there was a candidate
    beaten = sorted((error, name) for name, error in compared if name != best.mechanism.described)
    best.mechanism.chosen_because = _reason(best.error, beaten, len(words))
    return best.mechanism


def _reason(error: float, beaten: list[tuple[float, str]], words: int) -> str:
    reason = f"expected error {error:.3g} over uniform words of the model ({words} of them, at the rates at hand)"
    if beaten:
        reason += "; " + ", ".join(f"{name} {other:.3g}" for other, name in beaten[:3])
    return reason


def _is_settled(choice: MechanismChoice, language: RunLanguage) -> bool:
    """Whether there is nothing to compare: nothing can be wrong, or comparing would take longer than releasing."""
    if _names(choice):
        return False
    large = language.graph.edge_count * max(language.length, 1) > _MOST_WORK
    return choice.calibration == "classic" or language.largest_distance == 0 or large


def _plain(choice: MechanismChoice, language: RunLanguage) -> Mechanism | None:
    """The exponential mechanism by Hamming distance; permute-and-flip where it has no certificate and can count."""
    named = choice.cost not in (None, "hamming") or choice.costs is not None
    if named or choice.balanced or choice.step is not None or choice.cap is not None:
        return None
    exponential = Exponential.from_choice(language, choice)
    counts = exponential.guarantee.how == "classic" and can_count(language)
    return PermuteAndFlip.from_choice(language, choice) if counts else exponential


def _others(choice: MechanismChoice, language: RunLanguage) -> Iterator[Mechanism]:
    """The other candidates that the choice leaves open."""
    quick = choice.calibration == "tight" and language.has_at_most(_MOST_CERTIFIED)
    rated = replace(choice, calibration=choice.calibration if quick else "classic")
    if choice.costs is not None:
        costs: tuple[str, ...] = ("given",)
    elif choice.cost is not None:
        costs = (choice.cost,)
    else:
        costs = ("swap",) if choice.cap is not None else ("hamming", "swap")
    balances = (True,) if choice.balanced else (False, True) if language.graph.state_is_symbol else (False,)
    for cost in costs:
        for balanced in balances:
            for kind in (Exponential, Staircase):
                is_plain = kind is Exponential and cost == "hamming" and not balanced
                if (is_plain and not _names(choice)) or (kind is Exponential and choice.step is not None):
                    continue
                wanted = replace(rated, mechanism=kind.name, cost=cost, balanced=balanced, step=None, cap=None)
                made = _made(kind, language, replace(wanted, cap=choice.cap) if cost != "hamming" else wanted, choice)
                if made is not None:
                    yield made
    if not _names(choice) and quick:
        yield Online.from_choice(language, replace(choice, mechanism=Online.name))


def _names(choice: MechanismChoice) -> bool:
    """Whether the choice says anything about costs."""
    return bool(choice.cost or choice.costs or choice.balanced or choice.step or choice.cap)


def _made(
    kind: type[Exponential | Staircase], language: RunLanguage, wanted: MechanismChoice, choice: MechanismChoice
) -> Exponential | Staircase | None:
    """The candidate; None where it does not exist, such as a staircase of costs that are no whole numbers."""
    if kind is Staircase:
        wanted = replace(wanted, step=choice.step)
    try:
        made = kind.from_choice(language, wanted)
        if isinstance(made, Staircase) and made.period == 1 and choice.step is None:
            return None  # it is the exponential mechanism
        return made if made.weighting is not None else None
    except SymveilError:
        if _names(choice) and kind is Exponential:
            raise
        return None


def _word_count(language: RunLanguage) -> int:
    work = language.graph.edge_count * max(language.length, 1)
    return int(np.clip(_WORK_OF_ERRORS // max(work, 1), _FEWEST_WORDS, _MOST_WORDS))


def _expected(mechanism: Mechanism, words: Codes, choice: MechanismChoice) -> float:
    """The mean expected error over the words: of wrong symbols, or of what they cost where costs are given."""
    symbols, costs = mechanism.expected_errors(words)
    return float((symbols if choice.costs is None else costs).mean())
