"""Errors of a model, said at their place in the file that it came from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from symveil.errors import ModelError

_ROW = re.compile(r"transitions\[(\d+)\]")


@contextmanager
def placed(location: Callable[[str], str]) -> Iterator[None]:
    """Inside the block a model is built; `location` turns where it went wrong in the model into where in the file.

    >>> with placed(lambda where: f"roads.json: $.{where}"):
    ...     raise ModelError("initial", expected="a state", found="none")
    Traceback (most recent call last):
    symveil.errors.ModelError: roads.json: $.initial: expected a state, found none
    """
    try:
        yield
    except ModelError as error:
        where = location(error.where)
        error.args = (where + str(error).removeprefix(error.where),)
        error.where = where
        raise


def row_location(where: str, rows: Callable[[int], str], *, file: Path) -> str:
    """The place in a file of rows: that of the transition that was wrong, by its number, or the file as a whole.

    >>> row_location("transitions[1][2]", ["t.csv: line 2", "t.csv: line 3"].__getitem__, file=Path("t.csv"))
    't.csv: line 3'
    >>> row_location("initial", [].__getitem__, file=Path("t.csv"))
    't.csv: initial'
    """
    row = _ROW.match(where)
    if row:
        return rows(int(row[1]))
    return where if where.startswith(str(file)) else f"{file}: {where}"
