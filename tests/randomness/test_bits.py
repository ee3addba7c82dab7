"""Sources of bits: fresh, private to a thread's call, reproducible only where the name says so."""

from __future__ import annotations

import copy
import os
import pickle
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from symveil.randomness import BitSource, NotPrivateSeededBits, SystemBits, system_bits
from symveil.randomness.limits import LIMITS as BITS


def blocks(data: bytes) -> list[bytes]:
    """Pieces of 16 bytes: two equal ones among a million happen by chance once in 10²⁷."""
    return [data[start : start + 16] for start in range(0, len(data), 16)]


def test_no_block_is_ever_given_twice():
    source = SystemBits()
    data = b"".join(source.fill(16 * 100).tobytes() for _ in range(200))
    assert len(set(blocks(data))) == len(data) // 16


def test_two_sources_share_nothing():
    assert not set(blocks(SystemBits().fill(16_000).tobytes())) & set(blocks(SystemBits().fill(16_000).tobytes()))


def test_the_key_comes_from_the_operating_system(monkeypatch):
    """The bits are AES-256-CTR under 32 bytes of os.urandom, and nothing else."""
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    found = SystemBits().fill(1000).tobytes()
    keystream = Cipher(algorithms.AES256(bytes(range(32))), modes.CTR(bytes(16))).encryptor().update(bytes(1000))
    assert asked == [32]
    assert found == keystream


@pytest.mark.parametrize("make", [SystemBits, lambda: NotPrivateSeededBits(3)])
@pytest.mark.parametrize("size", [0, 1, 3, 15, 16, 17, 4096, 100_003])
def test_as_many_bytes_as_asked_for(make, size):
    filled = make().fill(size)
    assert (filled.dtype, filled.shape) == (np.uint8, (size,))


def test_reading_in_pieces_is_reading_at_once():
    whole = NotPrivateSeededBits(5).fill(1000).tobytes()
    source = NotPrivateSeededBits(5)
    assert b"".join(source.fill(size).tobytes() for size in (1, 0, 15, 16, 17, 951)) == whole


def test_lanes_and_words_use_every_byte_once():
    whole = NotPrivateSeededBits(6).fill(4 * 7 + 8 * 5).tobytes()
    source = NotPrivateSeededBits(6)
    lanes, words = source.lanes(7), source.words(5)
    assert (lanes.dtype, words.dtype) == (np.uint32, np.uint64)
    assert lanes.tobytes() + words.tobytes() == whole


def test_extend_appends_64_bits_and_keeps_the_prefix():
    source = NotPrivateSeededBits(8)
    fresh = NotPrivateSeededBits(8).fill(16).tobytes()
    once = source.extend(0b101)
    assert once == (0b101 << 64) + int.from_bytes(fresh[:8], "big")
    assert source.extend(once) == (once << 64) + int.from_bytes(fresh[8:], "big")


def test_every_bit_is_a_fair_coin():
    """Ones per bit position; six standard deviations: a false alarm once in 10⁷ seeds for 64 positions."""
    words = SystemBits().words(40_000)
    for position in range(64):
        ones = int(((words >> np.uint64(position)) & np.uint64(1)).sum())
        assert abs(ones - 20_000) < 6 * 100


def test_seeded_bits_repeat_for_the_same_seed_only():
    first = NotPrivateSeededBits(7).fill(4096).tobytes()
    assert NotPrivateSeededBits(7).fill(4096).tobytes() == first
    assert not set(blocks(NotPrivateSeededBits(8).fill(4096).tobytes())) & set(blocks(first))
    assert not set(blocks(NotPrivateSeededBits(-7).fill(4096).tobytes())) & set(blocks(first))


def test_a_pickled_source_leaves_its_key_behind(monkeypatch):
    key = b"this is the key, all 32 bytes !!"
    monkeypatch.setattr(os, "urandom", lambda size: key)
    source = SystemBits()
    expected = source.fill(160).tobytes()
    dumped = pickle.dumps(source)
    assert key not in dumped
    assert len(dumped) < 200
    monkeypatch.undo()
    for other in (pickle.loads(dumped), copy.copy(source), copy.deepcopy(source)):  # noqa: S301 - our own bytes
        assert isinstance(other, SystemBits)
        assert not set(blocks(other.fill(160).tobytes())) & set(blocks(expected))


def test_a_seeded_source_cannot_be_copied_by_accident():
    with pytest.raises(TypeError):
        pickle.dumps(NotPrivateSeededBits(1))


def test_threads_share_no_output():
    source = SystemBits()
    collected: list[bytes] = []
    start = threading.Barrier(8)

    def draw() -> None:
        start.wait()
        own = [source.fill(16 * (1 + turn % 5)).tobytes() for turn in range(400)]
        collected.append(b"".join(own))

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pieces = [block for data in collected for block in blocks(data)]
    assert len(collected) == 8
    assert len(set(pieces)) == len(pieces)


def test_a_key_is_replaced_before_it_is_worn(monkeypatch, set_limits):
    set_limits(BITS, bytes_per_key=64)
    keys = iter(bytes([number]) * 32 for number in range(1, 100))
    used = []

    def urandom(size):
        used.append(next(keys))
        return used[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    source = SystemBits()
    data = b"".join(source.fill(32).tobytes() for _ in range(6))
    assert len(used) == 3
    assert len(set(blocks(data))) == 12


def test_the_process_has_one_source():
    assert system_bits() is system_bits()
    assert isinstance(system_bits(), SystemBits)


def test_a_source_must_say_how_it_fills():
    with pytest.raises(TypeError):
        BitSource()
