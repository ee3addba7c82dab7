"""The protocol of a release: charged first, written aside, recorded, put in its place, done.

    charge as pending ─▶ write aside (0600) ─▶ record the digest ─▶ rename ─▶ mark done, erase the key

Killed anywhere, the same command goes on: an output in its place with the recorded digest is done;
anything else is deleted and drawn again with the kept key, so the same words come out, under the same
charge. What would draw other words (another input, other parameters, another version) is refused; such a
release can be abandoned. docs/ledger.md says why each step stands where it stands.

Everything public that decides what a release draws, as it is kept in the ledger while the release is pending.

A run that comes back to a pending release has the same key. With the same input and the same settings it
draws the same words, and there is nothing new to pay for; with anything else it would draw other words with
the same noise. So the settings are compared, part by part, and a release with others is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symveil.errors import LedgerError, ParameterError
from symveil.formats.manifest import check_manifest_path, manifest_path, stamped_by_0_2, write_manifest
from symveil.ledger.charging import Bill, OverBudget, Request, charging, check_delta, check_unit
from symveil.ledger.lifecycle import LedgerRelease, done_for, find_release, finish, pending_for, record_digest
from symveil.ledger.store import Database
from symveil.ledger.units import Unit
from symveil.mechanisms.calibrate import law_rows
from symveil.mechanisms.mechanism import Mechanism
from symveil.numbers.once import computed_once, no_searches
from symveil.randomness import new_release_key
from symveil.release.batch import Job, Written

_LONGEST_SHOWN = 40


def today() -> str:
    """The day that a manifest has, in UTC."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of a release, what carries it out, and the laws that words are drawn by."""

    options: dict[str, Any]
    """The public parameters as they were given: what makes two runs the same command."""
    made_by: dict[str, Any]
    """Version, engine, form and format: what turns the same command into the same words."""
    laws: str | None = None
    """A digest of the laws of every length that occurs; None: not known before something is drawn."""

    def text(self) -> str:
        """As it is recorded."""
        document = {"asked": self.options, "made_by": self.made_by, "worked_out": self.laws}
        return json.dumps(document, sort_keys=True, default=str)

    @classmethod
    def read(cls, text: str) -> Self:
        """As it was recorded."""
        try:
            document = json.loads(text)
            options, made_by, laws = (document[name] for name in ("asked", "made_by", "worked_out"))
            if not (isinstance(options, dict) and isinstance(made_by, dict)):
                raise TypeError
        except (TypeError, ValueError, LookupError):
            raise LedgerError(
                "ledger: expected the settings of a release as symveil writes them, found something else"
            ) from None
        return cls(options=options, made_by=made_by, laws=laws)

    def options_text(self) -> bytes:
        """What stays of them in a stamp when the release is done (as 0.2 wrote it, whose releases are still known)."""
        return json.dumps(self.options, sort_keys=True, default=str).encode()

    def differences(self, recorded: Self) -> list[str]:
        """In what these settings are other than the recorded ones, for a message: everything in them is public."""
        now, then = json.loads(self.text()), json.loads(recorded.text())
        different = []
        for part in ("asked", "made_by"):
            for name in sorted(now[part].keys() | then[part].keys()):
                before, after = (document[part].get(name) for document in (then, now))
                if before != after:
                    different.append(_difference(name, before, after))
        if recorded.laws != self.laws:
            different.append("other rates of the mechanism")
        return different


def _difference(name: str, before: object, after: object) -> str:
    shown = ["not given" if value is None else str(value) for value in (before, after)]
    if max(map(len, shown)) > _LONGEST_SHOWN:  # a digest, or many columns
        return f"another {name}"
    return f"another {name} ({shown[0]} then, {shown[1]} now)"


