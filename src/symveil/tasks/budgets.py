"""The ledger's commands: granting budget, looking at it, taking it out as a file; and what they say, as reports."""

from __future__ import annotations

import csv
import heapq
import io
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from symveil.errors import FileError
from symveil.formats.reading import guarded, read_lines
from symveil.laws.parameters import Adjacency, read_metric
from symveil.ledger.accounts import account, accounts, grant, history, totals
from symveil.ledger.lifecycle import Abandoned, LedgerRelease, abandon, find_release
from symveil.ledger.statements import Account, Entry, Totals
from symveil.ledger.store import Database
from symveil.ledger.units import Compares, Unit, granted_units, shown_unit
from symveil.numbers.rationals import Number, exact
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table, text_report
from symveil.storage.files import TemporaryOutput, temporary_path


@contextmanager
def _open(ledger: str | Path, *, create: bool = False) -> Iterator[Database]:
    database = Database(str(ledger), create=create)
    try:
        yield database
    finally:
        database.close()


def grant_budget(
    ledger: str | Path,
    epsilon: Number,
    *,
    persons: Iterable[str] = (),
    persons_file: str | Path | None = None,
    everyone: bool = False,
    delta: Number | None = None,
    unit: Unit | None = None,
    compares: Compares | None = None,
) -> int:
    """Add ε to the budgets of some persons, or of every person; the ledger is made where there is none.

    Parameters
    ----------
    ledger
        A file, or postgresql://user@host/database.
    epsilon
        How much; a negative amount takes back.
    persons, persons_file
        To whom; the file has a name in each line.
    everyone
        To every person instead, also to those whom the ledger has not met.
    delta
        With `everyone`: compose losses, allowing this δ, where that helps.
    unit
        Budgets of this ledger for words are for this unit from now on; charges that do not cover it are refused.
    compares
        "words": for releases of sequences; "persons": for tables and models of whole files, whose neighbours differ by
        a person who is added or removed. Without it the grant is for what the ledger was used for first.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Path(folder, "budgets.db")
    ...     _ = grant_budget(ledger, "0.1", everyone=True), grant_budget(ledger, "0.2", persons=["alice"])
    ...     person_status(ledger, "alice").left, person_status(ledger, "bob").left
    ('0.3', '0.1')
    """
    granted_units(epsilon)  # refused before a ledger is made for it
    with _open(ledger, create=True) as database:
        if persons_file is None:
            return grant(database, epsilon, names=persons, everyone=everyone, delta=delta, unit=unit, compares=compares)
        lines = (line.rstrip("\r\n") for line in read_lines(Path(persons_file), what="file of persons"))
        named = [line for line in lines if line]
        if not named:
            raise FileError(str(persons_file), expected="a person's name in a line", found="none")
        return grant(
            database, epsilon, names=[*persons, *named], everyone=everyone, delta=delta, unit=unit, compares=compares
        )


def ledger_status(ledger: str | Path) -> Totals:
    """The ledger as a whole: persons, releases, what was granted and spent.

    Parameters
    ----------
    ledger
        A file, or postgresql://user@host/database.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = grant_budget(Path(folder, "budgets.db"), 2, persons=["ann", "bob"])
    ...     ledger_status(Path(folder, "budgets.db")).persons
    2
    """
    with _open(ledger) as database:
        return totals(database)


def person_status(ledger: str | Path, person: str) -> Account:
    """One person's budget: granted, spent, left.

    Parameters
    ----------
    ledger
        A file, or postgresql://user@host/database.
    person
        Whose.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = grant_budget(Path(folder, "budgets.db"), 2, persons=["ann"])
    ...     person_status(Path(folder, "budgets.db"), "ann").left
    '2'
    """
    with _open(ledger) as database:
        return account(database, person)


def ledger_history(ledger: str | Path, person: str | None = None) -> list[Entry]:
    """Every grant and every release, or those that concern one person."""
    with _open(ledger) as database:
        return history(database, person)


def export_ledger(ledger: str | Path, out: str | Path, *, spreadsheet_safe: bool = False) -> int:
    """The budget of each person as a CSV file, for its owner only; how many persons there are.

    With `spreadsheet_safe` there is an apostrophe before names that a spreadsheet would take for formulas.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger, out = Path(folder, "budgets.db"), Path(folder, "budgets.csv")
    ...     _ = grant_budget(ledger, 2, persons=["=1+1"])
    ...     _ = export_ledger(ledger, out, spreadsheet_safe=True)
    ...     print(out.read_text().splitlines()[1])
    "'=1+1","2","0","2","",""
    """
    with (
        _open(ledger) as database,
        TemporaryOutput(Path(out), "export") as file,
        closing(accounts(database)) as everybody,  # else a failure would leave the ledger locked for writers
    ):
        count = 0
        text = io.TextIOWrapper(cast("BinaryIO", file), encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if spreadsheet_safe else csv.QUOTE_MINIMAL)
        both = len(totals(database).books) > 1  # a ledger with one book is written as before there were two
        heads = ["person", "granted", "spent", "left", "units", "delta"]
        writer.writerow([*heads, "books", "whole_words"] if both else heads)
        for each in everybody:
            person = guarded(each.person) if spreadsheet_safe else each.person
            units, delta = spent_in_units(each), each.spent_delta or ""
            cells = [person, each.granted, each.spent, each.left, units, delta]
            writer.writerow([*cells, own_books(each), each.whole or ""] if both else cells)
            count += 1
        text.flush()
        text.detach()
        file.finish()
        file.publish(for_everybody=False)  # it names people
    return count


