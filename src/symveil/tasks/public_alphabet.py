"""The symbols of a public log: what `--alphabet` asks for, where nobody has written it down."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from symveil.errors import FileError
from symveil.formats.reading import MOST_TIMES, path_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.records import LONGEST
from symveil.formats.sequences.word_lists import read_sequences
from symveil.models.alphabet import Alphabet
from symveil.tasks.parameters import FileReading, check_names, shows_fields

_MOST_SYMBOLS = 1_000_000

ONLY_PUBLIC = (
    "use it as an alphabet only if the log is public: in a private one a symbol may occur because of one person alone, "
    "and a list of what occurs tells that, with no epsilon"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicAlphabet:
    """The symbols that a log has, and how many sequences were read for it."""

    symbols: tuple[str, ...]
    sequences: int

    def alphabet(self) -> Alphabet:
        """For `alphabet=`."""
        return Alphabet(self.symbols)

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {"symbols": list(self.symbols), "size": len(self.symbols), "sequences": self.sequences}


@shows_fields(ColumnOptions, types=FileReading, first=())
def alphabet_of(
    path: str | Path, *, longest: int = LONGEST, gzip_ratio: int = MOST_TIMES, **reading: Unpack[FileReading]
) -> PublicAlphabet:
    """The symbols that occur in the sequences of a public file, sorted.

    It is not private: which symbols occur is a fact about the file. Of a private file take the alphabet from somewhere
    else, such as the forms that people fill in, or `symveil count` with such a list.

    Parameters
    ----------
    path
        CSV, JSON Lines, Parquet or XES, each also gzipped.
    sequence, separator, identifier
        Wide form, a sequence in each row: its column, what separates symbols in text, the column of ids.
    case, order, symbol
        Long form, an event in each row: the columns of the case, of the order and of the symbols.
    delimiter, date_format
        What separates the cells of a CSV file, and how the dates of the order column are written.
    longest, gzip_ratio
        Refuse longer sequences, and gzip files that unpack to more times their size.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Path(folder, "log.csv")
    ...     _ = log.write_text("who,what\\nann,pay\\nann,look\\nben,look\\n")
    ...     alphabet_of(log, case="who", symbol="what").symbols
    ('look', 'pay')
    """
    check_names("alphabet_of", FileReading, dict(reading))
    seen: set[str] = set()
    count = 0
    rows = read_sequences(path_of(path), longest=longest, gzip_ratio=gzip_ratio, **reading)
    with closing(rows) as sequences:
        for each in sequences:
            count += 1
            seen.update(each)
            if len(seen) > _MOST_SYMBOLS:
                raise FileError(
                    str(path),
                    expected=f"at most {_MOST_SYMBOLS} different symbols",
                    found="more; is it the column of ids?",
                )
    return PublicAlphabet(symbols=tuple(sorted(seen)), sequences=count)
