"""The notions of DESops (separate and joint, type 1 and 2) by definition, and systems with several initial states."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from random_systems import seeded_logical, seeded_stochastic

import symveil as sv
from symveil.errors import ParameterError
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, read_initial, starting_in

Epoch = tuple[frozenset[str], str]
LONGEST = 4


def epochs(system: PartiallyObserved, first: str) -> set[Epoch]:
    """Every set of states that an epoch which begins in `first` can have met, with its last state."""
    found = {(frozenset({first}), first)}
    border = list(found)
    while border:
        met, last = border.pop()
        for source, event, target in system.moves:
            if source == last and event not in system.observable:
                after = (met | {target}, target)
                if after not in found:
                    found.add(after)
                    border.append(after)
    return found


def observations(system: PartiallyObserved) -> Iterator[tuple[tuple[str, ...], set[tuple[Epoch, ...]]]]:
    """Every observation of at most so many events, shortest first, with all runs that show it, epoch by epoch."""
    layer = {(): {(epoch,) for state in system.initial_states for epoch in epochs(system, state)}}
    for _ in range(LONGEST + 1):
        yield from layer.items()
        after: dict[tuple[str, ...], set[tuple[Epoch, ...]]] = {}
        for seen, runs in layer.items():
            for run in runs:
                for source, event, target in system.moves:
                    if source == run[-1][1] and event in system.observable:
                        more = {(*run, epoch) for epoch in epochs(system, target)}
                        after.setdefault((*seen, event), set()).update(more)
        layer = after


def shortest_violation(system: PartiallyObserved, k: int | None, joint: bool, kind: int) -> int | None:
    """How long the shortest observation is after which an observer is sure, by the definition; None: longer."""
    secret = set(system.secret)

    def is_secret(epoch: Epoch) -> bool:
        return bool(epoch[0] & secret) if kind == 1 else epoch[0] <= secret

    for seen, runs in observations(system):
        last = range(len(seen), -1, -1)[: len(seen) + 1 if k is None else k + 1]
        if joint:
            if all(any(is_secret(run[at]) for at in last) for run in runs):
                return len(seen)
        elif any(all(is_secret(run[at]) for run in runs) for at in last):
            return len(seen)
    return None


@pytest.mark.parametrize("notion", ["separate-1", "separate-2", "joint-1", "joint-2"])
def test_by_the_definition(notion: str) -> None:
    joint, kind = notion.startswith("joint"), int(notion[-1])
    violated = held = 0
    for seed in range(40):
        system = seeded_logical(seed, most_states=3) if seed % 2 else seeded_stochastic(seed, most_states=3)
        if sum(1 for _ in system.moves) > 7:
            continue  # too many runs to write down
        for k in (0, 1, None):
            verdict = sv.verify_opacity(system, "infinite" if k is None else k, notion=notion)
            awaited = shortest_violation(system, k, joint, kind)
            found = None if verdict.witness is None else len(verdict.witness)
            assert awaited == (None if found is None or found > LONGEST else found), (seed, k)
            violated, held = violated + (found is not None), held + verdict.holds
    assert violated > 5 and held > 5


def test_the_notions_differ() -> None:
    """After a the run may have met the secret state 2: type 1 calls that epoch secret, type 2 does not."""
    plant = LogicalSystem.from_transitions(
        [("0", "a", "1"), ("1", "u", "2"), ("2", "b", "0")], initial=["0"], observable=["a", "b"], secret=["2"]
    )
    verdicts = {name: sv.verify_opacity(plant, 1, notion=name).holds for name in ("separate-1", "separate-2")}
    assert verdicts == {"separate-1": False, "separate-2": True}
    assert sv.verify_opacity(plant, 1, notion="separate-2").holds == sv.verify_opacity(plant, 1).holds
    verdict = sv.verify_opacity(plant, 1, notion="separate-1")
    assert verdict.property_name == "separate-1 1-step opacity"
    with pytest.raises(ParameterError, match="joint-2, found other"):
        sv.verify_opacity(plant, notion="other")
    stochastic = seeded_stochastic(1)
    with pytest.raises(ParameterError, match="weak, strong or initial for a probability, found joint-2"):
        sv.violation_probability(stochastic, notion="joint-2")


@pytest.mark.parametrize("notion", ["weak", "strong", "joint-2", "separate-1", "separate-2", "joint-1"])
def test_a_distribution_of_initial_states_asks_what_a_list_asks(notion: str) -> None:
    """The state that is added hides nothing: the verdict is that of the logical system with several initial states."""
    differ = 0
    for seed in range(60):
        system = seeded_stochastic(seed, most_states=4)
        names = system.states[: 2 + seed % 2]
        if len(names) < 2:
            continue
        whole = notion in ("strong", "joint-1", "separate-1")
        several = starting_in(system, dict.fromkeys(names, Fraction(1, len(names))), whole_runs=whole)
        listed = starting_in(system, dict.fromkeys(names))
        assert isinstance(listed, LogicalSystem)
        for k in (0, 1, "infinite"):
            one, other = (sv.verify_opacity(each, k, notion=notion) for each in (several, listed))
            assert (one.holds, one.witness and len(one.witness)) == (other.holds, other.witness and len(other.witness))
            differ += not one.holds
    assert differ > 5


@pytest.mark.parametrize("notion", ["weak", "strong"])
def test_probabilities_of_violations_from_several_initial_states(notion: str) -> None:
    """Against the runs written out: of at most so many events, each with the set of all runs that look like it."""
    found = 0
    for seed in range(30):
        system = seeded_stochastic(seed, most_states=3, acyclic=True)
        names = system.states[:2]
        start = dict.fromkeys(names, Fraction(1, 2))
        if len(names) < 2 or len(system.transitions) > 8:
            continue
        listed = starting_in(system, dict.fromkeys(names))
        violating = {
            seen for seen, runs in observations(listed) if _violates(listed, runs, len(seen), notion)
        }  # fmt: skip
        several = starting_in(system, start, whole_runs=notion == "strong")
        exact = sv.violation_probability(several, 1, notion=notion)
        assert exact.lower == exact.upper == _chance(system, start, violating)
        found += bool(violating)
    assert found > 3


def _violates(system: LogicalSystem, runs: set[tuple[Epoch, ...]], length: int, notion: str) -> bool:
    secret, last = set(system.secret), range(length, max(length - 2, -1), -1)
    if notion == "strong":
        return all(any(run[at][0] & secret for at in last) for run in runs)
    return any(all(run[at][0] <= secret for run in runs) for at in last)


def _chance(system: sv.StochasticSystem, start: dict[str, Fraction], violating: set[tuple[str, ...]]) -> Fraction:
    """How probable it is that what is seen of a run is, at some time, one of these observations."""

    def from_here(state: str, seen: tuple[str, ...]) -> Fraction:
        if seen in violating:
            return Fraction(1)
        moves = [row for row in system.transitions if row[0] == state]
        return sum(
            (
                chance * from_here(target, (*seen, event) if event in system.observable else seen)
                for _, event, target, chance in moves
            ),
            Fraction(0),
        )

    return sum((chance * from_here(state, ()) for state, chance in start.items()), Fraction(0))


def test_probabilities_of_initial_states_are_exact() -> None:
    coin = sv.StochasticSystem.from_transitions(
        [("a", "x", "a", "1/2"), ("a", "y", "a", "1/2"), ("b", "x", "b", 1)],
        initial="a",
        observable=["x", "y"],
        secret=["a"],
    )
    mixed = starting_in(coin, read_initial(["a=1/3", "b=2/3"], coin.states))
    # sure of a as soon as y is seen, which a run from a shows sooner or later
    assert sv.violation_probability(mixed).upper == Fraction(1, 3)
    both = coin.with_secret(["a", "b"])
    assert sv.verify_opacity(starting_in(both, read_initial(["a=1/2", "b=0.5"], coin.states))).witness == ()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["c"], "a state of the system, or STATE=PROBABILITY, found 'c'"),
        (["a", "a"], "each state once, found 'a'"),
        (["a=1/2", "b"], "a probability for every state, or for none, found both"),
        (["a=1/2", "b=1/4"], "probabilities that sum to 1, found 0.75"),
        (["a=0", "b=1"], "a probability above 0 and at most 1, found '0'"),
        (["a=x", "b=1"], "a probability above 0 and at most 1, found 'x'"),
    ],
)
def test_initial_states_that_are_none(typed: list[str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_initial(typed, ["a", "b"])
