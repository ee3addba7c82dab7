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

All weights of `_Search` are exact rationals, and so are (p; r) until they take up too much room: then they are rounded
down, and the mass that this drops is counted against both ends (p may have had that much more, and r too). α may be
known between two rationals only: then the lower bounds use the larger one and the upper bounds the smaller one, which
is where their d belongs.

Large chains, and long searches on small ones: `RoundedSearch`, in floats that are rounded against the claim (why both
ends hold: `search_loops`). Words are extended in the same order, and merged where (p; r) are proportional up to
rounding. That is tens of times as fast as rationals and costs about 1e-12 of width, so it is for those searches that
would stop with a gap anyway, at the width or the limit asked for. Where a search ends by itself, or is short, or where
the digits of floats would show, there is no rounded answer, and rationals give theirs, which may be exact.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from flint import fmpq
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from symveil.numbers.conversions import float_at_least, float_at_most, fraction, nearest_float, rational
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress
from symveil.verification.distances import search_loops as loops
from symveil.verification.distances.distances import CompiledBound, ExactBound
from symveil.verification.distances.finite_words import is_proportional, scaled, spelled
from symveil.verification.distances.tables import (
    TINY,
    ChainTable,
    Lumping,
    Sparse,
    side_by_side,
    total,
)
from symveil.verification.limits import LIMITS
from symveil.verification.linear_systems import Entry, Floats, Integers, solved

FINEST = Fraction(1, 10**9)  # the narrowest bracket that is left to floats
_ROOM = 4096
_PAUSE = 4096  # visits


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """lower ≤ lv ≤ upper, both proved; `nodes` is how many kinds of words it took."""

    lower: Fraction
    upper: Fraction
    nodes: int
    all_read: bool = field(default=False, compare=False, repr=False)
    """Of a search in floats: whether every node was read further, so that rationals might solve for the value."""

    @property
    def exact(self) -> bool:
        """Whether both ends are one number."""
        return self.lower == self.upper

    def is_close_to(self, question: Fraction) -> bool:
        """Whether what was asked lies inside, so near to one end that rounding may be why."""
        near = Fraction(LIMITS.now.showing) * (self.upper - self.lower) + FINEST
        return self.lower <= question < self.upper and min(question - self.lower, self.upper - question) <= near

    def __str__(self) -> str:
        return f"{float(self.lower):.6g}" if self.exact else f"[{float(self.lower):.6g}, {float(self.upper):.6g}]"


