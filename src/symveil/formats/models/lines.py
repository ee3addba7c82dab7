"""Lines of the text files that other tools write: their numbers, their cells, and the messages about both.

Lines of cells that tabs or blanks separate, as the tools for discrete-event systems write them.

Most of these tools split a line wherever there is white space; DESops splits at tabs, and then a
name may contain blanks, such as `('idle', 'busy')`. A line is read either way, as long as only one
of them makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from symveil.errors import FileError, ModelError
from symveil.formats.limits import LIMITS
from symveil.formats.reading import read_lines
from symveil.models.names import shown

_KIND = re.compile(r"#\s*Transitions \(([A-Za-z]+)\)")
_NUMBER = re.compile(r"[-+.0-9][-+.0-9eE/]*")


def is_number(cell: str) -> bool:
    """Whether a cell is meant as a number; whether it is one, and which, is for its reader to say.

    >>> is_number("0.5"), is_number("1/3"), is_number("uo")
    (True, True, False)
    """
    return bool(_NUMBER.fullmatch(cell))


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its end, and where it stands.

    >>> line = Line(Path("die.tra"), 2, "0 1 one half")
    >>> str(line.refusal("source, target and probability"))
    "die.tra: line 2: expected source, target and probability, found '0 1 one half'"
    """

    path: Path
    number: int
    text: str

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"{self.path}: line {self.number}"

    def refusal(self, expected: str, found: str | None = None) -> FileError:
        """What is wrong with it; by default the beginning of its text was found."""
        return FileError(self.where, expected=expected, found=repr(self.text[:40]) if found is None else found)

    def state(self, cell: str, count: int) -> int:
        """The number of one of `count` states, which the cell is known to be written as."""
        if int(cell) >= count:
            raise self.refusal(f"a state below {count}", cell.strip())
        return int(cell)

    def cells(self, fits: Callable[[list[str]], bool], *, form: str) -> list[str]:
        """The cells, split at tabs or at blanks, whichever fits; `form` is what messages call the right form.

        >>> def three(cells): return len(cells) == 3
        >>> Line(Path("plant.fsm"), 4, "go  idle\\t1").cells(three, form="three cells")
        ['go', 'idle', '1']
        >>> Line(Path("plant.fsm"), 4, "go\\tidle and waiting\\t1").cells(three, form="three cells")
        ['go', 'idle and waiting', '1']
        >>> Line(Path("plant.fsm"), 4, "go idle").cells(three, form="three cells")
        Traceback (most recent call last):
        symveil.errors.ModelError: plant.fsm: line 4: expected three cells, found 'go idle'
        """
        at_blanks = self.text.split()
        at_tabs = [cell.strip() for cell in self.text.split("\t") if cell.strip()]
        if "\t" not in self.text or at_tabs == at_blanks or not fits(at_tabs):
            if fits(at_blanks):
                return at_blanks
            raise ModelError(self.where, expected=form, found=shown(self.text.strip()))
        if fits(at_blanks):
            raise ModelError(
                self.where,
                expected=f"{form}, with tabs between the cells or with blanks",
                found="both, which can be read in two ways",
            )
        return at_tabs


def numbered_lines(path: Path, *, what: str, any_size: bool = False) -> Generator[Line]:
    """The lines of a text file, counted from 1; refused where there is too much of it, or where it is a bomb."""
    size = 0
    with closing(read_lines(path, what=what)) as lines:
        for number, line in enumerate(lines, start=1):
            size += len(line)
            if size > LIMITS.now.file_bytes and not any_size:
                raise FileError(
                    str(path), expected=f"a {what} of at most {LIMITS.now.file_bytes} characters", found="a larger file"
                )
            yield Line(path, number, line.rstrip("\r\n"))


def exported_lines(path: Path, *, what: str) -> Iterator[Line]:
    """The lines that say something, without blanks at their ends; comments of PRISM's, which begin with a blank #, left
    out.

    A comment that says what PRISM has exported is believed: rates of continuous time may look like probabilities.
    """
    with closing(numbered_lines(path, what=what, any_size=True)) as lines:
        for line in lines:
            text = line.text.strip()
            kind = _KIND.match(text)
            if kind and kind[1].upper() != "DTMC":
                raise line.refusal("a Markov chain, DTMC", kind[1][:40])
            if text and not text.startswith("# ") and text != "#":
                yield line if text == line.text else replace(line, text=text)


def is_index(text: str) -> bool:
    """Whether a cell is the number of a state, of a label, or of how many there are."""
    text = text.strip()
    return text.isascii() and text.isdigit() and len(text) <= 9
