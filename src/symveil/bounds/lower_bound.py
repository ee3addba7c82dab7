"""The least expected error that a promise allows, from below.

The best sum of prices of tiles, some of them proved, some known from sampled words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from symveil.bounds.prior import Floats, Prior, Tile, best_tiling
from symveil.bounds.programme import small_programme
from symveil.bounds.star_price import StarPrices
from symveil.bounds.window_prices import WindowPrices, better
from symveil.errors import ParameterError
from symveil.languages.free import FreeLanguage
from symveil.languages.language import Language
from symveil.languages.runs import RunLanguage
from symveil.laws.adjacency import chosen_adjacency
from symveil.laws.parameters import Adjacency, read_adjacency, read_beyond, read_epsilon
from symveil.numbers.conversions import STANDARD_PRECISION, ball, exp_enclosure, float_bounds, precision
from symveil.numbers.once import LastFew
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import Number, exact, shown_at_most
from symveil.reports.page import Reported
from symveil.reports.report import Headline, Report, Section

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

    Without a reach it is the graceful promise, and ε what each position may lose. `confidence` is that of the sampled
    part; None leaves it out. `quick`: stop after about a second.
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


CONFIDENCE = 0.99
"""Of a bound that rests on sampled words, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class LowerBound(Reported):
    """No mechanism that keeps a promise has a smaller expected number of wrong symbols, averaged over a public prior.

    Parameters
    ----------
    value
        The bound, rounded down.
    confidence
        None for a proved bound. Otherwise it rests on words drawn from the prior, from a fixed public seed: of all
        seeds, at most a share 1 − `confidence` would give a value above the truth.
    prior
        What the average is over: "uniform" or "chain".
    method
        "closed form" (Σⁿ), "programme" (a small language, solved) or "tiles".
    tiles
        The tiles of the word and their prices.
    beyond
        Which promise: "nothing", words within b lose at most ε; "graceful", any two words that differ in d places lose
        at most (d/b)·ε; a number K, at most K times that, and ε within b.

    >>> import symveil as sv
    >>> print(sv.lower_bound(sv.words("abc", 4), epsilon=4, adjacency=2))
    no ε-private mechanism has an expected error below 0.673666 (proved; average over the uniform prior)
    """

    value: float
    confidence: float | None
    prior: str
    method: str
    tiles: tuple[Tile, ...] = ()
    beyond: str = "nothing"

    @property
    def bounded(self) -> str:
        """The mechanisms that it is about, in words."""
        if self.beyond == "nothing":
            return "ε-private mechanism"
        factor = "" if self.beyond == "graceful" else f"{self.beyond}·"
        return f"mechanism that loses at most {factor}(d/b)·ε at every distance d"

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "value": self.value,
            "confidence": self.confidence,
            "prior": self.prior,
            "beyond": self.beyond,
            "method": self.method,
            "tiles": [tile.document() for tile in self.tiles],
        }

    def __str__(self) -> str:
        sure = "proved" if self.confidence is None else f"confidence {self.confidence:g}"
        return (
            f"no {self.bounded} has an expected error below {shown_at_most(self.value)} ({sure}; average over the "
            f"{self.prior} prior)"
        )

    def report(self) -> Report:
        """The bound and what it rests on."""
        sure = "proved" if self.confidence is None else f"confidence {self.confidence:g}"
        meaning = f"is the least expected error of every {self.bounded}, on average over the {self.prior} prior"
        number = Headline(f"at least {shown_at_most(self.value)}", meaning, sure)
        return Report(title="Lower bound", sections=(Section("Lower bound", (number,)),))


def lower_bound(
    language: Language,
    *,
    epsilon: Number,
    adjacency: Adjacency | None = None,
    prior: str = "uniform",
    confidence: Number | None = CONFIDENCE,
    quick: bool = False,
    progress: Progress | None = None,
    beyond: str | Number = "nothing",
) -> LowerBound:
    """A lower bound on the expected error of every mechanism that keeps a promise, whatever its form and its outputs.

    The error is the number of wrong symbols (Hamming distance), averaged over the prior; that of the worst word is no
    smaller.

    Parameters
    ----------
    language
        The words, all of one length: `words(alphabet, length)` or `runs(model, length)`.
    epsilon
        The privacy loss that mechanisms may have.
    adjacency
        Words that differ in at most so many positions are to be hard to tell apart; "all" for any two words. None: 1
        over an alphabet; on a model it has to be given.
    prior
        "uniform": all feasible words alike. "chain": as a Markov chain has them.
    confidence
        Where sampled words help, how sure the bound is; None leaves them out: a proved bound, which may be smaller.
    quick
        Spend about a second, not ten: the bound may be smaller.
    progress
        Called with how much of the work is done, and of how much.
    beyond
        The promise, as in `MechanismChoice`: "nothing" bounds all ε-private mechanisms, "graceful" those with which any
        two words that differ in d places lose at most (d/b)·ε, a number K those with at most K times that.

    >>> import symveil as sv
    >>> words = sv.words("abc", 4)
    >>> bound = sv.lower_bound(words, epsilon=4, adjacency=2)
    >>> round(bound.value, 4), bound.confidence
    (0.6737, None)
    >>> round(sv.Staircase(words, epsilon=4, adjacency=2).distances().expected_error, 4)       # nothing is left
    0.6737
    >>> never_bb = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> round(sv.lower_bound(sv.runs(never_bb, 4), epsilon=1, adjacency=1).value, 4)
    0.8051
    >>> [round(sv.lower_bound(sv.runs(never_bb, 4), epsilon=4, adjacency=2, beyond=kept).value, 4)
    ...  for kept in ("nothing", "graceful")]
    [0.135, 0.3187]
    """
    if not isinstance(language, FreeLanguage | RunLanguage):
        raise ParameterError(
            "language",
            expected="words of one length, such as words(alphabet, length) or runs(model, length)",
            found=type(language).__name__,
        )
    loss, sure, beyond_budget = read_epsilon(epsilon), _read_confidence(confidence), read_beyond(beyond)
    b = read_adjacency(chosen_adjacency(adjacency, language), length=language.length)
    requested = (
        []
        if beyond_budget == "nothing"
        else [_BoundRequest(loss / b * (1 if beyond_budget == "graceful" else Fraction(beyond_budget)), None)]
    )
    if beyond_budget != "graceful":
        requested.append(_BoundRequest(loss, min(b, language.largest_distance)))
    if sure is not None:  # each of several bounds may be wrong, their largest as often as all together
        sure = 1 - (1 - sure) / len(requested)
    results = [_bound(language, each, prior, sure, quick, progress) for each in requested]
    best = max(results, key=lambda each: each.value)
    stated = None if best.confidence is None else _read_confidence(confidence)
    return replace(best, beyond=beyond_budget, confidence=stated)


