"""The baselines are what they say: the papers' algorithms as printed, Storm's format, and floats with our law."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest
from benchmarks import benvenuti2026_plain, exactness, jones2019_plain
from benchmarks.bisimulation import in_storms_format, with_copies
from benchmarks.central import jensen_shannon, top_patterns
from benchmarks.conference import ALPHABET, WORD, language
from benchmarks.distances import random_chain
from benchmarks.systems import told_apart_system
from benchmarks.zhao2025 import sensitive_string
from benchmarks.zhao2025_plain import PlainObserver, control_policy, modified_automaton, show

import symveil as sv


class TestJones2019Plain:
    """The baseline has to be the paper's mechanism, or a ratio to it means nothing."""

    def test_the_automaton_has_the_size_that_the_paper_reports(self) -> None:
        automaton = jones2019_plain.make_levenshtein(ALPHABET, WORD, len(WORD))
        assert (len(WORD), len(ALPHABET)) == (32, 16)
        assert (len(automaton.states), automaton.edge_count) == (561, 1056)

    def test_figure_2(self) -> None:
        automaton = jones2019_plain.make_levenshtein("abc", "abc", 3)
        policy = jones2019_plain.synthesize_policy(jones2019_plain.restrict(automaton, 2), 2)
        assert policy.paths[0, 0] == 12
        assert policy.chance[0, 0] == pytest.approx({"a": 4 / 12, "b": 4 / 12, "c": 4 / 12})
        assert policy.chance[1, 0] == pytest.approx({"a": 1 / 2, "c": 1 / 2})

    @pytest.mark.parametrize("distance", range(5))
    def test_a_policy_is_uniform_on_the_words_at_its_distance(self, distance: int) -> None:
        alphabet, word = "abc", "abca"
        automaton = jones2019_plain.make_levenshtein(alphabet, word, len(word))
        policy = jones2019_plain.synthesize_policy(jones2019_plain.restrict(automaton, distance), distance)
        there = 0
        for symbols in itertools.product(alphabet, repeat=len(word)):
            state, chance = (0, 0), 1.0
            for symbol in symbols:
                chance *= policy.chance.get(state, {}).get(symbol, 0.0)
                state = policy.successor.get(state, {}).get(symbol, state)
            if sum(a != b for a, b in zip(symbols, word, strict=True)) == distance:
                there += 1
                assert chance == pytest.approx(1 / policy.paths[0, 0])
            else:
                assert chance == 0
        assert there == policy.paths[0, 0] == sv.words(alphabet, len(word)).count(distance)

    def test_its_law_of_the_distance_is_our_classic_inverse_utility(self) -> None:
        weights = np.array(jones2019_plain.distance_weights(ALPHABET, WORD, epsilon=10))
        ours = sv.Exponential(language(), epsilon=10, calibration="classic", utility="inverse").distances()
        assert weights / weights.sum() == pytest.approx(ours.probabilities, rel=1e-12)

    @pytest.mark.parametrize("kept", [False, True])
    def test_its_releases_follow_that_law(self, kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        alphabet, word, epsilon, draws = "abc", "abc", 6.0, 4000
        monkeypatch.setattr(jones2019_plain, "random", random.Random(20190710))
        policies = jones2019_plain.KeptPolicies(alphabet, word, epsilon=epsilon)
        released = Counter(
            policies.release() if kept else jones2019_plain.release(alphabet, word, epsilon=epsilon)
            for _ in range(draws)
        )
        mechanism = sv.Exponential(sv.words(alphabet, 3), epsilon=6, calibration="classic", utility="inverse")
        statistic = 0.0
        for symbols in itertools.product(alphabet, repeat=3):
            expected = draws * mechanism.probability(word, "".join(symbols))
            statistic += (released["".join(symbols)] - expected) ** 2 / expected
        # χ² with 26 degrees of freedom lies in this range with probability 0.9999
        assert 6.7 < statistic < 63.9


class TestBenvenuti2026Plain:
    """The same for B26: equation 5 expanded, and the permutation."""

    @pytest.mark.parametrize(("alphabet", "epsilon"), [("ab", 5), ("abc", 1)])
    def test_equation_4_is_our_classic_law(self, alphabet: str, epsilon: int) -> None:
        law = benvenuti2026_plain.distance_law(alphabet, 4, epsilon=epsilon)
        ours = sv.PermuteAndFlip(sv.words(alphabet, 4), epsilon=epsilon, calibration="classic").distances()
        assert law == pytest.approx(list(ours.probabilities), rel=1e-12)

    @pytest.mark.parametrize("permuted", [False, True])
    def test_its_releases_follow_that_law(self, permuted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        alphabet, word, epsilon, draws = "ab", "abb", 3, 3000
        source = random.Random(20260101)
        monkeypatch.setattr(benvenuti2026_plain, "random", source)
        monkeypatch.setattr(jones2019_plain, "random", source)
        kept = functools.cache(benvenuti2026_plain.distance_law)  # the same for all draws, and tested above
        monkeypatch.setattr(benvenuti2026_plain, "distance_law", kept)
        words = benvenuti2026_plain.all_words(alphabet, 3)
        released = Counter(
            "".join(benvenuti2026_plain.permute_and_flip(word, words, epsilon=epsilon))
            if permuted
            else benvenuti2026_plain.mechanism_1(alphabet, word, epsilon=epsilon)
            for _ in range(draws)
        )
        mechanism = sv.PermuteAndFlip(sv.words(alphabet, 3), epsilon=epsilon, calibration="classic")
        expected = {"".join(each): draws * mechanism.probability(word, "".join(each)) for each in words}
        statistic = sum((released[each] - amount) ** 2 / amount for each, amount in expected.items())
        # χ² with 7 degrees of freedom lies in this range with probability 0.9999
        assert 0.35 < statistic < 31.4


class TestZhao2025Plain:
    """The same for Z25: its substitutes are the safe strings at the distance."""

    def test_substitutes(self) -> None:
        system = told_apart_system(100, 0)
        string = sensitive_string(system, 12)
        observer = PlainObserver(system)

        def is_safe(events: list[str]) -> bool:
            estimate = observer.start
            for event in events:
                estimate = observer.step(estimate, event)
                if not estimate or observer.exposes(estimate):
                    return False
            return True

        assert not is_safe(string) and is_safe(string[:-1])
        expected = set()
        for places in itertools.combinations(range(12), 2):
            for others in itertools.product(observer.observable, repeat=2):
                events = list(string)
                for place, other in zip(places, others, strict=True):
                    events[place] = other
                if all(events[place] != string[place] for place in places) and is_safe(events):
                    expected.add(tuple(events))
        count, policy = control_policy(modified_automaton(observer, string, 2))
        assert count == len(expected) > 1
        # one of them is missed with probability below count · e^-40
        assert {tuple(show(policy, (0, 0, observer.start), 12)) for _ in range(40 * count)} == expected


class TestStorm:
    """What Storm is asked to lump is the chain that we lump."""

    def test_format(self) -> None:
        chain = with_copies(random_chain(4, seed=3), 2)
        text = in_storms_format(chain)
        assert text.count("state ") == len(chain.states) == 8
        rows = [line for line in text.splitlines() if line.startswith("\t\t")]
        assert len(rows) == len(chain.transitions)
        assert "state 0 init l0\n\taction 0\n" in text


class TestPlainFloats:
    """The inexact draws have our laws too, up to rounding."""

    @pytest.mark.parametrize("epsilon", [1, 5])
    def test_mean_distance(self, epsilon: int) -> None:
        words = sv.words("abcd", 8)
        codes = np.zeros((20_000, 8), dtype=np.int32)
        generator = np.random.default_rng(7)
        flip = sv.PermuteAndFlip(words, epsilon=epsilon).distances()
        exponential = sv.Exponential(words, epsilon=epsilon).distances()
        for law, released in (
            (exponential, exactness.plain_exponential(codes, 4, epsilon, generator)),
            (flip, exactness.plain_at_distance(codes, 4, flip.probabilities, generator)),
        ):
            spread = math.sqrt(law.probabilities @ (law.distances - law.expected_error) ** 2 / len(codes))
            mean = np.count_nonzero(released, axis=1).mean()
            assert abs(mean - law.expected_error) < 4.5 * spread


class TestCentral:
    """The distances of synthetic files are those that the page defines."""

    def test_divergence(self) -> None:
        assert jensen_shannon(np.array([1.0, 3.0]), np.array([2.0, 6.0])) == 0
        assert jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 5.0])) == pytest.approx(math.log(2))
        one, other = np.array([0.5, 0.5]), np.array([0.25, 0.75])
        middle = (one + other) / 2
        plain = sum(p * math.log(p / m) + q * math.log(q / m) for p, q, m in zip(one, other, middle, strict=True)) / 2
        assert jensen_shannon(one, other) == pytest.approx(plain)

    def test_patterns(self) -> None:
        words = [("a", "b", "a", "b"), ("b", "a")]
        assert top_patterns(words, most=1) == {("a", "b")}  # as often as b a, and before it
        assert top_patterns(words, most=3) == {("a", "b"), ("b", "a"), ("a", "b", "a")}
        assert top_patterns([("a",) * 6], most=9) == {("a",) * size for size in (2, 3, 4, 5)}
