"""J19 Case Study 2: private runs on a 15 × 15 grid."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product

import numpy as np

from symveil.languages.run_product import product_size
from symveil.languages.runs import RunLanguage, runs
from symveil.mechanisms.exponential import Exponential
from symveil.models.automaton import TransitionSystem
from symveil.workflows.reproduce.rows import Row

PAPER = "jones2019"
SIDE = 15
STEPS = 18
RUNS = 100


def grid() -> TransitionSystem:
    """The grid world: a move is labelled with the cell it leads to, as in J19 Fig. 3."""
    rows = []
    for row, column in product(range(SIDE), repeat=2):
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if 0 <= row + down < SIDE and 0 <= column + right < SIDE:
                cell = f"{row + down},{column + right}"
                rows.append((f"{row},{column}", cell, cell))
    return TransitionSystem.from_transitions(rows, initial="0,0")


def corner_path() -> tuple[str, ...]:
    """Right, down, right, down … from the corner."""
    return tuple(f"{(step + 1) // 2},{step // 2 + 1}" for step in range(STEPS))


def rows() -> Iterator[Row]:
    """What J19 §VII-B states, and ours."""
    language = runs(grid(), STEPS)
    size = product_size(language, language.encode(corner_path()))
    note = "the paper's path is a picture; ours goes right, down, right, down … for 18 steps"
    for item, published, ours in (("states", 6194, size.state_count), ("edges", 18762, size.edge_count)):
        yield Row(
            paper=PAPER,
            item=f"Case Study 2: {item} of the product automaton",
            published=str(published),
            ours=str(ours),
            agrees=abs(published - ours) <= 0.03 * published,
            note=f"{note}; agreement means within 3 %",
        )
    seconds = _seconds(language)
    yield Row(
        paper=PAPER,
        item="Case Study 2: set-up and 100 private runs",
        published="193 s + 6.4 s",
        ours=f"{seconds:.4f} s",
        agrees=seconds < 199.4,
        note="ε = 5, classic calibration as in the paper; every run is a walk on the grid",
    )


def _seconds(language: RunLanguage) -> float:
    mechanism = Exponential(language, epsilon=5, calibration="classic")
    codes = np.repeat(language.encode(corner_path())[None, :], RUNS, axis=0)
    begin = time.perf_counter()
    mechanism.release_codes(codes)
    return time.perf_counter() - begin
