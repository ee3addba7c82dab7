"""What comes out of a mechanism: words of the language, of the type that went in, and fresh each time."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.randomness import NotPrivateSeededBits

SYMBOLS = ["home", ("park", 2), 7, None, "x"]


@given(
    length=st.integers(0, 12),
    size=st.integers(1, 5),
    rows=st.integers(0, 40),
    epsilon=st.floats(0.01, 50),
    seed=st.integers(0, 2**32),
    data=st.data(),
)
@settings(max_examples=15)
def test_every_released_word_is_a_word(variant, length, size, rows, epsilon, seed, data):
    language = sv.words(SYMBOLS[:size], length)
    mechanism = variant.make(language, epsilon, "all")
    word = st.lists(st.sampled_from(SYMBOLS[:size]), min_size=length, max_size=length)
    words = data.draw(st.lists(word, min_size=rows, max_size=rows))
    released = mechanism.release_many(words, bits=NotPrivateSeededBits(seed))
    assert len(released) == rows
    for private in released:
        assert isinstance(private, tuple)
        assert private in language
    again = variant.make(language, epsilon, "all").release_many(words, bits=NotPrivateSeededBits(seed))
    assert again == released


@given(word=st.text(alphabet="abc", min_size=4, max_size=4), seed=st.integers(0, 2**32))
@settings(max_examples=20)
def test_one_word_and_many_words_and_codes_are_the_same_draw(variant, word, seed):
    language = sv.words("abc", 4)
    one, many, rows = (variant.make(language, 1) for _ in range(3))
    expected = one.release(word, bits=NotPrivateSeededBits(seed))
    assert isinstance(expected, str)
    assert expected in language
    assert many.release_many([word], bits=NotPrivateSeededBits(seed)) == [expected]
    codes = rows.release_codes(language.encode(word)[None, :], bits=NotPrivateSeededBits(seed))
    assert "".join("abc"[code] for code in codes[0]) == expected


def test_two_releases_of_one_word_are_not_the_same_draw(private_variant):
    """Forty letters at a tiny budget: equal by chance less than once in 10³⁰."""
    mechanism = private_variant.make(sv.words("abcdefghij", 40), "1/1000", "all")
    assert mechanism.release("a" * 40) != mechanism.release("a" * 40)
    many = mechanism.release_many(["a" * 40] * 30)
    assert len(set(many)) == 30


def test_types_may_be_mixed_and_are_kept(variant):
    released = variant.make(sv.words("abc", 3), 1).release_many(["abc", ("a", "b", "c"), ["c", "c", "c"]])
    assert [type(word) for word in released] == [str, tuple, tuple]


def test_words_may_come_from_a_generator(variant):
    released = variant.make(sv.words("abc", 3), 1).release_many(word for word in ("abc", "cab"))
    assert [len(word) for word in released] == [3, 3]


def test_the_seed_decides_the_words_whatever_the_machine_has_drawn_before(variant):
    codes = np.zeros((50, 6), dtype=np.int32)
    language = sv.words("abc", 6)
    first = variant.make(language, 2).release_codes(codes, bits=NotPrivateSeededBits(5))
    used = variant.make(language, 2)
    used.release_codes(codes)
    used.distances()
    np.testing.assert_array_equal(used.release_codes(codes, bits=NotPrivateSeededBits(5)), first)


def test_a_used_mechanism_can_be_copied_and_sent_to_a_worker(variant):
    mechanism = variant.make(sv.words("abc", 4), 2, 2)
    codes = np.zeros((40, 4), dtype=np.int32)
    expected = mechanism.release_codes(codes, bits=NotPrivateSeededBits(3))
    mechanism.release("abca")
    mechanism.distances()
    for other in (pickle.loads(pickle.dumps(mechanism)), copy.deepcopy(mechanism)):  # noqa: S301 - our own bytes
        np.testing.assert_array_equal(other.release_codes(codes, bits=NotPrivateSeededBits(3)), expected)
        assert other.guarantee == mechanism.guarantee


def test_threads_that_calibrate_and_draw_at_once_do_not_disturb_each_other(variant):
    """Ball arithmetic has one working precision per process; results must not depend on who else works."""
    language, codes = sv.words("abc", 5), np.zeros((30, 5), dtype=np.int32)
    budgets = [1, "3/2", 2, "5/2"]
    alone = {}
    for epsilon in budgets:
        mechanism = variant.make(language, epsilon, 2)
        drawn = mechanism.release_codes(codes, bits=NotPrivateSeededBits(8))
        alone[epsilon] = (drawn, mechanism.guarantee, mechanism.distances().log_probabilities)
    together = {}

    def work(epsilon: object) -> None:
        mechanism = variant.make(sv.words("abc", 5), epsilon, 2)
        law = mechanism.distances().log_probabilities
        guarantee = mechanism.guarantee
        together[epsilon] = (mechanism.release_codes(codes, bits=NotPrivateSeededBits(8)), guarantee, law)

    threads = [threading.Thread(target=work, args=(epsilon,)) for epsilon in budgets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for epsilon in budgets:
        for found, expected in zip(together[epsilon], alone[epsilon], strict=True):
            np.testing.assert_array_equal(found, expected)
