"""PRISM's explicit files: `.tra`, the transitions of a Markov chain, and `.lab`, the labels of its states.

    .tra   first line: number of states, number of transitions; then lines `source target probability`
    .lab   first line: 0="init" 1="deadlock" 2="heads" …; then lines `state: label label …`

A state's label here is all of its PRISM labels joined by `+`, without `init` (where PRISM starts, which is
nothing that is seen) and `deadlock`; it is empty where none is left. A deadlock without transitions stays
where it is, as PRISM itself has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from symveil.errors import FileError
from symveil.io.places import placed
from symveil.io.reading import read_lines
from symveil.models.labelled_chain import LabelledChain

SUFFIX, LABEL_SUFFIX = ".tra", ".lab"

_NOT_SEEN = ("init", "deadlock")
_DECLARED = re.compile(r'\s*([0-9]{1,9})="([^"]*)"')
_MOST_STATES = 1_000_000


def read_prism(path: Path, *, labels: Path | None = None, notes: list[str]) -> LabelledChain:
    """The labelled chain of a `.tra` file and the `.lab` file beside it, or of `labels`."""
    label_file = labels or _beside(path)
    count, rows, places = _read_transitions(path)
    labels_of, deadlocks = _read_labels(label_file, count)
    leaving = {source for source, _, _ in rows}
    stuck = [str(state) for state in range(count) if str(state) not in leaving and str(state) in deadlocks]
    if stuck:
        notes.append(f"{len(stuck)} deadlock states without transitions stay where they are")
    with placed(lambda where: f"{path}: {_line(where, places)}"):
        return LabelledChain.from_transitions(
            [*rows, *((state, state, Fraction(1)) for state in stuck)],
            labels=labels_of,
            states=[str(state) for state in range(count)],
            notes=notes,
        )


def _beside(path: Path) -> Path:
    name = re.sub(r"\.tra(\.gz)?$", "", path.name, flags=re.IGNORECASE)
    for candidate in (path.with_name(f"{name}.lab"), path.with_name(f"{name}.lab.gz")):
        if candidate.exists():
            return candidate
    raise FileError(str(path), expected=f"its labels beside it, in {name}.lab", found="no such file")


def _numbered(path: Path, *, what: str) -> Iterator[tuple[int, str]]:
    with closing(read_lines(path, what=what)) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield number, line.strip()


def _read_transitions(path: Path) -> tuple[int, list[tuple[str, str, str]], list[int]]:
    lines = _numbered(path, what="PRISM transition file")
    number, header = next(lines, (1, ""))
    sizes = header.split()
    if len(sizes) != 2 or not all(_is_number(size) for size in sizes):
        raise FileError(
            f"{path}: line {number}",
            expected="the number of states and of transitions of a Markov chain",
            found=repr(header[:40]) if header else "an empty file",
        )
    count = int(sizes[0])
    if not 0 < count <= _MOST_STATES:
        raise FileError(f"{path}: line {number}", expected=f"1 to {_MOST_STATES} states", found=str(count))
    rows: list[tuple[str, str, str]] = []
    places: list[int] = []
    for number, line in lines:
        cells = line.split()
        if len(cells) not in (3, 4) or not (_is_number(cells[0]) and _is_number(cells[1])):
            raise FileError(f"{path}: line {number}", expected="source, target and probability", found=repr(line[:40]))
        for cell in cells[:2]:
            if int(cell) >= count:
                raise FileError(f"{path}: line {number}", expected=f"a state below {count}", found=cell)
        rows.append((str(int(cells[0])), str(int(cells[1])), cells[2]))
        places.append(number)
    if len(rows) != int(sizes[1]):
        raise FileError(
            str(path), expected=f"{int(sizes[1])} transitions, as its first line says", found=str(len(rows))
        )
    return count, rows, places


def _read_labels(path: Path, count: int) -> tuple[dict[str, str], set[str]]:
    lines = _numbered(path, what="PRISM label file")
    number, header = next(lines, (1, ""))
    names = {int(code): name for code, name in _DECLARED.findall(header)}
    if not names or _DECLARED.sub("", header).strip():
        raise FileError(f"{path}: line {number}", expected='labels such as 0="init" 1="heads"', found=repr(header[:40]))
    own: list[list[str]] = [[] for _ in range(count)]
    deadlocks: set[str] = set()
    for number, line in lines:
        state, colon, codes = line.partition(":")
        if not colon or not _is_number(state) or not all(map(_is_number, codes.split())):
            raise FileError(f"{path}: line {number}", expected="a state, a colon and its labels", found=repr(line[:40]))
        if int(state) >= count:
            raise FileError(f"{path}: line {number}", expected=f"a state below {count}", found=state)
        for code in map(int, codes.split()):
            if code not in names:
                raise FileError(f"{path}: line {number}", expected="labels of its first line", found=str(code))
            if names[code] == "deadlock":
                deadlocks.add(str(int(state)))
            if names[code] not in _NOT_SEEN:
                own[int(state)].append(names[code])
    if not any(own):
        raise FileError(
            str(path), expected="a label besides init and deadlock, so that something is seen", found="none"
        )
    return {str(state): "+".join(labels) for state, labels in enumerate(own)}, deadlocks


def _is_number(text: str) -> bool:
    text = text.strip()
    return text.isascii() and text.isdigit() and len(text) <= 9


def _line(where: str, places: list[int]) -> str:
    """`transitions[3][2]` as the line that it stands in."""
    match = re.match(r"transitions\[([0-9]+)\]", where)
    return f"line {places[int(match[1])]}" if match and int(match[1]) < len(places) else where
