"""Sources of random bits: AES-256 in counter mode, keyed by the operating system.

The operating system's generator gives the key, AES stretches it at memory speed (docs/theory/hidden-lengths.md). A
key serves one process only: after a fork the child asks for its own, so two workers never draw the same noise.

Text that cannot be guessed: for keys of a page, and for names that others must not find.

The generators that a whole Python process shares. Nothing here draws from them; a program that does is noticed.

Bits that belong to records: the same record of the same release always draws the same word. A task of a cluster may be
run twice and a lazy plan may be evaluated twice; if each time fresh bits were drawn, one charge would pay for two
releases. So the bits of a record are a stream of their own, determined by the release key, the release id and the
record's id: block j of it is AES-256(stream key, name ‖ j), where the name is 96 bits of a keyed hash of the id. Many
records are one call of the cipher: their blocks are laid out as an array first. The hash is CBC-MAC with the length in
front, which is a pseudo-random function (the encoding is prefix-free), and it too is computed for many ids at once. Two
of a thousand million ids share a name with a probability below 2⁻³⁷.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import random
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.randomness.limits import LIMITS

_BLOCK_BYTES = 16


class BitSource(ABC):
    """Where random bits come from. Everything that draws takes one of these.

    Draws for many words ask row by row (`word_rows`, `of_row` …). A source with a single stream gives all
    rows from it; `RecordStreams` has a stream for each row.
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
        self.bytes_left = LIMITS.now.bytes_per_key

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


KEY_BYTES = 32
_LANES_PER_BLOCK = 4
_ROW_TAG = 0x726F7700  # "row": names of numbered records

Names = NDArray[np.uint32]
"""The name of each record: a row of three 32-bit words."""


def new_release_key(bits: BitSource | None = None) -> bytes:
    """A key for one release, from the operating system or from `bits`. Anyone who has it can undo the noise."""
    return os.urandom(KEY_BYTES) if bits is None else bits.fill(KEY_BYTES).tobytes()


