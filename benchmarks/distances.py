"""Distances between states of labelled chains: against linear programmes, by size, and on chains that mix slowly."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.distances_plain import plain_distances, plain_sweep
from benchmarks.measure import Effort, Task, best_times, in_a_new_process
from benchmarks.row import Benchmark, Row
from symveil.examples import programs
from symveil.formats.models.model_files import save_model
from symveil.models.labelled_chain import LabelledChain
from symveil.models.program import unroll
from symveil.verification.distances.distances import Distances, skewed_distances
from symveil.verification.distances.tables import ChainTable
from symveil.verification.verify_privacy import verify_privacy

ALPHA = Fraction(6, 5)
_COLD = """
import sys, time
from benchmarks.distances import certified, random_chain
from symveil.verification.distances.tables import ChainTable
table = ChainTable.of(random_chain(int(sys.argv[1])))
start = time.process_time()
assert certified(table).certificate is not None
answer = time.process_time() - start
"""

_COLD_DINNER = """
import sys, time
import symveil as sv
start = time.process_time()
assert sv.verify_privacy(sv.load_model(sys.argv[1]), alpha=1, delta=0).holds
answer = time.process_time() - start
"""


def random_chain(size: int, *, degree: int = 3, labels: int = 2, seed: int = 0) -> LabelledChain:
    """Each state has `degree` successors with random weights; labels in turn."""
    draw = random.Random(seed)
    rows = []
    for state in range(size):
        targets = draw.sample(range(size), degree)
        weights = [draw.randint(1, 1000) for _ in targets]
        rows += [(f"{state}", f"{t}", Fraction(w, sum(weights))) for t, w in zip(targets, weights, strict=True)]
    names = [f"{state}" for state in range(size)]
    return LabelledChain.from_transitions(rows, labels={name: f"l{int(name) % labels}" for name in names}, states=names)


def near_copies(size: int, *, apart: Fraction = Fraction(1, 10**4), ends: Fraction = Fraction(1, 100)) -> LabelledChain:
    """Two copies of a random chain whose probabilities differ a little, and which seldom end: values settle slowly."""
    base = random_chain(size, seed=1)
    rows: list[tuple[str, str, Fraction]] = [("end", "end", Fraction(1))]
    labels = {"end": "$"}
    for copy in "ab":
        leaving: dict[str, list[tuple[str, Fraction]]] = {}
        for source, target, chance in base.transitions:
            leaving.setdefault(source, []).append((target, chance))
        for source, row in leaving.items():
            labels[copy + source] = base.label(source)
            moved = min(row[0][1], row[1][1]) * apart if copy == "b" else Fraction(0)
            changed = [(row[0][0], row[0][1] - moved), (row[1][0], row[1][1] + moved), *row[2:]]
            rows += [(copy + source, copy + target, chance * (1 - ends)) for target, chance in changed]
            rows.append((copy + source, "end", ends))
    return LabelledChain.from_transitions(rows, labels=labels, states=tuple(labels))


def certified(table: ChainTable) -> Distances:
    """Kernel, policy iteration and certificate, as `verify` runs them."""
    return skewed_distances(table, ALPHA)


def against_linear_programmes(effort: Effort) -> Iterator[Row]:
    """40 states, degree 3, α = 1.2: all pairs, ours with its proof, theirs until no distance moves by 1e-9."""
    chain = random_chain(effort.of(40, 12))
    table = ChainTable.of(chain)
    ours = best_times({"ours": Task(lambda: certified(table))}, rounds=effort.of(9, 1))["ours"]
    asked = chain.pairs([("0", "2")])
    whole = Task(lambda: verify_privacy(chain, alpha=ALPHA, pairs=asked))
    verified = best_times({"ours": whole}, rounds=effort.of(5, 1))["ours"]
    start = time.process_time()
    plain, sweeps = plain_distances(chain, float(ALPHA))
    seconds = time.process_time() - start
    apart = float(np.abs(plain - certified(table).upper).max())
    if apart > 1e-6:
        raise AssertionError(f"the two answers are {apart} apart")
    yield Row(
        name=f"{len(chain.states)} states: ld of all pairs, proved", ours=ours, peer="linprog per pair and sweep",
        peer_time=seconds, quantity="speed-up", limit=effort.of(1000, None), unit="chain", note=f"{sweeps} sweeps",
    )  # fmt: skip
    # no bar: ours also proves bd and a bracket on the true δ here, the peer has computed ld only
    yield Row(
        name=f"{len(chain.states)} states: verify_privacy of one pair, with ld, bd and the bracket", ours=verified,
        peer="linprog per pair and sweep, ld alone", peer_time=seconds, quantity="speed-up",
        limit=None, unit="chain", note=f"{sweeps} sweeps",
    )  # fmt: skip


def by_size(effort: Effort) -> Iterator[Row]:
    """200 states; and 1,000 states in a process of its own, with its memory."""
    small = ChainTable.of(random_chain(effort.of(200, 30)))
    ours = best_times({"ours": Task(lambda: certified(small))}, rounds=effort.of(3, 1))["ours"]
    yield Row(
        name=f"{small.size} states: ld of all pairs, proved", ours=ours, peer="", peer_time=None,
        quantity="seconds", limit=3, unit="chain",
    )  # fmt: skip
    size = effort.of(1000, 60)
    done = in_a_new_process(_COLD, str(size))
    name = f"{size:,} states, cold start: ld of all pairs, proved"
    yield Row(
        name=name, ours=done.answer, peer="", peer_time=None, quantity="seconds", limit=60, unit="chain",
    )  # fmt: skip
    yield Row(
        name=f"{name}: memory", ours=done.megabytes, peer="", peer_time=None, quantity="megabytes", limit=4000,
        unit="chain",
    )  # fmt: skip


def slow_mixing(effort: Effort) -> Iterator[Row]:
    """Two near-copies of a 100-state chain against a random chain of the same size; value iteration needs thousands of
    sweeps there."""
    half = effort.of(100, 12)
    slow, quick = ChainTable.of(near_copies(half)), ChainTable.of(random_chain(2 * half))
    times = best_times(
        {"slow": Task(lambda: certified(slow)), "random": Task(lambda: certified(quick))}, rounds=effort.of(5, 1)
    )
    yield Row(
        name=f"two near-copies of {half} states", ours=times["slow"], peer="a random chain of that size",
        peer_time=times["random"], quantity="cost", limit=effort.of(5, None), unit="chain",
    )  # fmt: skip


def dining_cryptographers(effort: Effort) -> Iterator[Row]:
    """That fair coins tell nothing about any two participants: in a new process."""
    for participants, limit in effort.of(((7, 5), (15, 60)), ((3, None), (4, None))):
        chain = unroll(programs.dining_cryptographers(participants), range(participants))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "dinner.json")
            save_model(chain, path)
            done = in_a_new_process(_COLD_DINNER, str(path))
        yield Row(
            name=f"{participants} dining cryptographers: verify every pair, cold", ours=done.answer, peer="",
            peer_time=None, quantity="seconds", limit=limit, unit="chain",
            note=f"{len(chain.states):,} states, {len(chain.pairs())} pairs",
        )  # fmt: skip


def one_sweep(effort: Effort) -> Iterator[Row]:
    """One sweep of linear programmes, to see where the time goes there."""
    chain = random_chain(effort.of(40, 12))
    distance = np.ones((len(chain.states), len(chain.states)))
    np.fill_diagonal(distance, 0.0)
    start = time.process_time()
    plain_sweep(chain, float(ALPHA), distance, pairs=60)
    seconds = (time.process_time() - start) / 60
    yield Row(
        name="one linear programme", ours=None, peer="linprog", peer_time=seconds, quantity="seconds", unit="pair"
    )


BENCHMARKS: list[Benchmark] = [against_linear_programmes, by_size, slow_mixing, dining_cryptographers, one_sweep]
