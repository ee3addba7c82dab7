"""Statistics of the true words behind an online release, assuming that they come from a first-order chain."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError, InputError, ParameterError, WordError
from symveil.estimation.batches import Batch, windows
from symveil.estimation.chain_tables import ChainTables
from symveil.estimation.groups import FEWEST
from symveil.estimation.hidden_chain import HiddenChain, ReleasedOfLength
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import EstimatedTable
from symveil.languages.any_length import gathered
from symveil.mechanisms.online import Online
from symveil.models.word import Codes
from symveil.tasks.released_words import ReleasedWords
from symveil.tasks.rerelease import Rerelease

ASSUMED = (
    "an assumption: the true sequences are independent draws from one first-order Markov chain on the states of the "
    "model; where they are not, the estimate is biased, and nothing here shows it"
)
_MOST_CELLS = 4_000_000


def chain_table(released: ReleasedWords, asked: Statistic) -> tuple[EstimatedTable, list[str]]:
    """The table of a statistic behind an online release, and what it rests on.

    Parameters
    ----------
    released
        The private words.
    asked
        The statistic.
    """
    used = {row["mechanism"] for row in released.told.get("law") or released.told["classes"]}
    if released.release.model is None or used != {Online.name}:
        raise ParameterError(
            "assume",
            expected="nothing but for releases by the mechanism online, whose estimates need an assumption",
            found=f"chain for one by {', '.join(sorted(used)) or released.told['mechanism']}; leave it out",
        )
    m = len(released.release.alphabet)
    longest = max((row["lengths"][1] or 0 for row in released.told["classes"]), default=0)
    first = {"positions": longest, "presence": longest + 1}.get(asked.kind)
    shape = (*(() if first is None else (first,)), *(m,) * asked.order)
    size = int(np.prod(shape, dtype=np.int64))
    if size > _MOST_CELLS:
        raise ParameterError("statistic", expected=f"a table of at most {_MOST_CELLS:,} cells", found=f"{size:,} cells")
    gathering = _Gathering(released)
    counts = np.zeros(size)
    for batch in released.batches(gathering.groups):
        gathering.add(batch)
        counts += np.bincount(_cells(asked, batch, m), minlength=size)
    chain = gathering.chain()
    shown = counts.reshape(shape)
    if asked.kind == "transitions":
        rows = shown.sum(axis=1, keepdims=True)
        shown = shown / np.where(rows > 0, rows, 1.0)
    even = 1.0 / np.diff(chain.graph.first)[chain.source]
    near = chain.normalised(gathering.taken + 0.5)  # no edge is ruled out
    table = ChainTables(chain, asked, shape).estimated([near, even], gathering.sizes, shown)
    return table, [ASSUMED]


def _cells(asked: Statistic, batch: Batch, m: int) -> NDArray[np.int64]:
    if asked.kind == "presence":
        keys = np.unique(batch.word * m + batch.codes)
        return np.asarray(batch.lengths[keys // m] * m + keys % m)
    return windows(asked, batch).cells(m)


@dataclass(eq=False)
class _Gathering:
    """The different words of a file, and the chances with which each of their symbols is released."""

    released: ReleasedWords
    _emissions: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    _rows: list[NDArray[np.float64]] = field(default_factory=list)
    _words: dict[int, list[tuple[Codes, NDArray[np.int64]]]] = field(default_factory=dict)
    _masks: dict[bytes, int] = field(default_factory=dict)
    _laws: dict[tuple[int, int], tuple[list[int], NDArray[np.float64]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._again = Rerelease(self.released.release, self.released.told, where=str(self.released.manifest_file))
        self.groups = min(FEWEST, self.released.units())
        self.sizes = np.zeros(max(self.groups, 1), dtype=np.int64)
        self._graph = self.released.release.mechanism.language.graph
        self.taken = np.zeros(0 if self._graph is None else self._graph.edge_count)

    def add(self, batch: Batch) -> None:
        """Some more words."""
        self.sizes += np.bincount(batch.groups, minlength=len(self.sizes))
        for length in np.unique(batch.lengths[batch.lengths > 0]).tolist():
            rows = np.flatnonzero(batch.lengths == length)
            words = gathered(batch.codes, batch.lengths, rows, length)
            self._words.setdefault(length, []).append((words, batch.groups[rows]))

    def chain(self) -> HiddenChain:
        """All of it."""
        found = []
        for length, parts in sorted(self._words.items()):
            words = np.concatenate([each for each, _ in parts])
            groups = np.concatenate([each for _, each in parts])
            different, number = np.unique(words, axis=0, return_inverse=True)
            counts = np.zeros((len(different), len(self.sizes)))
            np.add.at(counts, (number.reshape(-1), groups), 1.0)
            found.append(ReleasedOfLength(self._emission_rows(length, different, counts.sum(axis=1)), counts))
        if not found or self._graph is None:
            raise InputError("estimate: expected at least one sequence with a symbol in the private file, found none")
        return HiddenChain(self._graph, np.array(self._rows), found)

    def _emission_rows(self, length: int, words: Codes, counts: NDArray[np.float64]) -> NDArray[np.int64]:
        mechanism = self._again.mechanism(length)
        language = mechanism.language.runs
        assert isinstance(mechanism, Online) and language is not None  # noqa: S101 - asked before
        try:
            edges = language.walk_edges(words)
        except WordError:
            raise FileError(str(self.released.place), expected="words that the model has", found="others") from None
        np.add.at(self.taken, edges, counts[:, None])
        rows = np.empty(edges.shape, dtype=np.int64)
        for position in range(length):
            alive = language.alive[length - position - 1]
            mask = self._masks.setdefault(alive.tobytes(), len(self._masks))
            public = position == 0 and language.public_start
            different, number = np.unique(edges[:, position], return_inverse=True)
            known = [self._emission(mechanism, edge, alive, mask, public) for edge in different.tolist()]
            rows[:, position] = np.array(known)[number]
        return rows

    def _emission(self, mechanism: Online, edge: int, alive: NDArray[np.bool_], mask: int, public: bool) -> int:
        """The row of the chances of an edge given each true symbol."""
        key = (mask, edge, public)
        if key not in self._emissions:
            graph = mechanism.language.graph
            assert graph is not None  # noqa: S101 - online releases words of a model
            state = int(np.searchsorted(graph.first, edge, side="right")) - 1
            if public:
                row = (np.arange(len(mechanism.alphabet)) == graph.symbol[edge]).astype(np.float64)
            else:
                if (mask, state) not in self._laws:
                    self._laws[mask, state] = mechanism.step_law(state, alive)
                options, chances = self._laws[mask, state]
                row = chances[:, options.index(edge)]
            self._emissions[key] = len(self._rows)
            self._rows.append(row)
        return self._emissions[key]
