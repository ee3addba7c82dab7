"""Counts over cells that nobody listed: (ε, δ) by exact probabilities, the least threshold, nothing else shown."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from central.test_counts import FILES, LONGEST, STATISTICS, WORDS, batches, plainly, things
from symveil.central.cells import GRID
from symveil.central.counts import CountTerms, chosen_bound
from symveil.central.noise import Query
from symveil.central.unlisted_cells import PersonCells, selected_counts
from symveil.estimation.statistics import read_statistic
from symveil.randomness import RecordKey

KEYS = RecordKey(bytes(32), "unlisted")
NAMES = "abc"


@pytest.fixture(autouse=True)
def digits():
    before, ctx.prec = ctx.prec, 300
    yield
    ctx.prec = before


def sums(file, statistic: str, bound: int, keys: RecordKey = KEYS) -> dict[tuple[int, ...], int]:
    found = PersonCells.of(read_statistic(statistic), batches(file), longest=LONGEST)
    name = str if statistic == "lengths" else NAMES.__getitem__
    cells, values = found.limited(bound, keys, name, [f"person {number}" for number in range(len(file))]).sums(
        bound, len(file)
    )
    return dict(zip(map(tuple, cells.tolist()), values, strict=True))


def ball(value: Fraction) -> arb:
    return arb(value.numerator) / value.denominator


def shown(query: Query, total: int | None) -> arb:
    """The chance that a cell is shown: Σ of the noise's probabilities from the threshold on, in closed form."""
    if total is None:
        return arb(0)
    assert total <= query.threshold
    ratio = (-1 / ball(query.scale)).exp()
    return (-ball((query.threshold - total) / query.scale)).exp() / (1 + ratio)


def exact_delta(query: Query, one: dict, two: dict) -> arb:
    """The least δ with P(one ∈ O) ≤ e^ε·P(two ∈ O) + δ for all sets O of tables, by listing what can happen.

    Sums are at most the threshold, so all values that are shown of a cell have the same ratio of probabilities: a cell
    is shown or not, and tables with the same cells belong together. Cells with the same sum in both have ratio 1.
    """
    changed = [cell for cell in {**one, **two} if one.get(cell) != two.get(cell)]
    chances = [(shown(query, one.get(cell)), shown(query, two.get(cell))) for cell in changed]
    total, factor = arb(0), ball(query.epsilon).exp()
    for pattern in product((True, False), repeat=len(changed)):
        p, q = arb(1), arb(1)
        for is_shown, (here, there) in zip(pattern, chances, strict=True):
            p, q = p * (here if is_shown else 1 - here), q * (there if is_shown else 1 - there)
        excess = p - factor * q
        if not excess <= 0:  # also where a ball holds 0: against the claim
            total += excess
    return total


@given(
    FILES, WORDS, WORDS, st.sampled_from(STATISTICS), st.integers(1, 5), st.fractions(Fraction(1, 10), 2),
    st.sampled_from(["1/100", "1e-4", "1e-9"]),
)  # fmt: skip
@settings(max_examples=150)
def test_one_person_loses_at_most_epsilon_but_for_delta(file, own, other, statistic, bound, epsilon, delta) -> None:
    added = Query(name=statistic, epsilon=epsilon, bound=bound, delta=Fraction(delta))
    replaced = Query(name=statistic, epsilon=epsilon, bound=bound, delta=Fraction(delta), neighbours="replace")
    without, with_one, with_other = (sums(each, statistic, bound) for each in (file, [*file, own], [*file, other]))
    largest = max([0, *with_one.values(), *with_other.values()])
    assume(largest <= min(added.threshold, replaced.threshold))
    for query, one, two in ((added, without, with_one), (replaced, with_other, with_one)):
        for first, second in ((one, two), (two, one)):
            assert exact_delta(query, first, second) <= ball(query.delta)


