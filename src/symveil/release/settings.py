"""Everything public that decides what a release draws, as it is kept in the ledger while the release is pending.

A run that comes back to a pending release has the same key. With the same input and the same settings it
draws the same words, and there is nothing new to pay for; with anything else it would draw other words with
the same noise. So the settings are compared, part by part, and a release with others is refused.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symveil.errors import LedgerError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.mechanisms.mechanism import Mechanism

_DECIDES = ("rate", "step_height", "first_step", "weighting_name", "steering", "cutoff", "parameters", "digest")
"""What mechanisms work out from the public parameters, by searches and by proofs, and then draw with."""
_LONGEST_SHOWN = 40


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What was asked for, what carries it out, and what the mechanisms worked out."""

    asked: dict[str, Any]
    """The public parameters as they were given: what makes two runs the same command."""
    made_by: dict[str, Any]
    """Version, engine, form and format: what turns the same command into the same words."""
    worked_out: str | None = None
    """A digest of rates and the like for every length that occurs; None: not known before something is drawn."""

    def text(self) -> str:
        """As it is recorded."""
        document = {"asked": self.asked, "made_by": self.made_by, "worked_out": self.worked_out}
        return json.dumps(document, sort_keys=True, default=str)

    @classmethod
    def read(cls, text: str) -> Self:
        """As it was recorded."""
        try:
            document = json.loads(text)
            asked, made_by, worked_out = (document[name] for name in ("asked", "made_by", "worked_out"))
            if not (isinstance(asked, dict) and isinstance(made_by, dict)):
                raise TypeError
        except (TypeError, ValueError, LookupError):
            raise LedgerError(
                "ledger: expected the settings of a release as symveil writes them, found something else"
            ) from None
        return cls(asked=asked, made_by=made_by, worked_out=worked_out)

    def asked_text(self) -> bytes:
        """What stays of them in a stamp when the release is done (as 0.2 wrote it, whose releases are still known)."""
        return json.dumps(self.asked, sort_keys=True, default=str).encode()

    def differences(self, recorded: Self) -> list[str]:
        """In what these settings are other than the recorded ones, for a message: everything in them is public."""
        now, then = json.loads(self.text()), json.loads(recorded.text())
        different = []
        for part in ("asked", "made_by"):
            for name in sorted(now[part].keys() | then[part].keys()):
                before, after = (document[part].get(name) for document in (then, now))
                if before != after:
                    different.append(_difference(name, before, after))
        if recorded.worked_out != self.worked_out:
            different.append("other rates of the mechanism")
        return different


def _difference(name: str, before: object, after: object) -> str:
    shown = [str(value) for value in (before, after)]
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
class WorkedOut:
    """What the mechanisms of a release found before anything is drawn: their names, and a digest of the rest."""

    mechanism: str
    digest: str | None
    """None: not known before something is drawn."""


def worked_out(mechanism: Mechanism, lengths: NDArray[np.int64] | None) -> WorkedOut:
    """What the mechanism draws words of these lengths with; None: lengths are secret, or not known yet.

    >>> import symveil as sv
    >>> from symveil.languages.any_length import words_of_any_length
    >>> one, other = (sv.select_mechanism(words_of_any_length("abc"), epsilon=number) for number in (1, 2))
    >>> worked_out(one, np.array([1, 2])).mechanism
    'exponential'
    >>> worked_out(one, np.array([1, 2])) == worked_out(other, np.array([1, 2]))
    False
    """
    parts = mechanism.parts(lengths)
    if parts is None:
        return WorkedOut(mechanism.name, None)
    decided = {name: decisions(part) for name, part in parts.items()}
    names = sorted({each["mechanism"] for each in decided.values()}) or [mechanism.name]
    return WorkedOut(", ".join(names), hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest())


def decisions(mechanism: Mechanism) -> dict[str, str]:
    """A mechanism's name and what it worked out, exactly."""
    decided = {name: str(getattr(mechanism, name)) for name in _DECIDES if hasattr(mechanism, name)}
    return {"mechanism": mechanism.name, **decided}


def spelled_columns(columns: ColumnOptions) -> str:
    """The columns that were asked for, as 0.2 spelled them; options that came later are there only if they were used.

    >>> spelled_columns(ColumnOptions(identifier="trip"))[:59]
    "ColumnOptions(sequence=None, separator=None, identifier='tr"
    """
    fields_of_0_2 = [
        f"{each.name}={getattr(columns, each.name)!r}"
        for each in fields(columns)
        if each.name in _COLUMNS_OF_0_2 or getattr(columns, each.name) != each.default
    ]
    return f"ColumnOptions({', '.join(fields_of_0_2)})"


_COLUMNS_OF_0_2 = ("sequence", "separator", "identifier", "case", "order", "symbol", "person", "keep")
