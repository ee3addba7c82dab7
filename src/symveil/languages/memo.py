"""Values that are computed once for each key, whichever thread asks first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Memo(Generic[Key, Value]):
    """A function's values by their keys, the last `at_most` of them where a number is given.

    Threads may share it: a value is computed by one of them while the others wait. A copy in another process begins
    empty: tables are made again where they are needed. What it holds never shows in a message.

    >>> squares = Memo(lambda number: number**2, at_most=2)
    >>> [squares[number] for number in (2, 3, 2)]
    [4, 9, 4]
    """

    def __init__(self, compute: Callable[[Key], Value], *, at_most: int | None = None) -> None:
        self._compute, self._at_most = compute, at_most
        self._lock = RLock()
        self._values: OrderedDict[Key, Value] = OrderedDict()

    def __getitem__(self, key: Key) -> Value:
        with self._lock:
            if key not in self._values:
                self._values[key] = self._compute(key)
                if self._at_most is not None and len(self._values) > self._at_most:
                    self._values.popitem(last=False)
            else:
                self._values.move_to_end(key)
            return self._values[key]

    def __repr__(self) -> str:
        return "Memo()"

    def __reduce__(self) -> tuple[type[Memo[Key, Value]], tuple[Callable[[Key], Value]], dict[str, object]]:
        return Memo, (self._compute,), {"_at_most": self._at_most}
