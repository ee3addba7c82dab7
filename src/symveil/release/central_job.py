"""A central release of one file: what it promises and costs, of public things only; and the job that makes it.

Nothing in the promise depends on how many persons, records or dropped rows there are, except through the released
numbers. The job numbers persons and reads legal words as codes; one table or model comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from symveil.central.cells import GRID
from symveil.central.noise import Neighbours, Query, read_delta, read_neighbours
from symveil.errors import FileError, only_our_errors
from symveil.estimation.table import Batch, Indices
from symveil.formats.manifest import CENTRAL_FORMAT, Manifest
from symveil.formats.sequences.records import SYMBOLS, symbols_of_lists
from symveil.formats.sequences.sequence_file import SequenceFile, reported_records
from symveil.languages.graph import Model
from symveil.languages.language import AnyLength
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import read_epsilon
from symveil.ledger.charging import in_parts
from symveil.ledger.composition import approximate_loss
from symveil.ledger.units import EVERYTHING, PERSON, Unit
from symveil.models.alphabet import Alphabet, Codes, Lengths
from symveil.models.names import look_alike, tell_alike
from symveil.models.times import PublicValues, Stamps
from symveil.numbers.rationals import at_least, spelled
from symveil.randomness import RecordKey
from symveil.release.batch import Ask, FileJob, Written, encode_lists
from symveil.release.spec import ReleaseSpec
from symveil.storage.files import digest_of


class ReadWords(Protocol):
    """Reads all words, again and again; what is beside their symbols, such as times, where it is needed."""

    def __call__(self, *, beside: bool = True) -> Iterable[Batch]:
        """All words."""


Answer = Callable[[ReadWords, Sequence[str], RecordKey], tuple[bytes, Sequence[Query]]]
"""What is released, as bytes, and the queries that it cost: from all legal words, the names of persons by number, and
where noise comes from.
"""


class ObservedSymbols:
    """The symbols of a file whose alphabet is not public, numbered as they come; every word is legal. A secret.

    >>> import pyarrow as pa
    >>> found = ObservedSymbols()
    >>> codes, lengths, legal = found.encoded(pa.array([["b", "a"], ["a"]]))
    >>> codes.tolist(), found.name(1)
    ([0, 1, 1], 'a')
    """

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._names: list[str] = []

    def name(self, code: int) -> str:
        """The symbol with this code."""
        return self._names[code]

    def encoded(self, column: Any) -> tuple[Codes, Lengths, NDArray[np.bool_]]:
        """The codes of lists of symbols, their lengths, and that each of them is legal."""
        texts, indices, lengths = symbols_of_lists(column)
        for text in texts:
            if text not in self._codes:
                self._codes[text] = len(self._names)
                self._names.append(text)
        codes = np.array([self._codes[text] for text in texts], dtype=np.int32)
        return codes[indices] if len(texts) else codes, lengths, np.ones(len(lengths), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Beside:
    """What is read of events beside their symbols: whether times are, and the public values of attributes."""

    times: bool = False
    attributes: tuple[PublicValues, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LegalWords:
    """Some legal words as codes, one after the other, whose each is, and what was read beside them."""

    codes: Codes
    lengths: Lengths
    persons: Any
    """Names, as an Arrow array."""
    stamps: Stamps | None = None
    attributes: tuple[Indices, ...] = ()

    def only(self, legal: NDArray[np.bool_]) -> LegalWords:
        """Some of them."""
        if legal.all():
            return self
        symbols = np.repeat(legal, self.lengths)
        return LegalWords(
            self.codes[symbols],
            self.lengths[legal],
            self.persons.filter(pa.array(legal)),
            None if self.stamps is None else self.stamps.only(symbols),
            tuple(values[symbols] for values in self.attributes),
        )


NOTHING_BESIDE = Beside()
PublicOrObserved = AnyLength | ObservedSymbols
"""The public language of the words that count; without one every word is legal, and symbols are numbered as found."""


class CentralWords(ABC):
    """The legal words of an input as codes, each with the number of its person. Other words are not there, silently."""

    path: Path
    """Where they are read from."""
    has_ids: bool

    @abstractmethod
    def persons(self) -> list[str]:
        """Everybody in the input, also those without a legal word, in the order of their names."""

    @abstractmethod
    def encoded(self, *, beside: bool = True) -> Iterator[LegalWords]:
        """Legal words, some at a time; what is beside their symbols is read where it is needed."""

    @abstractmethod
    def fingerprint(self) -> bytes:
        """The input's content, as a digest."""

    def numbered(self, outside: Collection[str] = ()) -> dict[str, int]:
        """Everybody but those outside, numbered; the holder is warned of names that may be one person's."""
        everybody = self.persons()
        if look_alike(everybody):
            tell_alike()
        return {name: number for number, name in enumerate(name for name in everybody if name not in outside)}

    def read(self, numbers: dict[str, int], *, beside: bool = True) -> Iterator[Batch]:
        """The legal words of these persons."""
        for words in self.encoded(beside=beside):
            names = words.persons.dictionary_encode()
            known = np.array([numbers.get(name, -1) for name in names.dictionary.to_pylist()], dtype=np.int64)
            owner = known[names.indices.to_numpy(zero_copy_only=False)] if len(known) else known
            yield Batch(words.codes, words.lengths, owner, words.stamps, words.attributes).only(owner >= 0)


