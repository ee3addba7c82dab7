"""The word of J19 §VII-A, which several benchmarks privatise."""

from __future__ import annotations

import numpy as np

import symveil as sv
from symveil.models.alphabet import Codes

WORD = "american control conference 2019"
ALPHABET = "".join(dict.fromkeys(WORD))  # J19 takes the word's own 16 characters


def language() -> sv.FreeLanguage:
    """All words of its length over its characters."""
    return sv.words(ALPHABET, len(WORD))


def copies(rows: int) -> Codes:
    """The word `rows` times, as codes."""
    return np.repeat(language().encode(WORD)[None, :], rows, axis=0)
