"""XML by expat, within bounds: nesting, markup without an end, and none of the declarations with which bombs are built.

Nothing outside the file is ever read. Messages show names of XML itself and lines, never the content of a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.parsers import expat

from symveil.errors import FileError, SymveilError
from symveil.formats.limits import LIMITS


class XmlReader:
    """Calls `started` and `ended` for the elements of a file; names are those without a prefix.

    `what` is what messages call the format; `plain_doctype` allows a document type without declarations of its own.

    >>> XmlReader(Path("x.xml")).read([b"<log><trace></log>"])
    Traceback (most recent call last):
    symveil.errors.FileError: x.xml: line 1: expected XML, found mismatched tag
    """

    def __init__(self, file: Path, *, what: str = "XML", plain_doctype: bool = False) -> None:
        self._file, self._what, self._plain_doctype = file, what, plain_doctype
        self.path: list[str] = []
        """The elements that are open, from the outermost on."""
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end
        self._parser.StartDoctypeDeclHandler, self._parser.EntityDeclHandler = self._doctype, self._refuse_entity

    def started(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins, which is the last one of `path`."""

    def ended(self) -> None:
        """The last element of `path` ends."""

    @property
    def line(self) -> int:
        """The line that is being read."""
        return self._parser.CurrentLineNumber

    def refusal(self, expected: str, found: str) -> FileError:
        """What is wrong in the line that is being read."""
        return FileError(f"{self._file}: line {self.line}", expected=expected, found=found)

    def read(self, pieces: Iterable[bytes]) -> None:
        """Everything in the pieces of a file."""
        for _ in self.steps(pieces):
            pass

    def steps(self, pieces: Iterable[bytes]) -> Iterator[None]:
        """The same, with a pause after each piece and at the end; whatever is wrong is a FileError."""
        try:
            fed = 0
            for piece in pieces:
                self._parser.Parse(piece, False)
                fed += len(piece)
                if fed - max(self._parser.CurrentByteIndex, 0) > max(LIMITS.now.token_bytes, len(piece)):
                    # expat would hold all of it
                    raise FileError(str(self._file), expected=self._what, found="a piece of markup without an end")
                yield
            self._parser.Parse(b"", True)
        except SymveilError:
            raise
        except expat.ExpatError as error:  # its message could hold a piece of the file, that of its code does not
            problem = expat.ErrorString(error.code).removesuffix(" found")
            raise FileError(f"{self._file}: line {error.lineno}", expected=self._what, found=problem) from None
        except (LookupError, ValueError):  # what the first line declares is no encoding, or none that expat takes
            raise FileError(str(self._file), expected=f"{self._what} in UTF-8", found="another encoding") from None
        yield

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self.path.append(name)
        if len(self.path) > LIMITS.now.nesting:
            raise self.refusal(f"elements nested at most {LIMITS.now.nesting} deep", "more")
        self.started(name, attributes)

    def _end(self, _tag: str) -> None:
        self.ended()
        self.path.pop()

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_declarations: int) -> None:
        if has_declarations or not self._plain_doctype:
            self._refuse()

    def _refuse_entity(self, *_: object) -> None:
        self._refuse()

    def _refuse(self) -> None:
        own = "declarations of its own" if self._plain_doctype else "a document type and without entities"
        raise self.refusal(f"{self._what} without {own}", "one, which could be a bomb")
