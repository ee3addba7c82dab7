"""Alphabets and words as people type them: characters, comma lists, files, separators."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from symveil.errors import AlphabetError, FileError
from symveil.formats.reading import read_text
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
    text = read_text(path, what="file of symbols", at_most=_LARGEST_ALPHABET_FILE)
    symbols = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n") if text else []
    if "" in symbols:
        raise FileError(str(path), expected="a symbol in every line", found=f"line {symbols.index('') + 1} empty")
    return symbols


def split_word(text: str, separator: str | None) -> list[str]:
    """The symbols of a typed word: its characters, or its pieces between separators.

    >>> split_word("abc", None), split_word("main st|park rd", "|"), split_word("", "|")
    (['a', 'b', 'c'], ['main st', 'park rd'], [])
    """
    if not separator:
        return list(text)
    return text.split(separator) if text else []


def join_word(symbols: Iterable[object], separator: str | None) -> str:
    """A word for one line of output: the inverse of `split_word`."""
    return (separator or "").join(map(str, symbols))


def reading_advice(alphabet: Alphabet, separator: str | None) -> str:
    """How a file could be meant that is read with this separator: None where its sequences are no text.

    >>> reading_advice(Alphabet.from_symbols("ACGT"), " ")
    'sequences without blanks, such as AC, need `separator=""`'
    >>> reading_advice(Alphabet(("home", "work")), ">")
    'blanks beside the separator belong to the symbols: `separator=" > "` if there are any'
    >>> reading_advice(Alphabet(("home", "work")), ",")
    'blanks beside the separator belong to the symbols: `separator=", "` if there are any'
    >>> reading_advice(Alphabet(("home", "work")), " ")
    'symbols are split at blanks; if another sign is between them, name it, such as `separator="|"`'
    """
    if separator == " " and alphabet.spells_text:
        return f'sequences without blanks, such as {"".join(map(str, alphabet.symbols[:2]))}, need `separator=""`'
    if separator == " ":
        return 'symbols are split at blanks; if another sign is between them, name it, such as `separator="|"`'
    if separator and separator.strip() == separator:
        before = "" if separator in ",;:" else " "
        return f'blanks beside the separator belong to the symbols: `separator="{before}{separator} "` if there are any'
    return ""


def check_separable(
    alphabet: Alphabet, separator: str | None, *, instead: str = "lists in JSON Lines or Parquet"
) -> None:
    """Refuse an alphabet whose words could not be read back from text; `instead` is where they could."""
    for position, symbol in enumerate(alphabet.symbols, start=1):
        text = str(symbol)
        if separator == "" and len(text) != 1:
            raise AlphabetError(
                f"alphabet: expected symbols of one character where the separator is empty, found another at position "
                f"{position}; use another `separator`, or {instead}"
            )
        if "\n" in text or "\r" in text or (separator and separator in text):
            raise AlphabetError(
                f"alphabet: expected symbols without line breaks and without the separator, found one at position "
                f"{position}; use another `separator`, or {instead}"
            )
