"""Learn a Markov chain from observed sequences: counts of moves as exact probabilities.

The symbols of a public log: what `--alphabet` asks for, where it is not written down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

from symveil.errors import FileError, InputError, ParameterError, TooLargeError, WordError
from symveil.formats.models.model_files import load_word_model, save_model
from symveil.formats.reading import LONGEST, MOST_TIMES, path_of
from symveil.formats.sequences.columns import ColumnOptions
from symveil.formats.sequences.frames import is_frame
from symveil.formats.sequences.sequence_files import read_sequences
from symveil.languages.graph import one_way_advice
from symveil.models.alphabet import Alphabet, Symbol, Word
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.rationals import Number, exact, spelled
from symveil.parameters import check_names, shows_fields
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.tasks.limits import LIMITS
from symveil.tasks.parameters import FileReading

Move = tuple[str, str]

_A_MODEL_IS_A_RELEASE = (
    "a model learned from private data is itself a release of that data; use it as a public model only if the data is "
    "public"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned(Reported):
    """A chain and the file it was written to."""

    chain: MarkovChain
    out: Path
    smooth: Fraction

    @property
    def dead_ends(self) -> int:
        """How many states have no transition."""
        return len(self.chain.states) - len({source for source, _, _ in self.chain.transitions})

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "model": str(self.out),
            "kind": self.chain.kind,
            "states": len(self.chain.states),
            "transitions": len(self.chain.transitions),
            "dead_ends": self.dead_ends,
            "smooth": spelled(self.smooth),
        }

    def report(self) -> Report:
        """How large the chain is, and that it is a release of what it was learned from."""
        facts = [
            ("model", str(self.out)),
            ("kind", self.chain.kind),
            ("states", f"{len(self.chain.states)}, of which {self.dead_ends} dead ends"),
            ("transitions", str(len(self.chain.transitions))),
        ]
        return replace(facts_report("Learned", facts), warnings=(_A_MODEL_IS_A_RELEASE,))


def learn_chain(
    sequences: Iterable[Word],
    *,
    smooth: Number = 0,
    graph: MarkovChain | None = None,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
) -> MarkovChain:
    """The chain whose probabilities are the relative frequencies of the moves in `sequences`.

    A state that is never left is a dead end. A chain learned from private sequences is itself a release of them:
    nothing here makes it private.

    Parameters
    ----------
    sequences
        The words, whose symbols are strings; `read_sequences` reads them from a file.
    smooth
        What is added to the count of every allowed move.
    graph
        Its moves are the allowed ones (an observed move outside it is refused), and its states the states; without
        one, all moves between two symbols are allowed.
    alphabet
        The states, where there is no graph; by default the symbols that occur, sorted.

    >>> learn_chain(["abab", "abb"]).transitions
    (('a', 'b', Fraction(1, 1)), ('b', 'a', Fraction(1, 2)), ('b', 'b', Fraction(1, 2)))
    """
    if isinstance(sequences, str) or is_frame(sequences):
        raise ParameterError(
            "sequences",
            expected="sequences of strings, such as a list or a column of them, or read_sequences(file)",
            found=f"a {type(sequences).__name__}",
        )
    if graph is not None and not hasattr(graph, "transitions"):
        raise ParameterError("graph", expected="a MarkovChain such as load_model(file)", found=type(graph).__name__)
    added = exact(smooth, name="smooth", expected="a number, 0 or more")
    if added < 0:
        raise ParameterError("smooth", expected="a number, 0 or more", found=smooth)
    if graph is not None and alphabet is not None:
        raise InputError("graph: expected a graph or an alphabet, found both; the graph's states are the alphabet")
    states = None if graph is None else graph.states
    if alphabet is not None:
        states = _string_symbols(Alphabet.from_symbols(alphabet))
    moves = None if graph is None else {(source, target): None for source, target, _ in graph.transitions}
    counts, seen = _count(sequences, states, graph)
    if states is None:
        states = tuple(sorted(seen))
    if not states:
        raise InputError("sequences: expected at least one symbol, found none")
    if added:
        _add(counts, added, moves, states)
    return _chain(counts, states)


def _count(
    sequences: Iterable[Word], states: tuple[str, ...] | None, graph: MarkovChain | None
) -> tuple[dict[Move, int | Fraction], set[str]]:
    """How often each move was made, and the symbols that were seen; refuses what is not allowed."""
    counts: Counter[Move] = Counter()
    seen: set[str] = set()
    known = None if states is None else frozenset(states)
    allowed = None if graph is None else frozenset((source, target) for source, target, _ in graph.transitions)
    for number, sequence in enumerate(sequences, start=1):
        symbols = _symbols(sequence, number)
        if known is not None and not known.issuperset(symbols):
            position = next(index for index, symbol in enumerate(symbols, start=1) if symbol not in known)
            what = "symbols of the alphabet" if graph is None else "symbols that are states of the graph"
            raise _refusal(number, position, what)
        observed = list(pairwise(symbols))
        if allowed is not None and not allowed.issuperset(observed):
            position = next(index for index, move in enumerate(observed, start=2) if move not in allowed)
            raise _refusal(number, position, "moves that the graph allows", one_way_advice(graph))
        seen.update(symbols)
        counts.update(observed)
    return dict(counts), seen


def _symbols(sequence: Word, number: int) -> tuple[str, ...]:
    if not isinstance(sequence, Iterable):
        raise WordError(f"sequence {number}: expected symbols, found a {type(sequence).__name__}")
    symbols = tuple(sequence)
    for position, symbol in enumerate(symbols, start=1):
        if not isinstance(symbol, str):
            raise WordError(
                f"sequence {number}: expected strings as symbols, found a {type(symbol).__name__} at position "
                f"{position}",
                position=position,
            )
    return symbols  # type: ignore[return-value]  # all strings, as was just seen


def _refusal(number: int, position: int, what: str, advice: str = "") -> WordError:
    # The symbol is a secret: number and position tell the owner enough, and the advice is about the public graph.
    out = f"; {advice}" if advice else ""
    return WordError(
        f"sequence {number}: expected {what}, found another at position {position}{out}", position=position
    )


def _string_symbols(alphabet: Alphabet) -> tuple[str, ...]:
    for position, symbol in enumerate(alphabet.symbols, start=1):
        if not isinstance(symbol, str):
            raise ParameterError(
                "alphabet", expected="strings", found=f"a {type(symbol).__name__} at position {position}"
            )
    return alphabet.symbols  # type: ignore[return-value]  # all strings, as was just seen


def _add(
    counts: dict[Move, int | Fraction], added: Fraction, moves: dict[Move, None] | None, states: tuple[str, ...]
) -> None:
    if moves is None and len(states) ** 2 > LIMITS.now.transitions:
        raise TooLargeError(
            f"smooth: expected at most {LIMITS.now.transitions} pairs of symbols, found {len(states) ** 2}; "
            "give a graph of the moves that are allowed",
        )
    step = int(added) if added.denominator == 1 else added
    for move in moves if moves is not None else ((one, other) for one in states for other in states):
        counts[move] = counts.get(move, 0) + step


def _chain(counts: dict[Move, int | Fraction], states: tuple[str, ...]) -> MarkovChain:
    index = {state: number for number, state in enumerate(states)}
    totals: Counter[str] = Counter()
    for (source, _), count in counts.items():
        totals[source] += count  # type: ignore[assignment]  # a Counter adds fractions as well
    rows = sorted(counts.items(), key=lambda item: (index[item[0][0]], index[item[0][1]]))
    return MarkovChain(
        states=states,
        transitions=tuple((source, target, Fraction(count) / totals[source]) for (source, target), count in rows),
    )


def learn_file(
    path: str | Path, out: str | Path, *, smooth: Number = 0, graph: str | Path | None = None, **reading: Any
) -> Learned:
    """Learn a chain from a file of sequences and write it as a model file; `reading` as `read_sequences` takes it."""
    source, target = path_of(path), path_of(out, name="out")
    if target.exists() and source.exists() and target.samefile(source):
        raise FileError(str(target), expected="another file than the sequences", found="the same")
    feasible = None if graph is None else _load_graph(Path(graph))
    with closing(read_sequences(source, **reading)) as sequences:
        try:
            chain = learn_chain(sequences, smooth=smooth, graph=feasible)
        except WordError as error:
            raise WordError(f"{source}: {error}", position=error.position) from None
    save_model(chain, target)
    return Learned(chain=chain, out=target, smooth=exact(smooth))


def _load_graph(path: Path) -> MarkovChain:
    graph = load_word_model(path)  # only its moves matter: what was assumed about their probabilities does not
    if not isinstance(graph, MarkovChain):
        raise FileError(str(path), expected="a graph of states: a Markov chain or a table from, to", found=graph.kind)
    return graph


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
            if len(seen) > LIMITS.now.listed_symbols:
                raise FileError(
                    str(path),
                    expected=f"at most {LIMITS.now.listed_symbols} different symbols",
                    found="more; is it the column of ids?",
                )
    return PublicAlphabet(symbols=tuple(sorted(seen)), sequences=count)
