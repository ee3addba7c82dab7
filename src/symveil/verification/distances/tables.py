"""A labelled chain as arrays, and policy iteration on it: what the two arithmetics here have in common.

One text for exact rationals (`exact`) and for floats (`flows`): from above, each policy at most the one before. Start
from "ship nothing"; give a pair another flow only where that is strictly cheaper; find the values of the policy; stop
when no flow gets cheaper (docs/theory/chains-and-opacity.md).

Exact lumping: states that no observer can tell apart, because they move alike between classes of such states. Classes
are split by the probability of moving into each class until none splits. What a state moves with is summed up as one
number, Σ_c W_c·P(s → c) modulo two primes, with a fixed multiplier W_c for each class c. Equal rows give equal numbers,
so nothing is ever split that belongs together; different rows nearly always give different ones. When a class splits,
one part keeps its multiplier, and only the numbers of states that lead into the other parts change. The result is then
checked in exact integers: if it is stable it is the coarsest stable partition, and if two different rows ever had equal
numbers, rows are compared in rationals instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import fmpq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from symveil.graphs.csr import spread
from symveil.models.labelled_chain import LabelledChain
from symveil.numbers.conversions import nearest_float
from symveil.numbers.once import computed_once

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
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

    def row(self, state: int) -> list[tuple[int, fmpq]]:
        """The successors of a state with their exact probabilities."""
        arcs = range(int(self.first[state]), int(self.first[state + 1]))
        return [(int(self.successor[arc]), self.distinct[self.code[arc]]) for arc in arcs]

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


_PRIMES = (2**31 - 1, 2**31 - 19)
_MOST_BITS = 62
_FEW_ARCS = 100  # their rows are compared at once


def bisimulation(table: ChainTable) -> Integers:
    """The class of each state in the coarsest partition that is stable, with labels kept apart.

    Classes are numbered by their first states.
    """
    if len(table.successor) > _FEW_ARCS and all(
        int(chance.q) % prime for prime in _PRIMES for chance in table.distinct
    ):
        classes = _by_order(_split(table))
        if _is_stable(table, classes):
            return classes
    return _by_order(_split_by_rows(table))


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


def _split(table: ChainTable) -> Integers:
    """A partition that is nowhere finer than the coarsest stable one, and equal to it unless numbers collide."""
    size = table.size
    # arcs by where they lead to: a transposed matrix, whose entries are the numbers of arcs
    arcs = csr_array((np.arange(len(table.successor)), table.successor, table.first), shape=(size, size)).tocsc()
    by_target, first_in, arcs_in = arcs.data, arcs.indptr.astype(np.int64), arcs.indices.astype(np.int64)
    classes = _by_order(table.label)
    count = int(classes.max()) + 1
    members = np.bincount(classes, minlength=size)
    weights, amounts, sums = [], [], []
    for salt, prime in enumerate(_PRIMES):
        residues = [int(chance.p) * pow(int(chance.q), -1, prime) % prime for chance in table.distinct]
        amount = np.array(residues, dtype=np.int64)[table.code]
        weight = _multipliers(size, salt) % prime
        amounts.append(amount[by_target])
        weights.append(weight)
        sums.append(np.add.reduceat(weight[classes[table.successor]] * amount % prime, table.first[:-1]) % prime)
    signature = sums[0] << 31 | sums[1]
    usual = np.full(size, -1, dtype=np.int64)  # what the states of a class have that were not looked at again
    touched = np.arange(size)
    while len(touched):
        order, start, stays = _parts(touched, classes, signature, members, usual)
        part_class, part_mark = classes[order[start]], signature[order[start]]
        part_size = np.diff(np.append(start, len(order)))
        usual[part_class[stays]] = part_mark[stays]
        goes = ~stays
        if not goes.any():
            break
        fresh = np.full(len(start), -1, dtype=np.int64)
        fresh[goes] = count + np.arange(int(goes.sum()))
        count += int(goes.sum())
        usual[fresh[goes]] = part_mark[goes]
        members[fresh[goes]] = part_size[goes]
        np.subtract.at(members, part_class[goes], part_size[goes])
        of_state = np.repeat(fresh, part_size)
        changed, new = order[of_state >= 0], of_state[of_state >= 0]
        old = classes[changed]
        classes[changed] = new
        length = first_in[changed + 1] - first_in[changed]
        _, into = spread(length, first_in[changed])
        sources = arcs_in[into]
        for prime, weight, amount, total in zip(_PRIMES, weights, amounts, sums, strict=True):
            step = np.repeat((weight[new] - weight[old]) % prime, length) * amount[into] % prime
            np.add.at(total, sources, step)
            total[sources] %= prime
        touched = np.unique(sources)
        signature[touched] = sums[0][touched] << 31 | sums[1][touched]
    return classes


def _parts(
    touched: Integers, classes: Integers, signature: Integers, members: Integers, usual: Integers
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """The touched states in an order in which those that stay together follow each other, where each part begins, and
    which parts keep the number of their class."""
    order = touched[np.lexsort((signature[touched], classes[touched]))]
    own, mark = classes[order], signature[order]
    start = np.flatnonzero(np.append(True, (own[1:] != own[:-1]) | (mark[1:] != mark[:-1])))
    part_class, part_mark = own[start], mark[start]
    part_size = np.diff(np.append(start, len(order)))
    # One part keeps the number of the class: the states that were not looked at again, and those that still have
    # the same signature as they; where all were looked at, the largest part.
    same = np.flatnonzero(np.append(True, part_class[1:] != part_class[:-1]))
    looked_at = np.repeat(np.add.reduceat(part_size, same), np.diff(np.append(same, len(start))))
    is_rest = members[part_class] > looked_at
    by_size = np.lexsort((-part_size, part_class))
    is_largest = np.zeros(len(start), dtype=np.bool_)
    is_largest[by_size[np.append(True, np.diff(part_class[by_size]) != 0)]] = True
    return order, start, np.where(is_rest, part_mark == usual[part_class], is_largest)


def _multipliers(size: int, salt: int) -> Integers:
    """Fixed numbers below 2^62 that look like random ones (the mixing of splitmix64)."""
    mixed = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt << 32)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)


def _by_order(classes: Integers) -> Integers:
    """The same partition, numbered by the first state of each class."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _is_stable(table: ChainTable, classes: Integers) -> bool:
    """Whether all states of a class move into each class with exactly the same probability."""
    size, count = table.size, int(classes.max()) + 1
    source = np.repeat(np.arange(size), np.diff(table.first))
    key = source * count + classes[table.successor]
    order = np.argsort(key, kind="stable")
    key = key[order]
    start = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    total = np.add.reduceat(_integers(table)[table.code][order], start)
    source, into = key[start] // count, key[start] % count
    many = np.bincount(source, minlength=size)
    first = np.cumsum(many) - many
    _, like = np.unique(classes, return_index=True)
    like = like[classes]  # the first state of each state's class
    if (many != many[like]).any():
        return False
    other = first[like][source] + np.arange(len(source)) - first[source]
    return bool((into == into[other]).all() and (total == total[other]).all())


def _integers(table: ChainTable) -> NDArray[np.int64] | NDArray[np.object_]:
    """The different probabilities times a common denominator: exact sums of a row stay below it."""
    common = math.lcm(*(int(chance.q) for chance in table.distinct))
    scaled = [int(chance.p) * (common // int(chance.q)) for chance in table.distinct]
    return np.array(scaled, dtype=np.int64 if common.bit_length() <= _MOST_BITS else object)


def _split_by_rows(table: ChainTable) -> Integers:
    """The coarsest stable partition by comparing rows of rationals, all of them in every round."""
    classes = table.label.copy()
    count = len(np.unique(classes))
    while True:
        signatures: dict[object, int] = {}
        finer = np.empty_like(classes)
        for state in range(table.size):
            into: dict[int, object] = {}
            for target, chance in table.row(state):
                code = int(classes[target])
                into[code] = into[code] + chance if code in into else chance  # type: ignore[operator]
            key = (int(classes[state]), frozenset((code, str(chance)) for code, chance in into.items()))
            finer[state] = signatures.setdefault(key, len(signatures))
        if len(signatures) == count:
            return classes
        classes, count = finer, len(signatures)


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
