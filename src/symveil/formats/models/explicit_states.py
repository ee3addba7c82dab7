"""What states have besides transitions in explicit files: `.sta`, the values of their variables, and rewards.

.sta    first line: (s,d); then lines `state:(value,value)`; PRISM may put lines that begin with # before it
.srew   PRISM: number of states and of rewards that are not 0, then lines `state reward`; Storm: these lines alone

What a PRISM program says about who sees what: declarations `observable` and `secret`, as PRISM-Leak has them.

    global secret pay : [1..3];
    global observable agree1 : [0..1];
    observable done : bool init false;

Only these two words are looked for. The program itself is not built here: PRISM does that, and exports what it built
(`prism model.pm -exportmodel model.tra,sta,lab`). PRISM does not know the two words; leave them out of the copy that it
reads, or use PRISM-Leak.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from symveil.errors import FileError
from symveil.formats.models.lines import Line, exported_lines, is_index
from symveil.formats.reading import read_text
from symveil.models.labelled_chain import spelled_valuation

STATE_SUFFIX, REWARD_SUFFIX = ".sta", ".srew"

_HEAD = re.compile(r"\(\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*\)")
_ROW = re.compile(r"([0-9]{1,9})\s*:\s*\(([^()]*)\)")
_VALUE = re.compile(r"true|false|-?[0-9]{1,18}(?:\.[0-9]+)?")
_REWARD = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?(?:/[0-9]{1,400})?")


class Valuations:
    """The variables of a model and their values in each state."""

    def __init__(self, variables: tuple[str, ...], values: list[tuple[str, ...]]) -> None:
        self.variables, self.values = variables, values

    def names(self) -> list[str]:
        """The names of the states: their values."""
        return [spelled_valuation(self.variables, own) for own in self.values]

    def part(self, state: int, variables: tuple[str, ...]) -> str:
        """The values of some variables in a state."""
        own = dict(zip(self.variables, self.values[state], strict=True))
        return spelled_valuation(variables, [own[variable] for variable in variables])


def read_states(path: Path, count: int) -> Valuations:
    """The values of `count` states in a `.sta` file; each state once, and no two of them alike."""
    lines = exported_lines(path, what="file of states")
    line = next(lines, Line(path, 1, ""))
    match = _HEAD.fullmatch(line.text)
    if match is None:
        raise line.refusal("variables such as (s,d)")
    variables = tuple(name.strip() for name in match[1].split(","))
    if len(set(variables)) < len(variables):
        raise line.refusal("each variable once", "one twice")
    values: dict[int, tuple[str, ...]] = {}
    seen: set[tuple[str, ...]] = set()
    for line in lines:
        row = _ROW.fullmatch(line.text)
        own = tuple(cell.strip() for cell in row[2].split(",")) if row else ()
        if row is None or len(own) != len(variables) or not all(_VALUE.fullmatch(cell) for cell in own):
            raise line.refusal(f"a state and {len(variables)} values such as 0:({','.join(['0'] * len(variables))})")
        state = line.state(row[1], count)
        if state in values or own in seen:
            raise line.refusal("each state once, with values of its own", row[1])
        values[state] = own
        seen.add(own)
    if len(values) != count:
        raise FileError(str(path), expected=f"all {count} states", found=str(len(values)))
    return Valuations(variables, [values[state] for state in range(count)])


def read_rewards(path: Path, count: int) -> list[str]:
    """The reward of each of `count` states as it is spelled; "0" where the file has none."""
    rewards: dict[int, str] = {}
    for row, line in enumerate(exported_lines(path, what="file of rewards")):
        cells = line.text.split()
        if len(cells) != 2 or not is_index(cells[0]) or not _REWARD.fullmatch(cells[1]):
            raise line.refusal("a state and its reward")
        if row == 0 and int(cells[0]) == count:  # PRISM's first line: no state has this number
            continue
        state = line.state(cells[0], count)
        if state in rewards:
            raise line.refusal("each state once", cells[0])
        rewards[state] = cells[1]
    return [rewards.get(state, "0") for state in range(count)]


PROGRAM_SUFFIXES = (".pm", ".prism", ".nm", ".sm")
_LARGEST_FILE = 16 * 1024 * 1024
_COMMENT = re.compile(r"//[^\n]*")
_DECLARED = re.compile(r"(?:^|[;\s])(?:global\s+)?\b(observable|secret)\s+([A-Za-z_]\w*)\s*:(?!:)")


@dataclass(frozen=True, slots=True)
class Declarations:
    """The variables that an observer sees, and those that are to stay secret, in the order of the program."""

    observable: tuple[str, ...]
    secret: tuple[str, ...]


def read_declarations(text: str, *, where: str) -> Declarations:
    """The declarations in a program's text.

    >>> read_declarations("dtmc global secret pay : [1..3]; module m observable out : bool; endmodule", where="m.pm")
    Declarations(observable=('out',), secret=('pay',))
    """
    results: dict[str, str] = {}
    for word, name in _DECLARED.findall(_COMMENT.sub("", text)):
        if results.setdefault(name, word) != word:
            raise FileError(where, expected=f"variable {name} to be observable or secret", found="both")
    seen, hidden = ([name for name, word in results.items() if word == kind] for kind in ("observable", "secret"))
    return Declarations(tuple(seen), tuple(hidden))


def declarations_beside(path: Path) -> tuple[Path, Declarations] | None:
    """The declarations of the program beside an exported file, where there is one that has some."""
    stem = re.sub(r"\.\w+(\.gz)?$", "", path.name)
    for ending in PROGRAM_SUFFIXES:
        for name in dict.fromkeys((f"{stem}{ending}", stem if stem.endswith(ending) else "")):
            program = path.with_name(name) if name else path
            if name and program.is_file():
                declared = read_declarations(
                    read_text(program, what="PRISM program", at_most=_LARGEST_FILE), where=str(program)
                )
                return (program, declared) if declared.observable or declared.secret else None
    return None
