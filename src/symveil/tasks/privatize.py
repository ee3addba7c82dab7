"""Privatise many words of any mixture of lengths: in a list, in a column, or in a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil import __version__
from symveil.errors import ParameterError, WordError
from symveil.formats.models.model_files import load_word_model
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import (
    ATTRS,
    Table,
    dropped_index,
    is_frame,
    is_series,
    like_frame,
    like_series,
    opened_frame,
    without_rows,
    words_of_series,
)
from symveil.formats.sequences.records import ROW_NUMBER, SYMBOLS, list_lengths
from symveil.formats.sequences.sequence_file import SequenceFile
from symveil.languages.graph import NOT_ACCEPTED, Model
from symveil.languages.language import Language, refusal
from symveil.mechanisms.by_length import calibrated, needs_lengths
from symveil.mechanisms.choice import MechanismChoice, requested_choice
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Alphabet, Codes, Symbol, Word, decode, encode_many, reading_advice, split_words
from symveil.parameters import described, shows_fields
from symveil.randomness import BitSource, new_release_key
from symveil.release.batch import ReleasePlan, Written, check_batch
from symveil.release.local import release_batches
from symveil.release.spec import LocalSpec
from symveil.tasks.doubts import dropped_ids, large_loss, warn
from symveil.tasks.parameters import TableParameters

Frame = TypeVar("Frame", bound=Table)


@overload
def privatize(
    words: Frame,
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    choice: MechanismChoice | None = None,
    columns: ColumnOptions | None = None,
    thin: bool = False,
    bits: BitSource | None = None,
    **named: Unpack[TableParameters],
) -> Frame: ...


@overload
def privatize(
    words: Iterable[Word],
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    choice: MechanismChoice | None = None,
    columns: ColumnOptions | None = None,
    thin: bool = False,
    bits: BitSource | None = None,
    **named: Unpack[TableParameters],
) -> list[Word]: ...


@shows_fields(MechanismChoice, ColumnOptions, types=TableParameters, first=("alphabet", "model", "epsilon"))
def privatize(
    words: Any,
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | str | Path | None = None,
    choice: MechanismChoice | None = None,
    columns: ColumnOptions | None = None,
    thin: bool = False,
    bits: BitSource | None = None,
    **named: Unpack[TableParameters],
) -> Any:
    """A private word for each word, in the same order; of a table a table, of a column a column.

    With metric "hamming" each word's length is public and kept. With "levenshtein" it is secret, and the
    released word has another one; `max_length` is then a public bound on the lengths (truncated-levenshtein
    needs it, edit does not).

    Parameters
    ----------
    words
        The words, of any mixture of lengths: in a list, in a Series of pandas or polars or an array of Arrow (a text is
        the word of its characters), or in a DataFrame or an Arrow table, which is read as `privatize_file` reads a
        file: the result has the columns of ids and sequences, and those in `keep`; other columns do not pass, nor does
        an index, and a warning names ids that were dropped. What comes back as an object of pandas has the promise in
        `.attrs["symveil"]`: a manifest, of which `guarantee` has the loss at every distance and `passes_unprotected`
        what anyone can read as it was.
    alphabet, model
        One of them: the symbols, or the model (or its file) whose words are released.
    choice
        Which mechanism with which parameters; or its fields by name: epsilon, mechanism, adjacency, calibration, prior,
        utility, offset, public_start, metric, max_length, cutoff, cost, cap, balanced, step, costs, beyond.
    columns
        How a table is read; or by name: sequence, separator, identifier, case, order, symbol, date_format, keep.
    thin
        Release although more than half of the positions of a typical word of the model have no alternative within b.
    bits
        Where random bits come from; by default the system.

    >>> import symveil as sv
    >>> private = sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=2)
    >>> [len(word) for word in private]
    [2, 5, 0]
    >>> len(sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=6, metric="levenshtein"))    # of secret lengths
    3
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> private = sv.privatize(["abab", "ba"] * 20, model=chain, epsilon=1, adjacency=2)
    >>> all("bb" not in word for word in private)
    True

    A table with a sequence in each row, and with an event in each row:

    >>> import pyarrow as pa
    >>> trips = pa.table({"trip_id": [1, 2], "links": ["a b a", "b"], "line": ["7", "8"]})
    >>> private = sv.privatize(trips, alphabet="ab", epsilon=2, keep=["line"])
    >>> private.column_names, private["line"].to_pylist()
    (['trip_id', 'links', 'line'], ['7', '8'])
    >>> log = pa.table({"visit": [17, 17, 18], "when": [2, 1, 1], "what": ["b", "a", "c"]})
    >>> private = sv.privatize(log, alphabet="abc", epsilon=2, case="visit", order="when", symbol="what")
    >>> private["visit"].to_pylist(), private["when"].to_pylist()
    ([17, 17, 18], [1, 2, 1])
    """
    loose: dict[str, Any] = dict(named)
    if "keep" in loose:
        loose["keep"] = tuple(loose["keep"])
    choice = requested_choice("privatize", TableParameters, loose, given=choice, not_private=True)
    reading = described(ColumnOptions, columns, loose, name="columns")
    model_file = Path(model) if isinstance(model, str | Path) else None
    loaded = load_word_model(model_file) if model_file is not None else cast("Model | None", model)
    release = LocalSpec.from_choice(choice, alphabet=alphabet, model=loaded)
    doubts = large_loss(choice.epsilon)
    if is_frame(words):
        private, counted, file = _private_table(words, reading, release.mechanism, bits)
        facts = {"file": str(file.file), "format": "table", "form": file.form, "columns": file.names()}
        doubts += _dropped(words, file, reading)
    elif is_series(words):
        facts = {"file": "column", "format": "column", "form": "wide", "columns": {"id": "the index"}}
        if reading.separator is None:
            _refuse_reading(reading)
            released = _private_words(words_of_series(words), choice, release.mechanism, bits)
            lengths = np.array([len(word) for word in released], dtype=np.int64)
        else:
            table = pa.table({_COLUMN: pa.array(words_of_series(words))})
            made, counted, _ = _private_table(table, replace(reading, sequence=_COLUMN), release.mechanism, bits)
            released, lengths = made[_COLUMN].to_pylist(), counted
        private, counted = like_series(words, released), lengths
    else:
        _refuse_reading(reading)
        private = _private_words(words, choice, release.mechanism, bits)
        release.refuse_thin(np.array([len(word) for word in private], dtype=np.int64), thin=thin)
        warn(doubts)
        return private
    release.refuse_thin(counted, thin=thin)
    warn(doubts)
    if hasattr(private, "attrs"):  # of pandas: other libraries have no place for it
        private.attrs[ATTRS] = _promise(release, counted, facts, reading, model_file)
    return private


_NO_LENGTHS = np.empty(0, dtype=np.int64)
_COLUMN = "words"
"""What the only column of a table is called that is made of a column."""


def _promise(
    release: LocalSpec,
    lengths: NDArray[np.int64],
    facts: Mapping[str, object],
    reading: ColumnOptions,
    model_file: Path | None,
) -> dict[str, Any]:
    """The manifest of a table in memory, of public things only: pandas writes it into files that it makes of one."""
    count = len(lengths)
    written = Written(
        digest="", sequences=count, released=count, symbols=int(lengths.sum()), lengths=np.unique(lengths)
    )
    document = release.manifest(
        facts,
        "table",
        written,
        version=__version__,
        record="row" if facts["form"] == "wide" else "case",
        model_file=model_file,
        charged=False,
        further={"kept": list(reading.keep)},
    ).document
    document["digests"]["output"] = None
    plain: dict[str, Any] = json.loads(json.dumps(document))
    return plain


def _dropped(frame: Any, file: SequenceFile, reading: ColumnOptions) -> list[str]:
    """That records lose their names: the columns that look like ids, and an index, by name and without a value."""
    text = dropped_ids(file.dropped_ids())
    index = dropped_index(frame)
    if index is not None and not reading.is_long:
        text.append(f"ids do not pass: {index} is not part of the result; make it a column with reset_index()")
    return text


def _private_table(
    frame: Any, reading: ColumnOptions, mechanism: Mechanism, bits: BitSource | None
) -> tuple[Any, NDArray[np.int64], SequenceFile]:
    """The table's records through the core of files; they are known by their place, whatever their ids.

    With them the length of each released word, and how the table was read.
    """
    if reading.person is not None:
        raise ParameterError("person", expected="privatize_file with it: a table in memory has none", found="a table")
    file = opened_frame(frame, reading)
    if mechanism.metric == "levenshtein":
        file.check_lengths_may_change()
    file.check_symbols(mechanism.alphabet)
    plan = ReleasePlan(
        mechanism=mechanism,
        release_id="table",
        release_key=new_release_key(bits),
        sequence=SYMBOLS,
        row_column=ROW_NUMBER,
        unit=f"{file.file}: {file.unit}",
        advice=reading_advice(mechanism.alphabet, file.separator),
    )
    if needs_lengths(mechanism):
        legal = [check_batch(batch, plan) for batch in file.records()]
        lengths = np.unique(np.concatenate([_NO_LENGTHS, *legal]))
        plan = replace(plan, mechanism=calibrated(mechanism, lengths))
    batches = [private for _, private in release_batches(file.records(), plan)]
    if not batches:
        return without_rows(frame, file.names(), file.written), np.empty(0, dtype=np.int64), file
    lengths = np.concatenate([list_lengths(private.column(SYMBOLS)) for private in batches])
    released = pa.Table.from_batches([file.arranged(private) for private in batches])
    return like_frame(frame, released, file.names()), lengths, file


def _refuse_reading(reading: ColumnOptions) -> None:
    for each in fields(reading):
        if getattr(reading, each.name) != each.default:
            raise ParameterError(each.name, expected="a table with it", found="words")


def _private_words(words: Any, choice: MechanismChoice, built: Mechanism, bits: BitSource | None) -> list[Word]:
    language = built.language
    if not isinstance(words, Iterable):
        raise ParameterError("words", expected="words, a column or a table of them", found=f"a {type(words).__name__}")
    sources = words if isinstance(words, str) else list(words)
    rows = encode_many(sources, language.alphabet, tell_length=choice.metric == "hamming")
    codes = np.concatenate([np.empty(0, dtype=np.int32), *rows])
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    wrong = language.first_refused(codes, lengths)
    if wrong.any():
        number = int(np.argmax(wrong > 0))
        raise _refused(number, rows[number], language)
    built = calibrated(built, np.unique(lengths))
    released, new_lengths = built.release_flat(codes, lengths, bits=bits, checked=True) if rows else (codes, lengths)
    parts = zip(split_words(released, new_lengths), sources, strict=True)
    return [decode(part, language.alphabet, like=source) for part, source in parts]


def _refused(number: int, row: Codes, language: Language) -> WordError:
    """Why a word cannot be released, without telling a symbol, or a length that is secret."""
    which, why = f"word {number + 1}, word", refusal(language, row)
    if why.because == "length":
        return WordError(
            f"{which}: expected at most {language.max_length} symbols, which is the public bound, found more"
        )
    if why.because == "end":
        return WordError(f"{which}: {NOT_ACCEPTED}")
    length = f" of {len(row)}" if language.metric == "hamming" else ""
    return WordError(
        f"{which}: expected a word that the model can produce, found an impossible symbol at position "
        f"{why.position}{length}",
        position=why.position,
    )
