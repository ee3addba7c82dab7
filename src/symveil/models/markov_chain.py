"""A Markov chain whose states are the symbols: a word is a trajectory (B26 §II-B)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from symveil.errors import ModelError
from symveil.models.model_diagrams import model_diagram
from symveil.models.names import counted, require_known, require_names, require_rows, shown
from symveil.models.probabilities import read_transitions, require_probability, require_sums
from symveil.numbers.rationals import Number
from symveil.pictures.diagram import Diagram, Edge
from symveil.pictures.svg import Drawable
from symveil.pictures.text import probability_label

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
