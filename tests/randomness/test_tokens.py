"""Tokens: all their bytes are random, and they may stand anywhere."""

from __future__ import annotations

import base64
import os
import re

import pytest

from symveil.errors import ParameterError
from symveil.randomness import NotPrivateSeededBits, SystemBits, new_token


@pytest.mark.parametrize("size", [16, 17, 32, 100])
def test_a_token_is_its_bytes(size):
    token = new_token(size, bits=NotPrivateSeededBits(5))
    assert re.fullmatch(r"[A-Za-z0-9_-]+", token)
    padded = token + "=" * (-len(token) % 4)
    assert base64.urlsafe_b64decode(padded) == NotPrivateSeededBits(5).fill(size).tobytes()


def test_no_token_twice():
    assert len({new_token() for _ in range(1000)}) == 1000


def test_bits_come_from_the_operating_system(monkeypatch):
    """With the same key from there, the same token: nothing else decides it."""
    monkeypatch.setattr(os, "urandom", lambda size: b"k" * size)
    assert new_token(bits=SystemBits()) == new_token(bits=SystemBits())


def test_a_token_that_could_be_guessed_is_refused():
    with pytest.raises(ParameterError, match="16 bytes or more"):
        new_token(15)
