"""Searches for a rate: counted, and refused where everything has to be known already.

A search tries rates (or tables, or the four numbers of an edit channel) until one is proved to keep the budget. Every
one of them begins here. To prove one given rate is no search.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


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
    """Count a search that begins now.

    Parameters
    ----------
    what
        What is searched for, in public words.
    """
    if _all_known.get():
        raise AssertionError(f"{what}: searched for after calibration")
    for each in _counters.get():
        each.names.append(what)
