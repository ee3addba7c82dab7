"""Storm's DRN files: a Markov chain, its labels and, where Storm was asked for them, the values of its variables.

@type: DTMC
@nr_states
2
@model
state 0 init              rewards may stand in [ ] after the number, labels after that
//[s=0 & d=0]             the values, where Storm was asked for them
        action 0              a Markov chain has one action in each state
                1 : 0.5
                0 : 0.5
state 1 done
        action 0
                1 : 1

Storm packs them by gzip or xz, as the only file of a tar archive.

The one file in a tar archive, read as it comes: Storm packs its models that way (a `.drn.gz` has a tar inside).

Only what is needed is understood: headers of 512 bytes, a file of a known ending, everything else skipped.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.models.lines import Line, is_index
from symveil.formats.models.prism_explicit import (
    Row,
    StateLabels,
    Valuations,
    declarations_beside,
    explicit_chain,
    require_label_names,
)
from symveil.formats.reading import MOST_TIMES, lines_of, not_utf8, open_bytes, opened_pieces
from symveil.models.labelled_chain import LabelledChain, read_valuation

_BLOCK = 512
_MAGIC = slice(257, 262)
_REGULAR = (b"0", b"\0")


def _member(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The next bytes of a file, so many and no more."""
    while size:
        piece = file.read(min(size, LIMITS.now.piece_bytes))
        if not piece:
            raise EOFError
        size -= len(piece)
        yield piece


