"""What is verified: a channel, or pairs of states of a chain, prepared once for all questions about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from symveil.errors import ModelError, ParameterError
from symveil.laws.law import ReleaseChain
from symveil.laws.parameters import read_epsilon
from symveil.models.channel import Channel, Related, related_pairs
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.models.silent import SeenChain, without_silent
from symveil.numbers.conversions import exp_enclosure, float_at_least, float_at_most
from symveil.numbers.once import LastFew
from symveil.numbers.rationals import Number, exact
from symveil.verification.distances.bisimulation import Lumping, lumped
from symveil.verification.distances.finite_words import FiniteWords, finite_words
from symveil.verification.distances.tables import ChainTable

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
