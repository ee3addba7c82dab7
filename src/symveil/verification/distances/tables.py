"""A labelled chain as arrays, and policy iteration on it: what the two arithmetics here have in common.

One text for exact rationals (`exact`) and for floats (`flows`): from above, each policy at most the one before. Start
from "ship nothing"; give a pair another flow only where that is strictly cheaper; find the values of the policy; stop
when no flow gets cheaper (docs/theory/chains-and-opacity.md).

Exact lumping: states that no observer can tell apart, because they move alike between classes of such states
(`graphs/refinement.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.graphs.refinement import Weighted, coarsest_stable
from symveil.models.labelled_chain import LabelledChain
from symveil.numbers.conversions import nearest_float
from symveil.numbers.once import computed_once
from symveil.verification.linear_systems import Floats, Integers

Sparse = dict[int, fmpq]  # a measure on states

# Error bounds in units of the last place hold for floats that do not underflow. What is smaller than this is left
# to exact arithmetic; above it, products with prices and distances are far from the end of the floats.
TINY = 2.0**-500


@dataclass(frozen=True, kw_only=True, eq=False)
class ChainTable:
    """States 0 … n−1; the successors of s are `successor[first[s]:first[s+1]]`, in rising order.

    The probability of arc a is `distinct[code[a]]`: most chains have few different ones.
    """

    chain: LabelledChain
    first: Integers = field(repr=False)
    successor: Integers = field(repr=False)
    distinct: tuple[fmpq, ...] = field(repr=False)
    code: Integers = field(repr=False)
    label: Integers = field(repr=False)

    @classmethod
    def of(cls, chain: LabelledChain) -> ChainTable:
        """The table of a chain."""
        number = chain.number
        rows: list[list[tuple[int, Fraction]]] = [[] for _ in chain.states]
        for source, target, chance in chain.transitions:
            rows[number[source]].append((number[target], chance))
        codes = {label: code for code, label in enumerate(dict.fromkeys(chain.labels))}
        for row in rows:
            row.sort()
        # by numerator and denominator: to hash a Fraction takes a modular inverse
        seen: dict[tuple[int, int], int] = {}
        code = [seen.setdefault((p.numerator, p.denominator), len(seen)) for row in rows for _, p in row]
        return cls(
            chain=chain,
            first=np.cumsum([0, *map(len, rows)]).astype(np.int64),
            successor=np.array([target for row in rows for target, _ in row], dtype=np.int64),
            distinct=tuple(fmpq(*ratio) for ratio in seen),
            code=np.array(code, dtype=np.int64),
            label=np.array([codes[label] for label in chain.labels], dtype=np.int64),
        )

    def merged(self, home: Integers) -> ChainTable:
        """The same states, with every transition led to `home` of its target; transitions that meet are added up.

        Where each state's home is bisimilar to it, no observer sees a difference.
        """
        first, successor, code = [0], [], []
        distinct = list(self.distinct)
        number = {(int(chance.p), int(chance.q)): index for index, chance in enumerate(distinct)}
        homes = home[self.successor].tolist()
        codes, starts = self.code.tolist(), self.first.tolist()
        for state in range(self.size):
            into: dict[int, int] = {}
            for arc in range(starts[state], starts[state + 1]):
                target = homes[arc]
                if target in into:
                    total = distinct[into[target]] + distinct[codes[arc]]
                    key = (int(total.p), int(total.q))
                    if key not in number:
                        number[key] = len(distinct)
                        distinct.append(total)
                    into[target] = number[key]
                else:
                    into[target] = codes[arc]
            for target in sorted(into):
                successor.append(target)
                code.append(into[target])
            first.append(len(successor))
        return replace(
            self,
            first=np.array(first, dtype=np.int64),
            successor=np.array(successor, dtype=np.int64),
            distinct=tuple(distinct),
            code=np.array(code, dtype=np.int64),
        )

    @property
    def size(self) -> int:
        """n."""
        return len(self.label)

    @property
    def weighted(self) -> Weighted:
        """The arcs with their probabilities."""
        return Weighted(first=self.first, target=self.successor, code=self.code, distinct=self.distinct)

    @computed_once
    def chance(self) -> Floats:
        """Probabilities as the nearest floats."""
        return np.array([nearest_float(chance) for chance in self.distinct])[self.code]

    @computed_once
    def has_tiny_chances(self) -> NDArray[np.bool_]:
        """The states with a probability too small for floats to be trusted with."""
        tiny = np.zeros(self.size, dtype=np.bool_)
        tiny[np.repeat(np.arange(self.size), np.diff(self.first))[self.chance < TINY]] = True
        return tiny

    @computed_once
    def members(self) -> list[Integers]:
        """The states of each label."""
        return [np.flatnonzero(self.label == code) for code in range(int(self.label.max()) + 1)]

    @computed_once
    def same_label_pairs(self) -> Integers:
        """All ordered pairs of different states with one label, as rows (s, t)."""
        pairs = [np.stack(np.meshgrid(group, group, indexing="ij"), axis=-1).reshape(-1, 2) for group in self.members]
        every = np.concatenate(pairs)
        return np.ascontiguousarray(every[every[:, 0] != every[:, 1]])

    @computed_once
    def _rows(self) -> dict[int, list[tuple[int, fmpq]]]:
        return {}

    def row(self, state: int) -> list[tuple[int, fmpq]]:
        """The successors of a state with their exact probabilities."""
        row = self._rows.get(state)
        if row is None:
            arcs = range(int(self.first[state]), int(self.first[state + 1]))
            row = self._rows[state] = [(int(self.successor[arc]), self.distinct[self.code[arc]]) for arc in arcs]
        return row

    def at(self, state: int) -> dict[int, Sparse]:
        """The measure of a run that is in a state, by the label that is seen."""
        return {int(self.label[state]): {state: fmpq(1)}}

    def ahead(self, measure: Sparse) -> dict[int, Sparse]:
        """A measure after one transition, by the label that is seen then."""
        after: dict[int, Sparse] = {}
        labels = self._labels
        for state, amount in measure.items():
            for target, chance in self.row(state):
                part = after.setdefault(labels[target], {})
                part[target] = part[target] + amount * chance if target in part else amount * chance
        return after

    @computed_once
    def _labels(self) -> list[int]:
        labels: list[int] = self.label.tolist()
        return labels

    def exact_needs(self, alpha: fmpq, source: int, target: int) -> dict[int, dict[int, fmpq]]:
        """μ_i − αμ'_i at every state where it is not 0, by label."""
        return needs_by_label(self.label, alpha, self.row(source), self.row(target))


