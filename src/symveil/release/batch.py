"""The core of every engine, an Arrow record batch in and one out; and what the release protocol needs of an engine.

The same batch, in any order and cut in any way, gives the same released words, because the bits of a
record are derived from the release and the record's id alone (`randomness.bits`). So a task that
is run again releases nothing new. A `Job` looks through the input, and writes the output aside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil.errors import FileError, ParameterError, WordError
from symveil.formats.sequences.records import as_text, cuts, list_lengths, symbols_of_lists
from symveil.languages.graph import one_way_advice
from symveil.languages.language import refusal
from symveil.ledger.units import whole_parts
from symveil.mechanisms.by_length import calibrated, needs_lengths
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Alphabet, Codes
from symveil.numbers.once import computed_once
from symveil.randomness import RecordKey
from symveil.release.limits import LIMITS
from symveil.release.timed import TimedPlan
from symveil.storage.files import TemporaryOutput, digest_of

OnUnknown = Literal["error", "drop-sequence"]

LEFT_OUT = "`on_unknown='drop-sequence'` leaves such sequences out"


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """Everything that turns records into private ones. It holds the release key: keep it off disks and logs."""

    mechanism: Mechanism = field(repr=False)
    release_id: str
    release_key: bytes = field(repr=False)
    sequence: str
    """The column of the sequences, a list in each row."""
    identifier: str | None = None
    """The column of the ids; None: records are known by their place."""
    row_column: str | None = None
    """The column of places (whole numbers), which messages mention; None: there is none."""
    number: str | None = None
    """The column of the records' numbers, which name them where there are no ids; None: their places do."""
    released_type: pa.DataType | None = field(default=None, repr=False)
    """The type of the released sequences; None: that in which they came, which must be public."""
    on_unknown: OnUnknown = "error"
    unit: str = "record"
    advice: str = LEFT_OUT
    """What to do about a sequence that is refused, from public facts alone."""
    times: TimedPlan | None = field(default=None, repr=False)
    """How the times of events are released; None: they are not."""
    has_rows_in_order: bool = True
    """Whether messages mention the row in the batch where there is no place: not where a cluster cuts batches."""

    def __post_init__(self) -> None:
        if self.on_unknown not in get_args(OnUnknown):
            raise ParameterError("on_unknown", expected=" or ".join(get_args(OnUnknown)), found=self.on_unknown)
        if self.identifier is None and self.row_column is None:
            raise ParameterError("identifier", expected="a column of ids or of places", found="neither")

    @property
    def keys(self) -> RecordKey:
        """What names records and gives them their bits."""
        return RecordKey(self.release_key, self.release_id)

    def names(self, batch: pa.RecordBatch) -> NDArray[np.uint32]:
        """The names of a batch's records: equal for equal ids, and otherwise different."""
        if self.identifier is None:
            return self.keys.names_of_rows(batch.column(self.number or self.row_column).to_numpy())
        ids = as_text(batch.column(self.identifier))
        if ids.null_count:
            raise ParameterError("id", expected="an id in every row", found="none in some row")
        ids = ids.cast(pa.large_binary())
        offsets = np.frombuffer(ids.buffers()[1], dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
        if not np.diff(offsets).all():
            raise ParameterError("id", expected="an id in every row", found="an empty one in some row")
        data = ids.buffers()[2]
        text = np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]] if data and len(ids) else _NO_BYTES
        return self.keys.names_of_bytes(text, np.diff(offsets))


_NO_BYTES = np.empty(0, dtype=np.uint8)
_NO_CODES = np.empty(0, dtype=np.int32)
_NO_LENGTHS = np.empty(0, dtype=np.int64)


def privatize_batch(batch: pa.RecordBatch, plan: ReleasePlan) -> pa.RecordBatch:
    """The batch with private sequences. Other columns pass as they are; refused sequences are left out.

    >>> import symveil as sv
    >>> from symveil.languages.language import words_of_any_length
    >>> mechanism = sv.select_mechanism(words_of_any_length("ab"), epsilon=1)
    >>> plan = ReleasePlan(mechanism=mechanism, release_id="r", release_key=bytes(32), sequence="s", identifier="id")
    >>> batch = pa.record_batch({"id": ["x", "y"], "s": [["a", "b", "b"], []]})
    >>> private = privatize_batch(batch, plan)
    >>> private.column("id").to_pylist(), [len(word) for word in private.column("s").to_pylist()]
    (['x', 'y'], [3, 0])
    >>> private.equals(privatize_batch(batch, plan))            # drawn once
    True
    """
    if not len(batch):
        return batch
    codes, lengths, wrong = _encoded(batch, plan)
    if wrong.any():
        stays = wrong == 0
        batch = batch.filter(pa.array(stays))
        codes, lengths = codes[np.repeat(stays, lengths)], lengths[stays]
        if not len(batch):
            return batch
    bits = plan.keys.streams(plan.names(batch))
    if plan.times is not None and plan.times.events.joint:
        released, bins = plan.times.drawn(codes, plan.times.bins(batch, lengths), lengths, bits)
        batch, new_lengths = plan.times.written(batch, bins, lengths), lengths
    else:
        released, new_lengths = plan.mechanism.release_flat(codes, lengths, bits=bits, checked=True)
        if plan.times is not None:
            _, bins = plan.times.drawn(codes, plan.times.bins(batch, lengths), lengths, bits)
            batch = plan.times.written(batch, bins, lengths)
    index = batch.schema.get_field_index(plan.sequence)
    column = decode_lists(released, new_lengths, plan.mechanism.alphabet, _released_type(batch, plan))
    return batch.set_column(index, batch.schema.field(index).with_type(column.type), column)


