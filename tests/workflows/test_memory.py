"""Memory does not grow with the file: a larger one passes through the same buffers."""

from __future__ import annotations

import subprocess
import sys

import pytest

RUN = """
import resource, sys
from symveil.io.sequences import duplicates, event_groups
from symveil.workflows.privatize_file import privatize_file
# buffers that are full early: what they hold at most is bounded, and not what is asked here
duplicates.SeenNames.__init__.__kwdefaults__["in_memory"] = 50_000
event_groups._PART_BUFFER = 1 << 17
event_groups.Grouping.__init__.__kwdefaults__["in_memory"] = 8 << 20    # by way of the disk, as a file of many GB
options = {"case": "c", "order": "t", "symbol": "s"} if "long" in sys.argv[1] else {"sequence": "s"}
privatize_file(sys.argv[1], sys.argv[1] + ".out.csv", alphabet="abc", epsilon=1, **options)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def write(path, form: str, megabytes: float) -> None:
    with path.open("w") as file:
        file.write("id,s\n" if form == "wide" else "c,t,s\n")
        number = written = 0
        while written < megabytes * 1e6:
            if form == "wide":
                rows = (f"u{number + n},{'a b c a b c a b c a b c'[: n % 12 * 2 + 1]}\n" for n in range(10_000))
            else:  # a case's events are scattered over the whole file
                rows = (f"c{(number + n) * 7919 % 400_009},{number + n},{'abc'[n % 3]}\n" for n in range(10_000))
            written += file.write("".join(rows))
            number += 10_000


def peak(path, form: str, megabytes: float) -> int:
    """MiB that a run on a file of that size takes, in a new process."""
    file = path / f"{form}-{megabytes}.csv"
    write(file, form, megabytes)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(file)], capture_output=True, text=True, check=True, timeout=7200
    )
    for each in path.iterdir():
        each.unlink()
    return int(done.stdout)


@pytest.mark.parametrize("form", ["wide", "long"])
def test_four_times_the_file_in_the_same_memory(tmp_path, form):
    small, large = peak(tmp_path, form, 4), peak(tmp_path, form, 16)
    assert large < small + 40  # the file itself, as Arrow arrays, would take more than 65


@pytest.mark.soak
@pytest.mark.parametrize("form", ["wide", "long"])
def test_five_gigabytes(tmp_path, form):
    assert peak(tmp_path, form, 5000) < 1500
