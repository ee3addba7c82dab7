"""The loss of a language of many short words: beginnings and ends of words are listed, and meet in the middle.

See docs/theory/two-sided.md, *Words that are halves*. Z(w) of a word is a product α·β of what its beginning and its end
are worth, so a table of beginnings times a table of ends has Z of every word: a hundred million words from some
ten thousand halves. Every pair of words that differ in one block is then compared, however large the rate is. What is
proved for blocks is exact, and for one hidden symbol so is the loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from symveil.languages.costs import INFINITE
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes
from symveil.privacy.calibration.calibrate import Weighting
from symveil.privacy.calibration.costs.blocks import FINAL, INITIAL, INNER, Kind
from symveil.privacy.calibration.costs.loss import ProvedLoss, total_over_blocks
from symveil.privacy.calibration.costs.outcome import Outcome
from symveil.privacy.calibration.costs.pairs import Pair, pair_losses
from symveil.privacy.calibration.meeting_groups import groups_of, worst_in_groups
from symveil.privacy.guarantee import How

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_BYTES = 400 << 20  # for the vectors of one table
_AT_ONCE = 50_000  # ratios of pairs: as many as a processor keeps at hand
_COMPARING = 150.0  # what comparing a word with others takes, in multiplications
_MOST_EXPONENT = 200.0
_THREADS = 2


def meeting_work(weighting: Weighting) -> float:
    """How many multiplications one rate takes; infinite where words are too many, too short, or no paths of a chain."""
    language, cost = weighting.language, weighting.cost
    graph = language.graph
    if not graph.state_is_symbol or not np.array_equal(graph.symbol, graph.target):
        return math.inf
    if language.length < weighting.adjacency + 3:
        return math.inf
    states = graph.edge_count + 1 if weighting.balanced else graph.state_count
    width = float(states * cost.phases)
    counts = _path_counts(language)
    split = _splits(language, weighting.adjacency)
    halves = max(counts[split[1] - 1], counts[language.length - split[0] - 1])  # about: paths from the start
    return math.inf if halves * width * 8 > _MOST_BYTES else 2 * counts[language.length] * (width + _COMPARING)


def _path_counts(language: RunLanguage) -> list[float]:
    """How many words of each length begin at the start, in floats."""
    graph = language.graph
    steps = sparse.csr_array(
        (np.ones(graph.edge_count), (graph.source, graph.target)), shape=(graph.state_count, graph.state_count)
    )
    now = np.zeros(graph.state_count)
    now[graph.start] = 1.0
    counts = [1.0]
    with np.errstate(over="ignore"):  # infinitely many are too many, which is all that is asked
        for _ in range(language.length):
            now = steps.T @ now
            counts.append(float(now.sum()))
    return counts


def _splits(language: RunLanguage, adjacency: int) -> tuple[int, int]:
    """After how many symbols words are cut: blocks that begin later lie in an end, all others in a beginning."""
    first = max(2 if language.public_start else 1, (language.length - adjacency) // 2)
    return first, first + adjacency


def met_loss(
    weighting: Weighting,
    rate: Fraction,
    *,
    epsilon: Fraction | None = None,
    heard: Callable[[float], None] | None = None,
) -> ProvedLoss | None:
    """The loss at a rate from the blocks of all pairs of words; None where weights leave the range of floats.

    Parameters
    ----------
    weighting
        The language with its costs, prior and adjacency, `meeting_work` of which is affordable.
    rate
        η of the exponential weights, or the height of a staircase's steps.
    epsilon
        If given, the search ends at the first block that alone is above it: the classic bound, with `reached` as what
        the block is worth, and its words.
    heard
        Is told which share of the work is done, and may raise an exception.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), length=8)
    >>> found = met_loss(Weighting(language=words, cost=hamming(words), adjacency=1), Fraction(2))
    >>> round(float(found.loss), 9), found.how                               # on Σⁿ exactly η
    (2.0, 'exact')
    """
    classic = 2 * weighting.drops * rate
    if classic == 0:
        return ProvedLoss(classic, "exact")
    tables = _Tables(weighting, weighting.weights(rate))
    if not tables.is_bounded:
        return None
    steep = weighting.cost.period > 1
    worst = _Worst()
    first, second = _splits(weighting.language, weighting.adjacency)
    fixed = weighting.drops * rate
    most = math.inf if epsilon is None else float(epsilon - fixed if steep else epsilon)
    told = heard or _silent
    for number, (split, in_ends) in enumerate(((first, True), (second, False))):
        told(number / 2)
        for share in tables.compare(split, first, in_ends, worst):
            told((number + share) / 2)
            if worst.value > most:
                reached = worst.value + (float(fixed) if steep else 0.0)
                return ProvedLoss(classic, "classic", pairs=worst.pairs[:1], reached=reached)
    widening = tables.rounding * (1 + worst.largest_log)
    outcomes = {kind: Outcome(high=value + widening, exists=True) for kind, (value, _) in worst.found.items()}
    over_blocks = total_over_blocks(outcomes, tables.steps, weighting.adjacency)
    bound = fixed + min(fixed, over_blocks) if steep else over_blocks
    pairs = worst.pairs
    losses = [0.0]
    if pairs:
        losses = pair_losses(weighting, rate, *(np.stack(each) for each in zip(*pairs, strict=True))).tolist()
    how: How = "exact" if weighting.adjacency == 1 and not steep else "certified"
    return ProvedLoss(min(bound, classic), how if bound < classic else "classic", max(losses), pairs)


def _silent(_: float) -> None:
    """Where nobody wants to know."""


@dataclass(frozen=True, slots=True, eq=False)
class _Half:
    """Beginnings or ends of words, and their vectors: [word, state, phase]."""

    words: Codes
    vectors: Floats

    @property
    def table(self) -> Floats:
        return self.vectors.reshape(len(self.words), -1)


@dataclass(slots=True)
class _Worst:
    """The largest value of each kind of block, and the words that have it."""

    found: dict[Kind, tuple[float, Pair]] = field(default_factory=dict)
    largest_log: float = 0.0

    @property
    def value(self) -> float:
        """The largest of all kinds, −∞ where there is none."""
        return max((value for value, _ in self.found.values()), default=-math.inf)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The words of each kind, the worst first."""
        return tuple(pair for _, pair in sorted(self.found.values(), key=lambda each: -each[0]))

    def merge(self, other: _Worst) -> None:
        """What was found elsewhere."""
        self.largest_log = max(self.largest_log, other.largest_log)
        for kind, (value, pair) in other.found.items():
            if kind not in self.found or value > self.found[kind][0]:
                self.found[kind] = (value, pair)