@given(st.fractions(Fraction(1, 10), 5), st.integers(1, 50), st.sampled_from(["1/3", "0.01", "1e-9"]))
def test_the_threshold_is_the_least(epsilon, bound, delta) -> None:
    """One cell with everything and L − 1 with next to nothing: shown with a chance of at most δ, and no step lower."""
    query = Query(name="q", epsilon=epsilon, bound=bound, delta=Fraction(delta))
    assume(query.threshold > bound * GRID)
    ratio = (-1 / ball(query.scale)).exp()

    def chance(threshold: int) -> arb:
        far = (-ball(threshold / query.scale)).exp() / (1 + ratio)
        return far * (ball(epsilon).exp() + bound - 1)

    assert chance(query.threshold) <= ball(query.delta) < chance(query.threshold - 1)


def test_delta_is_attained() -> None:
    """A person with one cell of their own: a threshold that is lower by one step would break the promise."""
    query = Query(name="visits", epsilon=Fraction(1), bound=1, delta=Fraction(1, 1000))
    attained = exact_delta(query, sums([[[0]]], "visits", 1), {})
    assert float(ball(query.delta) - attained) / 1e-3 < 1e-9 and attained <= ball(query.delta)


@given(FILES, st.sampled_from(STATISTICS))
@settings(max_examples=100)
def test_where_nobody_has_too_much_sums_are_plain_counts(file, statistic) -> None:
    assert sums(file, statistic, 99) == plainly(statistic, file, 99)


@given(FILES, st.sampled_from(STATISTICS), st.integers(1, 4))
@settings(max_examples=150)
def test_a_person_counts_in_few_cells_whatever_others_have(file, statistic, bound) -> None:
    whole: Counter[tuple[int, ...]] = Counter()
    for number, own in enumerate(file):
        alone = sums([[]] * number + [own], statistic, bound)
        mine = [each for word in own for each in things(statistic, word)]
        assert len(alone) == min(len(set(mine)), bound) and set(alone) <= set(mine)
        assert min(len(mine), bound) * GRID - len(mine) <= sum(alone.values()) <= min(len(mine), bound) * GRID
        whole.update(alone)
    assert sums(file, statistic, bound) == whole


def test_which_cells_of_a_person_count_belongs_to_their_name() -> None:
    """Persons who come before them in the file, or are left out of it, change numbers and nothing else."""
    words = [[[0, 1, 2]]] * 12
    whole = PersonCells.of(read_statistic("visits"), batches(words), longest=LONGEST)
    fewer = PersonCells.of(read_statistic("visits"), batches(words[1:]), longest=LONGEST)
    names = [f"person {number}" for number in range(12)]
    one, other = (each.limited(1, KEYS, NAMES.__getitem__, own) for each, own in ((whole, names), (fewer, names[1:])))
    assert one.cells[1:].tolist() == other.cells.tolist() and len(set(one.cells[:, 0].tolist())) > 1


def test_every_cell_of_a_person_may_be_kept() -> None:
    """Over keys, each of three cells is kept about as often: 99 % of all draws would not make a test."""
    kept = Counter(
        cell for key in range(60) for cell in sums([[[0, 1, 2]]], "visits", 1, RecordKey(bytes([key]) * 32, "kept"))
    )
    assert sum(kept.values()) == 60 and min(kept[(code,)] for code in range(3)) >= 10


def table(words: list[list[int]], *, name=NAMES.__getitem__, statistic: str = "visits", **named):
    terms = {"epsilon": Fraction(1), "delta": Fraction(1, 10**6), "bound": 3}
    terms |= {key: named.pop(key) for key in list(named) if key != "longest"}
    file = [[word] for word in words]
    return selected_counts(
        read_statistic(statistic),
        lambda: batches(file),
        [str(each) for each in range(len(file))],
        CountTerms(**terms),
        name=name,
        keys=KEYS,
        **{"longest": LONGEST, **named},
    )


def test_rare_cells_do_not_show_and_neither_do_their_symbols() -> None:
    found = table([[0, 1]] * 400 + [[2]] * 3)
    assert found.symbols == ("a", "b") and len(found) == 2
    assert found.threshold is not None and (found.numbers["count"] >= found.threshold).all()
    assert "low_all" not in found.numbers
    document = found.document()
    assert document["guarantee"] == {"epsilon": 1.0, "delta": 1e-6, "how": "certified"}
    assert document["delta"] == "1e-06" and document["cells"] == 2
    assert not found.guarantee.within(Fraction(100))


