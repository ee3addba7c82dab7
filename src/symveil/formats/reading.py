"""Reading files: plain, gzipped or packed by xz, within bounds, and every failure said in one way.

A spreadsheet that opens a CSV file takes a cell that begins with `=`, `+`, `-` or `@` for a formula, which may read
other cells and send them elsewhere. Ids, kept columns and names of persons come from others. Where that is asked for,
such cells, and those that begin with an apostrophe already, get an apostrophe in front (as OWASP advises against *CSV
injection*), and all cells are quoted. So a cell that begins with one has exactly one too many.
"""

from __future__ import annotations

import csv
import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast

from symveil.errors import FileError, ModelError, ParameterError, either, reason
from symveil.formats.limits import LIMITS
from symveil.storage.files import open_regular

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
_MEBIBYTE = 1024 * 1024
_PACKED = re.compile(r"\.(gz|xz)$", re.IGNORECASE)
LONGEST_CELL = 131_072

LONGEST = 1_000_000
"""The longest sequence that is believed to be one."""
MOST_TIMES = 200
"""How many times its size a gzipped file may unpack to: logs reach fifty, a bomb a thousand."""


def suffix(path: Path) -> str:
    """What kind of file its name promises, whether gzipped or not.

    >>> suffix(Path("trips.CSV.gz")), suffix(Path("roads.json")), suffix(Path("roads"))
    ('.csv', '.json', '')
    """
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def stem(path: Path) -> str:
    """The name of a file without its ending, and without that of its packing.

    >>> stem(Path("die.tra")), stem(Path("Die.TRA.gz")), stem(Path("die.small.tra.xz"))
    ('die', 'Die', 'die.small')
    """
    return _PACKED.sub("", path.name).rpartition(".")[0]


def beside(path: Path, ending: str) -> Path | None:
    """The file of the same name with another ending, where there is one: packed like this one, plain, or packed."""
    own = _PACKED.search(path.name)
    packings = dict.fromkeys((own[0] if own else "", "", ".gz", ".xz"))
    candidates = (path.with_name(f"{stem(path)}{ending}{packing}") for packing in packings)
    return next((candidate for candidate in candidates if candidate.exists()), None)


def wrong_suffix(path: Path, known: Sequence[str]) -> FileError:
    """The refusal of a file whose name promises a kind that is not read or written here."""
    return FileError(
        str(path), expected=f"a file name ending in {either(known)}, perhaps with .gz", found=repr(path.name)
    )


def without_extra(path: Path, error: ModuleNotFoundError, extra: str) -> FileError:
    """The refusal of a file whose format is read by a package that is not installed."""
    install = f"{error.name} to be installed (the extra symveil[{extra}], see docs/install.md), which reads this format"
    return FileError(str(path), expected=install, found="none")


