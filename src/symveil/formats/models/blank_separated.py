"""Lines of cells that tabs or blanks separate, as the tools for discrete-event systems write them.

Most of these tools split a line wherever there is white space; DESops splits at tabs, and then a
name may contain blanks, such as `('idle', 'busy')`. A line is read either way, as long as only one
of them makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

from symveil.errors import FileError, ModelError
from symveil.formats.reading import read_lines
from symveil.models.names import shown

_LARGEST_FILE = 64 * 1024 * 1024  # characters
_NUMBER = re.compile(r"[-+.0-9][-+.0-9eE/]*")


def numbered_lines(path: Path, *, what: str) -> Generator[tuple[int, str]]:
    """The lines of a text file without their ends, counted from 1; refused where there is too much of it."""
    room = _LARGEST_FILE
    with closing(read_lines(path, what=what)) as lines:
        for number, line in enumerate(lines, start=1):
            room -= len(line)
            if room < 0:
                raise FileError(
                    str(path), expected=f"a {what} of at most {_LARGEST_FILE} characters", found="a larger file"
                )
            yield number, line.rstrip("\r\n")


def split_cells(line: str, fits: Callable[[list[str]], bool], *, form: str, where: str) -> list[str]:
    """The cells of a line, split at tabs or at blanks, whichever fits; `form` is what messages call the right form.

    >>> def three(cells): return len(cells) == 3
    >>> split_cells("go  idle\\t1", three, form="three cells", where="line 4")
    ['go', 'idle', '1']
    >>> split_cells("go\\tidle and waiting\\t1", three, form="three cells", where="line 4")
    ['go', 'idle and waiting', '1']
    >>> split_cells("go idle", three, form="three cells", where="line 4")
    Traceback (most recent call last):
    symveil.errors.ModelError: line 4: expected three cells, found 'go idle'
    """
    at_blanks = line.split()
    at_tabs = [cell.strip() for cell in line.split("\t") if cell.strip()]
    if "\t" not in line or at_tabs == at_blanks or not fits(at_tabs):
        if fits(at_blanks):
            return at_blanks
        raise ModelError(where, expected=form, found=shown(line.strip()))
    if fits(at_blanks):
        raise ModelError(
            where,
            expected=f"{form}, with tabs between the cells or with blanks",
            found="both, which can be read in two ways",
        )
    return at_tabs


def is_number(cell: str) -> bool:
    """Whether a cell is meant as a number; whether it is one, and which, is for its reader to say.

    >>> is_number("0.5"), is_number("1/3"), is_number("uo")
    (True, True, False)
    """
    return bool(_NUMBER.fullmatch(cell))
