"""What a charge costs in PostgreSQL, ours and the server's: `python -m benchmarks.postgresql [PERSONS]`,
docs/benchmarks.md.

It starts a server of its own with the settings that PostgreSQL comes with, releases a file of so many persons several
times with and without a ledger in it, and prints seconds per charge: processor time of this process, processor time of
all of the server's processes (what it takes to start and stop is measured before and taken off), time on the clock; and
bytes on the disk.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

import symveil as sv
from benchmarks.files import ALPHABET, generated_sessions

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import services

_RELEASES = 3


def main(persons: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sessions = folder / "sessions.parquet"
        generated_sessions(sessions, persons)

        def release(**ledger: str | bool) -> tuple[float, float]:
            return _taken(
                lambda: sv.privatize_file(sessions, folder / "private.parquet", alphabet=ALPHABET, epsilon=1, **ledger)  # type: ignore[arg-type]
            )

        release(again=True)
        plain, plain_clock = release(again=True)
        idle = _server(lambda address: sv.grant_budget(address, 10**6, everyone=True))
        found: list[tuple[float, float]] = []
        sizes: list[int] = []

        def charge(address: str) -> None:
            sv.grant_budget(address, 10**6, everyone=True)
            for _ in range(_RELEASES):
                found.append(release(ledger=address, again=True))
                sizes.append(_size(address))

        server = _server(charge)
    charged = 1e6 * (server - idle) / persons / _RELEASES
    print(f"{persons:,} persons, {_RELEASES} releases; processor time of the server: {charged:.1f} µs per charge")
    for number, ((processor, clock), size) in enumerate(zip(found, sizes, strict=True), start=1):
        ours, waited = (1e6 * each / persons for each in (processor - plain, clock - plain_clock))
        print(
            f"release {number}: ours {ours:.1f} µs, on the clock {waited:.1f} µs per charge; bytes on the disk {size:,}"
        )


def _taken(call: Callable[[], object]) -> tuple[float, float]:
    processor, clock = time.process_time(), time.monotonic()
    call()
    return time.process_time() - processor, time.monotonic() - clock


def _server(work: Callable[[str], object]) -> float:
    """The processor seconds of a server and its processes from start to end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with services.postgres() as address:
        work(address)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _size(address: str) -> int:
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        size: int = connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one()
    engine.dispose()
    return size


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
