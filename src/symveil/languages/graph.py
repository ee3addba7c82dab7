"""A deterministic graph whose paths are the words: what every model becomes before words are counted.

From one state, one symbol leads to at most one state, so words and paths are the same thing and
counting paths counts words (an NFA is determinised first, because it may have several runs for a
word). Edges are stored by source, in the order of their symbols, as flat arrays for the compiled loops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ModelError, TooLargeError
from symveil.graphs.csr import Csr, Reordered, offsets
from symveil.languages.limits import LIMITS
from symveil.models.alphabet import Alphabet
from symveil.models.automaton import Automaton, Transition, TransitionSystem
from symveil.models.labelled_chain import LabelledChain
from symveil.models.markov_chain import MarkovChain
from symveil.models.names import shown
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem
from symveil.trellis.passes import Trellis, backward
from symveil.trellis.semirings import Numbers

NOT_ACCEPTED = "expected a word that the model accepts, found one that ends in a state that is not accepting"
"""What errors say of a word with which nothing is wrong but its end."""

Model = MarkovChain | TransitionSystem | Automaton
"""The models that have words."""

AnyModel = Model | PartiallyObserved | LabelledChain
"""Whatever a model file may hold."""


def one_way_advice(model: object) -> str:
    """What a map of moves may lack where a word is refused: the way back. It follows from the public map alone.

    Nothing where every move has its way back, and where those that have none are neither exceptions nor all.

    >>> pairs = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("c", "a")]
    >>> one_way_advice(MarkovChain.from_transitions([(*pair, "1/2" if pair[0] in "bc" else 1) for pair in pairs]))
    "the model has a move from 'c' to 'a' and none from 'a' to 'c'"
    """
    if not isinstance(model, MarkovChain):
        return ""
    moves = {(source, target): None for source, target, _ in model.transitions if source != target}
    one_way = [(source, target) for source, target in moves if (target, source) not in moves]
    if not one_way or len(moves) // 2 < len(one_way) < len(moves):
        return ""
    source, target = map(shown, one_way[0])
    missing = f"a move from {source} to {target} and none from {target} to {source}"
    if len(one_way) == len(moves):
        return f"the model has {missing}, and no way back of any other: a pair that goes both ways needs two rows"
    others = f", and {len(one_way) - 1} more without a way back" if len(one_way) > 1 else ""
    return f"the model has {missing}{others}"


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """Where edges arrive: a state with a symbol that leads there. In a chain that is a state.

    Edge e arrives at number `of_edge[e]`; `edges` lists edges by their arrivals, and `into` arrivals by their states.
    """

    target: NDArray[np.int64] = field(repr=False)
    symbol: NDArray[np.int64] = field(repr=False)
    of_edge: NDArray[np.int64] = field(repr=False)
    edges: Reordered = field(repr=False)
    into: Csr = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WordGraph(Csr):
    """States and, for each, its edges in the order of their symbols: `symbol[e]` leads to `target[e]`.

    `prior[e]` is the public probability of an edge, where the model has one, or another public weight of at most 1. In
    a chain the state after a symbol is known from the symbol alone (`state_is_symbol`).
    """

    alphabet: Alphabet
    start: int
    symbol: NDArray[np.int32] = field(repr=False)
    target: NDArray[np.int32] = field(repr=False)
    accepting: NDArray[np.bool_] = field(repr=False)
    prior: tuple[Fraction, ...] | None = field(repr=False, default=None)
    state_is_symbol: bool = False

    @property
    def is_chain(self) -> bool:
        """Whether each symbol is the state that it leads to."""
        return self.state_is_symbol and bool(np.array_equal(self.symbol, self.target))

    def completions(self, length: int, numbers: Numbers, *, settles: bool = False) -> list[NDArray[Any]]:
        """(k, s): what the words of k symbols that finish from s amount to, k = 0 … `length`.

        k goes up to `length`; `numbers`: whether it is computed how many there are, not only whether; `settles`:
        whether to look for a layer that repeats.
        """
        words = Trellis(edges=self, length=length, semiring=numbers, final=numbers.ends(self.accepting))
        return backward(words, settles=settles)[::-1]

    def edges_by_symbol(self) -> Reordered:
        """The edges in the order of their symbols: at most one from each state reads a symbol."""
        return Csr.from_edges(self.symbol, self.target, len(self.alphabet))

    def arrivals(self) -> Arrivals:
        """Where edges arrive, in the order of states and symbols."""
        letters = max(len(self.alphabet), 1)
        known, of_edge = np.unique(self.target.astype(np.int64) * letters + self.symbol, return_inverse=True)
        target = known // letters
        return Arrivals(
            target=target,
            symbol=known % letters,
            of_edge=of_edge,
            edges=Csr.from_edges(of_edge, self.target, len(known)),
            into=Csr(first=offsets(np.bincount(target, minlength=self.state_count)), target=np.arange(len(known))),
        )

    def step(self, state: int, symbol: int) -> int | None:
        """Where a symbol leads, or None."""
        low, high = int(self.first[state]), int(self.first[state + 1])
        index = low + int(np.searchsorted(self.symbol[low:high], symbol))
        return int(self.target[index]) if index < high and self.symbol[index] == symbol else None

    def states_of(self, codes: Iterable[int]) -> list[int]:
        """The states that a word passes through, the start included, as far as it can be followed."""
        states = [self.start]
        for code in codes:
            following = self.step(states[-1], code)
            if following is None:
                break
            states.append(following)
        return states


def ends_unaccepted(graph: WordGraph, codes: Iterable[int]) -> bool:
    """Whether each symbol of a word can follow the one before, but the word ends in a state that is not accepting.

    >>> pairs = Automaton.from_transitions([("0", "a", "1"), ("1", "b", "0")], initial="0", accepting=["0"])
    >>> graph = word_graph(pairs)
    >>> [ends_unaccepted(graph, codes) for codes in ([0, 1], [0, 1, 0], [1, 0])]
    [False, True, False]
    """
    word = list(codes)
    states = graph.states_of(word)
    return len(states) > len(word) and not graph.accepting[states[-1]]


def require_words(model: AnyModel) -> Model:
    """`model`, if it is one whose words can be released.

    >>> system = LogicalSystem.from_transitions([("0", "a", "1")], initial="0", observable=["a"])
    >>> require_words(system)
    Traceback (most recent call last):
    symveil.errors.ModelError: model: expected a markov-chain, a transition-system or an automaton,
    which has words, found a stochastic-system, which `symveil opacity` takes
    """
    if isinstance(model, MarkovChain | TransitionSystem | Automaton):
        return model
    command = "opacity" if isinstance(model, StochasticSystem | LogicalSystem) else "verify"
    raise ModelError(
        "model",
        expected="a markov-chain, a transition-system or an automaton, which has words",
        found=f"a {getattr(model, 'kind', type(model).__name__)}, which `symveil {command}` takes",
    )


def word_graph(model: AnyModel) -> WordGraph:
    """The graph of a model's words. A hidden start: a chain without `initial` may begin anywhere.

    A partially observed system is refused.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> graph = word_graph(chain)
    >>> graph.state_count, graph.edge_count          # two states and the start before them
    (3, 5)
    """
    words = require_words(model)
    if isinstance(words, MarkovChain):
        return _chain_graph(words)
    if isinstance(words, TransitionSystem):
        return _subset_graph(words.transitions, words.initial, frozenset(words.states))
    return _subset_graph(words.transitions, words.initial, frozenset(words.accepting))


def _chain_graph(chain: MarkovChain) -> WordGraph:
    alphabet = Alphabet(chain.states)
    code = alphabet.code
    rows = sorted((code[source], code[target], chance) for source, target, chance in chain.transitions)
    start = code[chain.initial] if chain.initial is not None else len(chain.states)
    if chain.initial is None:
        even = Fraction(1, len(chain.states))  # nothing is known about the first state
        rows += [(start, state, even) for state in range(len(chain.states))]
    size = max(len(chain.states), start + 1)
    targets = np.array([target for _, target, _ in rows], dtype=np.int32)
    return WordGraph(
        alphabet=alphabet,
        start=start,
        first=offsets(np.bincount([source for source, _, _ in rows], minlength=size)),
        symbol=targets,
        target=targets,
        accepting=np.ones(size, dtype=np.bool_),
        prior=tuple(chance for _, _, chance in rows),
        state_is_symbol=True,
    )


def _subset_graph(transitions: Iterable[Transition], initial: str, accepting: frozenset[str]) -> WordGraph:
    """The subset construction, with silent moves closed over; deterministic systems come out as they are."""
    moves: dict[str, dict[str, set[str]]] = {}
    silent: dict[str, set[str]] = {}
    symbols: dict[str, None] = {}
    for source, symbol, target in transitions:
        if symbol is None:
            silent.setdefault(source, set()).add(target)
        else:
            symbols.setdefault(symbol)
            moves.setdefault(source, {}).setdefault(symbol, set()).add(target)
    if not symbols:
        raise ModelError("transitions", expected="at least one transition with a symbol", found="none")
    alphabet = Alphabet(tuple(symbols))
    begin = _closed({initial}, silent)
    number = {begin: 0}
    queue = deque([begin])
    rows: list[tuple[int, int, int]] = []
    while queue:
        subset = queue.popleft()
        reached: dict[str, set[str]] = {}
        for state in subset:
            for symbol, targets in moves.get(state, {}).items():
                reached.setdefault(symbol, set()).update(targets)
        for code, target in sorted((alphabet.code[symbol], symbol) for symbol in reached):
            after = _closed(reached[target], silent)
            if after not in number:
                number[after] = len(number)
                queue.append(after)
                if len(number) > LIMITS.now.subsets:
                    raise TooLargeError(
                        f"model: expected at most {LIMITS.now.subsets} states after determinising, found more; "
                        "make the model more deterministic",
                    )
            rows.append((number[subset], code, number[after]))
    return WordGraph(
        alphabet=alphabet,
        start=0,
        first=offsets(np.bincount([source for source, _, _ in rows], minlength=len(number))),
        symbol=np.array([code for _, code, _ in rows], dtype=np.int32),
        target=np.array([target for _, _, target in rows], dtype=np.int32),
        accepting=np.array([bool(subset & accepting) for subset in number], dtype=np.bool_),
    )


def _closed(states: set[str], silent: Mapping[str, set[str]]) -> frozenset[str]:
    """The states together with all that silent moves reach from them."""
    closed, stack = set(states), list(states)
    while stack:
        for target in silent.get(stack.pop(), ()):
            if target not in closed:
                closed.add(target)
                stack.append(target)
    return frozenset(closed)
