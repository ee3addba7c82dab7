"""A Markov chain whose states are the symbols: a word is a trajectory (B26 §II-B).

The probabilities of every model are read and checked here: exact, positive, and summing to 1 for each state.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, cast

from symveil.errors import ModelError, ParameterError
from symveil.models.automaton import model_diagram
from symveil.models.names import (
    counted,
    mentioned_names,
    ordered_names,
    require_known,
    require_names,
    require_rows,
    shown,
)
from symveil.numbers.rationals import Number, exact
from symveil.pictures.diagram import Diagram, Edge
from symveil.pictures.svg import Drawable
from symveil.pictures.text import probability_label

# Decimals that were rounded in a file add up to 1 within this; then they are normalised.
ROUNDED_SUM = Fraction(1, 10**9)

# The probabilities of one state share a denominator below this: sums stay cheap whatever a file says,
# and every chain can be written down and read again.
LONGEST_DENOMINATOR = 4000  # digits
_LARGEST_DENOMINATOR = 10**LONGEST_DENOMINATOR

_FRACTION = re.compile(r"(-?[0-9]{1,4000})/([0-9]{1,4000})")
_DECIMAL = re.compile(r"-?[0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?")


def read_probability(spelled: object, *, where: str) -> tuple[Fraction, bool]:
    """The probability that `spelled` spells, and whether as a decimal, which may have been rounded.

    >>> read_probability("1/3", where="row 1"), read_probability(0.5, where="row 2")
    ((Fraction(1, 3), False), (Fraction(1, 2), True))
    """
    expected = 'a probability such as 0.5 or "1/2"'
    if isinstance(spelled, str):
        fraction = _FRACTION.fullmatch(spelled)
        if fraction and int(fraction[2]):
            return Fraction(int(fraction[1]), int(fraction[2])), False
        if fraction or not _DECIMAL.fullmatch(spelled):
            raise ModelError(where, expected=expected, found=shown(spelled))
    try:
        value = exact(cast("Number", spelled))
    except ParameterError:
        raise ModelError(where, expected=expected, found=shown(spelled)) from None
    return value, not isinstance(spelled, Fraction | int)


def read_transitions(
    transitions: object, *, columns: str, ends: tuple[int, int], states: Sequence[str] | None, notes: list[str] | None
) -> tuple[tuple[str, ...], list[Any]]:
    """The states and the rows of a table (state, …, probability), whose states stand in the columns `ends`.

    Where a state's probabilities were spelled as decimals and sum to 1 within 1e-9, they are divided by their sum, and
    `notes` gets a line that says so.
    """
    rows: list[tuple[Any, ...]] = []
    rounded: set[str] = set()
    last = ends[1] + 1
    for index, row in enumerate(require_rows(transitions, columns=columns, width=last + 1)):
        probability, is_decimal = read_probability(row[last], where=f"transitions[{index}][{last}]")
        rows.append((*row[:last], probability))
        if is_decimal and isinstance(row[0], str):
            rounded.add(row[0])
    names = ordered_names(states, mentioned_names(rows, *ends), kind="state")
    near = rounded_sums(((row[0], row[last]) for row in rows), rounded, notes=notes)
    return names, [(*row[:last], row[last] / near[row[0]]) if row[0] in near else row for row in rows]


def require_probability(probability: object, *, where: str) -> None:
    """Refuse what is not an exact probability above 0."""
    if not isinstance(probability, Fraction):
        raise ModelError(where, expected="a Fraction", found=shown(probability))
    if not 0 < probability <= 1:
        raise ModelError(where, expected="a probability above 0 and at most 1", found=_described(probability))


def require_sums(rows: Iterable[tuple[str, Fraction]]) -> None:
    """Refuse (state, probability) rows in which a state's probabilities do not sum to 1."""
    for source, total in _totals(rows).items():
        if total != 1:
            raise ModelError(
                "transitions",
                expected=f"the probabilities of state {shown(source)} to sum to 1",
                found=_described(total),
            )


def rounded_sums(
    rows: Iterable[tuple[str, Fraction]], rounded: set[str], *, notes: list[str] | None
) -> dict[str, Fraction]:
    """What to divide by, for the states whose decimals sum to 1 within 1e-9; `notes` gets a line that says so.

    >>> notes = []
    >>> rounded_sums([("a", Fraction("0.9999999999"))], {"a"}, notes=notes), notes
    ({'a': Fraction(9999999999, 10000000000)}, ['the probabilities of 1 state were normalised to sum to exactly 1'])
    """
    near = {
        source: total
        for source, total in _totals(rows).items()
        if source in rounded and 0 < abs(total - 1) <= ROUNDED_SUM
    }
    if near and notes is not None:
        many = "1 state" if len(near) == 1 else f"{len(near)} states"
        notes.append(f"the probabilities of {many} were normalised to sum to exactly 1")
    return near


