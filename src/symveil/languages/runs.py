"""The feasible words of a model: all words of one length that its graph can produce.

The words of one length by the smallest graph: its states are what can still follow.

The graph of a model may have very many states that differ only in what could follow later than the word is long: the
observer of a system, followed for n events, is one. States of one position with the same words to come become one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, ParameterError, TooLargeError, WordError
from symveil.languages.graph import (
    NOT_ACCEPTED,
    AnyModel,
    Model,
    WordGraph,
    ends_unaccepted,
    require_words,
    word_graph,
)
from symveil.languages.limits import LIMITS
from symveil.languages.run_counts import RunNeighbours
from symveil.models.alphabet import (
    FAR,
    Alphabet,
    Codes,
    Lengths,
    Metric,
    Word,
    as_rows,
    check_code_range,
    encode,
    first_unknown,
    read_length,
)
from symveil.numbers.once import computed_once
from symveil.trellis.semirings import BOOLEANS, COUNTS, FLOATS

States = NDArray[np.int32]

_MANY = replace(FLOATS, most=1e15)
"""Floats that stop growing."""


@dataclass(frozen=True, eq=False, kw_only=True)
class RunLanguage:
    """All words of `length` symbols that a model can produce. Construct with `runs`.

    With `public_start` the first symbol is public and never altered: words are compared, and
    released, among those that begin with the same symbol.

    Parameters
    ----------
    graph
        The model as a deterministic graph.
    length
        Symbols of every word.
    public_start
        Whether the first symbol is public and kept.
    model
        The model itself, for messages and manifests.

    >>> import symveil as sv
    >>> never_bb = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> runs(never_bb, length=3).size                                    # aaa, aab, aba, baa, bab
    5
    """

    graph: WordGraph
    length: int
    public_start: bool = False
    model: Model | None = field(default=None, repr=False)
    metric: ClassVar[Metric] = "hamming"
    homogeneous: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", read_length(self.length))
        if self.public_start and not self.graph.state_is_symbol:
            raise ParameterError("public_start", expected="a Markov chain, whose symbols are states", found="actions")
        if not self.alive[self.length][self.graph.start]:
            raise ModelError(
                "model",
                expected=f"at least one word of {self.length} symbols, so that one can be released",
                found="none",
            )

    @property
    def runs(self) -> RunLanguage:
        """These words: they are those of a model."""
        return self

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the model."""
        return self.graph.alphabet

    @property
    def max_length(self) -> int:
        """The length of every word."""
        return self.length

    @property
    def largest_distance(self) -> int:
        """No two words are farther apart than their altered symbols are many."""
        return max(self.length - 1, 0) if self.public_start else self.length

    @computed_once
    def alive(self) -> list[NDArray[np.bool_]]:
        """`alive[k][s]`: from s a word can still be completed with k more symbols."""
        return self.graph.completions(self.length, BOOLEANS, settles=True)

    @computed_once
    def secret_starts(self) -> tuple[int, ...]:
        """The states before the first symbol that may change: one for each public first symbol."""
        graph = self.graph
        if not (self.public_start and self.length):
            return (graph.start,)
        alive = self.alive[self.length - 1]
        return tuple(int(graph.target[edge]) for edge in graph.edges(graph.start) if alive[graph.target[edge]])

    @computed_once
    def ways(self) -> list[NDArray[Any]]:
        """`ways[k][s]`: exactly how many words complete from s with k more symbols (Python integers)."""
        return [layer.astype(object) for layer in self.graph.completions(self.length, COUNTS)]

    def has_at_most(self, words: int) -> bool:
        """Whether the language is that small: counted in floats that stop growing, so at once."""
        return bool(self.graph.completions(self.length, _MANY, settles=True)[-1][self.graph.start] <= words)

    @property
    def size(self) -> int:
        """How many words there are."""
        return int(self.ways[self.length][self.graph.start])

    # --- reading words -------------------------------------------------------------------------

    def encode(self, word: Word) -> Codes:
        """The codes of a word of this language; refuses any other word at its first impossible position."""
        codes = encode(word, self.alphabet)
        if len(codes) != self.length:
            raise WordError(f"word: expected {self.length} symbols, found {len(codes)}")
        self.walk(codes[None, :])
        return codes

    def check_codes(self, codes: Codes) -> None:
        """Refuse rows of codes that are not words of this language."""
        self.walk(codes)

    def check(self, codes: Codes, lengths: Lengths) -> None:
        """Refuse words, one after the other with their lengths, that are not words of this language."""
        self.walk(as_rows(codes, lengths, self.length))

    def first_refused(self, codes: Codes, lengths: Lengths) -> NDArray[np.int64]:
        """Where each word leaves the language, counted from 1; 0 for its words."""
        wrong = first_unknown(codes, lengths, self.alphabet)
        wrong = np.where((wrong == 0) & (lengths != self.length), np.minimum(lengths, self.length) + 1, wrong)
        possible = np.flatnonzero(wrong == 0)
        rows = codes[np.repeat(wrong == 0, lengths)].reshape(len(possible), self.length)
        wrong[possible] = self.first_impossible(rows)
        return wrong

    def walk(self, codes: Codes) -> States:
        """The states that each row's word passes through, the start included; refuses impossible words."""
        start = np.full((len(codes), 1), self.graph.start, dtype=np.int32)
        return np.concatenate([start, self.graph.target[self.walk_edges(codes)]], axis=1)

    def walk_edges(self, codes: Codes) -> NDArray[np.int64]:
        """The edges that each row's word takes; refuses impossible words."""
        check_code_range(codes, self.alphabet)
        edges, impossible = self._walked(codes)
        if impossible.any():
            position = int(impossible[impossible > 0].min())
            row = int(np.argmax(impossible == position))
            which = f"word {row + 1}, " if len(codes) > 1 else ""
            if ends_unaccepted(self.graph, codes[row].tolist()):
                raise WordError(f"{which}word: {NOT_ACCEPTED}")
            raise WordError(
                f"{which}word: expected a word that the model can produce, found an impossible symbol at position "
                f"{position} of {self.length}",
                position=position,
            )
        return edges

    def first_impossible(self, codes: Codes) -> NDArray[np.int64]:
        """Where each row first goes wrong, counted from 1; 0 for the words of the language."""
        return self._walked(codes)[1]

    def _walked(self, codes: Codes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The edges of each row, and its first impossible position; a row that went wrong goes on from anywhere."""
        graph = self.graph
        edges = np.empty((len(codes), self.length), dtype=np.int64)
        wrong = np.zeros(len(codes), dtype=np.int64)
        state = np.full(len(codes), graph.start, dtype=np.int64)
        for position in range(self.length):
            edge = self.edge_numbers(state, codes[:, position])
            state = graph.target[edge].astype(np.int64)
            possible = (edge >= 0) & self.alive[self.length - position - 1][state]
            wrong[~possible & (wrong == 0)] = position + 1
            edges[:, position] = edge
        return edges, wrong

    def edge_numbers(self, states: NDArray[np.int64], codes: Codes) -> NDArray[np.int64]:
        """The edge by which each state reads the symbol beside it, −1 where there is none."""
        keys = states * len(self.alphabet) + codes
        if self._edge_table is not None:
            return np.asarray(self._edge_table[keys])
        edge = np.minimum(np.searchsorted(self._edge_keys, keys), self.graph.edge_count - 1)
        return np.where(self._edge_keys[edge] == keys, edge, -1)

    @computed_once
    def _edge_table(self) -> NDArray[np.int64] | None:
        """The edges as a table, where states × symbols are few enough to write all of them down."""
        entries = self.graph.state_count * len(self.alphabet)
        if entries > LIMITS.now.edge_table_entries:
            return None
        table = np.full(entries, -1)
        table[self._edge_keys] = np.arange(self.graph.edge_count)
        return table

    @computed_once
    def _edge_keys(self) -> NDArray[np.int64]:
        return self.graph.source * len(self.alphabet) + self.graph.symbol

    # --- enumeration ---------------------------------------------------------------------------

    def enumerate_codes(self, *, at_most: int) -> Codes:
        """All words as rows of codes, in alphabetical order; refused beyond `at_most` words."""
        if not self.has_at_most(at_most):
            raise TooLargeError(
                f"language: expected at most {at_most} words for enumeration, found more; use a shorter length"
            )
        graph = self.graph
        codes, state = np.zeros((1, 0), dtype=np.int32), np.array([graph.start], dtype=np.int64)
        for position in range(self.length):
            row, edge = graph.expand(state)
            possible = self.alive[self.length - position - 1][graph.target[edge]]
            row, edge = row[possible], edge[possible]
            codes = np.column_stack([codes[row], graph.symbol[edge]])
            state = graph.target[edge].astype(np.int64)
        return np.ascontiguousarray(codes, dtype=np.int32)

    def by_length(self, *, at_most: int, longest: int | None = None) -> list[Codes]:
        """All words, which have one length; refused beyond `at_most` words."""
        del longest
        return [self.enumerate_codes(at_most=at_most)]

    # --- distances -----------------------------------------------------------------------------

    def comparable(self, word: Codes, words: Codes) -> NDArray[np.bool_]:
        """Which of `words` share the public part of `word`."""
        if self.public_start and self.length:
            return np.asarray(words[:, 0] == word[0])
        return np.ones(len(words), dtype=np.bool_)

    def distance(self, word: Codes, words: Codes) -> NDArray[np.int64]:
        """The Hamming distance of each row of `words` from `word`; FAR where the public start differs."""
        return np.where(self.comparable(word, words), np.count_nonzero(words != word, axis=1), FAR)

    def around(self, word: Codes, *, within: int | None = None) -> RunNeighbours:
        """The words around a word of the language, up to the distance `within` where it is given."""
        return RunNeighbours(self, word, farthest=within)

    def __repr__(self) -> str:
        start = ", public start" if self.public_start else ""
        return f"runs({self.graph.state_count} states, length {self.length}{start})"


def runs(model: AnyModel, length: int, *, public_start: bool = False) -> RunLanguage:
    """The feasible words of `length` symbols of a model.

    A chain's words are its trajectories after `initial`, or from any state where it has none (the
    start is then hidden, unless `public_start` keeps the first symbol as it is).

    Parameters
    ----------
    model
        A Markov chain, an automaton or a transition system. Public.
    length
        Symbols of every word. Public.
    public_start
        Whether the first symbol is public and kept as it is.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> runs(chain, length=3).size           # aaa aab aba baa bab
    5
    """
    words = require_words(model)
    return RunLanguage(graph=word_graph(words), length=length, public_start=public_start, model=words)


def endless(graph: WordGraph) -> NDArray[np.bool_]:
    """The states from which a run can go on for ever."""
    # a run as long as there are states comes back to one of them
    anywhere = replace(graph, accepting=np.ones_like(graph.accepting))
    return anywhere.completions(graph.state_count, BOOLEANS, settles=True)[-1]


Numbers = NDArray[np.int64]


_DEGREE_BITS = 20


def weighed_by_degrees(language: RunLanguage) -> RunLanguage:
    """The same words; the prior of an edge is D^(−1/4), rounded down to 20 bits, D edges leaving the state it leaves.

    Words in whose surroundings there are many others weigh less, so that all have about the same total weight around
    them: larger rates can be proved. It is a function of the public model alone.

    >>> import symveil as sv
    >>> rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    >>> words = weighed_by_degrees(sv.runs(sv.MarkovChain.from_transitions(rows), length=5))
    >>> [round(float(weight), 4) for weight in words.graph.prior]                # of a, b, and the start: 2^(−1/4)
    [0.8409, 0.8409, 1.0, 0.8409, 0.8409]
    """
    graph = language.graph
    known = {
        degree: Fraction(math.isqrt(math.isqrt((1 << 4 * _DEGREE_BITS) // degree)), 1 << _DEGREE_BITS)
        for degree in np.unique(graph.degrees).tolist()
        if degree
    }
    weights = [known[degree] for degree in graph.degrees[graph.source].tolist()]
    return replace(language, graph=replace(graph, prior=tuple(weights)))


def smallest(language: RunLanguage) -> RunLanguage:
    """The same words, by a graph with a state for every position and set of words to come, where that is smaller.

    >>> import symveil as sv
    >>> rows = [(str(n), symbol, str((n * 7 + (symbol == "a")) % 300)) for n in range(300) for symbol in "ab"]
    >>> words = sv.runs(sv.TransitionSystem.from_transitions(rows, initial="0"), length=5)
    >>> words.size, smallest(words).size, smallest(words).graph.state_count
    (32, 32, 6)
    """
    graph, length = language.graph, language.length
    if graph.state_count <= LIMITS.now.unmerged_states or language.public_start or graph.prior is not None:
        return language
    if graph.state_count * len(language.alphabet) > LIMITS.now.merged_entries:
        return language
    table = np.full((graph.state_count, len(language.alphabet)), -1, dtype=np.int64)
    table[graph.source, graph.symbol] = graph.target
    layers = _classes(language, table)
    if sum(len(layer) for layer in layers) + 1 > graph.state_count:
        return language
    begins = np.cumsum([0, *(len(layer) for layer in layers)])  # of each position; the last one has one state
    first, symbols, targets = [0], [], []
    for begin, layer in zip(begins[1:].tolist(), layers, strict=True):
        state, symbol = np.nonzero(layer >= 0)  # by state, then by symbol
        first += (first[-1] + np.cumsum(np.bincount(state, minlength=len(layer)))).tolist()
        symbols.append(symbol)
        targets.append(begin + layer[state, symbol])
    accepting = np.zeros(int(begins[-1]) + 1, dtype=np.bool_)
    accepting[-1] = True
    nothing = np.empty(0, dtype=np.int64)
    return RunLanguage(
        graph=WordGraph(
            alphabet=language.alphabet,
            start=0,
            first=np.array([*first, first[-1]], dtype=np.int64),
            symbol=np.concatenate([nothing, *symbols]).astype(np.int32),
            target=np.concatenate([nothing, *targets]).astype(np.int32),
            accepting=accepting,
        ),
        length=length,
    )


def _classes(language: RunLanguage, table: Numbers) -> list[Numbers]:
    """For each position its classes of states, as rows: the class of the next position for each symbol, or −1."""
    reached = [np.array([language.graph.start])]
    for left in reversed(range(language.length)):
        after = table[reached[-1]]
        seen = np.zeros(len(table), dtype=np.bool_)
        seen[after[after >= 0]] = True
        reached.append(np.flatnonzero(seen & language.alive[left]))
    number = np.full(len(table), -1, dtype=np.int64)
    number[reached[-1]] = 0
    layers: list[Numbers] = []
    for states in reversed(reached[:-1]):
        after = table[states]
        rows = np.where(after >= 0, number[np.maximum(after, 0)], -1)
        different, index = _unique_rows(rows)
        layers.append(rows[different])
        number = np.full(len(table), -1, dtype=np.int64)
        number[states] = index
    layers.reverse()
    return layers


def _unique_rows(rows: Numbers) -> tuple[Numbers, Numbers]:
    """The first place of each different row, and which of them each row is."""
    size = int(rows.max(initial=0)) + 2
    if size ** rows.shape[1] < 2**62:  # one number stands for a row: quicker to sort
        keys = (rows + 1) @ (size ** np.arange(rows.shape[1], dtype=np.int64))
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
    else:
        _, first, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, index.reshape(-1)
