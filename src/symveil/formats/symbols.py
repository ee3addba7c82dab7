"""Alphabets as people type them: characters, comma lists, files."""

from __future__ import annotations

from pathlib import Path

from symveil.errors import AlphabetError, FileError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import read_text
from symveil.models.alphabet import Alphabet


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
    text = read_text(path, what="file of symbols", at_most=LIMITS.now.file_bytes)
    symbols = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n") if text else []
    if "" in symbols:
        raise FileError(str(path), expected="a symbol in every line", found=f"line {symbols.index('') + 1} empty")
    return symbols