def made_by(*, version: str, engine: str, facts: dict[str, object]) -> dict[str, Any]:
    """What carries out a release: symveil's version, the engine, how records are read, named and written.

    `facts` are the public facts of the job's output.
    """
    read = {name: value for name, value in facts.items() if name != "file"}  # where it is written decides nothing
    return {"version": version, "engine": engine, "byte order": sys.byteorder, **read}


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was decided before anything is drawn: the names of the mechanisms, and a digest of their laws."""

    mechanism: str
    digest: str | None
    """None: not known before something is drawn."""


def decisions(mechanism: Mechanism, lengths: NDArray[np.int64] | None) -> Decisions:
    """What words of these lengths are drawn by; None: lengths are not known yet.

    Proofs are left out: two proofs of one law draw the same words.

    >>> import symveil as sv
    >>> from symveil.languages.language import words_of_any_length
    >>> one, other = (sv.select_mechanism(words_of_any_length("abc"), epsilon=number) for number in (1, 2))
    >>> decisions(one, np.array([1, 2])).mechanism
    'exponential'
    >>> decisions(one, np.array([1, 2])) == decisions(other, np.array([1, 2]))
    False
    """
    if lengths is None and mechanism.length is None and mechanism.metric == "hamming":
        return Decisions(mechanism.name, None)
    laws = [{**row, "certificate": None} for row in law_rows(mechanism, np.array([]) if lengths is None else lengths)]
    names = sorted({str(law["mechanism"]) for law in laws}) or [mechanism.name]
    return Decisions(", ".join(names), hashlib.sha256(json.dumps(laws, sort_keys=True).encode()).hexdigest())


def check_ledger_apart(ledger: str | Path | None, source: Path, target: Path) -> None:
    """A ledger in the output's place would be replaced by it, and every charge with it."""
    if ledger is None or "://" in str(ledger):
        return
    for other in (source, target, manifest_path(target)):
        # real paths, and not `resolve`: links that lead in a circle are refused where they are opened
        if os.path.realpath(ledger) == os.path.realpath(other):
            raise ParameterError("ledger", expected="a file of its own", found="the input or the output")


ManifestText = Callable[[str, Written, str], str]
"""The manifest of a release, given its id, what was written, and the day."""


