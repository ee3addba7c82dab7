"""What is verified: a channel, or pairs of states of a chain, prepared once for all questions about them.

The audit on a mechanism's own chain: the worst-case loss, proved, without listing what may be released. A compiled
mechanism is a chain that ends, and from each of its states a label leads to at most one state. So a released word is
one path, the chances of a path multiply, and the largest ratio of two words' chances is a longest path through pairs
of states: a dynamic programme over a few states where `audit` looks at every word. All of it is in exact rationals;
what the rationals differ from the true law is added to the loss.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from flint import fmpq

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.laws.law import END_LABEL_STATE, Law, ReleaseChain, label_names
from symveil.laws.parameters import read_epsilon
from symveil.models.alphabet import Codes
from symveil.models.channel import Channel, Related, related_pairs
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.models.silent import SeenChain, without_silent
from symveil.numbers.conversions import exp_enclosure, float_at_least, float_at_most, log_upper_bound, rational
from symveil.numbers.once import LastFew
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import Number, at_least, exact
from symveil.verification.audit import MOST_WORDS, AuditVerdict, Witness, neighbours, require_law
from symveil.verification.distances.finite_words import FiniteWords, finite_words
from symveil.verification.distances.tables import ChainTable, Lumping, lumped

LARGEST_ALPHA = 10**12
Subject = LabelledChain | ReleaseChain | Channel | Iterable[Any]
"""What is verified: a chain, a mechanism's chain, a channel, or a table that `Channel.of` takes."""


def as_channel(model: object, related: Related | None) -> Channel | None:
    """The channel that a table is, with these related inputs; None where it is a chain."""
    if isinstance(model, LabelledChain | ReleaseChain):
        if related is not None:
            raise ParameterError(
                "related", expected="a channel with it; pairs of a chain are given as pairs", found="a chain"
            )
        return None
    if isinstance(model, str) or not (isinstance(model, Channel) or hasattr(model, "__iter__")):
        compiles = hasattr(type(model), "release_chain") and not isinstance(model, type)
        advice = ", whose chain is mechanism.release_chain([word, other])" if compiles else ""
        kind = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise ParameterError("chain", expected="a labelled chain", found=f"{kind}{advice}")
    if isinstance(model, Channel):
        return model if related is None else replace(model, related=related_pairs(model.inputs, related))
    return Channel.of(model, related="all" if related is None else related)


