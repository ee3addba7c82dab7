"""What a rate loses under any cost and prior: a proved bound, and the worst pair of words that was found.

See docs/theory/certificates.md. `proved_loss` is one evaluation: it proves that a rate keeps within ε, or says what is
known instead. `rates` searches for the largest rate with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from symveil.calibration.costs.blocks import BlockValues, Kind, Outcome, kinds, root_work, total_over_blocks, worths
from symveil.calibration.costs.boxes import is_affordable, longest_window
from symveil.calibration.costs.graph import CostGraph, cost_graph
from symveil.calibration.costs.local import LocalSearch, balls_within, has_balls
from symveil.calibration.costs.pairs import Pair, pair_losses
from symveil.calibration.costs.search import BlockSearch
from symveil.calibration.enumeration import is_enumerable, loss_by_enumeration
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import ANY, ProofEffort, ProvedLoss
from symveil.calibration.weighting import Weighting
from symveil.laws.guarantee import How

_TOLERANCE = 2e-3  # of ε: how close what is proved and what is found need to come where a block is above its share
_NODE_WORK = (1.2e7, 2.5e8)  # edges × phases × nodes of one kind of block, if no number of nodes is given; for b > 2
_LARGEST_RATE = 100
_MOST_LEVELS = 32_000  # different costs: the compiled loops number them in 16 bits
MOST_EVALUATIONS = 12
SOME_EVALUATIONS = 6  # over balls: where a rate takes a minute on 100,000 states
FEW_EVALUATIONS = 3


def proved_loss(weighting: Weighting, rate: Fraction, effort: ProofEffort = ANY) -> ProvedLoss:
    """A proved bound on the loss at a rate, and the loss of the worst pair of words found on the way.

    The rate is η of exponential weights, or the height of a staircase's steps.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> rows = [(a, b, "1/3") for a in "abc" for b in "abc"]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=12)
    >>> found = proved_loss(Weighting(language=words, cost=hamming(words), adjacency=1), Fraction(2))
    >>> round(float(found.loss), 6)                                         # on Σⁿ exactly η
    2.0
    """
    if weighting.drops * rate == 0:
        return ProvedLoss(Fraction(0), "exact")
    if len(weighting.cost.values) > _MOST_LEVELS:
        return ProvedLoss(2 * weighting.drops * rate, "classic")
    enumerated = loss_by_enumeration(weighting, rate)
    if enumerated is not None:
        return replace(enumerated, loss=min(enumerated.loss, 2 * weighting.drops * rate))
    return searched_loss(weighting, rate, effort)


def searched_loss(weighting: Weighting, rate: Fraction, effort: ProofEffort = ANY) -> ProvedLoss:
    """As `proved_loss`, by boxes and blocks however few the words are."""
    classic = 2 * weighting.drops * rate
    if classic == 0:
        return ProvedLoss(classic, "exact")
    if len(weighting.cost.values) > _MOST_LEVELS:
        return ProvedLoss(classic, "classic")
    graph = cost_graph(weighting.weights(rate), with_shorter=weighting.with_shorter)
    if not graph.is_bounded or rate > _LARGEST_RATE:
        return ProvedLoss(classic, "classic")
    search: BlockValues
    step = float(weighting.largest_step)
    nodes = effort.nodes
    if effort.radius is None and _is_small(graph, weighting.adjacency):
        window = longest_window(graph, patient=effort.patient) if effort.window is None else effort.window
        search = BlockSearch(graph, weighting.adjacency, largest_step=step, window=window)
        work = _NODE_WORK[weighting.farthest > 2] / (len(graph.other) * graph.phases + 1)
        work *= LIMITS.now.patience if effort.patient else 1
        nodes = min(LIMITS.now.nodes, max(200, int(work))) if nodes is None else nodes
    else:
        near = None if weighting.with_shorter else balls_within(graph, effort.radius)
        if near is None:
            return ProvedLoss(classic, "classic")
        search = LocalSearch(graph, weighting.adjacency, near, largest_step=step)
        nodes = LIMITS.now.ball_pair_nodes if nodes is None else nodes
    return _searched(weighting, rate, search, classic, replace(effort, nodes=nodes))


def _is_small(graph: CostGraph, adjacency: int) -> bool:
    """Whether vectors over all states can be afforded."""
    boxes = 4.0 * graph.size * len(graph.other) * graph.phases * graph.steps
    return (
        is_affordable(graph) and boxes <= LIMITS.now.box_work and root_work(graph, adjacency) <= LIMITS.now.block_work
    )


def can_be_patient(weighting: Weighting) -> bool:
    """Whether longer windows than at first can be afforded."""
    graph = cost_graph(weighting.weights(Fraction(1)), with_shorter=weighting.with_shorter)
    return _is_small(graph, weighting.adjacency) and longest_window(graph, patient=True) > longest_window(graph)


def rates_that_can_be_tried(weighting: Weighting) -> int:
    """How many rates may be tried in some ten minutes; 0 where not even one."""
    if len(weighting.cost.values) > _MOST_LEVELS:
        return 0  # nothing is compared
    if is_enumerable(weighting):
        return MOST_EVALUATIONS  # every pair is compared at once
    graph = cost_graph(weighting.weights(Fraction(1)), with_shorter=weighting.with_shorter)
    if not _is_small(graph, weighting.adjacency):
        if weighting.with_shorter or not has_balls(graph):
            return 0
        return {1: MOST_EVALUATIONS, 2: SOME_EVALUATIONS}.get(weighting.farthest, FEW_EVALUATIONS)
    work = root_work(graph, weighting.adjacency)
    if work > LIMITS.now.all_rates_work / MOST_EVALUATIONS:
        return FEW_EVALUATIONS
    return MOST_EVALUATIONS


def takes_minutes(weighting: Weighting) -> bool:
    """Whether each rate takes so long that only a few are tried."""
    return rates_that_can_be_tried(weighting) <= FEW_EVALUATIONS


def _searched(
    weighting: Weighting,
    rate: Fraction,
    search: BlockValues,
    classic: Fraction,
    effort: ProofEffort,
) -> ProvedLoss:
    epsilon = effort.within
    steep = weighting.cost.period > 1
    fixed = weighting.drops * rate if steep else Fraction(0)
    share = -math.inf if epsilon is None else float(epsilon - fixed) / weighting.farthest
    tolerance = _TOLERANCE * float(epsilon if epsilon is not None else classic / 2)
    outcomes: dict[Kind, Outcome] = {}
    pairs: list[tuple[float, Pair]] = []
    reached, stalled = math.inf, False
    # short blocks first: what they leave of the budget is there for the long ones, which are many more
    listed = sorted(kinds(search.graph, weighting.adjacency), key=lambda kind: kind.length)
    for number, kind in enumerate(listed):
        result = search.largest(
            kind,
            target=_target(weighting, kind, share, outcomes, search.graph.steps) if share > 0 else -math.inf,
            nodes=effort.nodes or 0,
            stop_at=math.inf if epsilon is None else float(epsilon - fixed),
            tolerance=tolerance,
            report=_within(effort.report, number, len(listed)),
        )
        outcomes[kind] = result
        words = None if result.pair is None else result.pair.words(search.graph)
        if words is not None:
            pairs.append((float(pair_losses(weighting, rate, words[0][None, :], words[1][None, :])[0]), words))
        if epsilon is not None and pairs and pairs[-1][0] > epsilon:
            reached = float(fixed) + result.high * weighting.farthest / kind.length  # about: as many as fit
            stalled = result.high >= search.classic(kind) * (1 - 1e-9)
            break
        if not result.complete:
            reached = float(fixed) + result.high
            break
        if epsilon is not None and result.exists and result.high > float(epsilon - fixed) * (1 + 1e-9):
            reached = float(fixed) + result.high  # no sum that holds this kind can be within ε
            stalled = result.high >= search.classic(kind) * (1 - 1e-9)
            break
    pairs.sort(key=lambda pair: -pair[0])
    worst = pairs[0][0] if pairs else 0.0
    known, total = tuple(pair for _, pair in pairs), sum(result.nodes for result in outcomes.values())
    if len(outcomes) < len(listed) or not all(result.complete for result in outcomes.values()):
        return ProvedLoss(classic, "classic", worst, known, total, reached=reached, stalled=stalled)
    lengths = {kind: Fraction(kind.length) for kind, result in outcomes.items() if result.exists}
    farthest = int(total_over_blocks(lengths, search.graph.steps, weighting.adjacency))
    over_blocks = total_over_blocks(worths(outcomes), search.graph.steps, weighting.adjacency)
    bound = fixed + min(fixed, over_blocks) if steep else over_blocks
    how: How = "certified" if bound < classic else "classic"
    return ProvedLoss(min(bound, classic), how, worst, known, total, farthest, reached=float(bound))


def _target(weighting: Weighting, kind: Kind, share: float, outcomes: Mapping[Kind, Outcome], steps: int) -> float:
    """Below what a block is of no interest: its share of the budget, or all that shorter ones beside it leave."""
    target, most = share * kind.length, weighting.farthest
    if 2 * kind.length > most:
        beside = {known: result for known, result in outcomes.items() if known.length <= most - kind.length}
        target = max(target, share * most - float(total_over_blocks(worths(beside), steps, most - kind.length)))
    elif 2 * kind.length < most:  # few pairs: a lower aim costs little here and much is won for the long ones
        target /= 2
    return target * (1 - 2.0**-40)


def _within(report: Callable[[float], None], number: int, of: int) -> Callable[[float], None]:
    """Progress of one kind of block as a part of all of them."""
    return lambda share: report((number + min(share, 1.0)) / of)