def encoded_words(column: Any, language: PublicOrObserved) -> tuple[Codes, Lengths, NDArray[np.bool_]]:
    """Lists of symbols as codes, with their lengths, and which of them are legal."""
    if isinstance(language, ObservedSymbols):
        return language.encoded(column)
    codes, lengths = encode_lists(column, language.alphabet)
    return codes, lengths, language.first_refused(codes, lengths) == 0


class FileWords(CentralWords):
    """The legal words of a file on this machine."""

    def __init__(self, file: SequenceFile, language: PublicOrObserved, beside: Beside = NOTHING_BESIDE) -> None:
        self._file, self._language, self._beside = file, language, beside
        self.path, self.has_ids = file.file, file.has_ids

    def persons(self) -> list[str]:
        """Everybody in the file, in the order of their names."""
        names: set[str] = set()
        for batch in reported_records(self._file, "reading"):
            names.update(self._file.persons(batch).unique().to_pylist())
        return sorted(names)

    def encoded(self, *, beside: bool = True) -> Iterator[LegalWords]:
        """Legal words, some at a time."""
        read = self._beside if beside else NOTHING_BESIDE
        for batch in reported_records(self._file, "reading"):
            with only_our_errors():
                codes, lengths, legal = encoded_words(batch.column(SYMBOLS), self._language)
                words = LegalWords(
                    codes,
                    lengths,
                    self._file.persons(batch),
                    self._file.stamps(batch) if read.times else None,
                    tuple(self._file.attribute(batch, index, values) for index, values in enumerate(read.attributes)),
                ).only(legal)
            yield words

    def fingerprint(self) -> bytes:
        """The file's bytes, as a digest."""
        digest = digest_of(self.path)
        if digest is None:
            raise FileError(str(self.path), expected="a file of sequences", found="none")
        return bytes.fromhex(digest)


class FrameWords(FileWords):
    """The legal words of a table in memory."""

    def __init__(
        self, file: SequenceFile, language: PublicOrObserved, beside: Beside = NOTHING_BESIDE, *, digest: bytes
    ) -> None:
        super().__init__(file, language, beside)
        self._digest = digest

    def fingerprint(self) -> bytes:
        """The table's content, as a digest."""
        return self._digest


class CentralJob(FileJob[RecordKey]):
    """A file of sequences in; a table or a model out, which says nothing about it but through its noise."""

    unit = "person"
    queries: Sequence[Query] = ()
    """What the answer cost, once it is written."""

    def __init__(self, words: CentralWords, target: Path, answer: Answer, *, facts: dict[str, object]) -> None:
        super().__init__(words.path, target)
        self._words, self._answer = words, answer
        self.has_ids, self.facts = words.has_ids, {"file": target.name, **facts}

    @property
    def record(self) -> str:
        """What is charged for."""
        return "person"

    def plan(self, release_id: str, key: bytes) -> RecordKey:
        """Where noise comes from."""
        return RecordKey(key, release_id)

    def fingerprint(self) -> bytes:
        """The input's content, as a digest."""
        return self._words.fingerprint()

    def survey(self, plan: RecordKey, ask: Ask) -> None:
        """Each person pays once, however many records are theirs, and whether or not any of them counts."""
        del plan
        persons = self._words.persons()
        for _ in self._words.encoded():
            pass  # what cannot be read is refused before anybody is charged
        for names in in_parts(persons):
            ask(names, [1] * len(names), None)

    def write(self, plan: RecordKey, left_out: list[str]) -> Written:
        """Count, add noise, write."""
        numbers = self._words.numbered(set(left_out))

        def read(*, beside: bool = True) -> Iterable[Batch]:
            return self._words.read(numbers, beside=beside)

        content, self.queries = self._answer(read, list(numbers), plan)
        self._temporary.write(content)
        return Written(digest=self._temporary.finish())

    def agrees_with(self, counts: dict[str, int]) -> bool:
        """Nothing public tells which input a central release is from."""
        del counts
        return True


