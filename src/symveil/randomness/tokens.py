"""Text that cannot be guessed: for keys of a page, and for names that others must not find."""

from __future__ import annotations

import base64

from symveil.errors import ParameterError
from symveil.randomness.bits import BitSource, system_bits

_FEWEST_BYTES = 16  # 128 bits: too many to try


def new_token(size: int = 32, *, bits: BitSource | None = None) -> str:
    """Random text of letters, digits, ``-`` and ``_``, which may stand in an address, a cookie or a file name.

    Parameters
    ----------
    size
        How many random bytes it holds, 16 or more.
    bits
        Where they come from; the process's private source by default.

    Examples
    --------
    >>> len(new_token()), new_token() == new_token()
    (43, False)
    """
    if size < _FEWEST_BYTES:
        raise ParameterError("size", expected=f"{_FEWEST_BYTES} bytes or more", found=size)
    drawn = (bits or system_bits()).fill(size).tobytes()
    return base64.urlsafe_b64encode(drawn).rstrip(b"=").decode("ascii")
