"""Where opacity goes wrong: each trap a test with an answer that can be checked by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from by_definition import NOTIONS, Defined, shortest_violation
from random_systems import KS

import symveil as sv
from symveil.errors import InputError, ModelError, ParameterError, TooLargeError


def stochastic(rows: list[tuple], observable: str = "ab", secrets: str = "", **more: object) -> sv.StochasticSystem:
    return sv.StochasticSystem.from_transitions(
        rows, initial="0", observable=list(observable), secret=list(secrets), **more
    )


def logical(moves: str, initial: str = "0", observable: str = "ab", secrets: str = "") -> sv.LogicalSystem:
    """A system of moves such as "0a1 0u2"."""
    return sv.LogicalSystem.from_transitions(
        [tuple(move) for move in moves.split()],
        initial=list(initial), observable=list(observable), secret=list(secrets),
    )  # fmt: skip


LOOP = [("0", "a", "0", "1/2"), ("0", "b", "1", "1/4"), ("0", "u", "2", "1/4"), ("1", "a", "1", 1)]
EVERY_QUESTION = list(itertools.product(KS, NOTIONS))


class TestWhichStatesAreSecret:
    @pytest.mark.parametrize(("k", "notion"), EVERY_QUESTION)
    def test_none(self, k: int | str, notion: str) -> None:
        assert sv.verify_opacity(stochastic(LOOP), k, notion=notion).holds
        assert sv.violation_probability(stochastic(LOOP), k, notion=notion).exact == 0

    @pytest.mark.parametrize(("k", "notion"), EVERY_QUESTION)
    def test_all(self, k: int | str, notion: str) -> None:
        """Nothing needs to be observed."""
        verdict = sv.verify_opacity(stochastic(LOOP, secrets="012"), k, notion=notion)
        assert (verdict.holds, verdict.witness, verdict.exposed_after) == (False, (), 0)
        assert verdict.estimate == (("0",) if notion == "initial" else ("0", "2"))
        assert sv.violation_probability(stochastic(LOOP, secrets="012"), k, notion=notion).exact == 1
        assert sv.violation_probability(stochastic(LOOP, secrets="012"), k, notion=notion, within=0).exact == 1

    @pytest.mark.parametrize("k", KS)
    def test_the_initial_one(self, k: int | str) -> None:
        """At first {0, 2} are possible; whatever is seen next can only have happened from 0. Every run is through 0."""
        system = stochastic(LOOP, secrets="0")
        verdict = sv.verify_opacity(system, k)
        if k == 0:
            assert verdict.holds
            assert sv.violation_probability(system, k).exact == 0
        else:
            assert (len(verdict.witness), verdict.exposed_after, verdict.estimate) == (1, 0, ("0",))
            assert sv.violation_probability(system, k).exact == Fraction(3, 4)
        assert sv.verify_opacity(system, k, notion="strong").witness == ()
        assert sv.violation_probability(system, k, notion="initial").exact == 1

    @pytest.mark.parametrize(("k", "notion"), EVERY_QUESTION)
    def test_unreachable_ones(self, k: int | str, notion: str) -> None:
        system = stochastic([*LOOP, ("8", "a", "9", 1), ("9", "b", "0", 1)], secrets="89")
        assert sv.verify_opacity(system, k, notion=notion).holds
        assert sv.violation_probability(system, k, notion=notion).exact == 0

    def test_unreachable_ones_beside_a_reachable_one(self) -> None:
        system = stochastic([*LOOP, ("8", "b", "9", 1)], secrets="189")
        assert sv.verify_opacity(system, 0).estimate == ("1",)
        assert sv.violation_probability(system, 0).exact == Fraction(1, 2)


class TestUnobservableMoves:
    @pytest.mark.parametrize("k", KS)
    def test_the_reach_of_the_states_that_are_not_secret(self, k: int | str) -> None:
        """After a: {1, 2}, 2 secret. Only 2 can do b, but 1 becomes 2 unobserved: anyone who forgets that errs (§9)."""
        system = logical("0a1 1u2 2b3", secrets="2")
        assert sv.verify_opacity(system, k).holds
        assert sv.delayed_estimate(system, "ab", after=1) == ("1", "2")

    @pytest.mark.parametrize("k", KS)
    def test_but_no_single_run_avoids_it(self, k: int | str) -> None:
        verdict = sv.verify_opacity(logical("0a1 1u2 2b3", secrets="2"), k, notion="strong")
        assert verdict.holds is (k == 0)
        if k != 0:
            assert verdict.witness == ("a", "b")

    @pytest.mark.parametrize("k", KS)
    def test_from_a_secret_to_a_public_state(self, k: int | str) -> None:
        """After a: {1, 2}, 1 secret, and all that happens later happens from 2."""
        system = logical("0a1 1u2 2b3", secrets="1")
        assert sv.verify_opacity(system, k).holds
        assert sv.verify_opacity(system, k, notion="strong").witness == ("a",)

    def test_a_late_event_that_only_the_secret_allows(self) -> None:
        """After a: {1, 2, 3}. 3 –v→ 1 –u→ 2, but only the secret 2 does b."""
        hidden, given_away = logical("0a3 3v1 1u2 2b0", secrets="2"), logical("0a2 0a3 3v1 2b0", secrets="2")
        assert sv.verify_opacity(hidden, 1).holds
        verdict = sv.verify_opacity(given_away, 1)
        assert (verdict.witness, verdict.exposed_after, verdict.estimate) == (("a", "b"), 1, ("2",))
        assert sv.verify_opacity(given_away, 0).holds

    @pytest.mark.parametrize(("k", "notion"), EVERY_QUESTION)
    def test_self_loops_change_nothing(self, k: int | str, notion: str) -> None:
        plain = logical("0a1 0a2 1b0 2a0", secrets="2")
        looped = logical("0a1 0a2 1b0 2a0 0u0 1u1 2v2", secrets="2")
        assert sv.verify_opacity(looped, k, notion=notion) == sv.verify_opacity(plain, k, notion=notion)

    def test_self_loops_do_not_eat_probability(self) -> None:
        system = stochastic(
            [("0", "u", "0", "99/100"), ("0", "a", "1", "1/300"), ("0", "b", "2", "1/150")], secrets="1"
        )
        assert sv.violation_probability(system, 0).exact == Fraction(1, 3)

    def test_cycles(self) -> None:
        """0 ⇄ 1 unobserved, either may leave: by a into the secret from 0 only."""
        rows = [("0", "u", "1", "1/2"), ("1", "v", "0", "1/2"), ("0", "a", "2", "1/2"), ("1", "b", "3", "1/2")]
        system = stochastic(rows, secrets="2")
        assert sv.violation_probability(system, 0).exact == Fraction(2, 3)
        assert sv.violation_probability(system, 0, within=3).exact == Fraction(5, 8)

    def test_a_secret_in_a_cycle_is_never_alone(self) -> None:
        system = logical("0u1 1u0 0a0 1a1 0b1", secrets="1")
        assert sv.verify_opacity(system, "infinite").holds
        # b leads to 1, so no run after it avoids the secret
        assert sv.verify_opacity(system, 0, notion="strong").witness == ("b",)


class TestRunsThatGoOnForEverUnobserved:
    """Closed classes without a violation: I − A would be singular if they were kept."""

    @pytest.mark.parametrize("notion", ["weak", "strong"])
    @pytest.mark.parametrize("exact", [None, True, False])
    def test_a_closed_loop(self, notion: str, exact: bool | None) -> None:
        rows = [("0", "u", "2", "1/2"), ("0", "b", "1", "1/2"), ("2", "u", "2", 1)]
        value = sv.violation_probability(stochastic(rows, secrets="1"), 1, notion=notion, exact=exact)
        assert value.lower <= Fraction(1, 2) <= value.upper
        assert value.upper - value.lower < Fraction(1, 10**9)

    @pytest.mark.parametrize("exact", [None, True, False])
    def test_two_closed_classes_of_several_states(self, exact: bool | None) -> None:
        rows = [
            ("0", "u", "2", "1/5"), ("2", "u", "3", 1), ("3", "v", "2", 1),
            ("0", "v", "4", "1/5"), ("4", "u", "5", "1/3"), ("4", "v", "4", "2/3"), ("5", "u", "4", 1),
            ("0", "a", "0", "2/5"), ("0", "b", "1", "1/5"),
        ]  # fmt: skip
        value = sv.violation_probability(stochastic(rows, secrets="1"), "infinite", exact=exact)
        assert value.lower <= Fraction(1, 3) <= value.upper
        assert value.upper - value.lower < Fraction(1, 10**9)

    def test_a_closed_observable_class(self) -> None:
        rows = [("0", "a", "2", "2/3"), ("0", "b", "1", "1/3"), ("2", "a", "3", 1), ("3", "a", "2", 1)]
        assert sv.violation_probability(stochastic(rows, secrets="1"), 2).exact == Fraction(1, 3)

    def test_a_secret_in_a_closed_unobservable_class_is_not_noticed_there(self) -> None:
        """1 is secret and nothing more is ever seen: the observer cannot know that 0 was left."""
        system = stochastic([("0", "u", "1", 1), ("1", "u", "1", 1)], secrets="1")
        assert sv.violation_probability(system, "infinite").exact == 0
        assert sv.violation_probability(system, "infinite", notion="strong").exact == 0


class TestWhereRunsEnd:
    @pytest.mark.parametrize(("k", "notion"), EVERY_QUESTION)
    def test_one_state_and_no_transition(self, k: int | str, notion: str) -> None:
        system = stochastic([], states=["0"])
        assert sv.verify_opacity(system, k, notion=notion).holds
        assert sv.violation_probability(system, k, notion=notion).exact == 0
        secret = system.with_secret(["0"])
        assert sv.verify_opacity(secret, k, notion=notion).witness == ()
        assert sv.violation_probability(secret, k, notion=notion).exact == 1

    def test_only_unobservable_events_occur(self) -> None:
        system = stochastic([("0", "u", "1", 1), ("1", "v", "0", 1)], secrets="1")
        assert sv.verify_opacity(system, "infinite").holds
        assert sv.violation_probability(system, "infinite", within=7).exact == 0

    def test_the_end_of_a_run_is_not_observed(self) -> None:
        """After a the run is in 1 or in the secret 2, which has no way on; silence tells nothing."""
        system = logical("0a1 0a2 1a1", secrets="2")
        assert sv.verify_opacity(system, "infinite").holds
        ends = logical("0a1 0a2 2a2", secrets="2")
        assert sv.verify_opacity(ends, 1).witness == ("a", "a")

    def test_violations_before_the_end_count_once(self) -> None:
        """Every state after the violation is secret too: the first violation is all that counts."""
        rows = [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "a", "1", "1/2"), ("1", "b", "1", "1/2")]
        assert sv.violation_probability(stochastic(rows, secrets="1"), "infinite").exact == Fraction(1, 2)


class TestEventsAndStarts:
    @pytest.mark.parametrize(("k", "notion"), EVERY_QUESTION)
    def test_an_observable_event_that_never_occurs(self, k: int | str, notion: str) -> None:
        used, listed = (stochastic(LOOP, observable=names, secrets="1") for names in ("ab", "zaby"))
        assert sv.verify_opacity(listed, k, notion=notion) == sv.verify_opacity(used, k, notion=notion)
        values = [sv.violation_probability(s, k, notion=notion).exact for s in (used, listed)]
        assert values[0] == values[1]
        assert sv.delayed_estimate(listed, "z") == ()

    def test_several_initial_states(self) -> None:
        """Both starts are possible until b, which only the secret one can do."""
        system = logical("0a0 1a1 1b1", initial="01", secrets="1")
        for k, witness in ((0, ("b",)), (3, ("b",)), ("infinite", ("b",))):
            assert sv.verify_opacity(system, k).witness == witness
        verdict = sv.verify_opacity(system, notion="initial")
        assert (verdict.witness, verdict.exposed_after, verdict.estimate) == (("b",), 0, ("1",))

    def test_initial_secrets_are_judged_by_where_the_run_started(self) -> None:
        """2 is secret, and where every run from 0 ends: that is not about the initial state."""
        assert sv.verify_opacity(logical("0a2", secrets="2"), notion="initial").holds
        moved = sv.verify_opacity(logical("0a2 1a2 1b2", initial="01", secrets="1"), notion="initial")
        assert (moved.witness, moved.estimate) == (("b",), ("1",))

    def test_an_initial_state_reached_later_is_not_a_start(self) -> None:
        """1 is secret, initial, and reached from 0 unobserved; b is possible from both starts."""
        assert sv.verify_opacity(logical("0u1 1b1", initial="01", secrets="1"), notion="initial").holds

    def test_an_initial_state_that_is_secret_beside_one_that_is_not(self) -> None:
        assert sv.verify_opacity(logical("0a0 1a1", initial="01", secrets="0"), "infinite").holds

    def test_initial_opacity_has_no_k(self) -> None:
        system = logical("0a0 1a1 1b1", initial="01", secrets="1")
        first, *others = [sv.verify_opacity(system, k, notion="initial") for k in KS]
        assert all(other == first for other in others)
        assert first.property_name == "initial-state opacity"


class TestTruncatedHorizons:
    def test_true_value_1_but_three_per_cent_after_200_steps(self) -> None:
        system = stochastic([("0", "a", "0", "6566/6567"), ("0", "b", "1", "1/6567")], secrets="1")
        assert sv.violation_probability(system, 0).exact == 1
        simulated = sv.violation_probability(system, 0, within=200)
        assert simulated.exact == 1 - Fraction(6566, 6567) ** 200
        assert round(float(simulated), 3) == 0.03
        assert simulated.below("1/20") is True
        assert sv.violation_probability(system, 0).below(1) is False

    def test_the_same_by_a_walk_that_always_starts_again(self) -> None:
        """Twelve heads in a row before the secret: sure, and late."""
        rows = [(str(i), "a", str(i + 1), "1/2") for i in range(12)] + [(str(i), "b", "0", "1/2") for i in range(12)]
        system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=["12"])
        assert sv.violation_probability(system, 0).exact == 1
        assert 0.02 < float(sv.violation_probability(system, 0, within=200)) < 0.04

    def test_within_counts_events_and_not_observations(self) -> None:
        system = stochastic([("0", "u", "1", 1), ("1", "v", "2", 1), ("2", "a", "3", 1)], secrets="3")
        assert [sv.violation_probability(system, 0, within=n).exact for n in (0, 1, 2, 3, 4)] == [0, 0, 0, 1, 1]


class TestExtremeNumbers:
    def test_huge_denominators(self) -> None:
        """p, q and their rest have no common structure: the answer is p/(p+q) to the last digit."""
        p, q = Fraction(1, 10**40 + 7), Fraction(10**60 + 1, 3 * 10**61 + 9)
        system = stochastic([("0", "a", "0", 1 - p - q), ("0", "b", "1", p), ("0", "c", "2", q)], "abc", secrets="1")
        assert sv.violation_probability(system, 3).exact == p / (p + q)
        assert sv.violation_probability(system, 3, within=2).exact == p + (1 - p - q) * p

    def test_probabilities_below_every_float(self) -> None:
        p = Fraction(1, 10**500)
        system = stochastic([("0", "a", "2", 1 - p), ("0", "b", "1", p)], secrets="1")
        assert sv.violation_probability(system, 0).exact == p
        assert sv.violation_probability(system, 0, exact=False).upper >= p

    @pytest.mark.parametrize("notion", ["weak", "strong"])
    @pytest.mark.parametrize("moves", ["0a0 0a1 1a1 1a2 2a2", "0a0 0a1 1a1 1b1 0u2 2a2", "0a1 1a0 0u2 2b1 2a2 1b0"])
    def test_a_million_steps_and_infinitely_many_agree(self, moves: str, notion: str) -> None:
        """No answer takes more estimates because k is large (§9)."""
        system = logical(moves, secrets="1")
        infinite = sv.verify_opacity(system, "infinite", notion=notion)
        for k in (10**6, 10**30):
            million = sv.verify_opacity(system, k, notion=notion, most_states=10_000)
            assert (million.holds, million.witness) == (infinite.holds, infinite.witness)

    def test_a_million_steps_without_loops(self) -> None:
        rows = [("0", "a", "1", "1/3"), ("0", "u", "2", "2/3"), ("2", "a", "3", 1), ("1", "b", "4", 1)]
        system = stochastic(rows, secrets="1")
        assert sv.violation_probability(system, 10**6).exact == Fraction(1, 3)
        assert sv.violation_probability(system, 10**6, notion="strong").exact == Fraction(1, 3)


def long_memory(length: int) -> sv.StochasticSystem:
    """The observer has to remember the last `length` events: 2^length estimates, and no secret is ever given away."""
    third = Fraction(1, 3)
    rows = [("0", "a", "0", third), ("0", "b", "0", third), ("0", "u", "1", third), ("1", "a", "2", 1)]
    rows += [(str(i), e, str(i + 1), Fraction(1, 2)) for i in range(2, length) for e in "ab"]
    return sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b"], secret=[str(length)])


class TestTooLarge:
    def test_it_is_as_large_as_it_says(self) -> None:
        assert len(sv.observer(long_memory(11)).sets) == 2**10
        assert sv.verify_opacity(long_memory(11), 0).holds

    @pytest.mark.parametrize("notion", ["weak", "strong"])
    @pytest.mark.parametrize("ask", [sv.verify_opacity, sv.violation_probability])
    def test_estimates_are_bounded(self, ask: object, notion: str) -> None:
        with pytest.raises(TooLargeError, match=r"1000\b.*\bup to \d+ events; try") as caught:
            ask(long_memory(40), 2, notion=notion, most_states=1000)
        assert "\n" not in str(caught.value)
        assert "most_states" in str(caught.value)

    def test_the_observer_is_bounded(self) -> None:
        with pytest.raises(TooLargeError, match=r"1000\b.*; try") as caught:
            sv.observer(long_memory(40), most_states=1000)
        assert "\n" not in str(caught.value)

    def test_a_violation_found_before_the_bound_is_an_answer(self) -> None:
        system = long_memory(40).with_secret(["0", "1"])
        assert sv.verify_opacity(system, 0, most_states=1000).witness == ()

    def test_a_short_horizon_helps_as_the_advice_says(self) -> None:
        system = long_memory(40)
        assert sv.violation_probability(system, 2, within=6, most_states=1000).exact == 0


class TestRefusals:
    SYSTEM = stochastic(LOOP, secrets="1")

    @pytest.mark.parametrize("k", [-1, 1.5, True, None, "x", "-1", "", float("nan"), float("-inf"), [1], "1\n"])
    def test_k(self, k: object) -> None:
        for ask in (sv.verify_opacity, sv.violation_probability):
            with pytest.raises(ParameterError, match=r"^k: expected a whole number, 0 or more, or 'infinite', found"):
                ask(self.SYSTEM, k)

    @pytest.mark.parametrize("notion", ["Weak", "", None, 3, [], "current"])
    def test_notion(self, notion: object) -> None:
        for ask in (sv.verify_opacity, sv.violation_probability):
            with pytest.raises(ParameterError, match="^notion: expected one of weak, strong, initial, .*found"):
                ask(self.SYSTEM, 1, notion=notion)

    @pytest.mark.parametrize("within", [-1, 1.5, True, "3", [1]])
    def test_within(self, within: object) -> None:
        with pytest.raises(ParameterError, match="^within: expected a whole number of events, 0 or more, found"):
            sv.violation_probability(self.SYSTEM, 1, within=within)

    @pytest.mark.parametrize("theta", [0, 2, -1, "x", "", None, True, float("nan"), float("inf")])
    def test_theta(self, theta: object) -> None:
        with pytest.raises(ParameterError, match="^theta: expected a number above 0 and at most 1"):
            sv.violation_probability(self.SYSTEM, 1).below(theta)

    @pytest.mark.parametrize("most_states", [0, -1, "x", 1.5, True])
    def test_most_states(self, most_states: object) -> None:
        for ask in (sv.verify_opacity, sv.violation_probability, sv.observer):
            with pytest.raises(ParameterError, match="^most_states: expected"):
                ask(self.SYSTEM, most_states=most_states)

    @pytest.mark.parametrize("after", [-1, 3, 1.0, True, "1"])
    def test_after(self, after: object) -> None:
        with pytest.raises(ParameterError, match="^after: expected a whole number from 0 to 2, found"):
            sv.delayed_estimate(self.SYSTEM, "ab", after=after)

    @pytest.mark.parametrize("observation", ["az", ["a", "u"], ["a", None], ["a", 1]])
    def test_observations_are_refused_without_showing_them(self, observation: object) -> None:
        with pytest.raises(InputError, match="^observation: expected observable events .* at position 2$"):
            sv.delayed_estimate(self.SYSTEM, observation)

    def test_a_logical_system_has_no_probabilities(self) -> None:
        with pytest.raises(ModelError, match="logical system, which can only be verified"):
            sv.violation_probability(logical("0a0"), 1)

    def test_numbers_as_text_are_read(self) -> None:
        assert sv.verify_opacity(self.SYSTEM, "3") == sv.verify_opacity(self.SYSTEM, 3)


def test_the_traps_agree_with_the_definition() -> None:
    """The systems above that were judged by hand, once more by the oracle."""
    for moves, initial, secrets in [
        ("0a1 1u2 2b3", "0", "2"), ("0a1 1u2 2b3", "0", "1"), ("0a3 3v1 1u2 2b0", "0", "2"),
        ("0a2 0a3 3v1 2b0", "0", "2"), ("0u1 1u0 0a0 1a1 0b1", "0", "1"), ("0a1 0a2 1a1", "0", "2"),
        ("0a1 0a2 2a2", "0", "2"), ("0a0 1a1 1b1", "01", "1"), ("0u1 1b1", "01", "1"),
    ]:  # fmt: skip
        system = logical(moves, initial=initial, secrets=secrets)
        for k, notion in EVERY_QUESTION:
            found = sv.verify_opacity(system, k, notion=notion)
            assert shortest_violation(Defined(system), k, notion).agrees_with(found.witness)


def test_a_verdict_says_what_gave_the_secret_away() -> None:
    known_at_once = sv.verify_opacity(logical("0a0", secrets="0"), 0)
    assert repr(known_at_once) == (
        "OpacityVerdict(weak current-state opacity is violated by ε (before anything was observed): "
        "after 0 of its events the state was in {0})"
    )
    opaque = sv.verify_opacity(logical("0a0"), 0)
    assert (opaque.holds, opaque.reason, opaque.witness) == (True, "", None)
    assert "weak current-state opacity holds" in opaque._repr_html_()
    named = sv.LogicalSystem.from_transitions(
        [("0", "<go>", "1"), ("1", "<stop>", "2")], initial=["0"], observable=["<go>", "<stop>"], secret=["2"]
    )
    verdict = sv.verify_opacity(named, 0)
    assert "is violated by <go> <stop>: after 2 of its events the state was in {2}" in repr(verdict)
    assert "&lt;go&gt; &lt;stop&gt;" in verdict._repr_html_()


def test_a_search_tells_how_far_it_is() -> None:
    told: list[tuple[int, int | None]] = []
    system = logical("0a1 1a2 2a3 3b0", secrets="")
    sv.verify_opacity(system, "infinite", notion="strong", progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told) and len(told) > 1


def test_exactness_is_a_choice_of_three() -> None:
    system = stochastic([("0", "a", "1", "1/2"), ("0", "b", "0", "1/2"), ("1", "a", "1", 1)], secrets="1")
    for exact in ("yes", 1, 0.5):
        with pytest.raises(ParameterError, match="exact: expected True, False or None"):
            sv.violation_probability(system, 0, exact=exact)
    # a run shows a at last, and then the state is 1 for certain
    assert [sv.violation_probability(system, 0, exact=exact).upper for exact in (True, None)] == [1, 1]
    assert "violation probability 1" in sv.violation_probability(system, 0)._repr_html_()
