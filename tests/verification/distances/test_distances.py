"""ld = lgd, the kernel and bd against C19's own linear programmes, in exact rationals."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings

from symveil.models.labelled_chain import LabelledChain
from symveil.numbers.conversions import fraction
from symveil.verification.distances import flows, simplex
from symveil.verification.distances.distances import Distances, lifting_bound, skewed_distances, symmetric_distances
from symveil.verification.distances.tables import ChainTable
from symveil.verification.limits import LIMITS

from . import oracle
from .chains import ALPHAS, labelled_chains, lumping_case, rare_event, relay_case


def values(distances: Distances) -> oracle.Matrix:
    size = distances.table.size
    assert distances.exact is not None
    return [[distances.value(s, t) for t in range(size)] for s in range(size)]


@pytest.mark.compiled
@settings(max_examples=10, deadline=None)
@given(chain=labelled_chains(most=8), alpha=ALPHAS)
def test_the_fixed_point_of_the_definition(chain: LabelledChain, alpha: Fraction) -> None:
    found = skewed_distances(ChainTable.of(chain), alpha)
    assert found.kernel.tolist() == oracle.kernel(chain, alpha)
    exact = values(found)
    assert oracle.operator(chain, alpha, exact) == exact
    # off the kernel it is positive, and by the theorem in the docs there is only one such fixed point
    assert all((value == 0) == found.kernel[s, t] for s, row in enumerate(exact) for t, value in enumerate(row))


@settings(max_examples=8, deadline=None)
@given(chain=labelled_chains(most=4, ending=True), alpha=ALPHAS)
def test_both_ends_meet(chain: LabelledChain, alpha: Fraction) -> None:
    """ld = lgd: value iteration from 0 and from 1 arrives at one place, which is ours."""
    found = values(skewed_distances(ChainTable.of(chain), alpha))
    size = len(chain.states)
    zero = oracle.kernel(chain, alpha)
    nothing = [[Fraction(0)] * size for _ in range(size)]
    everything = [[Fraction(0) if zero[s][t] else Fraction(1) for t in range(size)] for s in range(size)]
    for start in (nothing, everything):
        reached = oracle.iterated(chain, alpha, start, 24, lambda s, t: zero[s][t])
        for s in range(size):
            for t in range(size):
                assert abs(reached[s][t] - found[s][t]) < Fraction(1, 10**4), (s, t)


@settings(max_examples=20, deadline=None)
@given(chain=labelled_chains(most=8), alpha=ALPHAS)
def test_compiled_floats_agree_and_prove_it(chain: LabelledChain, alpha: Fraction) -> None:
    table = ChainTable.of(chain)
    exact = skewed_distances(table, alpha)
    with LIMITS.changed(small_pairs=-1):
        compiled = skewed_distances(table, alpha, exactness="never")
        again = skewed_distances(table, alpha)
    assert compiled.exact is None
    assert compiled.certificate is not None
    assert (compiled.kernel == exact.kernel).all()
    size = len(chain.states)
    for s in range(size):
        for t in range(size):
            bound = Fraction(float(compiled.upper[s, t]))
            assert exact.value(s, t) <= bound <= exact.value(s, t) + Fraction(1, 10**9)
    # and floats lead to the same rationals, where these are asked for
    if again.exact is not None:
        assert values(again) == values(exact)


@settings(max_examples=8, deadline=None)
@given(chain=labelled_chains(most=8), alpha=ALPHAS)
def test_certificates_pass_an_independent_check(chain: LabelledChain, alpha: Fraction) -> None:
    table = ChainTable.of(chain)
    with LIMITS.changed(small_pairs=-1):
        found = skewed_distances(table, alpha, exactness="never")
        both = symmetric_distances(table, alpha)
    for distances, symmetric in ((found, False), (both, True)):
        certificate = distances.certificate
        assert certificate is not None
        check_certificate(chain, alpha, certificate.distance, certificate.flows, symmetric=symmetric)


def check_certificate(
    chain: LabelledChain, alpha: Fraction, claimed: np.ndarray, flows: object, *, symmetric: bool
) -> None:
    """Γ(d) ≤ d from the flows alone, in Fractions; what a flow leaves behind counts as unshipped."""
    rows, size = oracle.rows_of(chain), len(chain.states)
    distance = [[Fraction(float(claimed[s, t])) for t in range(size)] for s in range(size)]
    seen = set()
    pairs, start = flows.pairs.tolist(), flows.start.tolist()  # type: ignore[attr-defined]
    for number, (s, t) in enumerate(pairs):
        seen.add((s, t))
        left = [rows[s][x] - alpha * rows[t][x] for x in range(size)]
        cost = Fraction(0)
        for place in range(start[number], start[number + 1]):
            i, j = divmod(int(flows.arc[place]), size)  # type: ignore[attr-defined]
            amount = Fraction(float(flows.amount[place]))  # type: ignore[attr-defined]
            assert amount >= 0
            left[i] -= amount
            left[j] += alpha * amount
            cost += amount * distance[i][j]
        cost += sum(max(Fraction(0), value) for value in left)
        assert cost <= distance[s][t], (s, t)
    inside = oracle.kernel(chain, alpha)
    for s in range(size):
        for t in range(size):
            if chain.labels[s] != chain.labels[t]:
                assert distance[s][t] == 1
            elif (s, t) not in seen:
                assert distance[s][t] == 0
                assert inside[s][t]
                assert not symmetric or inside[t][s]


def test_a_wrong_certificate_fails_the_check() -> None:
    """A check that cannot fail checks nothing."""
    chain = lumping_case()
    with LIMITS.changed(small_pairs=-1):
        certificate = skewed_distances(ChainTable.of(chain), Fraction(6, 5), exactness="never").certificate
    assert certificate is not None
    lowered = np.where(
        (certificate.distance > 0) & (certificate.distance < 1), certificate.distance - 1e-6, certificate.distance
    )
    with pytest.raises(AssertionError):
        check_certificate(chain, Fraction(6, 5), lowered, certificate.flows, symmetric=False)


@settings(max_examples=15, deadline=None)
@given(chain=labelled_chains(most=6), alpha=ALPHAS)
def test_the_symmetric_predecessor(chain: LabelledChain, alpha: Fraction) -> None:
    table = ChainTable.of(chain)
    both, one = symmetric_distances(table, alpha), skewed_distances(table, alpha)
    exact = values(both)
    assert oracle.operator(chain, alpha, exact, symmetric=True) == exact
    for s, row in enumerate(exact):
        for t, value in enumerate(row):
            assert value == exact[t][s]
            assert max(one.value(s, t), one.value(t, s)) <= value  # C19 Theorem 18
    with LIMITS.changed(small_pairs=-1):
        compiled = symmetric_distances(table, alpha)
    for s, row in enumerate(exact):
        for t, value in enumerate(row):
            assert value <= Fraction(float(compiled.upper[s, t])) <= value + Fraction(1, 10**9)


@settings(max_examples=6, deadline=None)
@given(chain=labelled_chains(most=3, ending=True), alpha=ALPHAS)
def test_the_symmetric_predecessor_is_the_least(chain: LabelledChain, alpha: Fraction) -> None:
    exact = values(symmetric_distances(ChainTable.of(chain), alpha))
    size = len(chain.states)
    distance = [[Fraction(0)] * size for _ in range(size)]
    for _ in range(24):
        image = oracle.operator(chain, alpha, distance, symmetric=True)
        distance = [[Fraction(round(value * 2**30), 2**30) for value in row] for row in image]
    for s in range(size):
        for t in range(size):
            assert abs(distance[s][t] - exact[s][t]) < Fraction(1, 10**4)


@pytest.mark.parametrize("small", [True, False])
def test_relays_and_lumping(small: bool, set_limits: Callable[..., None]) -> None:
    if not small:
        set_limits(LIMITS, small_pairs=-1)
    alpha = Fraction(6, 5)
    for chain, with_relays, expected in (
        (relay_case(with_relay=False), True, Fraction(3, 125)),
        (relay_case(with_relay=True), True, Fraction(0)),
        (relay_case(with_relay=True), False, Fraction(3, 125)),
        (lumping_case(), True, Fraction(7, 10)),
    ):
        found = skewed_distances(ChainTable.of(chain), alpha, relays=with_relays)
        assert found.exact_value(chain.number["s"], chain.number["t"]) == expected


def test_two_loops_that_look_alike_are_at_distance_0() -> None:
    """Γ alone has other fixed points here: plain iteration from 1 stays at 1."""
    chain = LabelledChain.from_transitions([("p", "p", 1), ("q", "q", 1)], labels={"p": "a", "q": "a"})
    for alpha in (Fraction(1), Fraction(2)):
        assert skewed_distances(ChainTable.of(chain), alpha).value(0, 1) == 0


@pytest.mark.parametrize("alpha", [Fraction(1), Fraction(6, 5), Fraction(20)])
@pytest.mark.parametrize("digits", [100, 310, 320, 400])
def test_chances_too_small_for_floats(digits: int, alpha: Fraction) -> None:
    """What underflows is not 0: neither ld, nor bd, nor the upper end of the bracket may say so."""
    chance = Fraction(1, 10**digits)
    chain = rare_event(chance)
    table, s, t = ChainTable.of(chain), chain.number["s"], chain.number["t"]
    for relays in (True, False):
        found = skewed_distances(table, alpha, relays=relays)
        assert found.certificate is not None  # these are the floats
        assert found.exact_value(s, t) == chance
        assert found.exact_value(t, s) == max(Fraction(0), 1 - alpha * (1 - chance))
        assert not found.kernel[s, t]
        bounded = skewed_distances(table, alpha, relays=relays, exactness="never")
        assert bounded.value(s, t) >= chance
        for distances in (found, bounded):
            bound = lifting_bound(distances, relays=relays)
            assert fraction(bound({s: fmpq(1)}, {t: fmpq(1)})) >= chance
            assert fraction(bound(dict(table.row(s)), dict(table.row(t)))) >= chance
    both = symmetric_distances(table, alpha)
    assert not both.kernel[s, t]
    assert both.value(s, t) >= chance


@pytest.mark.parametrize("seed", range(3))
def test_larger_chains_satisfy_the_definition_within_rounding(seed: int) -> None:
    """30 states: too many for rationals, so the certified values against one linprog per pair, in one sweep."""
    import random

    from scipy.optimize import linprog

    draw = random.Random(seed)
    size = 30
    rows = []
    for s in range(size):
        targets = draw.sample(range(size), 4)
        weights = [draw.randint(1, 9) for _ in targets]
        rows += [(f"{s}", f"{t}", Fraction(w, sum(weights))) for t, w in zip(targets, weights, strict=True)]
    chain = LabelledChain.from_transitions(
        rows, labels={f"{s}": f"{s % 3}" for s in range(size)}, states=[f"{s}" for s in range(size)]
    )
    alpha = Fraction(3, 2)
    found = skewed_distances(ChainTable.of(chain), alpha)
    exact_rows = np.array([[float(x) for x in row] for row in oracle.rows_of(chain)])
    d = np.asarray(found.upper)
    arcs = [(i, j) for i in range(size) for j in range(size) if i != j and d[i, j] < 1]
    matrix = np.zeros((len(arcs), size))
    for row, (i, j) in enumerate(arcs):
        matrix[row, i], matrix[row, j] = 1.0, -float(alpha)
    bounds = np.array([d[i, j] for i, j in arcs])
    for s, t in draw.sample([(s, t) for s in range(size) for t in range(size) if s != t and s % 3 == t % 3], 40):
        best = linprog(-(exact_rows[s] - float(alpha) * exact_rows[t]), A_ub=matrix, b_ub=bounds, bounds=(0, 1))
        assert -best.fun == pytest.approx(d[s, t], abs=1e-8)


@settings(max_examples=8, deadline=None)
@given(chain=labelled_chains(most=6), alpha=ALPHAS)
def test_blands_rule_arrives_at_the_same_distances(chain: LabelledChain, alpha: Fraction) -> None:
    """What keeps the simplex from going in circles, used from the first pivots on."""
    table = ChainTable.of(chain)
    usual = values(skewed_distances(table, alpha))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simplex, "_PATIENCE", 0.4)
        assert values(skewed_distances(table, alpha)) == usual


@pytest.mark.parametrize("count", [0, 1, 7, 1000])
@pytest.mark.parametrize("worth", [1, 10])
@pytest.mark.parametrize("workers", [1, 3])
def test_parts_cover_everything_once_and_answers_keep_their_order(
    count: int, worth: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "workers", lambda: workers)
    parts = flows.parts_of(count, worth=worth)
    assert [place for start, end in parts for place in range(start, end)] == list(range(count))
    assert flows.in_threads(lambda start, end: (start, end), parts) == parts
    assert len(parts) == 1 or all(end - start >= worth for start, end in parts)
