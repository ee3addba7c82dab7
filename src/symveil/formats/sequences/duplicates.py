"""Finding an id that occurs twice among any number of records, in bounded memory.

Of each id its name is kept (96 bits of a keyed hash), not the id. Beyond some millions names go to
files without a name, dealt by their first bits, and are compared file by file at the end.
"""

from __future__ import annotations

import tempfile
from typing import IO

import numpy as np
from numpy.typing import NDArray

_ENTRY = np.dtype([("low", np.uint64), ("high", np.uint32), ("place", np.uint64)])
_IN_MEMORY = 1_000_000
_PARTS = 64


class SeenNames:
    """Takes names of records and tells the place of one that came before.

    >>> seen = SeenNames()
    >>> seen.add(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint32), np.array([1, 2]))
    >>> seen.first_repeated() is None
    True
    >>> seen.add(np.array([[1, 2, 3]], dtype=np.uint32), np.array([9]))
    >>> seen.first_repeated()
    9
    """

    def __init__(self, *, in_memory: int = _IN_MEMORY) -> None:
        self._limit = in_memory
        self._held: list[NDArray[np.void]] = []
        self._count = 0
        self._files: list[IO[bytes]] = []

    def add(self, names: NDArray[np.uint32], places: NDArray[np.int64]) -> None:
        """Some more records."""
        entries = np.empty(len(names), dtype=_ENTRY)
        entries["low"] = names[:, 0].astype(np.uint64) << np.uint64(32) | names[:, 1]
        entries["high"] = names[:, 2]
        entries["place"] = places
        self._held.append(entries)
        self._count += len(entries)
        if self._count > self._limit:
            self._spill()

    def first_repeated(self) -> int | None:
        """The smallest place whose name stood at an earlier place already; None where there is none."""
        if not self._files:
            return _repeated(np.concatenate([np.empty(0, dtype=_ENTRY), *self._held]))
        self._spill()
        repeated = []
        for file in self._files:
            file.seek(0)
            repeated.append(_repeated(np.frombuffer(file.read(), dtype=_ENTRY)))
        return min((each for each in repeated if each is not None), default=None)

    def close(self) -> None:
        """Forget everything."""
        for file in self._files:
            file.close()
        self._files, self._held = [], []

    def _spill(self) -> None:
        if not self._files:
            self._files = [tempfile.TemporaryFile(prefix="symveil-") for _ in range(_PARTS)]  # noqa: SIM115 - closed in close()
        entries = np.concatenate([np.empty(0, dtype=_ENTRY), *self._held])
        part_of = (entries["low"] >> np.uint64(58)).astype(np.int64)
        for part in np.unique(part_of).tolist():
            self._files[part].write(entries[part_of == part].tobytes())
        self._held, self._count = [], 0


def _repeated(entries: NDArray[np.void]) -> int | None:
    order = np.lexsort((entries["place"], entries["high"], entries["low"]))
    entries = entries[order]
    same = (entries["low"][1:] == entries["low"][:-1]) & (entries["high"][1:] == entries["high"][:-1])
    return int(entries["place"][1:][same].min()) if same.any() else None
