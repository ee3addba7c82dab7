"""Against J19's own algorithms, written plainly in Python, on J19's own word and with J19's utility."""

from __future__ import annotations

from collections.abc import Iterator

import symveil as sv
from benchmarks.conference import ALPHABET, WORD, copies, language
from benchmarks.jones2019_plain import KeptPolicies, release
from benchmarks.measure import Effort, Task, best_times, repeated
from benchmarks.row import Benchmark, Row

_EPSILON = 1


def against_plain_python(effort: Effort) -> Iterator[Row]:
    """The same law on both sides (inverse utility, classic calibration), then our default mechanism."""
    rows = effort.of(100_000, 5_000)
    codes, words = copies(rows), language()
    same_law = sv.Exponential(words, epsilon=_EPSILON, calibration="classic", utility="inverse")
    default = sv.Exponential(words, epsilon=_EPSILON)
    kept = KeptPolicies(ALPHABET, WORD, epsilon=_EPSILON)
    times = best_times(
        {
            "same law": Task(lambda: same_law.release_codes(codes), rows),
            "default": Task(lambda: default.release_codes(codes), rows),
            "one call": repeated(lambda: same_law.release(WORD), effort.of(200, 50)),
            "as printed": repeated(lambda: release(ALPHABET, WORD, epsilon=_EPSILON), effort.of(40, 10)),
            "kept": repeated(kept.release, effort.of(2_000, 200)),
        },
        rounds=effort.of(15, 2),
    )
    printed, policies = "J19 in Python, built per word", "J19 in Python, policies kept"
    for name, ours, peer, key, limit in (
        ("Exponential, J19's law", "same law", printed, "as printed", 1000),
        ("Exponential, J19's law", "same law", policies, "kept", 50),
        ("Exponential, default", "default", printed, "as printed", None),
        ("Exponential, default", "default", policies, "kept", None),
        ("Exponential, J19's law, one `release`", "one call", printed, "as printed", None),
        ("Exponential, J19's law, one `release`", "one call", policies, "kept", None),
    ):
        yield Row(name=name, ours=times[ours], peer=peer, peer_time=times[key], quantity="speed-up", limit=limit)


BENCHMARKS: list[Benchmark] = [against_plain_python]
