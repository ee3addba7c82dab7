"""Sources of random bits: AES-256 in counter mode, keyed by the operating system.

The operating system's generator gives the key, AES stretches it at memory speed (docs/theory/hidden-lengths.md). A
key serves one process only: after a fork the child asks for its own, so two workers never draw the same noise.

Text that cannot be guessed: for keys of a page, and for names that others must not find.

The generators that a whole Python process shares. Nothing here draws from them; a program that does is noticed.
"""

from __future__ import annotations

import base64
import hashlib
import os
import random
import threading
import weakref
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from symveil.errors import ParameterError

_BLOCK_BYTES = 16
# A key is replaced long before AES-CTR output could be told from random bits.
_BYTES_PER_KEY = 1 << 36


class BitSource(ABC):
    """Where random bits come from. Everything that draws takes one of these.

    Draws for many words ask row by row (`word_rows`, `of_row` …). A source with a single stream gives all
    rows from it; `records.RecordStreams` has a stream for each row.
    """

    per_record: ClassVar[bool] = False
    """Whether each row has a stream of its own: then nothing may depend on which rows are drawn together."""

    @abstractmethod
    def fill(self, size: int) -> NDArray[np.uint8]:
        """`size` fresh random bytes."""

    def lanes(self, count: int) -> NDArray[np.uint32]:
        """`count` fresh 32-bit words."""
        return self.fill(4 * count).view(np.uint32)

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` fresh 64-bit words."""
        return self.fill(8 * count).view(np.uint64)

    def fractions(self, count: int) -> NDArray[np.float64]:
        """`count` numbers from 0 to 1, 1 excluded, of 53 bits each: for draws that need not be exact."""
        return (self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def extend(self, prefix: int) -> int:
        """`prefix` followed by 64 fresh bits: what an undecided choice asks for."""
        return (prefix << 64) | int.from_bytes(self.fill(8).tobytes(), "big")

    # --- row by row ----------------------------------------------------------------------------

    def word_rows(self, rows: int, columns: int) -> NDArray[np.uint64]:
        """A row of fresh 64-bit words for each row."""
        return self.words(rows * columns).reshape(rows, columns)

    def lane_rows(self, rows: int, columns: int) -> NDArray[np.uint32]:
        """A row of fresh 32-bit words for each row."""
        return self.lanes(rows * columns).reshape(rows, columns)

    def ragged_words(self, lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
        """`lengths[row]` fresh 64-bit words for each row, one row after the other."""
        return self.words(int(lengths.sum()))

    def lanes_of(self, rows: NDArray[np.int64]) -> NDArray[np.uint32]:
        """A fresh 32-bit word for each entry of `rows`, which says in order whose it is."""
        return self.lanes(len(rows))

    def of_row(self, row: int) -> BitSource:
        """The stream of one row."""
        del row
        return self

    def for_rows(self, rows: NDArray[np.int64]) -> BitSource:
        """The streams of some rows."""
        del rows
        return self


class _Keystream:
    """AES-CTR output under one key."""

    def __init__(self, key: bytes) -> None:
        self._cipher: CipherContext = Cipher(algorithms.AES256(key), modes.CTR(bytes(_BLOCK_BYTES))).encryptor()
        self.bytes_left = _BYTES_PER_KEY

    def fill(self, size: int) -> NDArray[np.uint8]:
        self.bytes_left -= size
        # update_into wants room for one more block than it writes
        output = np.empty(size + _BLOCK_BYTES, dtype=np.uint8)
        self._cipher.update_into(np.zeros(size, dtype=np.uint8).data, output.data)
        return output[:size]


_private_sources: weakref.WeakSet[SystemBits] = weakref.WeakSet()


def _forget_keys() -> None:
    """In a forked child, before any of its code runs: no key of the parent may be used again."""
    for source in list(_private_sources):
        source._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_keys)


class SystemBits(BitSource):
    """Private bits: keyed by the operating system, never repeated, safe across forks and threads.

    >>> source = SystemBits()
    >>> int(source.words(1)[0]) != int(source.words(1)[0])
    True
    """

    def __init__(self) -> None:
        self._forget()
        _private_sources.add(self)

    def _forget(self) -> None:
        """Drop the key, and the lock too: one that another thread held over a fork would stay held for ever."""
        self._lock = threading.Lock()
        self._keystream: _Keystream | None = None

    def fill(self, size: int) -> NDArray[np.uint8]:
        """`size` fresh random bytes."""
        with self._lock:
            if self._keystream is None or self._keystream.bytes_left < size:
                self._keystream = _Keystream(os.urandom(32))
            return self._keystream.fill(size)

    def __reduce__(self) -> tuple[type[SystemBits], tuple[()]]:
        # A copy in another process must not carry the key along.
        return (SystemBits, ())


class NotPrivateSeededBits(BitSource):
    """The same bits for the same seed: for tests and for nothing else. NOT PRIVATE.

    Anyone who knows the seed can undo the noise.

    >>> NotPrivateSeededBits(7).words(2).tolist() == NotPrivateSeededBits(7).words(2).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        self._keystream = _Keystream(hashlib.sha256(f"symveil test seed {seed}".encode()).digest())

    def fill(self, size: int) -> NDArray[np.uint8]:
        """`size` bytes that the seed determines."""
        return self._keystream.fill(size)


_shared = SystemBits()


def system_bits() -> SystemBits:
    """The process's private source: what every mechanism uses unless it is given another."""
    return _shared


_FEWEST_BYTES = 16  # 128 bits: too many to try


def new_token(size: int = 32, *, bits: BitSource | None = None) -> str:
    """Random text of letters, digits, ``-`` and ``_``, which may stand in an address, a cookie or a file name.

    Parameters
    ----------
    size
        How many random bytes it holds, 16 or more.
    bits
        Where they come from; the process's private source by default.

    Examples
    --------
    >>> len(new_token()), new_token() == new_token()
    (43, False)
    """
    if size < _FEWEST_BYTES:
        raise ParameterError("size", expected=f"{_FEWEST_BYTES} bytes or more", found=size)
    drawn = (bits or system_bits()).fill(size).tobytes()
    return base64.urlsafe_b64encode(drawn).rstrip(b"=").decode("ascii")


def shared_generators() -> tuple[object, ...]:
    """The state of `random` and of `numpy.random`: another one after something was drawn from them.

    >>> before = shared_generators()
    >>> before == shared_generators()
    True
    """
    kind, keys, *rest = np.random.get_state()
    return random.getstate(), kind, np.asarray(keys).tobytes(), *rest
