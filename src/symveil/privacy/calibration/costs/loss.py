"""What a rate loses under any cost and prior: a proved bound, and the worst pair of words that was found.

See docs/theory/cost-certificates.md. `proved_loss` is one evaluation: it proves that a rate keeps within ε, or says what is
known instead. `privacy/calibration/costs/rates.py` searches for the largest rate with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from symveil.errors import ParameterError, TooLargeError
from symveil.languages.costs import INFINITE, Cost
from symveil.languages.run_laws import log_totals
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.languages.swap_costs import related
from symveil.models.word import Codes
from symveil.privacy.calibration.costs.blocks import FINAL, INITIAL, INNER, WHOLE, Kind, kinds
from symveil.privacy.calibration.costs.boxes import is_affordable
from symveil.privacy.calibration.costs.enumeration import enumerated_loss
from symveil.privacy.calibration.costs.graph import cost_graph
from symveil.privacy.calibration.costs.search import BlockSearch, Outcome, Pair
from symveil.privacy.guarantee import How

Progress = Callable[[str], None]

_TOLERANCE = 2e-3  # of ε: how close what is proved and what is found need to come where a block is above its share
MOST_NODES = 20_000
_MOST_WORK = 4e9  # multiplications for the boxes of one rate


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting:
    """A language, its costs, its prior and b: everything about a mechanism but its rate."""

    language: RunLanguage
    cost: Cost
    adjacency: int
    with_prior: bool = False
    balanced: bool = False

    def weights(self, rate: Fraction) -> RunWeights:
        """The weights at a rate; a balanced prior is balanced for it."""
        return RunWeights(
            language=self.language,
            rate=rate,
            cost=self.cost,
            with_prior=self.with_prior and not self.balanced,
            balance=rate if self.balanced else None,
        )

    @property
    def farthest(self) -> int:
        """No two adjacent words differ in more symbols."""
        return min(self.adjacency, self.language.largest_distance)

    @cached_property
    def largest_step(self) -> Fraction:
        """The most that two symbols cost which adjacent words can have at the same position."""
        cost, most = self.cost, Fraction(0)
        if len(cost.values) == 2 and cost.far == 1 and all(metric.only_itself for metric in cost.metrics):
            return cost.values[1]
        try:
            relations = related(self.language, adjacency=self.farthest)
        except TooLargeError:
            if cost.far == INFINITE:
                raise
            return cost.values[-1]
        known: set[tuple[int, int]] = set()
        for position, relation in enumerate(relations):
            if (id(relation), cost.metric_of[position]) in known:
                continue
            known.add((id(relation), cost.metric_of[position]))
            one, two = relation.nonzero()
            levels = cost.levels(position, one, two)
            if (levels == INFINITE).any():
                raise ParameterError(
                    "costs",
                    expected="finite costs between all symbols that adjacent words can have at the same position",
                    found="an infinite one; give a cap",
                )
            most = max([most, *(cost.values[level] for level in np.unique(levels).tolist())])
        return most

    @cached_property
    def sensitivity(self) -> Fraction:
        """Δ: no more than this do the costs D(w, ·) and D(v, ·) of adjacent words differ."""
        return self.farthest * self.largest_step

    @property
    def drops(self) -> Fraction:
        """By how many rates ln κ(w, ·) and ln κ(v, ·) differ at most: half of what the classic bound loses."""
        if self.cost.period == 1:
            return self.sensitivity
        return Fraction(math.ceil(self.sensitivity / self.cost.period))


@dataclass(frozen=True, slots=True)
class ProvedLoss:
    """No pair of adjacent words loses more than `loss`; `worst_found` is what the worst pair found loses."""

    loss: Fraction
    how: How
    worst_found: float
    worst_pair: tuple[Codes, Codes] | None = field(default=None, repr=False, compare=False)
    nodes: int = 0
    farthest: int | None = None  # in how many symbols adjacent words differ at most, where that was found out


def proved_loss(
    setting: Setting,
    rate: Fraction,
    *,
    epsilon: Fraction | None = None,
    nodes: int = MOST_NODES,
    progress: Progress | None = None,
) -> ProvedLoss:
    """A proved bound on the loss at a rate, and the loss of the worst pair of words found on the way.

    Parameters
    ----------
    setting
        The language with its costs, prior and adjacency.
    rate
        η of the exponential weights, or the height of a staircase's steps.
    epsilon
        If given, the search ends as soon as it has proved that the loss is at most that, or found a pair above it.
    nodes
        How many nodes of the search may be split for each kind of block. Any number is sound, 0 too.
    progress
        Is told in a line how far the search is; may raise an exception to end it.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> rows = [(a, b, "1/3") for a in "abc" for b in "abc"]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=12)
    >>> found = proved_loss(Setting(language=words, cost=hamming(words), adjacency=1), Fraction(2))
    >>> round(float(found.loss), 6), round(found.worst_found, 6)            # on Σⁿ exactly η
    (2.0, 2.0)
    """
    if setting.drops * rate == 0:
        return ProvedLoss(Fraction(0), "exact", 0.0)
    enumerated = enumerated_loss(setting.weights(rate), setting.adjacency)
    if enumerated is not None:
        return ProvedLoss(min(enumerated.loss, 2 * setting.drops * rate), enumerated.how, enumerated.found)
    return searched_loss(setting, rate, epsilon=epsilon, nodes=nodes, progress=progress)


def searched_loss(
    setting: Setting,
    rate: Fraction,
    *,
    epsilon: Fraction | None = None,
    nodes: int = MOST_NODES,
    window: int | None = None,
    progress: Progress | None = None,
) -> ProvedLoss:
    """As `proved_loss`, by boxes and blocks however few the words are; with windows of a given length, if any."""
    classic = 2 * setting.drops * rate
    if classic == 0:
        return ProvedLoss(classic, "exact", 0.0)
    graph = cost_graph(setting.weights(rate))
    work = 4.0 * graph.size * len(graph.other) * graph.phases * graph.steps
    if not graph.is_bounded or not is_affordable(graph) or work > _MOST_WORK or float(rate) > 100:
        return ProvedLoss(classic, "classic", 0.0)
    search = BlockSearch(graph, setting.adjacency, largest_step=float(setting.largest_step), window=window)
    return _searched(setting, rate, search, classic, epsilon, nodes, progress or _silent)


def _silent(_: str) -> None:
    """Where nobody wants to know."""


def _searched(
    setting: Setting,
    rate: Fraction,
    search: BlockSearch,
    classic: Fraction,
    epsilon: Fraction | None,
    nodes: int,
    progress: Progress,
) -> ProvedLoss:
    steep = setting.cost.period > 1
    fixed = setting.drops * rate if steep else Fraction(0)
    share = -math.inf if epsilon is None else float(epsilon - fixed) / setting.farthest
    tolerance = _TOLERANCE * float(epsilon if epsilon is not None else classic / 2)
    outcomes: dict[Kind, Outcome] = {}
    worst, total = 0.0, 0
    pair: tuple[Codes, Codes] | None = None
    for kind in sorted(kinds(search.graph, setting.adjacency), key=lambda kind: -kind.length):
        found = search.largest(
            kind,
            target=share * kind.length * (1 - 2.0**-40) if share > 0 else -math.inf,
            nodes=nodes,
            stop_at=math.inf if epsilon is None else float(epsilon - fixed),
            tolerance=tolerance,
        )
        outcomes[kind] = found
        total += found.nodes
        if found.pair is not None:
            words = _codes(search, found.pair)
            if (loss := pair_loss(setting, rate, *words)) > worst:
                worst, pair = loss, words
        progress(
            f"blocks of {kind.length} ({kind.where}): at most {found.high:.4g}, found {found.low:.4g}, "
            f"{found.nodes} nodes"
        )
        if epsilon is not None and worst > epsilon:
            return ProvedLoss(classic, "classic", worst, pair, total)
    lengths = {kind: Outcome(high=float(kind.length), exists=found.exists) for kind, found in outcomes.items()}
    farthest = int(total_over_blocks(lengths, search.graph.steps, setting.adjacency))
    bound = (
        fixed + min(fixed, total_over_blocks(outcomes, search.graph.steps, setting.adjacency))
        if steep
        else (total_over_blocks(outcomes, search.graph.steps, setting.adjacency))
    )
    how: How = "certified" if bound < classic else "classic"
    return ProvedLoss(min(bound, classic), how, worst, pair, total, farthest)


def pair_loss(setting: Setting, rate: Fraction, word: Codes, other: Codes) -> float:
    """What two words lose at a rate, at least, in floats: the released word that is one of them."""
    totals = log_totals(setting.weights(rate), np.stack([word, other]))
    begin = 1 if setting.language.public_start else 0
    drop = setting.cost.drop(other, word[None, :], begin=begin)[0]
    return math.inf if drop is None else float(rate * drop) + abs(float(totals[1] - totals[0]))


def _codes(search: BlockSearch, pair: Pair) -> tuple[Codes, Codes]:
    """The two words as codes, a public first symbol included."""
    language = search.graph.weights.language
    lead = (int(search.graph.symbol[pair.start]),) if language.public_start and language.length else ()
    return np.array(lead + pair.own, dtype=np.int32), np.array(lead + pair.other, dtype=np.int32)


def total_over_blocks(outcomes: Mapping[Kind, Outcome], steps: int, adjacency: int) -> Fraction:
    """The largest sum over blocks that fit into a word together, `adjacency` symbols in all.

    A block that does not end the word is followed by a position that agrees; there is one at the beginning and
    one at the end at most. A word that is one block stands alone.
    """
    worth = {kind: Fraction(outcome.high) for kind, outcome in outcomes.items() if outcome.exists and outcome.high > 0}
    best: dict[tuple[int, int], Fraction] = {}

    def fill(differ: int, room: int) -> Fraction:
        if (differ, room) not in best:
            most = Fraction(0)
            for size in range(1, min(differ, room - 1) + 1):
                if (value := worth.get(Kind(INNER, size))) is not None:
                    most = max(most, value + fill(differ - size, room - size - 1))
            best[differ, room] = most
        return best[differ, room]

    most = max((value for kind, value in worth.items() if kind.where == WHOLE), default=Fraction(0))
    for begin in range(min(adjacency, steps) + 1):
        first = worth.get(Kind(INITIAL, begin), Fraction(0) if begin == 0 else None)
        if first is None:
            continue
        for end in range(min(adjacency - begin, steps) + 1):
            last = worth.get(Kind(FINAL, end), Fraction(0) if end == 0 else None)
            room = steps - end - (begin + 1 if begin else 0)
            if last is not None and room >= 0:
                most = max(most, first + last + fill(adjacency - begin - end, room))
    return most