def spent_in_units(account: Account) -> str:
    """What a person has spent in which unit, in one line."""
    return "; ".join(f"{each.spent} ({shown_unit(each.unit)})" for each in account.units)


def own_books(account: Account) -> str:
    """What a person has in each book, in one line."""
    return "; ".join(
        f"{each.compares}: {each.spent} of {each.granted} spent, {each.left} left" for each in account.books
    )


def abandon_release(ledger: str | Path, release_id: str) -> Abandoned:
    """Close a release that was charged and not finished: its key is erased, and its charge stays.

    What a killed run has written aside on this machine is deleted. A run that is still writing is not disturbed: then
    nothing is closed.
    """
    with _open(ledger) as database, _without_writers(find_release(database, release_id)):
        return abandon(database, release_id)


@contextmanager
def _without_writers(release: LedgerRelease | None) -> Iterator[None]:
    """Refuse where a run of this machine is at it; what a killed one has left aside is deleted."""
    if release is not None and release.state == "pending":
        out = Path(release.out)
        if temporary_path(out, release.release_id).is_file():
            with TemporaryOutput(out, release.release_id):
                yield
            return
    yield


def ledger_accounts(ledger: str | Path, *, most: int) -> list[Account]:
    """The budgets of those who have spent most, so many of them; nothing is changed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Path(folder, "budgets.db")
    ...     _ = grant_budget(ledger, 2, persons=["alice", "bob"])
    ...     [(each.person, each.left) for each in ledger_accounts(ledger, most=1)]
    [('alice', '2')]
    """
    with _open(ledger) as database, closing(accounts(database)) as everybody:
        return heapq.nlargest(most, everybody, key=lambda each: exact(each.spent))


# --- reports -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Granted(Reported):
    """What was granted, to how many persons (None: to everyone), for what."""

    epsilon: str
    persons: int | None
    compares: Compares | None
    unit: Unit | None

    def document(self) -> dict[str, object]:
        """The JSON form."""
        document: dict[str, object] = {
            "granted": self.epsilon, "persons": self.persons, "everyone": self.persons is None
        }  # fmt: skip
        document |= {} if self.compares is None else {"for": self.compares}
        return document | ({} if self.unit is None else {"budgets_for": self.unit.document()})

    def report(self) -> Report:
        """The same as sentences."""
        what = "" if self.compares is None else f" for {self.compares}"
        texts = [
            f"Granted {self.epsilon} to {'everyone' if self.persons is None else f'{self.persons} persons'}{what}."
        ]
        if self.unit is not None:
            texts.append(f"Budgets of this ledger are for {self.unit}.")
        return text_report("Granted", texts)


def read_unit(adjacency: Adjacency | None, metric: str | None, public_start: bool) -> Unit | None:
    """The unit that is named by any part of it: b is 1 and the metric hamming unless another one is named."""
    if adjacency is None and metric is None and not public_start:
        return None
    return Unit(
        adjacency=1 if adjacency is None else adjacency,
        metric=read_metric(metric or "hamming"),
        public_start=public_start,
    )


def abandoned_report(closed: Abandoned) -> Report:
    """What became of a release that was closed, and of its charge."""
    if closed.already_abandoned:
        first = f"Release {closed.release_id} was abandoned before; nothing was changed."
    else:
        first = f"Abandoned release {closed.release_id}: its key is erased, and it cannot be drawn any more."
    texts = [first, f"Its charge stays: {closed.charge} for each of {closed.sequences} sequences."]
    if closed.output_recorded:
        texts.append(f"Its output had been written: if it is in {closed.out}, it is that release, and is paid for.")
    return text_report("Abandoned", texts)


def history_report(entries: Iterable[Entry]) -> Report:
    """Every grant and every release, in order."""
    rows = [
        (
            entry.created.replace("T", " ")[:19],
            entry.kind,
            entry.amount if entry.delta is None else f"{entry.amount}, delta {entry.delta}",
            entry.person or entry.release_id or "",
            entry.state or "",
            "" if entry.sequences is None else f"{entry.sequences}{f' ({entry.record})' if entry.record else ''}",
            entry.unit or "",
            entry.mechanism or "",
        )
        for entry in entries
    ]
    columns = ("when, in UTC", "what", "amount", "person or release", "state", "sequences", "unit", "mechanism")
    return Report(title="History", sections=(Section("History", (Table.from_rows(columns, rows),)),))