class _Tables:
    """Beginnings and ends of words with their vectors over states × phases, a symbol longer at a time."""

    def __init__(self, weighting: Weighting, weights: RunWeights) -> None:
        self._weighting, self._weights = weighting, weights
        self._language, self._costs = weights.language, weights.costs
        graph = weights.graph
        self._size, self._phases = graph.state_count, weights.costs.phases
        self._begin = 1 if self._language.public_start else 0
        self.steps = self._language.length - self._begin
        self._symbol_of = np.zeros(self._size, dtype=np.int64)
        self._symbol_of[graph.target] = graph.symbol  # on a chain the state says the symbol
        shape = (self._size, self._size)
        self._moves = sparse.csr_array((weights.edge_weights, (weights.edge_sources, graph.target)), shape=shape)
        chain = self._language.graph
        self._follows = np.zeros((chain.state_count, chain.state_count), dtype=np.bool_)
        self._follows[chain.source, chain.target] = True
        self._value = np.array([float(cost) for cost in self._costs.values])

    @property
    def is_bounded(self) -> bool:
        """Whether no word weighs so little, nor all of them so much, that floats could be lost."""
        weights, length = self._weights, self._language.length
        ends = weights.final_weights[weights.final_weights > 0].min(initial=1.0)
        lightest = length * math.log2(max(float(weights.edge_weights.min(initial=1.0)), 2.0**-1000)) + math.log2(ends)
        widest = int(np.bincount(weights.edge_sources).max(initial=1))
        return lightest > -_MOST_EXPONENT and length * math.log2(widest) < _MOST_EXPONENT

    @property
    def rounding(self) -> float:
        """More than the error of ln Z(v)/Z(w), for each unit of 1 + |ln Z|: sums of products of positive floats."""
        widest = int(np.bincount(self._weights.edge_sources).max(initial=1))
        operations = self._size * self._phases + (self._language.length + 2) * (2 * widest + 16)
        return 16 * operations * 2.0**-52

    # --- tables ----------------------------------------------------------------------------------

    def _factors(self, position: int) -> tuple[list[Floats], list[Integers]]:
        """κ of the true symbol against each state's, and the phase it leads to: by phase, [symbol, state]."""
        letters = np.arange(len(self._language.alphabet))
        levels = self._costs.levels(position, letters[:, None], self._symbol_of[None, :])
        finite = levels != INFINITE
        known = np.where(finite, levels, 0)
        weights = [np.where(finite, self._weights.step_weights[known, phase], 0.0) for phase in range(self._phases)]
        return weights, [self._costs.next_phase[known, phase] for phase in range(self._phases)]

    def beginnings(self, length: int) -> _Half:
        """All beginnings of words of that length, and what may stand in their place, by state and phase."""
        chain, phase = self._language.graph, self._costs.start_phase
        if self._begin:
            first = chain.symbol[list(chain.edges(chain.start))].astype(np.int32)
            vectors = np.zeros((len(first), self._size, self._phases))
            vectors[np.arange(len(first)), self._weights.first_states[first], phase] = 1.0
            half = _Half(first[:, None], vectors)
        else:
            vectors = np.zeros((1, self._size, self._phases))
            vectors[0, self._weights.graph.start, phase] = 1.0
            half = _Half(np.empty((1, 0), dtype=np.int32), vectors)
        for _ in range(self._begin, length):
            half = self._longer_beginnings(half)
        return half

    def _longer_beginnings(self, half: _Half, only: int | None = None) -> _Half:
        """With one more symbol: every one that can follow, or one."""
        chain, words = self._language.graph, half.words
        state = words[:, -1].astype(np.int64) if words.shape[1] else np.full(len(words), chain.start)
        if only is not None:
            kept = np.flatnonzero(self._follows[state, only])
            half, state = _Half(words[kept], half.vectors[kept]), state[kept]
        moved = [(self._moves.T @ half.vectors[:, :, k].T).T for k in range(self._phases)]
        if only is None:
            degree = np.diff(chain.first)[state]
            parent = np.repeat(np.arange(len(words)), degree)
            place = np.arange(len(parent)) - np.repeat(np.cumsum(degree) - degree, degree)
            symbol = chain.symbol[chain.first[state[parent]] + place]
        else:
            parent = np.arange(len(state))
            symbol = np.full(len(state), only, dtype=np.int32)
        weights, leads = self._factors(words.shape[1])
        vectors = np.zeros((len(parent), self._size, self._phases))
        lane, states = np.arange(len(parent))[:, None], np.arange(self._size)[None, :]
        for k in range(self._phases):
            vectors[lane, states, leads[k][symbol]] += moved[k][parent] * weights[k][symbol]
        return _Half(np.concatenate([half.words[parent], symbol[:, None]], axis=1).astype(np.int32), vectors)

    def ends(self, length: int) -> _Half:
        """All ends of words of that length, and what may follow in their place, by state and phase."""
        vectors = np.repeat(self._weights.final_weights[None, :, None], self._phases, axis=2)
        half = _Half(np.empty((1, 0), dtype=np.int32), vectors)
        for _ in range(length):
            half = self._longer_ends(half, np.unique(self._language.graph.symbol))
        return half

    def _longer_ends(self, half: _Half, letters: NDArray[np.integer]) -> _Half:
        """With one more symbol before them, one of these."""
        chain, words = self._language.graph, half.words
        follows = self._follows[letters][:, words[:, 0]] if words.shape[1] else chain.accepting[letters][:, None]
        row, parent = np.nonzero(follows)
        symbol = letters[row]
        weights, leads = self._factors(self._language.length - 1 - words.shape[1])
        states = np.arange(self._size)[None, :]
        moved = [
            (self._moves @ (half.vectors[parent[:, None], states, leads[k][symbol]] * weights[k][symbol]).T).T
            for k in range(self._phases)
        ]
        return _Half(np.concatenate([symbol[:, None], words[parent]], axis=1).astype(np.int32), np.stack(moved, axis=2))

    # --- pairs -----------------------------------------------------------------------------------

    def compare(self, split: int, first: int, in_ends: bool, worst: _Worst) -> Iterator[float]:
        """Compare all words with a block in their end, or in their beginning before `first`; how much is done."""
        shorter, shorter_ends = self.beginnings(split - 1), self.ends(self._language.length - split - 1)
        states: list[int] = np.unique(self._language.graph.symbol).tolist()
        longer = self._ends_by_symbol(shorter_ends, states)

        def compared(state: int) -> _Worst:
            before = self._longer_beginnings(shorter, state)
            following = np.flatnonzero(self._follows[state])
            if longer is None or not len(following):
                after = self._longer_ends(shorter_ends, following)
            else:
                after = _joined([longer[symbol] for symbol in following.tolist()])
            return self._compared(before, after, split, first, in_ends, _Worst())

        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            for begin in range(0, len(states), _THREADS):  # a few at a time, so that it can be interrupted
                for found in pool.map(compared, states[begin : begin + _THREADS]):
                    worst.merge(found)
                yield begin / len(states)

    def _ends_by_symbol(self, shorter: _Half, symbols: list[int]) -> dict[int, _Half] | None:
        """The ends that begin with each symbol: several states lead to one. None where they would take much memory."""
        first = shorter.words[:, 0] if shorter.words.shape[1] else np.empty(0, dtype=np.int32)
        rows = int(self._follows.sum(axis=0)[first].sum())
        if rows * self._size * self._phases * 8 > _MOST_BYTES:
            return None
        with ThreadPoolExecutor(max_workers=_THREADS) as pool:
            made = pool.map(lambda symbol: self._longer_ends(shorter, np.array([symbol])), symbols)
            return dict(zip(symbols, made, strict=True))

    def _compared(self, before: _Half, after: _Half, split: int, first: int, in_ends: bool, worst: _Worst) -> _Worst:
        if not len(before.words) or not len(after.words):
            return worst
        length = self._language.length
        known, other = (after, before) if in_ends else (before, after)
        totals = known.table @ other.table.T  # a row for each of the halves that blocks lie in
        worst.largest_log = max(abs(math.log(float(totals.max()))), abs(math.log(float(totals.min()))))
        begins = range(split, length) if in_ends else range(self._begin, first)
        until = length if in_ends else split - 1
        sizes = range(1, self._weighting.adjacency + 1)
        blocks = [(i, size) for size in sizes for i in begins if i + size <= until]
        self._pairs(known.words, split if in_ends else 0, blocks, totals, other.words, in_ends, worst)
        return worst

    def _pairs(
        self,
        strings: Codes,
        offset: int,
        blocks: list[tuple[int, int]],
        totals: Floats,
        others: Codes,
        in_ends: bool,
        worst: _Worst,
    ) -> None:
        def words(row: int, column: int) -> Codes:
            parts = (others[column], strings[row]) if in_ends else (strings[row], others[column])
            return np.concatenate(parts)

        logs = None if self._costs_alike else np.log(totals)
        for begin, size in blocks:
            if begin + size == self._language.length:
                kind = Kind(FINAL, size)
            else:
                kind = Kind(INITIAL if begin == 0 else INNER, size)
            order, first = groups_of(strings, begin - offset, size)
            if logs is None:
                found = self._within_groups(totals, order, first, size)
            else:
                found = self._one_by_one(strings, offset, begin, size, order, first, logs)
            for value, one, two, column in found:
                if kind not in worst.found or value > worst.found[kind][0]:
                    worst.found[kind] = (value, (words(one, column), words(two, column)))

    def _within_groups(
        self, totals: Floats, order: Integers, first: Integers, size: int
    ) -> Iterator[tuple[float, int, int, int]]:
        """The largest over the smallest Z of all groups: also of rows that differ in a part of the block only."""
        worst = worst_in_groups(totals, order, first)
        if worst is not None:
            fixed = float(self._weights.rate) * size if self._costs.period == 1 else 0.0
            yield math.log(worst[0]) + fixed, *worst[1:]

    @property
    def _costs_alike(self) -> bool:
        """Whether any two symbols that adjacent words can have at a position cost 1, as under Hamming and swaps."""
        return bool(self._weighting.largest_step == 1 and len(self._value) > 1 and self._value[1] == 1.0)

    def _one_by_one(
        self, strings: Codes, offset: int, begin: int, size: int, order: Integers, first: Integers, logs: Floats
    ) -> Iterator[tuple[float, int, int, int]]:
        """The worst pairs of rows that differ at every place of a block and nowhere else, what they cost included."""
        one, two = _pairs_in_groups(strings[:, begin - offset : begin - offset + size], order, first)
        fixed = np.zeros(len(one))
        if self._costs.period == 1:
            for place in range(begin, begin + size):
                own, other = strings[one, place - offset], strings[two, place - offset]
                fixed += float(self._weights.rate) * self._value[self._costs.levels(place, own, other)]
        step = max(1, _AT_ONCE // logs.shape[1])
        for start in range(0, len(one), step):
            part = slice(start, start + step)
            ratio = np.abs(logs[one[part]] - logs[two[part]])
            value = ratio.max(axis=1) + fixed[part]
            top = int(value.argmax())
            yield float(value[top]), int(one[start + top]), int(two[start + top]), int(ratio[top].argmax())


def _joined(halves: list[_Half]) -> _Half:
    """One after the other."""
    if len(halves) == 1:
        return halves[0]
    return _Half(np.concatenate([half.words for half in halves]), np.concatenate([half.vectors for half in halves]))


def _pairs_in_groups(blocks: Codes, order: Integers, first: Integers) -> tuple[Integers, Integers]:
    """All pairs of rows of a group whose blocks differ at every place."""
    group = np.searchsorted(first, np.arange(len(order)), side="right")
    sorted_blocks = blocks[order]
    ones, twos = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for apart in range(1, len(order)):
        same = np.flatnonzero(group[apart:] == group[:-apart])
        if not len(same):
            break
        differ = (sorted_blocks[same] != sorted_blocks[same + apart]).all(axis=1)
        ones.append(order[same[differ]])
        twos.append(order[same[differ] + apart])
    return np.concatenate(ones), np.concatenate(twos)