class RoundedSearch:
    """Brackets for the pairs of one chain at one α, in floats."""

    def __init__(self, table: ChainTable, classes: Integers, bound: CompiledBound, *, alpha_above: Fraction) -> None:
        self._label = table.label
        by_rank = np.argsort(table.label, kind="stable")
        rank = np.empty_like(by_rank)
        rank[by_rank] = np.arange(table.size)
        self._rank = rank
        self._alpha_above = float_at_least(alpha_above)
        chance = np.where(table.chance < TINY, 0.0, table.chance)
        comes_from = np.bincount(table.successor, minlength=table.size).astype(np.float64)
        self._bounds: Any = loops.Bounds(
            classes, bound.distance, bound.alpha, self._alpha_above, *bound.relays, bound.less
        )
        self._chain: Any = loops.Chain(table.first, table.successor, chance, table.label, rank, by_rank, comes_from)

    def ends(
        self,
        source: int,
        target: int,
        *,
        width: Fraction,
        nodes: int,
        most_visits: int,
        horizon: int | None,
        question: Fraction | None,
        progress: Progress | None,
    ) -> Bracket | None:
        """Both ends, or None where rationals should be asked."""
        if width < FINEST or source == target or self._label[source] != self._label[target]:
            return None
        store = self._start(source, target)
        below, above = (2.0, -1.0) if question is None else (float_at_most(question), float_at_least(question))
        limits = (-1 if horizon is None else horizon, min(nodes, 2**60), min(most_visits, 2**60), _PAUSE)
        goal: Any = (float_at_most(width), below, above, *limits)
        while True:
            why = loops.advance(self._chain, self._bounds, store.nodes, *goal)
            if why == loops.DONE:
                break
            if why == loops.ROOM:
                store.grow(len(self._label))
            elif progress:
                progress(min(int(store.count[loops.WORK]), nodes), nodes)
        count = int(store.count[loops.NODES])
        lower, upper, more, less = loops.ends(store.figure, count, self._alpha_above)
        is_over = store.gaps[1] <= 0.0
        shows = more + self._alpha_above * less > LIMITS.now.showing * (upper - lower)
        if is_over or shows or count <= LIMITS.now.short_search:
            return None
        is_waiting = store.gaps[len(store.gaps) // 2 :][:count] > 0.0
        unread = is_waiting & (store.span[:count, loops.LAST_CHILD] < 0)
        return Bracket(
            lower=Fraction(lower), upper=min(Fraction(upper), Fraction(1)), nodes=count, all_read=not unread.any()
        )

    def _start(self, source: int, target: int) -> _Store:
        """One node of weight 2: half its mass in the source for p, half in the target for r."""
        store = _Store(len(self._label))
        states = np.array(sorted((source, target), key=lambda state: self._rank[state]), dtype=np.int64)
        halves = np.array([[0.5, 0.0] if state == source else [0.0, 0.5] for state in states])
        store.state[:2], store.entry[:2] = states, halves
        mass, other = halves.T.copy()
        judged = loops.judge(states, mass, other, self._bounds)
        store.figure[0] = (2.0, *judged)
        store.span[0] = (0, 2, 0, 0, -1, -1)
        store.count[[loops.NODES, loops.ENTRIES, loops.WORK]] = 1, 2, 1
        lower, upper = judged[:2]
        store.estimate[:2] = 2 * lower, 2 * upper
        loops.set_gap(store.gaps, 0, 2 * (upper - lower))
        return store


class _Store:
    """The arrays of a search, which grow."""

    def __init__(self, size: int) -> None:
        room = _ROOM + size
        self.figure: Floats = np.zeros((room, 5))
        self.span: Integers = np.zeros((room, 6), dtype=np.int64)
        self.state: Integers = np.zeros(4 * room, dtype=np.int64)
        self.entry: Floats = np.zeros((4 * room, 2))
        self.child: Integers = np.zeros(2 * room, dtype=np.int64)
        self.share: Floats = np.zeros(2 * room)
        self.count: Integers = np.zeros(5, dtype=np.int64)
        self.estimate: Floats = np.zeros(4)
        self._index(np.zeros(0))

    @property
    def nodes(self) -> Any:
        """As `advance` takes them."""
        return loops.Nodes(
            self.figure, self.span, self.state, self.entry, self.child, self.share, self.bucket, self.gaps,
            self.count, self.estimate,
        )  # fmt: skip

    def grow(self, size: int) -> None:
        """Make room for one more extension everywhere, and for many more where there was none."""
        nodes, entries, shares = self.count[:3].tolist()
        self.state, self.entry = (_grown(array, entries + size) for array in (self.state, self.entry))
        self.child, self.share = (_grown(array, shares + size) for array in (self.child, self.share))
        if nodes + size > len(self.figure):
            self.figure, self.span = (_grown(array, nodes + size) for array in (self.figure, self.span))
            self._index(self.gaps[len(self.gaps) // 2 :][:nodes])

    def _index(self, gaps: Floats) -> None:
        """The buckets of the nodes and the tree of their gaps, for the room there is now."""
        leaves = 1 << (len(self.figure) - 1).bit_length()
        self.bucket: Integers = np.full(4 * leaves, -1, dtype=np.int64)
        loops.rehash(self.span, int(self.count[0]), self.bucket)
        self.gaps: Floats = np.zeros(2 * leaves)
        self.gaps[leaves : leaves + len(gaps)] = gaps
        level = leaves
        while level > 1:
            self.gaps[level // 2 : level] = self.gaps[level : 2 * level].reshape(-1, 2).max(axis=1)
            level //= 2


def _grown(array: Any, needed: int) -> Any:
    if needed <= len(array):
        return array
    return np.concatenate([array, np.zeros((needed + len(array), *array.shape[1:]), dtype=array.dtype)])


DEFAULT_WIDTH = Fraction(1, 10**4)
DEFAULT_NODES = 20_000


class UpperBound(Protocol):
    """K(d)(p, r), or anything above it, for a d with Γ(d) ≤ d."""

    def __call__(self, mass: Sparse, other: Sparse) -> fmpq:
        """An upper bound for these two measures."""


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
        table = lumping.table
        self.table, self._home = table, lumping.home
        self._bound = upper_bound
        self._alpha = rational(alpha)
        self._alpha_above = rational(alpha if alpha_above is None else alpha_above)

    @computed_once
    def _rounded(self) -> RoundedSearch | None:
        """The search in floats; on small chains made when it is needed, because its loops take a while to load."""
        bound = self._bound.in_floats() if isinstance(self._bound, ExactBound) else self._bound
        if not isinstance(bound, CompiledBound):
            return None
        return RoundedSearch(self.table, self._home, bound, alpha_above=fraction(self._alpha_above))

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

        def in_floats(width: Fraction, nodes: int) -> Bracket | None:
            if width < FINEST or self._rounded is None:
                return None
            return self._rounded.ends(
                source, target, width=width, nodes=nodes, most_visits=LIMITS.now.visits * nodes, horizon=horizon,
                question=question, progress=progress,
            )  # fmt: skip

        are_floats_used = isinstance(self._bound, CompiledBound)  # large chains: rationals are the second choice
        rounded = in_floats(width, nodes) if are_floats_used else None
        if rounded is not None:
            return rounded
        search, visits = _Search(self, horizon, source, target), 0
        goal, requested = rational(width), None if question is None else rational(question)
        values, is_tried = None, False
        while search.is_open(goal, requested) and search.work < nodes and visits < LIMITS.now.visits * nodes:
            if search.unread == 0 and not is_tried and search.complete:
                # no node is left that was not read further: what is asked may be the value itself, which no number
                # of further rounds tells from the bounds
                is_tried, values = True, search.exact_values()
                if values is not None:
                    break
            if not are_floats_used and (search.work >= LIMITS.now.patience or visits >= LIMITS.now.patient_visits):
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

    def judge(self, mass: Sparse, other: Sparse) -> tuple[fmpq, fmpq, bool]:
        """Lower bound, upper bound, and whether nothing more can be learned."""
        mine, theirs = total(mass), total(other)
        lower = max(mine - self._alpha_above * theirs, fmpq(0))
        if not mass or not other or is_proportional(mass, other, mine, theirs):
            return lower, max(mine - self._alpha * theirs, fmpq(0)), True
        upper = min(self._bound(mass, other), mine)
        upper = max(upper, lower)
        return lower, upper, upper == lower


class _Search:
    """The nodes of one pair, and the two sums."""

    def __init__(self, rules: Bracketing, horizon: int | None, source: int, target: int) -> None:
        self._rules = rules
        self._horizon = horizon
        self.nodes: dict[object, _Node] = {}
        self.work = 0
        self.unread = 0  # open nodes that were not extended yet
        self.lower, self.upper = fmpq(0), fmpq(0)
        self._dropped = [fmpq(0), fmpq(0)]
        self._queue: list[tuple[float, int, _Node]] = []
        here, there = rules.table.at(source), rules.table.at(target)
        self._start = [self._share(*part, depth=0) for _, *part in side_by_side(here, there)]
        self._give(self._start, fmpq(1))

    def is_open(self, width: fmpq, requested: fmpq | None) -> bool:
        """Whether the bracket is too wide, or does not decide whether lv is at most what was asked."""
        return self.upper - self.lower > width or (requested is not None and self.lower <= requested < self.upper)

    def ends(self, alpha: fmpq) -> tuple[fmpq, fmpq]:
        """Both sums, with what rounding dropped counted against them."""
        more, less = self._dropped
        return max(self.lower - alpha * less, fmpq(0)), self.upper + more

    def _share(self, mass: Sparse, other: Sparse, *, depth: int) -> _Share:
        share = total(mass) + total(other)
        mass, other = scaled(mass, share), scaled(other, share)
        dropped = (fmpq(0), fmpq(0))
        bits = sum(int(amount.q).bit_length() for measure in (mass, other) for amount in measure.values())
        if bits > LIMITS.now.bracket_bits:
            before = (total(mass), total(other))
            mass, other = _rounded_down(mass), _rounded_down(other)
            dropped = (before[0] - total(mass), before[1] - total(other))
        # with a horizon, nodes of different depths have different things ahead of them
        key = (spelled(mass), spelled(other), depth if self._horizon is not None else 0)
        node = self.nodes.get(key)
        if node is None:
            lower, upper, closed = self._rules.judge(mass, other)
            node = _Node(mass, other, lower, upper, closed, depth, len(self.nodes))
            self.nodes[key] = node
            self.unread += not closed
            self.work += 1 + ((len(mass) + len(other)) // LIMITS.now.narrow_node) ** 2
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
            table = self._rules.table
            parts = side_by_side(table.ahead(node.mass), table.ahead(node.other))
            node.children = [self._share(*part, depth=node.depth + 1) for _, *part in parts]
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
        if len(passing) > LIMITS.now.closing_nodes:
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
            mine, theirs = total(node.mass), total(node.other)
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
        value = fmpq(0)
        for start in self._start:
            inner = id(start.node) in index
            value += start.share * (solution[index[id(start.node)]] if inner else settled(start.node))
        return value


def _rounded_down(measure: Sparse) -> Sparse:
    """Every amount as a multiple of 2^−128 that is not above it; what becomes 0 is left out."""
    scale = 1 << LIMITS.now.rounded_bits
    floors = {state: int(amount.p) * scale // int(amount.q) for state, amount in measure.items()}
    return {state: fmpq(floor, scale) for state, floor in floors.items() if floor}
