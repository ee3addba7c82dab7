"""Limits of work and memory: one frozen record in each room, which tests may change for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

Record = TypeVar("Record")


@dataclass(slots=True)
class Adjustable(Generic[Record]):
    """The limits of a room: `now` are those that hold.

    >>> @dataclass(frozen=True)
    ... class Limits:
    ...     words: int = 400
    >>> limits = Adjustable(Limits())
    >>> with limits.changed(words=3):
    ...     limits.now.words
    3
    >>> limits.now.words
    400
    """

    now: Record

    @contextmanager
    def changed(self, **limits: Any) -> Iterator[None]:
        """A block in which some limits are others, for all threads."""
        usual = self.now
        self.now = replace(usual, **limits)  # type: ignore[type-var]  # a dataclass
        try:
            yield
        finally:
            self.now = usual
