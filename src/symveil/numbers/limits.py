"""Limits that can be changed: one frozen record of numbers for a room, and other ones within a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

Record = TypeVar("Record")


class Limits(Generic[Record]):
    """The limits of a room: a frozen dataclass, for all threads the same.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Lengths:
    ...     longest: int = 100
    >>> limits = Limits(Lengths())
    >>> with limits.changed(longest=3):
    ...     limits().longest
    3
    >>> limits().longest
    100
    """

    def __init__(self, record: Record) -> None:
        self._record = record

    def __call__(self) -> Record:
        """The limits that hold now."""
        return self._record

    @contextmanager
    def changed(self, **values: Any) -> Iterator[None]:
        """Other values within a block.

        Parameters
        ----------
        **values
            The new values, by the names of the record's fields.
        """
        before = self._record
        self._record = replace(before, **values)  # type: ignore[type-var]
        try:
            yield
        finally:
            self._record = before
