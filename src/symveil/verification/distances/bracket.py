"""Brackets on the true δ: lv_α(s,s') = sup_E ν_s(E) − αν_s'(E) between two proved bounds.

See docs/theory/chains-and-opacity.md.
For a label word u let p and r be the forward sub-distributions from s and s': the chance to have shown u
and to be in each state. Then for any horizon

    L = Σ_u (|p_u| − α|r_u|)⁺  ≤  lv  ≤  U = Σ_u K(d)(p_u, r_u)     for any d with Γ(d) ≤ d;

extending u by one more label never lowers L and never raises U. What is left of a word depends on (p; r)
only up to a factor, so words with proportional (p; r) are one *node* whose weights add up, and nodes are
extended where the gap is largest. A node is closed when nothing more can be learned: p or r is 0, or they
are proportional, or its two bounds agree.

Bisimilar states show the same words, so all mass is moved to the first of them: lv stays the same, d is still the
distance of the whole chain, and fewer nodes are different.

When no new nodes appear, the value is known exactly. The values of nodes are linear in each other; and
where the nodes go round for ever, the odds |p| : |r| are a martingale that visits finitely many values
for ever, hence stay the same, so that nothing more is learned there and the lower bound is the value.

All weights here are exact rationals (large chains, and long searches on small ones: `rounded_search.py`), and so are
(p; r) until they take up too much room: then they are rounded down, and the mass that this drops is counted against
both ends (p may have had that much more, and r too). α may be known between two rationals only: then the lower bounds
use the larger one and the upper bounds the smaller one, which is where their d belongs.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import fmpq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from symveil.numbers.conversions import fraction, nearest_float, rational
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress
from symveil.verification.distances.distances import CompiledBound, ExactBound
from symveil.verification.distances.finite_words import is_proportional, spelled
from symveil.verification.distances.rounded_search import FINEST, RoundedEnds, RoundedSearch
from symveil.verification.distances.tables import Lumping, Sparse
from symveil.verification.linear_systems import Entry, solved

DEFAULT_WIDTH = Fraction(1, 10**4)
DEFAULT_NODES = 20_000
_LARGEST_CLOSING = 400  # nodes in one linear system
_MOST_BITS = 100_000  # of all denominators together, before (p; r) is rounded to multiples of 2^−_ROUNDED
_ROUNDED = 128
_NARROW = 12  # states: a node with k times as many counts k² times, because its flow takes that much longer
_VISITS = 40  # extensions per allowed node
# A search in rationals that is still open after these goes on in floats: about as long as their loops take to load.
_PATIENCE = 500  # nodes, counted like those of the limit
_PATIENT_VISITS = 2000


class UpperBound(Protocol):
    """K(d)(p, r), or anything above it, for a d with Γ(d) ≤ d."""

    def __call__(self, mass: Sparse, other: Sparse) -> fmpq:
        """An upper bound for these two measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """lower ≤ lv ≤ upper, both proved; `nodes` is how many kinds of words it took."""

    lower: Fraction
    upper: Fraction
    nodes: int

    @property
    def exact(self) -> bool:
        """Whether both ends are one number."""
        return self.lower == self.upper

    def __str__(self) -> str:
        return f"{float(self.lower):.6g}" if self.exact else f"[{float(self.lower):.6g}, {float(self.upper):.6g}]"


@dataclass(slots=True, eq=False)
class _Node:
    """All label words with this (p; r), scaled to |p| + |r| = 1."""

    mass: Sparse
    other: Sparse
    lower: fmpq
    upper: fmpq
    closed: bool
    depth: int
    number: int
    weight: fmpq = field(default_factory=lambda: fmpq(0))
    children: list[_Share] | None = None


@dataclass(frozen=True, slots=True)
class _Share:
    """How much of a word's weight goes to a node, and how much mass of p and of r rounding dropped on the way."""

    node: _Node
    share: fmpq
    dropped: tuple[fmpq, fmpq]


