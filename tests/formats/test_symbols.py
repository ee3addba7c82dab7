"""Alphabets and words as they are typed: characters, pieces between separators, lines of a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import AlphabetError, FileError
from symveil.formats.limits import LIMITS
from symveil.formats.symbols import read_alphabet
from symveil.models.alphabet import join_word, split_word


def test_the_ways_to_spell_an_alphabet(tmp_path):
    file = tmp_path / "alphabet.txt"
    file.write_bytes("\ufeffmain st\r\nü\r\n,\r\n".encode())
    assert read_alphabet("abc").symbols == ("a", "b", "c")
    assert read_alphabet("main st,park rd").symbols == ("main st", "park rd")
    assert read_alphabet(f"@{file}").symbols == ("main st", "ü", ",")
    assert read_alphabet("@").symbols == ("@",)  # a character like any other
    with pytest.raises(AlphabetError, match="found nothing at position 2"):
        read_alphabet("a,,b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\nb\n", "expected a symbol in every line, found line 2 empty"),
        (b"a\n\xff\n", "expected a file of symbols in UTF-8, found another byte at offset 2"),
        (b"a\n" * 2**20, "expected a file of symbols of at most 1 MiB, found a larger file"),
        (None, "expected a readable file of symbols, found No such file or directory"),
    ],
)
def test_files_that_are_no_alphabet(tmp_path, set_limits, content, message):
    set_limits(LIMITS, file_bytes=2**20)
    if content is not None:
        (tmp_path / "alphabet.txt").write_bytes(content)
    with pytest.raises(FileError, match=f"alphabet.txt: {message}"):
        read_alphabet(f"@{tmp_path / 'alphabet.txt'}")


@given(st.lists(st.text("abc", min_size=1, max_size=3), max_size=5))
def test_words_are_joined_and_split_again(word):
    assert split_word(join_word(word, "|"), "|") == word
    assert split_word(join_word("".join(word), None), None) == list("".join(word))


def test_an_empty_separator_separates_characters():
    assert split_word("abc", "") == ["a", "b", "c"] and join_word("abc", "") == "abc"
