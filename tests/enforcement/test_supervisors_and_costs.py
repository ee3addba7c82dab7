"""Supervisors and cheapest functions, compared with the definitions."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.enforcement.edit_costs import _optimal, _Play, worst_cost
from symveil.enforcement.edit_game import EditFunction
from verification.opacity.by_definition import Defined, closed
from verification.opacity.random_systems import ks, logical_systems, notions, stochastic_systems

from .test_synthesis_by_definition import Oracle

systems = st.one_of(logical_systems(most_states=5), stochastic_systems(most_states=5))
some_events = st.sets(st.sampled_from("abc"), max_size=3)

# --- supervisors ----------------------------------------------------------------------------------


def lost(defined: Defined, k, notion, controllable):
    """Whether what is known after an observation is one, or becomes one by uncontrollable events alone."""
    knowledge = defined.knowledge(k, notion)

    def uncontrollably(known):
        if knowledge.exposes(known):
            return []
        after = [knowledge.after(known, event) for event in defined.observable if event not in controllable]
        return [each for each in after if knowledge.possible(each)]

    return knowledge, lambda known: any(map(knowledge.exposes, closed([known], uncontrollably)))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(systems, ks, notions, some_events)
def test_supervisor_is_the_least_restrictive_one(system, k, notion, chosen):
    controllable = [event for event in system.observable if event in chosen]
    found = sv.synthesize_opacity(system, k, policy="supervisor", notion=notion, controllable=controllable)
    defined = Defined(system)
    knowledge, is_lost = lost(defined, k, notion, controllable)
    assert found.possible == (not is_lost(knowledge.start))
    if not found.possible:
        (witness,) = found.refutation
        assert not set(witness) & set(controllable)
        assert defined.states_after(witness) and defined.violates(witness, k, notion)
        return
    border = [((), knowledge.start)]
    for _ in range(4):
        longer = []
        for observation, known in border:
            possible = [event for event in defined.observable if defined.states_after((*observation, event))]
            # disabled is what can be, and leads to where nothing helps: and nothing else is
            gone = [event for event in possible if is_lost(knowledge.after(known, event))]
            assert sorted(found.supervisor.disabled_after(observation)) == sorted(gone)
            assert set(gone) <= set(controllable)
            longer += [((*observation, e), knowledge.after(known, e)) for e in possible if e not in gone]
        border = longer
    assert sv.verify_opacity(found.enforced_system, k, notion=notion).holds


def branching() -> sv.StochasticSystem:
    return sv.StochasticSystem.from_transitions(
        [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "u", "3", 1), ("3", "c", "3", 1), ("2", "c", "4", 1)],
        initial="0",
        observable=["a", "b", "c"],
        secret=["2"],
    )


def test_supervised_system():
    found = sv.synthesize_opacity(branching(), policy="supervisor", controllable=["b"])
    assert found.supervisor.disabled_after([]) == ("b",)
    assert str(found.violation_before.exact) == "1/2"
    assert found.violation_after.exact == 0
    assert repr(found) == (
        "Synthesis(weak current-state opacity holds: Supervisor(3 states, 1 of them disable something))"
    )
    assert "not b" in found.to_diagram().nodes[0].label
    assert found.document()["supervisor"]["disabled"] == [[0, "b"]]
    with pytest.raises(sv.SymveilError, match="impossible event at position 1 of 2"):
        found.supervisor.disabled_after("bc")
    assert sv.synthesize_opacity(branching(), policy="supervisor", controllable=["a", "c"]).refutation == (("b",),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "controllable: expected the events that can be disabled, found none"),
        (
            {"controllable": ["u"]},
            "controllable: expected observable events only: .* found 'u', which is not observable",
        ),
        ({"controllable": ["z"]}, "controllable: expected observable events of the system, found 'z'"),
        ({"controllable": "ab"}, "controllable: expected a list of observable events, found a string"),
        ({"controllable": [], "insertable": []}, "insertable: expected none with the policy supervisor"),
        ({"controllable": [], "against": "informed"}, "against: expected none with the policy supervisor"),
    ],
)
def test_parameters_of_supervisors(options, message):
    with pytest.raises(sv.SymveilError, match=message):
        sv.synthesize_opacity(branching(), policy="supervisor", **options)


# --- costs ----------------------------------------------------------------------------------------


class CostOracle(Oracle):
    """n-step values of the game, by the definition."""

    def __init__(self, system, k, notion, insertable, erasable, insert, erase) -> None:
        super().__init__(system, k, notion, insertable, erasable)
        self.insert, self.erase = insert, erase

    def priced(self, known, event):
        """The least cost of each answer."""
        prices = {known: Fraction(0)}
        while True:
            longer = dict(prices)
            for one, price in prices.items():
                for each in self.insertable:
                    for after in self.safely(one, each):
                        longer[after] = min(longer.get(after, price + self.insert[each]), price + self.insert[each])
            if longer == prices:
                break
            prices = longer
        found = {}
        for one, price in prices.items():
            options = [(after, price) for after in self.safely(one, event)]
            options += [(one, price + self.erase[event])] if event in self.erasable else []
            for after, total in options:
                found[after] = min(found.get(after, total), total)
        return found

    def moves(self):
        """All positions, and those among their answers that win."""
        start = (closed(self.defined.initial, self.defined.silent), self.knowledge.start)
        found, waiting = {}, [start]
        while waiting:
            place = states, known = waiting.pop()
            if place not in found:
                found[place] = [
                    {(after, each): price for each, price in self.priced(known, event).items()}
                    for event in self.defined.observable
                    if (after := self.truth(states, event))
                ]
                waiting += [each for answers in found[place] for each in answers]
        while True:
            lost = {place for place, rows in found.items() if not all(set(row) & set(found) for row in rows)}
            if not lost:
                break
            found = {place: rows for place, rows in found.items() if place not in lost}
        return start, {
            place: [{to: price for to, price in row.items() if to in found} for row in rows]
            for place, rows in found.items()
        }


STEPS = 40


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    logical_systems(most_states=4),
    st.sampled_from((0, 1)),
    st.lists(st.sampled_from((0, 1, 2, 5, Fraction(1, 2))), min_size=6, max_size=6),
    st.booleans(),
)
def test_cheapest_functions_by_definition(system, k, prices, is_edit):
    events = list(system.observable)
    insert, erase = dict(zip(events, prices, strict=False)), dict(zip(events, prices[3:], strict=False))
    options = {"insert_cost": insert} | ({"erase_cost": erase} if is_edit else {})
    policy = "edit" if is_edit else "insertion"
    found = sv.synthesize_opacity(system, k, policy=policy, against="unaware", **options)
    if not found.possible:
        return
    start, moves = CostOracle(system, k, "weak", events, events if is_edit else [], insert, erase).moves()
    values = dict.fromkeys(moves, Fraction(0))
    for _ in range(STEPS):
        values = {
            place: max((min(price + values[to] for to, price in row.items()) for row in rows), default=Fraction(0))
            for place, rows in moves.items()
        }
    # in n steps nobody can be forced to pay more than n means and a way of |positions| steps to the cycle, nor less
    slack = 2 * len(moves) * max([*prices, 1])
    assert abs(values[start] - STEPS * found.cost.per_event) <= slack
    if found.cost.total is not None:
        assert values[start] <= found.cost.total
        if len(moves) < STEPS:
            assert values[start] == found.cost.total
    # the machine pays what it says, on every observation
    for length in range(4):
        for observation in Defined(system).observations(length):
            paid = sum(_price(found, observation[: at + 1], insert, erase) for at in range(length))
            assert found.cost.total is None or paid <= found.cost.total
    # an observer who knows the function makes it dearer, if anything
    informed = sv.synthesize_opacity(system, k, policy=policy, **options)
    if found.cost.total is None:
        assert informed.cost.per_event >= found.cost.per_event
    elif informed.cost.total is not None:
        assert informed.cost.total >= found.cost.total


def _price(found, observation, insert, erase) -> Fraction:
    before, after = found.apply(observation[:-1]), found.apply(observation)
    answer, event = after[len(before) :], observation[-1]
    if answer[-1:] == (event,):
        return sum((Fraction(insert[each]) for each in answer[:-1]), Fraction(0))
    return sum((Fraction(insert[each]) for each in answer), Fraction(erase[event]))


def loop() -> sv.LogicalSystem:
    """b exposes 2; it can be hidden behind a, which is dear, or by c at once, which is cheap and brings d's with it."""
    return sv.LogicalSystem.from_transitions(
        [
            *[("0", "b", "2"), ("0", "a", "1"), ("1", "b", "3"), ("3", "d", "3"), ("2", "d", "2")],
            *[("0", "c", "4"), ("4", "b", "5"), ("5", "e", "6"), ("6", "d", "5")],
        ],
        initial="0",
        observable=list("abcde"),
        secret=["2"],
    )


