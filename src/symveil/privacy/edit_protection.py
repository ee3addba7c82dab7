"""What Levenshtein adjacency protects on a model: how many of its words lie near a typical one."""

from __future__ import annotations

from symveil.languages.bounded import BoundedRuns
from symveil.languages.edit_neighbours import EditNeighbours
from symveil.privacy.protection import Protection
from symveil.randomness import NotPrivateSeededBits

_SAMPLED_WORDS = 20
_SEED = 7
# Counting farther would take long, and a promise with so many neighbours is not thin.
_MOST_EDITS = 3


def edit_protection(language: BoundedRuns, adjacency: int) -> Protection:
    """The number of other words within the adjacency, averaged over uniform words of the public language.

    The words come from a fixed seed: the average says nothing about any secret word. Insertions move
    positions, so there is no count by position. Beyond 3 edits words are not counted: it is then a lower bound.

    >>> import symveil as sv
    >>> roads = sv.load_model("examples/roads.json")
    >>> edit_protection(sv.runs_up_to(roads, 4), 1).neighbours_within_adjacency > 1
    True
    """
    bits = NotPrivateSeededBits(_SEED)
    total = 0
    for _ in range(_SAMPLED_WORDS):
        near = EditNeighbours(
            language.uniform(bits).tolist(),
            symbols=len(language.alphabet),
            within=min(adjacency, _MOST_EDITS, max(language.max_length, 1)),
            max_length=language.max_length,
            graph=language.graph,
        )
        total += sum(near.counts()) - 1
    return Protection(total / _SAMPLED_WORDS, ())
