"""Printing integers of any size."""

from __future__ import annotations

from flint import arb, fmpz

from symveil.numbers.conversions import precision

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