class RecordKey:
    """The keys that one release derives from its release key and its id.

    >>> key = RecordKey(bytes(32), "release-1")
    >>> names = key.names([b"alice", b"bob"])
    >>> one, other = key.streams(names), key.streams(names[::-1])
    >>> bool((one.word_rows(2, 3) == other.word_rows(2, 3)[::-1]).all())     # whatever the order
    True
    """

    def __init__(self, release_key: bytes, release_id: str) -> None:
        if len(release_key) != KEY_BYTES:
            raise ParameterError("release key", expected=f"{KEY_BYTES} bytes", found=f"{len(release_key)} bytes")
        self._name_key = _derived(release_key, "names", release_id)
        self._stream_key = _derived(release_key, "streams", release_id)

    def names(self, ids: list[bytes]) -> Names:
        """The names of records with these ids."""
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        return self.names_of_bytes(np.frombuffer(b"".join(ids), dtype=np.uint8), lengths)

    def names_of_bytes(self, data: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Names:
        """The names of records whose ids stand one after the other in `data`."""
        names = np.empty((len(lengths), 3), dtype=np.uint32)
        ends = np.cumsum(lengths)
        blocks = -(-lengths // _BLOCK_BYTES)
        for size in np.unique(blocks).tolist():
            rows = np.flatnonzero(blocks == size)
            message = np.zeros((len(rows), (size + 1) * _BLOCK_BYTES), dtype=np.uint8)
            message[:, :8] = lengths[rows].astype("<u8")[:, None].view(np.uint8)
            inside = np.arange(size * _BLOCK_BYTES) < lengths[rows][:, None]
            positions = (ends[rows] - lengths[rows])[:, None] + np.arange(size * _BLOCK_BYTES)
            message[:, _BLOCK_BYTES:][inside] = data[positions[inside]]
            names[rows] = _mac(self._name_key, message)
        return names

    def names_of_rows(self, numbers: NDArray[np.int64]) -> Names:
        """The names of records that have a number instead of an id."""
        names = np.empty((len(numbers), 3), dtype=np.uint32)
        names[:, 0] = _ROW_TAG
        names[:, 1:] = np.ascontiguousarray(numbers, dtype="<u8")[:, None].view(np.uint32)
        return names

    def streams(self, names: Names) -> RecordStreams:
        """The bits of these records, from their beginning."""
        return RecordStreams(self._stream_key, names)


class RecordStreams(BitSource):
    """A stream of bits for each of some records. What a row draws depends on that row only."""

    def __init__(self, key: bytes, names: Names) -> None:
        self._names = names
        self._next = np.zeros(len(names), dtype=np.int64)  # the next block of each record
        self._rows: NDArray[np.int64] | None = None
        self._cipher = _cipher(key)

    per_record: ClassVar[bool] = True

    def for_rows(self, rows: NDArray[np.int64]) -> RecordStreams:
        """The streams of some of the rows: what they draw, the whole has drawn."""
        part = RecordStreams.__new__(RecordStreams)
        part._names, part._next, part._cipher = self._names, self._next, self._cipher
        part._rows = rows if self._rows is None else self._rows[rows]
        return part

    def of_row(self, row: int) -> BitSource:
        """One row's stream, from where it stands."""
        return _OneRecord(self, row)

    def ragged_words(self, lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
        """`lengths[row]` 64-bit words of each row, one row after the other."""
        words = self._blocks(-(-lengths // 2)).view(np.uint64).reshape(-1)
        odd = np.flatnonzero(lengths & 1)
        if not len(odd):
            return words
        # a block holds two words: the second one of the last block is left over
        used = np.ones(len(words), dtype=np.bool_)
        used[2 * np.cumsum(-(-lengths // 2))[odd] - 1] = False
        return words[used]

    def word_rows(self, rows: int, columns: int) -> NDArray[np.uint64]:
        """A row of 64-bit words for each row."""
        blocks = -(-columns // 2)
        words = self._blocks(np.full(rows, blocks, dtype=np.int64)).view(np.uint64).reshape(rows, 2 * blocks)
        return words[:, :columns]

    def lane_rows(self, rows: int, columns: int) -> NDArray[np.uint32]:
        """A row of 32-bit words for each row."""
        blocks = -(-columns // _LANES_PER_BLOCK)
        lanes = self._blocks(np.full(rows, blocks, dtype=np.int64))
        return lanes.reshape(rows, _LANES_PER_BLOCK * blocks)[:, :columns]

    def lanes_of(self, rows: NDArray[np.int64]) -> NDArray[np.uint32]:
        """A 32-bit word for each entry of `rows`, which is in order, from the stream of that row."""
        different, counts = np.unique(rows, return_counts=True)
        blocks = -(-counts // _LANES_PER_BLOCK)
        lanes = self.for_rows(different)._blocks(blocks).reshape(-1)
        # as many as were asked for of each row's blocks; the rest is left over
        begin = np.repeat(_LANES_PER_BLOCK * (np.cumsum(blocks) - blocks), counts)
        index = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return lanes[begin + index]

    def words(self, count: int) -> NDArray[np.uint64]:
        """A 64-bit word for each row; rows are asked one by one for anything else."""
        if count != self._size:
            raise ParameterError("count", expected=f"{self._size}, one for each record", found=count)
        return self.word_rows(count, 1)[:, 0]

    def fill(self, size: int) -> NDArray[np.uint8]:
        """Refused: bits belong to a record here."""
        raise ParameterError("bits", expected="a row to draw for", found=f"{size} bytes for no row")

    @property
    def _size(self) -> int:
        return len(self._names) if self._rows is None else len(self._rows)

    def _blocks(self, counts: NDArray[np.int64]) -> NDArray[np.uint32]:
        """The next `counts[row]` blocks of each row as rows of four 32-bit words."""
        names = self._names if self._rows is None else self._names[self._rows]
        begins = self._next if self._rows is None else self._next[self._rows]
        total = int(counts.sum())
        before = np.cumsum(counts) - counts
        blocks = np.empty((total, _LANES_PER_BLOCK), dtype=np.uint32)
        row = np.repeat(np.arange(len(counts)), counts)
        blocks[:, :3] = names[row]
        number = np.arange(total) + (begins - before)[row]
        _check_end(int(number.max(initial=0)) + 1)
        blocks[:, 3] = number
        if self._rows is None:
            self._next += counts
        else:
            self._next[self._rows] += counts
        return _encrypted(self._cipher, blocks)


class _OneRecord(BitSource):
    """The stream of a single record: what a draw that goes on asks for."""

    per_record: ClassVar[bool] = True

    def __init__(self, streams: RecordStreams, row: int) -> None:
        self._streams = streams
        self._row = row if streams._rows is None else int(streams._rows[row])
        self._name = streams._names[self._row].tobytes()

    def fill(self, size: int) -> NDArray[np.uint8]:
        """The record's next bytes, from the beginning of a block."""
        begin, count = int(self._streams._next[self._row]), -(-size // _BLOCK_BYTES)
        _check_end(begin + count)
        self._streams._next[self._row] += count
        numbers = range(begin, begin + count)
        blocks = b"".join([self._name + number.to_bytes(4, sys.byteorder) for number in numbers])
        return np.frombuffer(self._streams._cipher.update(blocks)[:size], dtype=np.uint8)


def _check_end(blocks: int) -> None:
    if blocks > 1 << 32:
        raise ParameterError("record", expected="at most 64 GiB of random bits for a record", found="more")


def _derived(release_key: bytes, purpose: str, release_id: str) -> bytes:
    return hmac.new(release_key, f"symveil {purpose}\0{release_id}".encode(), hashlib.sha256).digest()


def _cipher(key: bytes) -> CipherContext:
    """Block by block: no block of one key is ever encrypted twice, so this is counter mode, laid out by hand."""
    return Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - see above


def _encrypted(cipher: CipherContext, blocks: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """AES of each row of four 32-bit words."""
    size = blocks.size * 4
    output = np.empty(size + _BLOCK_BYTES, dtype=np.uint8)  # update_into wants room for one more block
    cipher.update_into(blocks.reshape(-1).view(np.uint8).data, output.data)
    return output[:size].view(np.uint32).reshape(-1, _LANES_PER_BLOCK)


def _mac(key: bytes, message: NDArray[np.uint8]) -> Names:
    """The first 96 bits of the CBC-MAC of each row."""
    cipher = _cipher(key)
    state = np.zeros((len(message), _LANES_PER_BLOCK), dtype=np.uint32)
    for start in range(0, message.shape[1], _BLOCK_BYTES):
        part = np.ascontiguousarray(message[:, start : start + _BLOCK_BYTES]).view(np.uint32)
        state = _encrypted(cipher, state ^ part)
    return state[:, :3]
