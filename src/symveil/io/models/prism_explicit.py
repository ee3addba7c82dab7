"""PRISM's explicit files: `.tra`, the transitions of a Markov chain, and `.lab`, the labels of its states.

    .tra   first line: number of states, number of transitions; then lines `source target probability`
    .lab   first line: 0="init" 1="deadlock" 2="heads" …; then lines `state: label label …`

A state's label here is the set of its PRISM labels, without `init` (where PRISM starts, which is nothing that
is seen) and `deadlock`: in alphabetical order, joined by `+`, and empty where none is left. A name that contains `+`
is refused, so that different sets are different labels. A deadlock without transitions stays where it is, as
PRISM itself has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from symveil.errors import FileError
from symveil.io.models.places import placed
from symveil.io.reading import read_lines
from symveil.models.labelled_chain import LabelledChain
from symveil.models.probabilities import read_probability, rounded_sums

SUFFIX, LABEL_SUFFIX = ".tra", ".lab"

_NOT_SEEN = ("init", "deadlock")
_DECLARED = re.compile(r'\s*([0-9]{1,9})="([^"]*)"')
_JOIN = "+"
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
    with placed(lambda where: f"{path}: {_line(where, rows, places)}"):
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
        yield from ((number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip())


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
    names = _declared(header, where=f"{path}: line {number}")
    own: list[set[str]] = [set() for _ in range(count)]
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
                own[int(state)].add(names[code])
    if not any(own):
        raise FileError(
            str(path), expected="a label besides init and deadlock, so that something is seen", found="none"
        )
    return {str(state): _JOIN.join(sorted(labels)) for state, labels in enumerate(own)}, deadlocks


def _declared(header: str, *, where: str) -> dict[int, str]:
    """The names of the labels by their codes: each code once, each name once."""
    labels = [(int(code), name) for code, name in _DECLARED.findall(header)]
    if not labels or _DECLARED.sub("", header).strip():
        raise FileError(where, expected='labels such as 0="init" 1="heads"', found=repr(header[:40]))
    names: dict[int, str] = {}
    for code, name in labels:
        if code in names:
            raise FileError(where, expected="each label number once", found=f"{code} twice")
        if name in names.values():
            raise FileError(where, expected="each label name once", found=f"{name[:40]!r} twice")
        if not name or _JOIN in name:
            raise FileError(where, expected=f"label names that are not empty, without {_JOIN!r}", found=repr(name[:40]))
        names[code] = name
    return names


def _is_number(text: str) -> bool:
    text = text.strip()
    return text.isascii() and text.isdigit() and len(text) <= 9


def _line(where: str, rows: list[tuple[str, str, str]], places: list[int]) -> str:
    """`transitions[3][2]` as the line that it stands in; of a wrong sum, the last line of its state."""
    match = re.match(r"transitions\[([0-9]+)\]", where)
    if match and int(match[1]) < len(places):
        return f"line {places[int(match[1])]}"
    wrong = _wrong_sum(rows) if where == "transitions" else None
    if wrong is None:
        return where
    return f"line {max(place for row, place in zip(rows, places, strict=True) if row[0] == wrong)}"


def _wrong_sum(rows: list[tuple[str, str, str]]) -> str | None:
    """The first state whose probabilities do not sum to 1, if that is what is wrong."""
    chances: dict[str, list[Fraction]] = {}
    decimal = set()
    for source, _, spelled in rows:
        chance, is_decimal = read_probability(spelled, where="transitions")
        chances.setdefault(source, []).append(chance)
        if is_decimal:
            decimal.add(source)
    for source, own in chances.items():
        if sum(own) != 1 and not rounded_sums(((source, chance) for chance in own), decimal & {source}, notes=None):
            return source
    return None