@dataclass(frozen=True, kw_only=True)
class CentralSpec(ReleaseSpec):
    """One table or model of the whole file, with one ε per person.

    Parameters
    ----------
    kind
        "count": a table; "learn": a model.
    epsilon, neighbours
        What each person loses at most, and between which files.
    language
        The public alphabet, or the model whose words are legal; None where there is neither, for a δ.
    parameters
        Everything else that was asked for, as JSON.
    model_file
        The plain name of the model's file; None where there is none.
    delta
        Above 0 where cells are not public: another promise.
    zones
        Where origins and destinations are counted by zone: the name of the zone of each symbol, in their order.
    times
        What is public about the times of a law that has some, as JSON.
    attributes
        The public values of attributes that a law has, and the share of ε of each, as JSON.
    person
        The column that says whose a record is; None: each record counts as one person.
    """

    kind: str
    epsilon: Fraction
    neighbours: Neighbours
    language: AnyLength | None
    parameters: dict[str, Any]
    model_file: str | None = None
    delta: Fraction = Fraction(0)
    zones: tuple[str, ...] | None = None
    times: dict[str, Any] | None = None
    attributes: tuple[dict[str, Any], ...] = ()
    person: str | None = None

    @property
    def budget(self) -> Fraction:
        """ε for each person, once."""
        return self.epsilon

    @property
    def unit(self) -> Unit:
        """Persons."""
        return EVERYTHING if self.neighbours == "replace" else PERSON

    @property
    def loss(self) -> str:
        """ε, and δ where there is one."""
        return approximate_loss(self.epsilon, self.delta)

    @property
    def alphabet(self) -> Alphabet | None:
        """The public symbols; None where there are none, for a δ."""
        return None if self.language is None else self.language.alphabet

    @property
    def model(self) -> Model | None:
        """The public model; None where every word over the alphabet counts."""
        return None if self.language is None else self.language.model

    def options(self, **others: object) -> dict[str, Any]:
        """The public parameters: what makes two runs the same command."""
        return {
            "release": self.kind,
            "epsilon": spelled(self.epsilon),
            **({"delta": spelled(self.delta)} if self.delta else {}),
            "neighbours": self.neighbours,
            "grid": GRID,
            **self.public_digests(),
            **self.parameters,
            **self._beside(),
            **others,
        }

    def _beside(self) -> dict[str, Any]:
        """What is public of times and attributes, where there are some."""
        times = {} if self.times is None else {"times": self.times}
        return times | ({"attributes": list(self.attributes)} if self.attributes else {})

    def promised(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What follows from the queries: said in the manifest, computed again by the check."""
        epsilon, delta = (
            sum((getattr(query, name) for query in queries), Fraction(0)) for name in ("epsilon", "delta")
        )
        guarantee = Guarantee.of_loss(epsilon, "certified", delta=delta)
        return {
            "unit": "person",
            "neighbours": self.neighbours,
            "epsilon": at_least(self.epsilon),
            "epsilon_exact": spelled(self.epsilon),
            **({"delta": at_least(self.delta), "delta_exact": spelled(self.delta)} if self.delta else {}),
            "how": "certified",
            "guarantee": guarantee.document(),
            "queries": [query.document() for query in queries],
            # with other records in a person's place, as many persons are in both files
            "passes_unprotected": ["number of persons"] if self.neighbours == "replace" else [],
        }

    def manifest(
        self, release_id: str, digest: str, *, queries: Sequence[Query], output: dict[str, object], version: str,
        charged: bool, date: str,
    ) -> Manifest:  # fmt: skip
        """The manifest beside the output."""
        return Manifest(
            {
                "format": CENTRAL_FORMAT,
                "version": version,
                "release_id": release_id,
                "release": self.kind,
                **self.promised(queries),
                "person": self.person,
                "parameters": self.parameters,
                **({} if self.zones is None else {"zones": list(self.zones)}),
                **self._beside(),
                **self.public_words(self.model_file),
                "digests": {**self.public_digests(), "output": digest},
                "output": output,
                "charged": self.charged(charged=charged),
                "date": date,
            }
        )


def queries_of(document: dict[str, Any]) -> tuple[Query, ...]:
    """The queries that a manifest tells: what decides the noise, and not what it says follows from that."""
    neighbours = read_neighbours(document["neighbours"])
    return tuple(
        Query(
            name=str(each["query"]),
            epsilon=read_epsilon(each["epsilon"]),
            bound=int(each["bound"]),
            neighbours=neighbours,
            delta=read_delta(each["delta"]) if "delta" in each else Fraction(0),
        )
        for each in document["queries"]
    )
