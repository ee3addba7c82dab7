"""The quick bound on ln Z(v)/Z(w) over all adjacent words of a Markov chain, block by block.

See docs/theory/certificates.md.
Two feasible words of a chain differ in maximal blocks of consecutive positions. Between blocks they
agree, so swapping one whole block keeps a word feasible, and the loss η·d + ln Z(v)/Z(w) is a sum
over blocks, each between two feasible words that differ in that block only. `chain_bounds` bounds
one block of each length, wherever it lies, from boxes that hold at every position: `box_hulls`.

Where the pairs of paths of one length are too many, only paths are looked at, with a looser bound. The
classic bound η·L holds for each block just as it does for whole words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.calibration.answers import remembered
from symveil.calibration.costs.blocks import FINAL, INNER, Kind, at_once, total_over_blocks
from symveil.calibration.costs.box_loops import next_boxes
from symveil.calibration.costs.boxes import slack_of
from symveil.calibration.costs.graph import CostGraph, Floats, Integers, cost_graph
from symveil.calibration.costs.step_loops import Arcs, EveryState
from symveil.calibration.limits import LIMITS
from symveil.calibration.path_loops import FINAL as AT_END
from symveil.calibration.path_loops import FROM_START, MIDDLE, Boxes, Powers, Ways, glanced_ratio, largest_ratio
from symveil.calibration.search import ANY, ProofEffort, ProvedLoss
from symveil.calibration.weighting import Weighting
from symveil.graphs.csr import Csr
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage, endless

_SMALLEST_LOG2 = -600.0  # of any weight of a block: far from underflow
_SETTLED = 1e-9  # relative change below which a hull is tried as an invariant one
_WIDER = 1e-7  # by how much it is enlarged for that

NOT, BY_PATHS, BY_PAIRS = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class ChainSearch:
    """What does not depend on the rate: the graph, its powers, where words start, which blocks are searched."""

    language: RunLanguage
    with_prior: bool
    graph: CostGraph
    length: int
    starts: NDArray[np.bool_]
    virtual: int
    powers: tuple[Any, ...]
    searched: tuple[tuple[int, int], ...]

    @property
    def accepting(self) -> NDArray[np.bool_]:
        """Where words may end."""
        return self.graph.final > 0


@dataclass(frozen=True, slots=True, eq=False)
class Hull:
    """low[t, y] ≤ γ(y|t) ≤ high[t, y] for every t with valid[t], at every position of every word.

    γ(y|t) is the weight of what comes before, or of what follows, if a word is in y instead of t; the mismatch of y
    against t is included.
    """

    low: Floats
    high: Floats
    valid: NDArray[np.bool_]


def chain_search(language: RunLanguage, *, adjacency: int, with_prior: bool) -> ChainSearch | None:
    """Prepare the search; None where boxes would be too large or too slow, or rounding could not be bounded."""
    graph = language.graph
    size, length = graph.state_count, language.largest_distance
    if not graph.is_chain or size > LIMITS.now.quick_states:
        return None
    chain = cost_graph(RunWeights(language=language, rate=Fraction(1), with_prior=with_prior))
    weight = chain.weight
    virtual = graph.start if chain.back[graph.start] == chain.back[graph.start + 1] else -1  # none of the chain's
    starts = np.zeros(size, dtype=np.bool_)
    starts[list(language.secret_starts)] = True
    if _hull_work(chain, length, virtual) > LIMITS.now.quick_box_work or weight.min(initial=1.0) < 2.0**-100:
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
        if counts[-1].nnz * float(graph.edge_count) / size > LIMITS.now.quick_path_work:
            searched.append((NOT, NOT))
            continue
        counts.append((counts[-1] @ ways).tocsr())
        powers.append((powers[-1] @ adjacent).tocsr())
        searched.append(_affordable(counts, block, virtual, from_start=virtual >= 0 and bool(starts[virtual])))
    for power in powers:
        power.sort_indices()
    return ChainSearch(language, with_prior, chain, length, starts, virtual, tuple(powers), tuple(searched))


def _hull_work(graph: CostGraph, length: int, virtual: int) -> float:
    """About how many multiplications the boxes of one rate take; pairs of states with a neighbour in common more."""
    work = 3.0 * graph.size * len(graph.other) * length
    ways = sparse.csr_matrix((np.ones(len(graph.other)), graph.other, graph.first), shape=(graph.size, graph.size))
    if virtual >= 0:
        ways = ways[np.arange(graph.size) != virtual]
    for moves in (ways.tocsr(), ways.T.tocsr()):
        shared = (moves @ moves.T).tocoo()
        apart = shared.row != shared.col
        degree = np.diff(moves.indptr).astype(np.float64)
        one, other = degree[shared.row[apart]], degree[shared.col[apart]]
        work += 8.0 * length * float((one * (one + other)).sum())
    return work


def _affordable(counts: list[Any], block: int, virtual: int, *, from_start: bool) -> tuple[int, int]:
    """How thoroughly one can look, in the middle and at the end: at all pairs of paths, at all paths, or not."""
    size = counts[0].shape[0]
    lists = np.asarray(counts[block - 1].sum(axis=1)).ravel()
    if virtual >= 0:
        lists[virtual] = np.asarray(counts[block - 1].sum(axis=0)).max() if from_start else 0.0
    if lists.max(initial=0.0) > LIMITS.now.block_list:
        return NOT, NOT
    density = [power.nnz / size for power in counts]
    touched = 2 * sum(density[i] * density[block - 1 - i] for i in range(block))
    squares = np.asarray(counts[block].multiply(counts[block]).sum(axis=1)).ravel()
    pairs = float(squares.sum()) - (0.0 if virtual < 0 or from_start else float(squares[virtual]))
    all_pairs = float((lists**2).sum())
    paths = float(lists.sum()) + float(counts[block - 1].sum())
    for_pairs, for_paths = LIMITS.now.quick_pair_work, LIMITS.now.quick_path_work
    inner = BY_PAIRS if pairs * touched + all_pairs < for_pairs else BY_PATHS if paths * touched < for_paths else NOT
    few = 2 * sum(density[:block])
    final = BY_PAIRS if all_pairs * few < for_pairs else BY_PATHS if paths * few < for_paths else NOT
    return inner, final


def chain_bounds(search: ChainSearch, rate: Fraction, adjacency: int) -> dict[Kind, Fraction]:
    """What blocks of each length up to `adjacency` are worth at one rate, inside a word and at its end."""
    weights = RunWeights(language=search.language, rate=rate, with_prior=search.with_prior)
    decay, excess = weights.mismatch, weights.match_excess
    longest = min(adjacency, search.length)
    smallest = math.log2(max(float(search.graph.weight.min(initial=1.0)), 1e-300)) * (longest + 1)
    if smallest - float(rate) * longest / math.log(2) < _SMALLEST_LOG2 or decay > 1 - 1e-9:
        return {kind: _worth(rate, kind, math.inf) for kind in _kinds(longest)}
    before, after = box_hulls(search, decay)
    jobs = []
    for block in range(1, longest + 1):
        prepared = _prepared(search, before, after, decay, block) if any(search.searched[block]) else None
        for where, each in zip(
            (INNER, FINAL), _jobs(search, before, after, decay, excess, block, prepared), strict=True
        ):
            jobs += [(Kind(where, block), job) for job in each]
    ratios = dict.fromkeys(_kinds(longest), 0.0)
    results = at_once(lambda job: float(job[1][0](*job[1][1:])), jobs)
    for (kind, _), ratio in zip(jobs, results, strict=True):
        ratios[kind] = max(ratios[kind], ratio)
    return {kind: _worth(rate, kind, ratio) for kind, ratio in ratios.items() if ratio > 0}  # 0: no word has one


def chain_loss(search: ChainSearch, rate: Fraction, adjacency: int) -> Fraction:
    """A bound on the loss at one rate: the largest sum over blocks that fit into a word."""
    return total_over_blocks(chain_bounds(search, rate, adjacency), search.length, min(adjacency, search.length))


@remembered(8)
def chain_boxes(weighting: Weighting) -> ChainSearch | None:
    """The search of a weighting, prepared once; None where the language is none of a chain, or it is not affordable."""
    language = weighting.language
    if weighting.with_shorter and not endless(language.graph).all():  # shorter words could begin where longer cannot
        return None
    return chain_search(language, adjacency=weighting.adjacency, with_prior=weighting.with_prior)


def loss_by_boxes(weighting: Weighting, rate: Fraction, _: ProofEffort = ANY) -> ProvedLoss | None:
    """The loss at a rate of exponential weights by Hamming distance; None without boxes.

    With shorter words those are meant that have more than b + 1 symbols, so that no block is a whole word.
    """
    search = chain_boxes(weighting)
    return None if search is None else ProvedLoss(chain_loss(search, rate, weighting.adjacency), "certified")


def _kinds(longest: int) -> list[Kind]:
    return [Kind(where, length) for length in range(1, longest + 1) for where in (INNER, FINAL)]


def _worth(rate: Fraction, kind: Kind, ratio: float) -> Fraction:
    """What a block with such a ratio is worth: the classic bound at most."""
    classic = rate * kind.length
    if ratio == math.inf:
        return 2 * classic
    return classic + min(Fraction(math.log(ratio) * (1 + 2.0**-50) + 2.0**-60), classic)


# --- boxes at every position --------------------------------------------------------------------------


def box_hulls(search: ChainSearch, decay: float) -> tuple[Hull, Hull]:
    """The boxes of what comes before, known exactly at the start, and of what follows, known exactly at the end."""
    graph, virtual, size = search.graph, search.virtual, search.graph.size
    first, other, weight = _without(virtual, graph.first, graph.other, graph.weight, leaving=True)
    back, earlier, behind = _without(virtual, graph.back, graph.earlier, graph.earlier_weight, leaving=False)
    levels, everywhere = (1 - np.eye(size, dtype=np.int16))[None], np.ones(size, dtype=np.bool_)
    own, slack = np.arange(size), slack_of(graph)
    moves = EveryState(
        Arcs(first, other, weight), Arcs(back, earlier, behind), np.array([[1.0], [decay]]),
        np.zeros((2, 1), dtype=np.int64), np.zeros(1, dtype=np.int64), own, levels,
    )  # fmt: skip

    def forwards(low: Floats, high: Floats, valid: NDArray[np.bool_]) -> Hull:
        return Hull(*next_boxes(moves, True, 0, 0, own, first, other, low, high, valid, everywhere, slack))

    def backwards(low: Floats, high: Floats, valid: NDArray[np.bool_]) -> Hull:
        return Hull(*next_boxes(moves, False, 0, 0, own, back, earlier, low, high, valid, everywhere, slack))

    def hull(forward: bool) -> Hull:
        if not forward:
            ends = np.broadcast_to(search.accepting.astype(np.float64), (size, size)).copy()
            boxes = _hull(backwards, Hull(ends, ends, search.accepting), max(search.length - 1, 0))
            same = np.eye(size, dtype=np.bool_)
            least, most = (np.where(same, 1.0, decay * factor) for factor in (1 - slack, 1 + slack))
            return Hull(boxes.low * least, boxes.high * most, boxes.valid)
        exact = np.eye(size)
        if virtual < 0 or not search.starts[virtual]:
            return _hull(forwards, Hull(exact, exact, search.starts), search.length)
        boxes = _hull(forwards, _first_step(graph, virtual, decay, slack), search.length - 1)
        boxes.low[virtual] = boxes.high[virtual] = exact[virtual]
        boxes.valid[virtual] = True
        return boxes

    before, after = at_once(hull, (True, False))
    return before, after


def _without(
    virtual: int, first: Integers, other: Integers, weight: Floats, *, leaving: bool
) -> tuple[Integers, Integers, Floats]:
    """The edges but those of a start before the first symbol: after the first step no word is there."""
    edges = Csr(first=first, target=other)
    left = edges.restricted((edges.source if leaving else other) != virtual)
    return left.first, left.target, weight[left.number]


def _first_step(graph: CostGraph, virtual: int, decay: float, slack: float) -> Hull:
    """What comes before the first symbol of a word, exactly up to rounding."""
    weight, edges = np.zeros(graph.size), slice(int(graph.first[virtual]), int(graph.first[virtual + 1]))
    weight[graph.other[edges]] = graph.weight[edges]
    valid = weight > 0
    ratio = weight[None, :] / np.where(valid, weight, 1.0)[:, None] * decay * valid[:, None]
    low, high = ratio * (1 - slack), ratio * (1 + slack)
    low[valid, valid] = high[valid, valid] = 1.0
    return Hull(low, high, valid)


def _hull(step: Callable[[Floats, Floats, NDArray[np.bool_]], Hull], boxes: Hull, steps: int) -> Hull:
    """The union of the boxes of all steps, from the known ones.

    All are computed, so their union needs no argument, unless the word is long and the boxes have stopped moving: then
    the union is enlarged a little, and if one step maps it *into itself* it contains all later boxes, by induction,
    because a step of larger boxes is larger.
    """
    union = _united(boxes, boxes)
    for number in range(1, steps + 1):
        boxes = step(boxes.low, boxes.high, boxes.valid)
        tested = LIMITS.now.hull_steps <= number < steps and _is_inside(boxes, _enlarged(union, _SETTLED))
        union = _united(union, boxes)
        if tested:
            candidate = _enlarged(union, _WIDER)
            if _is_inside(step(candidate.low, candidate.high, candidate.valid), candidate):
                return candidate
    return union


def _united(one: Hull, other: Hull) -> Hull:
    """Boxes that hold those of both; a row that is not valid is empty."""
    low = other.low if other.valid.all() else np.where(other.valid[:, None], other.low, np.inf)
    if one is other:
        return Hull(low.copy(), other.high * other.valid[:, None], other.valid.copy())
    np.minimum(one.low, low, out=one.low)
    np.maximum(one.high, other.high, out=one.high)
    return Hull(one.low, one.high, one.valid | other.valid)


def _enlarged(hull: Hull, share: float) -> Hull:
    return Hull(hull.low / (1 + share), hull.high * (1 + share), hull.valid)


def _is_inside(inner: Hull, outer: Hull) -> bool:
    """Whether the inner boxes exist only where the outer do, and lie in them."""
    rows = inner.valid
    inside = (inner.low[rows] >= outer.low[rows]).all() and (inner.high[rows] <= outer.high[rows]).all()
    return bool(inside and not (rows & ~outer.valid).any())


# --- blocks of one length -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """For one block length: columns of A¹ … A^L, the weight of untouched pairs, the rounding of it all."""

    columns: tuple[NDArray[np.int64], NDArray[np.int64], Floats]
    all_inner: Floats
    all_final: Floats
    ends: Floats
    slack: float


def _prepared(search: ChainSearch, before: Hull, after: Hull, decay: float, block: int) -> _Prepared:
    size = search.graph.size
    slack = 16 * (block + 2) * (search.graph.widest + 8) * 2.0**-53
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
    accepting = search.accepting.astype(np.float64)
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
    before: Hull,
    after: Hull,
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
    end = [(AT_END, part) for part in np.array_split(ordinary, 2)]
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
    search: ChainSearch, before: Hull, after: Hull, decay: float, excess: float, block: int,
    prepared: _Prepared, thorough: int, kind: int, group: NDArray[np.int64],
) -> tuple[Any, ...]:  # fmt: skip
    graph, power = search.graph, search.powers[block]
    ways: Any = Ways(*graph.arcs, search.virtual, search.accepting)
    rows = power.indptr.astype(np.int64), power.indices.astype(np.int64), power.data
    powers: Any = Powers(*prepared.columns, *rows, prepared.ends)
    everything = prepared.all_final if kind == AT_END else prepared.all_inner
    boxes: Any = Boxes(before.low, before.high, after.low, after.high, after.valid, everything)
    loop: Any = largest_ratio if thorough == BY_PAIRS else glanced_ratio
    return loop, kind, group, ways, powers, boxes, decay, excess, block, prepared.slack
