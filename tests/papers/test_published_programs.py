"""Published mechanisms as programs: what they lose exactly, and what their wrong variants lose."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import symveil as sv
from symveil.examples import programs
from symveil.numbers.conversions import log_upper_bound


def near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return max(abs(x - y) for x, y in zip(one, other, strict=True)) <= 1


def loss(program: programs.Program, inputs: object, related: object = "all") -> Fraction | None:
    """e^ε of the smallest ε, exactly."""
    return sv.smallest_epsilon(sv.unroll(program, inputs, related=related), delta=0).alpha  # type: ignore[arg-type]


def test_randomised_response() -> None:
    assert loss(programs.randomised_response(), [0, 1]) == 3
    assert loss(programs.randomised_response("2/3"), [0, 1]) == 2


def test_rappor() -> None:
    """f = 3/4, p = 0.45, q = 0.55: a bit is 1 with 0.5125 or 0.4875; six cost 6 ln(0.5125/0.4875) = 0.30006.

    A published run of a statistical test (DP-Sniper, reference results of its artefact) gives the lower bound 0.3008
    with confidence for inputs whose filters differ in six bits: more than there is to find.
    """
    program = programs.rappor()
    assert loss(program, [(1,), (0,)]) == Fraction(41, 39)
    six = loss(program, [(1, 1, 1, 0, 0, 0), (0, 0, 0, 1, 1, 1)])
    assert six == Fraction(41, 39) ** 6
    assert Fraction("0.30006") < log_upper_bound(six) < Fraction("0.30007") < Fraction("0.30080244946686197")
    eight = loss(program, [(1,) * 4 + (0,) * 4, (0,) * 4 + (1,) * 4])  # four hashes, no two alike
    assert eight is not None
    assert 0.40008 < math.log(eight) < 0.40009


def test_one_time_rappor() -> None:
    """f = 0.95: each bit that differs costs ln(0.525/0.475); eight of them 0.80067."""
    found = loss(programs.one_time_rappor(), [(1,) * 4 + (0,) * 4, (0,) * 4 + (1,) * 4])
    assert found == Fraction(21, 19) ** 8
    assert 0.80066 < math.log(found) < 0.80067


def test_truncated_geometric() -> None:
    assert loss(programs.truncated_geometric(4), range(5), 1) == 2
    assert loss(programs.truncated_geometric(4), range(5), 2) == 4
    assert loss(programs.truncated_geometric(3, "1/3"), range(4), 1) == 3


def test_noisy_max() -> None:
    """Geometric noise of ratio 1/2: the position costs at most 2·ln 2; with the noisy count beside it, more."""
    counts = list(itertools.product((0, 1), repeat=3))
    right = loss(programs.noisy_max(reach=4), counts, near)
    assert right is not None
    assert 3 < right <= 4
    wrong = sv.unroll(programs.noisy_max(reach=4, with_value=True), [(0, 0, 0), (1, 1, 1)], related="all")
    verdict = sv.verify_privacy(wrong, alpha=4, delta=0, symmetric=False)
    assert verdict.holds is False
    assert verdict.worst.witness is not None
    assert verdict.worst.witness.probability > 4 * verdict.worst.witness.other > 0


class TestSparseVector:
    """e^ε = 8 with one answer above, however many answers there are (Lyu, Su and Li 2017, Algorithm 1)."""

    @staticmethod
    def pair(many: int) -> list[tuple[int, ...]]:
        return [(0,) * (many - 1) + (1,), (1,) * (many - 1) + (0,)]

    def test_the_right_one(self) -> None:
        losses = [loss(programs.sparse_vector(reach=8), self.pair(many)) for many in (2, 3, 4)]
        assert all(each is not None and each <= 8 for each in losses)
        assert losses == sorted(losses)  # type: ignore[type-var]
        every = list(itertools.product((0, 1), repeat=3))
        assert loss(programs.sparse_vector(reach=6), every, near) <= 8  # type: ignore[operator]
        twice = loss(programs.sparse_vector(cutoff=2, reach=6), every, near)
        assert twice is not None
        assert twice <= 32

    @pytest.mark.parametrize(
        ("variant", "inputs"),
        [
            ({"noisy_queries": False}, [(0, 1), (1, 0)]),  # Algorithm 5: no noise on the answers
            ({"stops": False}, [(0, 1) * 2, (1, 0) * 2]),  # Algorithm 6: no cutoff
            ({"cutoff": 2}, [(0, 1) * 2, (1, 0) * 2]),  # Algorithm 4: noise for one answer, two of them
            ({"shows_values": True}, [(0, 0, 0, 1), (1, 1, 1, 0)]),  # Algorithm 3: the noisy answer itself
        ],
    )
    def test_the_wrong_ones_are_refuted_with_a_witness(
        self, variant: dict[str, bool | int], inputs: list[tuple[int, ...]]
    ) -> None:
        chain = sv.unroll(programs.sparse_vector(**variant, reach=8), inputs)  # type: ignore[arg-type]
        verdict = sv.verify_privacy(chain, alpha=8, delta=0, symmetric=False, ld=False)
        assert verdict.holds is False
        witness = verdict.worst.witness
        assert witness is not None
        assert witness.probability > 8 * witness.other
        if "noisy_queries" in variant:
            assert witness.other == 0

    def test_shown_values_cost_more_with_every_answer(self) -> None:
        losses = [loss(programs.sparse_vector(shows_values=True, reach=8), self.pair(many)) for many in (2, 3, 4)]
        assert losses == [4, 8, 16]


def test_jones2019_as_printed() -> None:
    """At a nominal ε of 0, words of length n lose ln n(m − 1) (errata E1)."""
    assert loss(programs.jones2019_printed(), ["abb", "aba"]) == 3
    assert loss(programs.jones2019_printed("abc"), ["ab", "aa"]) == 4
    chain = sv.unroll(programs.jones2019_printed(), ["abb", "aba"])
    verdict = sv.verify_privacy(chain, alpha=1, delta="1/10")
    assert verdict.holds is False
    assert str(verdict.worst.witness) == "⊢ abb: 0.25 against 1/12"


def test_dining_cryptographers() -> None:
    """Fair coins tell nothing at all; bent ones do."""
    assert loss(programs.dining_cryptographers(5), range(5)) == 1
    bent = sv.unroll(programs.dining_cryptographers(3, heads="2/3"), range(3))
    verdict = sv.verify_privacy(bent, alpha=1, symmetric=False)
    assert verdict.delta.exact
    laws = []
    for payer in range(3):
        law: dict[tuple[bool, ...], Fraction] = {}
        for coins in itertools.product((0, 1), repeat=3):
            said = tuple((coins[i] == coins[(i + 1) % 3]) != (i == payer) for i in range(3))
            law[said] = law.get(said, Fraction(0)) + Fraction(2 ** sum(coins), 27)
        laws.append(law)
    apart = [sum(max(Fraction(0), p - other.get(said, 0)) for said, p in one.items()) for one in laws for other in laws]
    assert verdict.delta.upper == max(apart) == Fraction(1, 9)
