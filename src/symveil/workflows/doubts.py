"""What somebody should know who is about to release: the command line and the studio say it in the same sentences."""

from __future__ import annotations

from symveil.mechanisms.mechanism import Mechanism
from symveil.privacy.protection import Protection


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
    return warnings + thin_protection(protection)


def thin_protection(protection: Protection | None) -> list[str]:
    """The warning that adjacency protects little, where few words can really take another's place."""
    if protection is None or not protection.thin:
        return []
    near = protection.neighbours_within_adjacency
    return [
        f"protection is thin: on average {near:.3g} feasible words lie within the adjacency of a word, unevenly over "
        "its positions; a larger adjacency may hide more"
    ]


def given_up_notes(mechanism: Mechanism) -> list[str]:
    """What is not promised beyond the adjacency, where that is less than by Hamming distance.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=4)
    >>> given_up_notes(sv.Exponential(words, epsilon=4, cost="swap", cap=3))[0][:51]
    'given up: words that differ in more than one symbol'
    """
    return [] if mechanism.given_up is None else [f"given up: {mechanism.given_up}"]
