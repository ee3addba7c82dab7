"""What an ε is an ε of: between which words it bounds the loss.

A charge of ε says: whatever the word is, another word that the release allows *and that is adjacent to
it* would have given every output with a probability that differs by a factor of at most e^ε. The unit is
what adjacent means there: at most b substitutions ("hamming"), or insertions and deletions too
("levenshtein"); "all" is any distance; with a public start only words that begin alike are compared.

A unit *covers* another if every pair of words that is adjacent in the other is adjacent in it. Then a loss
of at most ε in the first is a loss of at most ε in the second. Each of the three parts has an order of
its own, and a unit covers another if it does so in each of them (docs/ledger.md has the proofs):

    adjacency      1 < 2 < 3 < … < all      what is within b is within b + 1
    metric         hamming < levenshtein    b substitutions are b edits
    public start   public < secret          words that begin alike are some of all words

So two units always have a largest one that both cover: charges of different units add up in that one.

A central release compares something else: files with and without one person. That unit, a *person*, neither covers a
unit of words nor is covered by one: a person whose words change is one who leaves and one who comes, which is twice the
loss. So charges of the two kinds are kept in two books of a ledger (`books`); with `replace` a central release pays for
both, and its unit is the largest one of words.

Amounts of budget: exact decimals with twelve places, as whole numbers of a smallest unit.

Databases add and compare whole numbers exactly, so 0.1 + 0.2 is 0.3 and ten tenths are one. A number
with more places, such as 1/3, is rounded against the person who spends: charges up, grants down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Literal, Self

from symveil.errors import ParameterError
from symveil.laws.parameters import Adjacency, read_adjacency, read_metric
from symveil.models.alphabet import Metric
from symveil.numbers.rationals import Number, exact, spelled

Compares = Literal["words", "persons"]
"""What a loss is between: words of a person, or files with and without a person."""

UNKNOWN = "unknown (0.2)"
"""What is shown where symveil 0.2 charged: it did not write the unit down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Which words are adjacent.

    Parameters
    ----------
    adjacency
        The largest distance b of adjacent words, or "all".
    metric
        "hamming", or "levenshtein", which has insertions and deletions too.
    public_start
        Whether only words with the same first symbol are compared.
    compares
        "words": of one person, adjacent to each other; "persons": a file with all of a person's records and the file
        without them, whatever the records are.

    >>> one, every = Unit(adjacency=1), Unit(adjacency="all")
    >>> every.covers(one), one.covers(every)
    (True, False)
    >>> str(Unit(adjacency=2, metric="levenshtein")), str(Unit(public_start=True))
    ('adjacency 2, levenshtein', 'adjacency 1, hamming, public start')
    """

    adjacency: Adjacency = 1
    metric: Metric = "hamming"
    public_start: bool = False
    compares: Compares = "words"

    def __post_init__(self) -> None:
        read_metric(self.metric)
        if self.adjacency != "all":
            object.__setattr__(self, "adjacency", read_adjacency(self.adjacency, length=0))
        if self.public_start and self.metric != "hamming":
            raise ParameterError("public_start", expected="metric hamming with it", found=self.metric)

    def covers(self, other: Self) -> bool:
        """Whether a loss in this unit bounds the loss in the other one."""
        return (
            self.compares == other.compares
            and _distance(self.adjacency) >= _distance(other.adjacency)
            and self.metric in (other.metric, "levenshtein")
            and (other.public_start or not self.public_start)
        )

    def shared_with(self, other: Self) -> Self:
        """The largest unit that both cover.

        >>> str(Unit(adjacency="all").shared_with(Unit(adjacency=2, metric="levenshtein")))
        'adjacency 2, hamming'
        """
        return type(self)(
            adjacency=min(self.adjacency, other.adjacency, key=_distance),
            metric=self.metric if self.metric == other.metric else "hamming",
            public_start=self.public_start or other.public_start,
            compares=self.compares,
        )

    def __str__(self) -> str:
        if self.compares == "persons":
            return "a person, added or removed"
        start = ", public start" if self.public_start else ""
        return f"adjacency {self.adjacency}, {self.metric}{start}"

    def document(self) -> dict[str, object]:
        """The JSON form."""
        document: dict[str, object] = {
            "adjacency": self.adjacency,
            "metric": self.metric,
            "public_start": self.public_start,
        }
        # said where it is another kind only: units that 0.2.1 wrote are compared as texts
        return document if self.compares == "words" else {**document, "compares": self.compares}

    def text(self) -> str:
        """What is written into a ledger: equal for equal units."""
        return json.dumps(self.document(), sort_keys=True)


EVERYTHING = Unit(adjacency="all", metric="levenshtein")
"""Any word instead of any other one: covers every unit of words."""
PERSON = Unit(adjacency="all", metric="levenshtein", compares="persons")
"""All records of one person, there or not."""
WHOLE_WORDS = Unit(adjacency="all")
"""Any word instead of any other one of the same length: of all words of a person, the person with other words. That is
a person who is replaced, with as many words of the same, public lengths; not one who is added or removed.
"""
LEAST = Unit(adjacency=1, metric="hamming", public_start=True)
"""What every charge for words covers, whatever its unit: also one whose unit is unknown."""


def read_unit(text: str | None) -> Unit | None:
    """A unit as it is written in a ledger; None: it was not written down.

    >>> read_unit(Unit(adjacency=3).text()) == Unit(adjacency=3)
    True
    """
    if text is None:
        return None
    document: Any = json.loads(text)
    try:
        return Unit(
            adjacency=document["adjacency"],
            metric=document["metric"],
            public_start=bool(document["public_start"]),
            compares=document.get("compares", "words"),
        )
    except ParameterError:
        raise ValueError("a unit that there is none of") from None


def shared_unit(units: Iterable[Unit | None]) -> Unit | None:
    """The largest unit that all of them cover, in which their losses add up; None where there are none.

    >>> str(shared_unit([Unit(adjacency=2), Unit(adjacency="all")])), str(shared_unit([None, Unit()]))
    ('adjacency 2, hamming', 'adjacency 1, hamming, public start')
    """
    known = [LEAST if unit is None else unit for unit in units]
    if len({unit.compares for unit in known}) > 1:
        raise ValueError("charges for words and for persons have no unit in common")
    return reduce(lambda one, other: one.shared_with(other), known) if known else None


def shown_unit(unit: Unit | None) -> str:
    """A unit for a reader."""
    return UNKNOWN if unit is None else str(unit)


def _distance(adjacency: Adjacency) -> float:
    return float("inf") if adjacency == "all" else float(adjacency)


DECIMALS = 12
UNIT = 10**DECIMALS
WHOLE_PART = 10**6
"""Losses of whole words are written in millionths of ε: so many units each."""
LARGEST = 1_000_000
"""The largest amount: with it sums of amounts stay within 64 bits."""


def charged_units(epsilon: Fraction) -> int:
    """What a release of ε costs, rounded up.

    >>> charged_units(Fraction(3, 10)), charged_units(Fraction(1, 3))
    (300000000000, 333333333334)
    """
    if epsilon > LARGEST:
        raise ParameterError("epsilon", expected=f"at most {LARGEST} with a ledger", found=spelled(epsilon))
    return int(-(-epsilon.numerator * UNIT // epsilon.denominator))


def whole_parts(loss: float) -> int | None:
    """A loss of whole words in millionths, rounded up; None where it is not bounded, or by nothing that means anything.

    >>> whole_parts(2.5), whole_parts(float("inf")), whole_parts(1e-9)
    (2500000, None, 1)
    """
    if not 0 <= loss <= _LARGEST_WHOLE:
        return None
    return int(-(-exact(loss) * UNIT // WHOLE_PART))


_LARGEST_WHOLE = 10_000


def granted_units(amount: Number) -> int:
    """What a grant is worth, rounded down; a negative grant takes budget back, and is rounded down too."""
    value = exact(amount, name="epsilon", expected="an amount such as 0.5 or 2")
    if value == 0 or abs(value) > LARGEST:
        raise ParameterError("epsilon", expected=f"an amount other than 0, at most {LARGEST}", found=amount)
    units = int(value.numerator * UNIT // value.denominator)
    if units == 0:
        raise ParameterError("epsilon", expected=f"an amount of at least {shown_units(1)}", found=amount)
    return units


def shown_units(units: int) -> str:
    """Units as the decimal that they are.

    >>> shown_units(300000000000), shown_units(-1), shown_units(2 * UNIT)
    ('0.3', '-0.000000000001', '2')
    """
    whole, rest = divmod(abs(units), UNIT)
    text = f"{whole}.{rest:0{DECIMALS}d}".rstrip("0").rstrip(".")
    return f"-{text}" if units < 0 else text
