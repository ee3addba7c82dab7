"""Calibrations are kept on disk, because a large network takes half a minute and never changes.

The file's name is a digest of public things only: the graph, the length, ε, the adjacency, whether
a prior is used; never of data. `SYMVEIL_CACHE` names another folder; if it is empty nothing is kept.
Nothing in it is believed: anyone who loads an entry proves it before it is used (`certify`, `edit_channel_search`). A
file that is damaged, foreign or impossible is ignored; failing to write is no error.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

import numpy as np

from symveil.errors import FileError
from symveil.languages.runs import RunLanguage
from symveil.storage.atomic import write_text
from symveil.storage.opening import cache_folder, open_regular

FORMAT = "symveil-calibration-2"
"""Changes with the format and with every change of the proofs, so that no older answer is believed."""

_LARGEST_FILE = 100_000
Entry = dict[str, str]


def language_digest(language: RunLanguage, *, with_prior: bool) -> str:
    """A name for the language, and its prior where that matters: equal languages have equal names."""
    graph = language.graph
    digest = hashlib.sha256()
    shape = (FORMAT, graph.start, len(graph.alphabet), graph.state_is_symbol, language.length, language.public_start)
    digest.update(repr(shape).encode())
    for array in (graph.first, graph.symbol, graph.target, graph.accepting):
        digest.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
    if with_prior and graph.prior is not None:
        digest.update(" ".join(map(str, graph.prior)).encode())
    return digest.hexdigest()


def question_digest(language: str, *, epsilon: Fraction, adjacency: int, with_prior: bool) -> str:
    """A name for one calibration."""
    return hashlib.sha256(f"{FORMAT} {language} {epsilon} {adjacency} {with_prior}".encode()).hexdigest()


def load(key: str) -> Entry | None:
    """The document in the cache under a key, which any process may have written: it is proved before it is used."""
    path = cache_folder()
    if path is None:
        return None
    try:
        with open_regular(path / f"{key}.json", follow=False) as file:
            content = file.read(_LARGEST_FILE + 1)
        document = json.loads(content) if len(content) <= _LARGEST_FILE else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("format") != FORMAT or document.get("key") != key:
        return None
    if not all(isinstance(name, str) and isinstance(value, str) for name, value in document.items()):
        return None
    return document


def keep(key: str, entry: Entry) -> None:
    """Keep an answer, if there is a place for it."""
    path = cache_folder()
    if path is None:
        return
    content = json.dumps({"format": FORMAT, "key": key, **entry}, indent=1) + "\n"
    try:
        write_text(path / f"{key}.json", content)
    except FileError:
        return
