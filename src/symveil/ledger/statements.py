"""What a ledger shows: a person's account, the whole, and what happened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from symveil.ledger.units import Compares, Unit, shared_unit, shown_unit
from symveil.numbers.rationals import exact, spelled
from symveil.reports.page import Reported
from symveil.reports.report import Facts, Report, Section, Table

WHOLE = "all words of a person replaced by others of the same lengths"
"""What a loss of whole words is between."""
APART = (
    "losses between words and losses between files with and without a person are in two books: they do not add up, and "
    "each has grants of its own"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class InUnit:
    """What was charged in one unit."""

    unit: Unit | None
    """None: symveil 0.2 charged it, and did not write the unit down."""
    releases: int
    spent: str | None = None
    """The sum, where it is about one person."""
    whole: str | None = None
    """What all of the person's words lose together where all of them are replaced by others of the same lengths; None:
    no bound is known.
    """

    def document(self) -> dict[str, object]:
        """The JSON form."""
        document: dict[str, object] = {"unit": shown_unit(self.unit)}
        document |= {} if self.unit is None else self.unit.document()
        return document | {"releases": self.releases} | ({} if self.spent is None else {"spent": self.spent})


@dataclass(frozen=True, kw_only=True, slots=True)
class OwnBook:
    """One person's budget in one book. Amounts are exact decimals, as text."""

    compares: Compares
    granted: str
    spent: str
    left: str
    composed_epsilon: float | None = None
    """What was lost at the book's δ, where it has one."""
    spent_delta: str | None = None
    """What releases that have a δ have cost of it; None: nothing."""

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Account(Reported):
    """One person's budget."""

    person: str
    books: tuple[OwnBook, ...]
    """What is in use, the book that the ledger was used for first before the other one."""
    units: tuple[InUnit, ...] = ()
    """What was spent in which unit."""

    @property
    def granted(self) -> str:
        """In the first book."""
        return self.books[0].granted

    @property
    def spent(self) -> str:
        """In the first book."""
        return self.books[0].spent

    @property
    def left(self) -> str:
        """In the first book."""
        return self.books[0].left

    @property
    def composed_epsilon(self) -> float | None:
        """What was lost at the δ of the first book, where it has one."""
        return self.books[0].composed_epsilon

    @property
    def spent_delta(self) -> str | None:
        """What releases that have a δ have cost of that of the first book; None: nothing."""
        return self.books[0].spent_delta

    @property
    def whole(self) -> str | None:
        """What the releases of words and those with neighbours replace lose together where all words of the person are
        replaced by others of the same lengths; None: no bound is known, or there are none.
        """
        own = [each.whole for each in _of(self.units, "words")]
        if not own or None in own:
            return None
        return spelled(sum((exact(str(amount)) for amount in own), Fraction(0)))

    @property
    def whole_delta(self) -> str | None:
        """What is to be added to δ beside `whole`; None: nothing."""
        return next((each.spent_delta for each in self.books if each.compares == "words"), None)

    @property
    def whole_note(self) -> str | None:
        """Why no such bound is known; None where one is, or where nothing was charged for words."""
        if self.whole is not None or not _of(self.units, "words"):
            return None
        return (
            "no bound is known for all words of the person together: a public start, lengths or words that are left "
            "out, a mechanism without a bound for whole words, or charges of an older version; central releases with "
            "`neighbours='replace'` and words at adjacency all have one"
        )

    @property
    def note(self) -> str | None:
        """What `spent` means where it adds up different units."""
        return _note(self.units, self.books[0].compares)

    @property
    def negative(self) -> str | None:
        """Why nothing, and less, is left."""
        return _negative((each.left, each.composed_epsilon is not None) for each in self.books)

    def document(self) -> dict[str, object]:
        """The JSON form."""
        first = {name: value for name, value in self.books[0].document().items() if name != "compares"}
        return {
            "person": self.person,
            **first,
            **_documents(self.units, self.books[0].compares),
            "negative": self.negative,
            "books": [each.document() for each in self.books],
            "whole_words": {
                "between": WHOLE,
                "epsilon": self.whole,
                "delta": self.whole_delta,
                "note": self.whole_note,
            },
        }

    def report(self) -> Report:
        """What was granted, spent and left, in which units; budgets for words and for persons side by side."""
        return _report(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class BookTotals:
    """One book as a whole."""

    compares: Compares
    allowance: str
    delta: str
    most_spent: str
    least_left: str

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals(Reported):
    """The ledger as a whole."""

    persons: int
    releases: int
    pending: int
    abandoned: int
    books: tuple[BookTotals, ...]
    """What is in use, the book that the ledger was used for first before the other one."""
    unit: Unit | None
    """What budgets for words are for; None: any charge."""
    units: tuple[InUnit, ...]
    """What was charged in which unit."""

    @property
    def allowance(self) -> str:
        """What everybody was granted in the first book."""
        return self.books[0].allowance

    @property
    def delta(self) -> str:
        """The δ of the first book."""
        return self.books[0].delta

    @property
    def most_spent(self) -> str:
        """What the person who spent most has spent in the first book."""
        return self.books[0].most_spent

    @property
    def least_left(self) -> str:
        """What the person who has least left has in the first book."""
        return self.books[0].least_left

    @property
    def note(self) -> str | None:
        """What amounts mean where they add up different units."""
        return _note(self.units, self.books[0].compares)

    @property
    def negative(self) -> str | None:
        """Why a person's remaining budget is negative."""
        return _negative((each.least_left, each.delta != "0") for each in self.books)

    def document(self) -> dict[str, object]:
        """The JSON form."""
        first = {name: value for name, value in self.books[0].document().items() if name != "compares"}
        return {
            "persons": self.persons,
            "releases": self.releases,
            "pending": self.pending,
            "abandoned": self.abandoned,
            **first,
            "budgets_for": None if self.unit is None else self.unit.document(),
            **_documents(self.units, self.books[0].compares),
            "negative": self.negative,
            "books": [each.document() for each in self.books],
        }

    def report(self) -> Report:
        """What was granted, spent and left, in which units; budgets for words and for persons side by side."""
        return _report(self)


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
    compares: Compares | None = None
    """ "persons" where it is no amount for words."""
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
            "are within the budget unless some of it was taken back (`person` shows the composed epsilon)"
        )
    return (
        "left is negative because budget was taken back that had been spent: nothing more is charged to whom it "
        "concerns until as much is granted"
    )