class Pieces(io.RawIOBase):
    """Bytes that come in pieces as an open file; what making a piece raises, reading raises.

    >>> io.BufferedReader(Pieces(iter([b"ab", b"", b"c"]))).read()
    b'abc'
    """

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        """The next bytes."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size


def opened_pieces(pieces: Iterator[bytes]) -> BinaryIO:
    """Bytes that come in pieces as a file that can be read and looked ahead in."""
    return cast("BinaryIO", io.BufferedReader(Pieces(pieces)))


def pieces_of(file: BinaryIO) -> Iterator[bytes]:
    """What is left of an open file, a piece at a time."""
    return iter(lambda: file.read(LIMITS.now.piece_bytes), b"")


def _xz_pieces(packed: BinaryIO) -> Iterator[bytes]:
    """What an xz file unpacks to, one stream after the other."""

    def new_stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=LIMITS.now.xz_memory)

    stream = new_stream()
    while True:
        if stream.eof:
            rest = stream.unused_data.lstrip(b"\0") or packed.read(LIMITS.now.piece_bytes).lstrip(b"\0")
            if not rest:
                return
            stream = new_stream()
        else:
            rest = packed.read(LIMITS.now.piece_bytes) if stream.needs_input else b""
            if stream.needs_input and not rest:
                raise EOFError
        if piece := stream.decompress(rest, LIMITS.now.piece_bytes):
            yield piece


def _unpacked(path: Path, packed: BinaryIO, most_times: int | None, *, is_xz: bool) -> Iterator[bytes]:
    """What a packed file unpacks to, refused once it is a bomb: in bounded memory, and before it fills a disk."""
    size, done = path.stat().st_size, 0
    unzipped = gzip.GzipFile(fileobj=packed)
    for piece in _xz_pieces(packed) if is_xz else iter(lambda: unzipped.read1(LIMITS.now.piece_bytes), b""):
        done += len(piece)
        if most_times is not None and done > max(LIMITS.now.suspicious_bytes, most_times * size):
            raise FileError(
                str(path),
                expected=f"a gzip file that unpacks to at most {most_times} times its size",
                found="more; raise `gzip_ratio` if it is no bomb",
            )
        yield piece


@contextmanager
def open_bytes(
    path: Path, *, what: str, most_times: int | None = None, opened: Callable[[BinaryIO], None] | None = None
) -> Iterator[BinaryIO]:
    """The bytes of a regular file, unpacked where it is gzipped; what goes wrong inside the block is a FileError.

    `most_times` its size is what a gzipped file may unpack to, where nothing else bounds it; `opened` is
    called with the file itself, whose position says how far reading has come.
    """
    expected = f"a readable {what}"
    try:
        file = open_regular(path)
    except OSError as error:
        raise FileError(str(path), expected=expected, found=reason(error, otherwise="none")) from None
    except ValueError:  # a path that the system cannot spell
        raise FileError(repr(str(path)), expected=expected, found="an impossible file name") from None
    with file:
        if opened is not None:
            opened(file)
        is_xz = False
        try:
            begin = file.peek(len(_XZ))
            is_xz = begin.startswith(_XZ)
            packed = is_xz or begin.startswith(_GZIP)
            yield opened_pieces(_unpacked(path, file, most_times, is_xz=is_xz)) if packed else file
        except FileError:
            raise
        except UnicodeDecodeError:
            raise FileError(str(path), expected=f"a {what} in UTF-8", found="other bytes") from None
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError):
            kind = "gzip or xz" if is_xz else "gzip"
            raise FileError(str(path), expected=expected, found=f"a damaged {kind} file") from None
        except OSError as error:
            raise FileError(str(path), expected=expected, found=reason(error, otherwise="an unreadable file")) from None


def share_read(path: Path, opened: BinaryIO | None) -> float:
    """How much of an open file has been read, from 0 to 1."""
    size = path.stat().st_size
    return min(1.0, opened.tell() / size) if opened is not None and not opened.closed and size else 0.0


def read_bytes(path: Path, *, what: str, at_most: int) -> bytes:
    """The whole content, unpacked; refused when it has more than `at_most` bytes."""
    with open_bytes(path, what=what) as file:
        content = file.read(at_most + 1)
    if len(content) > at_most:
        raise FileError(str(path), expected=f"a {what} of at most {at_most // _MEBIBYTE} MiB", found="a larger file")
    return content


def read_text(path: Path, *, what: str, at_most: int) -> str:
    """The whole content as UTF-8 text, a byte order mark left out."""
    content = read_bytes(path, what=what, at_most=at_most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        around = content[max(0, error.start - 80) : error.start + 80]
        raise FileError(
            str(path),
            expected=f"a {what} in UTF-8",
            found=f"another byte at offset {error.start}{other_encoding(content[:4], around)}",
        ) from None


def other_encoding(head: bytes, wrong: bytes) -> str:
    """What bytes that are no UTF-8 look like, as advice; nothing where they look like no text.

    `head`, the first four bytes of the file, holds marks of byte orders. Nothing of `wrong` is shown.

    >>> other_encoding(b"\\xff\\xfei\\x00", b"i"), other_encoding(b"id,s", b"caf\\xe9,a")
    ('; it looks like UTF-16: save it as UTF-8', '; it looks like Windows-1252 or Latin-1: save it as UTF-8')
    >>> other_encoding(b"\\x89PNG", b"\\x89PNG\\r\\n\\x1a")
    ''
    """
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        name = "UTF-32"
    elif head.startswith((b"\xff\xfe", b"\xfe\xff")):
        name = "UTF-16"
    elif any(byte < 0x20 and byte not in b"\t\r\n" for byte in wrong) or b"\xff" in wrong:
        return ""
    elif any(0x80 <= byte <= 0x9F for byte in wrong):
        name = "Windows-1252"
    else:
        name = "Windows-1252 or Latin-1"
    return f"; it looks like {name}: save it as UTF-8"


def read_lines(
    path: Path, *, what: str, most_times: int | None = MOST_TIMES, opened: Callable[[BinaryIO], None] | None = None
) -> Generator[str]:
    """The lines of a UTF-8 file with their ends, one at a time; a line without an end is refused in time."""
    with open_bytes(path, what=what, most_times=most_times, opened=opened) as file:
        try:
            yield from lines_of(file, path)
        except UnicodeDecodeError:
            raise not_utf8(path, what=what, most_times=most_times) from None


def lines_of(file: BinaryIO, path: Path, *, encoding: str = "utf-8-sig", before: int = 0) -> Generator[str]:
    """The lines of an open file; `before` of them have been read already.

    Text is decoded in large pieces: bytes that are no UTF-8 are kept until it is their line's turn, so that what is
    wrong with an earlier line is reported first, wherever pieces end.
    """
    with io.TextIOWrapper(file, encoding=encoding, errors="surrogateescape", newline="") as text:
        number = before
        while line := text.readline(LIMITS.now.line_characters):
            number += 1
            if not line.isascii():
                line.encode(errors="surrogateescape").decode()
            if len(line) == LIMITS.now.line_characters:
                raise FileError(
                    str(path),
                    expected=f"lines of at most {LIMITS.now.line_characters} characters",
                    found=f"a longer one, line {number}",
                )
            yield line


def not_utf8(path: Path, *, what: str, most_times: int | None) -> FileError:
    """The refusal of a file with other bytes than UTF-8, which names their line: text is decoded in large pieces."""
    with open_bytes(path, what=what, most_times=most_times) as file:
        number, head = 0, b""
        while line := file.readline(LIMITS.now.line_characters):
            number += 1
            head = head or line[:4]
            try:
                line.decode()
            except UnicodeDecodeError:
                actual = f"other bytes{other_encoding(head, line)}"
                return FileError(f"{path}: line {number}", expected=f"a {what} in UTF-8", found=actual)
    return FileError(str(path), expected=f"a {what} in UTF-8", found="other bytes")


def path_of(value: object, *, name: str = "path") -> Path:
    """A path that was given as text or as a path; a table in its place is sent where tables are taken.

    >>> path_of("trips.csv").name
    'trips.csv'
    """
    if isinstance(value, str | os.PathLike):
        return Path(value)
    table = " (privatize, count, learn and estimate take tables; a table becomes a file by its to_csv or write_csv)"
    has_columns = hasattr(value, "columns") or hasattr(value, "column_names")
    raise ParameterError(
        name, expected="the name of a file", found=f"a {type(value).__name__}{table if has_columns else ''}"
    )


def csv_rows(
    path: Path,
    *,
    what: str,
    most_times: int | None = MOST_TIMES,
    opened: Callable[[BinaryIO], None] | None = None,
    longest_cell: int = LONGEST_CELL,
    delimiter: str | None = None,
) -> Generator[tuple[int, list[str]]]:
    """The rows of a CSV file, header first, each with the number of its line; blank lines are left out.

    Cells are separated by commas, in a `.tsv` file by tabs, or by `delimiter`. A row with another number of cells
    than the header is refused. Messages never show a cell: it may be a secret.
    """
    empty = True
    with closing(read_lines(path, what=what, most_times=most_times, opened=opened)) as lines:
        for row in rows_of(lines, delimiter or csv_delimiter(path), path, longest_cell=longest_cell):
            empty = False
            yield row
    if empty:
        raise FileError(str(path), expected=f"a {what} with a header line", found="an empty file")


def rows_of(
    lines: Iterable[str],
    delimiter: str,
    path: Path,
    *,
    longest_cell: int = LONGEST_CELL,
    width: int = 0,
    before: int = 0,
) -> Generator[tuple[int, list[str]]]:
    """The rows in these lines of a CSV file, after `before` others; `width` is the header's, if it is among those.

    In a table of one column a blank line between rows may be an empty cell or nothing at all: it is refused.
    """
    line, blank = before + 1, 0
    csv.field_size_limit(longest_cell)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                width = width or len(row)
                if len(row) != width:
                    raise FileError(
                        f"{path}: line {line}", expected=f"{width} cells, as in the header", found=f"{len(row)}"
                    )
                if blank and width == 1:
                    raise FileError(
                        f"{path}: line {blank}",
                        expected='a cell in every line of a single column, "" where it is empty',
                        found="a blank line",
                    )
                yield line, row
            elif width:
                blank = blank or line
            line = before + reader.line_num + 1
    except csv.Error as error:  # its complaints are about form, and quote nothing but delimiters
        raise FileError(f"{path}: line {line}", expected="comma-separated values", found=str(error)) from None


def csv_delimiter(path: Path) -> str:
    """What separates cells: commas, in a `.tsv` file tabs."""
    return "\t" if suffix(path) == ".tsv" else ","


def check_sizes(**sizes: int) -> None:
    """Refuse bounds that no file could keep."""
    for name, size in sizes.items():
        if size < 1:
            raise ParameterError(name, expected="a whole number, 1 or more", found=size)


_ROW = re.compile(r"transitions\[(\d+)\]")


@contextmanager
def placed(
    file: object,
    rows: Callable[[int], str] | None = None,
    *,
    wrong_sum: Callable[[], int | None] = lambda: None,
    joint: str = ": ",
) -> Iterator[None]:
    """Inside the block a model is built; an error says where in the file something is wrong, not where in the model.

    `file` is what messages call the file, and `rows` the row of a transition by its number; `wrong_sum` is the last row
    of a state whose probabilities do not sum to 1.

    >>> with placed("roads.json: $", joint="."):
    ...     raise ModelError("initial", expected="a state", found="none")
    Traceback (most recent call last):
    symveil.errors.ModelError: roads.json: $.initial: expected a state, found none
    >>> with placed("t.csv", ["t.csv: line 2", "t.csv: line 3"].__getitem__):
    ...     raise ModelError("transitions[1][2]", expected="a probability", found="none")
    Traceback (most recent call last):
    symveil.errors.ModelError: t.csv: line 3: expected a probability, found none
    """
    try:
        yield
    except ModelError as error:
        row = _ROW.match(error.where)
        number = int(row[1]) if row else wrong_sum() if error.where == "transitions" else None
        where = error.where
        if rows is not None and number is not None:
            where = rows(number)
        elif not where.startswith(str(file)):
            where = f"{file}{joint}{where}"
        error.args = (where + str(error).removeprefix(error.where),)
        error.where = where
        raise


Apostrophes = Literal["none", "written", "read"]
"""What happens to such cells: nothing, one is put in front when they are written, or it is taken away when read."""

# also the wide forms of East Asian text, which some spreadsheets take for the others
SIGNS = "=+-@\t\r\n＝＋－＠'"


def guarded(text: str) -> str:
    """A cell that is text for every spreadsheet.

    >>> guarded("=1+1"), guarded("a=1"), guarded("'=1"), guarded("")
    ("'=1+1", 'a=1', "''=1", '')
    """
    return f"'{text}" if text.startswith(tuple(SIGNS)) else text


def unguarded(text: str) -> str:
    """The cell that was guarded.

    >>> [unguarded(guarded(text)) for text in ("=1+1", "a", "'a", "''")]
    ['=1+1', 'a', "'a", "''"]
    """
    return text.removeprefix("'")
