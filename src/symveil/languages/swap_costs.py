"""The swap metric: a symbol costs as many swaps as it takes, each of them one that adjacent words can make.

Two symbols are related at a position if some two feasible words, at most b symbols apart, have them there. The cost
of a pair is its distance in that relation (docs/theory/certificates.md, *Swap metric*). Adjacent words then differ by
at most b, as under the Hamming distance, while words that no chain of adjacent words connects at that position are
far apart or, without a cap, never stand for each other: on a sparse network most mistakes become unlikely and none of
the privacy at b is lost. Protection beyond b is what is given up.

The relation is found by reachability, without words. On a chain two words differ in blocks of consecutive positions
between states that they share, so related states have a common ancestor k steps before and a common descendant l
steps after, k + l − 1 ≤ b; a block may also begin a word or end it. Elsewhere pairs of states are followed with the
number of differences so far. Both may relate too many symbols, never too few.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.errors import ParameterError, TooLargeError
from symveil.graphs.csr import Csr, offsets
from symveil.languages.costs import INFINITE, Cost, SymbolCosts, hamming
from symveil.languages.limits import LIMITS
from symveil.languages.runs import RunLanguage
from symveil.numbers.once import LastFew
from symveil.trellis.passes import Trellis, forward, through_edges
from symveil.trellis.semirings import BOOLEANS, LENGTHS

Booleans = NDArray[np.bool_]


def swap(language: RunLanguage, *, adjacency: int, cap: int | None = None) -> Cost:
    """The swap metric of a language for words at most `adjacency` symbols apart.

    b is the adjacency, `cap` the most that one symbol costs: with 1 that is the Hamming distance. Without a cap symbols
    that no chain of swaps connects never stand for each other.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=6, public_start=True)
    >>> cost = swap(words, adjacency=1)
    >>> cost.levels(2, np.array([1, 1, 0]), np.array([2, 3, 3])).tolist()      # b and c; b and d; a and d
    [1, -1, -1]
    """
    if cap is not None and cap < 1:
        raise ParameterError("cap", expected="a whole number, 1 or more", found=cap)
    if cap == 1:
        return hamming(language)
    relations = related(language, adjacency=adjacency)
    known: dict[int, int] = {}
    metrics: list[SymbolCosts] = []
    metric_of = []
    for relation in relations:
        if id(relation) not in known:
            known[id(relation)] = len(metrics)
            metrics.append(_metric_of(relation, cap))
        metric_of.append(known[id(relation)])
    longest = max((int(metric.level.max(initial=0)) for metric in metrics), default=0)
    values = tuple(Fraction(hop) for hop in range(longest + 1))
    if cap is not None:
        values = (*values[:cap], Fraction(cap))
    return Cost(
        name="swap" if cap is None else f"swap, at most {cap}",
        values=values,
        far=INFINITE if cap is None else len(values) - 1,
        metrics=tuple(metrics),
        metric_of=tuple(metric_of),
        hop_reach=adjacency,
    )


_metrics: LastFew[tuple[bytes, int | None], SymbolCosts] = LastFew(32)
"""Words of other lengths have the same relation at most positions, and with it the same metric."""


def _metric_of(relation: Any, cap: int | None) -> SymbolCosts:
    if relation.shape[0] > LIMITS.now.cached_metric_symbols:
        return _listed(_by_hops(relation, cap))
    return _metrics.of((_name(relation), cap), lambda: _listed(_by_hops(relation, cap)))


def _name(relation: Any) -> bytes:
    """A name for a relation: equal ones have equal names."""
    relation.sort_indices()
    return hashlib.sha256(relation.indptr.tobytes() + relation.indices.tobytes()).digest()


def _by_hops(relation: Any, cap: int | None) -> Any:
    """One more than the number of hops between every two symbols with less than `cap` between them, as one matrix.

    On large networks most pairs are many hops apart: they are kept once, by rows.
    """
    results = sparse.identity(relation.shape[0], dtype=np.int32, format="csr")
    frontier, hops = results, 0
    while frontier.nnz and (cap is None or hops + 1 < cap):
        following = _truth(frontier @ relation)
        frontier = following - following.multiply(results > 0)
        del following
        frontier.eliminate_zeros()
        hops += 1
        _check_room(results.nnz + frontier.nnz)
        results = results + frontier * np.int32(hops + 1)
    return results


def _listed(result: Any) -> SymbolCosts:
    result.sort_indices()
    return SymbolCosts(result.indptr.astype(np.int64), result.indices.astype(np.int32), result.data - np.int32(1))


def _check_room(entries: int) -> None:
    if entries > LIMITS.now.near_pairs:
        raise TooLargeError(
            f"swap metric: expected at most {LIMITS.now.near_pairs} pairs of near symbols, found more; "
            "give a smaller cap"
        )


def _truth(matrix: Any) -> Any:
    """1 where an entry is positive (products are summed in 32 bits: in 8 a sum of 256 ones would vanish)."""
    results = sparse.csr_matrix(matrix)
    results.data = np.ones(len(results.data), dtype=np.int32)
    return results


# --- the relation --------------------------------------------------------------------------------------------------


def related(language: RunLanguage, *, adjacency: int) -> list[Any]:
    """For each position a symmetric relation that holds all pairs of symbols which adjacent words can have there.

    Equal positions share one matrix (A × A, sparse, 1 where related, the diagonal left out).
    """
    graph = language.graph
    size = len(language.alphabet)
    positions = list(_chain_relations(language, adjacency) if graph.is_chain else _pair_relations(language, adjacency))
    if language.length > len(positions):  # a public first symbol is never swapped
        positions.insert(0, sparse.csr_matrix((size, size), dtype=np.int32))
    return _merged(positions)


def _merged(relations: list[Any]) -> list[Any]:
    """The same list, with one object for equal matrices."""
    seen: dict[bytes, Any] = {}
    merged = []
    for relation in relations:
        merged.append(seen.setdefault(_name(relation), relation))
    return merged


def start_states(language: RunLanguage) -> NDArray[np.int64]:
    """The states that a word may be in before the first symbol that may change."""
    graph = language.graph
    if not (language.public_start and language.length):
        return np.array([graph.start], dtype=np.int64)
    alive = language.alive[language.length - 1]
    targets = graph.target[graph.first[graph.start] : graph.first[graph.start + 1]]
    return np.unique(targets[alive[targets]]).astype(np.int64)


def live_states(language: RunLanguage) -> list[Booleans]:
    """For each number of symbols read (of those that may change), the states that a word can be in."""
    graph, symbols = language.graph, language.largest_distance
    starts = np.isin(np.arange(graph.state_count), start_states(language))
    paths = Trellis(edges=graph, length=symbols, semiring=BOOLEANS, final=graph.accepting)
    return [reached & language.alive[symbols - read] for read, reached in enumerate(forward(paths, starts))]


def _chain_relations(language: RunLanguage, adjacency: int) -> Iterator[Any]:
    graph, symbols = language.graph, language.largest_distance
    live = live_states(language)
    number: dict[bytes, int] = {}
    layer_of = [number.setdefault(layer.tobytes(), len(number)) for layer in live]
    masks = {layer_of[index]: layer for index, layer in enumerate(live)}
    source, size = graph.source, graph.state_count

    @cache
    def step(before: int, after: int) -> Any:
        remaining = masks[before][source] & masks[after][graph.target]
        ones = np.ones(int(remaining.sum()), dtype=np.int32)
        return sparse.csr_matrix((ones, (source[remaining], graph.target[remaining])), shape=(size, size))

    @cache
    def joined(layers: tuple[int, ...], towards: str) -> Any | None:
        """Pairs in the last layer with a common ancestor in the first, or the other way round; None: all pairs."""
        end = layers[0] if towards == "later" else layers[-1]
        if masks[end].sum() == 1:
            return None
        product = step(layers[0], layers[1])
        for before, after in pairwise(layers[1:]):
            product = _truth(product @ step(before, after))
        result = _truth(product.T @ product if towards == "later" else product @ product.T)
        _check_room(result.nnz)
        return result

    known: dict[tuple[object, ...], Any] = {}
    for index in range(1, symbols + 1):
        low, high = max(index - adjacency, 0), min(index + adjacency, symbols)
        key = (tuple(layer_of[low : high + 1]), index - low, high == symbols)
        if key not in known:
            before = [joined(tuple(layer_of[index - k : index + 1]), "later") for k in range(1, index - low + 1)]
            after = [joined(tuple(layer_of[index : index + k + 1]), "earlier") for k in range(1, high - index + 1)]
            if high == symbols:
                after.append(None)  # a block may end the word
            known[key] = _within(before, after, adjacency, masks[layer_of[index]], len(language.alphabet))
        yield known[key]


def _within(before: list[Any], after: list[Any], adjacency: int, live: Booleans, size: int) -> Any:
    """The union over k + l − 1 ≤ b of (k-th before) ∩ (l-th after), on the live states, without the diagonal."""
    everything = None
    results = sparse.csr_matrix((len(live), len(live)), dtype=np.int32)
    for k, ancestors in enumerate(before, start=1):
        for following, descendants in enumerate(after, start=1):
            if k + following - 1 > adjacency:
                break
            if ancestors is None and descendants is None:
                everything = live
            elif ancestors is None or descendants is None:
                results = results + (descendants if ancestors is None else ancestors)
            else:
                results = results + ancestors.multiply(descendants)
    if everything is not None:
        _check_room(int(everything.sum()) ** 2)
        column = sparse.csr_matrix(everything.astype(np.int32)[:, None])
        results = results + column @ column.T
    results = _truth(results)
    results = sparse.csr_matrix(results[:size, :size])
    results.setdiag(0)
    results.eliminate_zeros()
    return _truth(results)


def _pair_relations(language: RunLanguage, adjacency: int) -> Iterator[Any]:
    """Where states are not symbols: pairs of states with the number of differences before and after them."""
    graph, symbols = language.graph, language.largest_distance
    size, letters = graph.state_count, len(language.alphabet)
    if graph.edge_count**2 > LIMITS.now.edge_pairs:
        raise TooLargeError(
            f"swap metric: expected a model of at most {int(LIMITS.now.edge_pairs**0.5)} edges where symbols are not "
            f"states, found {graph.edge_count}; use the Hamming distance"
        )
    # a graph of pairs: two words at once, which differ where their edges read different symbols
    source = graph.source * size
    key = (source[:, None] + graph.source).reshape(-1)
    one, other = (each.astype(np.int32) for each in divmod(np.argsort(key, kind="stable"), graph.edge_count))
    differ = (graph.symbol[one] != graph.symbol[other]).astype(np.int32)
    both_end = np.logical_and.outer(graph.accepting, graph.accepting).reshape(-1)
    paths = Trellis(
        edges=Csr(
            first=offsets(np.bincount(key, minlength=size**2)),
            target=graph.target[one].astype(np.int64) * size + graph.target[other],
        ),
        length=symbols,
        semiring=LENGTHS,
        final=LENGTHS.ends(both_end),
        worth=lambda _: differ,
    )
    start = LENGTHS.ends(np.isin(np.arange(size**2), start_states(language) * (size + 1)))
    pairs_of_symbols = graph.symbol[one].astype(np.int64) * letters + graph.symbol[other]
    for differences in through_edges(paths, start):
        results = np.unique(pairs_of_symbols[(differences <= adjacency) & (differ == 1)])
        yield sparse.csr_matrix(
            (np.ones(len(results), dtype=np.int32), (results // letters, results % letters)), shape=(letters, letters)
        )
