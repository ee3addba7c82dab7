"""The optimal mechanism: exact loss by enumeration, error against an independent linear programme and the lower bound.

The law is a table of whole numbers that a written document decides; the solver is believed in nothing.
"""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from flint import arb
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import symveil as sv
from symveil.bounds.programme import PrivacyProgramme
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.languages.cost_table import CostTable
from symveil.languages.language import runs_of_any_length
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.optimal_law import SolvedLaw
from symveil.mechanisms.optimal_programme import Programme
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.conversions import precision
from symveil.randomness.limits import LIMITS as BITS
from symveil.release.batch import ReleasePlan, privatize_batch

from .every_mechanism import COSTS, ROADS
from .random_models import distance, models, prior_by_definition, words_by_definition
from .test_optimal_documents import unsolved

AS_GOOD = 2e-7
"""The relative tolerance on the least error: the programme is solved for a loss that is 2⁻²⁶ smaller, and rounded."""
FEW_WORDS = 24


def chances(mechanism: Optimal) -> dict[tuple[str, ...], dict[tuple[str, ...], Fraction]]:
    """The table in rationals, by words."""
    symbols = mechanism.alphabet.symbols
    words = [
        tuple(symbols[code] for code in row) for row in mechanism.inputs(at_most=LIMITS.now.optimal_words)[0].tolist()
    ]
    rows, unit = mechanism.table.numerators.tolist(), 1 << mechanism.table.bits
    return {
        word: {other: Fraction(value, unit) for other, value in zip(words, row, strict=True)}
        for word, row in zip(words, rows, strict=True)
    }


def check_exactly(mechanism: Optimal, *, public_start: bool, reach: int) -> None:
    """Rows are laws, and no ratio of adjacent words exceeds e^ε or what is claimed; the claim is attained."""
    table = chances(mechanism)
    worst = Fraction(1)
    for word, other in itertools.permutations(table, 2):
        apart = public_start and word[0] != other[0]
        assert (table[word][other] == 0) == apart
        if distance(word, other) <= reach and not apart:
            own = [each for each in table if not (public_start and each[0] != word[0])]
            worst = max(worst, *(table[word][each] / table[other][each] for each in own))
    assert all(sum(row.values()) == 1 for row in table.values())
    assert worst == mechanism.table.ratio
    with precision(400):
        loss = arb(worst.numerator).log() - arb(worst.denominator).log()
        assert loss <= arb(mechanism.epsilon.numerator) / mechanism.epsilon.denominator
        claimed = mechanism.guarantee.loss
        assert claimed is not None
        excess = arb(claimed.numerator) / claimed.denominator - loss
        assert excess >= 0
        assert excess < 1e-12 * (1 + float(mechanism.epsilon))
    assert mechanism.guarantee.how == "exact"
    assert mechanism.guarantee.within(mechanism.epsilon)


