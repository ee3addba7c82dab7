"""The truncated exponential mechanism: Levenshtein distances up to k, all farther words alike.

See docs/theory/levenshtein-balls.md.
P(w'|w) ∝ e^{−η·min(d, k+1)} over a language of words of up to N symbols: Σ^{≤N}, or those of a model. The
utility min(d, k+1) changes by at most b between words at distance b, so η = ε/2b is ε-private; a larger η
is taken where the variation of the normaliser is known (`calibration.truncated_loss`).

Drawing needs no rejection: with z = e^{−η(k+1)} and T words in all, the law is a mixture of the uniform law
on the whole language, with weight Tz, and of words at distance ℓ ≤ k, with weights N(ℓ)(e^{−ηℓ} − z).
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.calibration.certificate import CertifiedRate
from symveil.calibration.truncated_loss import truncated_rate
from symveil.errors import ParameterError
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.language import Metric
from symveil.languages.open import BoundedLanguage
from symveil.languages.run_product import AutomatonSize
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import DistanceLaw, ErrorBounds
from symveil.laws.parameters import Adjacency
from symveil.laws.release_chain import WEIGHT_PRECISION, Moves, State, rounded_weight
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.truncated_chain import truncated_moves
from symveil.mechanisms.truncated_limits import default_cutoff, read_cutoff
from symveil.models.word import Codes, Lengths, Word, split_words
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import LastFew, computed_once
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.numbers.turns import searched_once
from symveil.randomness import BitSource, Boundaries

_WORDS_REMEMBERED = 8


class TruncatedLevenshtein(Mechanism):
    """The truncated exponential mechanism over words of up to a public number of symbols.

    `cutoff` is k. Without one it is the public bound N itself where N is small, so that nothing is
    truncated, and less where counting farther would take long. What would take too long is refused here,
    before there is a word (`truncated_limits`).

    Parameters
    ----------
    language
        The words, such as `words_up_to(...)` or `runs_up_to(...)`.
    epsilon
        Privacy budget: a number, a decimal or a fraction as text, above 0.
    adjacency
        Words so many edits apart are to look alike; or "all". None: 1 over an alphabet; on a model it has to be given.
    calibration
        "tight" spends the whole budget; "classic" is the papers' factor 2.
    cutoff
        Words farther than so many edits are all alike; by default as many as can be counted quickly.

    >>> import symveil as sv
    >>> mechanism = sv.TruncatedLevenshtein(sv.words_up_to("abc", 5), epsilon=6)
    >>> mechanism.guarantee.how, mechanism.guarantee.epsilon <= 6
    ('exact', True)
    >>> private = mechanism.release("abcab")
    >>> mechanism.distances("abcab").words
    (1, 15, 99, 190, 58, 1)
    """

    name = "truncated-levenshtein"
    label: ClassVar[str] = "truncated Levenshtein (hides the length)"
    metric: ClassVar[Metric] = "levenshtein"
    takes: ClassVar[frozenset[str]] = frozenset({"calibration", "cutoff"})

    def __init__(
        self,
        language: BoundedLanguage,
        *,
        epsilon: Number,
        adjacency: Adjacency | None = None,
        calibration: str = "tight",
        cutoff: int | None = None,
    ) -> None:
        super().__init__(language, epsilon=epsilon, adjacency=adjacency, calibration=calibration)
        if language.max_length is None:
            raise ParameterError(
                "max_length",
                expected=f"a public bound on the length for mechanism {self.name} (the length itself is secret)",
                found="none",
            )
        self._bounded: Final = language
        self.cutoff: Final = default_cutoff(language) if cutoff is None else read_cutoff(cutoff, language)

    # --- calibration ---------------------------------------------------------------------------

    @property
    def sensitivity(self) -> int:
        """By how much min(d, k+1) can change between adjacent words."""
        return max(min(self.reach, self.cutoff + 1), 1)

    @searched_once
    def certified(self) -> CertifiedRate | None:
        """The proof behind the rate; None where it is the classic ε/2b."""
        if self.calibration == "classic":
            return None
        return truncated_rate(self._bounded, epsilon=self.epsilon, adjacency=max(self.reach, 1), cutoff=self.cutoff)

    @property
    def rate(self) -> Fraction:
        """η."""
        return self.certified.rate if self.certified else self.epsilon / (2 * self.sensitivity)

    @property
    def proved_loss(self) -> Guarantee:
        """Exact on a small language, certified on others; classic where nothing better is known."""
        if self.certified:
            return Guarantee.of_loss(self.certified.loss, self.certified.how)
        return Guarantee.of_loss(self.epsilon, "classic")

    def loss_beyond(self, distance: int) -> float:
        """2η·min(d, k + 1): scores of one released word differ by no more, and beyond the cutoff by nothing.

        Parameters
        ----------
        distance
            How many edits lie between the words.
        """
        scored = at_least(2 * self.rate * min(distance, self.cutoff + 1))
        return min(super().loss_beyond(distance), scored)

    # --- drawing -------------------------------------------------------------------------------

    def _draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> tuple[Codes, Lengths]:
        released = [self._draw_word(word, bits.of_row(row)) for row, word in enumerate(split_words(codes, lengths))]
        return np.concatenate(released), np.array([len(word) for word in released])

    def _draw_word(self, word: Codes, bits: BitSource) -> Codes:
        around = self._around(word)
        piece = int(around.choice.pick(bits.words(1), bits)[0])
        return self._bounded.uniform(bits) if piece > self.cutoff else around.near.draw(piece, bits)

    def _around(self, word: Codes) -> _Around:
        """The words around a word, counted once for as long as it is one of the last few words asked for."""
        return self._remembered.of(
            word.tobytes(), lambda: _Around(self, self._bounded.around(word, within=self.cutoff))
        )

    @computed_once
    def _remembered(self) -> LastFew[bytes, _Around]:
        return LastFew(_WORDS_REMEMBERED)

    # --- the law -------------------------------------------------------------------------------

    def falling(self) -> list[arb]:
        """e^{−ηℓ} for ℓ = 0 … k+1, at the working precision."""
        return [(-ball(self.rate * distance)).exp() for distance in range(self.cutoff + 2)]

    @computed_once
    def size(self) -> int:
        """T: how many words can be released."""
        return self._bounded.size

    def _log_probabilities(self, word: Codes, released: Codes) -> NDArray[np.float64]:
        """ln P(row | word) = −η·min(d, k+1) − ln Z(word)."""
        counts = self._around(word).near.counts()
        with precision(STANDARD_PRECISION):
            weights = self.falling()
            masses = [count * weight for count, weight in zip(self._with_rest(counts), weights, strict=True)]
            log_total = sum(masses, start=arb(0)).log()
            by_distance = np.array([nearest_float(weight.log() - log_total) for weight in weights])
        return np.asarray(by_distance[np.minimum(self.distance(word, released), self.cutoff + 1)])

    def _with_rest(self, counts: list[int]) -> list[int]:
        return [*counts, self.size - sum(counts)]

    def _law(self, codes: Codes | None) -> DistanceLaw:
        """The law of min(d, k+1): the last row is for all words farther than k."""
        assert codes is not None  # noqa: S101 - `distances` asks for a word where they do not look alike
        counts = self._with_rest(self._around(codes).near.counts())
        with precision(STANDARD_PRECISION):
            masses = [count * weight for count, weight in zip(counts, self.falling(), strict=True)]
            total = sum(masses, start=arb(0))
            chances = [mass / total for mass in masses]
            least = sum((distance * chance for distance, chance in enumerate(chances)), start=arb(0))
            beyond = self._bounded.max_length - (self.cutoff + 1)  # no distance exceeds the public bound
            most = least + max(beyond, 0) * chances[-1]
            rows = len(counts) if counts[-1] else len(counts) - 1
            return DistanceLaw(
                distances=np.arange(rows),
                all_counts=lambda: counts,
                probabilities=np.array([nearest_float(chance) for chance in chances[:rows]]),
                log_probabilities=np.array(
                    [-np.inf if chance.is_zero() else nearest_float(chance.log()) for chance in chances[:rows]]
                ),
                expected_error=nearest_float(least),
                length=len(codes),
                or_more=bool(counts[-1]),
                metric="levenshtein",
                bounds=ErrorBounds(nearest_float(least), nearest_float(most)) if counts[-1] else None,
            )

    def _moves(self, codes: Codes, shown: int) -> tuple[State, Moves, Fraction]:
        del shown
        # P is a weight over a sum of weights, each of which is so far from the true one
        weights, error = self._rational_weights
        return *truncated_moves(self._bounded, codes, weights), 2 * error

    @computed_once
    def _rational_weights(self) -> tuple[list[Fraction], Fraction]:
        with precision(WEIGHT_PRECISION):
            rounded = [rounded_weight(weight) for weight in self.falling()]
        return [weight for weight, _ in rounded], max(error for _, error in rounded)

    def automaton_size(self, word: Word) -> AutomatonSize:
        """States and edges of the deterministic automaton around a word: profiles × states of the model, by length."""
        near = self._around(self.language.encode(word)).near
        return AutomatonSize(near.state_count, near.edge_count)

    def parameters_document(self) -> dict[str, object]:
        """The cutoff and the rate."""
        return {"cutoff": self.cutoff, "rate": spelled(self.rate)}


class _Around:
    """One word: the words near it, and the choice between the distances and the uniform law."""

    def __init__(self, mechanism: TruncatedLevenshtein, near: EditNeighbours) -> None:
        self.near = near
        self._mechanism = mechanism

    @computed_once
    def choice(self) -> Boundaries:
        """Piece ℓ ≤ k: a word at distance ℓ; the last piece: any word of the language."""
        return Boundaries(self._cut_points)

    def _cut_points(self) -> list[arb]:
        *near, far = self._mechanism.falling()
        masses = [count * (weight - far) for count, weight in zip(self.near.counts(), near, strict=True)]
        sums = [masses[0]]
        for mass in masses[1:]:
            sums.append(sums[-1] + mass)
        total = sums[-1] + self._mechanism.size * far
        return [partial / total for partial in sums]
