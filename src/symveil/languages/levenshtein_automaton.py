"""The Levenshtein automaton of a word: all words within k insertions, deletions and substitutions (J19 Definition 7).

A state (i, e) has dealt with i symbols of the word at the price of e edits. Its moves: the word's next
symbol for free; any symbol, inserted; any symbol, substituted; nothing, where the word's symbol is
deleted. J19 Algorithm 1 as printed reads any symbol *for free* in place of the insertion (E2 of the
errata); it is kept as `printed=True` to show the difference.

The automaton has several runs for one word, so its paths do not count words. Counting goes through
the universal determinisation (`languages.edit_neighbours`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

import numpy as np

from symveil.errors import ParameterError, TooLargeError, WordError
from symveil.languages.edit_distance import edit_distance
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.limits import LIMITS
from symveil.languages.open import BoundedLanguage
from symveil.models.alphabet import Alphabet, Symbol, Word, encode, is_hashable
from symveil.models.automaton import Automaton, Transition
from symveil.numbers.once import computed_once
from symveil.pictures.diagram import Diagram, Edge, Node, to_dot
from symveil.pictures.svg import to_svg
from symveil.pictures.text import superscript, symbol_label

State = tuple[int, int]
"""(position, edits): how many symbols of the word have been dealt with, and at which price."""

Kind = Literal["match", "insertion", "substitution", "deletion", "printed"]


@dataclass(frozen=True, slots=True)
class EditMove:
    """A move of the automaton: by one own symbol, by any symbol, or silently (`symbols` is empty)."""

    source: State
    target: State
    kind: Kind
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True, kw_only=True)
class LevenshteinAutomaton:
    """Accepts the words whose Levenshtein distance to a given word is at most `within`.

    The word is kept as `codes` and is a secret: it appears in drawings, in edges and in nothing
    else. Construct with `levenshtein_automaton`.

    Parameters
    ----------
    alphabet
        The symbols.
    codes
        The word, as codes of the alphabet.
    within
        The largest distance that is accepted.
    printed
        Whether it is built as J19 prints it, errors included.

    >>> automaton = levenshtein_automaton("abc", 1)
    >>> automaton.length, automaton.within, automaton.accepts("ac")
    (3, 1, True)
    """

    alphabet: Alphabet
    codes: tuple[int, ...] = field(repr=False)
    within: int
    printed: bool = False

    @property
    def length(self) -> int:
        """n: how many symbols the word has."""
        return len(self.codes)

    # --- states and edges ----------------------------------------------------------------------

    @property
    def states(self) -> Iterator[State]:
        """The states (position, edits)."""
        return ((position, edits) for position in range(self.length + 1) for edits in range(self.within + 1))

    @property
    def edges(self) -> Iterator[EditMove]:
        """The moves from every state, in the order of the states."""
        for state in self.states:
            yield from self._moves(state)

    @property
    def state_count(self) -> int:
        """(n+1)(k+1).

        >>> automaton = levenshtein_automaton("abc", 2)          # J19 Fig. 1a
        >>> automaton.state_count, automaton.edge_count
        (12, 29)
        """
        return (self.length + 1) * (self.within + 1)

    @property
    def edge_count(self) -> int:
        """Moves by one symbol, by any symbol and silent ones, each counted once."""
        insertions = self.length if self.printed else self.length + 1
        return self.length * (self.within + 1) + self.within * (insertions + 2 * self.length)

    def _moves(self, state: State) -> Iterator[EditMove]:
        position, edits = state
        whole = self.alphabet.symbols
        more_edits = edits < self.within
        if position < self.length:
            own = (whole[self.codes[position]],)
            yield EditMove(state, (position + 1, edits), "match", own)
        if more_edits and not self.printed:
            yield EditMove(state, (position, edits + 1), "insertion", whole)
        if more_edits and position < self.length:
            if self.printed:  # J19 Algorithm 1, line 10
                yield EditMove(state, (position + 1, edits), "printed", whole)
            yield EditMove(state, (position + 1, edits + 1), "substitution", whole)
            yield EditMove(state, (position + 1, edits + 1), "deletion", ())

    # --- acceptance ----------------------------------------------------------------------------

    def accepts(self, word: Word) -> bool:
        """Whether a run accepts the word: for the right automaton, whether it is near enough.

        >>> automaton = levenshtein_automaton("abc", 1)
        >>> automaton.accepts("bc"), automaton.accepts("aabc"), automaton.accepts("cba")
        (True, True, False)
        """
        try:
            codes = encode(word, self.alphabet).tolist()
        except WordError:
            return False
        reached = self._closed({(0, 0)})
        for code in codes:
            reached = self._closed(self._read(reached, code))
        return self._final(reached)

    def _read(self, states: Iterable[State], code: int) -> set[State]:
        symbol = self.alphabet.symbols[code]
        return {move.target for state in states for move in self._moves(state) if symbol in move.symbols}

    def _closed(self, states: set[State]) -> frozenset[State]:
        """The states with all that deletions reach from them."""
        closed = {(i + step, e + step) for i, e in states for step in range(min(self.length - i, self.within - e) + 1)}
        return frozenset(closed)

    def _final(self, states: Iterable[State]) -> bool:
        return any(position == self.length for position, _ in states)

    def distance(self, word: Word) -> int:
        """The Levenshtein distance of a word over the alphabet, whether or not it is accepted.

        >>> levenshtein_automaton("sample", 3, alphabet="aelmpsx").distance("examples")      # J19 §II-D
        3
        """
        return edit_distance(self.codes, encode(word, self.alphabet))

    def misjudged(self) -> tuple[Symbol, ...] | None:
        """A shortest word that the automaton as printed accepts though it is too far, or refuses though it is near.

        None where there is none, as for the right automaton.

        >>> levenshtein_automaton("abc", 2, printed=True).misjudged()
        ('c', 'a')
        """
        right = LevenshteinAutomaton(alphabet=self.alphabet, codes=self.codes, within=self.within)
        begin = (self._closed({(0, 0)}), right._closed({(0, 0)}))
        seen = {begin}
        queue: deque[tuple[tuple[int, ...], tuple[frozenset[State], frozenset[State]]]] = deque([((), begin)])
        while queue:
            word, (ours, theirs) = queue.popleft()
            if self._final(ours) != self._final(theirs):
                return tuple(self.alphabet.symbols[code] for code in word)
            for code in range(len(self.alphabet)):
                after = (self._closed(self._read(ours, code)), right._closed(right._read(theirs, code)))
                if after not in seen and any(after):
                    seen.add(after)
                    queue.append(((*word, code), after))
        return None

    # --- counting ------------------------------------------------------------------------------

    @computed_once
    def _neighbours(self) -> EditNeighbours:
        if self.printed:
            raise ParameterError(
                "printed", expected="the right automaton, whose distances mean something", found="the printed one"
            )
        return EditNeighbours(self.codes, symbols=len(self.alphabet), within=self.within)

    def count(self, distance: int, *, length: int | None = None) -> int:
        """How many words lie at exactly this distance, of one length or of all: exact integers.

        >>> automaton = levenshtein_automaton("abc", 2)
        >>> [automaton.count(distance) for distance in range(3)], automaton.count(2, length=3)
        ([1, 18, 111], 16)
        """
        return self._neighbours.count(distance, length=length)

    @property
    def language_size(self) -> int:
        """How many words are accepted."""
        return sum(self._neighbours.counts())

    def neighbours(self, language: BoundedLanguage) -> EditNeighbours:
        """The words of a language within the distance, counted and ready to be drawn: the product of both.

        >>> from symveil.languages.open import words_up_to
        >>> levenshtein_automaton("abc", 1).neighbours(words_up_to("abc", 3)).counts()   # none of the longer ones
        [1, 9]
        """
        if self.printed:
            _ = self._neighbours  # refuses
        symbols = (self.alphabet.symbols[code] for code in self.codes)
        return EditNeighbours(
            (language.alphabet.code.get(symbol, -1) for symbol in symbols),
            symbols=len(language.alphabet),
            within=self.within,
            max_length=language.max_length,
            graph=language.graph,
        )

    @property
    def deterministic_size(self) -> tuple[int, int]:
        """States and grouped edges of the deterministic automaton, in layers by the symbols read."""
        return self._neighbours.state_count, self._neighbours.edge_count

    def to_automaton(self) -> Automaton:
        """The same automaton as a model, to be saved, counted or multiplied like any other.

        >>> import symveil as sv
        >>> model = levenshtein_automaton("abc", 2).to_automaton()
        >>> sv.runs(model, length=5).size                # words of five symbols within distance 2
        51
        """
        rows: list[Transition] = []
        for move in self.edges:
            source, target = (f"{position},{edits}" for position, edits in (move.source, move.target))
            rows += [(source, cast(str, symbol), target) for symbol in move.symbols] or [(source, None, target)]
        # in the printed automaton a match and the free move may coincide
        return Automaton.from_transitions(
            dict.fromkeys(rows),
            initial="0,0",
            accepting=[f"{self.length},{edits}" for edits in range(self.within + 1)],
            states=[f"{position},{edits}" for position, edits in self.states],
        )

    # --- drawing -------------------------------------------------------------------------------

    def to_diagram(self) -> Diagram:
        """The automaton as in J19 Fig. 1a: edits upwards, ∗ for any symbol, ε for none."""
        if self.state_count > LIMITS.now.drawn_states:
            raise TooLargeError(
                f"drawing: expected at most {LIMITS.now.drawn_states} states, found {self.state_count}; draw a shorter "
                "word or a smaller distance, its structure is the same",
            )
        nodes = tuple(
            Node(
                key=state,
                column=state[0],
                row=state[1],
                label=(f"{state[0]}{superscript(state[1])}",),
                initial=state == (0, 0),
                accepting=state[0] == self.length,
            )
            for state in self.states
        )
        labels: dict[tuple[State, State], list[str]] = {}
        for move in self.edges:
            text = {"match": symbol_label(move.symbols[0]) if move.symbols else "", "deletion": "ε"}
            labels.setdefault((move.source, move.target), []).append(text.get(move.kind, "∗"))
        edges = tuple(
            Edge(source=source, target=target, label=", ".join(parts)) for (source, target), parts in labels.items()
        )
        title = f"Levenshtein distance at most {self.within}"
        return Diagram(
            title=f"{title}, as printed in J19 Algorithm 1" if self.printed else title,
            nodes=nodes,
            edges=edges,
            label_meaning="iᵉ: i symbols of the word, e edits; ∗ any symbol, ε none",
        )

    def to_svg(self) -> str:
        """The drawing as a self-contained SVG document."""
        return to_svg(self.to_diagram())

    def to_dot(self) -> str:
        """The drawing as a Graphviz graph."""
        return to_dot(self.to_diagram())

    def _repr_svg_(self) -> str | None:
        """What a notebook shows; None, so that it shows the text, where a drawing would be too large."""
        return self.to_svg() if self.state_count <= LIMITS.now.drawn_states else None

    def __repr__(self) -> str:
        printed = ", as printed" if self.printed else ""
        return (
            f"LevenshteinAutomaton(distance at most {self.within} from a word of length {self.length}, alphabet of "
            f"{len(self.alphabet)} symbols: {self.state_count} states, {self.edge_count} edges{printed})"
        )


def levenshtein_automaton(
    word: Word,
    k: int,
    *,
    alphabet: Alphabet | Iterable[Symbol] | None = None,
    printed: bool = False,
) -> LevenshteinAutomaton:
    """The automaton of all words within Levenshtein distance `k` of `word`.

    Without an `alphabet` it is the symbols of the word, in the order of their appearance. An
    automaton tells its word: it is for the holder of the word only.

    Parameters
    ----------
    word
        The word in the middle.
    k
        The largest distance that is accepted.
    alphabet
        The symbols; by default those of the word.
    printed
        Build it as J19 prints it, errors included.

    >>> levenshtein_automaton("abc", 2)
    LevenshteinAutomaton(distance at most 2 from a word of length 3, alphabet of 3 symbols: 12 states, 29 edges)
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 0:
        raise ParameterError("k", expected="a whole number, 0 or more", found=k)
    if alphabet is None:
        if not isinstance(word, Iterable):
            raise WordError(f"word: expected a string or a sequence of symbols, found a {type(word).__name__}")
        own = word if isinstance(word, str) else tuple(word)
        alphabet = dict.fromkeys(own) if all(map(is_hashable, own)) else own
    symbols = Alphabet.from_symbols(alphabet)
    codes = tuple(encode(word, symbols).tolist())
    return LevenshteinAutomaton(alphabet=symbols, codes=codes, within=int(k), printed=printed)
