"""A proved bound on ln Z(v)/Z(w) over all adjacent words of a Markov chain, block by block.

See docs/theory/certificates.md.
Two feasible words of a chain differ in maximal blocks of consecutive positions. Between blocks they
agree, so swapping one whole block keeps a word feasible, and the loss η·d + ln Z(v)/Z(w) is a sum
over blocks, each between two feasible words that differ in that block only. `chain_bounds` bounds
one block of each length; `BlockBounds.loss` adds them up in the worst way that b positions allow.

Where the pairs of paths of one length are too many, only paths are looked at, with a looser bound. The
classic bound η·L holds for each block just as it does for whole words.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.calibration.blocks import FINAL, FROM_START, MIDDLE, glanced_ratio, largest_ratio
from symveil.calibration.boxes import Boxes, ChainGraph, Floats, box_hull, sharing
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage

# S×S boxes: eight arrays in each direction, 0.8 GB at this size; 100,000 states would need 1.3 TB.
MOST_STATES = 2500
_BOX_WORK = 2e9  # multiplications per rate, about 1 ns each
_PAIR_WORK = 3e9  # entries of pairs of paths per rate and block length; nine in ten are never visited
_PATH_WORK = 1.5e8  # entries of paths, where pairs are too many
_LONGEST_LIST = 50_000  # paths from one state
_MOST_SHARED_OUT = 128  # positions among which blocks are fitted together: cubic work
_SMALLEST_LOG2 = -600.0  # of any weight of a block: far from underflow

NOT, BY_PATHS, BY_PAIRS = 0, 1, 2
UNBOUNDED = math.inf
"""The bound of blocks that were not searched: the classic one applies."""


@dataclass(frozen=True, slots=True)
class BlockBounds:
    """ln of the largest ratio a block of each length can make: index L, in the middle and at the end.

    None: there is no such block in any word.
    """

    length: int
    inner: tuple[float | None, ...]
    final: tuple[float | None, ...]

    def loss(self, rate: Fraction, adjacency: int) -> Fraction:
        """The largest sum of rate·L + bound over blocks that fit into a word, `adjacency` positions in all.

        A block in the middle is followed by a position that agrees, so it needs L + 1 positions. Where there are
        many positions to share out, how the blocks fit is not looked at: each is worth at most what the best of
        them is worth for each of its positions.
        """
        differ = min(adjacency, self.length)
        inner = [_worth(rate, size, bound) for size, bound in enumerate(self.inner[: differ + 1])]
        final = [_worth(rate, size, bound) for size, bound in enumerate(self.final[: differ + 1])]
        if differ > _MOST_SHARED_OUT:
            each = max((worth / size for size, worth in enumerate(inner) if size), default=Fraction(0))
            return max(worth + (differ - size) * each for size, worth in enumerate(final))
        # as whole numbers of one unit: thousands of sums of fractions would take minutes
        unit = math.lcm(*(worth.denominator for worth in (*inner, *final)))
        room = min(self.length, 2 * differ + 2)
        filled = _filled([int(worth * unit) for worth in inner], differ, room)
        most = max(int(worth * unit) + filled[differ - size][room - size] for size, worth in enumerate(final))
        return Fraction(most, unit)


def _filled(worth: list[int], differ: int, room: int) -> list[list[int]]:
    """[d][r]: the most that blocks in the middle are worth with d positions that differ among r positions."""
    best: list[list[int]] = []
    for positions in range(differ + 1):
        row = []
        for space in range(room + 1):
            sizes = range(1, min(positions, space - 1, len(worth) - 1) + 1)
            row.append(max((worth[size] + best[positions - size][space - size - 1] for size in sizes), default=0))
        best.append(row)
    return best


def _worth(rate: Fraction, size: int, bound: float | None) -> Fraction:
    """What a block of this length is worth; one that no word has is worth nothing."""
    classic = rate * size
    if bound is None:
        return Fraction(0)
    return classic + (classic if bound == UNBOUNDED else min(Fraction(bound), classic))


@dataclass(frozen=True, slots=True, eq=False)
class ChainSearch:
    """What does not depend on the rate: the graph, its powers, where words start, which blocks are searched."""

    language: RunLanguage
    with_prior: bool
    graph: ChainGraph
    reverse: ChainGraph
    length: int
    starts: NDArray[np.bool_]
    virtual: int
    powers: tuple[Any, ...]
    searched: tuple[tuple[int, int], ...]


def chain_search(language: RunLanguage, *, adjacency: int, with_prior: bool) -> ChainSearch | None:
    """Prepare the search; None where boxes would be too large or too slow, or rounding could not be bounded."""
    graph = language.graph
    size, length = graph.state_count, language.largest_distance
    if not graph.state_is_symbol or not np.array_equal(graph.symbol, graph.target) or size > MOST_STATES:
        return None
    weight = RunWeights(language=language, rate=Fraction(1), with_prior=with_prior).edge_weights
    chain = ChainGraph(graph.first.astype(np.int64), graph.target.astype(np.int64), weight)
    entered = np.bincount(graph.target, minlength=size)
    virtual = graph.start if entered[graph.start] == 0 else -1
    starts = np.zeros(size, dtype=np.bool_)
    starts[list(language.secret_starts)] = True
    reverse = chain.reversed()
    work = 3.0 * size * graph.edge_count * length
    for direction in (chain, reverse):
        offsets, others = sharing(direction, ignored=virtual)
        degree = np.diff(direction.first)
        together = degree[others] + np.repeat(degree, np.diff(offsets))
        work += 8.0 * length * float((np.repeat(degree, np.diff(offsets)) * together).sum())
    if work > _BOX_WORK or weight.min(initial=1.0) < 2.0**-100:
        return None
    longest = min(adjacency, length)
    adjacent = sparse.csr_matrix((weight, chain.other, chain.first), shape=(size, size))
    powers = [adjacent]
    ways = sparse.csr_matrix((np.ones(len(weight)), chain.other, chain.first), shape=(size, size))
    counts = [ways]
    searched = [(BY_PAIRS, BY_PAIRS)]
    for block in range(1, longest + 1):
        if searched[-1] == (NOT, NOT):
            searched.append((NOT, NOT))
            continue
        if counts[-1].nnz * float(graph.edge_count) / size > _PATH_WORK:
            searched.append((NOT, NOT))
            continue
        counts.append((counts[-1] @ ways).tocsr())
        powers.append((powers[-1] @ adjacent).tocsr())
        searched.append(_affordable(counts, block, virtual, from_start=virtual >= 0 and bool(starts[virtual])))
    for power in powers:
        power.sort_indices()
    return ChainSearch(
        language, with_prior, chain, reverse, length, starts, virtual, tuple(powers), tuple(searched)
    )  # fmt: skip


def _affordable(counts: list[Any], block: int, virtual: int, *, from_start: bool) -> tuple[int, int]:
    """How thoroughly one can look, in the middle and at the end: at all pairs of paths, at all paths, or not."""
    size = counts[0].shape[0]
    lists = np.asarray(counts[block - 1].sum(axis=1)).ravel()
    if virtual >= 0:
        lists[virtual] = np.asarray(counts[block - 1].sum(axis=0)).max() if from_start else 0.0
    if lists.max(initial=0.0) > _LONGEST_LIST:
        return NOT, NOT
    density = [power.nnz / size for power in counts]
    touched = 2 * sum(density[i] * density[block - 1 - i] for i in range(block))
    squares = np.asarray(counts[block].multiply(counts[block]).sum(axis=1)).ravel()
    pairs = float(squares.sum()) - (0.0 if virtual < 0 or from_start else float(squares[virtual]))
    all_pairs = float((lists**2).sum())
    paths = float(lists.sum()) + float(counts[block - 1].sum())
    inner = BY_PAIRS if pairs * touched + all_pairs < _PAIR_WORK else BY_PATHS if paths * touched < _PATH_WORK else NOT
    few = 2 * sum(density[:block])
    final = BY_PAIRS if all_pairs * few < _PAIR_WORK else BY_PATHS if paths * few < _PATH_WORK else NOT
    return inner, final


def chain_bounds(search: ChainSearch, rate: Fraction, adjacency: int) -> BlockBounds:
    """The bounds for all block lengths up to `adjacency`, at one rate."""
    weights = RunWeights(language=search.language, rate=rate, with_prior=search.with_prior)
    decay, excess = weights.mismatch, weights.match_excess
    longest = min(adjacency, search.length)
    smallest = math.log2(max(float(search.graph.weight.min(initial=1.0)), 1e-300)) * (longest + 1)
    if smallest - float(rate) * longest / math.log(2) < _SMALLEST_LOG2 or decay > 1 - 1e-9:
        unknown = (None, *[UNBOUNDED] * longest)
        return BlockBounds(search.length, unknown, unknown)
    inner: list[float | None] = [None]
    final: list[float | None] = [None]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        before, after = pool.map(lambda far: _hull(search, decay, backwards=far), (True, False))
        jobs = []
        for block in range(1, longest + 1):
            searched = search.searched[block]
            prepared = _prepared(search, before, after, decay, block) if any(searched) else None
            middle, end = _jobs(search, before, after, decay, excess, block, prepared)
            jobs.append(([pool.submit(*job) for job in middle], [pool.submit(*job) for job in end]))
        for inner_jobs, final_jobs in jobs:
            inner.append(_logarithm([float(job.result()) for job in inner_jobs]))
            final.append(_logarithm([float(job.result()) for job in final_jobs]))
    return BlockBounds(search.length, tuple(inner), tuple(final))


def _logarithm(ratios: list[float]) -> float | None:
    """ln of the largest ratio, rounded up; None where no block was found."""
    largest = max(ratios, default=0.0)
    if largest == 0.0:
        return None
    return math.log(largest) * (1 + 2.0**-50) + 2.0**-60 if largest < math.inf else UNBOUNDED


def _hull(search: ChainSearch, decay: float, *, backwards: bool) -> Boxes:
    """The boxes of what precedes, known exactly at the start, or of what follows, known exactly at the end."""
    size = search.graph.state_count
    if backwards:
        return box_hull(
            search.reverse, decay, search.length, np.eye(size), search.starts, ignored=search.virtual
        )  # fmt: skip
    accepting = search.language.graph.accepting
    at_end = np.full((size, size), decay)
    np.fill_diagonal(at_end, 1.0)
    at_end[:, ~accepting] = 0.0
    return box_hull(search.graph, decay, max(search.length - 1, 0), at_end, accepting, ignored=search.virtual)


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """For one block length: columns of A¹ … A^L, the weight of untouched pairs, the rounding of it all."""

    columns: tuple[NDArray[np.int64], NDArray[np.int64], Floats]
    all_inner: Floats
    all_final: Floats
    ends: Floats
    slack: float


def _prepared(search: ChainSearch, before: Boxes, after: Boxes, decay: float, block: int) -> _Prepared:
    size = search.graph.state_count
    widest = max(int(np.diff(search.graph.first).max()), int(np.diff(search.reverse.first).max()))
    slack = 16 * (block + 2) * (widest + 8) * 2.0**-53
    offsets, rows, values = [], [], []
    index = 0
    for power in search.powers[:block]:
        columns = power.tocsc()
        columns.sort_indices()
        offsets.append(columns.indptr.astype(np.int64) + index)
        rows.append(columns.indices.astype(np.int64))
        values.append(columns.data)
        index += columns.nnz
    low_before = np.where(before.valid[:, None], before.low, 0.0)
    low_after = np.where(after.valid[:, None], after.low, 0.0)
    accepting = search.language.graph.accepting.astype(np.float64)
    ends = np.stack([accepting, search.powers[block - 1] @ accepting])
    # sums of up to S positive products, three times over: rounded down by more than their error
    down = (1.0 - (4 * size + 64) * 2.0**-52) * decay**block
    return _Prepared(
        columns=(np.stack(offsets), np.concatenate(rows), np.concatenate(values)),
        all_inner=down * ((search.powers[block].T @ low_before.T).T @ low_after.T),
        all_final=down * (low_before @ ends[1])[:, None],
        ends=ends,
        slack=slack,
    )


def _jobs(
    search: ChainSearch,
    before: Boxes,
    after: Boxes,
    decay: float,
    excess: float,
    block: int,
    prepared: _Prepared | None,
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Calls that together look at every block of one length: in the middle of a word, and at its end."""
    from_start = search.virtual >= 0 and bool(search.starts[search.virtual])
    ordinary = np.flatnonzero(before.valid)
    ordinary = ordinary[ordinary != search.virtual]
    middle = [(MIDDLE, part) for part in np.array_split(ordinary, 2)]
    if from_start:
        middle += [(FROM_START, part) for part in np.array_split(np.flatnonzero(after.valid), 2)]
    end = [(FINAL, part) for part in np.array_split(ordinary, 2)]
    if block + 1 > search.length:
        middle = []
    unknown = [(float, math.inf)]
    if prepared is None:
        return unknown if middle else [], unknown
    for_middle, for_end = search.searched[block]
    middle_jobs = [_job(search, before, after, decay, excess, block, prepared, for_middle, *group) for group in middle]
    end_jobs = [_job(search, before, after, decay, excess, block, prepared, for_end, *group) for group in end]
    if middle and for_middle == NOT:
        middle_jobs = unknown
    # where the block is the whole word, from a hidden start, there are as many paths as words
    if for_end == NOT or (from_start and block == search.length):
        end_jobs = unknown
    return middle_jobs, end_jobs


def _job(
    search: ChainSearch, before: Boxes, after: Boxes, decay: float, excess: float, block: int,
    prepared: _Prepared, thorough: int, kind: int, group: NDArray[np.int64],
) -> tuple[Any, ...]:  # fmt: skip
    graph, reverse, power = search.graph, search.reverse, search.powers[block]
    return (
        largest_ratio if thorough == BY_PAIRS else glanced_ratio,
        kind, group, graph.first, graph.other, graph.weight, reverse.first, reverse.other, search.virtual,
        search.language.graph.accepting, *prepared.columns,
        power.indptr.astype(np.int64), power.indices.astype(np.int64), power.data, prepared.ends,
        before.low, before.high, after.low, after.high, after.valid,
        prepared.all_final if kind == FINAL else prepared.all_inner, decay, excess, block, prepared.slack,
    )  # fmt: skip
