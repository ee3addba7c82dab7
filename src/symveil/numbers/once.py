"""Values that are computed when they are first asked for, by several threads at once if need be.

`functools.cached_property` is not enough. Up to Python 3.11 it holds a lock while it computes, one for all instances
of a class: a thread that computes under it and waits for `conversions.precision`, while another has that and asks for
the same property, waits for ever. From 3.12 on it holds none, and two threads may go on with two different objects.
Here no thread waits: two may compute the same value, but all of them get the one that was finished first.

Searches of seconds: one thread makes them, the others wait for its result, and none waits for ever.

Searches for a rate are counted, and refused where everything has to be known already. A search tries rates (or tables,
or the four numbers of an edit channel) until one is proved to keep the budget. Every one of them begins here
(`begin_search`). To prove one given rate is no search.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import Any, Generic, Self, TypeVar, overload
from weakref import WeakSet

from symveil.numbers.conversions import holds_precision

Value = TypeVar("Value")
Key = TypeVar("Key")


class computed_once(cached_property[Value]):  # noqa: N801 - a decorator, named as one
    """A property that is computed when first asked for and kept, the same object for all threads.

    What it computes must depend on nothing that can change.

    >>> class Circle:
    ...     @computed_once
    ...     def points(self):
    ...         return [1, 2, 3]
    >>> circle = Circle()
    >>> circle.points is circle.points
    True
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | Value:
        """The value; once it is kept, Python finds it without asking here."""
        if instance is None:
            return self
        assert self.attrname is not None  # noqa: S101 - the class that has the property has named it
        value: Value = vars(instance).setdefault(self.attrname, self.func(instance))
        return value


class LastFew(Generic[Key, Value]):
    """The values of the last few keys that were asked for. Any number of threads may ask.

    Every step is one operation on a dictionary, none of which can fail: a key may be a secret, and a `KeyError`
    would show it. There is no lock that a process forked in the middle would wait for.

    >>> squares = LastFew(2)
    >>> [squares.of(number, lambda number=number: number**2) for number in (1, 2, 3)], len(squares)
    ([1, 4, 9], 2)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Key, Value] = {}

    def of(self, key: Key, make: Callable[[], Value]) -> Value:
        """The value of a key, made if it is not among the last few."""
        known = self._values.pop(key, None)
        value = self._values.setdefault(key, make() if known is None else known)  # now the youngest
        for oldest in list(self._values)[: -self._most]:
            self._values.pop(oldest, None)
        return value

    def __len__(self) -> int:
        return len(self._values)


class Memo(Generic[Key, Value]):
    """A function's values by their keys, each kept. Any number of threads may ask; all get the same object.

    With `one_at_a_time` a thread waits while another computes, for what takes long: what is computed must then not wait
    for a thread that asks here. A copy in another process begins empty. What it holds never shows in a message.

    >>> squares = Memo(lambda number: number**2)
    >>> [squares[number] for number in (2, 3, 2)]
    [4, 9, 4]
    """

    def __init__(self, compute: Callable[[Key], Value], *, one_at_a_time: bool = False) -> None:
        self._compute, self._one_at_a_time = compute, one_at_a_time
        self._values: dict[Key, tuple[Value]] = {}  # in a tuple: a value may be None
        self.renew()
        if one_at_a_time:
            _with_turns.add(self)

    def renew(self) -> None:
        """In a forked child no thread computes: the thread that may have done so was not forked."""
        self._lock = RLock()

    def __getitem__(self, key: Key) -> Value:
        cached = self._values.get(key)
        if cached is None:
            with self._lock if self._one_at_a_time else nullcontext():
                cached = self._values.get(key) or self._values.setdefault(key, (self._compute(key),))
        return cached[0]

    def computed(self) -> list[tuple[Key, Value]]:
        """What has been computed so far."""
        return [(key, value) for key, (value,) in list(self._values.items())]

    def __repr__(self) -> str:
        return "Memo()"

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return _new_memo, (self._compute, self._one_at_a_time)


def _new_memo(compute: Callable[[Any], Any], one_at_a_time: bool) -> Memo[Any, Any]:
    return Memo(compute, one_at_a_time=one_at_a_time)


_with_turns: WeakSet[Memo[Any, Any]] = WeakSet()


def _renew_all() -> None:
    for each in list(_with_turns):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


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
            attributes = vars(instance)
            if self.attrname in attributes:  # found while this thread waited
                value: Value = attributes[self.attrname]
                return value
            return super().__get__(instance, owner)


_all: list[searched_once[Any]] = []


def _renew_all_turns() -> None:
    for each in _all:
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all_turns)


# --- searches are counted -----------------------------------------------------------------------


@dataclass(slots=True)
class Searches:
    """The searches that began in a block, by what was searched for."""

    names: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)


_counters: ContextVar[tuple[Searches, ...]] = ContextVar("counters", default=())
_all_known: ContextVar[bool] = ContextVar("all_known", default=False)


@contextmanager
def counted_searches() -> Iterator[Searches]:
    """Within it, every search that begins is counted.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> with counted_searches() as searches:
    ...     rate = sv.Exponential(sv.runs(chain, 5), epsilon="1.7", adjacency=1).rate
    >>> len(searches)
    1
    """
    own = Searches()
    token = _counters.set((*_counters.get(), own))
    try:
        yield own
    finally:
        _counters.reset(token)


@contextmanager
def no_searches() -> Iterator[None]:
    """Within it, a search is an error of ours: an output has been begun, and whatever is still unknown is too late.

    >>> with no_searches():
    ...     begin_search("a rate")
    Traceback (most recent call last):
    AssertionError: a rate: searched for after calibration
    """
    token = _all_known.set(True)
    try:
        yield
    finally:
        _all_known.reset(token)


def begin_search(what: str) -> None:
    """Count a search that begins now."""
    if _all_known.get():
        raise AssertionError(f"{what}: searched for after calibration")
    for each in _counters.get():
        each.names.append(what)
