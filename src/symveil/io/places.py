"""Errors of a model, said at their place in the file that it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from symveil.errors import ModelError


@contextmanager
def placed(place: Callable[[str], str]) -> Iterator[None]:
    """Inside the block a model is built; `place` turns where it went wrong in the model into where in the file.

    >>> with placed(lambda where: f"roads.json: $.{where}"):
    ...     raise ModelError("initial", expected="a state", found="none")
    Traceback (most recent call last):
    symveil.errors.ModelError: roads.json: $.initial: expected a state, found none
    """
    try:
        yield
    except ModelError as error:
        where = place(error.where)
        error.args = (where + str(error).removeprefix(error.where),)
        error.where = where
        raise
