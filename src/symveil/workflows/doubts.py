"""What somebody should know who is about to release: the command line and the studio say it in the same sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from symveil.mechanisms.attacker import AttackerView
from symveil.mechanisms.mechanism import Mechanism
from symveil.numerics.rationals import Number, exact, shown_at_least
from symveil.privacy.protection import Protection

LARGE = 20
"""Above it an ε is called what it is: e^20 is above 10^8."""


def doubts(mechanism: Mechanism, protection: Protection | None = None) -> list[str]:
    """What to warn of, all of it public.

    Parameters
    ----------
    mechanism
        What would be used.
    protection
        How many feasible words lie near a typical one, where that is known.

    >>> import symveil as sv
    >>> doubts(sv.EditChannel("abcd", epsilon="0.1", max_length=16))[0][:53]
    'at this epsilon the release carries no information: e'
    """
    warnings = []
    if mechanism.tells_nothing:
        warnings.append("at this epsilon the release carries no information: everything is deleted; use a larger one")
    if not mechanism.guarantee.within(mechanism.epsilon):
        warnings.append("this mechanism loses more than was asked for: it is not private")
    if mechanism.tells_apart:
        warnings += given_up_notes(mechanism)
    return warnings + large_loss(mechanism.epsilon) + thin_protection(protection)


def large_loss(epsilon: Number, largest_charge: Number | None = None) -> list[str]:
    """The warning that an ε is too large to protect anybody.

    Parameters
    ----------
    epsilon
        What was asked for.
    largest_charge
        What one person is charged in all, for the holder, where that is known.

    >>> large_loss(20), large_loss(1, "24")
    ([], ['one person is charged 24 in all, which is hardly any privacy: odds may shift by a factor above 10^10'])
    >>> large_loss(50)
    ['epsilon 50 is hardly any privacy: odds may shift by a factor above 10^21']
    """
    asked = exact(epsilon, name="epsilon")
    if asked > LARGE:
        what = f"epsilon {shown_at_least(asked)} is"
        return [f"{what} hardly any privacy: odds may shift by a factor above 10^{_digits(asked)}"]
    charged = asked if largest_charge is None else exact(largest_charge, name="charge")
    if charged > LARGE:
        return [
            f"one person is charged {shown_at_least(charged)} in all, which is hardly any privacy: odds may shift by a "
            f"factor above 10^{_digits(charged)}"
        ]
    return []


def _digits(epsilon: Fraction) -> int:
    """e^ε is at least ten to this power."""
    return math.floor(float(min(epsilon, Fraction(10**9))) / math.log(10) * (1 - 1e-12))


def thin_protection(protection: Protection | None) -> list[str]:
    """The warning that adjacency protects little, where few words can really take another's place."""
    if protection is None or not protection.thin:
        return []
    near = protection.neighbours_within_adjacency
    return [
        f"protection is thin: on average {near:.3g} feasible words lie within the adjacency of a word, unevenly over "
        "its positions; a larger adjacency may hide more"
    ]


def hides_little(view: AttackerView | None) -> list[str]:
    """The warning that a guess with the public model is right nine times in ten.

    >>> hides_little(None)
    []
    """
    if view is None or not view.hides_little:
        return []
    return ["an attacker is right nine times in ten: this setting hides little"]


def no_better_than_classic(how: str, calibration: object) -> list[str]:
    """That a proof was looked for and gave no more than the published bound, in words.

    >>> no_better_than_classic("classic", "tight")
    ['certified, no better than classic here: no proof gave a larger rate than the published bound']
    >>> no_better_than_classic("certified", "tight"), no_better_than_classic("classic", "classic")
    ([], [])
    """
    if how != "classic" or calibration != "tight":
        return []
    return ["certified, no better than classic here: no proof gave a larger rate than the published bound"]


_HOW_KNOWN = {
    "exact": "exact: some pair of words attains it, so it could not be smaller",
    "certified": "certified: a proved upper bound on the true loss",
    "classic": "classic: the bound that the papers give; the true loss may be smaller",
}


def guarantee_in_words(how: str, calibration: object) -> str:
    """How a loss is known, as one sentence.

    Parameters
    ----------
    how
        `exact`, `certified` or `classic`.
    calibration
        What was asked for: where it is `tight` and only the published bound was found, the sentence says so.

    >>> guarantee_in_words("certified", "tight")
    'certified: a proved upper bound on the true loss'
    >>> guarantee_in_words("classic", "tight")
    'certified, no better than classic here: no proof gave a larger rate than the published bound'
    """
    return next(iter(no_better_than_classic(how, calibration)), _HOW_KNOWN[how])


def losses_in_words(rows: Sequence[Mapping[str, Any]], b: int | str, *, edits: bool = False) -> str:
    """The loss at one symbol, b, b + 1, 2b and whole words, as one line; losses are rounded upwards.

    Parameters
    ----------
    rows
        `loss_at` of a guarantee's document.
    b
        The adjacency; "all": any two words.
    edits
        Whether distances count insertions and deletions too, so that there may be no largest one.

    >>> losses_in_words([{"distance": d, "epsilon": 0.5 * d} for d in range(1, 7)], 2)
    'one symbol 0.5 · 2 symbols 1 · 3 symbols 1.5 · 4 symbols 2 · a whole word of 6 symbols 3'
    >>> losses_in_words([{"distance": 1, "epsilon": 3.0}, {"distance": 2, "epsilon": "infinity"}], 1)
    'one symbol 3 · a whole word of 2 symbols not bounded'
    """
    last = rows[-1]["distance"] if rows else 0
    wanted = {1, last} if b == "all" else {1, int(b), int(b) + 1, 2 * int(b), last}
    unit = "edit" if edits else "symbol"
    parts = []
    for row in rows:
        distance, loss = row["distance"], row["epsilon"]
        if distance not in wanted:
            continue
        shown = "not bounded" if loss == "infinity" else shown_at_least(loss)
        if distance == 1:
            name = f"one {unit}"
        elif distance == last and not edits:
            name = f"a whole word of {distance} symbols"
        else:
            name = f"{distance} {unit}s"
        parts.append(f"{name} {shown}")
    return " · ".join(parts) or "nothing can differ"


def promise_in_words(mechanism: Mechanism) -> str:
    """What two words lose that are any distance apart, for a mechanism that was just made.

    >>> import symveil as sv
    >>> promise_in_words(sv.Exponential(sv.words("abc", 4), epsilon=1))
    'one symbol 1 · 2 symbols 2 · a whole word of 4 symbols 4'
    """
    curve = mechanism.guarantee.curve
    rows = [] if curve is None else curve.rows()
    return losses_in_words(rows, mechanism.adjacency, edits=mechanism.metric == "levenshtein")


def given_up_notes(mechanism: Mechanism) -> list[str]:
    """What is not promised beyond the adjacency, where that is less than by Hamming distance.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=4)
    >>> given_up_notes(sv.Exponential(words, epsilon=4, cost="swap", cap=3))[0][:51]
    'given up: words that differ in more than one symbol'
    """
    return [] if mechanism.given_up is None else [f"given up: {mechanism.given_up}"]