def test_what_is_cheap_at_first_is_dear_in_the_end():
    greedy = sv.synthesize_opacity(loop(), policy="insertion", against="unaware")
    assert greedy.apply("bdd") == "abdd"
    dear = {"a": 10, "c": 1, "e": 1}
    found = sv.synthesize_opacity(loop(), policy="insertion", insert_cost=dear)
    assert found.apply("bdd") == "abdd"
    assert (found.cost.per_event, found.cost.total) == (0, 10)
    only_c = sv.synthesize_opacity(loop(), policy="insertion", insert_cost=dear, insertable=["c", "e"])
    assert only_c.apply("bdd") == "cbeded"
    assert (only_c.cost.per_event, only_c.cost.total) == (1, None)
    document = only_c.document()
    assert (document["cost_per_event"], document["cost_in_total"]) == ("1", None)


def test_the_cheapest_function_may_be_seen_through():
    """abd exposes: paid with 1 for a c at once, or with 5 for an e later. b exposes, and looks like ab for 1.

    Whoever knows that ab is then shown as cab knows that ab was b.
    """
    system = sv.LogicalSystem.from_transitions(
        [
            *[("0", "b", "secret"), ("0", "a", "1"), ("1", "b", "2"), ("2", "d", "too"), ("2", "e", "3")],
            *[("3", "d", "4"), ("0", "c", "5"), ("5", "a", "6"), ("6", "b", "7"), ("7", "d", "8")],
            *[("7", "e", "9"), ("9", "d", "8")],
        ],
        initial="0",
        observable=list("abcde"),
        secret=["secret", "too"],
    )
    costs = {"a": 1, "b": 1, "c": 1, "d": 1, "e": 5}
    unaware = sv.synthesize_opacity(system, policy="insertion", insert_cost=costs, against="unaware")
    assert (unaware.apply("b"), unaware.apply("abd"), unaware.cost.total) == ("ab", "cabd", 1)
    assert not unaware.informed_verdict.holds
    assert unaware.informed_verdict.witness == ("a",)  # shown before b, which has happened by then
    informed = sv.synthesize_opacity(system, policy="insertion", insert_cost=costs, against="informed")
    assert (informed.apply("b"), informed.apply("abd"), informed.cost.total) == ("ab", "abed", 5)
    assert informed.informed_verdict.holds


