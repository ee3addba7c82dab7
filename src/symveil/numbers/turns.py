"""Searches of seconds: one thread makes them, the others wait for its result, and none waits for ever."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from symveil.numbers.conversions import holds_precision
from symveil.numbers.once import computed_once

Value = TypeVar("Value")


class searched_once(computed_once[Value]):  # noqa: N801 - a decorator, named as one
    """A property like `computed_once`, for a search of seconds that threads should not all make at the same time.

    A thread that works at a precision does not wait for the one that searches, which may be waiting for just that: it
    makes the search itself. Nothing that is computed here may wait for a thread that asks for the same property.

    >>> class Model:
    ...     @searched_once
    ...     def rate(self):
    ...         return 42
    >>> Model().rate
    42
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        super().__init__(function)
        self._turn = threading.RLock()
        _all.append(self)

    def renew(self) -> None:
        """In a forked child no thread searches: the thread that may have done so was not forked."""
        self._turn = threading.RLock()

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | Value:
        """The value; once it is kept, Python finds it without asking here."""
        if instance is None or holds_precision():
            return super().__get__(instance, owner)
        with self._turn:
            kept = vars(instance)
            if self.attrname in kept:  # found while this thread waited
                value: Value = kept[self.attrname]
                return value
            return super().__get__(instance, owner)


_all: list[searched_once[Any]] = []


def _renew_all() -> None:
    for each in _all:
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
