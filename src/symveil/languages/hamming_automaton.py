"""The Hamming automaton of a word: all words near it, on the grid of position × errors.

J19 §II-D calls it the substitution Levenshtein automaton A_{x,k}^{|x|}, B26 Definition 5 the
modified Hamming distance automaton. A state (i, e) has read i symbols, e of them different from
the word's; the word's own next symbol leads to (i+1, e), any other one to (i+1, e+1).

On this grid everything has a closed form, so an automaton is its word and two numbers: states
and edges are counted without being built, and V, which J19 Algorithm 2 and B26 Algorithm 1 find
by a backward pass, is a sum of binomial terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from symveil.errors import ParameterError, TooLargeError, WordError
from symveil.languages.limits import LIMITS
from symveil.models.alphabet import Alphabet, Symbol, Word, encode
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.svg import Drawable
from symveil.pictures.text import count_label, others_label, probability_label, superscript, symbol_label

State = tuple[int, int]
"""(position, errors): how many symbols have been read, and how many of them differ."""


@dataclass(frozen=True, slots=True)
class GroupedEdge:
    """All symbols that lead from one state to another: the word's own one, or all the others."""

    source: State
    target: State
    kind: Literal["match", "mismatch"]
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The policy μ on one grouped edge: the probability of `each` of its symbols, and of all `together`."""

    edge: GroupedEdge
    each: Fraction

    @property
    def together(self) -> Fraction:
        """The probability that the edge is taken, by whichever symbol."""
        return self.each * len(self.edge.symbols)


@dataclass(frozen=True, slots=True, kw_only=True)
class HammingAutomaton(Drawable):
    """Accepts the words whose distance to a given word is `fewest_errors` … `most_errors`.

    Trimmed: every state is reachable, and acceptance is reachable from it. The word is kept as
    `codes` and is a secret: it appears in drawings, in edges and in nothing else. Construct with
    `hamming_automaton`.

    Parameters
    ----------
    alphabet
        The symbols.
    codes
        The word, as codes of the alphabet.
    fewest_errors, most_errors
        The distances that are accepted, from and to.

    >>> automaton = hamming_automaton("abc", alphabet="abc", within=1)
    >>> automaton.fewest_errors, automaton.most_errors, automaton.accepts("abb")
    (0, 1, True)
    """

    alphabet: Alphabet
    codes: tuple[int, ...] = field(repr=False)
    fewest_errors: int
    most_errors: int

    def __post_init__(self) -> None:
        for position, code in enumerate(self.codes, start=1):
            if not 0 <= code < len(self.alphabet):
                raise WordError(
                    f"codes: expected values 0 to {len(self.alphabet) - 1}, found another one at position "
                    f"{position} of {self.length}",
                    position=position,
                )
        # With one symbol there is nothing to mistake it for.
        largest = self.length if len(self.alphabet) > 1 else 0
        _read_distance("most_errors", self.most_errors, largest=largest)
        _read_distance("fewest_errors", self.fewest_errors, largest=self.most_errors)

    @property
    def length(self) -> int:
        """n: how many symbols each accepted word has."""
        return len(self.codes)

    # --- states and edges ----------------------------------------------------------------------

    @property
    def states(self) -> Iterator[State]:
        """The states by position, then errors, one after the other: there may be very many.

        >>> list(hamming_automaton("abc", alphabet="abc", exactly=2).states)
        [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2)]
        """
        for position in range(self.length + 1):
            for errors in self._errors_at(position):
                yield position, errors

    @property
    def edges(self) -> Iterator[GroupedEdge]:
        """The grouped edges in the order of their sources, a match before its mismatch."""
        for position in range(self.length):
            match, mismatch = self._symbols_at(position)
            for errors in self._errors_at(position):
                yield from self._edges_from((position, errors), match, mismatch)

    @property
    def state_count(self) -> int:
        """How many states there are, in closed form.

        >>> word = "american control conference 2019"
        >>> automaton = hamming_automaton(word, alphabet=sorted(set(word)))
        >>> automaton.state_count, automaton.edge_count  # J19 §VII-A
        (561, 1056)
        """
        return self.length + 1 + self._reachable_errors - self.fewest_errors * (self.fewest_errors + 1) // 2

    @property
    def edge_count(self) -> int:
        """How many grouped edges there are, in closed form."""
        fewest, most = self.fewest_errors, self.most_errors
        matches = self.length + self._reachable_errors - most - fewest * (fewest + 1) // 2
        mismatches = self._reachable_errors - fewest * (fewest - 1) // 2
        return matches + mismatches

    @property
    def _reachable_errors(self) -> int:
        """Σ min(i, most) over the positions i: what the states' ranges of errors add up to, before trimming."""
        most = self.most_errors
        return most * (most + 1) // 2 + (self.length - most) * most

    def _errors_at(self, position: int) -> range:
        """The errors of the states at a position: no more than were possible, no fewer than can be made up for."""
        remaining = self.length - position
        return range(max(0, self.fewest_errors - remaining), min(position, self.most_errors) + 1)

    def _symbols_at(self, position: int) -> tuple[tuple[Symbol, ...], tuple[Symbol, ...]]:
        """The word's symbol at a position, and all others."""
        code, symbols = self.codes[position], self.alphabet.symbols
        return (symbols[code],), symbols[:code] + symbols[code + 1 :]

    def _edges_from(
        self, state: State, match: tuple[Symbol, ...], mismatch: tuple[Symbol, ...]
    ) -> Iterator[GroupedEdge]:
        position, errors = state
        allowed = self._errors_at(position + 1)
        if errors in allowed:
            yield GroupedEdge(state, (position + 1, errors), "match", match)
        if errors + 1 in allowed:
            yield GroupedEdge(state, (position + 1, errors + 1), "mismatch", mismatch)

    def _require_state(self, position: int, errors: int) -> None:
        if not 0 <= position <= self.length or errors not in self._errors_at(position):
            raise ParameterError(
                "state", expected="a state (position, errors) of the automaton", found=(position, errors)
            )

    # --- counting and policy -------------------------------------------------------------------

    def ways(self, position: int, errors: int) -> int:
        """V: how many ways there are to finish an accepted word from a state.

        With r symbols to go it is Σ_j C(r, j)(m−1)^j over the j further errors that lead to acceptance.

        >>> automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
        >>> automaton.ways(0, 0), automaton.ways(1, 0), automaton.ways(1, 1)  # J19 Fig. 2
        (12, 4, 4)
        """
        self._require_state(position, errors)
        remaining, others = self.length - position, len(self.alphabet) - 1
        first = max(0, self.fewest_errors - errors)
        last = min(remaining, self.most_errors - errors)
        if first == 0 and last == remaining:
            return int(len(self.alphabet) ** remaining)
        term = math.comb(remaining, first) * int(others**first)
        total = term
        for further in range(first, last):
            term = term * (remaining - further) * others // (further + 1)
            total += term
        return total

    def policy(self, position: int, errors: int) -> tuple[Choice, ...]:
        """μ: with which probability each symbol comes next, so that every accepted word is equally likely.

        A final state has no choices. Following the policy from the start draws a uniform word
        (J19 Algorithm 2, B26 Algorithm 1).

        >>> automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
        >>> [(choice.edge.symbols, str(choice.each)) for choice in automaton.policy(0, 0)]
        [(('a',), '1/3'), (('b', 'c'), '1/3')]
        """
        total = self.ways(position, errors)
        if position == self.length:
            return ()
        edges = self._edges_from((position, errors), *self._symbols_at(position))
        return tuple(Choice(edge, Fraction(self.ways(*edge.target), total)) for edge in edges)

    @property
    def language_size(self) -> int:
        """How many words are accepted."""
        return self.ways(0, 0)

    def accepts(self, word: Word) -> bool:
        """Whether a word is within the distances; one of another length or with other symbols never is.

        >>> automaton = hamming_automaton("abc", alphabet="abc", within=1)
        >>> automaton.accepts("abb"), automaton.accepts("bca"), automaton.accepts("abcc")
        (True, False, False)
        """
        try:
            codes = encode(word, self.alphabet).tolist()
        except WordError:
            return False
        if len(codes) != self.length:
            return False
        distance = sum(int(read != own) for read, own in zip(codes, self.codes, strict=True))
        return self.fewest_errors <= distance <= self.most_errors

    # --- drawing -------------------------------------------------------------------------------

    def to_diagram(self) -> Diagram:
        """The automaton as in J19 Fig. 2 and B26 Fig. 1: errors upwards, V in blue, μ in red."""
        if self.state_count > LIMITS.now.drawn_states:
            raise TooLargeError(
                f"drawing: expected at most {LIMITS.now.drawn_states} states, found {self.state_count}; draw a shorter "
                "word or a smaller distance (within=…), its structure is the same",
            )
        ways = {state: self.ways(*state) for state in self.states}
        nodes = tuple(
            Node(
                key=(position, errors),
                column=position,
                row=errors,
                label=(f"{position}{superscript(errors)}",),
                value=count_label(count),
                initial=position == 0,
                accepting=position == self.length,
            )
            for (position, errors), count in ways.items()
        )
        edges = tuple(
            Edge(
                source=edge.source,
                target=edge.target,
                label=self._edge_label(edge),
                annotation=_policy_label(Fraction(ways[edge.target], ways[edge.source]), len(edge.symbols)),
            )
            for edge in self.edges
        )
        return Diagram(
            title=f"{self._distances_in_words()} · {_counted(self.language_size, 'word')}",
            nodes=nodes,
            edges=edges,
            label_meaning="iᵉ: after i symbols, e errors",
            value_meaning="V: ways to finish",
            annotation_meaning="μ: probability of a symbol" if edges else "",
        )

    def _edge_label(self, edge: GroupedEdge) -> str:
        own = self.alphabet.symbols[self.codes[edge.source[0]]]
        return symbol_label(own) if edge.kind == "match" else others_label(edge.symbols, besides=own)

    def _distances_in_words(self) -> str:
        if self.fewest_errors == self.most_errors:
            return f"Distance exactly {self.most_errors}"
        if self.fewest_errors == 0:
            return f"Distance at most {self.most_errors}"
        return f"Distance {self.fewest_errors} to {self.most_errors}"

    def __repr__(self) -> str:
        return (
            f"HammingAutomaton({self._distances_in_words().lower()} from a word of length {self.length}, "
            f"alphabet of {len(self.alphabet)} symbols: {self.state_count} states, {self.edge_count} edges)"
        )


