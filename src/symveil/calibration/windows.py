"""Windows: a proved bound on ln Z(v)/Z(w) for any small system, whatever its symbols and states are.

See docs/theory/certificates.md.
β_k(y) is the weight of everything that can follow from state y with k symbols left, under the word's
remaining symbols. Layer by layer from the end, `next_boxes` bounds β_k(y)/β_k(t), t the word's own
state, and `next_ratios` bounds β^v_k(y)/β^w_k(y) for two words with a given number of differences
still to come; at the start the latter is Z(v)/Z(w). Both are known separately for every *window*, the
word's next h symbols, because a bound over all that may follow would believe contradictory
things about it. Symbols are compared and states carried along, so this holds for automata and
action systems as well as for chains; a step is sound because each quantity is a ratio, or a mean, of
the quantities one step nearer to the end with weights that lie in the boxes.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from symveil.calibration.answers import remembered
from symveil.calibration.costs.graph import Booleans, Integers, differences_after
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import ANY, ProofEffort, ProvedLoss
from symveil.calibration.weighting import Weighting
from symveil.calibration.window_loops import adjacent_windows, next_boxes, next_ratios
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """The windows with k symbols left, sorted, and the pairs of them that adjacent words can have."""

    alive: Booleans
    state: Integers
    symbols: Integers
    child_begin: Integers
    child_end: Integers
    pairs: Integers
    index: np.ndarray[tuple[int, ...], np.dtype[np.int32]]


@dataclass(frozen=True, slots=True, eq=False)
class WindowSearch:
    """What does not depend on the rate: the layers from the end of the word to its start."""

    language: RunLanguage
    with_prior: bool
    adjacency: int
    width: int
    layers: tuple[Layer, ...]
    starts: tuple[int, ...]


def window_search(
    language: RunLanguage, *, adjacency: int, with_prior: bool = False, width: int | None = None
) -> WindowSearch | None:
    """Windows of `width` symbols, by default the widest affordable of at most b + 2; None where none is."""
    symbols = language.largest_distance
    farthest = min(adjacency, symbols)
    weights = RunWeights(language=language, rate=Fraction(1), with_prior=with_prior).edge_weights
    if farthest == 0 or weights.min(initial=1.0) < 2.0**-100:
        return None
    for tried in range(farthest + 2, 0, -1) if width is None else (width,):
        layers = _layers(language, farthest, tried)
        if layers is not None:
            return WindowSearch(language, with_prior, farthest, tried, layers, language.secret_starts)
    return None


def window_loss(search: WindowSearch, rate: Fraction) -> Fraction:
    """A bound on the loss at a rate: over d, the largest rate·d + the bound for words d apart."""
    loss = Fraction(0)
    for distance, bound in enumerate(window_bounds(search, rate)):
        if distance > 0 and bound is not None:
            classic = rate * distance
            loss = max(loss, classic + (min(Fraction(bound), classic) if bound < math.inf else classic))
    return loss


@remembered(8)
def wide_windows(weighting: Weighting) -> WindowSearch | None:
    """The windows of a weighting, where they are affordable and, for a chain, wide enough to beat blocks."""
    search = window_search(weighting.language, adjacency=weighting.adjacency, with_prior=weighting.with_prior)
    narrow = search is not None and search.width <= weighting.farthest
    return None if narrow and weighting.language.graph.state_is_symbol else search


def loss_by_windows(weighting: Weighting, rate: Fraction, _: ProofEffort = ANY) -> ProvedLoss | None:
    """The loss at a rate of exponential weights by Hamming distance, for words of one length; None without windows."""
    search = None if weighting.with_shorter else wide_windows(weighting)
    return None if search is None else ProvedLoss(window_loss(search, rate), "certified")


def window_bounds(search: WindowSearch, rate: Fraction) -> list[float | None]:
    """For each distance up to b, a bound on ln Z(v)/Z(w) of words that far apart; None where there are none."""
    weights = RunWeights(language=search.language, rate=rate, with_prior=search.with_prior)
    decay, excess, weight = weights.mismatch, weights.match_excess, weights.edge_weights
    graph, farthest = search.language.graph, search.adjacency
    if decay < 2.0**-200:
        return [math.inf] * (farthest + 1)
    edges = (graph.first.astype(np.int64), graph.symbol.astype(np.int64), graph.target.astype(np.int64), weight)
    slack = 16 * (graph.widest + graph.state_count + 8) * 2.0**-53
    last = search.layers[0]
    low = np.broadcast_to(last.alive.astype(np.float64), (len(last.state), graph.state_count)).copy()
    high = low.copy()
    ratio = np.zeros((len(last.pairs), farthest + 1, graph.state_count))
    ratio[:, 0, :] = last.alive  # no symbols left, no differences left
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        for following, layer in pairwise(search.layers):
            parts = np.array_split(layer.pairs, 2) if len(layer.pairs) > LIMITS.now.window_pairs else [layer.pairs]
            ratios = [
                pool.submit(
                    next_ratios, *edges, decay, slack, layer.alive, following.alive, layer.symbols,
                    layer.child_begin, layer.child_end, part, following.index, low, high, ratio, farthest,
                )
                for part in parts
            ]  # fmt: skip
            low, high = next_boxes(
                *edges, decay, excess, slack, layer.alive, layer.state, layer.symbols[:, 0].copy(),
                layer.child_begin, layer.child_end, low, high,
            )  # fmt: skip
            ratio = np.concatenate([part.result() for part in ratios])
    first = search.layers[-1]
    largest = np.zeros(farthest + 1)
    for start in search.starts:
        both = (first.state[first.pairs[:, 0]] == start) & (first.state[first.pairs[:, 1]] == start)
        largest = np.maximum(largest, ratio[both, :, start].max(axis=0, initial=0.0))
    return [None if value == 0.0 else _logarithm(value) for value in largest.tolist()]


def _logarithm(value: float) -> float:
    """ln, rounded up, and at least 0: the two words may change places."""
    return max(math.log(value), 0.0) * (1 + 2.0**-50) + 2.0**-60 if value < math.inf else math.inf


def _layers(language: RunLanguage, farthest: int, width: int) -> tuple[Layer, ...] | None:
    """All layers, from the end of the word; None where they are too many or too large."""
    graph, symbols = language.graph, language.largest_distance
    size = graph.state_count
    if size * size > 4_000_000 or size * len(language.alphabet) ** width > 2**62:
        return None
    apart = _least_differences(language, farthest)
    if apart is None:
        return None
    layers: list[Layer] = []
    work, positions, cost = 0.0, 0, 0.0
    for left in range(symbols + 1):
        if _repeats(language, left, width):
            work += cost
            if work > LIMITS.now.window_pairs_work:
                return None
            layers.append(layers[-1])
            continue
        known = _windows(language, left, min(width, left))
        if known is None:
            return None
        state, read = known
        begin, end = _children(language, state, read, layers[-1] if layers else None)
        distance = apart[symbols - left]
        nothing, nowhere = np.empty((0, 2), dtype=np.int64), np.empty((0, 0), dtype=np.int32)
        count = adjacent_windows(read, state, distance, farthest, False, nothing, nowhere)
        degree = graph.edge_count / size
        cost = count * size * degree * (farthest * float(np.mean(end - begin)) ** 2 + 1)
        cost += len(state) * size * size * 8.0 * float(np.mean(end - begin))
        work += cost
        positions += len(state) ** 2
        many = count * (farthest + 1) * size > LIMITS.now.window_ratios or positions > LIMITS.now.window_positions
        if many or work > LIMITS.now.window_pairs_work:
            return None
        pairs = np.empty((count, 2), dtype=np.int64)
        index = np.full((len(state), len(state)), -1, dtype=np.int32)
        adjacent_windows(read, state, distance, farthest, True, pairs, index)
        layers.append(Layer(language.alive[left], state, read, begin, end, pairs, index))
    return tuple(layers)


def _repeats(language: RunLanguage, left: int, width: int) -> bool:
    """Whether the windows and pairs of a layer are those of the layer before, and lead to the same."""
    if language.largest_distance <= LIMITS.now.window_symbols or left < width + 2:
        return False
    alive = language.alive
    return all(alive[left - step] is alive[left - step - 1] for step in range(width + 2))


def _windows(language: RunLanguage, left: int, width: int) -> tuple[Integers, Integers] | None:
    """All windows with `left` symbols left that can be completed, sorted by state and symbols."""
    graph = language.graph
    origin = np.flatnonzero(language.alive[left]).astype(np.int64)
    now = origin
    read = np.empty((len(origin), 0), dtype=np.int64)
    for step in range(width):
        if graph.degrees[now].sum() > 50 * LIMITS.now.windows:
            return None
        row, edge = graph.expand(now)
        good = language.alive[left - step - 1][graph.target[edge]]
        row, edge = row[good], edge[good]
        read = np.column_stack([read[row], graph.symbol[edge].astype(np.int64)])
        origin, now = origin[row], graph.target[edge].astype(np.int64)
        if len(now) > LIMITS.now.windows:
            return None
    return origin, np.ascontiguousarray(read)


def _children(
    language: RunLanguage, state: Integers, read: Integers, following: Layer | None
) -> tuple[Integers, Integers]:
    """For each window the range of the windows that can come one step later."""
    if following is None:
        return np.zeros(len(state), dtype=np.int64), np.zeros(len(state), dtype=np.int64)
    graph, base = language.graph, len(language.alphabet)
    keys = graph.source * base + graph.symbol
    code = graph.target[np.searchsorted(keys, state * base + read[:, 0])].astype(np.int64)
    for column in range(1, read.shape[1]):
        code = code * base + read[:, column]
    width = following.symbols.shape[1]
    codes = following.state.copy()
    for column in range(width):
        codes = codes * base + following.symbols[:, column]
    span = base ** (width - read.shape[1] + 1)
    return np.searchsorted(codes, code * span), np.searchsorted(codes, (code + 1) * span)


def _least_differences(language: RunLanguage, farthest: int) -> list[Integers] | None:
    """For each position, how many differences it takes at least for two words to be in t and in t'.

    More than `farthest` differences are of no interest. In long words the least over all positions
    is taken, which only adds pairs: then the layers repeat and are kept once.
    """
    graph, size = language.graph, language.graph.state_count
    symbols = language.largest_distance
    if graph.edge_count**2 > 4_000_000 or graph.edge_count**2 * symbols > 200_000_000:
        return None
    now = np.full((size, size), farthest + 1, dtype=np.int64)
    for start in language.secret_starts:
        now[start, start] = 0
    differ = (graph.symbol[:, None] != graph.symbol[None, :]).astype(np.int64)
    layers, least = [now], now.copy()
    for _ in range(symbols):
        before, now = now, differences_after(now, graph.source, graph.target.astype(np.int64), differ, farthest + 1)
        if symbols <= LIMITS.now.window_symbols:
            layers.append(now)
            continue
        least = np.minimum(least, now)
        if np.array_equal(before, now):  # and so for ever
            break
    return layers if symbols <= LIMITS.now.window_symbols else [least] * (symbols + 1)
