"""The truncated exponential mechanism: Levenshtein distances up to k, all farther words alike.

See docs/theory/hidden-lengths.md.
P(w'|w) ∝ e^{−η·min(d, k+1)} over a language of words of up to N symbols: Σ^{≤N}, or those of a model. The
utility min(d, k+1) changes by at most b between words at distance b, so η = ε/2b is ε-private; a larger η
is taken where the variation of the normaliser is known (`calibration.truncated_loss`).

Drawing needs no rejection: with z = e^{−η(k+1)} and T words in all, the law is a mixture of the uniform law
on the whole language, with weight Tz, and of words at distance ℓ ≤ k, with weights N(ℓ)(e^{−ηℓ} − z).

How far the truncated mechanism looks, k, and what would take it too long: by public things only.

Set-up of a word takes time, and how much depends on the word. A limit that is met on the way would give
that away, so it is drawn before there is a word, and then every word is answered or none is:
  by a proof: no word of up to N symbols needs more than `LIMITS.now.edit_edges` edges (`languages.edit_neighbours`);
  on a sparse model the proof asks for much more than any word needs: there k was measured on road networks;
  on any other model a k that cannot be proved is tried out on a public stand-in, a uniform word of the
  language from a fixed seed, with a tenth of the edges.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from symveil.calibration.truncated_loss import is_small, truncated_rate
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.edit_neighbours import EditNeighbours, most_edges
from symveil.languages.graph import WordGraph
from symveil.languages.open import BoundedLanguage
from symveil.laws.guarantee import Guarantee
from symveil.laws.law import WEIGHT_PRECISION, DistanceLaw, ErrorBounds, Moves, State, rounded_weight
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.chains import truncated_moves
from symveil.mechanisms.law import Law
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.alphabet import Codes, Lengths, Metric, split_words
from symveil.numbers.conversions import STANDARD_PRECISION, ball, nearest_float, precision
from symveil.numbers.once import LastFew, computed_once
from symveil.numbers.rationals import Number, at_least, spelled
from symveil.randomness import BitSource, Boundaries, NotPrivateSeededBits

_SEED = 11

# (longest words, k): measured on words without a pattern over a large alphabet …
_QUICK = ((10, 6), (20, 5), (100, 4))
# … and on road networks with this many successors on average
_QUICK_ON_MODELS = ((3.5, ((20, 10), (60, 8), (100, 5))), (6.0, ((10, 8), (20, 6), (60, 5), (100, 4))))


def default_cutoff(language: BoundedLanguage) -> int:
    """k where none is asked for: no truncation for short words, then as far as counting takes a second or so.

    On a sparse model fewer words are near, so it can look farther; on a dense one it must look less far.

    >>> import symveil as sv
    >>> [default_cutoff(sv.words_up_to("abc", longest)) for longest in (5, 100, 1000)]
    [5, 4, 3]
    """
    if language.max_length == 0:
        return 0
    farthest, branching = _quick(language)
    # on a dense model a larger k rarely passes, and finding that out takes seconds
    tried_up_to = LIMITS.now.cutoff if branching <= _QUICK_ON_MODELS[-1][0] else LIMITS.now.dense_cutoff
    for cutoff in range(farthest, 0, -1):
        if _takes_seconds(language, cutoff, try_out=cutoff <= tried_up_to):
            return cutoff
    raise _too_long(language, 1)


def _quick(language: BoundedLanguage) -> tuple[int, float]:
    """The k that was measured to be quick on languages like this one, and how many successors a state has."""
    quick: tuple[tuple[int, int], ...] = _QUICK
    branching = math.inf
    graph = language.graph
    if graph is not None:
        hidden_start = len(graph.edges(graph.start))
        branching = (graph.edge_count - hidden_start) / max(graph.state_count - 1, 1)
        quick = next((rows for widest, rows in _QUICK_ON_MODELS if branching <= widest), _QUICK)
    longest = language.max_length
    return next((min(longest, k) for bound, k in quick if longest <= bound), min(longest, 3)), branching


def read_cutoff(value: int, language: BoundedLanguage) -> int:
    """k as it was asked for, if every word is answered in seconds."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= LIMITS.now.cutoff:
        raise ParameterError("cutoff", expected=f"a whole number from 0 to {LIMITS.now.cutoff}", found=value)
    cutoff = int(value)
    if not _takes_seconds(language, cutoff, try_out=True):
        raise _too_long(language, cutoff)
    return cutoff


