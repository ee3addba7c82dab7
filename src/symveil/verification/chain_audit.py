"""The audit on the mechanism's own chain: the worst-case loss, proved, without listing what may be released.

A compiled mechanism is a chain that ends, and from each of its states a label leads to at most one state.
So a released word is one path, the chances of a path multiply, and the largest ratio of two words' chances is
a longest path through pairs of states: a dynamic programme over a few states where `audit` looks at
every word. All of it is in exact rationals; what the rationals differ from the true law is added to the loss.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import fmpq

from symveil.errors import ParameterError, TooLargeError
from symveil.laws.law import END_LABEL_STATE, Law, label_names
from symveil.models.labelled_chain import LabelledChain
from symveil.models.word import Codes
from symveil.numbers.conversions import log_upper_bound, rational
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import at_least
from symveil.verification.audit import MOST_WORDS, AuditVerdict, Witness, neighbours, require_law

_MOST_PAIRS = 50_000

Branches = dict[str, dict[str, tuple[str, fmpq]]]
"""For each state, the label that leads on, where it leads, and with what probability."""


def audit_by_chain(law: Law, *, length: int | None = None, progress: Progress | None = None) -> AuditVerdict:
    """The worst-case loss of a mechanism over all ordered pairs of adjacent words, proved on its chain.

    Parameters
    ----------
    law
        A mechanism that compiles to a chain and has a longest word to release. The edit channel has none: its chain,
        where a label leads to several states, is for `verify_privacy`.
    length
        Where words have different lengths: those of up to so many symbols are audited.
    progress
        Called with the number of words done and the number of all.

    >>> import symveil as sv
    >>> verdict = audit_by_chain(sv.Staircase(sv.words("abc", 3), epsilon=1, adjacency=2))
    >>> verdict.private, round(verdict.worst_epsilon, 9), verdict.pairs_checked
    (True, 1.0, 486)
    """
    require_law(law)
    inputs = _inputs(law, length)
    words, near = [word for rows in inputs for word in rows], list(neighbours(law, inputs))
    pairs = sum(map(len, near))
    if pairs > _MOST_PAIRS:
        raise TooLargeError(
            f"audit by chain: expected at most {_MOST_PAIRS} pairs of adjacent words, found {pairs}; use a shorter "
            "length, a smaller alphabet or a smaller adjacency"
        )
    compiled = [law.compile_chain([word]) for word in words]
    branches = [branches_of(release.chain) for release in compiled]
    slack = max((release.log_error for release in compiled), default=Fraction(0))
    worst: fmpq | None = fmpq(0)
    worst_case: tuple[int, int, list[str]] | None = None
    for index, others in enumerate(near):
        for other in others.tolist():
            ratio, path = largest_ratio(branches[index], branches[other], compiled[index].starts[0])
            if worst is not None and (ratio is None or ratio > worst):
                worst, worst_case = ratio, (index, other, path)
        if progress:
            progress(index + 1, len(words))
    return AuditVerdict(
        mechanism=law.name,
        nominal_epsilon=at_least(law.epsilon),
        worst_epsilon=_loss(worst, slack) if worst_case else 0.0,
        witness=_chain_witness(law, words, worst_case) if worst_case else None,
        pairs_checked=pairs,
    )


def _inputs(law: Law, length: int | None) -> list[Codes]:
    """The words that are audited."""
    if law.length is not None:
        return law.inputs(at_most=MOST_WORDS)
    if law.largest_output is None:
        raise ParameterError(
            "mechanism", expected="one with a longest word to release, such as truncated-levenshtein", found=law.name
        )
    if length is None:
        raise ParameterError("length", expected="the number of symbols up to which words are audited", found="none")
    return law.inputs(length, at_most=MOST_WORDS)


def branches_of(chain: LabelledChain) -> Branches:
    """The chain as a tree of labels; refused where a label leads to two states."""
    branches: Branches = {state: {} for state in chain.states}
    for source, target, chance in chain.transitions:
        label = chain.label(target)
        if label in branches[source]:
            raise TooLargeError(
                "audit by chain: expected a chain in which a label leads to one state, found one where it leads to two"
            )
        branches[source][label] = (target, rational(chance))
    return branches


def largest_ratio(mine: Branches, theirs: Branches, start: str) -> tuple[fmpq | None, list[str]]:
    """max over label words u of P(u|mine)/P(u|theirs), and that word; None: one of them cannot be released by theirs.

    Both start in the state `start` and end in `end`.
    """
    layer: dict[tuple[str, str], tuple[fmpq, tuple[str, ...]]] = {(start, start): (fmpq(1), ())}
    best: tuple[fmpq, tuple[str, ...]] = (fmpq(0), ())
    while layer:
        following: dict[tuple[str, str], tuple[fmpq, tuple[str, ...]]] = {}
        for (here, there), (ratio, path) in layer.items():
            for label, (target, chance) in mine[here].items():
                ends = target == END_LABEL_STATE
                word = path if ends else (*path, label)
                if label not in theirs[there]:
                    return None, _finished(mine, target, word)
                other, their_chance = theirs[there][label]
                grown = ratio * chance / their_chance
                if ends:
                    best = max(best, (grown, word), key=lambda pair: pair[0])
                elif (target, other) not in following or grown > following[target, other][0]:
                    following[target, other] = (grown, word)
        layer = following
    return best[0], list(best[1])


def _finished(branches: Branches, state: str, path: tuple[str, ...]) -> list[str]:
    """Any way to the end."""
    word = list(path)
    while state != END_LABEL_STATE:
        label, (state, _) = next(iter(branches[state].items()))
        if state != END_LABEL_STATE:
            word.append(label)
    return word


def _loss(ratio: fmpq | None, slack: Fraction) -> float:
    """ln of the ratio with the error of the rationals on top, rounded upwards; at least 0."""
    if ratio is None:
        return math.inf
    return at_least(max(Fraction(0), log_upper_bound(ratio) + 2 * slack))


def _chain_witness(law: Law, words: list[Codes], worst_case: tuple[int, int, list[str]]) -> Witness:
    symbols = law.alphabet.symbols
    spelled = dict(zip(label_names(law.alphabet), symbols, strict=True))
    word, neighbour, released = worst_case
    return Witness(
        word=tuple(symbols[code] for code in words[word]),
        neighbour=tuple(symbols[code] for code in words[neighbour]),
        released=tuple(spelled[label] for label in released),
    )
