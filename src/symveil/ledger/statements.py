"""What a ledger shows: a person's account, the whole, and what happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from symveil.ledger.units import Unit, shared_unit, shown_unit


@dataclass(frozen=True, kw_only=True, slots=True)
class InUnit:
    """What was charged in one unit."""

    unit: Unit | None
    """None: symveil 0.2 charged it, and did not write the unit down."""
    releases: int
    spent: str | None = None
    """The sum, where it is about one person."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        document: dict[str, object] = {"unit": shown_unit(self.unit)}
        document |= {} if self.unit is None else self.unit.document()
        return document | {"releases": self.releases} | ({} if self.spent is None else {"spent": self.spent})


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """One person's budget. Amounts are exact decimals, as text."""

    person: str
    granted: str
    spent: str
    left: str
    units: tuple[InUnit, ...] = ()
    """What of it was spent in which unit."""
    composed_epsilon: float | None = None
    """What was lost at the ledger's δ, where it has one."""
    spent_delta: str | None = None
    """What releases that have a δ have cost of it; None: nothing."""

    @property
    def note(self) -> str | None:
        """What `spent` means where it adds up different units."""
        return mixture(self.units)

    @property
    def negative(self) -> str | None:
        """Why nothing, and less, is left."""
        return below_nothing(self.left, self.composed_epsilon is not None)

    def document(self) -> dict[str, object]:
        """The JSON form."""
        document: dict[str, object] = {
            "person": self.person, "granted": self.granted, "spent": self.spent, "left": self.left
        }  # fmt: skip
        if self.composed_epsilon is not None:
            document["composed_epsilon"] = self.composed_epsilon
        if self.spent_delta is not None:
            document["spent_delta"] = self.spent_delta
        return document | _documents(self.units) | {"negative": self.negative}


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """The ledger as a whole."""

    persons: int
    releases: int
    pending: int
    abandoned: int
    allowance: str
    delta: str
    most_spent: str
    least_left: str
    unit: Unit | None
    """What budgets are for; None: any charge."""
    units: tuple[InUnit, ...]
    """What was charged in which unit."""

    @property
    def note(self) -> str | None:
        """What amounts mean where they add up different units."""
        return mixture(self.units)

    @property
    def negative(self) -> str | None:
        """Why somebody has less than nothing left."""
        return below_nothing(self.least_left, self.delta != "0")

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "persons": self.persons,
            "releases": self.releases,
            "pending": self.pending,
            "abandoned": self.abandoned,
            "allowance": self.allowance,
            "delta": self.delta,
            "most_spent": self.most_spent,
            "least_left": self.least_left,
            "budgets_for": None if self.unit is None else self.unit.document(),
            **_documents(self.units),
            "negative": self.negative,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """Something that happened: a grant or a release."""

    kind: str
    created: str
    amount: str
    person: str | None = None
    release_id: str | None = None
    state: str | None = None
    sequences: int | None = None
    persons: int | None = None
    unit: str | None = None
    """What the amount is an amount of; of a grant: what budgets are for since then, if it said so."""
    adjacency: int | str | None = None
    metric: str | None = None
    public_start: bool | None = None
    mechanism: str | None = None
    record: str | None = None
    """What one sequence is: a row, a case, a trace."""
    delta: str | None = None
    """What the release costs of δ, as `amount` counts; None: nothing."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


def mixture(units: Iterable[InUnit]) -> str | None:
    """What a sum means that adds up charges of different units; None where all are of one.

    >>> one, every = (InUnit(unit=Unit(adjacency=b), releases=1) for b in (1, "all"))
    >>> mixture([one]) is None, mixture([one, every])
    (True, 'charges are in different units; their sum bounds the loss in what they share: adjacency 1, hamming')
    """
    known = [each.unit for each in units]
    if len(known) < 2:
        return None
    return f"charges are in different units; their sum bounds the loss in what they share: {shared_unit(known)}"


def below_nothing(left: str, composed: bool) -> str | None:
    """Why `left` is negative; None where it is not.

    >>> below_nothing("0.5", True) is None, below_nothing("-21", True)[:41]
    (True, 'left is negative because it adds losses u')
    """
    if not left.startswith("-"):
        return None
    if composed:
        return (
            "left is negative because it adds losses up, and this ledger composes them at its delta: composed, they "
            "are within the budget unless some of it was taken back (--person shows the composed epsilon)"
        )
    return (
        "left is negative because budget was taken back that had been spent: nothing more is charged to whom it "
        "concerns until as much is granted"
    )


def _documents(units: tuple[InUnit, ...]) -> dict[str, object]:
    shared = shared_unit(each.unit for each in units)
    return {
        "units": [each.document() for each in units],
        "sum_unit": None if shared is None else str(shared),
        "note": mixture(units),
    }
