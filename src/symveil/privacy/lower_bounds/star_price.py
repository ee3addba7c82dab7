"""Price B: what each word can charge to the words around it, over a whole word or a long tile of it.

For 0 < Λ ≤ 1, λ(o) = min(Λ, G₀(o) − Λ·G₁(o)) is a price, where G₁ is the sum of π(w)/π(o)·ζ(w,o) over the other words w
of the tile, G₀ the same times d(w,o), and ζ ≤ e^{−εg} (docs/theory/lower-bounds.md, Theorem 4). A word that leaves o's
path and comes back to it makes a *detour*; detours can be taken one by one, so packs of detours with at most b changes
in all are steps between adjacent words, and ζ = e^{−ε·packs}. Sums over all such words take one pass over the
positions.

Detours depend on a short piece of the word only, so each piece that occurs in a sample is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symveil.privacy.lower_bounds.prior import LEAST_PRODUCT, Floats, Integers, Prior

Kind = tuple[int, int, int]
"""(positions from the first to the last that may differ, 1 if the next symbol must agree, symbols that differ)."""


@dataclass(frozen=True, slots=True, eq=False)
class Detours:
    """The weights of the detours of each kind that begin at each position of each sampled word, relative to its own.

    Detours of more than `steps` steps are left out, or there are none.
    """

    count: int
    length: int
    steps: int
    by_kind: dict[Kind, Floats] = field(repr=False)


def find_detours(
    prior: Prior,
    states: Integers,
    edges: Integers,
    adjacency: int,
    *,
    most: int | None = None,
    longest: int | None = None,
) -> Detours:
    """All detours of sampled words with at most `adjacency` changes.

    Parameters
    ----------
    prior
        The words and their weights.
    states, edges
        A row for each sampled word, as `Prior.draw` returns them.
    adjacency
        How many symbols of a detour may differ.
    most
        Beyond so many unfinished detours longer ones are left out: ζ = 0 is allowed for them.
    longest
        Detours of more steps are left out.
    """
    graph, length = prior.language.graph, prior.language.length
    count = len(states)
    found: dict[Kind, Floats] = {}
    # pieces of length 0: the state in which a detour begins; its only unfinished detour is the word itself
    begins = np.unique(states[:, prior.first : length])
    piece = np.searchsorted(begins, states[:, prior.first : length])
    unfinished = _Unfinished(
        piece=np.arange(len(begins)),
        state=begins,
        changes=np.zeros(len(begins), dtype=np.int64),
        weight=np.ones(len(begins)),
    )
    steps = 0
    for steps in range(1, min(length - prior.first, length if longest is None else longest) + 1):
        own = edges[:, prior.first + steps - 1 :]
        piece = piece[:, : own.shape[1]]
        pieces, number = np.unique(piece * graph.edge_count + own, return_inverse=True)
        piece = number.reshape(own.shape)
        unfinished, closed = unfinished.extended(
            prior, pieces // graph.edge_count, pieces % graph.edge_count, adjacency
        )
        for (agrees, changes), weights in closed.by_kind(len(pieces)):
            target = found.setdefault((steps - agrees, agrees, changes), np.zeros((count, length)))
            target[:, prior.first : length - steps + 1] += weights[piece]
        accepted = unfinished.taken(graph.accepting[unfinished.state])
        for (_, changes), weights in _Closed(accepted.piece, accepted.changes, accepted.weight).by_kind(len(pieces)):
            target = found.setdefault((steps, 0, changes), np.zeros((count, length)))
            target[:, length - steps] += weights[piece[:, -1]]
        if not len(unfinished.piece) or (most is not None and len(unfinished.piece) > most):
            break
    by_kind = {kind: each for kind, each in found.items() if each.any()}
    return Detours(count=count, length=length, steps=steps, by_kind=by_kind)


@dataclass(frozen=True, slots=True, eq=False)
class _Closed:
    """Detours that are back on the path: of which piece, with how many changes, and whether the last symbol agreed."""

    piece: Integers
    changes: Integers
    weight: Floats
    agrees: NDArray[np.bool_] | None = None

    def by_kind(self, pieces: int) -> Iterator[tuple[tuple[int, int], Floats]]:
        """For each (last symbol agrees, changes) that occurs, the weight for each piece."""
        agrees = np.zeros(len(self.piece), dtype=np.bool_) if self.agrees is None else self.agrees
        kind = 2 * self.changes + agrees
        for each in np.unique(kind).tolist():
            rows = kind == each
            weights = np.bincount(self.piece[rows], weights=self.weight[rows], minlength=pieces)
            yield (each % 2, each // 2), weights.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class _Unfinished:
    """Detours that have left a piece of a word and not come back: (piece, state, changes so far), and their weight."""

    piece: Integers
    state: Integers
    changes: Integers
    weight: Floats

    def taken(self, rows: NDArray[np.bool_]) -> _Unfinished:
        """Some of them."""
        return _Unfinished(self.piece[rows], self.state[rows], self.changes[rows], self.weight[rows])

    def extended(self, prior: Prior, parent: Integers, own: Integers, adjacency: int) -> tuple[_Unfinished, _Closed]:
        """One more symbol: for each longer piece (its parent, its last edge) what is still away, and what came back."""
        graph = prior.language.graph
        begin = np.searchsorted(self.piece, np.arange(int(parent.max(initial=-1)) + 2))
        child, place = _ranges(begin[parent], begin[parent + 1])
        state = self.state[place]
        row, edge = _ranges(graph.first[state], graph.first[state + 1])
        child, place = child[row], place[row]
        own_edge = own[child]
        agrees = graph.symbol[edge] == graph.symbol[own_edge]
        changes = self.changes[place] + ~agrees
        weight = self.weight[place] * prior.edge_weights[edge]
        weight = np.divide(weight, prior.edge_weights[own_edge], out=np.zeros_like(weight), where=weight > 0)
        # an edge that is the word's own at the first step has not left the path
        possible = (changes <= adjacency) & (changes > 0) & (weight > 0)
        back = graph.target[edge] == graph.target[own_edge]
        closed = possible & back
        away = possible & ~back
        return (
            _merged(child[away], graph.target[edge[away]].astype(np.int64), changes[away], weight[away], adjacency),
            _Closed(child[closed], changes[closed], weight[closed], agrees[closed]),
        )


def _ranges(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """All numbers of several ranges one after the other, and the number of the range of each."""
    sizes = end - begin
    row = np.repeat(np.arange(len(sizes)), sizes)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + begin[row]


def _merged(piece: Integers, state: Integers, changes: Integers, weight: Floats, adjacency: int) -> _Unfinished:
    """Detours that are in the same state with the same number of changes become one."""
    states = int(state.max(initial=0)) + 1
    key = (piece * states + state) * (adjacency + 1) + changes
    unique, number = np.unique(key, return_inverse=True)
    return _Unfinished(
        piece=unique // (adjacency + 1) // states,
        state=unique // (adjacency + 1) % states,
        changes=unique % (adjacency + 1),
        weight=np.bincount(number, weights=weight, minlength=len(unique)).astype(np.float64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class StarSums:
    """G₁ and G₀ of a tile for each sampled word, and a bound on their relative error."""

    weight: Floats
    loss: Floats
    relative_error: float

    def prices(self, level: float) -> Floats:
        """λ(o) for Λ = `level`, rounded down."""
        error = self.relative_error
        charged = self.loss * (1 - error) - level * self.weight * (1 + error)
        # more than floats can hold is no information; what is lost in numbers too small for them is less than this
        return np.clip(np.nan_to_num(charged, nan=0.0, posinf=0.0) - LEAST_PRODUCT, 0.0, level)

    def best_level(self, cost: float) -> float:
        """The Λ ≤ 1 with the largest mean price less `cost`·Λ.

        The mean of min(Λ, G₀ − ΛG₁) is concave in Λ, with a corner at G₀/(1+G₁) of each word.
        """
        with np.errstate(invalid="ignore"):
            corner = np.nan_to_num(self.loss / (1 + self.weight), nan=0.0)
        order = np.argsort(corner)
        slope = np.arange(len(order), 0, -1) - np.concatenate([[0.0], np.cumsum(self.weight[order])[:-1]])
        rising = np.flatnonzero(slope / len(order) > cost)
        return float(min(corner[order[rising[-1]]], 1.0)) if len(rising) else 0.0


def star_sums(detours: Detours, begin: int, ends: range, decay: float, adjacency: int) -> Iterator[StarSums]:
    """The sums of the tiles `begin` … `end` (both included), for each end, in one pass.

    Parameters
    ----------
    detours
        Of the sampled words.
    begin, ends
        The first position of the tiles, and their last ones, rising.
    decay
        A lower bound of e^{−ε}.
    adjacency
        b: how many changes fit into one pack.
    """
    rooms = adjacency + 1
    kinds = sorted(detours.by_kind)
    # words that left the path, by (must the next symbol agree?, changes in the open pack): weight, weight × changes
    shape = (2, rooms, 2, detours.count)
    at = {begin: np.zeros(shape)}
    operations = 8
    for position in range(begin, ends.stop):
        here, following = at.pop(position), at.setdefault(position + 1, np.zeros(shape))
        operations += 2 * (len(kinds) + 1) * (rooms + 1)
        following[0] += here[0]
        following[0] += here[1]
        for extent, agrees, changes in kinds:
            if position + extent > ends.stop:
                continue
            weight = detours.by_kind[extent, agrees, changes][:, position]
            if not weight.any():
                continue
            target = at.setdefault(position + extent, np.zeros(shape))[agrees]
            # from the path itself: the first pack is opened
            opened = decay * weight
            target[changes] += (opened, changes * opened)
            # from words that have left it before: into the open pack while it has room, else into a new one
            moved = here[0] * weight
            moved[:, 1] += changes * moved[:, 0]
            target[changes:] += moved[: rooms - changes]
            target[changes] += decay * moved[rooms - changes :].sum(axis=0)
        if position in ends:
            total = at[position + 1].sum(axis=(0, 1))
            yield StarSums(weight=total[0], loss=total[1], relative_error=operations * 2.0**-52)
