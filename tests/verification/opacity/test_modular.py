"""Several parts together: compared with their synchronous product, which is built here from its definition."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from by_definition import Defined
from hypothesis import given, settings
from hypothesis import strategies as st
from random_systems import ks

import symveil as sv
from symveil.verification.opacity.verify import relevant_groups

Parts = list[sv.LogicalSystem]


def whole(parts: Parts) -> sv.LogicalSystem:
    """All tuples of states, and every event that all parts which have it can take."""
    alphabets = [{event for _, event, _ in part.transitions} for part in parts]
    rows = set()
    places = list(itertools.product(*(part.states for part in parts)))
    for place in places:
        for event in set().union(*alphabets):
            choices = [
                [to for at, by, to in part.transitions if (at, by) == (state, event)] if event in alphabet else [state]
                for state, part, alphabet in zip(place, parts, alphabets, strict=True)
            ]
            rows |= {("|".join(place), event, "|".join(after)) for after in itertools.product(*choices)}
    return sv.LogicalSystem.from_transitions(
        sorted(rows),
        initial=["|".join(place) for place in itertools.product(*(part.initial for part in parts))],
        observable=sorted(set().union(*(part.observable for part in parts))),
        secret=["|".join(p) for p in places if any(s in part.secret for s, part in zip(p, parts, strict=True))],
        states=["|".join(place) for place in places],
    )


OBSERVABLE, SILENT = ("a", "b", "c", "d"), ("u", "v", "w")


def drawn_parts(seed: int) -> Parts:
    """Two to four parts of up to three states, that share some of seven events."""
    source = random.Random(seed)
    parts = []
    for number in range(source.choice((2, 2, 3, 3, 4))):
        states = [f"{number}{name}" for name in "xyz"[: source.randint(1, 3)]]
        events = source.sample(OBSERVABLE + SILENT, source.randint(1, 4))
        often = source.choice((0.5, 0.8, 1.0))
        moves = {
            (state, event, target)
            for state in states
            for event in events
            if source.random() < often
            for target in source.sample(states, source.choice((1, 1, min(2, len(states)))))
        }
        parts.append(
            sv.LogicalSystem.from_transitions(
                sorted(moves),
                initial=states[: source.choice((1, 1, 1, 2))],
                observable=OBSERVABLE,
                secret=source.sample(states, 1) if source.random() < 0.5 else [],
                states=states,
            )
        )
    return parts


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1).map(drawn_parts), ks, st.sampled_from(("weak", "strong", "initial")))
def test_parts_are_judged_as_their_product(parts, k, notion):
    found = sv.verify_opacity(parts, k, notion=notion)
    together = whole(parts)
    built = sv.verify_opacity(together, k, notion=notion)
    assert found.holds == built.holds
    if not found.holds:
        assert len(found.witness) == len(built.witness)
        assert Defined(together).violates(found.witness, k, notion)
    groups = relevant_groups(parts)
    assert found.system_states <= sum(math.prod(len(parts[number].states) for number in group) for group in groups)


def ring(name: str, size: int, **options) -> sv.LogicalSystem:
    """A counter that its own event moves on."""
    rows = [(f"{name}{at}", f"step {name}", f"{name}{(at + 1) % size}") for at in range(size)]
    options = {"initial": f"{name}0", "observable": [f"step {name}"]} | options
    return sv.LogicalSystem.from_transitions(rows, **options)


def test_what_shares_nothing_is_never_looked_at():
    """Thirty counters of ten states, one of them with a secret: the whole has 10³⁰ states."""
    parts = [ring(f"c{number} ", 10, secret=["c7 3"] if number == 7 else []) for number in range(30)]
    found = sv.verify_opacity(parts, "infinite")
    assert found.witness == ("step c7 ",) * 3
    assert found.estimate == ("c7 3",)
    assert found.dropped == tuple(number for number in range(1, 31) if number != 8)
    assert found.system_states <= 10


def test_an_early_violation_builds_little():
    """Eight counters that all move by one clock as well: 6⁸ states together, and the secret is out after one event."""
    parts = []
    for number in range(8):
        counter = ring(f"c{number} ", 6)
        clock = [(state, "clock", state) for state in counter.states]
        secret = [state for state in counter.states if state.endswith(" 1")] if number == 0 else []
        parts.append(
            sv.LogicalSystem.from_transitions(
                [*counter.transitions, *clock],
                initial=counter.initial,
                observable=[*counter.observable, "clock"],
                secret=secret,
            )
        )
    found = sv.verify_opacity(parts)
    assert found.witness == ("step c0 ",)
    assert found.system_states < 100


def monitor(*, blocks: bool, shows: bool) -> sv.LogicalSystem:
    """Follows a shared event; may prevent a second one, may show that there was one."""
    rows = [("idle", "go", "busy"), ("busy", "rest", "idle")]
    rows += [] if blocks else [("busy", "go", "busy")]
    rows += [("busy", "beep", "busy")] if shows else []
    return sv.LogicalSystem.from_transitions(rows, initial="idle", observable=["beep"])


@pytest.mark.parametrize(("blocks", "shows"), list(itertools.product((False, True), repeat=2)))
def test_a_part_is_dropped_only_if_it_neither_prevents_nor_shows(blocks, shows):
    plant = sv.LogicalSystem.from_transitions(
        [("0", "a", "1"), ("0", "go", "2"), ("2", "a", "3"), ("2", "go", "2")],
        initial="0",
        observable=["a"],
        secret=["2", "3"],
    )
    parts = [plant, monitor(blocks=blocks, shows=shows)]
    assert relevant_groups(parts) == ([[0, 1]] if blocks or shows else [[0]])
    found = sv.verify_opacity(parts)
    assert found.holds == sv.verify_opacity(whole(parts)).holds == (not shows)
    assert found.dropped == (() if blocks or shows else (2,))


def test_what_is_refused():
    one = ring("c", 2)
    other = sv.LogicalSystem.from_transitions([("0", "step c", "0")], initial="0", observable=["x"])
    with pytest.raises(sv.SymveilError, match="part 2: expected event 'step c' to be observable, as in part 1"):
        sv.verify_opacity([one, other])
    with pytest.raises(sv.SymveilError, match="notion: expected weak, strong or initial for several parts"):
        sv.verify_opacity([one, one], notion="joint-2")
    for bad in ([], [one, "x"], "xy", 3):
        with pytest.raises(sv.SymveilError, match="system: expected a StochasticSystem or .* or a list of such parts"):
            sv.verify_opacity(bad)


def test_without_a_secret_nothing_is_built():
    found = sv.verify_opacity([ring("c", 3), ring("d", 3)])
    assert found.holds and found.system_states == 0 and found.dropped == (1, 2)
