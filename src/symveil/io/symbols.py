"""Alphabets and words as people type them: characters, comma lists, files, separators."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from symveil.errors import AlphabetError, FileError, WordError
from symveil.io.reading import read_text
from symveil.models.alphabet import Alphabet

_LARGEST_ALPHABET_FILE = 64 * 1024 * 1024


def read_alphabet(text: str) -> Alphabet:
    """Characters (`abc`), a comma list (`main st,park rd`) or `@file` with one symbol per line.

    >>> read_alphabet("abc")
    Alphabet('a', 'b', 'c')
    >>> read_alphabet("main st,park rd")
    Alphabet('main st', 'park rd')
    """
    if text.startswith("@") and len(text) > 1:
        return Alphabet(tuple(_lines(Path(text[1:]))))
    if "," not in text:
        return Alphabet(tuple(text))
    symbols = text.split(",")
    if "" in symbols:
        raise AlphabetError(
            f"alphabet: expected symbols between the commas, found nothing at position {symbols.index('') + 1}; "
            "an alphabet with a comma in it goes into a file, as @file"
        )
    return Alphabet(tuple(symbols))


def _lines(path: Path) -> list[str]:
    text = read_text(path, what="alphabet file", at_most=_LARGEST_ALPHABET_FILE)
    symbols = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    if "" in symbols:
        raise FileError(str(path), expected="a symbol in every line", found=f"line {symbols.index('') + 1} empty")
    return symbols


def split_word(text: str, separator: str | None) -> list[str]:
    """The symbols of a typed word: its characters, or its pieces between separators.

    >>> split_word("abc", None), split_word("main st|park rd", "|"), split_word("", "|")
    (['a', 'b', 'c'], ['main st', 'park rd'], [])
    """
    if separator is None:
        return list(text)
    if separator == "":
        raise WordError("separator: expected at least one character, found none")
    return text.split(separator) if text else []


def join_word(symbols: Iterable[object], separator: str | None) -> str:
    """A word for one line of output: the inverse of `split_word`."""
    return (separator or "").join(map(str, symbols))


def check_separable(alphabet: Alphabet, separator: str | None) -> None:
    """Refuse an alphabet whose words could not be read back from lines of output."""
    for position, symbol in enumerate(alphabet.symbols, start=1):
        text = str(symbol)
        if "\n" in text or "\r" in text or (separator and separator in text):
            raise AlphabetError(
                f"alphabet: expected symbols without line breaks and without the separator, found one at position "
                f"{position}; use another --separator, or --json"
            )