def check_batch(batch: pa.RecordBatch, plan: ReleasePlan) -> NDArray[np.int64]:
    """Refuse now what `privatize_batch` would refuse later: before anybody is charged. The lengths of the others."""
    if not len(batch):
        return _NO_LENGTHS
    decode_lists(_NO_CODES, _NO_LENGTHS, plan.mechanism.alphabet, _released_type(batch, plan))
    _, lengths, wrong = _encoded(batch, plan)
    return np.asarray(lengths[wrong == 0])


def bounded(batch: pa.RecordBatch, plan: ReleasePlan) -> Iterator[pa.RecordBatch]:
    """The batch in slices whose released sequences fit into memory, whatever symbols are drawn.

    Readers cut by the symbols that occur; those that are released may be longer.

    >>> import symveil as sv
    >>> from symveil.languages.language import words_of_any_length
    >>> mechanism = sv.select_mechanism(words_of_any_length(["a", "b" * 10_000_000]), epsilon=1)
    >>> plan = ReleasePlan(mechanism=mechanism, release_id="r", release_key=bytes(32), sequence="s", identifier="id")
    >>> batch = pa.record_batch({"id": ["x", "y", "z"], "s": [["a"] * 4, ["a"], ["a"] * 9]})
    >>> [len(piece) for piece in bounded(batch, plan)]
    [2, 1]
    """
    at_once = max(1, LIMITS.now.released_at_once // _longest_symbol(plan.mechanism.alphabet))
    lengths = list_lengths(batch.column(plan.sequence))
    for start, stop in cuts(lengths, at_once):
        yield batch.slice(start, stop - start)


@lru_cache(maxsize=8)
def _longest_symbol(alphabet: Alphabet) -> int:
    return max(8, *(len(str(symbol).encode()) for symbol in alphabet.symbols))


def _released_type(batch: pa.RecordBatch, plan: ReleasePlan) -> pa.DataType:
    kind = plan.released_type or batch.schema.field(plan.sequence).type
    if pa.types.is_fixed_size_list(kind) and plan.mechanism.metric == "levenshtein":
        return pa.list_(kind.value_field)  # released sequences have other lengths
    return kind


def _encoded(batch: pa.RecordBatch, plan: ReleasePlan) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
    """Codes, lengths, and where each sequence is wrong; what is wrong in the first place of the batch is refused."""
    rows: list[int] = []

    def where(row: int) -> str:
        rows.append(row)
        return _where(batch, plan, row)

    try:
        codes, lengths = encode_lists(batch.column(plan.sequence), plan.mechanism.alphabet, where=where)
    except WordError:
        if rows and rows[0]:  # an earlier sequence may be wrong in another way: where batches end must not decide
            _encoded(batch.slice(0, rows[0]), plan)
        raise
    wrong = plan.mechanism.language.first_refused(codes, lengths)
    untimed = np.zeros_like(wrong) if plan.times is None else plan.times.first_unknown(batch, lengths)
    either = np.where(wrong > 0, wrong, untimed)
    if plan.on_unknown == "error" and either.any():
        row = int(np.argmax(either > 0))
        if wrong[row]:
            raise _refusal(batch, plan, wrong, codes, lengths)
        raise WordError(
            f"{_where(batch, plan, row)}: expected a time for every event, found none that can be read at position "
            f"{untimed[row]} of {lengths[row]}; `on_unknown='drop-sequence'` leaves such sequences out",
            position=int(untimed[row]),
        )
    return codes, lengths, either


def _where(batch: pa.RecordBatch, plan: ReleasePlan, row: int) -> str:
    """What messages call a record."""
    if plan.row_column is None and not plan.has_rows_in_order:
        return plan.unit
    return f"{plan.unit} {batch.column(plan.row_column)[row].as_py() if plan.row_column is not None else row + 1}"


def _refusal(
    batch: pa.RecordBatch, plan: ReleasePlan, wrong: NDArray[np.int64], codes: Codes, lengths: NDArray[np.int64]
) -> WordError:
    # positions, not symbols: the symbol is a secret
    row = int(np.argmax(wrong > 0))
    language = plan.mechanism.language
    end = int(lengths[: row + 1].sum())
    why = refusal(language, codes[end - lengths[row] : end])
    if why.because == "length":
        bound = language.max_length
        return WordError(
            f"{_where(batch, plan, row)}: expected at most {bound} symbols, the public bound `max_length`, found more; "
            "raise it, for all sequences",
            position=int(wrong[row]),
        )
    advice = [plan.advice, one_way_advice(language.model) if why.because != "end" else ""]
    out = "".join(f"; {each}" for each in advice if each)
    if why.because == "end":
        return WordError(
            f"{_where(batch, plan, row)}: expected a sequence that the model accepts, found one that ends in a state "
            f"that is not accepting{out}"
        )
    length = f" of {lengths[row]}" if language.metric == "hamming" else ""  # elsewhere it is a secret
    source, wrong_there = ("alphabet", "is not in it") if language.graph is None else ("model", "cannot come there")
    return WordError(
        f"{_where(batch, plan, row)}: expected a sequence of the {source}, found one whose symbol at position "
        f"{why.position}{length} {wrong_there}{out}",
        position=why.position,
    )


# --- symbols and codes -------------------------------------------------------------------------


def encode_lists(
    column: Any, alphabet: Alphabet, *, where: Callable[[int], str] = lambda row: f"record {row + 1}"
) -> tuple[Codes, NDArray[np.int64]]:
    """The codes of all symbols, one list after the other, −1 for a symbol that is unknown; and the lengths."""
    known = _code_by_text(alphabet)
    texts, indices, lengths = symbols_of_lists(column, where=where)
    codes = np.array([known.get(text, -1) for text in texts], dtype=np.int32)
    return codes[indices] if len(codes) else _NO_CODES, lengths


def decode_lists(codes: Codes, lengths: NDArray[np.int64], alphabet: Alphabet, kind: pa.DataType) -> Any:
    """Lists of symbols in the type that they came in."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    value_type = kind.value_type
    if pa.types.is_dictionary(value_type):
        values = pa.DictionaryArray.from_arrays(pa.array(codes), _symbols(alphabet, value_type.value_type))
        values = values.cast(value_type)
    elif pa.types.is_string_view(value_type):  # for which Arrow has no `take`
        values = _symbols(alphabet, pa.string()).take(pa.array(codes)).cast(value_type)
    else:
        values = _symbols(alphabet, value_type).take(pa.array(codes))
    if pa.types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(pa.array(offsets), values, type=kind)
    listed = pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), values, type=kind if pa.types.is_list(kind) else pa.list_(value_type)
    )
    return listed if pa.types.is_list(kind) else listed.cast(kind)


@lru_cache(maxsize=8)
def _code_by_text(alphabet: Alphabet) -> dict[str, int]:
    """Symbols are compared by what they print as: 7 in one file and "7" in another are one symbol."""
    known = {str(symbol): code for code, symbol in enumerate(alphabet.symbols)}
    if len(known) < len(alphabet):
        raise ParameterError("alphabet", expected="symbols that print differently", found="two that print alike")
    return known


@lru_cache(maxsize=8)
def _symbols(alphabet: Alphabet, kind: pa.DataType) -> Any:
    """The symbols as an array of a column's type."""
    texts = pa.array([str(symbol) for symbol in alphabet.symbols])
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        raise ParameterError(
            "alphabet", expected=f"symbols that fit into the sequences' type, {kind}", found="others"
        ) from None


Plan = TypeVar("Plan")
"""What a job draws with: it holds the release key."""

Ask = Callable[[list[str], list[int], list[int | None] | None], None]
"""Called with persons, how many sequences each of them has, and what these lose when all of them are replaced by others
of the same lengths, in millionths (None where no bound is known).
"""


@dataclass(frozen=True, kw_only=True)
class Written:
    """An output that stands aside: its digest, and what may be said about it.

    Of a central release nothing may be said but what is in the output: its numbers stay 0.
    """

    digest: str
    sequences: int = 0
    released: int = 0
    over_budget: int = 0
    symbols: int = 0
    lengths: NDArray[np.int64] = field(repr=False, default_factory=lambda: np.empty(0, dtype=np.int64))
    """Which lengths occur: lengths are public."""
    drawn: str | None = None
    """A digest of the released records that is the same for the same words; None: `digest` is."""
    true_error: dict[str, float] | None = field(default=None, repr=False)
    """From the secret words: never into a manifest."""
    most_of_a_person: int | None = field(default=None, repr=False)
    """How many sequences the person with the most of them has, where persons were named: never into a manifest."""

    def counts(self) -> dict[str, int]:
        """For the manifest: lengths are public, and so is which records the output has."""
        return {
            "sequences": self.sequences,
            "released": self.released,
            "dropped_unknown": self.sequences - self.released - self.over_budget,
            "dropped_over_budget": self.over_budget,
            "symbols": self.symbols,
        }


class Job(ABC, Generic[Plan]):
    """An input, an output, and the engine between them."""

    unit: str
    has_ids: bool
    dropped_ids: tuple[str, ...] = ()
    """Columns that look like ids, where none of them passes."""
    facts: dict[str, object]
    """Public facts about the output, for the manifest: file, format, form, columns."""
    lengths: NDArray[np.int64] | None = None
    """Which lengths occur, after the survey; None where they are secret, or known only when something is drawn."""
    legal_lengths: NDArray[np.int64] | None = None
    """Which lengths sequences have that will not be left out as unknown, after the survey; None: not known."""
    mechanism: Mechanism
    """What releases the words; its laws are known before the output is begun (`calibrate`)."""
    whole_loss: Callable[[int], float] | None = None
    """What two words of this length lose at most, however many symbols differ; None: no bound is asked for."""

    @computed_once
    def _whole(self) -> Callable[[int], int | None]:
        """The same in millionths, rounded up, each length once."""
        loss = self.whole_loss
        return cache(lambda length: None if loss is None else whole_parts(loss(length)))

    def whole_of(self, counts: list[int], lengths: list[int]) -> list[int | None]:
        """What so many words of each length lose together when all of them are replaced."""
        own = [self._whole(length) for length in lengths]
        return [None if each is None else each * count for each, count in zip(own, counts, strict=True)]

    @property
    def record(self) -> str:
        """What one sequence is in the file."""
        if self.facts["format"] == "XES":
            return "trace"
        return "row" if self.facts["form"] == "wide" else "case"

    @abstractmethod
    def plan(self, release_id: str, key: bytes) -> Plan:
        """How this release is drawn."""

    @abstractmethod
    def fingerprint(self) -> bytes:
        """The input's content, as a digest: two runs of one release must mean the same input."""

    @abstractmethod
    def survey(self, plan: Plan, ask: Ask) -> None:
        """Look through the input before anybody is charged: refuse what can be refused, and tell whose it is."""

    def look_at_lengths(self, plan: Plan) -> None:
        """Read the public lengths of legal words where nothing was surveyed and laws depend on them."""
        del plan

    def calibrate(self, averaged: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        """Search for all laws that words of this input are released by; nothing is searched for afterwards.

        `averaged` gives further lengths whose laws the manifest speaks of, from those that occur.
        """
        occurring = np.empty(0, dtype=np.int64) if self.legal_lengths is None else self.legal_lengths
        lengths = np.union1d(occurring, averaged(occurring)) if needs_lengths(self.mechanism) else occurring
        self.mechanism = calibrated(self.mechanism, lengths)

    @abstractmethod
    def output(self, tag: str) -> AbstractContextManager[None]:
        """Begin the output of the release `tag`; what an earlier run left aside is gone. Inside it: write, publish."""

    @abstractmethod
    def write(self, plan: Plan, left_out: list[str]) -> Written:
        """Draw and write everything, except what belongs to the persons who are left out; on the disk when done."""

    @abstractmethod
    def publish(self) -> None:
        """Put the output in its place, in one step."""

    @abstractmethod
    def agrees_with(self, counts: dict[str, int]) -> bool:
        """Whether the output in its place can have come from this input, judged by public properties: how many
        records there were, which of them are in the output, and, where lengths are public, how long each is.
        """

    def explained(self) -> AbstractContextManager[None]:
        """A block in which what the engine says is wrong becomes one line of ours, without a value."""
        return nullcontext()

    @abstractmethod
    def published_digest(self) -> str | None:
        """The digest of what stands in the output's place."""


class FileJob(Job[Plan]):
    """A job whose output is one file on this machine.

    Parameters
    ----------
    source, target
        The input, which need not be a file, and the output.
    """

    def __init__(self, source: Path, target: Path) -> None:
        if target.is_dir():
            raise FileError(str(target), expected="a file to write", found="a folder")
        if target.exists() and source.exists() and target.samefile(source):
            raise FileError(str(target), expected="another file than the input", found="the same")
        self._target = target

    @contextmanager
    def output(self, tag: str) -> Iterator[None]:
        """A file aside, locked."""
        with TemporaryOutput(self._target, tag) as self._temporary:
            yield

    def publish(self) -> None:
        """Rename the file."""
        self._temporary.publish()

    def published_digest(self) -> str | None:
        """The digest of the file in the output's place."""
        return digest_of(self._target)
