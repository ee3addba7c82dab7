"""Draw synthetic words from a law that was learned privately: for nothing more."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from symveil.errors import FileError, ParameterError, either
from symveil.files.atomic import write_files
from symveil.io.models.law_json import read_law
from symveil.io.sequences.artificial_times import ArtificialTimes
from symveil.io.sequences.columns import PROCESS_MINING, LongColumns
from symveil.io.sequences.records import ID, SYMBOLS
from symveil.io.sequences.xes_writer import XesWriter
from symveil.languages.graph import Model
from symveil.randomness import BitSource, system_bits
from symveil.workflows.declared_rules import declared_rules, require_legal_words
from symveil.workflows.synthetic_manifest import synthetic_manifest

_NOT_IN_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


@dataclass(frozen=True, kw_only=True)
class Synthesized:
    """Synthetic words in a file.

    Parameters
    ----------
    out
        The file.
    released
        How many words it has.
    """

    out: Path
    released: int

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {"out": str(self.out), "released": self.released}


def synthesize(
    model: str | Path,
    out: str | Path,
    *,
    count: int,
    no_repeats: bool = False,
    constraint: Model | str | Path | None = None,
    separator: str = " ",
    bits: BitSource | None = None,
) -> Synthesized:
    """Draw words from a model that was learned privately: every one is legal, and none costs anything.

    Parameters
    ----------
    model
        The model file that `learn` wrote.
    out
        The file to write: .csv with the columns id and sequence, .jsonl with lists, or .xes, a log for process mining
        with artificial times.
    count
        How many words: a number that is declared, not counted in secret data.
    no_repeats
        Whether words are drawn given that they have every symbol at most once.
    constraint
        A model (or its file): words are drawn given that they are words of it.
    separator
        What stands between symbols in a CSV file.
    bits
        Where random bits come from; by default the operating system's.

    >>> import tempfile
    >>> from symveil.workflows.learn_privately import learn
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, model = Path(folder, "trips.csv"), Path(folder, "model.json")
    ...     _ = source.write_text("id,links\\n1,a b\\n2,b a\\n")
    ...     _ = learn(source, model, epsilon=1, lengths=(2, 2), alphabet="ab")
    ...     _ = synthesize(model, Path(folder, "synthetic.csv"), count=3)
    ...     len(Path(folder, "synthetic.csv").read_text().splitlines())
    4
    """
    target = Path(out)
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ParameterError("count", expected="a whole number, 1 or more", found=count)
    if target.suffix.lower() not in SYNTHETIC_SUFFIXES:
        raise ParameterError(
            "out", expected=f"a file name ending in {either(SYNTHETIC_SUFFIXES)}", found=repr(target.name)
        )
    source = Path(model)
    if target.exists() and source.exists() and target.samefile(source):
        raise FileError(str(target), expected="another file than the model", found="the same")
    law = read_law(source)
    rules = declared_rules(law.symbols, no_repeats=no_repeats, constraint=constraint)
    require_legal_words(law.support, law.rules.and_those(rules), law.symbols)
    if target.suffix.lower() == ".csv" and any(separator in symbol for symbol in law.symbols):
        expected = 'text that occurs in no symbol, such as "|", or a file .jsonl, which needs none'
        raise ParameterError("separator", expected=expected, found=repr(separator))
    if target.suffix.lower() == ".xes" and any(_NOT_IN_XML.search(symbol) for symbol in law.symbols):
        raise ParameterError("out", expected="symbols that XML can hold, or .jsonl", found="control characters in one")
    codes, lengths = law.under(rules).draw(count, system_bits() if bits is None else bits)
    names = np.array(law.symbols, dtype=object)[codes]
    words = [word.tolist() for word in np.split(names, np.cumsum(lengths)[:-1])]
    content = _WRITERS[target.suffix.lower()](words, separator)
    told = synthetic_manifest(source, target, content, count=count, separator=separator)
    write_files({target: content, **told})
    return Synthesized(out=target, released=count)


def _csv(words: list[list[str]], separator: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "sequence"])
    writer.writerows([number, separator.join(word)] for number, word in enumerate(words, start=1))
    return text.getvalue().encode()


def _json_lines(words: list[list[str]], separator: str) -> bytes:
    del separator
    rows = ({"id": number, "sequence": word} for number, word in enumerate(words, start=1))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _xes(words: list[list[str]], separator: str) -> bytes:
    """A log as tools for process mining read it: numbered traces, artificial times."""
    del separator
    out = io.BytesIO()
    columns = LongColumns(
        person=None, keep=(), case=PROCESS_MINING["case"], symbol=PROCESS_MINING["symbol"], order=None
    )
    writer = XesWriter(out, columns, {}, "string", ArtificialTimes.read(longest=max(map(len, words))))
    names = pa.array([str(number) for number in range(1, len(words) + 1)])
    writer.write(pa.RecordBatch.from_arrays([names, pa.array(words, pa.list_(pa.string()))], names=[ID, SYMBOLS]))
    writer.close()
    return out.getvalue()


_WRITERS: dict[str, Callable[[list[list[str]], str], bytes]] = {".csv": _csv, ".jsonl": _json_lines, ".xes": _xes}
SYNTHETIC_SUFFIXES = tuple(_WRITERS)
"""What a file of synthetic words may be."""