def _worst_of(play, chosen):
    """The largest mean of a cycle, and the largest total (None: no bound), over all that the system can choose."""
    means, totals = [Fraction(0)], []
    for picks in itertools.product(*(range(max(len(rows), 1)) for rows in play.options)):
        at, met, paid = 0, {}, [0]
        while at not in met and play.options[at]:
            met[at] = len(paid) - 1
            cost, after = play.options[at][picks[at]][chosen[at][picks[at]]]
            paid.append(paid[-1] + cost)
            at = after
        if at in met:
            means.append(Fraction(paid[-1] - paid[met[at]], len(paid) - 1 - met[at]))
        totals.append(paid[-1])
    return max(means), None if max(means) else max(totals)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_strategies_against_all_strategies(seed):
    """Small games of any shape: the one that is found is as good as the best of all that there are."""
    source = random.Random(seed)
    size = source.randint(1, 4)
    options = [
        [
            [(source.choice((0, 0, 1, 2, 5)), source.randrange(size)) for _ in range(source.randint(1, 2))]
            for _ in range(source.choice((0, 1, 1, 2, 2)))
        ]
        for _ in range(size)
    ]
    play = _Play([(at, 0) for at in range(size)], [[] for _ in options], options, [[] for _ in options], 1)
    choices = [[range(len(row)) for row in rows] for rows in options]
    every = itertools.product(*(list(itertools.product(*rows)) for rows in choices))

    def rank(chosen):
        mean, total = _worst_of(play, chosen)
        return (mean, 0 if total is None else total)

    assert rank(_optimal(play)) == min(map(rank, every))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"insert_cost": {"z": 1}}, "insert_cost: expected observable events of the system, found 'z'"),
        ({"insert_cost": {"a": -1}}, "insert_cost: expected a number, 0 or more, found -1"),
        ({"erase_cost": {"a": 1}}, "erase_cost: expected none with the policy insertion"),
    ],
)
def test_parameters_of_costs(options, message):
    with pytest.raises(sv.SymveilError, match=message):
        sv.synthesize_opacity(loop(), policy="insertion", **options)


def test_costs_of_a_machine_alone():
    """Two loops, one after the other: the mean is the dearer one's, whatever is paid on the way."""
    function = EditFunction(
        answers=(
            {"a": (("b", "a"), 0), "b": (("a", "a", "a", "b"), 1)},
            {"a": (("a",), 2), "b": ((), 3)},
            {"a": (("b", "b", "b", "a"), 1)},
            {},
        )
    )
    ones = {"a": Fraction(1), "b": Fraction(1)}
    assert worst_cost(function, ones, ones).per_event == Fraction(3, 2)
    assert worst_cost(function, ones, ones).total is None
    free = {"a": Fraction(1), "b": Fraction(0)}
    assert worst_cost(function, free, ones).total == 4
    assert list(itertools.chain(function.apply("ab"))) == list("baaaab")
