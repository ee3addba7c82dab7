"""How little error is left on models: what `auto` takes, with its certificate, beside 0.2 and lower bounds.

Two averages that must not be compared: errors over recorded trips, as bars of the issue say, and multiples of the lower
bound, where both are averages over uniform feasible words.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import symveil as sv
from benchmarks.measure import Effort
from benchmarks.row import Benchmark, Row
from benchmarks.shanghai import trips_and_chain
from symveil.calibration.costs.rates import certify_cost
from symveil.calibration.graceful import certified_graceful_rate
from symveil.calibration.weighting import Weighting
from symveil.examples.paper_systems import grid_roads, town
from symveil.languages.costs import hamming
from symveil.languages.swap_costs import swap
from symveil.laws.protection import public_words
from symveil.mechanisms.code_law import excess
from symveil.models.alphabet import Codes

_LENGTH, _TRIPS, _WORDS = 20, 40, 1000  # of 60 words the mean is wrong by 4 %
_ON_TRIPS = (
    (1, 1, 0.36),
    (1, 2, 0.18),
    (2, 2, 1.6),
    (2, 4, 0.36),
    (2, 8, 0.010),
    (4, 4, 3.9),
    (4, 8, 0.30),
    (4, 16, 3e-4),
)
_ON_SHANGHAI = ((1, 1, 1.05), (1, 2, 1.05), (2, 4, 1.3), (2, 8, 1.2), (4, 16, 1.4))
_PLACES, _SMALL_LENGTH = 7, 4
_ON_SMALL = ((1, 1), (2, 2), (2, 4), (1, 2), (1, 3))
_LARGE = ((62, ((1, 2), (1, 8), (2, 2), (2, 8))), (196, ((1, 2), (1, 8), (2, 8))))  # crossings along a side
_WITH_DEGREES = {"mechanism": "exponential", "cost": "swap", "cap": 3, "prior": "degrees"}
_ON_SHANGHAI_WITH_DEGREES = ((2, 2, 2.0),)
_IN_TOWN = ((1, 2, 2.4), (1, 3, 1.6), (1, 4, 1.2), (2, 6, 2.2))
_PROMISED_SHANGHAI = ((1, 1), (2, 2), (2, 4), (4, 4), (4, 8), (4, 16))
_PROMISED_TOWN = ((1, 1), (1, 2), (1, 4), (2, 4))
_PROMISES = ("graceful", "nothing")
_FEW_WORDS, _FEWEST_WORDS, _FEW_EDGES = 200, 20, 500  # the law of the online mechanism takes long on large networks


def error(mechanism: sv.Mechanism, codes: Codes) -> float:
    """The mean number of wrong symbols over the words."""
    return float(mechanism.expected_errors(codes)[0].mean())


def on_trips(effort: Effort) -> Iterator[Row]:
    """Recorded trips of 20 links with a public start, beside the exponential mechanism of 0.2."""
    data = trips_and_chain()
    if data is None:
        yield Row(name="Shanghai, costs", ours=None, peer="", peer_time=None, quantity="symbols", note="no data here")
        return
    language = sv.runs(data[1], _LENGTH, public_start=True)
    trips = random.Random(0).sample([trip for trip in data[0] if len(trip) == _LENGTH], _TRIPS)
    codes = np.array([language.encode(trip) for trip in trips], dtype=np.int32)
    for adjacency, epsilon, bar in effort.of(_ON_TRIPS, _ON_TRIPS[:1]):
        before = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency)
        now = sv.select_mechanism(language, epsilon=epsilon, adjacency=adjacency, beyond="nothing")
        yield Row(
            name=f"Shanghai trips, b = {adjacency}, ε = {epsilon}: auto, {now.described}",
            ours=error(now, codes),
            peer="exponential mechanism by Hamming distance",
            peer_time=error(before, codes),
            quantity="symbols",
            limit=bar,
            note=f"{now.guarantee.how}; over {_TRIPS} recorded trips",
        )


def _multiples(
    title: str, language: sv.RunLanguage, settings: tuple[tuple[int, int, float], ...], **named: object
) -> Iterator[Row]:
    """What `auto` takes, or the mechanism that is named with its parameters."""
    words = public_words(language, _WORDS)
    for adjacency, epsilon, bar in settings:
        now = sv.select_mechanism(language, epsilon=epsilon, adjacency=adjacency, beyond="nothing", **named)
        before = sv.Exponential(language, epsilon=epsilon, adjacency=adjacency)
        least = sv.lower_bound(language, epsilon=epsilon, adjacency=adjacency)
        yield Row(
            name=f"{title}, b = {adjacency}, ε = {epsilon}: {'' if named else 'auto, '}{now.described}",
            ours=error(now, words),
            peer="the least error that privacy allows",
            peer_time=least.value,
            quantity="cost",
            limit=bar,
            note=f"{now.guarantee.how}; over {_WORDS} uniform words, the exponential mechanism of 0.2 "
            f"{error(before, words):.3g}; the bound {least.confidence or 'proved'}",
        )


def against_bounds(effort: Effort) -> Iterator[Row]:
    """Multiples of the lower bound over uniform feasible words: Shanghai (public start), the town (free start)."""
    data = trips_and_chain()
    if data is not None:
        language = sv.runs(data[1], _LENGTH, public_start=True)
        yield from _multiples("Shanghai", language, effort.of(_ON_SHANGHAI, _ON_SHANGHAI[:1]))
        with_degrees = effort.of(_ON_SHANGHAI_WITH_DEGREES, ())
        yield from _multiples("Shanghai, prior degrees", language, with_degrees, **_WITH_DEGREES)
    yield from _multiples("a network of 43 streets", sv.runs(town(), 9), effort.of(_IN_TOWN, ()))


def mean_and_interval(mechanism: sv.Mechanism, codes: Codes) -> tuple[float, float]:
    """The mean number of wrong symbols over drawn words, and half of its 95 % interval by the normal law."""
    errors = mechanism.expected_errors(codes)[0]
    return float(errors.mean()), 1.96 * float(errors.std(ddof=1)) / len(errors) ** 0.5


def promised(title: str, language: sv.RunLanguage, adjacency: int, epsilon: int, beyond: str) -> Iterator[Row]:
    """What `auto` takes under a promise, and under the graceful one what else keeps it, beside the bound for it."""
    words = public_words(language, _WORDS)
    asked = {"epsilon": epsilon, "adjacency": adjacency}
    least = sv.lower_bound(language, **asked, beyond=beyond)
    found = [("auto, ", sv.select_mechanism(language, **asked, beyond=beyond))]
    if beyond == "graceful":
        found += [("", sv.Online(language, **asked)), ("", sv.Exponential(language, **asked, calibration="classic"))]
    for how, mechanism in found:
        few = _FEW_WORDS if language.graph.edge_count <= _FEW_EDGES else _FEWEST_WORDS
        some = words[:few] if mechanism.name == "online" else words
        mean, half = mean_and_interval(mechanism, some)
        yield Row(
            name=f"{title}, b = {adjacency}, ε = {epsilon}, {beyond}: {how}{mechanism.described}",
            ours=mean,
            peer=f"the least error that the promise allows ({beyond})",
            peer_time=least.value,
            quantity="cost",
            note=f"{mechanism.guarantee.how}; ± {half:.2g} over {len(some)} uniform words; loses up to "
            f"{excess(mechanism):.3g} times (d/b)·ε; the bound {least.confidence or 'proved'}",
        )


def graceful_rates(effort: Effort) -> Iterator[Row]:
    """The rates that graceful certificates prove of large models, beside the classic ones, and how long they take."""
    cases = [("town, n = 9", sv.runs(town(), 9), 2, balanced) for balanced in effort.of((False, True), (False,))]
    data = trips_and_chain()
    if data is not None:
        shanghai = sv.runs(data[1], _LENGTH, public_start=True)
        cases += [("Shanghai, n = 20, public start", shanghai, ratio, False) for ratio in effort.of((4, 2), ())]
    for title, language, ratio, balanced in cases:
        weighting = Weighting(language=language, cost=hamming(language), adjacency=1, balanced=balanced)
        begin = time.process_time()
        result = certified_graceful_rate(weighting, per_position=Fraction(ratio))
        taken = time.process_time() - begin
        yield Row(
            name=f"graceful rate, {title}{', balanced' if balanced else ''}, ε/b = {ratio}",
            ours=taken,
            peer="",
            peer_time=None,
            quantity="seconds",
            unit="model",
            note=f"processor time; {float(result.rate):.4g} is proved" if result else "nothing above the classic rate",
        )


def both_promises(effort: Effort) -> Iterator[Row]:
    """Shanghai (public start) and the town (free start) under both promises, each beside its own lower bound."""
    data = trips_and_chain()
    if data is not None:
        language = sv.runs(data[1], _LENGTH, public_start=True)
        for adjacency, epsilon in effort.of(_PROMISED_SHANGHAI, ()):
            for beyond in _PROMISES:
                yield from promised("Shanghai", language, adjacency, epsilon, beyond)
    for adjacency, epsilon in effort.of(_PROMISED_TOWN, ()):
        for beyond in _PROMISES:
            yield from promised("a network of 43 streets", sv.runs(town(), 9), adjacency, epsilon, beyond)


def whole_file(effort: Effort) -> Iterator[Row]:
    """All trips with b = 4 by the staircase over swaps, beside the exponential mechanism by Hamming distance.

    Words are drawn by the same passes whatever rate was proved, so the classic one stands for a certified one here.
    """
    data = trips_and_chain()
    if data is None:
        return
    by_length: dict[int, list[list[str]]] = defaultdict(list)
    for trip in data[0]:
        if len(trip) <= effort.of(10**6, 8):
            by_length[len(trip)].append(trip)
    prepared = ready = was_ready = 0.0
    for length, trips in sorted(by_length.items()):
        language = sv.runs(data[1], length, public_start=True)
        codes = np.array([language.encode(trip) for trip in trips], dtype=np.int32)
        began = time.process_time()
        staircase = sv.Staircase(language, epsilon=16, adjacency=4, cost="swap", calibration="classic")
        staircase.release_codes(codes[:1])
        prepared += time.process_time() - began
        plain = sv.Exponential(language, epsilon=16, adjacency=4, calibration="classic")
        plain.release_codes(codes[:1])
        ready += _seconds(staircase, codes)
        was_ready += _seconds(plain, codes)
    count = sum(map(len, by_length.values()))
    yield Row(
        name=f"Shanghai, {count:,} trips, b = 4: staircase by swaps, released after certification",
        ours=ready,
        peer="exponential mechanism by Hamming distance",
        peer_time=was_ready,
        quantity="seconds",
        unit="file",
        limit=30.0,
        note=f"costs and steps of {len(by_length)} lengths {prepared:.1f} s before it",
    )


def _seconds(mechanism: sv.Mechanism, codes: Codes) -> float:
    began = time.process_time()
    mechanism.language.check_codes(mechanism.release_codes(codes))
    return time.process_time() - began


def large_networks(effort: Effort) -> Iterator[Row]:
    """Generated road networks of 1,000 links, or of 10,000 and 100,000: what a certificate takes, and its rate."""
    for side, settings in _LARGE if effort.thorough else ((20, ((1, 2),)),):
        language = sv.runs(grid_roads(side), _LENGTH, public_start=True)
        for adjacency, epsilon in settings:
            cost = swap(language, adjacency=adjacency, cap=8)
            weighting = Weighting(language=language, cost=cost, adjacency=adjacency)
            began = time.process_time()
            found = certify_cost(weighting, epsilon=Fraction(epsilon))
            classic = float(epsilon / (2 * weighting.drops))
            yield Row(
                name=f"certificate of {len(language.alphabet):,} links, b = {adjacency}, ε = {epsilon}",
                ours=time.process_time() - began,
                peer="",
                peer_time=None,
                quantity="seconds",
                unit="certificate",
                limit=600.0,
                note=f"{found.how}; rate {float(found.rate):.3f}, classic {classic:.3f}, at most {found.ruled_out:.3f}",
            )


def of_small_languages(effort: Effort) -> Iterator[Row]:
    """The linear programme's own mechanism on a small network, beside the best other mechanism and the lower bound."""
    language = sv.runs(never_far(), _SMALL_LENGTH)
    words = language.enumerate_codes(at_most=400)
    for adjacency, epsilon in effort.of(_ON_SMALL, _ON_SMALL[-1:]):
        optimal = sv.Optimal(language, epsilon=epsilon, adjacency=adjacency)
        other = sv.select_mechanism(language, epsilon=epsilon, adjacency=adjacency, beyond="nothing")
        least = sv.lower_bound(language, epsilon=epsilon, adjacency=adjacency, confidence=None)
        yield Row(
            name=f"{language.size} words of a ring road, b = {adjacency}, ε = {epsilon}: optimal",
            ours=optimal.expected_error,
            peer=f"auto, {other.described}",
            peer_time=error(other, words),
            quantity="symbols",
            note=f"{optimal.guarantee.how}; over all words; no private mechanism below {least.value:.4g}",
        )


def never_far() -> sv.MarkovChain:
    """Seven places on a ring with a bridge across: from each to the next ones only."""
    rows = []
    for place in range(_PLACES):
        onward = sorted({(place + 1) % _PLACES, (place + 2) % _PLACES, *((5,) if place == 1 else ())})
        rows += [(f"p{place}", f"p{other}", f"1/{len(onward)}") for other in onward]
    return sv.MarkovChain.from_transitions(rows)


BENCHMARKS: list[Benchmark] = [
    on_trips,
    against_bounds,
    graceful_rates,
    both_promises,
    of_small_languages,
    whole_file,
    large_networks,
]
