"""The protocol of a release: charged first, written aside, recorded, put in its place, done.

    charge as pending ─▶ write aside (0600) ─▶ record the digest ─▶ rename ─▶ mark done, erase the key

Killed anywhere, the same command goes on: an output in its place with the recorded digest is done;
anything else is deleted and drawn again with the kept key, so the same words come out, under the same
charge. docs/ledger.md says why each step stands where it stands.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from symveil.errors import LedgerError
from symveil.io.manifest import check_manifest_place, write_manifest
from symveil.ledger.charging import (
    LedgerRelease,
    OverBudget,
    Request,
    charging,
    find_pending,
    find_release,
    finish,
    record_digest,
)
from symveil.ledger.store import Database
from symveil.randomness import new_release_key
from symveil.workflows.releasing.job import Job, Written

ManifestText = Callable[[str, Written], str]
"""The manifest of a release, given its id and what was written."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """What each sequence costs, and how its loss is distributed."""

    charge: int
    loss: str


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A release in its place."""

    release_id: str
    manifest: dict[str, Any]
    manifest_file: Path
    already_done: bool = False
    written: Written | None = None


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One release of one job."""

    job: Job
    target: Path
    manifest_text: ManifestText
    parameters: dict[str, Any]
    """Everything public that decides what is released: a run with other parameters is another release."""
    release_id: str | None = None

    def without_ledger(self) -> Finished:
        """Nobody is charged; the key is made here and is gone when this returns."""
        check_manifest_place(self.target)
        release_id = self.release_id or new_release_id()
        plan = self.job.plan(release_id, new_release_key())
        with self.job.output(release_id) as output:
            written = output.write(plan, [])
            text = self.manifest_text(release_id, written)
            output.publish()
        return self._finished(release_id, text, written=written)

    def with_ledger(self, database: Database, price: Price, over_budget: OverBudget) -> Finished:
        """Charged once, however often it takes."""
        check_manifest_place(self.target)
        content = self._content()
        out = str(self.target.absolute())
        release_id = self.release_id
        known = find_release(database, release_id) if release_id else find_pending(database, out, content)
        if known is not None:
            release_id = known.release_id
            self._refuse_other(known, content)
            if (done := self._in_place(database, known)) is not None:
                return done
        release_id = release_id or new_release_id()
        request = Request(
            release_id=release_id,
            charge=price.charge,
            loss=price.loss,
            out=out,
            key=(known.key if known is not None else None) or new_release_key(),
            content=content,
            over_budget=over_budget,
        )
        with charging(database) as open_charge:
            self.job.survey(self.job.plan(release_id, request.key), open_charge.ask)
            release, left_out = open_charge.charge(request)
        return self._drawn(database, release, left_out, content)

    def _drawn(self, database: Database, release: LedgerRelease, left_out: list[str], content: bytes) -> Finished:
        with self.job.output(release.release_id) as output:
            # whoever holds the output alone writes this release; another run may have done so just now
            current = find_release(database, release.release_id) or release
            self._refuse_other(current, content)
            if (done := self._in_place(database, current)) is not None:
                return done
            if current.key is None or not current.has_stamp(content):
                raise LedgerError(f"release {release.release_id}: expected it to be ours, found another run's")
            written = output.write(self.job.plan(release.release_id, current.key), left_out)
            if self._content() != content:  # who was read for writing must be who was read for charging
                raise LedgerError(
                    f"release {release.release_id}: expected an input that stays as it is while it is released, found "
                    "it changed; nothing was released: put it back and run the same command again, or charge anew"
                )
            text = self.manifest_text(release.release_id, written)
            record_digest(database, release, digest=written.digest, manifest=text)
            output.publish()
            finished = self._finished(release.release_id, text, written=written)
            finish(database, release, parameters=self._parameters())
        return finished

    def _refuse_other(self, known: LedgerRelease, content: bytes) -> None:
        """One id, one release. Once it is done the parameters can still be compared, and what is public of the
        input (`_in_place`): its key, and with it all that was known of the secret words, is gone.
        """
        if known.done and not known.had_parameters(self._parameters()):
            raise LedgerError(
                f"release {known.release_id}: expected the same parameters as when it was made, found others; it is "
                "done: use another --release-id, which is charged anew"
            )
        if not known.done and not known.has_stamp(content):
            raise LedgerError(
                f"release {known.release_id}: expected the same input and parameters as when it was charged, found "
                "others; finish it as it was, or use another --release-id"
            )

    def _in_place(self, database: Database, known: LedgerRelease) -> Finished | None:
        """The release, where its output is in its place already; whatever is still missing is made up for."""
        if known.digest is not None and known.digest == self.job.digest_in_place() and known.manifest is not None:
            if known.done and not self.job.agrees_with(json.loads(known.manifest)["counts"]):
                raise LedgerError(
                    f"release {known.release_id}: expected the input it was made from, found one with other records; "
                    "it is done: use another --release-id, which is charged anew"
                )
            finished = self._finished(known.release_id, known.manifest, already_done=True)
            if not known.done:
                finish(database, known, parameters=self._parameters())
            return finished
        if known.done:
            raise LedgerError(
                f"release {known.release_id}: expected its output in {self.target}, found another or none; it is done "
                "and its key is gone: use another --release-id, which is charged anew"
            )
        return None

    def _finished(
        self, release_id: str, text: str, *, written: Written | None = None, already_done: bool = False
    ) -> Finished:
        path = write_manifest(self.target, text)
        return Finished(
            release_id=release_id,
            manifest=json.loads(text),
            manifest_file=path,
            written=written,
            already_done=already_done,
        )

    def _parameters(self) -> bytes:
        return json.dumps(self.parameters, sort_keys=True, default=str).encode()

    def _content(self) -> bytes:
        return hashlib.sha256(self.job.fingerprint() + self._parameters()).digest()


def new_release_id() -> str:
    """A name that no other release has."""
    return uuid.uuid4().hex
