"""Lumping a chain by bisimilarity, our kernel at α = 1, against Storm, where stormpy is installed.

Storm is no part of the `bench` extra: it is under the GPL and has wheels for some systems only
(`pip install stormpy`). It lumps in doubles, or in rational functions, whose constants are exact as our
rationals are. Ours splits classes by integer signatures in numpy, and checks the result exactly.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.distances import random_chain
from benchmarks.measure import Effort, Task, best_times, find_peer
from benchmarks.row import Benchmark, Row
from symveil.models.labelled_chain import LabelledChain
from symveil.verification.distances.tables import ChainTable, bisimulation


def with_copies(base: LabelledChain, copies: int) -> LabelledChain:
    """Every state `copies` times, each leading to copies of its successors at random: it lumps to the base."""
    draw = random.Random(0)
    rows = [
        (f"{source}.{copy}", f"{target}.{draw.randrange(copies)}", chance)
        for source, target, chance in base.transitions
        for copy in range(copies)
    ]
    labels = {f"{state}.{copy}": base.label(state) for state in base.states for copy in range(copies)}
    return LabelledChain.from_transitions(rows, labels=labels, states=tuple(labels))


def in_storms_format(chain: LabelledChain) -> str:
    """The chain as an explicit model of Storm (DRN)."""
    leaving: dict[str, list[str]] = {state: [] for state in chain.states}
    for source, target, chance in chain.transitions:
        leaving[source].append(f"\t\t{chain.number[target]} : {chance}")
    lines = [
        f"@type: DTMC\n@parameters\n\n@reward_models\n\n@nr_states\n{len(chain.states)}\n"
        f"@nr_choices\n{len(chain.states)}\n@model"
    ]
    for number, state in enumerate(chain.states):
        first = " init" if number == 0 else ""
        lines += [f"state {number}{first} {chain.label(state)}", "\taction 0", *leaving[state]]
    return "\n".join(lines) + "\n"


def against_storm(effort: Effort) -> Iterator[Row]:
    """10,000 states that lump to 100."""
    base, copies = effort.of(100, 20), effort.of(100, 5)
    chain = with_copies(random_chain(base), copies)
    table = ChainTable.of(chain)
    assert len(np.unique(bisimulation(table))) == base
    tasks = {"ours": Task(lambda: bisimulation(table))}
    names = {"exact": "Storm, rational functions", "double": "Storm, doubles (not exact)"}
    storm, transformations = find_peer("stormpy"), find_peer("stormpy.transformations")
    reason = storm.reason or transformations.reason
    if storm.module is not None and transformations.module is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "chain.drn")
            path.write_text(in_storms_format(chain), encoding="ascii")
            for kind, number in (("exact", storm.module.RationalFunction), ("double", float)):
                model = storm.module.build_model_from_drn[number](path)
                lump = lambda m=model: transformations.module.perform_bisimulation(m, [])  # noqa: E731
                assert lump().nr_states == base
                tasks[kind] = Task(lump)
    times = best_times(tasks, rounds=effort.of(7, 1))
    for kind, peer in names.items():
        yield Row(
            name=f"{len(chain.states):,} states, lumped to {base}", ours=times["ours"], peer=peer,
            peer_time=times.get(kind), quantity="cost", limit=effort.of(2, None) if kind == "exact" else None,
            unit="chain", note=reason or "compiled against numpy",
        )  # fmt: skip


BENCHMARKS: list[Benchmark] = [against_storm]
