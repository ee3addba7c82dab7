"""Against libraries that draw from a list of candidates: a language of 10⁵ words, enumerated.

Both sides have the same law: diffprivlib and OpenDP pay the papers' factor 2, so ours is set to
`calibration="classic"`. Ours never sees the list; at 10⁶ times the size its cost would not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np

import symveil as sv
from benchmarks.measure import Effort, Task, best_times, find_peer, repeated
from benchmarks.row import Benchmark, Row

_ALPHABET, _WORD = "0123456789", "20193"
_EPSILON = 2.0
_FASTER = 1000

Draw = Callable[[], object]


def utilities() -> list[int]:
    """−d of every word of the language, in alphabetical order: what a peer needs for one secret word."""
    words = sv.words(_ALPHABET, len(_WORD))
    everything = words.enumerate_codes(at_most=10**5)
    return (-np.count_nonzero(everything != words.encode(_WORD), axis=1)).tolist()


def diffprivlib_exponential(library: ModuleType, scores: list[int]) -> Draw:
    """diffprivlib's Exponential, ready to draw."""
    return library.Exponential(epsilon=_EPSILON, sensitivity=1, utility=scores).randomise


def diffprivlib_flip(library: ModuleType, scores: list[int]) -> Draw:
    """diffprivlib's PermuteAndFlip, ready to draw."""
    return library.PermuteAndFlip(epsilon=_EPSILON, sensitivity=1, utility=scores).randomise


def opendp_exponential(library: ModuleType, scores: list[int]) -> Draw:
    """OpenDP's noisy maximum with Gumbel noise: the exponential mechanism."""
    return _noisy_max(library, scores, library.zero_concentrated_divergence(), _EPSILON**2 / 8)


def opendp_flip(library: ModuleType, scores: list[int]) -> Draw:
    """OpenDP's noisy maximum with exponential noise: permute-and-flip."""
    return _noisy_max(library, scores, library.max_divergence(), _EPSILON)


def _noisy_max(library: ModuleType, scores: list[int], measure: object, loss: float) -> Draw:
    library.enable_features("contrib")
    space = library.vector_domain(library.atom_domain(T=int)), library.linf_distance(T=int)
    select = library.m.make_noisy_max(*space, measure, scale=2 / _EPSILON)
    if not np.isclose(select.map(1), loss):
        raise RuntimeError(f"OpenDP's noisy maximum: expected a loss of {loss}, found {select.map(1)}")
    return lambda: select(scores)


@dataclass(frozen=True, slots=True)
class Enumerator:
    """A peer that draws from a list of scores: `prepare` makes it ready for one secret word."""

    name: str
    module: str
    prepare: Callable[[ModuleType, list[int]], Draw]


def _compare(
    effort: Effort, *, name: str, mechanism: sv.Exponential | sv.PermuteAndFlip, peer: Enumerator
) -> Iterator[Row]:
    found = find_peer(peer.module)
    library = found.module
    if library is None:
        yield Row(
            name=f"{name}, per draw",
            ours=None,
            peer=peer.name,
            peer_time=None,
            quantity="speed-up",
            limit=_FASTER,
            note=found.reason,
        )
        return
    rows = effort.of(100_000, 10_000)
    codes = np.repeat(mechanism.language.encode(_WORD)[None, :], rows, axis=0)
    draw = peer.prepare(library, utilities())

    def set_up_and_draw() -> object:
        return peer.prepare(library, utilities())()

    times = best_times(
        {
            "batch": Task(lambda: mechanism.release_codes(codes), rows),
            "one call": repeated(lambda: mechanism.release(_WORD), effort.of(200, 20)),
            # permute-and-flip takes a random time per draw, so a few draws make one timing
            "draw": repeated(draw, effort.of(5, 1)),
            "draw with set-up": Task(set_up_and_draw),
        },
        rounds=effort.of(8, 1),
    )
    for kind, ours, theirs, limit in (
        ("per draw", "batch", "draw", _FASTER),
        ("per word with the peer's set-up", "batch", "draw with set-up", None),
        ("one `release`", "one call", "draw", None),
    ):
        yield Row(
            name=f"{name}, {kind}",
            ours=times[ours],
            peer=peer.name,
            peer_time=times[theirs],
            quantity="speed-up",
            limit=limit,
        )


def exponential(effort: Effort) -> Iterator[Row]:
    """The exponential mechanism on 10⁵ words."""
    words = sv.words(_ALPHABET, len(_WORD))
    mechanism = sv.Exponential(words, epsilon=_EPSILON, calibration="classic")
    for peer in (
        Enumerator("diffprivlib Exponential", "diffprivlib.mechanisms", diffprivlib_exponential),
        Enumerator("OpenDP noisy max, Gumbel noise", "opendp.prelude", opendp_exponential),
    ):
        yield from _compare(effort, name="Exponential", mechanism=mechanism, peer=peer)


def permute_and_flip(effort: Effort) -> Iterator[Row]:
    """Permute-and-flip on 10⁵ words."""
    words = sv.words(_ALPHABET, len(_WORD))
    mechanism = sv.PermuteAndFlip(words, epsilon=_EPSILON, calibration="classic")
    for peer in (
        Enumerator("diffprivlib PermuteAndFlip", "diffprivlib.mechanisms", diffprivlib_flip),
        Enumerator("OpenDP noisy max, exponential noise", "opendp.prelude", opendp_flip),
    ):
        yield from _compare(effort, name="PermuteAndFlip", mechanism=mechanism, peer=peer)


BENCHMARKS: list[Benchmark] = [exponential, permute_and_flip]