@dataclass(frozen=True, kw_only=True)
class Price:
    """What each sequence costs, how its loss is distributed, and what it is a loss of."""

    charge: int
    loss: str
    unit: Unit


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A release in its place."""

    release_id: str
    manifest: dict[str, Any]
    manifest_file: Path
    already_done: bool = False
    written: Written | None = None
    bill: Bill | None = None
    """Who paid for it in this run; None: no one. For the holder of a file of sequences only."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One release of one job."""

    job: Job[Any]
    target: Path
    manifest_text: ManifestText
    describe: Callable[[], Settings]
    """Everything public that decides what is drawn, as far as it is known before the input was read: for a ledger."""
    calibrate: Callable[[Job[Any]], Decisions]
    """Searches for all laws, once the input was surveyed. Nothing is searched for afterwards."""
    release_id: str | None = None
    again: bool = True
    """Without a release id: whether a release that is done may be made, and charged, once more."""

    @computed_once
    def settings(self) -> Settings:
        """What a ledger records of this release."""
        return self.describe()

    def run(self, ledger: str | Path | None, price: Callable[[], Price], over_budget: OverBudget) -> Finished:
        """The release, charged to a ledger where there is one."""
        if ledger is None:
            return self.without_ledger()
        wanted = price()
        database = Database(str(ledger))
        try:
            return self.with_ledger(database, wanted, over_budget)
        finally:
            database.close()

    def without_ledger(self) -> Finished:
        """No person is charged; the key is made here and is gone when this returns."""
        check_manifest_path(self.target)
        release_id = self.release_id or new_release_id()
        key = new_release_key()
        self.job.look_at_lengths(self.job.plan(release_id, key))
        self.calibrate(self.job)
        with self.job.output(release_id), no_searches():
            written = self.job.write(self.job.plan(release_id, key), [])
            text = self.manifest_text(release_id, written, today())
            self.job.publish()
        return self._finished(release_id, text, written=written)

    def with_ledger(self, database: Database, price: Price, over_budget: OverBudget) -> Finished:
        """Charged once, however often it takes."""
        check_manifest_path(self.target)
        out = str(self.target.absolute())
        begun = self._begun(database, out)
        if not begun:
            check_unit(database, price.unit)  # before any work
            check_delta(database, price.loss, price.unit)
        fingerprint = self.job.fingerprint()
        known = next((each for each in begun if self.release_id or self._is_ours(each, fingerprint)), None)
        if known is None:
            check_unit(database, price.unit)
            check_delta(database, price.loss, price.unit)
            self._refuse_twice(database, out)
        else:
            self._refuse_other(known, fingerprint)
            if (done := self._published_before(database, known)) is not None:
                return done
            self._refuse_other_words(known, self.settings)
        release_id = self.release_id if known is None else known.release_id
        release_id = release_id or new_release_id()
        key = (known.key if known is not None else None) or new_release_key()
        with charging(database) as open_charge:
            self.job.survey(self.job.plan(release_id, key), open_charge.ask)
            decided = self.calibrate(self.job)
            settings = replace(self.settings, laws=decided.digest)
            request = Request(
                release_id=release_id,
                charge=price.charge,
                loss=price.loss,
                unit=price.unit,
                mechanism=decided.mechanism,
                record=self.job.record,
                out=out,
                settings=settings.text(),
                key=key,
                content=_content(fingerprint, settings.text()),
                over_budget=over_budget,
            )
            release, left_out = open_charge.charge(request)
        return replace(self._drawn(database, release, left_out, fingerprint, settings), bill=open_charge.bill)

    def _begun(self, database: Database, out: str) -> list[LedgerRelease]:
        """The releases that this one may be a second run of."""
        if self.release_id is None:
            return pending_for(database, out)
        known = find_release(database, self.release_id)
        return [] if known is None else [known]

    def _refuse_twice(self, database: Database, out: str) -> None:
        """The same command again, without a name for what it makes: it would charge everybody a second time.

        The same parameters, a finished output, and an input that is consistent with it, judged by public properties.
        """
        digest = None if self.again or self.release_id is not None else self.job.published_digest()
        for done in () if digest is None else done_for(database, out, digest):
            counts = json.loads(done.manifest or "{}").get("counts", {})
            if done.had_parameters(self.settings.options_text()) and self.job.agrees_with(counts):
                raise LedgerError(
                    f"release {done.release_id}: expected a release that was not made before, found it done, and its "
                    f"output in {self.target}; the same command would charge everyone a second time: nothing is left "
                    "to do, or say `again=True`, or name another `out`"
                )

    def _is_ours(self, known: LedgerRelease, fingerprint: bytes) -> bool:
        """Whether a pending release was begun by this same command: the same input, the same parameters."""
        if known.settings is None:
            return known.has_stamp(stamped_by_0_2(fingerprint, self.settings.options_text()))
        same = Settings.read(known.settings).options_text() == self.settings.options_text()
        return same and known.has_stamp(_content(fingerprint, known.settings))

    def _drawn(
        self, database: Database, release: LedgerRelease, left_out: list[str], fingerprint: bytes, settings: Settings
    ) -> Finished:
        with self.job.output(release.release_id), no_searches():
            # anyone who holds the output alone writes this release; another run may have done so just now
            current = find_release(database, release.release_id) or release
            self._refuse_other(current, fingerprint)
            if (done := self._published_before(database, current)) is not None:
                return done
            self._refuse_other_words(current, settings)
            if current.key is None:
                raise LedgerError(f"release {release.release_id}: expected it to be ours, found another run's")
            written = self.job.write(self.job.plan(release.release_id, current.key), left_out)
            if self.job.fingerprint() != fingerprint:  # who was read for writing must be who was read for charging
                raise LedgerError(
                    f"release {release.release_id}: expected an input that stays as it is while it is released, found "
                    "it changed; nothing was released: put it back and run the same command again, or charge anew"
                )
            # of the charge: the same when a run that was killed is resumed on another day
            text = self.manifest_text(release.release_id, written, current.created[:_DAY])
            text = record_digest(database, release, digest=written.digest, drawn=written.drawn, manifest=text)
            self.job.publish()
            finished = self._finished(release.release_id, text, written=written)
            finish(database, release, parameters=self.settings.options_text())
        return finished

    def _refuse_other(self, known: LedgerRelease, fingerprint: bytes) -> None:
        """One id, one release. Once it is done the parameters can still be compared, and what is public of the
        input (`_published_before`): its key, and with it all that was known of the secret words, is gone.
        """
        name, recorded = known.release_id, None if known.settings is None else Settings.read(known.settings)
        if known.state == "abandoned":
            raise LedgerError(
                f"release {name}: expected a release that may still be drawn, found it abandoned; its key is gone and "
                "its charge stays: use another `release_id`, which is charged anew"
            )
        if known.done:
            if not known.had_parameters(self.settings.options_text()):
                raise LedgerError(
                    f"release {name}: expected the same parameters as when it was made, found "
                    f"{_listed(self._other_parameters(recorded))}; it is done: use another `release_id`, which is "
                    "charged anew"
                )
        elif not self._is_ours(known, fingerprint):
            different = ["others, or a release that 0.2 began"]
            if recorded is not None:
                different = self._other_parameters(recorded) or ["another input"]
            raise LedgerError(
                f"release {name}: expected the same input and parameters as when it was charged, found "
                f"{_listed(different)}; finish it as it was, use another `release_id`, or close it: "
                f"{_abandoning(name)}"
            )

    def _other_parameters(self, recorded: Settings | None) -> list[str]:
        return [] if recorded is None else replace(self.settings, made_by=recorded.made_by).differences(
            replace(recorded, laws=self.settings.laws)
        )  # fmt: skip

    def _refuse_other_words(self, known: LedgerRelease, settings: Settings) -> None:
        """The input and the parameters are the same: whether it would also draw the same words."""
        if known.settings is None:
            raise LedgerError(
                f"release {known.release_id}: expected a release that this version began, found one that 0.2 began, "
                "which did not write down what decides its words; finish it with the version that began it, or close "
                f"it: {_abandoning(known.release_id)}"
            )
        recorded = Settings.read(known.settings)
        if settings.laws is None:  # not known yet, or not before something is drawn
            recorded = replace(recorded, laws=None)
        if different := settings.differences(recorded):
            raise LedgerError(
                f"release {known.release_id}: expected what decides its words to be as when it was charged, found "
                f"{_listed(different)}; finish it as it was begun, or close it: {_abandoning(known.release_id)}"
            )

    def _published_before(self, database: Database, known: LedgerRelease) -> Finished | None:
        """The release, where its output is in its place already; whatever is still missing is made up for."""
        if known.digest is not None and known.digest == self.job.published_digest() and known.manifest is not None:
            if known.done and not self.job.agrees_with(json.loads(known.manifest).get("counts", {})):
                raise LedgerError(
                    f"release {known.release_id}: expected the input it was made from, found one with other records; "
                    "it is done: use another `release_id`, which is charged anew"
                )
            finished = self._finished(known.release_id, known.manifest, already_done=True)
            if not known.done:
                finish(database, known, parameters=self.settings.options_text())
            return finished
        if known.done:
            raise LedgerError(
                f"release {known.release_id}: expected its output in {self.target}, found another or none; it is done "
                "and its key is gone: use another `release_id`, which is charged anew"
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


def _content(fingerprint: bytes, settings: str) -> bytes:
    """What a release is stamped with: its input, and everything public that decides what is drawn."""
    return hashlib.sha256(fingerprint + b"\0" + settings.encode()).digest()


def _abandoning(release_id: str) -> str:
    return f"symveil ledger abandon --release-id {release_id} (its charge stays), and release anew under another id"


def _listed(names: list[str]) -> str:
    return " and ".join(names[:_MOST_LISTED]) + (" and more" if len(names) > _MOST_LISTED else "") or "others"


_MOST_LISTED = 3
_DAY = len("2026-01-31")


def new_release_id() -> str:
    """A name that no other release has."""
    return uuid.uuid4().hex
