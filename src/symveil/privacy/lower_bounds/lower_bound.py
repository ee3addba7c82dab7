"""The least expected error that ε-privacy allows, from below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from symveil.errors import ParameterError
from symveil.languages.free import FreeLanguage
from symveil.languages.runs import RunLanguage
from symveil.numerics.balls import STANDARD_PRECISION, precision
from symveil.numerics.exponentials import exp_enclosure
from symveil.numerics.rationals import Number
from symveil.privacy.lower_bounds.free_words import least_staircase_error
from symveil.privacy.lower_bounds.prior import Floats, Prior
from symveil.privacy.lower_bounds.sampled_prices import StarPrices
from symveil.privacy.lower_bounds.small_language import small_programme
from symveil.privacy.lower_bounds.tiling import Tile, best_tiling
from symveil.privacy.lower_bounds.window_prices import WindowPrices, better
from symveil.privacy.parameters import Adjacency, read_adjacency, read_epsilon

CONFIDENCE = 0.99
"""Of a bound that rests on sampled words."""

# Words of a window more steps apart than this are taken to have nothing to do with each other.
_MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class LowerBound:
    """No ε-private mechanism has a smaller expected number of wrong symbols, averaged over a public prior.

    `confidence` is None for a proved bound. Otherwise it rests on words drawn from the prior, from a fixed public seed: of
    all seeds, at most a share 1 − `confidence` would give a value above the truth. `method` is "closed form" (Σⁿ),
    "programme" (a small language, solved) or "tiles"; `tiles` are the tiles of the word and their prices.
    """

    value: float
    confidence: float | None
    prior: str
    method: str
    tiles: tuple[Tile, ...] = ()

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "value": self.value,
            "confidence": self.confidence,
            "prior": self.prior,
            "method": self.method,
            "tiles": [tile.document() for tile in self.tiles],
        }

    def _repr_html_(self) -> str:
        sure = "proved" if self.confidence is None else f"confidence {self.confidence:g}"
        return f"<p>expected error ≥ {self.value:.6g} <small>({sure}; {self.prior} prior)</small></p>"


def lower_bound(
    language: FreeLanguage | RunLanguage,
    *,
    epsilon: Number,
    adjacency: Adjacency = 1,
    prior: str = "uniform",
    proved: bool = False,
) -> LowerBound:
    """A lower bound on the expected error of every ε-private mechanism, whatever its form and its outputs.

    The error is the number of wrong symbols (Hamming distance), averaged over the prior; the worst word's is no smaller.

    Parameters
    ----------
    language
        The words: `words(alphabet, length)` or `runs(model, length)`.
    epsilon
        The privacy loss that mechanisms may have.
    adjacency
        Words that differ in at most so many positions are to be hard to tell apart; "all" for any two words.
    prior
        "uniform": all feasible words alike; with a public start all first symbols alike, and for each of them all words
        that begin with it. "chain": as a Markov chain has them.
    proved
        Leave out what rests on sampled words: a bound without `confidence`, which may be smaller.

    >>> import symveil as sv
    >>> words = sv.words("abc", 4)
    >>> bound = sv.lower_bound(words, epsilon=4, adjacency=2)
    >>> round(bound.value, 4), bound.confidence
    (0.6737, None)
    >>> round(sv.Staircase(words, epsilon=4, adjacency=2).distances().expected_error, 4)       # nothing is left
    0.6737
    """
    if not isinstance(language, FreeLanguage | RunLanguage):
        raise ParameterError(
            "language",
            expected="a language such as words(alphabet, length) or runs(model, length)",
            found=type(language).__name__,
        )
    loss = read_epsilon(epsilon)
    reach = min(read_adjacency(adjacency, length=language.length), language.largest_distance)
    if isinstance(language, FreeLanguage):
        if prior != "uniform":
            raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=prior)
        with precision(STANDARD_PRECISION):
            least = least_staircase_error(language, loss, reach) if reach else 0
            return LowerBound(_below(float(least.lower()) if reach else 0.0), None, "uniform", "closed form")
    return _on_model(language, loss, reach, prior, proved)


@lru_cache(maxsize=32)
def _on_model(language: RunLanguage, epsilon: Fraction, reach: int, kind: str, proved: bool) -> LowerBound:
    """The best of the solved programme, of proved tiles, and of tiles some of which are sampled."""
    prior = Prior(language, kind)
    if reach == 0:
        return LowerBound(0.0, None, kind, "tiles")
    decay = _decays(epsilon)
    programme = small_programme(prior, reach)
    if programme is not None:
        value = programme.bound(float(decay[1])) * (1 - prior.relative_error)
        return LowerBound(_below(value), None, kind, "programme")
    star = None if proved else StarPrices(prior, float(decay[1]), reach)
    prices = WindowPrices(prior, decay, reach)
    prices.grow({} if star is None else star.offers)
    tiles = best_tiling(prices.offers, prior.first, language.length)
    sure = _below(math.fsum(tile.value for tile in tiles))
    if star is not None:
        mixed = best_tiling(better(prices.offers, star.offers), prior.first, language.length)
        value, mixed = star.evaluated(mixed, CONFIDENCE)
        if _below(value) > sure:
            return LowerBound(_below(value), CONFIDENCE, kind, "tiles", mixed)
    return LowerBound(sure, None, kind, "tiles", tiles)


def _decays(epsilon: Fraction) -> Floats:
    """Lower bounds of e^{−εg} for g = 0, 1 …"""
    return np.array([max(0.0, float(exp_enclosure(-epsilon * steps)[0])) for steps in range(_MOST_STEPS + 1)])


def _below(value: float) -> float:
    """A float that prints as a decimal below the bound: a few units down, for the last sums and the printing."""
    return max(0.0, value * (1 - 2.0**-48))