def _of(units: Iterable[InUnit], compares: Compares) -> list[InUnit]:
    """Those of one book. What 0.2 charged was for words."""
    return [each for each in units if ("words" if each.unit is None else each.unit.compares) == compares]


def _note(units: tuple[InUnit, ...], first: Compares) -> str | None:
    parts = [mixture(_of(units, first)), APART if _of(units, "words") and _of(units, "persons") else None]
    return "; ".join(part for part in parts if part is not None) or None


def _negative(amounts: Iterable[tuple[str, bool]]) -> str | None:
    return next((why for left, composed in amounts if (why := below_nothing(left, composed)) is not None), None)


def _documents(units: tuple[InUnit, ...], first: Compares) -> dict[str, object]:
    shared = shared_unit(each.unit for each in _of(units, first))
    return {
        "units": [each.document() for each in units],
        "sum_unit": None if shared is None else str(shared),
        "note": _note(units, first),
    }


def _report(status: Totals | Account) -> Report:
    """What was granted, spent and left, in which units; budgets for words and for persons side by side."""
    notes = (status.note, status.negative, getattr(status, "whole_note", None))
    title = "Ledger"
    return Report(
        title=title,
        sections=(Section(title, (Facts.from_rows(_facts(status)),)), *_books(status)),
        notes=tuple(note for note in notes if note is not None),
    )


def _facts(status: Totals | Account) -> list[tuple[str, str]]:
    apart = {"budgets_for", "units", "sum_unit", "note", "negative", "books", "whole_words"}
    if len(status.books) > 1:  # side by side below
        apart |= set(status.books[0].document())
    plain = [(name, value) for name, value in status.document().items() if name not in apart]
    facts = [(name.replace("_", " "), str(value)) for name, value in plain]
    unit = getattr(status, "unit", None)
    if unit is not None:
        facts.append(("budgets are for", str(unit)))
    for each in status.units:
        count = f"{each.releases} release{'' if each.releases == 1 else 's'}"
        spent = count if each.spent is None else f"{each.spent} in {count}"
        facts.append(("charged", f"{spent}: {shown_unit(each.unit)}"))
    whole, delta = (getattr(status, name, None) for name in ("whole", "whole_delta"))
    if whole is not None:
        facts.append(("whole words", f"{whole}{f', delta {delta}' if delta else ''}: {WHOLE}"))
    return facts


def _books(status: Totals | Account) -> tuple[Section, ...]:
    """The budgets for words and for persons, side by side."""
    if len(status.books) == 1:
        return ()
    documents = [book.document() for book in status.books]
    names = list(dict.fromkeys(name for document in documents for name in document if name != "compares"))
    rows = [(name.replace("_", " "), *(str(document.get(name, "")) for document in documents)) for name in names]
    columns = ("", *(f"for {book.compares}" for book in status.books))
    return (Section("Two budgets, which do not add up", (Table.from_rows(columns, rows),)),)