def needs_by_label(
    label: Integers, alpha: fmpq, mass: list[tuple[int, fmpq]], other: list[tuple[int, fmpq]]
) -> dict[int, dict[int, fmpq]]:
    """p_i − αr_i at every state where it is not 0, by label, for two measures p and r."""
    total: dict[int, fmpq] = dict(mass)
    for state, chance in other:
        total[state] = total.get(state, fmpq(0)) - alpha * chance
    needs: dict[int, dict[int, fmpq]] = {}
    for state, need in total.items():
        if need != 0:
            needs.setdefault(int(label[state]), {})[state] = need
    return needs


def total(measure: Sparse) -> fmpq:
    """The mass of a measure."""
    return sum(measure.values(), start=fmpq(0))


def side_by_side(mine: dict[int, Sparse], theirs: dict[int, Sparse]) -> list[tuple[int, Sparse, Sparse]]:
    """Two measures for each label that may be seen."""
    return [(code, mine.get(code, {}), theirs.get(code, {})) for code in dict.fromkeys((*mine, *theirs))]


def exact_matrix(size: int, value: fmpq) -> NDArray[Any]:
    """A square matrix of rationals."""
    matrix = np.empty((size, size), dtype=object)
    matrix[:] = value
    return matrix


class Policy(Protocol):
    """A flow for each of some pairs, and the distances under them, in one arithmetic."""

    @property
    def distance(self) -> NDArray[Any]:
        """The distances of all pairs: those without a flow are given."""

    @property
    def margin(self) -> Any:
        """By how much a cost exceeds a distance that is strictly larger."""

    def improve(self, *, detours: bool) -> bool:
        """Take cheaper flows for the pairs that have one, through states outside both supports only with `detours`.

        False where there are none, or where what they gained last was no more than rounding.
        """

    def settle(self) -> bool:
        """Find the distances under the flows; False where that is too much work."""

    def costs(self, pairs: Integers) -> NDArray[Any]:
        """What the cheapest flows of these ordered pairs cost under the distances."""