def unarchived(file: BinaryIO, path: Path, ending: str) -> BinaryIO:
    """The file in a tar archive whose name has this ending; anything else than an archive as it is.

    >>> unarchived(io.BufferedReader(io.BytesIO(b"@type: DTMC")), Path("x.drn"), ".drn").read()
    b'@type: DTMC'
    """
    begin = file.peek(_BLOCK) if isinstance(file, io.BufferedReader) else b""
    if begin[_MAGIC] != b"ustar":
        return file
    while True:
        header = file.read(_BLOCK)
        if len(header) < _BLOCK or not header.strip(b"\0"):
            raise FileError(str(path), expected=f"an archive with one {ending} file", found="an archive without one")
        digits = header[124:136].strip(b" \0")
        if not digits.isdigit() or set(digits) & set(b"89"):
            raise FileError(str(path), expected=f"an archive with one {ending} file", found="a damaged archive")
        size, name = int(digits, 8), header[:100].split(b"\0")[0].decode(errors="replace")
        if header[156:157] in _REGULAR and name.lower().endswith(ending):
            return opened_pieces(_member(file, size))
        left = -(-size // _BLOCK) * _BLOCK
        while left and (skipped := file.read(min(left, LIMITS.now.piece_bytes))):
            left -= len(skipped)


DRN_SUFFIX = ".drn"

_STATE = re.compile(r"state\s+([0-9]{1,9})(?:\s+!\S+)?(?:\s+\[[^\]]*\])?(?:\s+\{[0-9]+\})?((?:\s+(?:\"[^\"]*\"|\S+))*)")
_LABEL = re.compile(r"\"([^\"]*)\"|(\S+)")
_MOVE = re.compile(r"([0-9]{1,9})\s*:\s*(\S+)")
_HEADERS = ("@parameters", "@placeholders", "@reward_models", "@nr_states", "@nr_choices")


@dataclass(slots=True)
class _Drn:
    is_chain: bool = False
    count: int | None = None
    labels: list[set[str]] = field(default_factory=list)
    values: list[dict[str, str] | None] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    line_numbers: list[int] = field(default_factory=list)
    actions: int = 0
    """Of the state that is being read."""


def read_drn(
    path: Path, *, label_states: Mapping[str, Sequence[int | str]] | None = None, notes: list[str]
) -> LabelledChain:
    """The labelled chain in a DRN file of Storm's; `label_states` are labels that it lacks, with their states."""
    with open_bytes(path, what="DRN file", most_times=MOST_TIMES) as file:
        try:
            with closing(lines_of(unarchived(file, path, DRN_SUFFIX), path)) as lines:
                drn = _parsed(path, (Line(path, number, text.strip()) for number, text in enumerate(lines, start=1)))
        except UnicodeDecodeError:
            raise not_utf8(path, what="DRN file", most_times=MOST_TIMES) from None
    if drn.count is not None and drn.count != len(drn.labels):
        raise FileError(str(path), expected=f"{drn.count} states, as @nr_states says", found=str(len(drn.labels)))
    if not drn.labels:
        raise FileError(str(path), expected="a @model with at least one state", found="none")
    for (_, target, _), number in zip(drn.rows, drn.line_numbers, strict=True):
        Line(path, number, target).state(target, len(drn.labels))
    valuations = _valuations(path, drn)
    return explicit_chain(
        path,
        drn.rows,
        StateLabels.of(drn.labels),
        location=lambda row: f"{path}: line {drn.line_numbers[row]}",
        label_states=label_states,
        valuations=valuations,
        declared=declarations_beside(path, valuations),
        notes=notes,
    )


def _parsed(path: Path, lines: Iterator[Line]) -> _Drn:
    drn = _Drn()
    header, in_model = "", False
    for line in lines:
        if in_model:
            _model_line(drn, line)
        elif line.text == "@model":
            in_model = True
        elif line.text in _HEADERS:
            header = line.text
        elif line.text and not line.text.startswith("//"):
            _head_line(drn, line, header)
    if not drn.is_chain or not in_model:
        raise FileError(str(path), expected="a DRN file with @type: DTMC and @model", found="none")
    return drn


def _head_line(drn: _Drn, line: Line, header: str) -> None:
    name, _, value = (part.strip() for part in line.text.partition(":"))
    if name == "@type":
        if value.upper() != "DTMC":
            raise line.refusal("a Markov chain, @type: DTMC", repr(value[:40]))
        drn.is_chain = True
    elif name == "@value_type":
        if value not in ("double", "rational"):
            raise line.refusal("probabilities (double or rational)", repr(value[:40]))
    elif header == "@nr_states":
        if not is_index(line.text) or not 0 < int(line.text) <= LIMITS.now.states:
            raise line.refusal(f"1 to {LIMITS.now.states} states")
        drn.count = int(line.text)
    elif header in ("@parameters", "@placeholders"):
        raise line.refusal("a chain without parameters")
    elif header not in ("@reward_models", "@nr_choices"):
        raise line.refusal("a DRN file")


def _model_line(drn: _Drn, line: Line) -> None:
    text = line.text
    if not text:
        return
    if text.startswith("//"):
        inside = text.removeprefix("//").strip()
        if drn.labels and inside.startswith("[") and inside.endswith("]"):
            drn.values[-1] = read_valuation(inside[1:-1].replace("\t", " "))
    elif state := _STATE.fullmatch(text):
        if int(state[1]) != len(drn.labels) or len(drn.labels) == LIMITS.now.states:
            raise line.refusal(f"state {len(drn.labels)}, in order", f"state {state[1]}")
        labels = [quoted or plain for quoted, plain in _LABEL.findall(state[2])]
        require_label_names(labels, where=line.where)
        drn.labels.append(set(labels))
        drn.values.append(None)
        drn.actions = 0
    elif text.startswith("action"):
        drn.actions += 1
        if not drn.labels or drn.actions > 1:
            raise line.refusal("one action in each state of a Markov chain", "another")
    elif (move := _MOVE.fullmatch(text)) and drn.actions:
        drn.rows.append((str(len(drn.labels) - 1), move[1], move[2]))
        drn.line_numbers.append(line.number)
    else:
        raise line.refusal("a state, an action, or a move such as 1 : 0.5")


def _valuations(path: Path, drn: _Drn) -> Valuations | None:
    """The values of the variables, if every state has all of them."""
    if drn.values[0] is None:
        return None
    variables = tuple(drn.values[0])
    values = []
    for state, own in enumerate(drn.values):
        if own is None or tuple(own) != variables:
            raise FileError(
                str(path), expected="the values of the same variables in every state", found=f"others in state {state}"
            )
        values.append(tuple(own.values()))
    if len(set(values)) < len(values):
        raise FileError(str(path), expected="states with values of their own", found="two with the same")
    return Valuations(variables, values)
