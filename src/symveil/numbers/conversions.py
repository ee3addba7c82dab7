"""Between rationals, floats and balls: every conversion, and on which side each one rounds.

Rationals are Python's `Fraction`, and FLINT's `fmpq` where many are computed with. A ball (`flint.arb`) holds every
value that the exact result can have. The working precision of balls is one number per process, not per thread; a wrong
one would make balls wider, never wrong, but results should not depend on what another thread does, so it is held under
a lock. A thread that holds it must not wait for another, which may be waiting for it (`turns`).

Printing integers of any size.
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
    """In a forked child no thread holds the lock: the thread that may have held it was not forked."""
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


# --- exact -------------------------------------------------------------------------------------


def rational(value: Fraction | int) -> fmpq:
    """A Fraction as FLINT's rational, which is many times faster."""
    return fmpq(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    """And back."""
    return Fraction(int(value.p), int(value.q))


def dyadic(value: float) -> fmpq:
    """A float as the rational that it is."""
    return fmpq(*value.as_integer_ratio())


# --- rounded -----------------------------------------------------------------------------------


def ball(value: Fraction | int) -> arb:
    """The rational `value` as a ball at the working precision."""
    return arb(rational(Fraction(value)))  # a Fraction first: numpy has integers too


def nearest_float(value: arb | fmpq) -> float:
    """The rational, or the midpoint of the ball, as a float: for a ball, 0.0 or inf beyond the range of floats."""
    return int(value.p) / int(value.q) if isinstance(value, fmpq) else float(value.mid())


def float_at_least(value: Fraction | fmpq) -> float:
    """The smallest float that is not below a rational. (As a decimal, for a reader: `rationals.at_least`.)

    >>> float_at_least(Fraction(1, 3)) > Fraction(1, 3) > float_at_most(Fraction(1, 3))
    True
    """
    ratio = value if isinstance(value, fmpq) else rational(value)
    nearest = nearest_float(ratio)
    return nearest if dyadic(nearest) >= ratio else math.nextafter(nearest, math.inf)


def float_at_most(value: Fraction | fmpq) -> float:
    """The largest float that is not above a rational."""
    return -float_at_least(-value) or 0.0


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


# --- exponentials and logarithms -----------------------------------------------------------------


def exp_enclosure(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals a ≤ e^x ≤ b, a few units in the last place of a float apart, each a float exactly; a = b = 1 for x = 0.

    >>> low, high = exp_enclosure(Fraction(1))
    >>> float(low), float(high)
    (2.7182818284590446, 2.7182818284590455)
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    with precision(STANDARD_PRECISION):
        low, high = float_bounds(ball(exponent).exp())
    return Fraction(low), Fraction(high)


def log_upper_bound(value: Fraction | fmpq) -> Fraction:
    """A rational not below ln of a rational above 0, and hardly above it; 0 for 1.

    >>> float(log_upper_bound(Fraction(2)))
    0.6931471805599453
    """
    if value == 1:
        return Fraction(0)
    with precision(STANDARD_PRECISION):
        return upper_bound(arb(value if isinstance(value, fmpq) else rational(value)).log())


# Beyond this many digits a number is for its size, not for its digits (contract: JSON documents).
LONGEST_DECIMAL = 10_000
_TOO_LONG = 10**LONGEST_DECIMAL


def shortened(value: int, *, digits: int = 24) -> str:
    """`value` for a reader: its first digits and its size where it has more than so many.

    >>> shortened(2**64), shortened(2**100)
    ('18446744073709551616', '1.267…e+30')
    """
    text = decimal(value)
    return text if len(text) <= digits else f"{text[0]}.{text[1:4]}…e+{len(text) - 1}"


def decimal(value: int) -> str:
    """All digits of `value`, or `1.234e+29999` when there are more than 10⁴ of them.

    >>> decimal(2**64), decimal(10**20_000 // 7)
    ('18446744073709551616', '1.429e+19999')
    """
    if value < _TOO_LONG:
        return fmpz(value).str()  # Python's own int → str refuses more than 4300 digits
    with precision(128):
        mantissa, _, exponent = arb(fmpz(value)).mid_rad_10exp(n=30)
    # value ≈ mantissa · 10^exponent with 30 digits: more than enough to round to four
    digits = fmpz(mantissa).str()
    power = int(exponent) + len(digits) - 1
    leading = round(int(digits[:16]) / 10**12)
    if leading == 10_000:
        leading, power = 1_000, power + 1
    return f"{leading // 1000}.{leading % 1000:03d}e+{power}"
