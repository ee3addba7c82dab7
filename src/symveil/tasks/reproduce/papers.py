"""All papers, and what reproduces each."""

from __future__ import annotations

from symveil.errors import ParameterError
from symveil.numbers.progress import Progress, named
from symveil.tasks.reproduce import (
    benvenuti2026,
    chistikov2019,
    jones2019,
    zhao2025,
)
from symveil.tasks.reproduce.rows import Reproduction, Row

PAPERS = {
    jones2019.PAPER: (jones2019.rows, jones2019.grid_rows),
    benvenuti2026.PAPER: (benvenuti2026.rows, benvenuti2026.road_rows),
    zhao2025.PAPER: (zhao2025.rows,),
    chistikov2019.PAPER: (chistikov2019.rows,),
}


def reproduce(paper: str | None = None, *, progress: Progress | None = None) -> Reproduction:
    """The rows of one paper, or of all; `progress` is told which one is next.

    >>> reproduction = reproduce("jones2019")
    >>> [row.item for row in reproduction.rows if row.ours == "561"]
    ['Case Study 1: states of the automaton']
    """
    if paper is not None and paper not in PAPERS:
        raise ParameterError("paper", expected=f"one of {', '.join(PAPERS)}", found=paper)
    rows: list[Row] = []
    names = tuple(PAPERS) if paper is None else (paper,)
    for number, name in enumerate(names):
        named(progress, name)(number, len(names))
        rows += [row for part in PAPERS[name] for row in part()]
        named(progress, name)(number + 1, len(names))
    return Reproduction(tuple(rows))