def seen_chain(chain: LabelledChain, silent: Iterable[str], pairs: Iterable[Pair]) -> SeenChain:
    """The chain without silent states, and where the states of the pairs start in it."""
    hidden = silent if isinstance(silent, str) else list(silent)
    starts = list(dict.fromkeys(state for pair in pairs for state in pair))
    return (
        without_silent(chain, hidden, starts=starts)
        if hidden
        else SeenChain(chain, dict(zip(starts, starts, strict=True)))
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ChainPairs:
    """Ordered pairs of states of a chain, as its observer sees it. Construct with `of`.

    Parameters
    ----------
    pairs
        The pairs, by the names of their states.
    numbers
        The same by their numbers in the table.
    table
        The chain of what is seen, or its quotient by bisimilarity.
    lumping
        Which states of the table are bisimilar.
    slack
        κ: by how much ln P of the chain may differ from that of the mechanism that it stands for.
    lumped
        Whether the table is that of the quotient.
    """

    pairs: list[Pair]
    numbers: list[tuple[int, int]]
    table: ChainTable = field(repr=False)
    lumping: Lumping = field(repr=False)
    slack: Fraction = Fraction(0)
    lumped: bool = False
    _read: LastFew[int, list[FiniteWords | None]] = field(default_factory=lambda: LastFew(1), repr=False)

    @classmethod
    def of(
        cls,
        chain: LabelledChain | ReleaseChain,
        pairs: Iterable[Pair] | None,
        *,
        silent: Iterable[str] = (),
        on_lumped: bool = False,
    ) -> ChainPairs:
        """These pairs, or the related ones in both directions.

        Parameters
        ----------
        chain
            A labelled chain, or that of a mechanism.
        pairs
            Ordered pairs of states; None: the related ones.
        silent
            Labels that no observer sees.
        on_lumped
            Whether bisimilar states are made one.
        """
        slack = Fraction(0)
        if isinstance(chain, ReleaseChain):
            slack, chain = chain.log_error, chain.chain
        wanted = list(chain.pairs(pairs))
        if not wanted:
            raise ModelError(
                "pairs", expected="at least one pair of states, or related states in the chain", found="none"
            )
        seen = seen_chain(chain, silent, wanted)
        work, home = lumped(seen.chain) if on_lumped else (seen.chain, {state: state for state in seen.chain.states})
        table = ChainTable.of(work)
        number = {state: work.number[home[start]] for state, start in seen.start.items()}
        return cls(
            pairs=wanted,
            numbers=[(number[source], number[target]) for source, target in wanted],
            table=table,
            lumping=Lumping.of(table),
            slack=slack,
            lumped=on_lumped,
        )

    def read_to_the_end(self, nodes: int) -> list[FiniteWords | None]:
        """What the words of a chain that ends tell about each pair; None where it goes round, or is too large.

        Parameters
        ----------
        nodes
            How many kinds of words are read at most.
        """
        return self._read.of(nodes, lambda: [self._words(source, target, nodes) for source, target in self.numbers])

    def _words(self, source: int, target: int, nodes: int) -> FiniteWords | None:
        home = self.lumping.home
        return finite_words(self.lumping.table, int(home[source]), int(home[target]), nodes=nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alpha:
    """α, or rationals below and above e^ε: δ falls in α, so each bound has its end."""

    below: Fraction
    above: Fraction
    epsilon: Fraction | None = None
    """ε where it was given."""

    @property
    def is_exact(self) -> bool:
        """Whether it is known exactly."""
        return self.below == self.above

    def widened(self, slack: Fraction) -> Alpha:
        """α e^(−2κ) from below and α e^(2κ) from above, as floats exactly; never below 1.

        Parameters
        ----------
        slack
            κ.
        """
        if not slack:
            return self
        factor = 1 + 4 * slack  # ≥ e^(2κ), since κ is far below 1/2
        below = max(Fraction(1), Fraction(float_at_most(self.below / factor)))
        return replace(self, below=below, above=Fraction(float_at_least(self.above * factor)))


def read_alpha(alpha: Number | None, epsilon: Number | None) -> Alpha:
    """α by itself, or by ε = ln α: one of them has to be given."""
    if (alpha is None) == (epsilon is None):
        raise ParameterError(
            "alpha", expected="either alpha or epsilon", found="both" if alpha is not None else "neither"
        )
    if alpha is not None:
        expected = "a number, 1 or more, such as 1.2 or 6/5"
        value = exact(alpha, name="alpha", expected=expected)
        if value < 1:
            raise ParameterError("alpha", expected=expected, found=alpha)
        _require_moderate(value, "alpha", alpha)
        return Alpha(below=value, above=value)
    assert epsilon is not None  # noqa: S101 - just checked
    read = read_epsilon(epsilon)
    if read > 28:
        raise ParameterError("epsilon", expected="at most 27.6, where e^epsilon is 10^12", found=epsilon)
    below, above = exp_enclosure(read)
    _require_moderate(above, "epsilon", epsilon)
    return Alpha(below=below, above=above, epsilon=read)


def _require_moderate(alpha: Fraction, name: str, found: Number) -> None:
    if alpha > LARGEST_ALPHA:
        limit = "10^12" if name == "alpha" else "27.6, where e^epsilon is 10^12"
        raise ParameterError(name, expected=f"at most {limit}", found=found)


def read_share(value: Number, *, name: str) -> Fraction:
    """A δ or a width: between 0 and 1."""
    expected = "a number from 0 to 1 such as 0.01 or 1/100"
    share = exact(value, name=name, expected=expected)
    if not 0 <= share <= 1:
        raise ParameterError(name, expected=expected, found=value)
    return share


def require_count(value: object, *, name: str, at_least: int = 1) -> None:
    """Refuse what is no whole number, or a smaller one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise ParameterError(name, expected=f"a whole number, {at_least} or more", found=value)


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
