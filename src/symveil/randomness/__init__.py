"""The only door to random bits, and decisions that are exact although they start from 32 bits.

Lives here: sources of bits, exact uniform integers, exact noise, exact choices between real boundaries.
May not live here: anything that knows what is being chosen. No other layer may draw a bit.
Stands on numbers.
"""

from symveil.randomness.bits import (
    BitSource,
    NotPrivateSeededBits,
    RecordKey,
    RecordStreams,
    SystemBits,
    new_release_key,
    new_token,
    system_bits,
)
from symveil.randomness.choices import Boundaries, discrete_laplace, uniform_below, uniform_integer, uniform_integers

__all__ = [
    "BitSource",
    "Boundaries",
    "NotPrivateSeededBits",
    "RecordKey",
    "RecordStreams",
    "SystemBits",
    "discrete_laplace",
    "new_release_key",
    "new_token",
    "system_bits",
    "uniform_below",
    "uniform_integer",
    "uniform_integers",
]
