"""The least expected error that ε-privacy allows, from below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from symveil.errors import ParameterError
from symveil.languages.free import FreeLanguage
from symveil.languages.language import Language
from symveil.languages.runs import RunLanguage
from symveil.numerics.conversions import STANDARD_PRECISION, ball, float_bounds, precision
from symveil.numerics.once import LastFew
from symveil.numerics.progress import Progress
from symveil.numerics.rationals import Number, exact, shown_at_most
from symveil.privacy.lower_bounds.prior import Prior
from symveil.privacy.lower_bounds.programme import small_programme
from symveil.privacy.lower_bounds.tiled_bound import decays, tiled_bound
from symveil.privacy.lower_bounds.tiling import Tile
from symveil.privacy.parameters import Adjacency, read_adjacency, read_epsilon

CONFIDENCE = 0.99
"""Of a bound that rests on sampled words, where nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class LowerBound:
    """No ε-private mechanism has a smaller expected number of wrong symbols, averaged over a public prior.

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

    >>> import symveil as sv
    >>> print(sv.lower_bound(sv.words("abc", 4), epsilon=4, adjacency=2))
    no ε-private mechanism has an expected error below 0.673666 (proved; average over the uniform prior)
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

    def __str__(self) -> str:
        sure = "proved" if self.confidence is None else f"confidence {self.confidence:g}"
        return (
            f"no ε-private mechanism has an expected error below {shown_at_most(self.value)} ({sure}; average over the "
            f"{self.prior} prior)"
        )

    def _repr_html_(self) -> str:
        sure = "proved" if self.confidence is None else f"confidence {self.confidence:g}"
        return f"<p>expected error ≥ {shown_at_most(self.value)} <small>({sure}; {self.prior} prior)</small></p>"


def lower_bound(
    language: Language,
    *,
    epsilon: Number,
    adjacency: Adjacency = 1,
    prior: str = "uniform",
    confidence: Number | None = CONFIDENCE,
    quick: bool = False,
    progress: Progress | None = None,
) -> LowerBound:
    """A lower bound on the expected error of every ε-private mechanism, whatever its form and its outputs.

    The error is the number of wrong symbols (Hamming distance), averaged over the prior; that of the worst word is no
    smaller.

    Parameters
    ----------
    language
        The words, all of one length: `words(alphabet, length)` or `runs(model, length)`.
    epsilon
        The privacy loss that mechanisms may have.
    adjacency
        Words that differ in at most so many positions are to be hard to tell apart; "all" for any two words.
    prior
        "uniform": all feasible words alike. "chain": as a Markov chain has them.
    confidence
        Where sampled words help, how sure the bound is; None leaves them out: a proved bound, which may be smaller.
    quick
        Spend about a second, not ten: the bound may be smaller.
    progress
        Called with how much of the work is done, and of how much.

    >>> import symveil as sv
    >>> words = sv.words("abc", 4)
    >>> bound = sv.lower_bound(words, epsilon=4, adjacency=2)
    >>> round(bound.value, 4), bound.confidence
    (0.6737, None)
    >>> round(sv.Staircase(words, epsilon=4, adjacency=2).distances().expected_error, 4)       # nothing is left
    0.6737
    >>> never_bb = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> round(sv.lower_bound(sv.runs(never_bb, 4), epsilon=1).value, 4)
    0.8051
    """
    if not isinstance(language, FreeLanguage | RunLanguage):
        raise ParameterError(
            "language",
            expected="words of one length, such as words(alphabet, length) or runs(model, length)",
            found=type(language).__name__,
        )
    loss, sure = read_epsilon(epsilon), _read_confidence(confidence)
    reach = min(read_adjacency(adjacency, length=language.length), language.largest_distance)
    if isinstance(language, RunLanguage):
        key = (language, loss, reach, prior, sure, quick)
        return _known.of(key, lambda: _on_model(language, loss, reach, prior, sure, quick, progress))
    if prior != "uniform":
        raise ParameterError("prior", expected="uniform, unless the model is a Markov chain", found=prior)
    if reach == 0:
        return LowerBound(0.0, None, "uniform", "closed form")
    with precision(STANDARD_PRECISION):
        least = float_bounds(least_staircase_error(language, loss, reach))[0]
    return LowerBound(_below(least), None, "uniform", "closed form")


_known: LastFew[tuple[RunLanguage, Fraction, int, str, float | None, bool], LowerBound] = LastFew(32)


def _on_model(
    language: RunLanguage,
    epsilon: Fraction,
    reach: int,
    kind: str,
    confidence: float | None,
    quick: bool,
    progress: Progress | None,
) -> LowerBound:
    """The solved programme where the language is small, else the best tiles."""
    prior = Prior(language, kind)
    if reach == 0:
        return LowerBound(0.0, None, kind, "tiles")
    programme = small_programme(prior, reach)
    if programme is not None:
        value = programme.bound(float(decays(epsilon)[1])) * (1 - prior.relative_error)
        return LowerBound(_below(value), None, kind, "programme")
    found = tiled_bound(prior, epsilon, reach, confidence=confidence, quick=quick, progress=progress)
    return LowerBound(_below(found.value), found.confidence, kind, "tiles", found.tiles)


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
    uniform words, and then the best staircase is no worse (docs/theory/tight-calibration.md, Theorem 4): weights
    e^{−εk}, where k rises by 1 after the first t and then after every b distances, over t = 1 … b.

    Parameters
    ----------
    language
        All words of one length over an alphabet.
    epsilon, adjacency
        The loss, and the width b of the steps.

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
