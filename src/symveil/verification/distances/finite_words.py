"""Chains that end: what their label words tell about two states, exactly and for every α at once.

All label words are read side by side, one label at a time, with the forward sub-distributions (p; r) from the two
states. Words with proportional (p; r) have the same future and are one node, whose weights add up. A node is finished
when p or r is 0, or when they are proportional: then the odds |p| : |r| do not change any more. In a chain without
cycles, but for states that are never left, every node is finished after as many labels as the longest path has; and
what is left is a list of odds, which gives δ for every α.

Where finitely many things can be seen, with probability p_y from one start and r_y from the other, δ at α = e^ε is
Σ (p_y − αr_y)⁺: a polygon in α that falls, with a corner at every ratio p_y/r_y. So the smallest α at which it is at
most a given δ is a rational, and the α without any δ is the largest ratio, or infinite where some r_y is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq

from symveil.graphs.walk import Walk, strong_components
from symveil.verification.distances.tables import ChainTable, Sparse

_ZERO = fmpq(0)


@dataclass(frozen=True, slots=True)
class Odds:
    """(p_y, r_y) for everything y that can be seen, each a probability from one start; equal ratios may be added up.

    >>> coin = Odds(((fmpq(2, 3), fmpq(1, 3)), (fmpq(1, 3), fmpq(2, 3))))
    >>> coin.delta(fmpq(6, 5)), coin.largest_ratio()
    (4/15, 2)
    >>> coin.smallest_alpha(fmpq(0)), coin.smallest_alpha(fmpq(4, 15))
    (2, 6/5)
    """

    chances: tuple[tuple[fmpq, fmpq], ...]

    def delta(self, alpha: fmpq) -> fmpq:
        """Σ (p − αr)⁺."""
        return sum((gain for p, r in self.chances if (gain := p - alpha * r) > 0), start=_ZERO)

    def largest_ratio(self) -> fmpq | None:
        """The largest p/r, None where it is infinite."""
        if any(r == 0 and p != 0 for p, r in self.chances):
            return None
        return max((p / r for p, r in self.chances if r != 0), default=fmpq(1))

    def where_largest(self) -> int:
        """The index of the largest p/r; of several infinite ones, of the likeliest."""
        return max(range(len(self.chances)), key=lambda index: _rank(*self.chances[index]))

    def smallest_alpha(self, delta: fmpq) -> fmpq | None:
        """The smallest α ≥ 1 with δ(α) ≤ delta; None where no α is large enough."""
        corners = sorted(((p / r, p, r) for p, r in self.chances if r != 0 and p != 0), reverse=True)
        mine, theirs = sum((p for p, r in self.chances if r == 0), start=_ZERO), _ZERO
        if mine > delta:
            return None
        # from the right: right of the first k corners, δ(α) = mine − α·theirs over those that were passed
        for ratio, p, r in corners:
            if mine - ratio * theirs > delta:
                break
            mine, theirs = mine + p, theirs + r
        if theirs == 0:
            return fmpq(1)
        return max((mine - delta) / theirs, fmpq(1))


def _rank(p: fmpq, r: fmpq) -> tuple[int, fmpq]:
    if p == 0:
        return 0, _ZERO
    return (2, p) if r == 0 else (1, p / r)


def smallest_alpha(every: Sequence[Odds], delta: fmpq) -> fmpq | None:
    """The smallest α ≥ 1 at which none of these has a larger δ; None where there is none."""
    largest = fmpq(1)
    for odds in every:
        alpha = odds.smallest_alpha(delta)
        if alpha is None:
            return None
        largest = max(largest, alpha)
    return largest


_WIDE = 12  # states: a node with k times as many counts k times
_LONGEST = 20_000  # bits of a denominator: beyond, brackets that round are quicker than fractions nobody can read


_Spelled = tuple[int, "_Spelled | None"]  # the last label, and those before it


@dataclass(slots=True, eq=False)
class _Node:
    """All label words with this (p; r), scaled to |p| + |r| = 1; `labels` spells the first of them backwards."""

    mass: Sparse
    other: Sparse
    weight: fmpq
    labels: _Spelled


@dataclass(frozen=True, slots=True)
class FiniteWords:
    """The odds of all words of two states, a word for each of them (as codes of labels), and how many nodes it took."""

    odds: Odds
    words: tuple[tuple[int, ...], ...]
    nodes: int


def finite_words(table: ChainTable, source: int, target: int, *, nodes: int) -> FiniteWords | None:
    """What words tell about two states; None where the chain goes round, or where that takes more than `nodes`.

    In `table` every transition leads to one state of each class of bisimilar ones (`ChainTable.merged`): then what
    no observer can distinguish is one state, and (p; r) are proportional as soon as they can be.
    """
    if not _ends(table, source, target):
        return None
    rows: dict[int, list[tuple[int, fmpq]]] = {}
    label = table.label.tolist()
    finished: dict[tuple[int, int], tuple[_Node, fmpq, fmpq]] = {}
    layer: dict[object, _Node] = {}
    work = 0

    def step(measure: Sparse) -> dict[int, Sparse]:
        after: dict[int, Sparse] = {}
        for state, amount in measure.items():
            if state not in rows:
                rows[state] = table.row(state)
            for following, chance in rows[state]:
                part = after.setdefault(label[following], {})
                part[following] = part[following] + amount * chance if following in part else amount * chance
        return after

    def put(into: dict[object, _Node], mass: Sparse, other: Sparse, weight: fmpq, labels: _Spelled) -> None:
        """Count a node as finished, or put it into the next layer."""
        mine, theirs = (sum(measure.values(), start=fmpq(0)) for measure in (mass, other))
        size = mine + theirs
        if not mass or not other or is_proportional(mass, other, mine, theirs):
            share = mine / size
            key = (int(share.p), int(share.q))
            node, p, r = finished.get(key) or (_Node(mass, other, weight, labels), fmpq(0), fmpq(0))
            finished[key] = (node, p + weight * mine, r + weight * theirs)
            return
        mass, other = _scaled(mass, size), _scaled(other, size)
        key_of_node = (spelled(mass), spelled(other))
        if key_of_node in into:
            into[key_of_node].weight += weight * size
        else:
            into[key_of_node] = _Node(mass, other, weight * size, labels)

    if label[source] != label[target]:
        put(layer, {source: fmpq(1)}, {}, fmpq(1), (label[source], None))
        put(layer, {}, {target: fmpq(1)}, fmpq(1), (label[target], None))
    else:
        put(layer, {source: fmpq(1)}, {target: fmpq(1)}, fmpq(1), (label[source], None))
    while layer:
        following: dict[object, _Node] = {}
        for node in layer.values():
            work += 1 + (len(node.mass) + len(node.other)) // _WIDE
            if work > nodes:
                return None
            if int(node.weight.q).bit_length() > _LONGEST:
                return None
            mine, theirs = step(node.mass), step(node.other)
            for code in dict.fromkeys((*mine, *theirs)):
                put(following, mine.get(code, {}), theirs.get(code, {}), node.weight, (code, node.labels))
        layer = following
    return FiniteWords(
        odds=Odds(tuple((p, r) for _, p, r in finished.values())),
        words=tuple(_word(node.labels) for node, _, _ in finished.values()),
        nodes=work + len(finished),
    )


def word_chance(table: ChainTable, source: int, word: tuple[int, ...]) -> fmpq:
    """The probability of showing these labels first, from a state."""
    measure: Sparse = {source: fmpq(1)} if table.label[source] == word[0] else {}
    for code in word[1:]:
        after: Sparse = {}
        for state, amount in measure.items():
            for target, chance in table.row(state):
                if table.label[target] == code:
                    after[target] = after[target] + amount * chance if target in after else amount * chance
        measure = after
    return sum(measure.values(), start=fmpq(0))


def _ends(table: ChainTable, source: int, target: int) -> bool:
    """Whether every cycle that can be reached is a state that is never left."""
    walk: Walk[int, None] = Walk([source, target])
    arcs: list[list[int]] = []
    for number, state in walk:
        following = table.successor[table.first[state] : table.first[state + 1]].tolist()
        if following == [state]:
            following = []
        elif state in following:
            return False
        arcs.append([walk.meet(each, number, None) for each in following])
    return all(len(group) == 1 for group in strong_components(arcs))


def is_proportional(mass: Sparse, other: Sparse, mine: fmpq, theirs: fmpq) -> bool:
    """Whether two measures are multiples of each other, given their masses."""
    return mass.keys() == other.keys() and all(mass[state] * theirs == other[state] * mine for state in mass)


def _scaled(measure: Sparse, size: fmpq) -> Sparse:
    return {state: measure[state] / size for state in sorted(measure)}


def spelled(measure: Sparse) -> tuple[int, ...]:
    """The measure as integers: a rational takes a modular inverse to hash."""
    return tuple(number for state, amount in measure.items() for number in (state, int(amount.p), int(amount.q)))


def _word(spelled_out: _Spelled) -> tuple[int, ...]:
    word = []
    labels: _Spelled | None = spelled_out
    while labels is not None:
        word.append(labels[0])
        labels = labels[1]
    return tuple(reversed(word))
