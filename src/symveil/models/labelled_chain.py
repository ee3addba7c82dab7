"""Labelled Markov chains: states are hidden, their labels are seen (C19 Definition 1).

States that are named by their variables, as the tools for probabilistic programs name them: `pay=1&coin=0`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self, cast

from symveil.errors import ModelError
from symveil.models.automaton import model_diagram
from symveil.models.markov_chain import MarkovChain
from symveil.models.names import (
    counted,
    mentioned_names,
    ordered_names,
    require_known,
    require_name,
    require_rows,
    shown,
    unlike,
)
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import Number, spelled
from symveil.pictures.diagram import Diagram, Edge
from symveil.pictures.svg import Drawable

AND = "&"
_PART = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*([^\s&=]+)\s*")


def spelled_valuation(variables: Sequence[str], values: Sequence[str]) -> str:
    """The name of a state, from its variables and their values.

    >>> spelled_valuation(("pay", "coin"), ("1", "0"))
    'pay=1&coin=0'
    """
    return AND.join(f"{variable}={value}" for variable, value in zip(variables, values, strict=True))


def read_valuation(text: str) -> dict[str, str] | None:
    """The variables and values that a text spells; None: it is no valuation.

    >>> read_valuation("pay=1 & coin=0"), read_valuation("idle")
    ({'pay': '1', 'coin': '0'}, None)
    """
    values: dict[str, str] = {}
    for part in text.split(AND):
        match = _PART.fullmatch(part)
        if match is None or match[1] in values:
            return None
        values[match[1]] = match[2]
    return values


def state_of(
    text: str, states: Iterable[str], moves: Iterable[tuple[str, str]], *, notes: list[str] | None = None
) -> str:
    """The one state that a text means: its name, or some of its variables where the states are named by those.

    Where several states have these values it is the only one of them in which runs come to have them: nothing leads
    to it, or something from outside of them does, while into the others only they themselves lead. If that is not one
    state either, the text means none.

    Parameters
    ----------
    text
        The name of a state, or some of its values: `pay=1`, `pay=1&coin=0`.
    states
        All states.
    moves
        (state, state) for each transition.
    notes
        Gets a sentence where a choice had to be made.

    >>> state_of("pay=1", ["pay=1&s=0", "pay=2&s=0", "pay=1&s=1"], [("pay=1&s=0", "pay=1&s=1")])
    'pay=1&s=0'
    """
    known = list(states)
    if text in known:
        return text
    wanted = read_valuation(text)
    valued = {state: read_valuation(state) for state in known} if wanted else {}
    having = [state for state, values in valued.items() if values is not None and _agrees(values, wanted or {})]
    if len(having) > 1:
        inside = set(having)
        entered: set[str] = set()
        outside: set[str] = set()
        for source, target in moves:
            if target in inside and source != target:
                (entered if source in inside else outside).add(target)
        first = [state for state in having if state in outside or state not in entered]
        if len(first) == 1:
            if notes is not None:
                notes.append(f"{text} holds in {len(having)} states; taken is {first[0]}, in which runs come to it")
            return first[0]
        raise ModelError(
            "state", expected=f"a state, or values that one state has, or that runs come to in one ({shown(text)})",
            found=f"{len(having)} states with them; name more variables, such as {shown((first or having)[0])}",
        )  # fmt: skip
    if not having:
        or_values = ", or values of their variables" if wanted and any(valued.values()) else ""
        raise ModelError("state", expected=f"states of the chain{or_values}", found=shown(text))
    return having[0]


def _agrees(values: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(values.get(variable) == value for variable, value in wanted.items())


END_LABEL = "$"
START_LABEL = "⊢"

_MOST_SHOWN = 40  # states in a notebook; a larger picture says nothing

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class LabelledChain(Drawable):
    """States, transitions (state, state, probability), a label for each state, and which states are related.

    Anyone who watches a run sees the labels of its states, for ever, and asks where it started.
    `related` lists the pairs of states that are to be hard to tell apart; each counts in both
    directions. A state in which runs end has a transition to itself, and a label of its own.

    Parameters
    ----------
    states
        The names of the states.
    transitions
        (state, state, probability) each; the probabilities of a state add up to 1.
    labels
        What is seen of each state.
    related
        Pairs of states that are to be hard to tell apart.

    >>> coin = LabelledChain.from_transitions(
    ...     [("fair", "heads", "1/2"), ("fair", "tails", "1/2"), ("bent", "heads", "2/3"), ("bent", "tails", "1/3"),
    ...      ("heads", "heads", 1), ("tails", "tails", 1)],
    ...     labels={"fair": "?", "bent": "?", "heads": "H", "tails": "T"}, related=[("fair", "bent")])
    >>> coin
    LabelledChain(4 states, 6 transitions, 3 labels, 1 related pair)
    """

    kind: ClassVar[str] = "labelled-chain"

    states: tuple[str, ...]
    transitions: tuple[tuple[str, str, Fraction], ...]
    labels: tuple[str, ...]
    related: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        # rows, names and sums are those of a Markov chain: one piece checks both
        chain = MarkovChain(states=self.states, transitions=self.transitions)
        object.__setattr__(self, "states", chain.states)
        object.__setattr__(self, "transitions", chain.transitions)
        leaving = {source for source, _, _ in chain.transitions}
        for state in chain.states:
            if state not in leaving:
                raise ModelError(
                    "transitions",
                    expected=f"a transition from every state; where runs end, one from {shown(state)} to itself",
                    found=f"none from {shown(state)}",
                )
        labels: object = self.labels
        if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) != len(self.states):
            raise ModelError("labels", expected=f"{len(self.states)} labels, one for each state", found=shown(labels))
        for state, label in zip(self.states, labels, strict=True):
            require_name(label, where=f"labels[{shown(state)}]", kind="label")
        object.__setattr__(self, "labels", tuple(labels))
        object.__setattr__(self, "related", tuple(self._checked_pairs(self.related, where="related")))

    @classmethod
    def from_transitions(
        cls,
        transitions: Iterable[tuple[str, str, Number]],
        *,
        labels: Mapping[str, str],
        related: Iterable[Pair] = (),
        states: Sequence[str] | None = None,
        notes: list[str] | None = None,
    ) -> Self:
        """A chain from rows (state, state, probability) and the label of each state.

        Decimals that were rounded are normalised as in `MarkovChain.from_transitions`.
        """
        chain = MarkovChain.from_transitions(transitions, states=states, notes=notes)
        return cls(
            states=chain.states,
            transitions=chain.transitions,
            labels=_in_order(labels, chain.states),
            related=tuple(related),
        )

    @classmethod
    def from_labelled_transitions(
        cls, transitions: Iterable[tuple[str, str, str, Number]], *, states: Sequence[str] | None = None
    ) -> Self:
        """The state-labelled form of a chain with labelled transitions (C19 Example 5).

        Rows are (state, label, state, probability). State q becomes (q, a) for each label a on a
        transition into q; a run from q starts in `q`, whose label is the extra one ⊢.

        >>> chain = LabelledChain.from_labelled_transitions([("p", "a", "q", 1), ("q", "b", "p", 1)])
        >>> sorted(zip(chain.states, chain.labels))
        [('p', '⊢'), ('p after b', 'b'), ('q', '⊢'), ('q after a', 'a')]
        """
        rows = _labelled_rows(transitions)
        names = ordered_names(states, mentioned_names(rows, 0, 2), kind="state")
        leaving: dict[str, list[tuple[str, str, Number]]] = defaultdict(list)
        entered: dict[str, dict[str, None]] = defaultdict(dict)
        for source, label, target, chance in rows:
            leaving[source].append((label, target, chance))
            entered[target][label] = None
        labels = dict.fromkeys(names, START_LABEL)
        into = {(state, label): unlike(f"{state} after {label}", labels) for state in names for label in entered[state]}
        labels |= {name: label for (_, label), name in into.items()}
        copies = [(state, state) for state in names] + [(name, state) for (state, _), name in into.items()]
        return cls.from_transitions(
            [(name, into[target, label], chance) for name, state in copies for label, target, chance in leaving[state]],
            labels=labels,
            states=tuple(labels),
        )

    @classmethod
    def from_finite_words(
        cls,
        transitions: Iterable[tuple[str, str, Number]],
        *,
        labels: Mapping[str, str],
        related: Iterable[Pair] = (),
        end: str = END_LABEL,
    ) -> Self:
        """The infinite-word form of a chain whose runs end in states without transitions (C19 Example 6).

        A final state without a label keeps still for ever, under the extra label `end`. One that has a label of
        its own shows it first: it moves on to an extra state, which keeps still under `end`. From every state
        a final one must be reachable.

        >>> chain = LabelledChain.from_finite_words([("s", "s", "1/2"), ("s", "stop", "1/2")], labels={"s": "a"})
        >>> chain.labels
        ('a', '$')
        >>> rows, labels = [("s", "yes", "1/2"), ("s", "no", "1/2")], {"s": "?", "yes": "Y", "no": "N"}
        >>> chain = LabelledChain.from_finite_words(rows, labels=labels)
        >>> list(zip(chain.states, chain.labels))
        [('s', '?'), ('yes', 'Y'), ('no', 'N'), ('end', '$')]
        """
        rows = cast("list[tuple[str, str, Number]]", require_rows(transitions, columns="state, state, probability"))
        chain = MarkovChain.from_transitions(rows)
        final = set(chain.states) - {source for source, _, _ in chain.transitions}
        given = _by_state(labels)
        own = dict(zip(chain.states, _in_order({**dict.fromkeys(final, end), **given}, chain.states), strict=True))
        for state, label in own.items():
            if label == end and state not in final:
                raise ModelError(
                    f"labels[{shown(state)}]", expected=f"another label than the one for the end, {end!r}", found="it"
                )
        ending = set(final)
        while more := {source for source, target, _ in chain.transitions if target in ending} - ending:
            ending |= more
        for state in chain.states:
            if state not in ending:
                raise ModelError(
                    "transitions", expected="a final state that can be reached from every state", found=shown(state)
                )
        moves = {state: state for state in chain.states if state in final}
        if shown_last := [state for state in moves if own[state] != end]:
            # what a final state shows is part of the word: the end comes after it
            last = unlike("end", own)
            own[last] = end
            moves |= {**dict.fromkeys(shown_last, last), last: last}
        return cls(
            states=tuple(own),
            transitions=(*chain.transitions, *((source, target, Fraction(1)) for source, target in moves.items())),
            labels=tuple(own.values()),
            related=tuple(related),
        )

    # --- looking things up ---------------------------------------------------------------------

    @computed_once
    def number(self) -> dict[str, int]:
        """The index of each state."""
        return {state: index for index, state in enumerate(self.states)}

    def label(self, state: str) -> str:
        """The label of a state."""
        return self.labels[self.number[state]]

    def state(self, text: str, *, notes: list[str] | None = None) -> str:
        """The state that a text means: its name, or values of variables where states are named by those.

        Parameters
        ----------
        text
            A name, or some values: `pay=1`, `pay=1&coin=0`. Where several states have them, the only one in which
            runs come to have them; otherwise it is refused.
        notes
            Gets a sentence where a choice had to be made.

        >>> chain = LabelledChain.from_transitions(
        ...     [("pay=1&s=0", "pay=1&s=1", 1), ("pay=1&s=1", "pay=1&s=1", 1)],
        ...     labels={"pay=1&s=0": "", "pay=1&s=1": "done"})
        >>> chain.state("pay=1"), chain.state("s=1")
        ('pay=1&s=0', 'pay=1&s=1')
        """
        if text in self.number:
            return text
        return state_of(text, self.states, ((source, target) for source, target, _ in self.transitions), notes=notes)

    def pairs(self, asked: Iterable[Pair] | None = None) -> tuple[Pair, ...]:
        """The pairs that were asked for, or the related ones in both directions (C19: R is symmetric)."""
        if asked is not None:
            return tuple(dict.fromkeys(self._checked_pairs(asked, where="pairs")))
        both = ((pair, (pair[1], pair[0])) for pair in self.related)
        return tuple(dict.fromkeys(pair for directions in both for pair in directions))

    def _checked_pairs(self, pairs: object, *, where: str) -> list[Pair]:
        if isinstance(pairs, str) or not isinstance(pairs, Iterable):
            raise ModelError(where, expected="a list of pairs of states", found=shown(pairs))
        known = self.number
        checked = []
        for index, pair in enumerate(pairs):
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise ModelError(f"{where}[{index}]", expected="a pair of states", found=shown(pair))
            for side, state in enumerate(pair):
                require_known(state, known, where=f"{where}[{index}][{side}]", kind="state")
            checked.append((pair[0], pair[1]))
        return checked

    # --- showing -------------------------------------------------------------------------------

    def __repr__(self) -> str:
        related = f", {counted(len(self.related), 'related pair')}" if self.related else ""
        return (
            f"LabelledChain({len(self.states)} states, {len(self.transitions)} transitions, "
            f"{len(set(self.labels))} labels{related})"
        )

    def to_diagram(self) -> Diagram:
        """The chain: under each state the label that is seen, probabilities in red, related states marked.

        >>> chain = LabelledChain.from_transitions([("s", "t", 1), ("t", "t", 1)], labels={"s": "a", "t": "b"})
        >>> [(node.label, node.column) for node in chain.to_diagram().nodes]
        [(('s', 'a'), 0), (('t', 'b'), 1)]
        """
        return model_diagram(
            repr(self),
            self.states,
            [
                Edge(source=source, target=target, annotation=spelled(chance))
                for source, target, chance in self.transitions
            ],
            marked={state for pair in self.related for state in pair},
            labels=self.labels,
            label_meaning="state, and under it the label that is seen",
            annotation_meaning="probability",
        )

    def _repr_svg_(self) -> str | None:
        return self.to_svg() if len(self.states) <= _MOST_SHOWN else None


def _by_state(labels: Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(labels, Mapping):
        raise ModelError("labels", expected="a label for each state, by name", found=shown(labels))
    return labels


def _in_order(labels: Mapping[str, str], states: Sequence[str]) -> tuple[str, ...]:
    known = set(states)
    for state in _by_state(labels):
        require_known(state, known, where=f"labels[{shown(state)}]", kind="state")
    for state in states:
        if state not in labels:
            raise ModelError("labels", expected=f"a label for state {shown(state)}", found="none")
    return tuple(labels[state] for state in states)


def _labelled_rows(rows: Iterable[tuple[str, str, str, Number]]) -> list[tuple[str, str, str, Number]]:
    checked = require_rows(rows, columns="four values: state, label, state, probability", width=4)
    for index, row in enumerate(checked):
        for column, kind in enumerate(("state", "label", "state")):
            require_name(row[column], where=f"transitions[{index}][{column}]", kind=kind)
    return cast("list[tuple[str, str, str, Number]]", checked)
