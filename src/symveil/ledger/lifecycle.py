"""The life of a release in the ledger:

    charge            one transaction: every person pays, the release is `pending` and its key is kept
    record_digest     the output is written aside and on the disk; what it must hash to is known, for good
    (rename)          the output is put in its place
    finish            `done`; the key is erased
    abandon           instead of `finish`: `abandoned`; the key is erased, and the charge stays

Anyone who comes back to a pending release under the same id goes on with the same key, so it draws the
same words, under the charge that was made. The key is kept exactly that long.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from symveil.errors import LedgerError
from symveil.ledger.store import Database
from symveil.ledger.tables import columns, releases
from symveil.ledger.units import shown_units

State = Literal["pending", "done", "abandoned"]

_LONGEST_SHOWN = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRelease:
    """A release as the ledger knows it."""

    number: int
    release_id: str
    state: State
    created: str
    """When it was charged."""
    out: str
    digest: str | None
    drawn: str | None
    manifest: str | None
    settings: str | None
    """Everything public that decides what is drawn, as it was when it was charged; None: 0.2 did not write it down."""
    key: bytes | None = field(repr=False)
    stamp: bytes | None = field(repr=False)

    @property
    def done(self) -> bool:
        """Whether its output was put in its place and nothing is left to do."""
        return self.state == "done"

    def has_stamp(self, content: bytes) -> bool:
        """Whether it was charged for this content: the same input, read and released in the same way."""
        return self.key is not None and self.stamp is not None and hmac.compare_digest(
            self.stamp, stamp_of(self.key, content)
        )  # fmt: skip

    def had_parameters(self, parameters: bytes) -> bool:
        """Whether it was made with these parameters, once it is done; True where the ledger does not know."""
        return self.stamp is None or hmac.compare_digest(self.stamp, parameters_stamp(parameters))


def stamp_of(key: bytes, content: bytes) -> bytes:
    """A fingerprint that only the release's own key can make: the ledger learns nothing about the content."""
    return hmac.new(key, b"symveil stamp\0" + content, hashlib.sha256).digest()


def parameters_stamp(parameters: bytes) -> bytes:
    """What stays of a stamp when the key goes: of the public parameters only. A digest of the input that needs no key
    would let anyone who has the ledger try guesses at the input.
    """
    return hashlib.sha256(b"symveil parameters\0" + parameters).digest()


def find_release(database: Database, release_id: str) -> LedgerRelease | None:
    """The release of this id."""
    with database.reading() as connection:
        return release_where(connection, releases.c.release_id == release_id)


def pending_for(database: Database, out: str) -> list[LedgerRelease]:
    """The releases that were charged for this output and were not finished."""
    with database.reading() as connection:
        return _releases(connection, releases.c.out == out, releases.c.state == "pending")


def done_for(database: Database, out: str, digest: str) -> list[LedgerRelease]:
    """The finished releases that were made for this output, as it is: with this digest."""
    with database.reading() as connection:
        return _releases(connection, releases.c.out == out, releases.c.state == "done", releases.c.digest == digest)


def record_digest(
    database: Database, release: LedgerRelease, *, digest: str, manifest: str, drawn: str | None = None
) -> str:
    """The output is on the disk, aside: what it must hash to once it is in its place. The manifest that goes with it.

    What was recorded before may have been published before, so other words are refused: they would be a second
    release under one charge. `drawn` is a digest of the words where that of the output may differ for the same words.
    """
    with database.writing() as connection:
        known = release_where(connection, releases.c.number == release.number)
        if known is not None and known.state == "pending" and known.digest is not None:
            if (known.digest, known.drawn) == (digest, drawn) and known.manifest is not None:
                return known.manifest
            if known.drawn is None or known.drawn != drawn:
                raise LedgerError(
                    f"release {release.release_id}: expected the output whose digest was recorded when it was drawn "
                    "before, found another, which would be a second release; nothing was put in its place: close it "
                    f"with symveil ledger abandon --release-id {release.release_id} (its charge stays) and release "
                    "under another id"
                )
        _update_pending(connection, release, {"digest": digest, "manifest": manifest, "drawn": drawn})
    return manifest


def finish(database: Database, release: LedgerRelease, *, parameters: bytes | None = None) -> None:
    """The output is in its place: the release is done, its key is erased, and its stamp is of its parameters only."""
    stamp = None if parameters is None else parameters_stamp(parameters)
    with database.writing() as connection:
        _update_pending(
            connection, release, {"state": "done", "finished": now(), "release_key": None, "stamp": stamp}
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Abandoned:
    """A release that will not be finished: its key is erased, what was paid for it stays paid."""

    release_id: str
    out: str
    charge: str
    """What each sequence was charged."""
    sequences: int
    persons: int
    output_recorded: bool
    """Whether its output had been written as a whole: then it may have been put in its place, and stands if it was."""
    already_abandoned: bool = False

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {"state": "abandoned", **{name: getattr(self, name) for name in self.__slots__}}


def abandon(database: Database, release_id: str) -> Abandoned:
    """Close a release that is pending: its key is erased, so that it cannot be drawn again; its charge stays."""
    with database.writing() as connection:
        row = connection.execute(sa.select(releases).where(releases.c.release_id == release_id)).one_or_none()
        if row is None:
            raise LedgerError(
                f"release: expected one that the ledger knows, found {release_id[:_LONGEST_SHOWN]!r}, which it does "
                "not; symveil ledger history lists them"
            )
        if row.state == "done":
            raise LedgerError(
                f"release {release_id}: expected a release that is pending, found it done; its key was erased when it "
                "was finished, so there is nothing to abandon"
            )
        if row.state == "pending":
            _update_pending(
                connection,
                _release(row),
                {"state": "abandoned", "finished": now(), "release_key": None, "stamp": None},
            )
        return Abandoned(
            release_id=release_id,
            out=row.out,
            charge=shown_units(row.charge),
            sequences=int(row.sequences),
            persons=int(row.persons),
            output_recorded=row.digest is not None,
            already_abandoned=row.state != "pending",
        )


def _update_pending(connection: sa.Connection, release: LedgerRelease, values: dict[str, Any]) -> None:
    pending = sa.and_(releases.c.number == release.number, releases.c.state == "pending")
    changed = connection.execute(releases.update().where(pending).values(**values))
    if changed.rowcount != 1:
        raise LedgerError(
            f"release {release.release_id}: expected it to be pending, found it finished by another run, or abandoned"
        )


def now() -> str:
    """The time, for the record."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def release_where(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> LedgerRelease | None:
    """The one release of which this is true."""
    row = connection.execute(sa.select(*columns(releases, connection)).where(condition)).one_or_none()
    return None if row is None else _release(row)


def _releases(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> list[LedgerRelease]:
    query = sa.select(*columns(releases, connection)).where(*conditions).order_by(releases.c.number)
    return [_release(row) for row in connection.execute(query).all()]


def _release(row: Any) -> LedgerRelease:
    return LedgerRelease(
        number=row.number,
        release_id=row.release_id,
        state=row.state,
        created=row.created,
        out=row.out,
        digest=row.digest,
        drawn=row.drawn,
        manifest=row.manifest,
        settings=row.settings,
        key=None if row.release_key is None else bytes(row.release_key),
        stamp=None if row.stamp is None else bytes(row.stamp),
    )
