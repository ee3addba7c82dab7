"""Baum–Welch on the words of a model: what is hidden is assumed to be drawn from a first-order chain on its graph.

Where each released symbol depends on the true symbol and on what was released before, and on nothing else, its chance
is an emission of a hidden Markov model: then the likelihood of a chain is exact, and expectation and maximisation take
turns until it no longer grows. Right only if the true words are drawn from such a chain, which the private file does
not prove: results that use it must state the assumption. `ChainTables` are expected of the true words, given what was
released and such a chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from symveil.errors import InputError
from symveil.estimation.limits import LIMITS
from symveil.estimation.statistics import Statistic
from symveil.estimation.table import EstimatedTable, Floats, Indices, Variances, shares_of_rows
from symveil.languages.graph import WordGraph
from symveil.numbers.rationals import percent
from symveil.trellis.passes import Trellis, scaled_backward, scaled_forward, scaled_through_edges, scaled_total
from symveil.trellis.semirings import FLOATS


@dataclass(frozen=True, eq=False)
class ReleasedOfLength:
    """The different released words of one length: for each symbol the row of its emissions, and how often by group."""

    emission: Indices
    """A row for each word, a column for each position: a row of the table of emissions."""
    counts: Floats
    """How often each word occurs in each group."""

    def words(self) -> int:
        """How many words there are, repetitions included."""
        return int(self.counts.sum())


@dataclass(frozen=True, eq=False)
class Fitted:
    """A chain that explains what was released as well as any nearby, and how it was found."""

    chances: Floats
    """For each edge of the graph its chance, given the state that it leaves."""
    steps: Floats
    """For each edge how often it is expected to have been taken."""
    log_likelihood: float
    rounds: int
    converged: bool


@dataclass(frozen=True, eq=False)
class HiddenChain:
    """Released words, and for each of their symbols the chance of it given each true symbol.

    Parameters
    ----------
    graph
        The model: true words are its paths from the start to an accepting state.
    emissions
        A row for each way in which a symbol can have been released, a column for each true symbol.
    released
        The words, by length.
    """

    graph: WordGraph
    emissions: Floats
    released: Sequence[ReleasedOfLength]

    @property
    def work(self) -> int:
        """How many products of an edge and a symbol one round takes."""
        return sum(each.emission.size for each in self.released) * self.graph.edge_count

    # --- one round -----------------------------------------------------------------------------

    def parts(self, weights: Sequence[Floats], columns: int) -> Iterator[tuple[Indices, Floats]]:
        """Words as rows of emissions, and how often each counts: as many as arrays of so many columns may have."""
        many = max(1, LIMITS.now.numbers_at_once // max(columns, 1))
        for own, weight in zip(self.released, weights, strict=True):
            for begin in range(0, len(own.emission), many):
                yield own.emission[begin : begin + many], weight[begin : begin + many]

    def seen(self, emission: Indices, position: int) -> Floats:
        """For each edge and word the chance of the symbol released at a position, if the true word takes the edge."""
        return np.asarray(self.emissions[emission[:, position]].T[self.graph.symbol])

    def paths(self, chances: Floats, emission: Indices) -> Trellis:
        """What true words are worth that explain each of some released ones, a lane for each.

        Chances are those of the chain, by edges, and smaller where a path is to avoid an edge. Words are rows of
        emissions.
        """

        def worth(position: int) -> Floats:
            result = self.seen(emission, position)
            result *= chances[:, None]
            return result

        words, length = emission.shape
        final = self._in_lanes(self.graph.accepting, words)
        return Trellis(edges=self.graph, length=length, semiring=FLOATS, final=final, worth=worth)

    def start(self, words: int) -> Floats:
        """Where true words begin, for so many released ones."""
        return self._in_lanes(np.arange(self.graph.state_count) == self.graph.start, words)

    @staticmethod
    def _in_lanes(states: NDArray[np.bool_], words: int) -> Floats:
        return np.repeat(states[:, None].astype(np.float64), words, axis=1)

    def log_likelihoods(self, paths: Trellis) -> Floats:
        """ln of the chance of each of some released words; −∞ where no path explains it."""
        return self._log_likelihoods(*scaled_total(paths, 0))

    def _log_likelihoods(self, first: Floats, logs: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(logs + np.log(first[self.graph.start]))

    def expected_steps(self, chances: Floats, weights: Sequence[Floats]) -> tuple[Floats, float]:
        """How often each edge is expected to have been taken, given what was released; and ln of the likelihood.

        `weights`: how often each different word counts, for each length.
        """
        steps, total = np.zeros(self.graph.edge_count), 0.0
        for emission, weight in self.parts(weights, self.graph.edge_count):
            paths = self.paths(chances, emission)
            behind, logs = scaled_backward(paths, 0)
            for taken in scaled_through_edges(paths, self.start(len(emission)), 0, behind=behind):
                steps += taken @ (weight / taken.sum(axis=0))
            total += float(self._log_likelihoods(behind[0], logs[0]) @ weight)
        return steps, total

    def normalised(self, steps: Floats) -> Floats:
        """The chain whose edges are taken in these proportions; states that are never left leave by all alike."""
        below = self.graph.sum_over(steps)[self.graph.source]
        return np.asarray(np.where(below > 0, steps / np.where(below > 0, below, 1.0), self.evenly))

    @property
    def evenly(self) -> Floats:
        """The chain that leaves each state by all its edges alike."""
        return np.asarray(1.0 / self.graph.degrees[self.graph.source])

    # --- until it stands still -----------------------------------------------------------------

    def fitted(self, start: Floats, weights: Sequence[Floats]) -> Fitted:
        """The chain that Baum–Welch finds from a starting point, in steps that are lengthened where that is better.

        Two rounds tell in which direction the chain moves and how that shrinks; a longer step is taken (Varadhan and
        Roland 2008, SQUAREM) and kept if the likelihood has not fallen.
        """
        chances, done, converged = start, 0, False
        rounds = min(LIMITS.now.rounds, max(LIMITS.now.fewest_rounds, LIMITS.now.products // max(self.work, 1)))
        steps, best = self.expected_steps(chances, weights)
        while done < rounds:
            one = self.normalised(steps)
            second_steps, second_best = self.expected_steps(one, weights)
            two = self.normalised(second_steps)
            done += 2
            moved = float(np.abs(second_steps - steps).sum()) / max(float(second_steps.sum()), 1.0)
            if moved < LIMITS.now.converged:
                chances, steps, best, converged = one, second_steps, second_best, True
                break
            farther = self._lengthened(chances, one, two)
            result, value = self.expected_steps(farther, weights)
            done += 1
            if value >= second_best:
                chances, steps, best = farther, result, value
            else:
                chances, steps, best = one, second_steps, second_best
        return Fitted(chances=chances, steps=steps, log_likelihood=best, rounds=done, converged=converged)

    def _lengthened(self, start: Floats, one: Floats, two: Floats) -> Floats:
        """A longer step in the direction of two rounds, as long as all chances stay above 0."""
        move = one - start
        bend = two - one - move
        size = float(np.linalg.norm(bend))
        length = min(-1.0, -float(np.linalg.norm(move)) / size) if size else -1.0
        while length < -1.0:
            tried = start - 2 * length * move + length**2 * bend
            if (tried[two > 0] > 0).all():
                return self.normalised(np.where(two > 0, tried, 0.0))
            length = (length - 1.0) / 2 if length < -1.01 else -1.0
        return two


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
            if chain.work * begins > LIMITS.now.chain_work:
                raise InputError(
                    f"estimate: expected a model and a file small enough for {statistic.name} by a chain "
                    f"({LIMITS.now.chain_work:,} products), found {chain.work * begins:,}; leave `assume` out"
                )

    def table(self, chances: Floats, weights: Sequence[Floats]) -> Floats:
        """The table where each different word counts so often, for each length."""
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
            if int(graph.degrees[after].sum()) > LIMITS.now.paths:
                raise InputError(
                    f"estimate: expected a model with at most {LIMITS.now.paths:,} paths of {order} symbols, found "
                    "more; use a smaller order"
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

        `sizes`: how many words each group has; `released`: the table of the released words.
        """
        chain, words = self._chain, float(sizes.sum())
        weights = [own.counts.sum(axis=1) for own in chain.released]
        fits = [chain.fitted(start, weights) for start in starts]
        best = max(fits, key=lambda fit: fit.log_likelihood)
        apart = max(float(np.abs(fit.steps - best.steps).sum()) / max(best.steps.sum(), 1.0) for fit in fits)
        whole = self._as_reported(self.table(best.chances, weights))
        notes, alike = [_how(best)], apart <= LIMITS.now.far_apart
        if not alike:
            notes.append(
                f"no intervals: two starting points led to chains that differ by {percent(apart)} of all steps, so "
                "this file does not tell which is right"
            )
        bounded = alike and best.converged and len(sizes) >= LIMITS.now.fewest_groups
        if len(sizes) < LIMITS.now.fewest_groups:
            notes.append(f"no intervals: they need at least {LIMITS.now.fewest_groups} sequences or clusters")
        elif bounded and len(sizes) * best.rounds * chain.work > LIMITS.now.chain_work:
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
            leading=self._statistic.leading,
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
