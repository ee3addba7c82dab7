"""Putting chains one after the other, to verify what they give away together (C19 Example 32)."""

from __future__ import annotations

from itertools import product
from typing import Literal, get_args

from symveil.errors import ModelError, ParameterError
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.models.names import shown, unlike

Respondents = Literal["disjoint", "same"]


def compose(first: LabelledChain, second: LabelledChain, *, respondents: str = "disjoint") -> LabelledChain:
    """The chain that runs `first` to its end and then `second`, from related states `x|y` of both.

    Both end: each has one state that is never left, `second` is entered where `first` would get there. With
    "disjoint" respondents x|y is related to x'|y and to x|y', where x, x' and y, y' are: the two
    answers come from different people. With the "same" respondent, to x'|y' as well.

    Parameters
    ----------
    first, second
        Labelled chains, each with one state that is never left.
    respondents
        Whose answers they are: "disjoint" or the "same".

    >>> from symveil.examples.paper_systems import randomised_response
    >>> from symveil.verification.verify_privacy import verify_privacy
    >>> both = compose(randomised_response(), randomised_response(), respondents="same")
    >>> verdict = verify_privacy(both, alpha="36/25")
    >>> str(max(pair.ld.value for pair in verdict.pairs)), str(verdict.delta.upper)
    ('103/225', '64/225')
    """
    if respondents not in get_args(Respondents):
        raise ParameterError("respondents", expected=" or ".join(get_args(Respondents)), found=respondents)
    end = _end(first, "first")
    _end(second, "second")
    x_starts, y_starts = _starts(first, "first"), _starts(second, "second")
    labels: dict[str, str] = {}
    rows = []
    outer: dict[tuple[str, str], str] = {}
    for state, y in product(first.states, y_starts):
        if state != end:
            outer[state, y] = unlike(f"{state}|{y}", labels)
            labels[outer[state, y]] = first.label(state)
    inner: dict[str, str] = {}
    for state in second.states:
        inner[state] = unlike(state, labels)
        labels[inner[state]] = second.label(state)
    for y in y_starts:
        for source, target, chance in first.transitions:
            if source != end:
                rows.append((outer[source, y], inner[y] if target == end else outer[target, y], chance))
    rows += [(inner[source], inner[target], chance) for source, target, chance in second.transitions]
    related: dict[Pair, None] = {}
    for x, other in first.related:
        related |= {(outer[x, y], outer[other, y]): None for y in y_starts}
    for y, other in second.related:
        related |= {(outer[x, y], outer[x, other]): None for x in x_starts}
    if respondents == "same":
        for (x, x_other), (y, y_other) in product(first.related, second.related):
            related |= {
                (outer[x, y], outer[x_other, y_other]): None,
                (outer[x, y_other], outer[x_other, y]): None,
            }
    return LabelledChain.from_transitions(rows, labels=labels, related=tuple(related), states=tuple(labels))


def _starts(chain: LabelledChain, which: str) -> list[str]:
    starts = list(dict.fromkeys(state for pair in chain.related for state in pair))
    if not starts:
        raise ModelError(which, expected="related states, from which its runs start", found="none")
    return starts


def _end(chain: LabelledChain, which: str) -> str:
    """The one state that is never left."""
    absorbing = [source for source, target, chance in chain.transitions if source == target and chance == 1]
    if len(absorbing) != 1:
        found = ", ".join(map(shown, absorbing[:3])) or "none"
        raise ModelError(which, expected="exactly one state that is never left, where its runs end", found=found)
    return absorbing[0]
