"""Release private versions of one word."""

from __future__ import annotations

import math
from dataclasses import dataclass

from symveil.errors import ParameterError
from symveil.laws.adjacency import refuse_thin
from symveil.laws.guarantee import Guarantee
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.word import Word
from symveil.numbers.rationals import at_least

# Nobody releases more versions of one word: each costs ε.
_MOST_RELEASES = 1_000_000


@dataclass(frozen=True, slots=True)
class WordRelease:
    """Private words, the guarantee of each, and what all of them cost together."""

    released: tuple[Word, ...]
    guarantee: Guarantee
    total_epsilon: float
    passes_unprotected: tuple[str, ...] = ()
    """What of the word everybody can read as it was."""

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "released": [list(word) for word in self.released],
            "guarantee": self.guarantee.document(),
            "total_epsilon": self.total_epsilon,
            "passes_unprotected": list(self.passes_unprotected),
        }


def release_word(word: Word, mechanism: Mechanism, *, count: int = 1, thin: bool = False) -> WordRelease:
    """`count` private versions of `word`. They are about one person, so their costs add up.

    Parameters
    ----------
    word
        A word of the mechanism's language. It is secret.
    mechanism
        Any mechanism.
    count
        How many versions.
    thin
        Release although more than half of the positions of a typical word of the model have no alternative within b.

    >>> import symveil as sv
    >>> result = release_word("abc", sv.Exponential(sv.words("abc", 3), epsilon="0.1"), count=3)
    >>> len(result.released), result.total_epsilon
    (3, 0.3)
    >>> release_word("abc", sv.Exponential(sv.words("abc", 3), epsilon="1/3"), count=3).total_epsilon
    1.0
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_RELEASES:
        raise ParameterError("count", expected=f"a whole number from 1 to {_MOST_RELEASES}", found=count)
    length = len(mechanism.language.encode(word))
    refuse_thin(mechanism.language, mechanism.adjacency, [length], thin=thin)
    released = mechanism.release_copies(word, count)
    # Basic composition. A mechanism that loses more than its nominal ε is charged what it loses.
    guarantee = mechanism.guarantee
    total = math.inf if guarantee.loss is None else at_least(max(mechanism.epsilon, guarantee.loss) * count)
    public = ("length",) if mechanism.metric == "hamming" else ()
    first = ("first symbol",) if mechanism.language.public_start else ()
    return WordRelease(
        released=tuple(released), guarantee=guarantee, total_epsilon=total, passes_unprotected=(*public, *first)
    )
