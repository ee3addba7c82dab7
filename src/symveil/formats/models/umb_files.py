"""UMB files, the unified Markov binary format of PRISM, Storm and Modest: a Markov chain, its labels and its variables.

A UMB file is a tar file, plain or packed by gzip or xz, of flat arrays and of `index.json`, which says what they are:

    index.json                              how many states, choices and branches; labels, variables and their types
    state-to-choices.bin                    where the choices of each state begin; a chain has at most one in each
    choice-to-branches.bin                  where the branches of each choice begin
    branch-to-target.bin, -probability.bin  a state and a double or a rational for each branch
    state-is-initial.bin                    a bit for each state
    annotations/aps/LABEL/states/values.bin         a bit for each state
    valuations/states/valuations.bin        the variables of each state, bit by bit

umbi, by the authors of the format, reads the index; it is optional, so that this module is imported when a file asks
for it. The arrays are read here: sizes are checked against the index before anything is made from what it claims.
"""

from __future__ import annotations

import io
import logging
import re
import struct
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from umbi.umb.index import UmbIndex

from symveil.errors import FileError
from symveil.formats.json_text import Members, Numeral, parse_json, read_members
from symveil.formats.limits import LIMITS
from symveil.formats.models.prism_explicit import (
    Row,
    StateLabels,
    Valuations,
    declarations_beside,
    explicit_chain,
    require_label_names,
)
from symveil.formats.reading import read_bytes
from symveil.models.labelled_chain import LabelledChain
from symveil.models.names import shown

_GZIP = b"\x1f\x8b"
_VERSIONS = (0, 1)  # umbi 0.2 writes 0 where PRISM writes 1: the files are alike
_SIZES = {
    "bool": 1, "int": 64, "uint": 64, "double": 64, "rational": 128, "string": 64,
    "int-interval": 128, "uint-interval": 128, "double-interval": 128, "rational-interval": 256,
}  # fmt: skip
"""The size of a type for which the index says none; umbi wants it said."""
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_INTEGER = re.compile(r"-?[0-9]{1,20}")
# sums of doubles as the decimals that they print as: exact, from the largest probability to the least
_DECIMALS = Context(prec=900)

# umbi logs what it refuses; where nobody asked for logs, Python would print that beside our own line
_QUIET = logging.NullHandler()

Words = npt.NDArray[np.uint64]


def read_umb(
    path: Path, *, label_states: Mapping[str, Sequence[int | str]] | None = None, notes: list[str]
) -> LabelledChain:
    """The labelled chain in a UMB file; `label_states` are labels that it lacks, with their states."""
    archive = _Archive(path)
    index = archive.index()
    system = index.transition_system
    _require_chain(path, system)
    count = int(system.num_states)
    labels = _labels(archive, index, count)
    rows = _rows(archive, system, count, notes)
    valuations = _valuations(archive, index, count, notes)
    return explicit_chain(
        path,
        rows,
        StateLabels.of(labels),
        location=lambda row: f"{path}: a branch of state {rows[row][0]}",
        label_states=label_states,
        valuations=valuations,
        declared=declarations_beside(path, valuations),
        notes=notes,
    )


