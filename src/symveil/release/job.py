"""What the release protocol needs of an engine: to look through the input, and to write the output aside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError
from symveil.ledger.units import whole_parts
from symveil.mechanisms.by_length import calibrated, needs_lengths
from symveil.mechanisms.mechanism import Mechanism
from symveil.numbers.once import computed_once
from symveil.storage.files import TemporaryOutput, digest_of

Plan = TypeVar("Plan")
"""What a job draws with: it holds the release key."""

Ask = Callable[[list[str], list[int], list[int | None] | None], None]
"""Called with persons, how many sequences each of them has, and what these lose when all of them are replaced by others
of the same lengths, in millionths (None where no bound is known).
"""


@dataclass(frozen=True, kw_only=True)
class Written:
    """An output that stands aside: its digest, and what may be said about it.

    Of a central release nothing may be said but what is in the output: its numbers stay 0.
    """

    digest: str
    sequences: int = 0
    released: int = 0
    over_budget: int = 0
    symbols: int = 0
    lengths: NDArray[np.int64] = field(repr=False, default_factory=lambda: np.empty(0, dtype=np.int64))
    """Which lengths occur: lengths are public."""
    drawn: str | None = None
    """A digest of the released records that is the same for the same words; None: `digest` is."""
    true_error: dict[str, float] | None = field(default=None, repr=False)
    """From the secret words: never into a manifest."""
    most_of_a_person: int | None = field(default=None, repr=False)
    """How many sequences the person with the most of them has, where persons were named: never into a manifest."""

    def counts(self) -> dict[str, int]:
        """For the manifest: lengths are public, and so is which records the output has."""
        return {
            "sequences": self.sequences,
            "released": self.released,
            "dropped_unknown": self.sequences - self.released - self.over_budget,
            "dropped_over_budget": self.over_budget,
            "symbols": self.symbols,
        }


class Job(ABC, Generic[Plan]):
    """An input, an output, and the engine between them."""

    unit: str
    has_ids: bool
    dropped_ids: tuple[str, ...] = ()
    """Columns that look like ids, where none of them passes."""
    facts: dict[str, object]
    """Public facts about the output, for the manifest: file, format, form, columns."""
    lengths: NDArray[np.int64] | None = None
    """Which lengths occur, after the survey; None where they are secret, or known only when something is drawn."""
    legal_lengths: NDArray[np.int64] | None = None
    """Which lengths sequences have that will not be left out as unknown, after the survey; None: not known."""
    mechanism: Mechanism
    """What releases the words; its laws are known before the output is begun (`calibrate`)."""
    whole_loss: Callable[[int], float] | None = None
    """What two words of this length lose at most, however many symbols differ; None: no bound is asked for."""

    @computed_once
    def _whole(self) -> Callable[[int], int | None]:
        """The same in millionths, rounded up, each length once."""
        loss = self.whole_loss
        return cache(lambda length: None if loss is None else whole_parts(loss(length)))

    def whole_of(self, counts: list[int], lengths: list[int]) -> list[int | None]:
        """What so many words of each length lose together when all of them are replaced."""
        own = [self._whole(length) for length in lengths]
        return [None if each is None else each * count for each, count in zip(own, counts, strict=True)]

    @property
    def record(self) -> str:
        """What one sequence is in the file."""
        if self.facts["format"] == "XES":
            return "trace"
        return "row" if self.facts["form"] == "wide" else "case"

    @abstractmethod
    def plan(self, release_id: str, key: bytes) -> Plan:
        """How this release is drawn."""

    @abstractmethod
    def fingerprint(self) -> bytes:
        """The input's content, as a digest: two runs of one release must mean the same input."""

    @abstractmethod
    def survey(self, plan: Plan, ask: Ask) -> None:
        """Look through the input before anybody is charged: refuse what can be refused, and tell whose it is."""

    def look_at_lengths(self, plan: Plan) -> None:
        """Read the public lengths of legal words where nothing was surveyed and laws depend on them."""
        del plan

    def calibrate(self, averaged: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Search for all laws that words of this input are released by; nothing is searched for afterwards.

        Parameters
        ----------
        averaged
            Further lengths whose laws the manifest speaks of, given those that occur.
        """
        occurring = np.empty(0, dtype=np.int64) if self.legal_lengths is None else self.legal_lengths
        lengths = np.union1d(occurring, averaged(occurring)) if needs_lengths(self.mechanism) else occurring
        self.mechanism = calibrated(self.mechanism, lengths)

    @abstractmethod
    def output(self, tag: str) -> AbstractContextManager[None]:
        """Begin the output of the release `tag`; what an earlier run left aside is gone. Inside it: write, publish."""

    @abstractmethod
    def write(self, plan: Plan, left_out: list[str]) -> Written:
        """Draw and write everything, except what belongs to the persons who are left out; on the disk when done."""

    @abstractmethod
    def publish(self) -> None:
        """Put the output in its place, in one step."""

    @abstractmethod
    def agrees_with(self, counts: dict[str, int]) -> bool:
        """Whether the output in its place can have come from this input, judged by public properties: how many
        records there were, which of them are in the output, and, where lengths are public, how long each is.
        """

    def explained(self) -> AbstractContextManager[None]:
        """A block in which what the engine says is wrong becomes one line of ours, without a value."""
        return nullcontext()

    @abstractmethod
    def published_digest(self) -> str | None:
        """The digest of what stands in the output's place."""


class FileJob(Job[Plan]):
    """A job whose output is one file on this machine.

    Parameters
    ----------
    source, target
        The input, which need not be a file, and the output.
    """

    def __init__(self, source: Path, target: Path) -> None:
        if target.is_dir():
            raise FileError(str(target), expected="a file to write", found="a folder")
        if target.exists() and source.exists() and target.samefile(source):
            raise FileError(str(target), expected="another file than the input", found="the same")
        self._target = target

    @contextmanager
    def output(self, tag: str) -> Iterator[None]:
        """A file aside, locked."""
        with TemporaryOutput(self._target, tag) as self._temporary:
            yield

    def publish(self) -> None:
        """Rename the file."""
        self._temporary.publish()

    def published_digest(self) -> str | None:
        """The digest of the file in the output's place."""
        return digest_of(self._target)