def least_loss(words, losses, shares, epsilon: float, reach: int | None, public_start: bool) -> float:
    """The optimum of the programme, written from its definition and solved as it stands.

    Without a reach it is that of the graceful promise: ε for every place.
    """
    count, rows = len(words), []
    together = [[not public_start or not w or w[0] == v[0] for v in words] for w in words]
    for w, v in itertools.permutations(range(count), 2):
        apart = distance(words[w], words[v])
        if together[w][v] and (reach is None or apart <= reach):
            for x in range(count):
                row = np.zeros((count, count))
                row[w, x], row[v, x] = 1, -math.exp(epsilon if reach is not None else epsilon * apart)
                rows.append(row.ravel())
    sums = np.kron(np.eye(count), np.ones((1, count)))
    bounds = [(0, 1 if together[w][x] else 0) for w in range(count) for x in range(count)]
    found = linprog(
        (np.array(shares)[:, None] * losses).ravel(),
        A_ub=np.array(rows) if rows else None,
        b_ub=np.zeros(len(rows)) if rows else None,
        A_eq=sums,
        b_eq=np.ones(count),
        bounds=bounds,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return float(found.fun)


@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(
    model=models,
    length=st.integers(1, 4),
    epsilon=st.sampled_from(["1/3", "1", "2", "5"]),
    reach=st.integers(1, 3),
    public_start=st.booleans(),
    by_chain=st.booleans(),
    costs=st.booleans(),
)
def test_no_loss_above_epsilon_and_no_less_error(model, length, epsilon, reach, public_start, by_chain, costs) -> None:
    is_chain = isinstance(model, MarkovChain)
    words = words_by_definition(model, length)
    assume(1 < len(words) <= FEW_WORDS and (is_chain or not (public_start or by_chain)))
    language = sv.runs(model, length, public_start=public_start)
    symbols = language.alphabet.symbols
    given = {(one, two): 1 + (3 * i + 5 * j) % 4 / 4 for i, one in enumerate(symbols) for j, two in enumerate(symbols)}
    given = {pair: max(given[pair], given[pair[::-1]]) for pair in given}  # from 1 to 1.75: a metric
    table = None
    if costs and len(symbols) > 1:
        rows = [(one, two, given[one, two]) for one, two in itertools.combinations(symbols, 2)]
        table = CostTable.from_rows(rows)
    prior = "chain" if by_chain else "uniform"
    mechanism = sv.Optimal(language, epsilon=epsilon, adjacency=reach, prior=prior, costs=table)
    check_exactly(mechanism, public_start=public_start, reach=reach)

    shares = [float(prior_by_definition(model, word)) if by_chain else 1.0 for word in words]
    shares = [share / sum(shares) for share in shares]
    wrong = np.array([[distance(word, other) for other in words] for word in words], dtype=float)
    losses = wrong
    if table is not None:
        losses = np.array([
            [sum(given[a, b] for a, b in zip(word, other, strict=True) if a != b) for other in words] for word in words
        ])  # fmt: skip
    least = least_loss(words, losses, shares, float(Fraction(epsilon)), reach, public_start)
    assert mechanism.expected_cost == pytest.approx(least, rel=AS_GOOD, abs=1e-9)
    assert mechanism.expected_cost >= least * (1 - 1e-8) - 1e-12
    bound = sv.lower_bound(language, epsilon=epsilon, adjacency=reach, prior=prior, confidence=None)
    assert mechanism.expected_error >= bound.value


@pytest.mark.parametrize(
    ("alphabet", "length", "reach", "epsilon"),
    [("ab", 4, 1, "1"), ("abc", 3, 2, "3/2"), ("abcd", 2, 2, "4"), ("a", 3, 1, 1)],
)
def test_on_all_words_it_is_the_staircase(alphabet, length, reach, epsilon) -> None:
    words = sv.words(alphabet, length)
    mechanism = sv.Optimal(words, epsilon=epsilon, adjacency=reach)
    check_exactly(mechanism, public_start=False, reach=reach)
    staircase = sv.Staircase(words, epsilon=epsilon, adjacency=reach)
    assert mechanism.expected_error == pytest.approx(staircase.distances().expected_error, rel=AS_GOOD)
    # all words have one law of the distance, exactly
    laws = {
        tuple(mechanism.distances("".join(word)).probabilities) for word in itertools.product(alphabet, repeat=length)
    }
    assert laws == {tuple(mechanism.distances().probabilities)}


def test_the_closed_form_is_what_the_solver_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    words = sv.runs(ROADS, 4)
    quick = [sv.Optimal(words, epsilon=epsilon, adjacency=1, prior="chain") for epsilon in (3, 6)]
    assert all(each.programmes[0].closed_form(math.exp(each.epsilon)) is not None for each in quick)
    errors = [each.expected_error for each in quick]
    monkeypatch.setattr(Programme, "closed_form", lambda *_: None)
    solved = [sv.Optimal(words, epsilon=each.epsilon, adjacency=1, prior="chain").expected_error for each in quick]
    assert errors == pytest.approx(solved, rel=AS_GOOD)


@pytest.mark.parametrize(("epsilon", "reach"), [(1, 1), (1, 2), (2, 2), (3, 3)])
def test_rays_find_what_the_whole_programme_has(epsilon: int, reach: int) -> None:
    ring = [(f"p{i}", f"p{(i + step) % 5}", share) for i in range(5) for step, share in ((1, "2/3"), (2, "1/3"))]
    mechanism = sv.Optimal(sv.runs(MarkovChain.from_transitions(ring), 3), epsilon=epsilon, adjacency=reach)
    (programme,) = mechanism.programmes
    ratio = math.exp(epsilon)
    by_rays, whole = programme._by_rays(ratio), programme._solved(ratio)
    assert by_rays is not None
    assert programme.expected_loss(by_rays) == pytest.approx(programme.expected_loss(whole), rel=1e-8)
    assert by_rays.sum(axis=1) == pytest.approx(1, abs=1e-12)
    for word, other in programme.adjacent:
        assert (by_rays[word] <= by_rays[other] * ratio * (1 + 1e-12)).all()


def test_a_budget_too_small_for_rays_is_refused_with_the_count(set_limits) -> None:
    set_limits(LIMITS, solved_rows=100)
    mechanism = sv.Optimal(sv.runs(ROADS, 3), epsilon="1/10", adjacency=1, prior="chain")
    with pytest.raises(
        TooLargeError, match="at most 100 adjacent pairs × released words at this epsilon, found [0-9]+; "
    ):
        _ = mechanism.guarantee


def test_a_budget_that_is_next_to_nothing_needs_no_large_programme(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took seconds to minutes; the law of one output for all words is as good but for a share of about ε."""
    monkeypatch.setattr(PrivacyProgramme, "law", None)
    chain = sv.MarkovChain.from_transitions([(one, other, "1/4") for one in "abcd" for other in "abcd"])
    epsilon = Fraction(1, 1_000_000_007)
    mechanism = sv.Optimal(sv.runs(chain, 3), epsilon=epsilon, adjacency=1)
    assert mechanism.law.proved.within(epsilon)
    assert 2.25 * (1 - 6 * epsilon) <= mechanism.expected_error < 2.25


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-4", "30", "400", "1000000"])
def test_small_and_large_budgets(epsilon: str) -> None:
    mechanism = sv.Optimal(sv.runs(ROADS, 3), epsilon=epsilon, adjacency=2)
    check_exactly(mechanism, public_start=False, reach=2)
    bound = sv.lower_bound(mechanism.language, epsilon=epsilon, adjacency=2)
    assert mechanism.expected_error >= bound.value
    if float(epsilon) < 1:
        assert mechanism.expected_error <= bound.value * 1.2
    else:  # every wrong word has a chance of about e^−ε at most; beyond 600 nothing more is spent
        words = mechanism.inputs(at_most=100)[0]
        apart = np.stack([mechanism.distance(word, words) for word in words])
        assert mechanism.expected_error <= math.exp(-min(float(epsilon), 600)) * apart.sum() / len(words) * (1 + 1e-6)


@settings(max_examples=40)
@given(data=st.data(), epsilon=st.sampled_from(["1/1000000", "1/10", "1", "7"]), reach=st.integers(1, 3))
def test_whatever_the_solver_says_no_loss_is_above_epsilon(data, epsilon, reach) -> None:
    """Any table of non-negative numbers ends as a private law."""
    language = sv.runs(ROADS, 2)
    count = language.size
    cells = st.sampled_from([0.0, 1e-300, 1e-12, 0.1, 0.5, 1.0]) | st.floats(0, 1)
    table = np.array(data.draw(st.lists(cells, min_size=count**2, max_size=count**2))).reshape(count, count)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Programme, "proposal", lambda *_: table)
        check_exactly(sv.Optimal(language, epsilon=epsilon, adjacency=reach), public_start=False, reach=min(reach, 2))


# --- the graceful promise ------------------------------------------------------------------------------


def check_gracefully(mechanism: Optimal, *, public_start: bool) -> None:
    """Any two words lose at most (d/b)·ε, in whole numbers against a ball; rows are laws."""
    table = chances(mechanism)
    assert all(sum(row.values()) == 1 for row in table.values())
    worst: dict[int, Fraction] = {}
    for word, other in itertools.permutations(table, 2):
        if not (public_start and word[0] != other[0]):
            own = [each for each in table if not (public_start and each[0] != word[0])]
            apart = distance(word, other)
            worst[apart] = max(worst.get(apart, Fraction(1)), *(table[word][x] / table[other][x] for x in own))
    for apart, ratio in worst.items():
        with precision(400):
            loss = arb(ratio.numerator).log() - arb(ratio.denominator).log()
            allowed = mechanism.epsilon * apart / mechanism.adjacency
            assert loss <= arb(allowed.numerator) / allowed.denominator
        assert float(loss) <= mechanism.loss_at(apart) + 1e-12
    assert mechanism.guarantee.within(mechanism.epsilon)


@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(
    model=models,
    length=st.integers(1, 4),
    per_place=st.sampled_from(["1/3", "1", "2", "4"]),
    adjacency=st.integers(1, 3),
    public_start=st.booleans(),
)
def test_nothing_graceful_has_less_error(model, length, per_place, adjacency, public_start) -> None:
    words = words_by_definition(model, length)
    assume(1 < len(words) <= FEW_WORDS and (isinstance(model, MarkovChain) or not public_start))
    language = sv.runs(model, length, public_start=public_start)
    epsilon = Fraction(per_place) * adjacency
    mechanism = sv.Optimal(language, epsilon=epsilon, adjacency=adjacency, beyond="graceful")
    check_gracefully(mechanism, public_start=public_start)
    wrong = np.array([[distance(word, other) for other in words] for word in words], dtype=float)
    shares = np.full(len(words), 1 / len(words))
    least = least_loss(words, wrong, shares, float(Fraction(per_place)), None, public_start)
    assert mechanism.expected_error == pytest.approx(least, rel=AS_GOOD, abs=1e-9)
    assert mechanism.expected_error >= least * (1 - 1e-8) - 1e-12

    flat = Optimal.flat(language, sv.MechanismChoice(epsilon=epsilon, adjacency=adjacency, public_start=public_start))
    if flat is not None:
        check_gracefully(flat, public_start=public_start)
        assert flat.expected_error >= least * (1 - 1e-8) - 1e-12
        if all(each.closed_form(math.exp(Fraction(per_place))) is not None for each in flat.programmes):
            assert flat.expected_error == pytest.approx(least, rel=1e-6, abs=1e-9)


def chain_of(states: int, seed: int) -> MarkovChain:
    rng = np.random.default_rng(seed)
    ways = [np.unique([state, *rng.integers(states, size=2)]) for state in range(states)]
    return MarkovChain.from_transitions(
        [(f"s{i}", f"s{j}", Fraction(1, len(own))) for i, own in enumerate(ways) for j in own.tolist()]
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("per_place", "at_least"), [(2, 6), (4, 6)])
def test_the_flat_law_is_the_best_one_where_a_place_may_lose_two(seed: int, per_place: int, at_least: int) -> None:
    """Ratio 1 to the independent programme; it is also what auto takes, unless a plainer one is within 1 %."""
    language = sv.runs(chain_of(4, seed), 3)
    words = [tuple(row) for row in language.enumerate_codes(at_most=FEW_WORDS * 4).tolist()]
    assert at_least <= len(words) <= 40
    wrong = np.array([[distance(word, other) for other in words] for word in words], dtype=float)
    least = least_loss(words, wrong, np.full(len(words), 1 / len(words)), float(per_place), None, False)
    flat = Optimal.flat(language, sv.MechanismChoice(epsilon=per_place, adjacency=1))
    assert flat is not None
    assert all(each.closed_form(math.exp(per_place)) is not None for each in flat.programmes)
    assert flat.expected_error == pytest.approx(least, rel=1e-6)
    chosen = sv.select_mechanism(language, epsilon=per_place, adjacency=1)
    errors, _ = chosen.expected_errors(np.array(words, dtype=np.int32))
    assert least * (1 - 1e-8) <= errors.mean() <= least * 1.03


def test_a_law_that_loses_more_for_a_place_is_not_taken_for_a_graceful_one() -> None:
    language = sv.runs(ROADS, 4)
    graceful = sv.Optimal(language, epsilon=2, adjacency=1, beyond="graceful", solved="flat")
    assert graceful.remarks.given_up is None and excess(graceful) <= 1
    document = {**graceful.solved.document(), "adjacent_ratio": graceful.solved.ratio * 1.01}
    with pytest.raises(ParameterError, match=r"^law: expected a loss of at most epsilon, found a larger one$"):
        sv.Optimal(language, epsilon=2, adjacency=1, beyond="graceful", solved=SolvedLaw.from_document(document))
    with pytest.raises(ParameterError, match=r"^beyond: expected nothing or graceful for mechanism optimal"):
        sv.Optimal(language, epsilon=2, adjacency=1, beyond=2)
    split = MarkovChain.from_transitions([(a, b, "1/4") for a in "abcd" for b in "abcd"])
    assert Optimal.flat(sv.runs(split, 5), sv.MechanismChoice(epsilon=1, adjacency=1)) is None  # too many words


def test_the_flat_law_takes_no_linear_algebra_of_a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    language, choice = sv.runs(ROADS, 5), sv.MechanismChoice(epsilon=2, adjacency=1)
    (programme,) = sv.Optimal(language, epsilon=2, adjacency=1, beyond="graceful").programmes
    flat = programme.flat(math.exp(2))
    assert flat is not None
    assert np.diag(flat) == pytest.approx(np.linalg.solve(programme.decays(math.exp(2)), np.ones(len(flat))), rel=1e-10)
    monkeypatch.delattr(np.linalg, "solve")
    monkeypatch.setattr(np, "power", None)
    assert Optimal.flat(language, choice) is not None


def test_weights_below_nothing_are_refused_never_cut_off() -> None:
    language = sv.runs(chain_of(4, 0), 4)
    assert Optimal.flat(language, sv.MechanismChoice(epsilon="1/10", adjacency=1)) is None
    with pytest.raises(ParameterError, match="^solved: expected a language with weights above 0"):
        sv.Optimal(language, epsilon="1/10", adjacency=1, beyond="graceful", solved="flat")


# --- refusals ------------------------------------------------------------------------------------------


def test_a_large_language_is_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    unsolved(monkeypatch)
    with pytest.raises(
        TooLargeError, match=f"at most {LIMITS.now.optimal_words} words, found 59049 in .*take mechanism auto"
    ) as caught:
        sv.Optimal(sv.words("abc", 10), epsilon=1)
    assert "\n" not in str(caught.value)
    size = sv.runs(ROADS, 9).size
    with pytest.raises(TooLargeError, match=f"at most {LIMITS.now.optimal_words} words, found {size} in "):
        sv.Optimal(sv.runs(ROADS, 9), epsilon=1, adjacency=1)
    with pytest.raises(TooLargeError, match=f"at most {LIMITS.now.optimal_words} words, found more in "):
        sv.Optimal(sv.runs(ROADS, 10**5), epsilon=1, adjacency=1)
    with pytest.raises(
        TooLargeError, match=f"at most {LIMITS.now.optimal_rows} adjacent pairs × released words, found 14289858 in "
    ):
        sv.Optimal(sv.words("abc", 5), epsilon="1/4", adjacency="all")
    assert [each.rows for each in Optimal(sv.words("ab", 3), epsilon=1).programmes] == [8 * 3 * 8]
    with pytest.raises(ModelError):
        sv.Optimal(sv.runs(MarkovChain.from_transitions([("a", "b", 1)], states=["a", "b"]), 5), epsilon=1, adjacency=1)


def test_parameters_that_mean_nothing_are_refused() -> None:
    roads, words = sv.runs(ROADS, 2), sv.words("ab", 2)
    for wrong, of in (
        ({"prior": "x"}, roads),
        ({"prior": "chain"}, words),
        ({"cost": "given"}, roads),
        ({"cost": "swap"}, words),
        ({"cap": 2}, roads),
        ({"cost": "swap", "cap": 2}, roads),
        ({"costs": COSTS, "cost": "hamming"}, roads),
    ):
        with pytest.raises(ParameterError) as caught:
            sv.Optimal(of, epsilon=1, **wrong)
        assert "\n" not in str(caught.value)
    with pytest.raises(ParameterError, match="^language: expected words of one length"):
        sv.Optimal(runs_of_any_length(ROADS), epsilon=1, adjacency=1)  # type: ignore[arg-type]
    swap = sv.Optimal(roads, epsilon=1, adjacency=1, cost="swap")
    assert swap.digest == sv.Optimal(roads, epsilon=1, adjacency=1).digest
    assert swap.remarks.notes[0].startswith("cost: swap counts as hamming")
    apart = CostTable.from_rows([("a", "b", 1), ("c", "c", 0)])
    assert sv.Optimal(roads, epsilon=1, adjacency=1, costs=apart).expected_cost > 0  # capped where nothing else is said
    with pytest.raises(ParameterError, match="^cap: expected a whole number"):
        sv.Optimal(roads, epsilon=1, adjacency=1, costs=apart, cap="none")


def test_words_that_nothing_connects_are_said_to_be_told_apart() -> None:
    two = MarkovChain.from_transitions([("a", "a", 1), ("b", "b", 1)])
    mechanism = sv.Optimal(sv.runs(two, 4), epsilon=1, adjacency=1)
    assert mechanism.remarks.given_up is not None
    assert mechanism.expected_error < 1e-15
    assert mechanism.guarantee.epsilon == 0
    assert sv.Optimal(sv.runs(ROADS, 3), epsilon=1, adjacency=1).remarks.given_up is None


def test_a_word_depends_on_its_own_bits_only(set_limits) -> None:
    family = sv.select_mechanism(runs_of_any_length(ROADS), epsilon="1/2", mechanism="optimal", adjacency=1)
    plan = ReleasePlan(mechanism=family, release_id="r", release_key=bytes(32), sequence="s", identifier="id")
    words = [list("abaca"[: number % 4]) for number in range(400)]
    batch = pa.record_batch({"id": [f"{number}" for number in range(400)], "s": words})
    whole = privatize_batch(batch, plan).column("s").to_pylist()
    pieces = [privatize_batch(batch.slice(start, 7), plan).column("s").to_pylist() for start in range(0, 400, 7)]
    assert list(itertools.chain(*pieces)) == whole
    set_limits(BITS, filter_bits=2)  # the first bits hardly ever decide
    plan = replace(plan, mechanism=pickle.loads(pickle.dumps(family)))  # noqa: S301 - our own; nothing is kept from before
    assert privatize_batch(batch, plan).column("s").to_pylist() == whole
