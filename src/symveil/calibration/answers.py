"""Calibrations are cached in memory and on disk, because a large network takes half a minute and never changes.

The file's name is a digest of public things only: the graph, the length, ε, the adjacency, whether
a prior is used; never of data. `SYMVEIL_CACHE` names another folder; if it is empty nothing is written.
Nothing in it is believed: an entry is a proposal, which is proved once more before it is used. A
file that is damaged, foreign or impossible is ignored; failing to write is no error.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from symveil.calibration.limits import LIMITS
from symveil.calibration.search import rounded_down
from symveil.errors import FileError, ParameterError
from symveil.languages.runs import RunLanguage
from symveil.numbers.once import LastFew
from symveil.numbers.rationals import exact
from symveil.storage.files import cache_folder, open_regular, write_text

FORMAT = "symveil-calibration-2"
"""Changes with the format and with every change of the proofs, so that no older answer is believed."""

Entry = dict[str, str]
Answer = TypeVar("Answer")


class Answers(Generic[Answer]):
    """The answers of one kind of search, by the digests of their questions.

    >>> squares = Answers()
    >>> squares.of("three", lambda: 9), squares.of("three", lambda: 10)
    (9, 9)
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self.clear()
        _every.add(self)

    def clear(self) -> None:
        """Forget what is in memory."""
        self._recent: LastFew[str, Answer] = LastFew(self._most)

    def __len__(self) -> int:
        return len(self._recent)

    def of(
        self,
        key: str,
        search: Callable[[], Answer],
        *,
        prove: Callable[[Entry], Answer | None] | None = None,
        written: Callable[[Answer], Entry | None] | None = None,
    ) -> Answer:
        """The answer to a question: from memory, from disk if that is proved, or by a search.

        `key` is a digest of public things only. `prove` makes an answer of an entry on the disk, or None if that proves
        nothing; without it the disk is left alone. `written` is what is kept of an answer: enough to prove it once
        more; None: nothing.
        """
        return self._recent.of(key, lambda: self._made(key, search, prove, written))

    def _made(
        self,
        key: str,
        search: Callable[[], Answer],
        prove: Callable[[Entry], Answer | None] | None,
        written: Callable[[Answer], Entry | None] | None,
    ) -> Answer:
        stored = None if prove is None else load(key)
        known = None if prove is None or stored is None else prove(stored)
        if known is not None:
            return known
        answer = search()
        entry = None if written is None else written(answer)
        if entry is not None:  # also in the place of an entry that failed
            keep(key, entry)
        return answer


class Named(Protocol):
    """What has a digest of public things only: equal ones have equal digests."""

    @property
    def digest(self) -> str:
        """Its name."""


Of = TypeVar("Of", bound=Named)
Rest = ParamSpec("Rest")


def remembered(
    most: int,
) -> Callable[[Callable[Concatenate[Of, Rest], Answer]], Callable[Concatenate[Of, Rest], Answer]]:
    """A function whose last answers are kept in memory, by the digest of what it is about and its other arguments."""

    def decorated(function: Callable[Concatenate[Of, Rest], Answer]) -> Callable[Concatenate[Of, Rest], Answer]:
        answers: Answers[tuple[Answer]] = Answers(most)

        @wraps(function)
        def of(about: Of, /, *rest: Rest.args, **named: Rest.kwargs) -> Answer:
            key = f"{about.digest} {rest} {named}"
            return answers.of(key, lambda: (function(about, *rest, **named),))[0]  # in a tuple: it may be None

        return of

    return decorated


_every: WeakSet[Answers[Any]] = WeakSet()


def clear_answers() -> None:
    """Forget all answers in memory."""
    for each in list(_every):
        each.clear()


def proposed_rate(entry: Entry, least: Fraction, most: Fraction) -> Fraction | None:
    """The rate of an entry, if it is one that a search can have ended with: `least`, or a short decimal above it.

    >>> proposed_rate({"rate": "3/2"}, Fraction(1), Fraction(2)), proposed_rate({"rate": "9"}, Fraction(1), Fraction(2))
    (Fraction(3, 2), None)
    """
    try:
        rate = exact(entry["rate"])
    except (KeyError, ParameterError):
        return None
    return rate if least <= rate <= most and rate in (least, rounded_down(rate)) else None


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


def question_digest(*shape: object) -> str:
    """A name for one calibration, by all that it depends on."""
    return hashlib.sha256(repr(shape).encode()).hexdigest()


def load(key: str) -> Entry | None:
    """The document in the cache under a key, which any process may have written: it is proved before it is used."""
    path = cache_folder()
    if path is None:
        return None
    try:
        with open_regular(path / f"{key}.json", follow=False) as file:
            content = file.read(LIMITS.now.cached_bytes + 1)
        document = json.loads(content) if len(content) <= LIMITS.now.cached_bytes else None
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
