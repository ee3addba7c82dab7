"""The Hamming automaton against automata and words that are written out one by one."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import ParameterError, TooLargeError, WordError
from symveil.languages.hamming_automaton import HammingAutomaton, hamming_automaton
from symveil.models.alphabet import Alphabet

SYMBOLS = "abc"


def small_cases():
    """Every word of up to 4 symbols over up to 3, with every range of distances it can have."""
    for size in (1, 2, 3):
        for length in range(5):
            largest = length if size > 1 else 0
            for codes in itertools.product(range(size), repeat=length):
                for fewest, most in itertools.combinations_with_replacement(range(largest + 1), 2):
                    yield size, codes, fewest, most


def small_automata():
    for size, codes, fewest, most in small_cases():
        alphabet = Alphabet.from_symbols(SYMBOLS[:size])
        yield HammingAutomaton(alphabet=alphabet, codes=codes, fewest_errors=fewest, most_errors=most)


def spelled(automaton):
    return tuple(automaton.alphabet.symbols[code] for code in automaton.codes)


def distance(one, other):
    return sum(a != b for a, b in zip(one, other, strict=True))


def accepted_words(automaton):
    word = spelled(automaton)
    allowed = range(automaton.fewest_errors, automaton.most_errors + 1)
    return [
        other
        for other in itertools.product(automaton.alphabet.symbols, repeat=len(word))
        if distance(word, other) in allowed
    ]


def written_out(automaton):
    """States and single transitions of J19 Algorithm 1 with substitutions only, trimmed by search."""
    word, n = spelled(automaton), automaton.length
    steps = {
        ((i, e), symbol, (i + 1, e + (symbol != word[i])))
        for i in range(n)
        for e in range(n + 1)
        for symbol in automaton.alphabet.symbols
    }
    final = {(n, e) for e in range(automaton.fewest_errors, automaton.most_errors + 1)}

    def closure(seeds, pairs):
        found = set(seeds)
        while True:
            new = {to for origin, to in pairs if origin in found} - found
            if not new:
                return found
            found |= new

    forwards = closure({(0, 0)}, {(source, target) for source, _, target in steps})
    backwards = closure(final, {(target, source) for source, _, target in steps})
    states = forwards & backwards
    return states, {step for step in steps if step[0] in states and step[2] in states}


def follow(automaton, word):
    """The product of μ along a word, by nothing but the policy."""
    state, chance = (0, 0), Fraction(1)
    for symbol in word:
        choice = next((c for c in automaton.policy(*state) if symbol in c.edge.symbols), None)
        if choice is None:
            return Fraction(0)
        assert choice.edge.source == state
        state, chance = choice.edge.target, chance * choice.each
    return chance


def test_states_and_edges_are_those_of_the_trimmed_automaton():
    for automaton in small_automata():
        states, steps = written_out(automaton)
        listed = list(automaton.states)
        assert listed == sorted(states)
        edges = list(automaton.edges)
        singles = Counter((edge.source, symbol, edge.target) for edge in edges for symbol in edge.symbols)
        assert singles == Counter(steps)
        assert automaton.state_count == len(listed)
        assert automaton.edge_count == len(edges)


def test_edges_are_grouped_into_matches_and_mismatches():
    for automaton in small_automata():
        for edge in automaton.edges:
            own = spelled(automaton)[edge.source[0]]
            further = edge.target[1] - edge.source[1]
            assert edge.target[0] == edge.source[0] + 1
            assert (edge.kind, further) in {("match", 0), ("mismatch", 1)}
            expected = [s for s in automaton.alphabet.symbols if (s == own) == (edge.kind == "match")]
            assert list(edge.symbols) == expected != []


def test_ways_count_the_paths_to_acceptance():
    for automaton in small_automata():
        _, steps = written_out(automaton)
        final = {state for state in automaton.states if state[0] == automaton.length}
        paths = dict.fromkeys(final, 1)
        for state in sorted(automaton.states, reverse=True):
            if state not in final:
                paths[state] = sum(paths[target] for source, _, target in steps if source == state)
        assert {state: automaton.ways(*state) for state in automaton.states} == paths
        assert automaton.language_size == len(accepted_words(automaton))


def test_the_policy_draws_every_accepted_word_alike_and_no_other():
    for automaton in small_automata():
        accepted = set(accepted_words(automaton))
        for word in itertools.product(automaton.alphabet.symbols, repeat=automaton.length):
            assert follow(automaton, word) == (Fraction(1, len(accepted)) if word in accepted else 0)


def test_the_policy_is_a_distribution_at_every_state():
    for automaton in small_automata():
        for state in automaton.states:
            choices = automaton.policy(*state)
            if state[0] == automaton.length:
                assert choices == ()
            else:
                assert sum(choice.together for choice in choices) == 1
                assert all(choice.together == choice.each * len(choice.edge.symbols) > 0 for choice in choices)


def test_exactly_at_a_distance_the_policy_is_uniform_over_binomially_many_words():
    for length, size in itertools.product(range(1, 5), (2, 3)):
        for errors in range(length + 1):
            automaton = hamming_automaton("a" * length, alphabet=SYMBOLS[:size], exactly=errors)
            assert automaton.language_size == math.comb(length, errors) * (size - 1) ** errors


def test_accepts_exactly_the_words_at_an_allowed_distance():
    for automaton in small_automata():
        accepted = set(accepted_words(automaton))
        for word in itertools.product(automaton.alphabet.symbols, repeat=automaton.length):
            assert automaton.accepts(word) == (word in accepted)
            assert automaton.accepts("".join(word)) == (word in accepted)


def test_accepts_no_word_of_another_length_or_alphabet():
    automaton = hamming_automaton("abc", alphabet="abc")
    assert automaton.accepts("ccc")
    for other in ("", "ab", "abca", "abx", ["a", "b", None], [["a"], "b", "c"]):
        assert not automaton.accepts(other)


@given(st.integers(0, 40), st.integers(1, 5), st.data())
def test_counts_agree_with_the_lists_they_count(length, size, data):
    largest = length if size > 1 else 0
    most = data.draw(st.integers(0, largest))
    fewest = data.draw(st.integers(0, most))
    automaton = HammingAutomaton(
        alphabet=Alphabet.from_symbols(range(size)), codes=(0,) * length, fewest_errors=fewest, most_errors=most
    )
    assert automaton.state_count == sum(1 for _ in automaton.states)
    assert automaton.edge_count == sum(1 for _ in automaton.edges)
    counts = [math.comb(length, d) * (size - 1) ** d for d in range(fewest, most + 1)]
    assert automaton.language_size == sum(counts)


# --- the papers ----------------------------------------------------------------------------------


def test_jones2019_case_study_has_561_states_and_1056_edges():
    word = "american control conference 2019"
    automaton = hamming_automaton(word, alphabet=sorted(set(word)))
    assert (automaton.length, len(automaton.alphabet)) == (32, 16)
    assert (automaton.state_count, automaton.edge_count) == (561, 1056)
    assert automaton.language_size == 16**32


def test_jones2019_figure_2_and_benvenuti2026_figure_1():
    automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
    values = {state: automaton.ways(*state) for state in automaton.states}
    assert values == {(0, 0): 12, (1, 0): 4, (1, 1): 4, (2, 1): 2, (2, 2): 1, (3, 2): 1}
    start = {symbol: choice.each for choice in automaton.policy(0, 0) for symbol in choice.edge.symbols}
    assert start == dict.fromkeys("abc", Fraction(1, 3))
    assert [(c.edge.kind, c.each, c.together) for c in automaton.policy(1, 1)] == [
        ("match", Fraction(1, 2), Fraction(1, 2)),
        ("mismatch", Fraction(1, 4), Fraction(1, 2)),
    ]


def test_jones2019_figure_1b():
    automaton = hamming_automaton("abc", alphabet="abc", within=2)
    assert automaton.language_size == 1 + 6 + 12
    assert {state for state in automaton.states if state[0] == 3} == {(3, 0), (3, 1), (3, 2)}
    assert (automaton.state_count, automaton.edge_count) == (9, 11)


# --- the edges of the domain ---------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{}, {"within": 0}, {"within": 4}, {"exactly": 0}])
def test_a_one_symbol_alphabet_has_no_mismatches(limits):
    automaton = hamming_automaton("aaaa", alphabet="a", **limits)
    assert (automaton.state_count, automaton.edge_count, automaton.language_size) == (5, 4, 1)
    assert {edge.kind for edge in automaton.edges} == {"match"}
    assert "<svg" in automaton.to_svg()


@pytest.mark.parametrize("alphabet", ["a", "ab"])
@pytest.mark.parametrize("limits", [{}, {"within": 0}, {"exactly": 0}])
def test_the_empty_word(alphabet, limits):
    automaton = hamming_automaton("", alphabet=alphabet, **limits)
    assert list(automaton.states) == [(0, 0)]
    assert list(automaton.edges) == []
    assert (automaton.state_count, automaton.edge_count, automaton.language_size) == (1, 0, 1)
    assert automaton.policy(0, 0) == ()
    assert automaton.accepts("")
    assert "<svg" in automaton.to_svg()


def test_a_long_word_is_counted_without_being_built():
    started = time.process_time()
    automaton = hamming_automaton([0, 1] * 5000, alphabet=range(4))
    assert automaton.state_count == 10_001 * 10_002 // 2
    assert automaton.edge_count == 10_000 * 10_001
    assert automaton.language_size == 4**10_000
    half = hamming_automaton([0, 1] * 5000, alphabet=range(4), exactly=5000)
    assert half.state_count == 5001 * 5001
    assert half.language_size == math.comb(10_000, 5000) * 3**5000
    assert sum(choice.together for choice in half.policy(17, 3)) == 1
    assert next(iter(half.states)) == (0, 0)
    assert time.process_time() - started < 5


def test_symbols_may_be_anything_hashable():
    automaton = hamming_automaton([(1, 2), None], alphabet=[None, (1, 2), "x"], exactly=1)
    assert automaton.accepts([(1, 2), "x"])
    assert {edge.symbols for edge in automaton.edges if edge.source == (0, 0)} == {((1, 2),), (None, "x")}
    assert "≠" not in automaton.to_dot()


def test_equal_words_and_distances_make_equal_automata():
    one = hamming_automaton("ab", alphabet="ab", within=0)
    assert one == hamming_automaton(("a", "b"), alphabet=["a", "b"], exactly=0)
    assert hash(one) == hash(hamming_automaton("ab", alphabet="ab", exactly=0))
    assert one != hamming_automaton("ba", alphabet="ab", within=0)
    with pytest.raises(AttributeError):
        one.most_errors = 1


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        {"within": 4},
        {"within": -1},
        {"within": True},
        {"within": 1.0},
        {"within": "1"},
        {"exactly": 4},
        {"exactly": -1},
        {"exactly": False},
        {"within": 1, "exactly": 1},
    ],
)
def test_distances_outside_their_domain_are_refused(limits):
    with pytest.raises(ParameterError) as caught:
        hamming_automaton("abc", alphabet="abc", **limits)
    assert caught.value.name in limits


def test_one_symbol_has_no_words_at_a_distance():
    with pytest.raises(ParameterError, match="from 0 to 0, found 1"):
        hamming_automaton("aaa", alphabet="a", exactly=1)


@pytest.mark.parametrize(("fewest", "most"), [(2, 1), (0, 4), (-1, 2), (0, True)])
def test_the_class_validates_as_well_as_the_function(fewest, most):
    with pytest.raises(ParameterError):
        HammingAutomaton(alphabet=Alphabet.from_symbols("abc"), codes=(0, 1, 2), fewest_errors=fewest, most_errors=most)


@pytest.mark.parametrize("code", [-1, 3])
def test_codes_outside_the_alphabet_are_refused_by_position(code):
    with pytest.raises(WordError) as caught:
        HammingAutomaton(alphabet=Alphabet.from_symbols("abc"), codes=(0, code), fewest_errors=0, most_errors=0)
    assert caught.value.position == 2


@pytest.mark.parametrize("state", [(0, 1), (-1, 0), (4, 0), (3, 3), (2, 0)])
def test_what_is_not_a_state_has_neither_ways_nor_policy(state):
    automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
    with pytest.raises(ParameterError, match="a state"):
        automaton.ways(*state)
    with pytest.raises(ParameterError, match="a state"):
        automaton.policy(*state)


def test_a_word_outside_the_alphabet_is_refused_without_being_told():
    with pytest.raises(WordError) as caught:
        hamming_automaton(["public", "SECRET"], alphabet=["public", "other"])
    assert "SECRET" not in str(caught.value)
    assert caught.value.position == 2


def test_neither_representation_nor_errors_tell_the_word():
    automaton = hamming_automaton(["SECRET", "HIDDEN"] * 20, alphabet=["x", "SECRET", "HIDDEN"])
    with pytest.raises(TooLargeError) as drawn:
        automaton.to_svg()
    with pytest.raises(ParameterError) as asked:
        automaton.ways(0, 7)
    for text in (repr(automaton), str(drawn.value), str(asked.value)):
        assert "SECRET" not in text
        assert "HIDDEN" not in text


# --- drawing -------------------------------------------------------------------------------------


def test_the_diagram_shows_every_state_and_edge_with_its_numbers():
    automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
    diagram = automaton.to_diagram()
    nodes = {node.key: node for node in diagram.nodes}
    assert set(nodes) == set(automaton.states)
    assert all((node.column, node.row) == key for key, node in nodes.items())
    assert nodes[2, 1].label == ("2¹",)
    assert nodes[0, 0].value == "12"
    assert [key for key, node in nodes.items() if node.initial] == [(0, 0)]
    assert [key for key, node in nodes.items() if node.accepting] == [(3, 2)]
    edges = {(edge.source, edge.target): (edge.label, edge.annotation) for edge in diagram.edges}
    assert edges[(0, 0), (1, 0)] == ("a", "1/3")
    assert edges[(0, 0), (1, 1)] == ("b, c", "1/3 each")
    assert edges[(1, 1), (2, 2)] == ("a, c", "1/4 each")
    assert len(edges) == automaton.edge_count
    assert "12 words" in diagram.title


def test_all_states_after_the_last_symbol_accept():
    diagram = hamming_automaton("ab", alphabet="ab").to_diagram()
    assert {node.key for node in diagram.nodes if node.accepting} == {(2, 0), (2, 1), (2, 2)}


def test_many_other_symbols_are_named_by_the_one_they_are_not():
    diagram = hamming_automaton("a", alphabet="abcdefghijklmnop").to_diagram()
    assert {edge.label for edge in diagram.edges} == {"a", "≠a (15)"}


def test_a_drawing_that_nobody_could_read_is_refused():
    word = "american control conference 2019"
    automaton = hamming_automaton(word, alphabet=sorted(set(word)))
    for draw in (automaton.to_diagram, automaton.to_svg, automaton.to_dot):
        with pytest.raises(TooLargeError, match="shorter word or a smaller distance"):
            draw()
    assert automaton._repr_svg_() is None
    assert hamming_automaton(word, alphabet=sorted(set(word)), within=2)._repr_svg_().startswith("<svg")
