"""The statistics that can be estimated, by their names: apart from numpy, because the command line reads them first."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.errors import ParameterError

NGRAMS = "ngrams:K"
NAMES = ("visits", "first", "last", "positions", NGRAMS, "transitions", "od", "lengths", "presence")
"""As they are typed; "directly-follows" is another name of ngrams:2."""
CHOICES = (*NAMES, "directly-follows")
"""What the command line and the studio offer."""
LONGEST_GRAM = 8
"""The largest K."""

_ORDERS = {
    "visits": 1,
    "first": 1,
    "last": 1,
    "positions": 1,
    "transitions": 2,
    "od": 2,
    "lengths": 0,
    "presence": 1,
    "directly-follows": 2,
}


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic: what is counted, and how many symbols name a row of its table.

    `kind` is its name without a number: "ngrams" for ngrams:3. Transitions are counted as pairs of neighbours.
    """

    name: str
    kind: str
    order: int

    @property
    def leading(self) -> str | None:
        """What the first axis of its table counts: "position" or "length"; None: there is none but symbols."""
        return {"positions": "position", "presence": "length", "lengths": "length"}.get(self.kind)

    def shape(self, symbols: int, longest: int) -> tuple[int, ...]:
        """The axes of its table over so many symbols, where words have at most `longest` of them.

        >>> read_statistic("positions").shape(3, 7), read_statistic("presence").shape(3, 7)
        ((7, 3), (8, 3))
        """
        rows = {None: (), "position": (longest,), "length": (longest + 1,)}[self.leading]
        return (*rows, *(symbols,) * self.order)


def read_statistic(name: str | Statistic) -> Statistic:
    """The statistic of this name.

    >>> read_statistic("ngrams:3").order, read_statistic("od").order
    (3, 2)
    """
    if isinstance(name, Statistic):
        return name
    if name in _ORDERS:
        kind = "ngrams" if name == "directly-follows" else name
        return Statistic(name, kind, _ORDERS[name])
    kind, _, number = str(name).partition(":")
    if kind == "ngrams" and number.isascii() and number.isdigit() and 1 <= int(number) <= LONGEST_GRAM:
        return Statistic(f"ngrams:{int(number)}", "ngrams", int(number))
    raise ParameterError(
        "statistic",
        expected=f"one of {', '.join(NAMES)} with K from 1 to {LONGEST_GRAM}, or directly-follows",
        found=name,
    )
