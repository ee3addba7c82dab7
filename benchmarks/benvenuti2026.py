"""Permute-and-flip, against B26's own algorithms written plainly in Python, with the same law on both sides."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import symveil as sv
from benchmarks.benvenuti2026_plain import all_words, mechanism_1, permute_and_flip
from benchmarks.measure import Effort, Task, best_times, repeated
from benchmarks.row import Benchmark, Row
from symveil.examples.paper_systems import road_network

_EPSILON = 5


def mechanism_one(effort: Effort) -> Iterator[Row]:
    """B26 Fig. 2a's words (n = 5, m = 2) and the largest alphabet for which equation 5 is bearable."""
    for alphabet in effort.of(("ab", "abc"), ("ab",)):
        word = "".join(alphabet[place % len(alphabet)] for place in range(5))
        words = sv.words(alphabet, len(word))
        tasks = {
            "fresh": Task(lambda w=words, x=word: _classic(w).release(x)),
            "plain": Task(lambda a=alphabet, x=word: mechanism_1(a, x, epsilon=_EPSILON)),
        }
        times = best_times(tasks, rounds=effort.of(5, 1))
        yield Row(
            name=f"PermuteAndFlip, n = 5, m = {len(alphabet)}: set-up and one word", ours=times["fresh"],
            peer="B26 Mechanism 1 in Python, equation 5 expanded", peer_time=times["plain"], quantity="speed-up",
            note=f"{len(alphabet) ** 5} words",
        )  # fmt: skip


def permutations(effort: Effort) -> Iterator[Row]:
    """Definition 4 by permuting all words: of Σⁿ, and of a road network (B26 §IV) with the list made before."""
    peer = "B26 Definition 4 in Python, words listed"
    alphabet, word = "abcd", "abcdab"
    words = sv.words(alphabet, len(word))
    chain = road_network()
    runs = sv.runs(chain, effort.of(6, 4))
    feasible = [[runs.alphabet.symbols[code] for code in codes] for codes in runs.enumerate_codes(at_most=10**5)]
    for name, language, secret, candidates in (
        (f"PermuteAndFlip, n = {len(word)}, m = {len(alphabet)}", words, word, all_words(alphabet, len(word))),
        (f"PermuteAndFlip, 43 segments, n = {runs.length}", runs, feasible[0], feasible),
    ):
        mechanism = _classic(language)
        rows = effort.of(20_000, 1_000)
        codes = np.repeat(language.encode(secret)[None, :], rows, axis=0)
        times = best_times(
            {
                "ours": Task(lambda m=mechanism, c=codes: m.release_codes(c), rows),
                "plain": repeated(
                    lambda s=secret, c=candidates: permute_and_flip(s, c, epsilon=_EPSILON), effort.of(20, 2)
                ),
            },
            rounds=effort.of(7, 1),
        )
        yield Row(
            name=f"{name}: each of many words", ours=times["ours"], peer=peer, peer_time=times["plain"],
            quantity="speed-up", note=f"{len(candidates):,} words",
        )  # fmt: skip


def _classic(language: sv.FreeLanguage | sv.RunLanguage) -> sv.PermuteAndFlip:
    return sv.PermuteAndFlip(language, epsilon=_EPSILON, adjacency=1, calibration="classic")


BENCHMARKS: list[Benchmark] = [mechanism_one, permutations]