class Bracketing:
    """Brackets for the pairs of one chain at one α."""

    def __init__(
        self, lumping: Lumping, upper_bound: UpperBound, *, alpha: Fraction, alpha_above: Fraction | None = None
    ) -> None:
        above = alpha if alpha_above is None else alpha_above
        table = lumping.table
        self._table, self._home = table, lumping.home
        self._rows = [table.row(state) for state in range(table.size)]
        self._bound = upper_bound
        self._alpha = rational(alpha)
        self._alpha_above = rational(above)
        self._fraction_above = above

    @computed_once
    def _rounded(self) -> RoundedSearch | None:
        """The search in floats; on small chains made when it is needed, because its loops take a while to load."""
        bound = self._bound.in_floats() if isinstance(self._bound, ExactBound) else self._bound
        if not isinstance(bound, CompiledBound):
            return None
        return RoundedSearch(self._table, self._home, bound, alpha_above=self._fraction_above)

    def bracket(
        self,
        source: int,
        target: int,
        *,
        width: Fraction = DEFAULT_WIDTH,
        nodes: int = DEFAULT_NODES,
        horizon: int | None = None,
        question: Fraction | None = None,
        progress: Progress | None = None,
    ) -> Bracket:
        """lv(source, target), until the bracket is `width` wide or one of the limits is reached.

        With a `question`, a narrow bracket that does not say on which side of it lv lies is not narrow enough. A search
        that goes on in floats takes up to a quarter more nodes than the limit, which are tens of times as cheap.
        """

        source, target = int(self._home[source]), int(self._home[target])

        def in_floats(width: Fraction, nodes: int) -> RoundedEnds | None:
            if width < FINEST or self._rounded is None:
                return None
            return self._rounded.ends(
                source, target, width=width, nodes=nodes, most_visits=_VISITS * nodes, horizon=horizon,
                question=question, progress=progress,
            )  # fmt: skip

        are_floats_used = isinstance(self._bound, CompiledBound)  # large chains: rationals are the second choice
        rounded = in_floats(width, nodes) if are_floats_used else None
        if rounded is not None:
            return Bracket(lower=rounded.lower, upper=rounded.upper, nodes=rounded.nodes)
        search = _Search(self, horizon)
        search.add({source: fmpq(1)}, {target: fmpq(1)})
        goal = rational(width)
        visits = 0
        requested = None if question is None else rational(question)
        values, is_tried = None, False
        while search.is_open(goal, requested) and search.work < nodes and visits < _VISITS * nodes:
            if search.unread == 0 and not is_tried and search.complete:
                # no node is left that was not read further: what is asked may be the value itself, which no number
                # of further rounds tells from the bounds
                is_tried, values = True, search.exact_values()
                if values is not None:
                    break
            if not are_floats_used and (search.work >= _PATIENCE or visits >= _PATIENT_VISITS):
                # gaps that are nearly alike come in another order in floats: they go somewhat further than
                # rationals would, so that nothing is lost by it
                are_floats_used, rounded = True, in_floats(width / 2, nodes + nodes // 4)
                if rounded is not None and question is not None and rounded.is_close_to(question):
                    rounded = None  # rationals may decide
            if rounded is not None and (search.unread == 0 or not rounded.all_read):
                break  # rationals would stop with a gap as well
            node = search.widest()
            if node is None:
                break
            search.extend(node)
            visits += 1
            if progress and visits % 64 == 0:
                progress(min(search.work, nodes), nodes)
        lower, upper = search.ends(self._alpha_above)
        if values is None and not is_tried and lower != upper and search.complete:
            values = search.exact_values()
        if values is not None:
            lower, upper = values
        bracket = Bracket(lower=fraction(lower), upper=fraction(min(upper, fmpq(1))), nodes=len(search.nodes))
        if rounded is None or values is not None:
            return bracket
        return Bracket(
            lower=max(bracket.lower, rounded.lower), upper=min(bracket.upper, rounded.upper), nodes=rounded.nodes
        )

    # --- nodes ---------------------------------------------------------------------------------

    def first_label(self, mass: Sparse, other: Sparse) -> list[tuple[Sparse, Sparse]]:
        """(p; r) by the label that is seen now: a word begins with the label of its first state."""
        label = self._table.label
        parts: dict[int, tuple[Sparse, Sparse]] = {}
        for side, measure in enumerate((mass, other)):
            for state, amount in measure.items():
                parts.setdefault(int(label[state]), ({}, {}))[side][state] = amount
        return list(parts.values())

    def step(self, measure: Sparse) -> Sparse:
        """The measure after one transition."""
        after: Sparse = {}
        for state, amount in measure.items():
            for target, chance in self._rows[state]:
                after[target] = after[target] + amount * chance if target in after else amount * chance
        return after

    def judge(self, mass: Sparse, other: Sparse) -> tuple[fmpq, fmpq, bool]:
        """Lower bound, upper bound, and whether nothing more can be learned."""
        mine, theirs = _total(mass), _total(other)
        lower = max(mine - self._alpha_above * theirs, fmpq(0))
        if not mass or not other or is_proportional(mass, other, mine, theirs):
            return lower, max(mine - self._alpha * theirs, fmpq(0)), True
        upper = min(self._bound(mass, other), mine)
        upper = max(upper, lower)
        return lower, upper, upper == lower


class _Search:
    """The nodes of one pair, and the two sums."""

    def __init__(self, rules: Bracketing, horizon: int | None) -> None:
        self._rules = rules
        self._horizon = horizon
        self.nodes: dict[object, _Node] = {}
        self.work = 0
        self.unread = 0  # open nodes that were not extended yet
        self.lower, self.upper = fmpq(0), fmpq(0)
        self._dropped = [fmpq(0), fmpq(0)]
        self._start: list[_Share] = []
        self._queue: list[tuple[float, int, _Node]] = []

    def add(self, mass: Sparse, other: Sparse) -> None:
        """Start with (p; r): a node for each label that can be seen now."""
        self._start = [self._share(*part, depth=0) for part in self._rules.first_label(mass, other)]
        self._give(self._start, fmpq(1))

    def is_open(self, width: fmpq, requested: fmpq | None) -> bool:
        """Whether the bracket is too wide, or does not decide whether lv is at most what was asked."""
        return self.upper - self.lower > width or (requested is not None and self.lower <= requested < self.upper)

    def ends(self, alpha: fmpq) -> tuple[fmpq, fmpq]:
        """Both sums, with what rounding dropped counted against them."""
        more, less = self._dropped
        return max(self.lower - alpha * less, fmpq(0)), self.upper + more

    def _share(self, mass: Sparse, other: Sparse, *, depth: int) -> _Share:
        share = _total(mass) + _total(other)
        mass = {state: amount / share for state, amount in sorted(mass.items())}
        other = {state: amount / share for state, amount in sorted(other.items())}
        dropped = (fmpq(0), fmpq(0))
        if sum(int(amount.q).bit_length() for measure in (mass, other) for amount in measure.values()) > _MOST_BITS:
            before = (_total(mass), _total(other))
            mass, other = _rounded_down(mass), _rounded_down(other)
            dropped = (before[0] - _total(mass), before[1] - _total(other))
        # with a horizon, nodes of different depths have different things ahead of them
        key = (spelled(mass), spelled(other), depth if self._horizon is not None else 0)
        node = self.nodes.get(key)
        if node is None:
            lower, upper, closed = self._rules.judge(mass, other)
            node = _Node(mass, other, lower, upper, closed, depth, len(self.nodes))
            self.nodes[key] = node
            self.unread += not closed
            self.work += 1 + ((len(mass) + len(other)) // _NARROW) ** 2
        return _Share(node, share, dropped)

    def _give(self, shares: list[_Share], weight: fmpq) -> None:
        for share in shares:
            self._put(share.node, share.share * weight)
            for side, mass in enumerate(share.dropped):
                self._dropped[side] += share.share * weight * mass

    def _put(self, node: _Node, weight: fmpq) -> None:
        self.lower += weight * node.lower
        self.upper += weight * node.upper
        node.weight += weight
        if not node.closed and (self._horizon is None or node.depth < self._horizon):
            gap = node.weight * (node.upper - node.lower)
            heapq.heappush(self._queue, (-nearest_float(gap), node.number, node))

    def widest(self) -> _Node | None:
        """The node with the largest gap that can be extended."""
        while self._queue:
            node = heapq.heappop(self._queue)[2]
            if node.weight != 0:
                return node
        return None

    def extend(self, node: _Node) -> None:
        """Read one more label: take the weight of the node away, and give it to those that follow."""
        weight, node.weight = node.weight, fmpq(0)
        self.lower -= weight * node.lower
        self.upper -= weight * node.upper
        if node.children is None:
            self.unread -= 1
            rules = self._rules
            mass, other = rules.step(node.mass), rules.step(node.other)
            node.children = [self._share(*part, depth=node.depth + 1) for part in rules.first_label(mass, other)]
        # what comes straight back goes round for ever: a geometric series. Not where rounding drops something on
        # every round: that is counted round by round
        rounds = [child for child in node.children if child.node is node and not any(child.dropped)]
        back = sum((child.share for child in rounds), start=fmpq(0))
        if back < 1:
            weight /= 1 - back
        self._give([child for child in node.children if child not in rounds or back == 1], weight)

    # --- exact values --------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether every node is closed or has been extended, and nothing was rounded."""
        exact = self._horizon is None and self._dropped == [0, 0]
        return exact and all(node.closed or node.children is not None for node in self.nodes.values())

    def exact_values(self) -> tuple[fmpq, fmpq] | None:
        """Both ends by linear systems over all nodes: equal, where α is known exactly."""
        nodes = [node for node in self.nodes.values() if not node.closed]
        index = {id(node): number for number, node in enumerate(nodes)}
        rows, columns = [], []
        for number, node in enumerate(nodes):
            for child in node.children or ():
                if not child.node.closed:
                    rows.append(number)
                    columns.append(index[id(child.node)])
        graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(nodes), len(nodes)))
        count, component = connected_components(graph, directed=True, connection="strong")
        leaves = np.zeros(count, dtype=np.bool_)  # components that are left with positive probability
        for number, node in enumerate(nodes):
            for child in node.children or ():
                if child.node.closed or component[index[id(child.node)]] != component[number]:
                    leaves[component[number]] = True
        passing = [node for number, node in enumerate(nodes) if leaves[component[number]]]
        if len(passing) > _LARGEST_CLOSING:
            return None
        lower, upper = (self._solve(passing, at_above) for at_above in (True, False))
        return lower, upper

    def _solve(self, passing: list[_Node], at_above: bool) -> fmpq:
        """The value at the start, with the lower bounds of α_above or those of α where nothing more is learned."""
        rules = self._rules
        alpha = rules._alpha_above if at_above else rules._alpha

        def settled(node: _Node) -> fmpq:
            if node.closed:
                return node.lower if at_above else node.upper
            mine, theirs = _total(node.mass), _total(node.other)
            return max(mine - alpha * theirs, fmpq(0))

        index = {id(node): number for number, node in enumerate(passing)}
        entries: list[Entry] = []
        constant = [fmpq(0)] * len(passing)
        for number, node in enumerate(passing):
            for child in node.children or ():
                if id(child.node) in index:
                    entries.append((number, index[id(child.node)], child.share))
                else:
                    constant[number] += child.share * settled(child.node)
        solution = solved(entries, constant)
        total = fmpq(0)
        for start in self._start:
            inner = id(start.node) in index
            total += start.share * (solution[index[id(start.node)]] if inner else settled(start.node))
        return total


def _total(measure: Sparse) -> fmpq:
    return sum(measure.values(), start=fmpq(0))


def _rounded_down(measure: Sparse) -> Sparse:
    """Every amount as a multiple of 2^−128 that is not above it; what becomes 0 is left out."""
    scale = 1 << _ROUNDED
    floors = {state: int(amount.p) * scale // int(amount.q) for state, amount in measure.items()}
    return {state: fmpq(floor, scale) for state, floor in floors.items() if floor}