def test_noise_belongs_to_the_name_of_a_cell() -> None:
    """Whatever else is in the file, and whatever codes symbols have: only sums move a row."""
    plain = table([[0, 1]] * 400)
    renamed = table([[1, 0]] * 400 + [[2]] * 3, name="bac".__getitem__)
    assert plain.document()["rows"] == renamed.document()["rows"]
    more = table([[0, 1]] * 400 + [[1]] * 50)
    rows = {row["symbols"][0]: row["count"] for row in more.document()["rows"]}
    before = {row["symbols"][0]: row["count"] for row in plain.document()["rows"]}
    assert rows["a"] == before["a"] and rows["b"] == before["b"] + 50


def test_rows_with_the_same_count_are_in_the_order_of_names() -> None:
    one = table([[0, 1, 2]] * 300, epsilon=Fraction(10**12))  # noise far below a count
    other = table([[0, 1, 2]] * 300, epsilon=Fraction(10**12), name="cba".__getitem__)
    for found in (one, other):
        counts = found.numbers["count"]
        names = [found.row(index)["symbols"][0] for index in range(3)]
        assert names == [name for _, name in sorted(zip(-counts, names, strict=True))]


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("words", [[], [[0, 1, 2]]])
def test_an_empty_table_is_a_table(statistic, words) -> None:
    found = table(words, statistic=statistic, bound="auto")
    assert len(found) == 0 and found.symbols == () and found.table.num_rows == 0
    assert found.to_svg().startswith("<svg")


def test_lengths_need_no_public_bound() -> None:
    found = table([[0, 1]] * 300 + [[0]] * 200, statistic="lengths", longest=10**9, bound=1)
    assert [found.row(index)["length"] for index in range(2)] == [2, 1]


def test_a_bound_is_chosen_without_the_number_of_cells() -> None:
    def least(bound: int) -> float:
        return Query(name="q", epsilon=Fraction(19, 20), bound=bound, delta=Fraction(1, 10**6)).threshold / GRID

    many = [0.0] * 3 + [1e6] * 2 + [500.0] + [0.0] * 9  # almost everybody has 5 to 16 things
    assert chosen_bound(many, threshold=least, epsilon=Fraction(1))[0] == 16
    few = [300.0] + [0.0] * 6 + [180.0] + [0.0] * 7  # the second is noise: a bound of 128 would hide everything
    bound, share = chosen_bound(few, threshold=least, epsilon=Fraction(1))
    assert bound <= 4 and share is not None and share > 0.9
    assert chosen_bound([0.0] * 15, threshold=least, epsilon=Fraction(1)) == (4, None)


@pytest.mark.parametrize("noise", [100.0, 200.0])  # scales of 20: one empty bin in 300, in 40,000 has so much
def test_noise_in_a_bin_of_many_things_does_not_choose_the_bound(noise: float) -> None:
    bins = [2000.0, 900.0, 500.0] + [0.0] * 12
    expected = chosen_bound(bins, cells=50, epsilon=Fraction(1))
    assert expected[0] <= 4
    bins[12] = noise
    assert chosen_bound(bins, cells=50, epsilon=Fraction(1)) == expected
    bins[12] = 2000.0
    assert chosen_bound(bins, cells=50, epsilon=Fraction(1))[0] == 4096


@pytest.mark.parametrize("size", [1, 7])
def test_large_sums_are_exact(size) -> None:
    """Weights below one count that many persons add, against Python's whole numbers."""
    rows = np.arange(3 * size) % 3
    found = PersonCells(np.zeros(3 * size, dtype=np.int64), rows[:, None].astype(np.int64), np.full(3 * size, 2**29))
    weight = 5 * GRID // (3 * size * 2**29)
    assert found.sums(5, 1)[1] == [weight * size * 2**29] * 3
