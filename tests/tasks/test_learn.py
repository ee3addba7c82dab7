"""Learning a chain: relative frequencies, exactly; nothing secret in a refusal."""

from __future__ import annotations

import csv
import gzip
import time
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import InputError, ParameterError, TooLargeError, WordError
from symveil.formats.models.model_files import load_model
from symveil.languages.runs import runs
from symveil.models.markov_chain import MarkovChain
from symveil.tasks.learn import learn_chain, learn_file

DATA = Path(__file__).parents[2].parent / "shared" / "data"
needs_trips = pytest.mark.skipif(
    not (DATA / "shanghai_trips.csv.gz").exists(), reason="needs the Shanghai trips in ../shared/data"
)
GRAPH = MarkovChain.from_transitions([("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "a", 1), ("c", "c", 1)])


def probabilities(chain: MarkovChain) -> dict[tuple[str, str], Fraction]:
    return {(source, target): chance for source, target, chance in chain.transitions}


@given(st.lists(st.text("abcd", max_size=8), min_size=1), st.sampled_from([0, 1, "1/3", 0.1]))
def test_probabilities_are_the_smoothed_frequencies(words: list[str], smooth) -> None:
    symbols = sorted(set("".join(words)))
    if not symbols:
        with pytest.raises(InputError, match="at least one symbol"):
            learn_chain(words, smooth=smooth)
        return
    chain = learn_chain(words, smooth=smooth)
    assert chain.states == tuple(symbols)
    learned = probabilities(chain)
    added = Fraction(str(smooth))
    for source in symbols:
        following = Counter(word[i + 1] for word in words for i in range(len(word) - 1) if word[i] == source)
        total = sum(following.values()) + added * len(symbols)
        for target in symbols:
            count = following[target] + added
            assert learned.get((source, target), 0) == (count / total if count else 0)


def test_the_last_symbol_is_a_dead_end() -> None:
    chain = learn_chain(["ab", "ac"])
    assert probabilities(chain) == {("a", "b"): Fraction(1, 2), ("a", "c"): Fraction(1, 2)}
    assert runs(chain, length=2).size == 2


def test_an_alphabet_gives_the_states_and_their_order() -> None:
    assert learn_chain(["ab"], alphabet="cba").states == ("c", "b", "a")
    assert len(learn_chain(["ab"], alphabet="cba", smooth=1).transitions) == 9
    assert learn_chain([], alphabet="cba").transitions == ()
    with pytest.raises(WordError, match="sequence 2: expected symbols of the alphabet, found another at position 3"):
        learn_chain(["ab", "abx"], alphabet="cba")


def test_a_graph_says_what_is_feasible() -> None:
    chain = learn_chain(["aba", "acc"], graph=GRAPH)
    assert chain.states == GRAPH.states
    assert probabilities(chain) == {
        ("a", "b"): Fraction(1, 2),
        ("a", "c"): Fraction(1, 2),
        ("b", "a"): 1,
        ("c", "c"): 1,
    }
    smoothed = probabilities(learn_chain(["ab", "ab"], graph=GRAPH, smooth="1/2"))
    assert smoothed == {("a", "b"): Fraction(5, 6), ("a", "c"): Fraction(1, 6), ("b", "a"): 1, ("c", "c"): 1}


@pytest.mark.parametrize(
    ("words", "message", "position"),
    [
        (
            ["ab", "abab", "acca"],
            "sequence 3: expected moves that the graph allows, found another at position 4; the model has a move from "
            "'a' to 'c' and none from 'c' to 'a'",
            4,
        ),
        (
            ["ab", "abab", "bb"],  # what the graph lacks is named from the graph alone
            "sequence 3: expected moves that the graph allows, found another at position 2; the model has a move from "
            "'a' to 'c' and none from 'c' to 'a'",
            2,
        ),
        (["ab", "SECRET"], "sequence 2: expected symbols that are states of the graph, found another at position 1", 1),
        (
            [["a", "SECRET"]],
            "sequence 1: expected symbols that are states of the graph, found another at position 2",
            2,
        ),
    ],
)
def test_a_move_outside_the_graph_is_refused_by_number_and_position(words, message: str, position: int) -> None:
    with pytest.raises(WordError) as caught:
        learn_chain(words, graph=GRAPH)
    assert str(caught.value) == message
    assert caught.value.position == position
    assert "SECRET" not in repr(caught.value)


@pytest.mark.parametrize("smooth", [-1, "-1/2", float("nan"), float("inf"), "much", "1e999999999", True, None])
def test_smooth_is_a_number(smooth) -> None:
    with pytest.raises(ParameterError, match="smooth: expected a number, 0 or more"):
        learn_chain(["ab"], smooth=smooth)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ab", ["a", 1]], "sequence 2: expected strings as symbols, found a int at position 2"),
        (["ab", 5], "sequence 2: expected symbols, found a int"),
    ],
)
def test_symbols_are_strings(words, message: str) -> None:
    with pytest.raises(WordError, match=message):
        learn_chain(words)


def test_other_refusals() -> None:
    with pytest.raises(InputError, match="expected a graph or an alphabet, found both"):
        learn_chain(["ab"], graph=GRAPH, alphabet="abc")
    with pytest.raises(ParameterError, match="alphabet: expected strings, found a int at position 2"):
        learn_chain(["ab"], alphabet=["a", 1])
    with pytest.raises(TooLargeError, match="give a graph"):
        learn_chain([[str(number) for number in range(4000)]], smooth=1)


# --- files -----------------------------------------------------------------------------------------


def test_a_file_becomes_a_model_file(tmp_path) -> None:
    (tmp_path / "trips.csv").write_text("id,links\n1,a b a\n2,a c\n")
    learned = learn_file(tmp_path / "trips.csv", tmp_path / "m.json")
    assert load_model(tmp_path / "m.json") == learned.chain == learn_chain(["aba", "ac"])
    assert learned.document() == {
        "model": str(tmp_path / "m.json"),
        "kind": "markov-chain",
        "states": 3,
        "transitions": 3,
        "dead_ends": 1,
        "smooth": "0",
    }


def test_a_refusal_names_the_file_and_leaves_no_output(tmp_path) -> None:
    trips, graph, out = tmp_path / "trips.csv", tmp_path / "graph.csv", tmp_path / "m.json"
    trips.write_text("id,links\n1,a b\n2,a SECRET\n")
    graph.write_text("from,to\na,b\n")
    with pytest.raises(WordError) as caught:
        learn_file(trips, out, graph=graph)
    assert str(caught.value).startswith(f"{trips}: sequence 2: expected symbols that are states of the graph")
    assert "SECRET" not in str(caught.value)
    assert not out.exists()


def test_a_graph_of_actions_is_refused(tmp_path) -> None:
    (tmp_path / "trips.csv").write_text("links\na b\n")
    (tmp_path / "graph.csv").write_text("from,symbol,to\na,x,b\n")
    with pytest.raises(InputError, match="a Markov chain or a table from, to, found transition-system"):
        learn_file(tmp_path / "trips.csv", tmp_path / "m.json", graph=tmp_path / "graph.csv")


def test_the_sequences_are_not_overwritten(tmp_path) -> None:
    trips = tmp_path / "trips.csv"
    trips.write_text("links\na b\n")
    with pytest.raises(InputError, match="another file than the sequences"):
        learn_file(trips, tmp_path / "." / "trips.csv")
    assert trips.read_text() == "links\na b\n"


@needs_trips
def test_shanghai_in_seconds(tmp_path) -> None:
    start = time.process_time()
    learned = learn_file(
        DATA / "shanghai_trips.csv.gz", tmp_path / "m.json", graph=DATA / "shanghai_adjacency.csv.gz", smooth="1/2"
    )
    assert time.process_time() - start < 15  # a second or less on an idle machine
    assert (len(learned.chain.states), len(learned.chain.transitions), learned.dead_ends) == (714, 1737, 0)
    counts: Counter[tuple[str, str]] = Counter()
    with gzip.open(DATA / "shanghai_trips.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            links = row["links"].split()
            counts.update(pairwise(links))
    learned_probabilities = probabilities(learned.chain)
    for source in ("0", "204", "713"):
        moves = [move for move in learned_probabilities if move[0] == source]
        total = sum(counts[move] + Fraction(1, 2) for move in moves)
        assert all(learned_probabilities[move] == (counts[move] + Fraction(1, 2)) / total for move in moves)
    assert load_model(tmp_path / "m.json") == learned.chain
