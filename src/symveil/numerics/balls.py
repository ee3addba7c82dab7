"""Ball arithmetic: real numbers with a proved error, at a precision one chooses.

A ball (`flint.arb`) holds every value that the exact result can have. The working precision of
the library underneath is one number per process, not per thread; a wrong one would make balls wider, never
wrong, but results should not depend on what another thread does, so it is held under a lock. Who holds it
must not wait for another thread, which may be waiting for it (`turns`).
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fractions import Fraction

from flint import arb, ctx, fmpq, fmpz

# Enough for every float64 result: 53 bits of answer, the rest for cancellation and long sums.
STANDARD_PRECISION = 128

_precision_lock = threading.RLock()
_own = threading.local()  # .depth: in how many blocks of `precision` this thread is


def _forget_parent() -> None:
    """In a forked child nobody holds the lock: the thread that may have held it was not forked."""
    global _precision_lock  # noqa: PLW0603 - the interpreter's fork hook has nowhere else to write
    _precision_lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_parent)


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with `bits` bits inside the block.

    >>> with precision(200):
    ...     print(ball(Fraction(1, 3)).rel_accuracy_bits() > 190)
    True
    """
    with _precision_lock:
        before, depth = ctx.prec, getattr(_own, "depth", 0)
        try:
            _own.depth = depth + 1
            ctx.prec = bits
            yield
        finally:
            _own.depth = depth
            ctx.prec = before


def holds_precision() -> bool:
    """Whether this thread is inside a block of `precision`: then it may not wait for another thread.

    >>> holds_precision()
    False
    >>> with precision(64):
    ...     holds_precision()
    True
    """
    return bool(getattr(_own, "depth", 0))


def _own_precision() -> AbstractContextManager[None]:
    """The precision that this thread works at, the standard one where it works at none: not that of another thread."""
    return nullcontext() if holds_precision() else precision(STANDARD_PRECISION)


def ball(value: Fraction | int) -> arb:
    """The rational `value` as a ball at the working precision."""
    rational = Fraction(value)
    return arb(fmpq(rational.numerator, rational.denominator))


def upper_bound(value: arb) -> Fraction:
    """A rational that the ball does not exceed, as close as the ball allows."""
    with _own_precision():
        mantissa, exponent = value.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def float_bounds(value: arb) -> tuple[float, float]:
    """Floats below and above everything in the ball."""
    with _own_precision():
        low, high = float(value.lower()), float(value.upper())
    # converting to float rounds to nearest: one float further out is outside for certain
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def nearest_float(value: arb) -> float:
    """The midpoint as a float: 0.0 or inf beyond the range of floats."""
    return float(value.mid())


def scaled_floor(value: arb, bits: int) -> tuple[int, int]:
    """The smallest and the largest value of floor(x · 2^bits) over all x in the ball.

    >>> with precision(128):
    ...     scaled_floor(ball(Fraction(1, 3)), 4)
    (5, 5)
    """
    scaled = value * arb(fmpz(1) << bits)
    return _floor(scaled.lower()), _floor(scaled.upper())


def _floor(exact_value: arb) -> int:
    mantissa, exponent = exact_value.man_exp()
    shift = int(exponent)
    return int(mantissa) << shift if shift >= 0 else int(mantissa) >> -shift