def hamming_automaton(
    word: Word,
    *,
    alphabet: Alphabet | Iterable[Symbol],
    within: int | None = None,
    exactly: int | None = None,
) -> HammingAutomaton:
    """The automaton of all words near `word`: `within` a distance, or at `exactly` a distance.

    Without either it accepts every word of the same length: `within` is the length.

    Parameters
    ----------
    word
        The word in the middle. An automaton tells it: for its holder only.
    alphabet
        The symbols.
    within
        Accept words up to this distance.
    exactly
        Accept words at this distance; not together with `within`.

    >>> hamming_automaton("abc", alphabet="abc", exactly=2)
    HammingAutomaton(distance exactly 2 from a word of length 3, alphabet of 3 symbols: 6 states, 7 edges)
    >>> hamming_automaton("abc", alphabet="abc", exactly=4)
    Traceback (most recent call last):
    symveil.errors.ParameterError: exactly: expected a whole number from 0 to 3, found 4
    """
    if within is not None and exactly is not None:
        raise ParameterError("exactly", expected="either within or exactly, not both", found=exactly)
    symbols = Alphabet.from_symbols(alphabet)
    codes = tuple(encode(word, symbols).tolist())
    largest = len(codes) if len(symbols) > 1 else 0
    if exactly is not None:
        fewest = most = _read_distance("exactly", exactly, largest=largest)
    else:
        fewest = 0
        most = len(codes) if within is None else _read_distance("within", within, largest=len(codes))
        most = min(most, largest)
    return HammingAutomaton(alphabet=symbols, codes=codes, fewest_errors=fewest, most_errors=most)


def _read_distance(name: str, value: int, *, largest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise ParameterError(name, expected=f"a whole number from 0 to {largest}", found=value)
    return value


def _policy_label(each: Fraction, symbols: int) -> str:
    return probability_label(each) + (" each" if symbols > 1 else "")


def _counted(count: int, noun: str) -> str:
    return f"{count_label(count)} {noun}" + ("" if count == 1 else "s")
