"""The generators that a whole Python process shares. Nothing here draws from them; a program that does is noticed."""

from __future__ import annotations

import random

import numpy as np


def shared_generators() -> tuple[object, ...]:
    """The state of `random` and of `numpy.random`: another one after something was drawn from them.

    >>> before = shared_generators()
    >>> before == shared_generators()
    True
    """
    kind, keys, *rest = np.random.get_state()
    return random.getstate(), kind, np.asarray(keys).tobytes(), *rest
