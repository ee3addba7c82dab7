"""The systems of Z25's examples, reconstructed from its text (docs/opacity.md), with the numbers that it prints."""

from __future__ import annotations

from fractions import Fraction

import pytest
from by_definition import Defined, shortest_violation

import symveil as sv

EXAMPLE_3 = sv.StochasticSystem.from_transitions(
    [
        ("0", "a", "1", "1/2"), ("1", "b", "3", 1), ("3", "d", "4", 1),
        ("0", "b", "5", "1/2"), ("5", "c", "6", 1), ("6", "a", "7", 1), ("7", "c", "8", 1),
    ],
    initial="0", observable=["a", "b", "d"], secret=["3", "8"],
)  # fmt: skip
EXAMPLE_4 = sv.StochasticSystem.from_transitions(
    [
        ("0", "a", "1", "1/2"), ("0", "b", "8", "1/2"),
        ("1", "a", "2", "2/3"), ("2", "b", "3", 1),
        ("1", "c", "5", "1/3"), ("5", "f", "6", 1), ("6", "c", "7", 1),
        ("8", "a", "9", "1/2"), ("9", "b", "11", "1/2"), ("9", "c", "11", "1/2"),
        ("8", "c", "10", "1/2"), ("10", "c", "11", 1),
    ],
    initial="0", observable=["a", "b", "c"], secret=["2"],
)  # fmt: skip
MEDICAL = sv.StochasticSystem.from_transitions(
    [
        ("0", "a", "1", 1),
        ("1", "d", "7", "1/3"), ("7", "e", "6", 1), ("6", "a", "10", 1),
        ("1", "b", "2", "1/3"), ("2", "e", "4", 1), ("4", "a", "8", 1),
        ("1", "c", "3", "1/3"), ("3", "e", "5", 1), ("5", "a", "9", 1),
    ],
    initial="0", observable=["a", "b", "c", "d", "e"], secret=["7"],
)  # fmt: skip

# system, k, probability, witness, the state given away
PRINTED = [
    pytest.param(EXAMPLE_3, 1, Fraction(1, 2), "ab", "3", id="example 3"),
    pytest.param(EXAMPLE_4, 1, Fraction(1, 3), "aa", "2", id="example 4"),
    pytest.param(MEDICAL, 2, Fraction(1, 3), "ad", "7", id="medical"),
]


@pytest.mark.parametrize(("system", "k", "probability", "witness", "exposed"), PRINTED)
class TestPrintedNumbers:
    def test_violation(
        self, system: sv.StochasticSystem, k: int, probability: Fraction, witness: str, exposed: str
    ) -> None:
        verdict = sv.verify_opacity(system, k)
        assert not verdict.holds
        assert verdict.witness == tuple(witness)
        assert verdict.exposed_after == len(witness)
        assert verdict.estimate == (exposed,)
        assert verdict.property_name == f"weak {k}-step opacity"
        assert sv.violation_probability(system, k).exact == probability
        assert shortest_violation(Defined(system), k, "weak").length == len(witness)

    def test_every_string_written_out(
        self, system: sv.StochasticSystem, k: int, probability: Fraction, witness: str, exposed: str
    ) -> None:
        assert Defined(system).violates_within(len(system.states), k, "weak") == (probability, 0)

    def test_when_it_happens(
        self, system: sv.StochasticSystem, k: int, probability: Fraction, witness: str, exposed: str
    ) -> None:
        """All violating strings of these examples have the witness's length, nothing is given away before."""
        assert sv.violation_probability(system, k, within=len(witness) - 1).exact == 0
        assert sv.violation_probability(system, k, within=len(witness)).exact == probability

    def test_almost_opaque(
        self, system: sv.StochasticSystem, k: int, probability: Fraction, witness: str, exposed: str
    ) -> None:
        """Z25 Definition 6: strictly below θ."""
        violation = sv.violation_probability(system, k)
        assert violation.below(probability) is False
        assert violation.below(probability + Fraction(1, 10**30)) is True

    def test_without_its_secret_it_is_opaque(
        self, system: sv.StochasticSystem, k: int, probability: Fraction, witness: str, exposed: str
    ) -> None:
        public = system.with_secret([state for state in system.secret if state != exposed])
        assert sv.verify_opacity(public, "infinite").holds
        assert sv.violation_probability(public, "infinite").exact == 0


def test_example_3_the_other_secret_stays_hidden() -> None:
    """8 is reached by the unobservable c only: 7 is possible as long as 8 is."""
    assert sv.delayed_estimate(EXAMPLE_3, "ba") == ("7", "8")
    assert sv.verify_opacity(EXAMPLE_3.with_secret(["8"]), "infinite").holds


def test_medical_the_disease_is_known_two_steps_later() -> None:
    assert sv.delayed_estimate(MEDICAL, "adea", after=2) == ("7",)
    assert sv.delayed_estimate(MEDICAL, "abea", after=2) == ("2",)
