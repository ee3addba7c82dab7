"""What all pages of one studio share: two workers, a folder for dropped files, the address of the ledger."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from symveil.studio.worker import Worker


@dataclass(frozen=True, slots=True, eq=False)
class Studio:
    """Quick answers come from one worker, long jobs and preparations from the other: neither waits for the other."""

    folder: Path
    ledger: str | None = None
    quick: Worker = field(default_factory=Worker)
    patient: Worker = field(default_factory=Worker)

    @property
    def uploads(self) -> Path:
        """Where dropped files go."""
        return self.folder / "uploads"

    def start(self) -> None:
        """Start the workers, so that the first answer does not wait for them."""
        self.quick.start()
        self.patient.start()

    def close(self) -> None:
        """End the workers."""
        self.quick.close()
        self.patient.close()