def _totals(rows: Iterable[tuple[str, Fraction]]) -> dict[str, Fraction]:
    """The sum of each state's probabilities; refused where it would not fit on a page."""
    totals: dict[str, Fraction] = defaultdict(Fraction)
    for source, probability in rows:
        total = totals[source] + probability
        if max(total.denominator, probability.denominator) >= _LARGEST_DENOMINATOR:
            raise ModelError(
                "transitions",
                expected=f"the probabilities of state {shown(source)} to have a common denominator of at most "
                f"{LONGEST_DENOMINATOR} digits",
                found="a longer one",
            )
        totals[source] = total
    return totals


def _described(value: Fraction) -> str:
    """`value`, so that it does not look like 1 when it is not."""
    if value > 10**9 or (value and abs(value) < Fraction(1, 10**300)):
        return "a number far outside"
    text = f"{float(value):.12g}"
    return text if text != "1" else f"1 {'+' if value > 1 else '-'} {float(abs(value - 1)):.3g}"


_COLUMNS = "three values: state, state, probability"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkovChain(Drawable):
    """States, transitions (state, state, probability) and, where it has one, the initial state.

    A trajectory starts after `initial`; without one it may start in any state. A state without
    transitions ends a trajectory.

    Parameters
    ----------
    states
        The names of the states, which are the symbols.
    transitions
        (state, state, probability) each; the probabilities of a state add up to 1.
    initial
        The public state before the first symbol, if there is one.

    >>> chain = MarkovChain.from_transitions([("a", "a", "1/3"), ("a", "b", "2/3"), ("b", "a", 1)])
    >>> chain
    MarkovChain(2 states, 3 transitions)
    """

    kind: ClassVar[str] = "markov-chain"

    states: tuple[str, ...]
    transitions: tuple[tuple[str, str, Fraction], ...]
    initial: str | None = None

    def __post_init__(self) -> None:
        known = require_names(self.states, where="states", kind="state")
        if not known:
            raise ModelError("states", expected="at least one state", found="none")
        # Lists would make a frozen chain changeable and unequal to its copy.
        object.__setattr__(self, "states", tuple(known))
        object.__setattr__(self, "transitions", tuple(require_rows(self.transitions, columns=_COLUMNS)))
        seen: set[tuple[str, str]] = set()
        for index, (source, target, probability) in enumerate(self.transitions):
            where = f"transitions[{index}]"
            require_known(source, known, where=f"{where}[0]", kind="state")
            require_known(target, known, where=f"{where}[1]", kind="state")
            require_probability(probability, where=f"{where}[2]")
            if (source, target) in seen:
                raise ModelError(
                    where, expected=f"one transition from {shown(source)} to {shown(target)}", found="a second"
                )
            seen.add((source, target))
        require_sums((source, probability) for source, _, probability in self.transitions)
        if self.initial is not None:
            require_known(self.initial, known, where="initial", kind="state")

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[tuple[str, str, Number]],
        *,
        initial: str | None = None,
        states: Sequence[str] | None = None,
        notes: list[str] | None = None,
    ) -> Self:
        """A chain from rows (state, state, probability).

        Where a state's probabilities were spelled as decimals and sum to 1 within 1e-9, they are
        normalised, and `notes` gets a line that says so.

        >>> notes = []
        >>> chain = MarkovChain.from_transitions([("a", "a", 0.3333333333), ("a", "b", 0.6666666666)], notes=notes)
        >>> chain.transitions[0], notes
        (('a', 'a', Fraction(1, 3)), ['the probabilities of 1 state were normalised to sum to exactly 1'])
        """
        names, rows = read_transitions(transitions, columns=_COLUMNS, ends=(0, 1), states=states, notes=notes)
        return cls(states=names, transitions=tuple(rows), initial=initial)

    def to_diagram(self) -> Diagram:
        """The chain with its probabilities in red.

        >>> chain = MarkovChain.from_transitions([("a", "a", "1/3"), ("a", "b", "2/3"), ("b", "a", 1)])
        >>> [edge.annotation for edge in chain.to_diagram().edges]
        ['1/3', '2/3', '1']
        """
        return model_diagram(
            f"Markov chain of {counted(len(self.states), 'state')}",
            self.states,
            [
                Edge(source=source, target=target, annotation=probability_label(chance))
                for source, target, chance in self.transitions
            ],
            initial=() if self.initial is None else (self.initial,),
            annotation_meaning="probability of a step",
        )

    def __repr__(self) -> str:
        start = "" if self.initial is None else f", initial {self.initial!r}"
        return f"MarkovChain({len(self.states)} states, {len(self.transitions)} transitions{start})"
