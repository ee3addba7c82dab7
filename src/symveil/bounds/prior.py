"""The public prior that a bound averages over: how probable each word of a model is, and words drawn from it.

"uniform": all feasible words alike. "chain": as the Markov chain has them, given that the word is feasible.

Everything is a sum of products of positive floats, so relative errors are known beforehand (`relative_error`). Weights
of completions have an exponent of their own in each state: words may be few from one state and very many from another.

Tiles of a word, and the tiling whose prices add up to most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.limits import LIMITS
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.runs import RunLanguage
from symveil.models.alphabet import Codes
from symveil.randomness import BitSource
from symveil.trellis.passes import Trellis, backward, drawn_paths, forward
from symveil.trellis.semirings import FLOATS, WIDE_FLOATS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A chance or a product below these loses relative precision: such a chance is refused, such a product left out.
_LEAST_CHANCE = 2.0**-400
LEAST_PRODUCT = 2.0**-900


class Prior:
    """Weights of the words of a model, layer by layer.

    `chance_of[i][s]` is the probability that a word is in state s after i symbols. The weight of all completions from
    s after i symbols is `_digits[i][s]`·2^`_exponent[i][s]`.
    """

    def __init__(self, language: RunLanguage, kind: str) -> None:
        if kind not in ("uniform", "chain"):
            raise ParameterError("prior", expected="uniform or chain", found=kind)
        graph = language.graph
        if kind == "chain" and graph.prior is None:
            raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=kind)
        if graph.state_count * (language.length + 1) > LIMITS.now.chances:
            actual = f"{graph.state_count} × {language.length}"
            raise TooLargeError(f"lower bound: expected at most {LIMITS.now.chances} states × symbols, found {actual}")
        self.language, self.kind = language, kind
        self.source = graph.source
        self.edge_weights: Floats = np.ones(graph.edge_count)
        if kind == "chain" and graph.prior is not None:
            self.edge_weights = np.array([float(chance) for chance in graph.prior])
            if self.edge_weights.min(initial=1.0) < _LEAST_CHANCE:
                raise ParameterError("prior", expected="uniform with chances as small as these", found="chain")
        self.first = 1 if language.public_start else 0
        """The first position that is secret: with a public start, the second symbol's."""
        self._run()

    def _run(self) -> None:
        graph, length = self.language.graph, self.language.length
        words = Trellis(
            edges=graph,
            length=length,
            semiring=WIDE_FLOATS,
            final=WIDE_FLOATS.ends(graph.accepting),
            worth=lambda _: self.edge_weights,
        )
        layers = backward(words)
        self._digits, self._exponent = [each[:, 0] for each in layers], [each[:, 1].astype(np.int64) for each in layers]
        steps = Trellis(
            edges=graph,
            length=length,
            semiring=replace(FLOATS, least=LEAST_PRODUCT),
            final=FLOATS.ends(graph.accepting),
            worth=self.step_chances,
        )
        self.chance_of = list(forward(steps, FLOATS.ends(np.arange(graph.state_count) == graph.start)))
        widest = max(graph.widest, int(np.bincount(graph.target, minlength=1).max(initial=0)))
        self.relative_error = 4 * (length + 2) * (widest + 8) * 2.0**-53
        """Of every probability computed here, and of the quotient of two weights."""

    def step_chances(self, position: int) -> Floats:
        """The chance of each edge at a position, for words that are in its source; 0 where no word is."""
        graph = self.language.graph
        own, following = self._digits[position][self.source], self._digits[position + 1][graph.target]
        shift = self._exponent[position + 1][graph.target] - self._exponent[position][self.source]
        chances = np.divide(self.edge_weights * following, own, out=np.zeros(len(own)), where=own > 0)
        return np.asarray(np.ldexp(chances, np.clip(shift, -2000, 1000).astype(np.int32)))

    def probability(
        self, begin: int, left: Integers, weights: Floats, end: int, right: Integers | None = None
    ) -> Floats:
        """π of the words that are in `left` after `begin` symbols and in `right` after `end`, by paths of `weights`.

        Without `right` the paths reach the end of the word, in accepting states.
        """
        digits, shift = weights / np.maximum(self._digits[begin][left], 0.5), -self._exponent[begin][left]
        if right is not None:
            digits, shift = digits * self._digits[end][right], shift + self._exponent[end][right]
        # π ≤ 1: a larger number comes from states that no word is in
        chances = np.ldexp(digits, np.clip(shift, -2000, 1000).astype(np.int32))
        return np.asarray(np.where(self.chance_of[begin][left] > 0, self.chance_of[begin][left] * chances, 0.0))

    def word_probabilities(self, words: Codes) -> Floats:
        """π of each word, given as rows of codes: the product of the chances of its steps."""
        edges = self.language.walk_edges(words)
        chances = np.ones(len(words))
        for position in range(self.language.length):
            chances *= self.step_chances(position)[edges[:, position]]
        return chances

    # --- drawing -------------------------------------------------------------------------------

    @property
    def drawing_error(self) -> float:
        """How far the law of a drawn word may be from the prior, in total variation: floats decide where it goes."""
        graph = self.language.graph
        step = (graph.widest + 1) * (graph.state_count + graph.widest + 4) * 2.0**-51
        return self.language.length * (step + self.relative_error)

    def draw(self, count: int, bits: BitSource) -> tuple[Integers, Integers]:
        """Words of the prior, from public bits: the states of each, the start included, and its edges."""
        graph, length = self.language.graph, self.language.length
        chances = (self.step_chances(position) for position in range(length))
        edges = drawn_paths(graph, chances, graph.start, bits.fractions(length * count).reshape(length, count).T)
        states = np.column_stack([np.full(count, graph.start), graph.target[edges]])
        return states, edges


@dataclass(frozen=True, slots=True)
class Tile:
    """Positions `first` … `last` (counted from 0), what the error on them costs at least, and which price says so.

    `window` is the stretch of positions whose words the price compares; with the star price it is the tile itself.
    """

    first: int
    last: int
    price: str
    value: float
    window: tuple[int, int]

    def document(self) -> dict[str, object]:
        """The JSON form; positions counted from 1."""
        return {
            "first": self.first + 1,
            "last": self.last + 1,
            "price": self.price,
            "value": self.value,
            "window": [self.window[0] + 1, self.window[1] + 1],
        }


def best_tiling(offers: Mapping[tuple[int, int], Tile], first: int, length: int) -> tuple[Tile, ...]:
    """Tiles without overlap, in order, with the largest sum; positions without an offer are left out.

    >>> offers = {(0, 0): Tile(0, 0, "a", 0.3, (0, 0)), (1, 1): Tile(1, 1, "a", 0.3, (1, 1)),
    ...           (0, 1): Tile(0, 1, "b", 0.5, (0, 1))}
    >>> [tile.price for tile in best_tiling(offers, 0, 2)]
    ['a', 'a']
    """
    ending: dict[int, list[Tile]] = {}
    for (begin, _), tile in offers.items():
        if begin >= first:
            ending.setdefault(tile.last, []).append(tile)
    best = [0.0]
    taken: list[Tile | None] = [None]
    for position in range(first, length):
        total, choice = best[-1], None
        for tile in ending.get(position, ()):
            candidate = best[tile.first - first] + tile.value
            if candidate > total:
                total, choice = candidate, tile
        best.append(total)
        taken.append(choice)
    tiles: list[Tile] = []
    end = length - first
    while end > 0:
        last = taken[end]
        if last is None:
            end -= 1
        else:
            tiles.append(last)
            end = last.first - first
    return tuple(reversed(tiles))
