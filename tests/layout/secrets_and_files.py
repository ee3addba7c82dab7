"""Secret words that agree in everything public, and files of every kind that hold them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ALPHABET = ["a", "bb", "a rather long name of a symbol", 'q"uo,te', "ü" * 20, "7"]
NUMBERS = ["1", "-22", "333333333333333", "4"]
COUNT = 150

Word = list[str]


def lengths_of(count: int = COUNT) -> list[int]:
    """The public lengths of the words, an empty one first."""
    return [0] + [number * 7 % 13 for number in range(1, count)]


def same_lengths(alphabet: list[str], *, empty: bool = True) -> dict[str, list[Word]]:
    """Words that differ in their symbols only: what is secret under Hamming adjacency."""
    lengths = [length if empty else length + 1 for length in lengths_of()]
    random = np.random.default_rng(1)
    mixed = [[alphabet[code] for code in random.integers(0, len(alphabet), length)] for length in lengths]
    longest = max(alphabet, key=lambda symbol: len(symbol.encode()))
    one_changed = [[alphabet[0]] * length for length in lengths]
    one_changed[3] = [longest] * lengths[3]
    return {
        "short symbols": [[alphabet[0]] * length for length in lengths],
        "one record of long symbols": one_changed,
        "mixed symbols": mixed,
        "long symbols first": [[longest if n < 50 else alphabet[0]] * length for n, length in enumerate(lengths)],
    }


def any_lengths(alphabet: list[str]) -> dict[str, list[Word]]:
    """Words that differ in their lengths too: what is secret under Levenshtein adjacency."""
    return {
        "nothing": [[] for _ in range(COUNT)],
        "one symbol in the whole file": [[]] * (COUNT - 1) + [[alphabet[1]]],
        "one more symbol": [[alphabet[0]]] * 5 + [[alphabet[0]] * 2] + [[alphabet[0]]] * (COUNT - 6),
        "long words first": [[alphabet[1]] * (60 if n < 20 else 1) for n in range(COUNT)],
        "mixed symbols": same_lengths(alphabet)["mixed symbols"],
    }


@dataclass(frozen=True)
class Kind:
    """A format in a form, and the options that read it."""

    name: str
    suffix: str
    options: dict[str, str]
    long: bool = False
    lists: bool = False
    types: dict[str, pa.DataType] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    ids: bool = True
    numbers: bool = False

    @property
    def alphabet(self) -> list[str]:
        return NUMBERS if self.numbers else ALPHABET

    def arguments(self) -> list[str]:
        """The options for the command line."""
        named = [text for name, value in self.options.items() for text in (f"--{name}", value)]
        return named + [text for name in self.keep for text in ("--keep", name)]

    def write(self, path: Path, words: list[Word]) -> Path:
        """A file with these words; everything else in it is the same for all words."""
        content = self._xes(words) if self.suffix == ".xes" else self._table(words)
        path.write_bytes(gzip.compress(content, mtime=0) if path.name.endswith(".gz") else content)
        return path

    def _rows(self, words: list[Word]) -> list[dict[str, Any]]:
        if self.long:
            return [
                {"case": f"c{number}", "at": at, "event": symbol, "who": f"p{number % 7}"}
                for number, word in enumerate(words) for at, symbol in enumerate(word)
            ]  # fmt: skip
        shown: Any = (lambda word: [int(s) for s in word] if self.numbers else word) if self.lists else "|".join
        return [
            {**({"trip_id": f"t{number}"} if self.ids else {}), "trip": shown(word), "who": f"p{number % 7}"}
            for number, word in enumerate(words)
        ]

    def _table(self, words: list[Word]) -> bytes:
        rows = self._rows(words)
        if self.suffix == ".jsonl":
            return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        if self.suffix == ".parquet":
            sink = io.BytesIO()
            columns = {
                name: pa.array([row[name] for row in rows], type=self.types.get(name))
                for name in (rows[0] if rows else {})
            }
            # a row group for each 50: small ones let the reader's batches follow the words
            pq.write_table(pa.table(columns), sink, row_group_size=50)
            return sink.getvalue()
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0], lineterminator="\n", delimiter="\t" if self.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()

    @staticmethod
    def _xes(words: list[Word]) -> bytes:
        def attribute(key: str, value: str) -> str:
            return f"<string key={quoteattr(key)} value={quoteattr(value, {chr(10): '&#10;'})}/>"

        traces = [
            f"<trace>{attribute('concept:name', f't{number}')}{attribute('who', f'p{number % 7}')}"
            + "".join(f"<event>{attribute('concept:name', symbol)}</event>" for symbol in word)
            + "</trace>"
            for number, word in enumerate(words)
        ]
        return "\n".join(["<log>", *traces, "</log>"]).encode()


TEXT = {"sequence": "trip", "separator": "|"}
LIST = {"sequence": "trip"}
LONG = {"case": "case", "order": "at", "symbol": "event"}
DICTIONARY = pa.dictionary(pa.int32(), pa.string())
LISTS = pa.list_(pa.string())

KINDS = [
    Kind("CSV of text", ".csv", {**TEXT, "id": "trip_id"}, keep=("who",)),
    Kind("CSV of text without ids", ".csv", TEXT, ids=False),
    Kind("TSV of text", ".tsv", {**TEXT, "id": "trip_id"}),
    Kind("CSV of events", ".csv", LONG, long=True, keep=("who",)),
    Kind("JSON Lines of text", ".jsonl", {**TEXT, "id": "trip_id"}, keep=("who",)),
    Kind("JSON Lines of lists", ".jsonl", {**LIST, "id": "trip_id"}, lists=True),
    Kind("JSON Lines of numbers", ".jsonl", {**LIST, "id": "trip_id"}, lists=True, numbers=True),
    Kind("JSON Lines of events", ".jsonl", LONG, long=True),
    Kind("Parquet of text", ".parquet", {**TEXT, "id": "trip_id"}, keep=("who",), types={"who": DICTIONARY}),
    Kind("Parquet of lists", ".parquet", {**LIST, "id": "trip_id"}, lists=True, keep=("who",), types={"trip": LISTS}),
    Kind("Parquet of lists without ids", ".parquet", LIST, lists=True, ids=False, types={"trip": LISTS}),
    Kind(
        "Parquet of dictionaries", ".parquet", {**LIST, "id": "trip_id"}, lists=True, keep=("who",),
        types={"trip": pa.list_(DICTIONARY), "trip_id": DICTIONARY, "who": DICTIONARY},
    ),
    Kind("Parquet of text in a dictionary", ".parquet", {**TEXT, "id": "trip_id"}, types={"trip": DICTIONARY}),
    Kind("Parquet of numbers", ".parquet", {**LIST, "id": "trip_id"}, lists=True, numbers=True,
         types={"trip": pa.large_list(pa.int64())}),
    Kind("Parquet of events", ".parquet", LONG, long=True, keep=("who",), types={"event": DICTIONARY}),
    Kind("XES", ".xes", {}, keep=("case:who",)),
]  # fmt: skip