class _Archive:
    """The files in a UMB file, each within bounds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        content = _unpacked(path, read_bytes(path, what="UMB file", at_most=LIMITS.now.model_bytes))
        if content[257:262] != b"ustar":
            actual = "another file" if content else "an empty file"
            raise FileError(str(path), expected="a UMB file, which is a tar file, plain or by gzip or xz", found=actual)
        self._files = dict(self._members(content))

    def _members(self, content: bytes) -> Iterator[tuple[str, bytes]]:
        seen: set[str] = set()
        try:
            with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
                for number, member in enumerate(archive):
                    # a size below 0 would lead back to members that were read, for ever
                    inside = 0 <= member.size <= len(content) and member.offset_data <= len(content) - member.size
                    name = member.name.removeprefix("./")
                    if number == LIMITS.now.umb_members or not inside or name in seen:
                        raise self.damaged()
                    seen.add(name)
                    if member.isreg() and not member.issparse():
                        yield name, content[member.offset_data : member.offset_data + member.size]
        except (tarfile.TarError, ValueError, EOFError, OSError, RecursionError, OverflowError):
            raise self.damaged() from None

    def damaged(self) -> FileError:
        """The refusal of what is no whole tar file."""
        return FileError(str(self.path), expected="a UMB file", found="a damaged tar file")

    def index(self) -> Any:
        """What `index.json` says about chain, labels and variables; other parts are not read."""
        where = f"{self.path}: index.json"
        content = self._files.get("index.json")
        if content is None:
            raise FileError(str(self.path), expected="a UMB file, with index.json", found="a tar file without it")
        if len(content) > LIMITS.now.umb_index_bytes:
            raise FileError(where, expected=f"at most {LIMITS.now.umb_index_bytes // 2**20} MiB", found="more")
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise FileError(where, expected="JSON in UTF-8", found="other bytes") from None
        whole = read_members(parse_json(text, where=where), where=where, expected="an object")
        parts: dict[str, Any] = {
            key: _plain(whole[key], where=f"{where}: {key}")
            for key in ("format-version", "format-revision", "transition-system")
            if key in whole
        }
        for key, needed in (("annotations", "aps"), ("valuations", "states")):
            if key in whole:
                inner = read_members(whole[key], where=f"{where}: {key}", expected="an object")
                if needed in inner:
                    parts[key] = {needed: _plain(inner[needed], where=f"{where}: {key}.{needed}")}
        labels = parts.get("annotations", {}).get("aps")
        if isinstance(labels, dict) and len(labels) > LIMITS.now.umb_labels:
            raise FileError(
                f"{where}: annotations.aps", expected=f"at most {LIMITS.now.umb_labels} labels", found="more"
            )
        return _checked(parts, where=where)

    def array(self, name: str, size: int) -> bytes:
        """The bytes of a file that has to be there, with `size` of them.

        The format takes zeros where an array is missing. Labels that no state has, because a file was cut, would make a
        chain look more private than it is: a missing array is refused, as umbi does.
        """
        content = self._files.get(name)
        if content is None:
            raise FileError(str(self.path), expected=f"{shown(name)} in it, as index.json says", found="no such file")
        if len(content) != size:
            raise FileError(
                f"{self.path}: {shown(name)}", expected=f"{size} bytes, as index.json says", found=str(len(content))
            )
        return content

    def bits(self, name: str, count: int) -> npt.NDArray[np.intp]:
        """The numbers of those of `count` states whose bit is set."""
        content = self.array(name, (count + 63) // 64 * 8)
        results = np.flatnonzero(np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little"))
        if results.size and results[-1] >= count:
            raise FileError(
                f"{self.path}: {shown(name)}", expected=f"bits for {count} states", found="more of them set"
            )
        return results

    def ranges(self, name: str, count: int, total: int) -> Words:
        """Where the parts of each of `count` things begin among `total`; one part each where there is no file."""
        if name in self._files:
            begins = np.frombuffer(self.array(name, 8 * (count + 1)), "<u8")
        elif count == total:
            begins = np.arange(count + 1, dtype=np.uint64)
        else:
            raise FileError(f"{self.path}: {name}", expected=f"{count} parts, as there are no ranges", found=str(total))
        if begins[0] != 0 or begins[-1] != total or (begins[1:] < begins[:-1]).any():
            raise FileError(
                f"{self.path}: {name}", expected=f"ranges in order, from 0 to {total}", found="others"
            )  # fmt: skip
        return begins


def _unpacked(path: Path, content: bytes) -> bytes:
    """What a second gzip packed."""
    if not content.startswith(_GZIP):
        return content
    unpacker = zlib.decompressobj(wbits=31)
    try:
        inside = unpacker.decompress(content, LIMITS.now.model_bytes + 1)
    except (zlib.error, EOFError):
        raise FileError(str(path), expected="a readable UMB file", found="a damaged gzip or xz file") from None
    if len(inside) > LIMITS.now.model_bytes:
        raise FileError(
            str(path), expected=f"a UMB file of at most {LIMITS.now.model_bytes // 2**20} MiB", found="a larger file"
        )
    if not unpacker.eof:
        raise FileError(str(path), expected="a readable UMB file", found="a damaged gzip or xz file")
    return inside


def _plain(value: object, *, where: str) -> object:
    """A part of the index as umbi takes it: whole numbers only, each key once, and sizes where none are said."""
    if isinstance(value, Members):
        members = {
            key: _plain(member, where=where)
            for key, member in read_members(value, where=where, expected="an object").items()
        }
        kind = members.get("type")
        default = _SIZES.get(kind) if isinstance(kind, str) else None
        return members if default is None else {"size": default} | members
    if isinstance(value, list):
        return [_plain(part, where=where) for part in value]
    if isinstance(value, Numeral):
        if not _INTEGER.fullmatch(value.text):
            raise FileError(where, expected="whole numbers", found=repr(value.text[:40]))
        return int(value.text)
    return value


def _checked(parts: dict[str, Any], *, where: str) -> Any:
    logging.getLogger("umbi").addHandler(_QUIET)
    try:
        index = UmbIndex.from_json(parts)
    except Exception as error:  # whatever it stumbles over, the file is to blame
        lines = str(error).splitlines() or [type(error).__name__]
        raise FileError(where, expected="the index of a UMB file", found=lines[0][:200]) from None
    if index.format_version not in _VERSIONS:
        raise FileError(where, expected="format-version 0 or 1", found=str(index.format_version))
    return index


def _require_chain(path: Path, system: Any) -> None:
    """Refuse what is no Markov chain, before any of it is read."""
    where = f"{path}: index.json"
    if system.time != "discrete" or system.num_players:
        actual = f"{system.time} time" if system.time != "discrete" else f"{system.num_players} players who choose"
        raise FileError(where, expected="a Markov chain: discrete time, no nondeterminism", found=actual)
    if system.num_observations:
        actual = f"{system.num_observations} observations"
        raise FileError(where, expected="a Markov chain, of which the labels of states are seen", found=actual)
    if system.num_states > LIMITS.now.states:
        raise FileError(where, expected=f"1 to {LIMITS.now.states} states", found=str(system.num_states))
    if system.num_branches > LIMITS.now.umb_values:
        raise FileError(where, expected=f"at most {LIMITS.now.umb_values} branches", found=str(system.num_branches))
    if system.num_choices > system.num_states:
        raise FileError(
            where, expected="at most one choice in each state of a Markov chain",
            found=f"{system.num_choices} choices in {system.num_states} states",
        )  # fmt: skip
    kind = system.branch_probability_type
    if kind is None or str(getattr(kind.type, "value", kind.type)) not in ("double", "rational"):
        actual = "none" if kind is None else str(kind.type)
        raise FileError(where, expected="probabilities of branches (double or rational)", found=actual)
    if kind.size_bits % 16 or kind.size_bits > LIMITS.now.umb_rational_bits:
        raise FileError(
            where,
            expected=f"rationals of at most {LIMITS.now.umb_rational_bits} bits, by whole bytes",
            found=str(kind.size_bits),
        )


def _rows(archive: _Archive, system: Any, count: int, notes: list[str]) -> list[Row]:
    """The moves of the chain; branches of a state with the same target are one move."""
    choices = archive.ranges("state-to-choices.bin", count, system.num_choices)
    if (np.diff(choices) > 1).any():
        state = int(np.argmax(np.diff(choices) > 1))
        raise FileError(
            f"{archive.path}: state {state}", expected="at most one choice in each state of a Markov chain",
            found=str(int(choices[state + 1] - choices[state])),
        )  # fmt: skip
    begins = archive.ranges("choice-to-branches.bin", system.num_choices, system.num_branches)[choices].tolist()
    chances = _chances(archive, system)
    targets = np.frombuffer(archive.array("branch-to-target.bin", 8 * system.num_branches), "<u8").tolist()
    if any(target >= count for target in targets):
        branch = next(branch for branch, target in enumerate(targets) if target >= count)
        raise FileError(
            f"{archive.path}: branch {branch}", expected=f"a state below {count}", found=str(targets[branch])
        )
    rows: list[Row] = []
    never = 0
    for state in range(count):
        moves: dict[int, Fraction | Decimal] = {}
        for branch in range(begins[state], begins[state + 1]):
            target, chance = targets[branch], chances[branch]
            if not chance:
                never += 1
            elif target not in moves:
                moves[target] = chance
            else:
                moves[target] = _sum(moves[target], chance)
        rows += [(str(state), str(target), _spelled(chance)) for target, chance in moves.items()]
    if never:
        notes.append(f"{never} transitions of probability 0 were left out")
    return rows


def _chances(archive: _Archive, system: Any) -> Sequence[Fraction | Decimal]:
    """The probability of each branch: a rational, or a double as the decimal that it prints as."""
    name, count, size = "branch-to-probability.bin", system.num_branches, system.branch_probability_type.size_bytes
    content = archive.array(name, size * count)
    if str(system.branch_probability_type.type.value) == "double":
        doubles = np.frombuffer(content, "<f8")
        wrong = ~(np.isfinite(doubles) & (doubles >= 0))
        if wrong.any():
            raise FileError(
                f"{archive.path}: branch {int(np.argmax(wrong))}", expected="a probability",
                found=repr(float(doubles[np.argmax(wrong)])),
            )  # fmt: skip
        return [Decimal(repr(double)) for double in doubles.tolist()]
    chances = []
    half = size // 2
    for branch in range(count):
        middle = size * branch + half
        numerator = int.from_bytes(content[middle - half : middle], "little", signed=True)
        denominator = int.from_bytes(content[middle : middle + half], "little")
        if numerator < 0 or not denominator:
            actual = "a denominator 0" if not denominator else "a negative number"
            raise FileError(f"{archive.path}: branch {branch}", expected="a probability", found=actual)
        chances.append(Fraction(numerator, denominator))
    return chances


def _sum(one: Fraction | Decimal, other: Fraction | Decimal) -> Fraction | Decimal:
    if isinstance(one, Decimal) and isinstance(other, Decimal):
        return _DECIMALS.add(one, other)
    return Fraction(one) + Fraction(other)


def _spelled(chance: Fraction | Decimal) -> str:
    return str(chance) if isinstance(chance, Decimal) else f"{chance.numerator}/{chance.denominator}"


def _labels(archive: _Archive, index: Any, count: int) -> list[set[str]]:
    """The labels of each state, by the names that they have in the program; init where it is initial."""
    described = (index.annotations or {}).get("aps") or {}
    where = f"{archive.path}: index.json: annotations.aps"
    names = {key: described[key].alias or key for key in described}
    require_label_names(list(names.values()), where=where)
    initial_count = index.transition_system.num_initial_states
    initial = archive.bits("state-is-initial.bin", count) if initial_count else np.zeros(0, np.intp)
    if initial.size != initial_count:
        raise FileError(
            f"{archive.path}: state-is-initial.bin",
            expected=f"{initial_count} initial states, as index.json says",
            found=str(initial.size),
        )
    labels: list[set[str]] = [set() for _ in range(count)]
    for state in initial.tolist():
        labels[state].add("init")
    held = 0
    for key, name in names.items():
        is_bool = str(getattr(described[key].type.type, "value", "")) == "bool"
        if not is_bool or described[key].applies_to != ["states"] or described[key].probability_type is not None:
            raise FileError(where, expected="labels that states have or have not", found=f"{name[:40]!r}, another kind")
        having = archive.bits(f"annotations/aps/{key}/states/values.bin", count).tolist()
        held += len(having)
        if held > LIMITS.now.umb_values:
            raise FileError(where, expected=f"states with at most {LIMITS.now.umb_values} labels in all", found="more")
        for state in having:
            labels[state].add(name)
    return labels


def _valuations(archive: _Archive, index: Any, count: int, notes: list[str]) -> Valuations | None:
    """The values of the variables, if these name the states; otherwise states have their numbers, and a note says so.

    A valuation is one little-endian number: its first variable has the lowest bits. It is cut up here, because umbi
    takes time that grows with the square of its length.
    """
    described = (index.valuations or {}).get("states")
    if described is None:
        return None
    form, fields = described.classes[0], described.classes[0].attributes
    where = f"{archive.path}: valuations/states/valuations.bin"
    kinds = {str(getattr(field.sized_type.type, "value", "interval")) for field in fields}
    names = tuple(field.name for field in fields)
    if (
        len(described.classes) > 1
        or not fields
        or not kinds <= {"bool", "int", "uint", "double"}
        or any(field.is_optional for field in fields)
        or not all(_VARIABLE.fullmatch(name) for name in names)
        or len(set(names)) < len(names)
    ):
        notes.append(
            "states have their numbers for names: not every state has the same variables, which are bool, int, uint or "
            "double and have plain names"
        )  # fmt: skip
        return None
    if len(fields) * count > LIMITS.now.umb_values or any(
        field.size_bits > LIMITS.now.umb_variable_bits for field in fields
    ):
        limit = (
            f"at most {LIMITS.now.umb_values} values of variables, each of at most {LIMITS.now.umb_variable_bits} bits"
        )
        raise FileError(where, expected=limit, found="more")
    if form.size_bits % 8:
        raise FileError(where, expected="valuations of whole bytes", found=f"{form.size_bits} bits")
    size = form.size_bytes
    content = archive.array("valuations/states/valuations.bin", size * count)
    cuts = list(_cuts(form))
    values = [
        tuple(_value(content, 8 * size * state + begin, field) for begin, field in cuts) for state in range(count)
    ]
    if len(set(values)) < count:
        notes.append("states have their numbers for names: two of them have the same values")
        return None
    return Valuations(names, values)


def _cuts(form: Any) -> Iterator[tuple[int, Any]]:
    """The variables of a valuation with the bits at which they begin."""
    begin = 0
    for field in form:
        if hasattr(field, "name"):
            yield begin, field
        begin += field.size_bits


def _value(content: bytes, begin: int, field: Any) -> str:
    """The value of a variable that begins at a bit, as PRISM spells it."""
    size = field.size_bits
    bits = int.from_bytes(content[begin // 8 : (begin + size + 7) // 8], "little") >> begin % 8 & (1 << size) - 1
    kind = str(field.sized_type.type.value)
    if kind == "bool":
        return "true" if bits else "false"
    if kind == "double":
        return repr(float(struct.unpack("<d", bits.to_bytes(8, "little"))[0]))
    if kind == "int" and bits >> (size - 1):
        bits -= 1 << size
    return str(bits + (field.offset or 0))
