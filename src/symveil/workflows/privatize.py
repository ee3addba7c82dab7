"""Privatise many words of any mixture of lengths: in a list, in a column, or in a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar, Unpack, overload

import numpy as np
import pyarrow as pa

from symveil.engines.batch import ReleasePlan
from symveil.engines.local import release_batches
from symveil.engines.promise import Release
from symveil.errors import ParameterError, WordError
from symveil.io.sequences.columns import ColumnOptions
from symveil.io.sequences.frames import (
    is_frame,
    is_series,
    like_frame,
    like_series,
    opened_frame,
    without_rows,
    words_of_series,
)
from symveil.io.sequences.records import PLACE, SYMBOLS
from symveil.io.symbols import check_separable, reading_advice
from symveil.languages.graph import NOT_ACCEPTED, Model
from symveil.languages.language import Language, refusal
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Alphabet, Symbol
from symveil.models.word import Codes, Word, decode, encode_many, split_words
from symveil.randomness import BitSource, new_release_key, system_bits
from symveil.workflows.parameters import (
    TableParameters,
    check_choice_names,
    described,
    described_choice,
    shows_fields,
)


class Table(Protocol):
    """A DataFrame of pandas or polars, an Arrow table, or a column of one: what hands out Arrow's batches."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's own interchange."""


Frame = TypeVar("Frame", bound=Table)


@overload
def privatize(
    words: Frame,
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | None = None,
    choice: MechanismChoice | None = None,
    columns: ColumnOptions | None = None,
    bits: BitSource | None = None,
    **named: Unpack[TableParameters],
) -> Frame: ...


@overload
def privatize(
    words: Iterable[Word],
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | None = None,
    choice: MechanismChoice | None = None,
    columns: ColumnOptions | None = None,
    bits: BitSource | None = None,
    **named: Unpack[TableParameters],
) -> list[Word]: ...


@shows_fields(MechanismChoice, ColumnOptions, types=TableParameters, first=("alphabet", "model", "epsilon"))
def privatize(
    words: Any,
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    model: Model | None = None,
    choice: MechanismChoice | None = None,
    columns: ColumnOptions | None = None,
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
        an index.
    alphabet, model
        One of them: the symbols, or the model whose words are released.
    choice
        Which mechanism with which parameters; or its fields by name: epsilon, mechanism, adjacency, calibration, prior,
        utility, offset, public_start, metric, max_length, cutoff, cost, cap, balanced, step, costs, beyond.
    columns
        How a table is read; or by name: sequence, separator, identifier, case, order, symbol, date_format, keep.
    bits
        Where random bits come from; by default the system.

    >>> import symveil as sv
    >>> private = sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=2)
    >>> [len(word) for word in private]
    [2, 5, 0]
    >>> sv.privatize(["ab", "abcab", ""], alphabet="abc", epsilon=1000, metric="levenshtein")
    ['ab', 'abcab', '']
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> all("bb" not in word for word in sv.privatize(["abab", "ba"] * 20, model=chain, epsilon=1))
    True

    A table with a sequence in each row, and with an event in each row:

    >>> import pyarrow as pa
    >>> trips = pa.table({"trip_id": [1, 2], "links": ["a b a", "b"], "rider": ["ann", "ben"]})
    >>> private = sv.privatize(trips, alphabet="ab", epsilon=2, keep=["rider"])
    >>> private.column_names, private["rider"].to_pylist()
    (['trip_id', 'links', 'rider'], ['ann', 'ben'])
    >>> log = pa.table({"who": ["x", "x", "y"], "when": [2, 1, 1], "what": ["b", "a", "c"]})
    >>> sv.privatize(log, alphabet="abc", epsilon=1000, case="who", order="when", symbol="what").to_pydict()
    {'who': ['x', 'x', 'y'], 'when': [1, 2, 1], 'what': ['a', 'b', 'c']}
    """
    loose: dict[str, Any] = dict(named)
    if "keep" in loose:
        loose["keep"] = tuple(loose["keep"])
    check_choice_names("privatize", TableParameters, loose, choice)
    reading = described(ColumnOptions, columns, loose, name="columns")
    choice = described_choice(choice, loose)
    release = Release.of(choice, alphabet=alphabet, model=model)
    if is_frame(words):
        return _private_table(words, reading, release.mechanism, bits)
    if is_series(words) and reading.separator is not None:
        cells = pa.array(words_of_series(words))
        as_column = replace(reading, sequence=_COLUMN)
        return like_series(
            words, _private_table(pa.table({_COLUMN: cells}), as_column, release.mechanism, bits)[_COLUMN].to_pylist()
        )
    _refuse_reading(reading)
    if is_series(words):
        return like_series(words, _private_words(words_of_series(words), choice, release.mechanism, bits))
    return _private_words(words, choice, release.mechanism, bits)


_COLUMN = "words"
"""What the only column of a table is called that is made of a column."""


def _private_table(frame: Any, reading: ColumnOptions, mechanism: Mechanism, bits: BitSource | None) -> Any:
    """The table's records through the core of files; they are known by their place, whatever their ids."""
    for name in ("person", "delimiter"):
        if getattr(reading, name) is not None:
            raise ParameterError(name, expected="privatize_file with it: a table in memory has none", found="a table")
    file = opened_frame(frame, reading)
    if mechanism.metric == "levenshtein":
        file.check_lengths_may_change()
    if file.separator is not None:
        check_separable(mechanism.alphabet, file.separator)
    plan = ReleasePlan(
        mechanism=mechanism,
        release_id="table",
        release_key=new_release_key(bits),
        sequence=SYMBOLS,
        place=PLACE,
        unit=f"{file.file}: {file.unit}",
        advice=reading_advice(mechanism.alphabet, file.separator),
    )
    released = [file.arranged(private) for _, private in release_batches(file.records(), plan)]
    if not released:
        return without_rows(frame, file.names(), file.written)
    return like_frame(frame, pa.Table.from_batches(released), file.names())


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
    released, new_lengths = built.release_checked(codes, lengths, bits or system_bits()) if rows else (codes, lengths)
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
