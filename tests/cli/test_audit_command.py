"""`symveil audit`: exit 0 for our mechanisms, 1 for the printed one."""

from __future__ import annotations

import pytest

from .running import symveil

SMALL = ("--alphabet", "abc", "--length", "3", "--epsilon", "1")


@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "staircase"])
def test_our_mechanisms_pass(mechanism: str) -> None:
    done = symveil("audit", *SMALL, "--mechanism", mechanism, "--json")
    assert done.status == 0
    document = done.document
    assert document.keys() == {
        "mechanism",
        "nominal_epsilon",
        "worst_epsilon",
        "witness",
        "pairs_checked",
        "private",
        "loss_at",
    }
    assert document["private"] is True
    assert document["worst_epsilon"] == pytest.approx(1, abs=1e-9)
    assert document["pairs_checked"] == 27 * 6
    assert document["witness"].keys() == {"word", "neighbour", "released"}


def test_the_printed_mechanism_fails() -> None:
    done = symveil("audit", *SMALL, "--mechanism", "jones2019-printed", "--not-private", "--json")
    assert done.status == 1
    assert done.document["private"] is False
    assert done.document["worst_epsilon"] > 2  # ln(n(m−1)) = ln 6 at ε = 0, and more at ε = 1


def test_page_for_people() -> None:
    done = symveil("audit", *SMALL, "--mechanism", "jones2019-printed", "--not-private")
    assert done.status == 1
    assert "NO" in done.out


def test_a_large_language_is_refused_in_one_line() -> None:
    line = symveil("audit", "--alphabet", "abc", "--length", "40", "--epsilon", "1").assert_one_error_line()
    assert "3^40" in line


def test_length_and_alphabet_are_needed() -> None:
    assert "--length" in symveil("audit", "--alphabet", "abc", "--epsilon", "1").assert_one_error_line()
    assert "--alphabet" in symveil("audit", "--length", "3", "--epsilon", "1").assert_one_error_line()
    assert "length" in symveil("audit", *SMALL, "--length", "-1").assert_one_error_line()


def test_the_loss_at_every_distance_stands_beside_its_bound() -> None:
    options = ("audit", "--alphabet", "abc", "--length", "3", "--epsilon", "2", "--adjacency", "2")
    rows = symveil(*options, "--json").document["loss_at"]
    assert [row["distance"] for row in rows] == [1, 2, 3]
    assert [row["proved"] for row in rows] == pytest.approx([1, 2, 3]) and all(
        row["enumerated"] == pytest.approx(row["proved"]) for row in rows
    )
    done = symveil(*options)
    assert "Loss by distance" in done.out and "proved bound" in done.out and "EXCEEDS" not in done.out
