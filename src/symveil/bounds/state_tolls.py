"""Tolls of states whose sum along a word is near a given number: how dear the streets of a word are.

Any tolls ≥ 0 give a sound price (docs/theory/lower-bounds.md, Theorem 4), so that the fit may be a rough one.
"""

from __future__ import annotations

import numpy as np

from symveil.bounds.prior import Floats, Integers

_SWEEPS = 100
# As if each state had been seen so many more times with an average toll: what was seen once or twice says little.
_CAUTION = 10.0


def fitted_tolls(states: Integers, wanted: Floats, count: int) -> Floats:
    """A toll ≥ 0 for each state; states that no row has get the mean.

    Parameters
    ----------
    states
        A row of states for each word.
    wanted
        What the tolls of each row are to add up to, about.
    count
        How many states there are.

    >>> rows = np.array([[0, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 0]] * 500)
    >>> fitted_tolls(rows, np.array([4.0, 5.0, 5.0, 3.0] * 500), 3).round(2)
    array([1.  , 2.  , 1.42])
    """
    length = states.shape[1]
    tolls: Floats = np.full(count, float(wanted.mean()) / max(length, 1))
    seen = np.bincount(states.ravel(), minlength=count) + _CAUTION
    for _ in range(_SWEEPS):
        missing = wanted - tolls[states].sum(axis=1)
        # a step along the gradient of the squared error, measured so that no state takes more than its share
        tolls += np.bincount(states.ravel(), weights=np.repeat(missing, length), minlength=count) / (seen * length)
    return np.asarray(np.maximum(tolls, 0.0))
