"""The best sum of prices of tiles, some of them proved, some known from sampled words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from symveil.bounds.prior import Floats, Prior
from symveil.bounds.sampled_prices import StarPrices
from symveil.bounds.tiling import Tile, best_tiling
from symveil.bounds.window_prices import WindowPrices, better
from symveil.numbers.conversions import exp_enclosure
from symveil.numbers.progress import Progress

# Words of a window more steps apart than this are taken to have nothing to do with each other.
_MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class TiledBound:
    """A sum of prices, how sure it is (None: proved), and the tiles."""

    value: float
    confidence: float | None
    tiles: tuple[Tile, ...]


def tiled_bound(
    prior: Prior,
    epsilon: Fraction,
    reach: int | None,
    *,
    confidence: float | None,
    quick: bool = False,
    progress: Progress | None = None,
) -> TiledBound:
    """The better of proved tiles and, where a confidence is given, of tiles some of which are sampled.

    Parameters
    ----------
    prior
        The words and how probable they are.
    epsilon, reach
        The loss, and how many positions may differ between adjacent words. Without a reach it is the graceful promise,
        and ε what each position may lose.
    confidence
        Of the sampled part; None leaves it out.
    quick
        Whether to stop after about a second.
    progress
        Called with the work done, and with all of it.
    """
    decay = decays(epsilon)
    first, length = prior.first, prior.language.length
    star = None if confidence is None else StarPrices(prior, decay, reach, quick=quick)
    prices = WindowPrices(prior, decay, reach, quick=quick, progress=progress)
    prices.grow({} if star is None else star.offers)
    tiles = best_tiling(prices.offers, first, length)
    proved = TiledBound(math.fsum(tile.value for tile in tiles), None, tiles)
    if star is None or confidence is None:
        return proved
    value, mixed = star.evaluated(best_tiling(better(prices.offers, star.offers), first, length), confidence)
    return TiledBound(value, confidence, mixed) if value > proved.value else proved


def decays(epsilon: Fraction) -> Floats:
    """Lower bounds of e^{−εg} for g = 0, 1 …"""
    return np.array([max(0.0, float(exp_enclosure(-epsilon * steps)[0])) for steps in range(_MOST_STEPS + 1)])
