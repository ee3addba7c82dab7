"""Bits that belong to records: what they are, that they belong to one record only, and that order does not matter."""

from __future__ import annotations

import hashlib
import hmac
import math

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import ParameterError
from symveil.randomness import RecordKey, RecordStreams, new_release_key

KEY = bytes(range(32))


def aes(key: bytes, block: bytes) -> bytes:
    return Cipher(algorithms.AES256(key), modes.ECB()).encryptor().update(block)  # noqa: S305 - the definition


def derived(purpose: str, release: str) -> bytes:
    return hmac.new(KEY, f"symveil {purpose}\0{release}".encode(), hashlib.sha256).digest()


def name_by_definition(identifier: bytes, release: str = "r") -> bytes:
    """CBC-MAC with the length in front, block by block."""
    key = derived("names", release)
    padded = identifier + bytes(-len(identifier) % 16)
    message = len(identifier).to_bytes(8, "little") + bytes(8) + padded
    state = bytes(16)
    for start in range(0, len(message), 16):
        state = aes(key, bytes(a ^ b for a, b in zip(state, message[start : start + 16], strict=True)))
    return state[:12]


def stream_by_definition(name: bytes, blocks: int, release: str = "r") -> bytes:
    key = derived("streams", release)
    return b"".join(aes(key, name + number.to_bytes(4, "little")) for number in range(blocks))


@given(st.lists(st.binary(max_size=70), max_size=12))
def test_names_are_the_mac_of_the_id(ids):
    names = RecordKey(KEY, "r").names(ids)
    assert [row.tobytes() for row in names] == [name_by_definition(each) for each in ids]


def test_ids_that_differ_by_zeros_have_different_names():
    ids = [b"", b"\0", b"\0\0", b"a", b"a\0", b"a" + bytes(15), b"a" + bytes(16)]
    names = RecordKey(KEY, "r").names(ids)
    assert len({row.tobytes() for row in names}) == len(ids)


def test_a_record_draws_its_own_stream_whatever_is_asked_for():
    keys = RecordKey(KEY, "r")
    ids = [b"alice", b"bob", b"carol"]
    for row, identifier in enumerate(ids):
        expected = stream_by_definition(name_by_definition(identifier), 20)
        streams = keys.streams(keys.names(ids))
        drawn = streams.word_rows(3, 3)[row].tobytes()  # two blocks, the last word left over
        assert drawn == expected[:24]
        assert streams.lane_rows(3, 5)[row].tobytes() == expected[32:52]  # again whole blocks
        ragged = streams.ragged_words(np.array([1, 4, 2]))
        own = np.split(ragged, [1, 5])[row]
        assert own.tobytes() == expected[64 : 64 + own.nbytes]
        # the block in which this row stopped is used up
        start = 64 + 16 * math.ceil(len(own) / 2)
        even = np.split(streams.ragged_words(np.array([2, 0, 4])), [2, 2])[row]
        assert even.tobytes() == expected[start : start + even.nbytes]


def test_one_row_goes_on_where_the_table_stopped():
    keys = RecordKey(KEY, "r")
    streams = keys.streams(keys.names([b"x", b"y"]))
    streams.word_rows(2, 2)
    expected = stream_by_definition(name_by_definition(b"y"), 4)
    assert streams.of_row(1).fill(5).tobytes() == expected[16:21]
    assert streams.for_rows(np.array([1])).of_row(0).extend(1) == (1 << 64) | int.from_bytes(expected[32:40], "big")
    # the other row has not moved
    assert streams.of_row(0).fill(4).tobytes() == stream_by_definition(name_by_definition(b"x"), 2)[16:20]


def test_lanes_for_entries_come_from_their_rows():
    keys = RecordKey(KEY, "r")
    streams = keys.streams(keys.names([b"x", b"y", b"z"]))
    lanes = streams.lanes_of(np.array([0, 2, 2, 2, 2, 2]))
    z = stream_by_definition(name_by_definition(b"z"), 2)
    assert lanes[:1].tobytes() == stream_by_definition(name_by_definition(b"x"), 1)[:4]
    assert lanes[1:].tobytes() == z[:20]
    assert len(streams.lanes_of(np.empty(0, dtype=np.int64))) == 0


def test_another_key_or_release_gives_other_bits():
    one = RecordKey(KEY, "r")
    for other in (RecordKey(KEY, "s"), RecordKey(bytes(32), "r")):
        assert (one.names([b"x"]) != other.names([b"x"])).any()
        name = one.names([b"x"])
        assert (one.streams(name).word_rows(1, 4) != other.streams(name).word_rows(1, 4)).all()


def test_numbered_records_have_names_of_their_own():
    keys = RecordKey(KEY, "r")
    names = keys.names_of_rows(np.array([1, 2, 2**40]))
    assert len({row.tobytes() for row in names}) == 3


def test_bits_for_no_record_are_refused():
    keys = RecordKey(KEY, "r")
    streams = keys.streams(keys.names([b"x", b"y"]))
    assert isinstance(streams, RecordStreams)
    with pytest.raises(ParameterError):
        streams.fill(8)
    with pytest.raises(ParameterError):
        streams.words(3)
    assert len(streams.words(2)) == 2


def test_a_stream_has_an_end():
    keys = RecordKey(KEY, "r")
    streams = keys.streams(keys.names([b"x"]))
    streams._next[0] = 2**32 - 1
    streams.word_rows(1, 2)
    with pytest.raises(ParameterError, match="64 GiB"):
        streams.word_rows(1, 1)


def test_keys():
    assert len(new_release_key()) == 32
    assert new_release_key() != new_release_key()
    with pytest.raises(ParameterError):
        RecordKey(b"short", "r")


def test_bits_look_fair():
    """Ones among 2²³ bits: within 5 standard deviations, so a false alarm once in 1.7 million runs."""
    keys = RecordKey(new_release_key(), "r")
    words = keys.streams(keys.names_of_rows(np.arange(1 << 15))).word_rows(1 << 15, 4)
    ones = int(np.bitwise_count(words).sum())
    assert abs(ones - words.size * 32) < 5 * (words.size * 64) ** 0.5 / 2
