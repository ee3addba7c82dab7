"""The coarsest stable partition of a graph with weights: states that go alike into classes of such states.

Classes are split by the weight of going into each class until none splits. What a state goes with is summed up as one
number, Σ_c W_c·weight(s → c) modulo two primes, with a fixed multiplier W_c for each class c. Equal rows give equal
numbers, so nothing is ever split that belongs together; different rows nearly always give different ones. When a class
splits, one part keeps its multiplier, and only the numbers of states that lead into the other parts change. The result
is then checked in exact integers: if it is stable it is the coarsest stable partition, and if two different rows ever
had equal numbers, rows of integers are compared instead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from symveil.graphs.csr import Csr, Indices, spread
from symveil.graphs.limits import LIMITS

_PRIMES = (2**31 - 1, 2**31 - 19)
_MOST_BITS = 62


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighted(Csr):
    """Edges with weights above 0, `distinct[code[e]]` for edge e: most graphs have few different ones.

    The weights of the edges of one state add up to 1 at most.
    """

    code: Indices = field(repr=False)
    distinct: tuple[fmpq, ...] = field(repr=False)


def coarsest_stable(graph: Weighted, start: NDArray[Any], *, at_most: int | None = None) -> Indices | None:
    """The class of each state in the coarsest stable partition that separates what `start` does.

    Classes are numbered by their first states.

    Parameters
    ----------
    graph
        The edges: at least one from each state.
    start
        A class of each state.
    at_most
        Where there are more classes, the answer is None, as soon as that is known.

    >>> half, one = fmpq(1, 2), fmpq(1)
    >>> graph = Weighted(first=np.array([0, 2, 3, 4, 5]), target=np.array([2, 3, 2, 2, 3]),
    ...                  code=np.array([0, 0, 1, 1, 1]), distinct=(half, one))
    >>> coarsest_stable(graph, np.array([0, 0, 1, 1])).tolist(), coarsest_stable(graph, np.array([0, 0, 1, 2])).tolist()
    ([0, 0, 1, 1], [0, 1, 2, 3])
    >>> coarsest_stable(graph, np.array([0, 0, 1, 2]), at_most=3)
    """
    most = graph.state_count if at_most is None else at_most
    if graph.edge_count > LIMITS.now.few_edges and all(
        int(weight.q) % prime for prime in _PRIMES for weight in graph.distinct
    ):
        split = _split(graph, start, most)
        if split is None:  # it is nowhere finer than the partition that is looked for
            return None
        classes = _by_order(split)
        if _is_stable(graph, classes):
            return classes
    by_rows = _split_by_rows(graph, start, most)
    return None if by_rows is None else _by_order(by_rows)


def _split(graph: Weighted, own: NDArray[Any], most: int) -> Indices | None:
    """A partition that is nowhere finer than the coarsest stable one, and equal to it unless numbers collide.

    None where it has more than `most` classes.
    """
    size, into_states = graph.state_count, graph.reversed()
    by_target, first_in, arcs_in = into_states.number, into_states.first, into_states.target
    classes = _by_order(own)
    count = int(classes.max()) + 1
    members = np.bincount(classes, minlength=size)
    weights, amounts, sums = [], [], []
    for salt, prime in enumerate(_PRIMES):
        residues = [int(weight.p) * pow(int(weight.q), -1, prime) % prime for weight in graph.distinct]
        amount = np.array(residues, dtype=np.int64)[graph.code]
        weight = _multipliers(size, salt) % prime
        amounts.append(amount[by_target])
        weights.append(weight)
        sums.append(np.add.reduceat(weight[classes[graph.target]] * amount % prime, graph.first[:-1]) % prime)
    signature = sums[0] << 31 | sums[1]
    usual = np.full(size, -1, dtype=np.int64)  # what the states of a class have that were not looked at again
    touched = np.arange(size)
    while len(touched) and count <= most:
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
    return classes if count <= most else None


def _parts(
    touched: Indices, classes: Indices, signature: Indices, members: Indices, usual: Indices
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
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


def _multipliers(size: int, salt: int) -> Indices:
    """Fixed numbers below 2^62 that look like random ones (the mixing of splitmix64)."""
    mixed = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt << 32)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)


def _by_order(classes: Indices) -> Indices:
    """The same partition, numbered by the first state of each class."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _is_stable(graph: Weighted, classes: Indices) -> bool:
    """Whether all states of a class move into each class with exactly the same weight."""
    size, count = graph.state_count, int(classes.max()) + 1
    source = np.repeat(np.arange(size), np.diff(graph.first))
    key = source * count + classes[graph.target]
    order = np.argsort(key, kind="stable")
    key = key[order]
    start = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    total = np.add.reduceat(_integers(graph)[graph.code][order], start)
    source, into = key[start] // count, key[start] % count
    many = np.bincount(source, minlength=size)
    first = np.cumsum(many) - many
    _, like = np.unique(classes, return_index=True)
    like = like[classes]  # the first state of each state's class
    if (many != many[like]).any():
        return False
    other = first[like][source] + np.arange(len(source)) - first[source]
    return bool((into == into[other]).all() and (total == total[other]).all())


def _integers(graph: Weighted) -> NDArray[np.int64] | NDArray[np.object_]:
    """The different weights times a common denominator: exact sums of a row stay below it."""
    common = math.lcm(*(int(weight.q) for weight in graph.distinct))
    scaled = [int(weight.p) * (common // int(weight.q)) for weight in graph.distinct]
    return np.array(scaled, dtype=np.int64 if common.bit_length() <= _MOST_BITS else object)


def _split_by_rows(graph: Weighted, own: NDArray[Any], most: int) -> Indices | None:
    """The coarsest stable partition by comparing rows, all of them in every round.

    None where it has more than `most` classes.
    """
    first, targets = graph.first.tolist(), graph.target.tolist()
    weights: list[int] = _integers(graph)[graph.code].tolist()
    classes: list[int] = own.tolist()
    count = len(set(classes))
    while count <= most:
        signatures: dict[object, int] = {}
        finer = []
        for state, code in enumerate(classes):
            into: dict[int, int] = {}
            for edge in range(first[state], first[state + 1]):
                target = classes[targets[edge]]
                into[target] = into.get(target, 0) + weights[edge]
            finer.append(signatures.setdefault((code, frozenset(into.items())), len(signatures)))
        if len(signatures) == count:
            return np.array(classes, dtype=np.int64)
        classes, count = finer, len(signatures)
    return None