def _takes_seconds(language: BoundedLanguage, cutoff: int, *, try_out: bool) -> bool:
    if not _can_be_calibrated(language, language.max_length, cutoff):
        return False
    return _can_be_counted(language, cutoff, try_out=try_out)


def _can_be_counted(language: BoundedLanguage, cutoff: int, *, try_out: bool) -> bool:
    """Whether the words around a word are counted in seconds: proved, measured, or tried out on the stand-in."""
    symbols, longest, graph = len(language.alphabet), language.max_length, language.graph
    if most_edges(symbols=symbols, within=cutoff, max_length=longest, graph=graph) <= LIMITS.now.edit_edges:
        return True
    if graph is None:
        return False
    if _is_like_a_road_network(graph) and cutoff <= _quick(language)[0]:
        return True
    if not try_out:
        return False
    stand_in = language.uniform(NotPrivateSeededBits(_SEED)).tolist()
    try:
        EditNeighbours(
            stand_in,
            symbols=symbols,
            within=cutoff,
            max_length=longest,
            graph=graph,
            at_most=LIMITS.now.stand_in_edges,
        ).counts()
    except TooLargeError:
        return False
    return True


def _is_like_a_road_network(graph: WordGraph) -> bool:
    """Whether no state has many successors: then no word meets a denser part than those that were measured."""
    successors = np.delete(np.diff(graph.first), graph.start)
    return int(successors.max(initial=0)) <= LIMITS.now.few_successors


def _can_be_calibrated(language: BoundedLanguage, longest: int, cutoff: int) -> bool:
    """Whether the balls around words of every length are bounded in seconds; times measured, in microseconds."""
    if longest == language.max_length and is_small(language):
        return True
    entries = longest * (cutoff + 1) * (2 * cutoff + 1)
    if language.graph is not None:
        each = 10 + language.graph.edge_count / 100
    else:
        each = 3 + longest * math.log2(len(language.alphabet)) / 600  # numbers of as many bits as the longest word
    return entries * each <= LIMITS.now.edit_microseconds


def _too_long(language: BoundedLanguage, cutoff: int) -> ParameterError:
    """What to say of public things that would take too long together."""
    if _can_be_calibrated(language, language.max_length, 1):
        return ParameterError(
            "cutoff",
            expected=f"one that takes seconds for every word of up to {language.max_length} symbols (try a smaller "
            "cutoff or max_length)",
            found=cutoff,
        )
    short, long = 0, language.max_length  # the first is short enough, the second is not
    while long - short > 1:
        middle = (short + long) // 2
        if _can_be_calibrated(language, middle, 1):
            short = middle
        else:
            long = middle
    other = "" if language.graph is not None else "; mechanism edit takes words of any length"
    return ParameterError(
        "max_length",
        expected=f"at most {short} for mechanism truncated-levenshtein here (more would take too long{other})",
        found=language.max_length,
    )


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

    def _calibrated(self, claimed: Law | None) -> Law:
        """Exact on a small language, certified on others; classic where nothing better is known."""
        certified, rate = None, self.epsilon / (2 * self.sensitivity)
        if claimed is not None and claimed.rate is not None:
            rate = claimed.rate
        if self.calibration != "classic" and (claimed is None or claimed.certificate is not None):
            certified = truncated_rate(
                self._bounded,
                epsilon=self.epsilon,
                adjacency=max(self.reach, 1),
                cutoff=self.cutoff,
                claimed=None if claimed is None else claimed.rate,
            )
        if certified is not None:
            proved = Guarantee.of_loss(certified.loss, certified.how)
            return self._law_with(proved, rate=certified.rate, certificate=certified)
        return self._law_with(Guarantee.of_loss(max(2 * rate * self.sensitivity, self.epsilon), "classic"), rate=rate)

    @property
    def rate(self) -> Fraction:
        """η."""
        assert self.law.rate is not None  # noqa: S101 - every such law has one
        return self.law.rate

    def _loss_beyond(self, distance: int) -> float:
        """2η·min(d, k + 1): scores of one released word differ by no more, and beyond the cutoff by nothing."""
        scored = at_least(2 * self.rate * min(distance, self.cutoff + 1))
        return min(super()._loss_beyond(distance), scored)

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
        return LastFew(LIMITS.now.remembered_balls)

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
