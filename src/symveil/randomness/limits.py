"""How many bits are looked at first, and how many a key gives; none of it changes what is drawn from given bits."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomnessLimits:
    """The most of each."""

    filter_bits: int = 64
    """Leading bits that the fast comparison uses; with fewer the exact one decides more often, and the same."""
    bytes_per_key: int = 1 << 36
    """A key is replaced long before AES-CTR output could be distinguished from random bits."""


LIMITS = Adjustable(RandomnessLimits())
