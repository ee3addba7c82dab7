"""How far the truncated mechanism looks, k, and what would take it too long: by public things only.

Set-up of a word takes time, and how much depends on the word. A limit that is met on the way would give
that away, so it is drawn before there is a word, and then every word is answered or none is:
  by a proof: no word of up to N symbols needs more than `_MOST_EDGES` edges (`languages.edit_work`);
  on a sparse model the proof asks for much more than any word needs: there k was measured on road networks;
  on any other model a k that cannot be proved is tried out on a public stand-in, a uniform word of the
  language from a fixed seed, with a tenth of the edges.
"""

from __future__ import annotations

import math

import numpy as np

from symveil.calibration.truncated_loss import is_small
from symveil.errors import ParameterError, TooLargeError
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.languages.edit_work import most_edges
from symveil.languages.graph import WordGraph
from symveil.languages.open import BoundedLanguage
from symveil.randomness import NotPrivateSeededBits

_MOST_EDGES = 10**7
_MOST_EDGES_OF_STAND_IN = 10**6
_SEED = 11
_MOST_MICROSECONDS = 10**7

# (longest words, k): measured on words without a pattern over a large alphabet …
_QUICK = ((10, 6), (20, 5), (100, 4))
# … and on road networks with this many successors on average
_QUICK_ON_MODELS = ((3.5, ((20, 10), (60, 8), (100, 5))), (6.0, ((10, 8), (20, 6), (60, 5), (100, 4))))
_FEW_SUCCESSORS = 6
_TRIED_ON_DENSE_MODELS = 2

_LARGEST_CUTOFF = 1000


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
    tried_up_to = _LARGEST_CUTOFF if branching <= _QUICK_ON_MODELS[-1][0] else _TRIED_ON_DENSE_MODELS
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
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= _LARGEST_CUTOFF:
        raise ParameterError("cutoff", expected=f"a whole number from 0 to {_LARGEST_CUTOFF}", found=value)
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
    if most_edges(symbols=symbols, within=cutoff, max_length=longest, graph=graph) <= _MOST_EDGES:
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
            at_most=_MOST_EDGES_OF_STAND_IN,
        ).counts()
    except TooLargeError:
        return False
    return True


def _is_like_a_road_network(graph: WordGraph) -> bool:
    """Whether no state has many successors: then no word meets a denser part than those that were measured."""
    successors = np.delete(np.diff(graph.first), graph.start)
    return int(successors.max(initial=0)) <= _FEW_SUCCESSORS


def _can_be_calibrated(language: BoundedLanguage, longest: int, cutoff: int) -> bool:
    """Whether the balls around words of every length are bounded in seconds; times measured, in microseconds."""
    if longest == language.max_length and is_small(language):
        return True
    entries = longest * (cutoff + 1) * (2 * cutoff + 1)
    if language.graph is not None:
        each = 10 + language.graph.edge_count / 100
    else:
        each = 3 + longest * math.log2(len(language.alphabet)) / 600  # numbers of as many bits as the longest word
    return entries * each <= _MOST_MICROSECONDS


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
