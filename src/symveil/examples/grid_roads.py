"""A road network of any size: a grid of crossings with one-way streets and dead ends, from a public seed.

For tests and benchmarks of large graphs. Links are directed: a street that is open both ways is two of them. From a
link one goes on along every link that leaves its end, back only where there is no other way; some links end nowhere.
"""

from __future__ import annotations

from fractions import Fraction

from symveil.models.markov_chain import MarkovChain
from symveil.randomness import NotPrivateSeededBits, uniform_integer

_CLOSED, _ONE_WAY = 6, 60  # of a hundred streets

Link = tuple[int, int]


def grid_links(side: int, *, seed: int = 0) -> list[Link]:
    """(from, to) of every link between the side × side crossings, numbered by rows.

    >>> len(grid_links(3, seed=1)) <= 24
    True
    """
    bits = NotPrivateSeededBits(seed)  # public, and the same everywhere
    links = []
    for here in range(side * side):
        for there in ([here + 1] if (here + 1) % side else []) + ([here + side] if here + side < side * side else []):
            if uniform_integer(100, bits) < _CLOSED:
                continue
            ways = [(here, there), (there, here)]
            links += [ways[uniform_integer(2, bits)]] if uniform_integer(100, bits) < _ONE_WAY else ways
    return links


def grid_roads(side: int, *, seed: int = 0) -> MarkovChain:
    """The chain over the links of a grid; at every crossing all ways on are equally likely.

    Parameters
    ----------
    side
        Crossings along each side; there are about 2.6·side² links.
    seed
        Of the streets that are closed or one-way.

    >>> len(grid_roads(4).states) == len(grid_links(4))
    True
    """
    links = grid_links(side, seed=seed)
    leaving: dict[int, list[Link]] = {}
    for link in links:
        leaving.setdefault(link[0], []).append(link)
    rows = []
    for here, there in links:
        onward = [link for link in leaving.get(there, []) if link[1] != here] or leaving.get(there, [])
        rows += [(f"{here}-{there}", f"{one}-{two}", Fraction(1, len(onward))) for one, two in onward]
    return MarkovChain.from_transitions(rows, states=[f"{one}-{two}" for one, two in links])