def iterate(policy: Policy, *, relays: bool) -> bool:
    """Improve a policy until none is better; False where that is too much work.

    Flows without relays are flows too, and in floats quicker to find: `relays` come in only when these are exhausted.
    """
    detours = False
    while True:
        if policy.improve(detours=detours):
            detours = False
            if not policy.settle():
                return False
        elif relays and not detours:
            detours = True
        else:
            return True


def write(distance: NDArray[Any], pairs: Integers, value: Any, *, mirrored: bool) -> None:
    """The distances of these pairs; with `mirrored`, d(t,s) is d(s,t)."""
    distance[pairs[:, 0], pairs[:, 1]] = value
    if mirrored:
        distance[pairs[:, 1], pairs[:, 0]] = value


def bisimulation(table: ChainTable) -> Integers:
    """The class of each state in the coarsest partition that is stable, with labels kept apart.

    Classes are numbered by their first states.
    """
    classes = coarsest_stable(table.weighted, table.label)
    assert classes is not None  # noqa: S101 - any number of classes is welcome
    return classes


@dataclass(frozen=True, eq=False)
class Lumping:
    """A chain in which every transition leads to the first of bisimilar states, and that state for each state.

    The states are those of the chain, and distances between them are the chain's.
    """

    table: ChainTable
    home: Integers

    @classmethod
    def of(cls, table: ChainTable) -> Lumping:
        """The lumping of a chain."""
        classes = bisimulation(table)
        _, first = np.unique(classes, return_index=True)
        home = first[classes]
        if len(first) == table.size:
            return cls(table, home)
        return cls(table.merged(home), home)


def lumped(chain: LabelledChain) -> tuple[LabelledChain, dict[str, str]]:
    """The quotient by bisimilarity, and where each state went. δ is the same in it; ld need not be (docs).

    A class is named after its first state.

    >>> chain = LabelledChain.from_transitions(
    ...     [("a", "c", "1/2"), ("a", "d", "1/2"), ("b", "c", 1), ("c", "c", 1), ("d", "d", 1)],
    ...     labels={"a": "x", "b": "x", "c": "y", "d": "y"})
    >>> lumped(chain)
    (LabelledChain(2 states, 2 transitions, 2 labels), {'a': 'a', 'c': 'c', 'd': 'c', 'b': 'a'})
    """
    table = ChainTable.of(chain)
    classes = bisimulation(table).tolist()
    name_of: dict[int, str] = {}
    for state, code in zip(chain.states, classes, strict=True):
        name_of.setdefault(code, state)
    home = {state: name_of[code] for state, code in zip(chain.states, classes, strict=True)}
    rows: dict[tuple[str, str], object] = {}
    for source, target, chance in chain.transitions:
        if home[source] == source:
            key = (source, home[target])
            rows[key] = rows[key] + chance if key in rows else chance  # type: ignore[operator]
    states = tuple(name_of.values())
    quotient = LabelledChain.from_transitions(
        [(source, target, chance) for (source, target), chance in rows.items()],  # type: ignore[misc]
        labels={state: chain.label(state) for state in states},
        related=tuple(dict.fromkeys((home[s], home[t]) for s, t in chain.related if home[s] != home[t])),
        states=states,
    )
    return quotient, home
