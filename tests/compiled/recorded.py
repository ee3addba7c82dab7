"""Calls of compiled loops as they were made: what certificates, searches, draws, verifications and comparisons ask."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from benchmarks.distances import near_copies, random_chain

import symveil as sv
from compiled.twins import Call, recording
from symveil.calibration.block_bounds import chain_loss, chain_search
from symveil.calibration.costs.boxes import longest_window
from symveil.calibration.costs.graph import cost_graph
from symveil.calibration.costs.loss import searched_loss
from symveil.calibration.costs.search import BlockSearch
from symveil.calibration.detours import detour_ratios
from symveil.calibration.enumeration import enumeration
from symveil.calibration.halves.rates import loss_by_halves
from symveil.calibration.limits import LIMITS
from symveil.calibration.search import ProofEffort
from symveil.calibration.weighting import Weighting
from symveil.calibration.windows import window_loss, window_search
from symveil.comparison.transport import cheapest_transport
from symveil.examples.paper_systems import grid_roads
from symveil.languages.costs import hamming
from symveil.languages.run_draws import draw_rows
from symveil.languages.run_weights import RunWeights
from symveil.languages.swap_costs import swap
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import NotPrivateSeededBits
from symveil.verification.limits import LIMITS as OF_PROOFS
from symveil.verification.linear_systems import Effort, FloatSystem
from symveil.verification.verify_privacy import verify_privacy

CHAIN = MarkovChain.from_transitions(
    [("a", "a", "1/4"), ("a", "b", "1/4"), ("a", "c", "1/2"), ("b", "c", "2/3"), ("b", "a", "1/3"), ("c", "a", 1)]
)


def even() -> sv.Language:
    """Words with an even number of b: an automaton whose states are not its symbols."""
    edges = [("even", "a", "even"), ("even", "b", "odd"), ("odd", "a", "odd"), ("odd", "b", "even")]
    return sv.runs(sv.Automaton.from_transitions(edges, initial="even", accepting=["even"]), length=5)


def certificates() -> None:
    """Searches of losses by boxes: with a public start and without, by swaps and by Hamming distance."""
    roads = sv.runs(grid_roads(3, seed=3), 6, public_start=True)
    free = sv.runs(grid_roads(3, seed=1), 5)
    near = Weighting(language=roads, cost=swap(roads, adjacency=2, cap=3), adjacency=2)
    searches: list[tuple[Weighting, Fraction, dict[str, Any]]] = [
        (near, Fraction(2), {"nodes": 40, "window": 1}),
        (near, Fraction(3), {"nodes": 30, "radius": 1}),
        (Weighting(language=free, cost=hamming(free), adjacency=2), Fraction(1), {"nodes": 60, "window": 2}),
        (Weighting(language=free, cost=hamming(free), adjacency=1), Fraction(1, 2), {"nodes": 60, "radius": 0}),
        (Weighting(language=even(), cost=hamming(even()), adjacency=2), Fraction(1), {"nodes": 40, "window": 0}),
    ]
    for weighting, rate, options in searches:
        searched_loss(weighting, rate, ProofEffort(**options))
        searched_loss(weighting, rate, ProofEffort(within=rate * weighting.adjacency, **options))


def counting() -> None:
    """Losses over enumerated words, over halves of words, and of detours."""
    for language in (sv.runs(CHAIN, 4), sv.runs(CHAIN, 3, public_start=True)):
        for cost in (hamming(language), swap(language, adjacency=2, cap=2)):
            for balanced in (False, True):
                weighting = Weighting(language=language, cost=cost, adjacency=2, balanced=balanced)
                every = enumeration(weighting)
                assert every is not None
                every.loss(Fraction(3, 2))
    for words in (sv.runs(CHAIN, 6), sv.runs(CHAIN, 5, public_start=True)):
        for adjacency in (1, 2):
            weighting = Weighting(language=words, cost=hamming(words), adjacency=adjacency)
            loss_by_halves(weighting, Fraction(3, 2))
            graph = cost_graph(weighting.weights(Fraction(1)), with_shorter=adjacency == 2)
            search = BlockSearch(graph, 2, largest_step=1.0, window=longest_window(graph, patient=True))
            detour_ratios(graph, search.left, search.right)


def weighted_chain(seed: int, size: int, degree: int) -> MarkovChain:
    """Each state leads to `degree` others."""
    random = np.random.default_rng(seed)
    rows = []
    for state in range(size):
        weights = random.integers(1, 9, degree)
        for target, weight in zip(random.choice(size, degree, replace=False), weights, strict=True):
            rows.append((f"{state}", f"{target}", Fraction(int(weight), int(weights.sum()))))
    return MarkovChain.from_transitions(rows)


def paths() -> None:
    """Blocks and windows: short words and long ones, with a prior and without, in pairs of paths and path by path."""
    for seed, (size, degree, length) in enumerate([(3, 2, 4), (5, 3, 6), (4, 4, 3), (9, 2, 12)]):
        for with_prior in (False, True):
            language = sv.runs(weighted_chain(seed, size, degree), length)
            if length < 10:
                windows = window_search(language, adjacency=2, with_prior=with_prior, width=2)
                assert windows is not None
                window_loss(windows, Fraction(1))
            for most in (3e9, 0):
                with LIMITS.changed(quick_pair_work=most):
                    search = chain_search(language, adjacency=2, with_prior=with_prior)
                assert search is not None
                for rate in ("1/100", "2", "8"):
                    chain_loss(search, Fraction(rate), 2)


def verifications() -> None:
    """Small chains that take the way of large ones."""
    chains = [
        (random_chain(18), "6/5"),
        (random_chain(24, degree=6, labels=3, seed=1), "3/2"),
        (random_chain(14, degree=2, labels=1, seed=2), "5"),
        (near_copies(8), "1"),
    ]
    with OF_PROOFS.changed(small_pairs=-1, exact_pairs=0):
        for chain, alpha in chains:
            states = chain.states[:4]
            pairs = [(one, other) for one in states for other in states if one != other]
            verify_privacy(chain, alpha=alpha, pairs=pairs, nodes=300, symmetric=False)


def draws() -> None:
    """Every kind of cost, prior and start; one word and several lanes full; a rate at which floats overflow."""
    for language in (sv.runs(CHAIN, 6), sv.runs(CHAIN, 5, public_start=True), sv.runs(CHAIN, 1)):
        words = language.enumerate_codes(at_most=10_000)
        kinds: list[dict[str, Any]] = [
            {}, {"with_prior": True}, {"balance": Fraction(1)}, {"cost": swap(language, adjacency=2, cap=2)}
        ]  # fmt: skip
        for rate in ("1/3", "2", "40"):
            for more in kinds:
                weights = RunWeights(language=language, rate=Fraction(rate), **more)
                assert min(weights.near_states) >= 0
                for rows in (1, 16, 37):
                    codes = np.resize(words, (rows, words.shape[1]))
                    for in_lanes in (True, False):
                        draw_rows(weights, codes, NotPrivateSeededBits(rows), in_lanes=in_lanes)


def comparisons() -> None:
    """Transport between lists of counts that are too large to be written out."""
    random = np.random.default_rng(3)
    for rows, columns in ((1, 1), (3, 2), (7, 12), (20, 15), (30, 40)):
        cost = random.integers(0, 9, (rows, columns)) / 9
        cheapest_transport(cost, random.integers(1, 10**5, rows), random.integers(1, 10**5, columns))


def systems() -> None:
    """Equations of random sub-stochastic matrices, iterated with every kind of effort."""
    random = np.random.default_rng(5)
    for count, degree in ((1, 1), (9, 3), (60, 5), (150, 2)):
        start = np.arange(0, count * degree + 1, degree)
        column, amount = random.integers(0, count, count * degree), random.random(count * degree) / degree
        system = FloatSystem(start=start, column=column, amount=amount)
        for effort in (Effort(sweeps=30, restarts=2, steps=5), Effort(restarts=2, steps=5, last_sweeps=9)):
            for goal in (1e-12, 1e-3, 0.0):
                system.iterated(random.random(count), np.zeros(count), goal=goal, effort=effort)


WORK: dict[str, Callable[[], None]] = {
    "symveil.calibration.costs.": certificates,
    "symveil.calibration.counting_loops.": counting,
    "symveil.calibration.": paths,
    "symveil.verification.distances.": verifications,
    "symveil.verification.linear_loops.": systems,
    "symveil.languages.": draws,
    "symveil.comparison.transport_loops.": comparisons,
}
"""What is done to record calls of the loops whose names begin so, and have no longer beginning here."""


@cache
def calls_of(home: str, most: int) -> tuple[Call, ...]:
    """The calls of these loops, at most so many of each."""
    calls: list[Call] = []
    with recording(calls, most):
        WORK[home]()
    longer = tuple(other for other in WORK if other != home and other.startswith(home))
    return tuple(call for call in calls if call.loop.startswith(home) and not call.loop.startswith(longer))
