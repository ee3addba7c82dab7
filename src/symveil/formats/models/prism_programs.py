"""What a PRISM program says about who sees what: declarations `observable` and `secret`, as PRISM-Leak has them.

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
from symveil.formats.reading import read_text

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
    found: dict[str, str] = {}
    for word, name in _DECLARED.findall(_COMMENT.sub("", text)):
        if found.setdefault(name, word) != word:
            raise FileError(where, expected=f"variable {name} to be observable or secret", found="both")
    seen, hidden = ([name for name, word in found.items() if word == kind] for kind in ("observable", "secret"))
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