@dataclass(frozen=True, slots=True)
class _BoundRequest:
    """What adjacent words may lose, and how far apart they are; without a reach what every position may lose."""

    epsilon: Fraction
    reach: int | None


def _bound(
    language: FreeLanguage | RunLanguage,
    requested: _BoundRequest,
    prior: str,
    confidence: float | None,
    quick: bool,
    progress: Progress | None,
) -> LowerBound:
    if isinstance(language, RunLanguage):
        key = (language, requested, prior, confidence, quick)
        return _known.of(key, lambda: _on_model(language, requested, prior, confidence, quick, progress))
    if prior != "uniform":
        raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=prior)
    if language.largest_distance == 0:
        return LowerBound(0.0, None, "uniform", "closed form")
    # words lie between any two, so that what one position may lose is all of the graceful promise
    reach = 1 if requested.reach is None else requested.reach
    with precision(STANDARD_PRECISION):
        least = float_bounds(least_staircase_error(language, requested.epsilon, reach))[0]
    return LowerBound(_below(least), None, "uniform", "closed form")


_known: LastFew[tuple[RunLanguage, _BoundRequest, str, float | None, bool], LowerBound] = LastFew(32)


def _on_model(
    language: RunLanguage,
    requested: _BoundRequest,
    kind: str,
    confidence: float | None,
    quick: bool,
    progress: Progress | None,
) -> LowerBound:
    """The solved programme where the language is small, else the best tiles."""
    prior = Prior(language, kind)
    if language.largest_distance == 0:
        return LowerBound(0.0, None, kind, "tiles")
    programme = small_programme(prior, requested.reach)
    if programme is not None:
        value = programme.bound(decays(requested.epsilon)) * (1 - prior.relative_error)
        return LowerBound(_below(value), None, kind, "programme")
    result = tiled_bound(
        prior, requested.epsilon, requested.reach, confidence=confidence, quick=quick, progress=progress
    )
    return LowerBound(_below(result.value), result.confidence, kind, "tiles", result.tiles)


def _read_confidence(value: Number | None) -> float | None:
    if value is None:
        return None
    confidence = float(exact(value, name="confidence", expected="a number between 0 and 1 such as 0.99"))
    if not 0 < confidence < 1 or not math.isfinite(math.log(1 - confidence)):
        raise ParameterError("confidence", expected="a number between 0 and 1 such as 0.99", found=value)
    return confidence


def _below(value: float) -> float:
    """A float that prints as a decimal below the bound: a few units down, for the last sums and the printing."""
    return max(0.0, value * (1 - 2.0**-48))


def least_staircase_error(language: FreeLanguage, epsilon: Fraction, adjacency: int) -> arb:
    """The exact least expected error on Σⁿ: that of the best staircase, min over t of E[d], as a ball.

    Every ε-private mechanism on Σⁿ can be averaged over the symmetries of Σⁿ without changing its mean error over
    uniform words, and then the best staircase is no worse (docs/theory/lower-bounds.md, Theorem 3.1): weights
    e^{−εk}, where k rises by 1 after the first t and then after every b distances, over t = 1 … b.

    >>> from symveil.languages.free import words
    >>> float(least_staircase_error(words("abc", 4), Fraction(4), 2).mid())         # doctest: +ELLIPSIS
    0.67366...
    """
    with precision(2 * STANDARD_PRECISION):
        counts = language.count_balls()
        down = (-ball(epsilon)).exp()
        words, losses = [arb(0)], [arb(0)]
        for distance, count in enumerate(counts):
            words.append(words[-1] + count)
            losses.append(losses[-1] + count * distance)
        steps = max(adjacency, 1)
        powers = [arb(1)]
        for _ in range(len(counts) // steps + 1):
            powers.append(powers[-1] * down)
        least: arb | None = None
        for first in range(1, min(steps, len(counts)) + 1):
            mass, loss = words[first], losses[first]
            for step, begin in enumerate(range(first, len(counts), steps), start=1):
                end = min(begin + steps, len(counts))
                mass += (words[end] - words[begin]) * powers[step]
                loss += (losses[end] - losses[begin]) * powers[step]
            error = loss / mass
            least = error if least is None else least.min(error)
        return least if least is not None else arb(0)
