"""Tables that are expected of the true words, given what was released and a chain that they are assumed to be from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from symveil.errors import InputError
from symveil.estimation.hidden_chain import Fitted, Floats, HiddenChain, Indices
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import FEWEST, EstimatedTable, Variances, shares_of_rows
from symveil.numbers.rationals import percent
from symveil.trellis.passes import scaled_backward, scaled_forward

MOST_WORK = 4_000_000_000
"""How many products a table may take: some minutes."""
_MOST_PATHS = 2_000_000
_FAR_APART = 0.05
"""Two starting points whose tables differ by more than this share have not found the same chain."""


class ChainTables:
    """The table of one statistic, expected given a chain.

    Parameters
    ----------
    chain
        What was released, on which model.
    statistic
        What is counted.
    shape
        That of the table: a position or a length first where there is one, then symbols.
    """

    def __init__(self, chain: HiddenChain, statistic: Statistic, shape: tuple[int, ...]) -> None:
        self._chain, self._statistic, self._shape = chain, statistic, shape
        self._symbols = len(chain.graph.alphabet)
        if statistic.kind in ("od", "presence"):
            begins = len(chain.graph.edges(chain.graph.start)) if statistic.kind == "od" else self._symbols
            if chain.work * begins > MOST_WORK:
                raise InputError(
                    f"estimate: expected a model and a file small enough for {statistic.name} by a chain "
                    f"({MOST_WORK:,} products), found {chain.work * begins:,}; leave `assume` out"
                )

    def table(self, chances: Floats, weights: Sequence[Floats]) -> Floats:
        """The table where each different word counts so often, for each length.

        Parameters
        ----------
        chances
            The chain, by edges.
        weights
            How often each different word counts.
        """
        kind = self._statistic.kind
        if kind == "od":
            return self._ends(chances, weights)
        if kind == "presence":
            return self._presence(chances, weights)
        return self._windows(chances, weights)

    def _windows(self, chances: Floats, weights: Sequence[Floats]) -> Floats:
        """Σ over windows of the chance that its symbols are a cell's."""
        chain, order, kind = self._chain, self._statistic.order, self._statistic.kind
        windows = self._paths(order)
        cells = np.zeros(windows.shape[1], dtype=np.int64)
        for edges in windows:
            cells = cells * self._symbols + chain.graph.symbol[edges]
        within, leading = self._symbols**order, kind == "positions"
        total = np.zeros(int(np.prod(self._shape, dtype=np.int64)))
        begins, ends = chain.graph.source[windows[0]], chain.graph.target[windows[-1]]
        product = np.prod(chances[windows], axis=0)
        for emission, weight in chain.parts(weights, max(windows.shape[1], chain.graph.edge_count)):
            paths = chain.paths(chances, emission)
            following, _ = scaled_backward(paths, 0)
            before = [layer for layer, _ in scaled_forward(paths, chain.start(len(emission)), 0)]
            last = emission.shape[1] - order
            wanted = {"first": range(min(1, last + 1)), "last": range(max(last, 0), last + 1)}.get(
                kind, range(last + 1)
            )
            for position in wanted:
                joint = before[position][begins] * product[:, None] * following[position + order][ends]
                for step, edges in enumerate(windows):
                    joint *= chain.seen(emission, position + step)[edges]
                sums = joint @ (weight / joint.sum(axis=0))
                at = cells + within * position if leading else cells
                total += np.bincount(at, weights=sums, minlength=len(total))
        return total.reshape(self._shape)

    def _paths(self, order: int) -> Indices:
        """All paths of so many edges: a row for each of their edges."""
        graph = self._chain.graph
        paths = np.arange(graph.edge_count)[None, :]
        for _ in range(order - 1):
            after = graph.target[paths[-1]]
            if int(graph.degrees[after].sum()) > _MOST_PATHS:
                raise InputError(
                    f"estimate: expected a model with at most {_MOST_PATHS:,} paths of {order} symbols, found more; "
                    "use a smaller order"
                )
            path, edge = graph.expand(after)
            paths = np.concatenate([paths[:, path], edge[None, :]])
        return paths

    def _ends(self, chances: Floats, weights: Sequence[Floats]) -> Floats:
        """For each first symbol the law of the last one, by words that begin with it."""
        chain, graph = self._chain, self._chain.graph
        total = np.zeros(self._shape)
        for emission, weight in chain.parts(weights, graph.edge_count):
            last = emission.shape[1] - 1
            if last + 1 < self._statistic.order:
                continue
            paths = chain.paths(chances, emission)
            logs, beginning = chain.log_likelihoods(paths), paths.along(0, chain.start(len(emission)))
            for first in graph.edges(graph.start):
                begin = np.zeros((graph.state_count, len(emission)))
                begin[graph.target[first]] = beginning[first]
                *_, (before, sizes) = islice(scaled_forward(paths, begin, 0, begin=1), last)
                taken = paths.meet(last, paths.along(last, before), paths.final)
                sums = taken @ (weight * np.exp(sizes - logs))
                total[graph.symbol[first]] += np.bincount(graph.symbol, weights=sums, minlength=self._symbols)
        return total

    def _presence(self, chances: Floats, weights: Sequence[Floats]) -> Floats:
        """For each symbol and length how many words have it: all but those that avoid it."""
        chain, total = self._chain, np.zeros(self._shape)
        for emission, weight in chain.parts(weights, chain.graph.edge_count):
            logs = chain.log_likelihoods(chain.paths(chances, emission))
            for symbol in range(self._symbols):
                without = chain.log_likelihoods(chain.paths(chances * (chain.graph.symbol != symbol), emission))
                total[emission.shape[1], symbol] += float(weight @ -np.expm1(np.minimum(without - logs, 0.0)))
        return total

    # --- with errors ---------------------------------------------------------------------------

    def estimated(self, starts: Sequence[Floats], sizes: NDArray[np.int64], released: Floats) -> EstimatedTable:
        """The table by the best chain that was found, with errors by leaving one group of words out at a time.

        Parameters
        ----------
        starts
            Chains to start from.
        sizes
            How many words each group has.
        released
            The table of the released words.
        """
        chain, words = self._chain, float(sizes.sum())
        weights = [own.counts.sum(axis=1) for own in chain.released]
        fits = [chain.fitted(start, weights) for start in starts]
        best = max(fits, key=lambda fit: fit.log_likelihood)
        apart = max(float(np.abs(fit.steps - best.steps).sum()) / max(best.steps.sum(), 1.0) for fit in fits)
        whole = self._as_reported(self.table(best.chances, weights))
        notes, alike = [_how(best)], apart <= _FAR_APART
        if not alike:
            notes.append(
                f"no intervals: two starting points led to chains that differ by {percent(apart)} of all steps, so "
                "this file does not tell which is right"
            )
        bounded = alike and best.converged and len(sizes) >= FEWEST
        if len(sizes) < FEWEST:
            notes.append(f"no intervals: they need at least {FEWEST} sequences or clusters")
        elif bounded and len(sizes) * best.rounds * chain.work > MOST_WORK:
            bounded = False
            notes.append("no intervals: the file and the model are too large to find the chain again for each group")
        values = np.zeros(self._shape)
        listed = whole > 0
        if bounded:
            values, rows = self._left_out(best, sizes)
            notes.append(f"intervals hold if the assumption does: {len(sizes)} groups, one left out at a time")
            if self._statistic.kind == "transitions":
                counts = self.table(best.chances, weights).sum(axis=1)
                listed &= ((counts >= 4 * np.sqrt(rows)) & (counts > 0))[:, None]
        return EstimatedTable(
            released=released,
            estimate=whole,
            variances=Variances(values=values, freedom=max(len(sizes) - 1, 1)),
            consistent=whole,
            most=1.0 if self._statistic.kind == "transitions" else max(words, float(whole.sum())),
            listed=listed,
            leading={"positions": "position", "presence": "length"}.get(self._statistic.kind),
            notes=tuple(notes),
            bounded=bounded,
        )

    def _as_reported(self, table: Floats) -> Floats:
        """The table as it is reported: transitions are shares of their row."""
        return shares_of_rows(table) if self._statistic.kind == "transitions" else table

    def _left_out(self, best: Fitted, sizes: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(G−1)/G·Σ_g (X_g − X̄)², X_g without group g; the same of the rows' totals."""
        chain, words = self._chain, float(sizes.sum())
        tables, rows = [], []
        for group, size in enumerate(sizes.tolist()):
            weights = [own.counts.sum(axis=1) - own.counts[:, group] for own in chain.released]
            without = chain.fitted(best.chances, weights)
            table = self.table(without.chances, weights) * (words / (words - size))
            tables.append(self._as_reported(table))
            rows.append(table.sum(axis=-1))
        spread = (len(sizes) - 1) / len(sizes)
        return tuple(  # type: ignore[return-value]
            spread * sum(((each - np.mean(result, axis=0)) ** 2 for each in result), np.zeros(()))
            for result in (np.array(tables), np.array(rows))
        )


def _how(best: Fitted) -> str:
    text = f"by Baum–Welch, {best.rounds} rounds"
    return text if best.converged else f"{text}; no intervals: it has not converged"
