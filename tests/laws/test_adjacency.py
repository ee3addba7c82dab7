"""What each b hides on a model, against enumeration; and that b has no default there."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.errors import ParameterError
from symveil.languages.language import runs_of_any_length
from symveil.laws.adjacency import chosen_adjacency
from symveil.laws.protection import NEVER, NearWords, typical_shares, typical_words
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.models.automaton import Automaton
from symveil.tasks.draw import error_curves

CHAIN = sv.MarkovChain.from_transitions(
    [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", "1/3"), ("b", "a", "2/3"), ("c", "d", 1), ("d", "a", 1)]
)


def random_language(seed: int) -> sv.RunLanguage | None:
    """A small random chain, with or without a public start, or a random automaton."""
    dice = random.Random(seed)
    names = "abcd"[: dice.randint(2, 4)]
    length = dice.randint(1, 5)
    edges = [(one, other) for one in names for other in names if dice.random() < 0.5]
    try:
        if dice.random() < 0.6:
            out = {name: [other for one, other in edges if one == name] for name in names}
            rows = [(one, other, Fraction(1, len(out[one]))) for one, other in edges]
            chain = sv.MarkovChain.from_transitions(rows, initial=dice.choice([None, rows[0][0]]))
            return sv.runs(chain, length, public_start=dice.random() < 0.4)
        moves = [(one, dice.choice("xyz"), other) for one, other in edges]
        accepting = [name for name in names if any(name in move for move in moves) and dice.random() < 0.7]
        return sv.runs(Automaton.from_transitions(moves, initial=moves[0][0], accepting=accepting), length)
    except (sv.SymveilError, IndexError):
        return None  # it has no word


def brute(language: sv.RunLanguage) -> tuple[np.ndarray, list[list[tuple[int, list[int]]]]]:
    """All words, and for each of them the distance of every comparable word and where it differs."""
    words = language.enumerate_codes(at_most=5000)
    near = []
    for word in words:
        own = []
        for other in words:
            places = np.flatnonzero(word != other).tolist()
            if places and not (language.public_start and 0 in places):
                own.append((len(places), places))
        near.append(own)
    return words, near


def test_passes_agree_with_enumeration() -> None:
    looked_at = 0
    for seed in range(150):
        language = random_language(seed)
        if language is None:
            continue
        looked_at += 1
        words, near = brute(language)
        passes = NearWords(language, words)
        least, (others, at_all) = passes.least_distances(), passes.counts_of_all()
        totals, at = passes.counts(3)
        for row, own in enumerate(near):
            assert others[row] == len(own)
            for position in range(language.length):
                there = [distance for distance, places in own if position in places]
                assert least[row, position] == min(there, default=NEVER)
                assert at_all[row, position] == len(there)
                for b in range(4):
                    assert at[row, position, b] == sum(distance <= b for distance in there)
            for b in range(4):
                assert totals[row, b] == sum(distance <= b for distance, _ in own)
    assert looked_at > 80


def test_the_table_agrees_with_enumeration() -> None:
    looked_at = 0
    for seed in range(60):
        language = random_language(seed)
        if language is None or language.largest_distance < 3 or not language.has_at_most(500):
            continue
        looked_at += 1
        words, near = brute(language)
        shares = typical_shares(language, words)
        assert shares.sum() == pytest.approx(1)
        table = sv.adjacency_table(language)
        assert table.all_words and table.words == len(words)
        assert [row.adjacency for row in table.rows] == [b for b in (1, 2, 3, 4) if b < language.largest_distance] + [
            "all"
        ]
        for row in table.rows:
            reach = language.length if row.adjacency == "all" else row.adjacency
            found, some = np.zeros(language.length), 0.0
            for share, own in zip(shares, near, strict=True):
                counts = np.zeros(language.length)
                for distance, places in own:
                    if distance <= reach:
                        counts[places] += 1
                found += share * counts
                some += share * np.mean(counts > 0)
            assert row.by_position == pytest.approx(found.tolist())
            assert row.positions_with_alternatives == pytest.approx(some)
            assert row.alternatives == pytest.approx(found.mean())
    assert looked_at > 15


def test_typical_words_have_their_shares() -> None:
    """20,000 draws against the shares; a share that is wrong by half is outside (false alarms: about 1e-9 for each)."""
    language = sv.runs(CHAIN, 3)
    words = language.enumerate_codes(at_most=100)
    shares = typical_shares(language, words)
    drawn = typical_words(language, 20_000)
    for word, share in zip(words, shares, strict=True):
        seen = float((drawn == word).all(axis=1).mean())
        spread = 6 * (share * (1 - share) / 20_000) ** 0.5
        assert abs(seen - share) < spread
        assert abs(seen - 1.5 * share) > spread or share < 0.05


def test_long_words_and_large_numbers() -> None:
    """On a complete model numbers are those of Σⁿ, also where floats cannot hold them."""
    complete = sv.MarkovChain.from_transitions([(one, other, "1/3") for one in "abc" for other in "abc"])
    row = sv.adjacency_table(sv.runs(complete, 40), adjacencies=[1, "all"]).rows
    assert row[0].by_position == pytest.approx([2.0] * 40) and row[0].positions_with_alternatives == 1
    assert row[1].by_position == pytest.approx([2 * 3.0**39] * 40)
    assert sv.adjacency_table(sv.runs(complete, 700), adjacencies=["all"]).rows[0].alternatives == pytest.approx(1e300)


def test_what_is_hidden_grows_with_b() -> None:
    rows = sv.adjacency_table(sv.runs(CHAIN, 12)).rows
    for one, other in itertools.pairwise(rows):
        assert one.positions_with_alternatives <= other.positions_with_alternatives + 1e-12
        assert one.alternatives <= other.alternatives + 1e-9


def test_over_an_alphabet_there_is_no_table() -> None:
    with pytest.raises(ParameterError, match="over an alphabet every symbol has alternatives"):
        sv.adjacency_table(sv.words("abc", 3))


RUNS = sv.runs(CHAIN, 5)
UP_TO = sv.runs_up_to(CHAIN, 4)
NO_DEFAULT = "adjacency: expected b, 1 or more, or all, because on a model b has no default"


@pytest.mark.parametrize(
    "without",
    [
        lambda: sv.Exponential(RUNS, epsilon=5),
        lambda: sv.PermuteAndFlip(RUNS, epsilon=5),
        lambda: sv.Staircase(RUNS, epsilon=5),
        lambda: sv.Online(RUNS, epsilon=5),
        lambda: sv.Optimal(RUNS, epsilon=5),
        lambda: Jones2019Printed(RUNS, epsilon=5),
        lambda: sv.TruncatedLevenshtein(UP_TO, epsilon=5),
        lambda: sv.select_mechanism(RUNS, epsilon=5),
        lambda: sv.select_mechanism(runs_of_any_length(CHAIN), epsilon=5),
        lambda: sv.select_mechanism(UP_TO, epsilon=5),
        lambda: sv.choose_mechanism(sv.MechanismChoice(epsilon=5, mechanism="online"), RUNS),
        lambda: sv.privatize(["abda"], model=CHAIN, epsilon=5),
        lambda: sv.lower_bound(RUNS, epsilon=5),
        lambda: error_curves(RUNS),
    ],
)
def test_on_a_model_b_has_no_default(without) -> None:
    with pytest.raises(ParameterError) as refused:
        without()
    line = str(refused.value)
    assert line.startswith(NO_DEFAULT) and line.endswith(", found none") and "\n" not in line


def test_the_refusal_says_what_each_b_hides() -> None:
    with pytest.raises(ParameterError) as refused:
        chosen_adjacency(None, RUNS)
    table = sv.adjacency_table(RUNS, adjacencies=[1, 2, 4, "all"])
    assert f"in words of 5 symbols {table}; symveil explain --model M --length N" in str(refused.value)
    with pytest.raises(ParameterError, match=r"in words of 10 symbols b = 1: "):
        chosen_adjacency(None, runs_of_any_length(CHAIN))
    with pytest.raises(ParameterError, match="insertions, deletions and substitutions"):
        chosen_adjacency(None, UP_TO)


def test_a_large_model_is_refused_at_once() -> None:
    dense = sv.MarkovChain.from_transitions(
        [(str(one), str(other), "1/120") for one in range(120) for other in range(120)]
    )
    with pytest.raises(ParameterError, match="shows what each b hides"):
        chosen_adjacency(None, sv.runs(dense, 3000))


def test_over_an_alphabet_b_is_1(tmp_path: Path) -> None:
    assert sv.Exponential(sv.words("abc", 3), epsilon=1).adjacency == 1
    assert sv.EditChannel("abc", epsilon=5).adjacency == 1
    assert sv.lower_bound(sv.words("abc", 3), epsilon=1) == sv.lower_bound(sv.words("abc", 3), epsilon=1, adjacency=1)
    (tmp_path / "in.csv").write_text("id,s\n1,a b\n")
    release = sv.privatize_file(tmp_path / "in.csv", tmp_path / "out.csv", alphabet="ab", epsilon=1)
    assert (release.manifest["b"], release.manifest["parameters"]["adjacency"]) == (1, 1)


def test_a_document_without_b_means_1_as_it_did() -> None:
    document = sv.MechanismChoice(epsilon=1, adjacency=1).document()
    assert document["adjacency"] == 1
    del document["adjacency"]
    old = sv.MechanismChoice.from_document(document)
    assert old.adjacency == 1 and sv.choose_mechanism(old, RUNS).adjacency == 1
    new = sv.MechanismChoice(epsilon=1)
    assert sv.MechanismChoice.from_document(new.document()) == new and new.adjacency is None
