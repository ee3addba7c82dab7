"""Lumping by signatures: the same classes as by comparing rows, and a wrong signature changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.graphs import refinement as module
from symveil.graphs.limits import LIMITS
from symveil.models.labelled_chain import LabelledChain
from symveil.verification.distances.tables import ChainTable, Lumping, bisimulation


@pytest.fixture(scope="module", autouse=True)
def signatures() -> Iterator[None]:
    """Small chains, too, are split by signatures."""
    with LIMITS.changed(few_edges=0):
        yield


@st.composite
def tables(draw: st.DrawFn) -> ChainTable:
    """Chains with so few labels and probabilities that many states are bisimilar."""
    size = draw(st.integers(1, 10))
    rows = []
    for state in range(size):
        targets = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=3, unique=True))
        weights = [draw(st.sampled_from([1, 1, 2])) for _ in targets]
        rows += [(str(state), str(t), Fraction(w, sum(weights))) for t, w in zip(targets, weights, strict=True)]
    names = [str(state) for state in range(size)]
    labels = {name: draw(st.sampled_from("aab")) for name in names}
    return ChainTable.of(LabelledChain.from_transitions(rows, labels=labels, states=names))


def by_rows(table: ChainTable) -> list[int]:
    """The coarsest stable partition by comparing rows in Fractions, numbered by first states."""
    classes = table.label.tolist()
    while True:
        marks = []
        for state in range(table.size):
            into: dict[int, Fraction] = {}
            for target, chance in table.row(state):
                into[classes[target]] = into.get(classes[target], Fraction(0)) + Fraction(int(chance.p), int(chance.q))
            marks.append((classes[state], tuple(sorted(into.items()))))
        numbers = {mark: number for number, mark in enumerate(dict.fromkeys(marks))}
        finer = [numbers[mark] for mark in marks]
        if len(numbers) == len(set(classes)):
            return finer
        classes = finer


@settings(max_examples=150, deadline=None)
@given(table=tables())
def test_the_coarsest_stable_partition(table: ChainTable) -> None:
    assert bisimulation(table).tolist() == by_rows(table)
    with LIMITS.changed(few_edges=1000):
        assert bisimulation(table).tolist() == by_rows(table)


@settings(max_examples=60, deadline=None)
@given(table=tables())
def test_signatures_that_collide_are_noticed(table: ChainTable) -> None:
    """With tiny primes different rows have equal signatures all the time; the exact check sees every one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_PRIMES", (5, 7))
        assert bisimulation(table).tolist() == by_rows(table)


def test_a_denominator_that_is_a_prime_of_the_signatures() -> None:
    prime = module._PRIMES[0]
    rows = [("a", "b", Fraction(1, prime)), ("a", "c", Fraction(prime - 1, prime)), ("b", "b", 1), ("c", "c", 1)]
    chain = LabelledChain.from_transitions(rows, labels={"a": "x", "b": "y", "c": "z"})
    assert bisimulation(ChainTable.of(chain)).tolist() == [0, 1, 2]


def test_long_denominators_and_long_lines() -> None:
    """Sums beyond 64 bits are checked in Python's integers; a line splits one state at a time."""
    tiny = Fraction(1, 10**30)
    rows = [("a", "x", tiny), ("a", "y", 1 - tiny), ("b", "x", tiny), ("b", "y", 1 - tiny), ("c", "x", 2 * tiny)]
    rows += [("c", "y", 1 - 2 * tiny), ("x", "x", Fraction(1)), ("y", "y", Fraction(1))]
    chain = LabelledChain.from_transitions(rows, labels=dict(zip("abcxy", "---xy", strict=True)))
    table = ChainTable.of(chain)
    classes = dict(zip(chain.states, bisimulation(table).tolist(), strict=True))
    assert classes["a"] == classes["b"] != classes["c"]
    line = [(str(k), str(k + 1), 1) for k in range(300)]
    chain = LabelledChain.from_transitions(
        [*line, ("300", "300", 1)], labels={str(k): "$" if k == 300 else "a" for k in range(301)}
    )
    assert len(np.unique(bisimulation(ChainTable.of(chain)))) == 301


@settings(max_examples=60, deadline=None)
@given(table=tables())
def test_a_lumping_leads_to_the_first_states_and_keeps_every_sum(table: ChainTable) -> None:
    lumping = Lumping.of(table)
    home = lumping.home.tolist()
    assert bisimulation(lumping.table).tolist() == bisimulation(table).tolist()
    for state in range(table.size):
        into: dict[int, Fraction] = {}
        for target, chance in table.row(state):
            into[home[target]] = into.get(home[target], Fraction(0)) + Fraction(int(chance.p), int(chance.q))
        row = {target: Fraction(int(chance.p), int(chance.q)) for target, chance in lumping.table.row(state)}
        assert row == into
        assert list(row) == sorted(row)
