"""Releasing private words again, with the rates in a manifest: nothing is proved again, at no further privacy cost.

The noise that a manifest tells: what the release did to words over an alphabet, by length.

Rates and steps are taken from the manifest as they are: searches and proofs are not made again.

The words of an online release, and the chances with which each of their symbols is released: what a hidden chain is
fitted to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from symveil.errors import FileError, InputError, WordError
from symveil.estimation.hidden_chain import HiddenChain, ReleasedOfLength
from symveil.estimation.limits import LIMITS as ESTIMATION_LIMITS
from symveil.estimation.substitution_noise import LengthNoise, SubstitutionNoise
from symveil.estimation.table import Batch, Floats, Indices, WordSums
from symveil.languages.costs import INFINITE, Cost, SymbolCosts
from symveil.languages.language import gathered
from symveil.mechanisms.by_length import of_length, symbol_rate
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.law import Law
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.models.alphabet import Codes, Lengths
from symveil.numbers.once import Memo, computed_once
from symveil.numbers.rationals import exact
from symveil.randomness import BitSource, NotPrivateSeededBits
from symveil.release.limits import LIMITS
from symveil.release.private_file import PrivateFile
from symveil.release.spec import LocalSpec


def noise_of(release: LocalSpec, document: dict[str, Any]) -> SubstitutionNoise:
    """The noise in words over an alphabet, by the laws of a manifest."""
    times = release.times
    if times is not None and times.joint:
        if times.grid.waits is not None:
            raise InputError(
                "estimate: expected the statistic durations or lengths where waits are released, found another one: "
                "first events, which have no wait, have another noise"
            )
        own = LengthNoise(symbols=len(release.alphabet), length=0, rate=times.law.symbol_rate)
        return SubstitutionNoise(symbols=own.symbols, of_length=lambda _: own, constant=own)
    rates = {_rate(row) for row in document.get("law", ())}  # version 1 has none
    if len(rates) == 1 and None not in rates:
        (rate,) = rates
        constant = LengthNoise(symbols=len(release.alphabet), length=0, rate=rate)
        return SubstitutionNoise(symbols=constant.symbols, of_length=lambda _: constant, constant=constant)
    return noise_of_mechanism(release.mechanism)


def noise_of_mechanism(mechanism: Mechanism) -> SubstitutionNoise:
    """The noise of a mechanism for words over an alphabet, as it works it out now."""
    symbols = len(mechanism.alphabet)
    rate = symbol_rate(mechanism)
    if rate is not None:
        constant = LengthNoise(symbols=symbols, length=0, rate=float(rate))
        return SubstitutionNoise(symbols=symbols, of_length=lambda _: constant, constant=constant)
    return SubstitutionNoise(symbols=symbols, of_length=lambda length: _length_noise(mechanism, length))


def _length_noise(mechanism: Mechanism, length: int) -> LengthNoise:
    symbols = len(mechanism.alphabet)
    own = of_length(mechanism, length)
    if own is None or length == 0:
        return LengthNoise(symbols=symbols, length=length, rate=1.0)
    if isinstance(own, Exponential) and own.utility == "distance":
        return LengthNoise(symbols=symbols, length=length, rate=float(own.rate))
    return LengthNoise.from_law(own.distances(), symbols=symbols)


def _rate(row: dict[str, Any]) -> float | None:
    """η where symbols are drawn independently of each other."""
    if row["mechanism"] != Exponential.name or row["utility"] != "distance":
        return None
    return float(exact(row["rate"], name="rate"))


class Rerelease:
    """What was done to the words of a file, to be done again by the same laws.

    Parameters
    ----------
    release
        What the manifest describes.
    document
        The manifest.
    where
        Its file, for messages.
    faster
        A factor for all rates: what another epsilon would do, about.
    """

    def __init__(
        self, release: LocalSpec, document: dict[str, Any], *, where: str, faster: Fraction = Fraction(1)
    ) -> None:
        self._release, self._where, self._faster = release, where, faster
        self._rows: list[dict[str, Any]] = document.get("law", document["classes"])  # version 1 has no laws
        self._made = Memo(self._make)

    @classmethod
    def of(cls, released: PrivateFile, *, faster: Fraction = Fraction(1)) -> Self:
        """What was done to the words of a private file."""
        return cls(released.release, released.document, where=str(released.manifest_file), faster=faster)

    @computed_once
    def _laws(self) -> list[Mechanism]:
        """The mechanism of each law in the manifest; refused where one of them cannot be undone."""
        results = [self.mechanism(row["lengths"][1]) for row in self._rows]
        for law in (each.law for each in results):
            undone = law.kind != PermuteAndFlip.name and (law.kind != Optimal.name or _is_flat(law))
            if self._release.model is not None and not undone:
                raise InputError(
                    "estimate: expected a mechanism that can be undone on a model (exponential, staircase, online, "
                    f"flat), found {law.kind}, whose iterates need not come closer to the truth"
                )
        return results

    @property
    def steps(self) -> int:
        """How many releases are one step: two where P may have negative eigenvalues, so that P² has none."""
        return 1 if all(self._is_positive(each) for each in self._laws) else 2

    @property
    def is_heuristic(self) -> bool:
        """Whether nothing is proved of the release: online, which is not reversible."""
        return any(each.law.kind == Online.name for each in self._laws)

    def draw(self, codes: Codes, lengths: Lengths, bits: BitSource) -> Codes:
        """A release of each word."""
        released = codes.copy()
        begins = np.cumsum(lengths) - lengths
        for length in np.unique(lengths[lengths > 0]).tolist():
            rows = np.flatnonzero(lengths == length)
            words = gathered(codes, lengths, rows, length)
            drawn, _ = self._made[length].release_flat(words.reshape(-1), lengths[rows], bits=bits, checked=True)
            released[begins[rows][:, None] + np.arange(length)] = drawn.reshape(words.shape)
        return released

    def stepped(self, codes: Codes, lengths: Lengths, bits: BitSource) -> Codes:
        """The same as often as one step takes it."""
        for _ in range(self.steps):
            codes = self.draw(codes, lengths, bits)
        return codes

    def compared(self, batch: Batch) -> NDArray[np.bool_]:
        """Which symbols agreement is about: a public start is never changed."""
        return np.asarray(batch.position >= (1 if self._release.choice.public_start else 0))

    def agreement(self, batch: Batch, seed: int) -> float:
        """The share of the symbols of a release that a step leaves as they are; a batch has some to compare."""
        bits = NotPrivateSeededBits(seed)
        once = self.draw(batch.codes, batch.lengths, bits)
        return float(np.mean((self.stepped(once, batch.lengths, bits) == once)[self.compared(batch)]))

    def mechanism(self, length: int) -> Mechanism:
        """The mechanism that released words of this length."""
        made = of_length(self._release.mechanism, length)
        if made is None:
            raise FileError(self._where, expected="words that the model has", found="others")
        return made

    def _make(self, length: int) -> Mechanism:
        """The same with all rates as much larger as is wanted."""
        made, choice = self.mechanism(length), self._release.choice
        if self._faster == 1:
            return made
        if made.law.rate is not None:
            return type(made).from_law(replace(made.law, rate=made.law.rate * self._faster))
        # a table has no rate: about what the law would be at another epsilon
        budget = choice.epsilon * self._faster / (2 * made.reach)
        plain = Exponential(made.language, epsilon=choice.epsilon, adjacency=choice.adjacency, calibration="classic")
        return Exponential.from_law(replace(plain.law, rate=budget))

    def _is_positive(self, own: Mechanism) -> bool:
        """Whether P has positive eigenvalues only, so far as that is known."""
        law = own.law
        if law.kind in (Online.name, PermuteAndFlip.name):
            return True  # of online not proved, see is_heuristic; on words over an alphabet a mixture of z^d
        if law.kind == Optimal.name and law["beyond"] == "graceful":
            return self._release.model is not None and _is_flat(law)  # s(x)·c^−d, as for the exponential mechanism
        if law.kind != Exponential.name:
            return False
        if law["cost"] == "hamming":
            return True  # e^{−ηd}, and all mixtures of such: the inverse utility too
        if own.weighting is None or law.rate is None:
            return False
        return is_positive(own.weighting.weights(law.rate).costs, float(law.rate), len(own.alphabet))


class Iteration:
    """Words, a release of them and a release of that; with how many symbols the first release leaves as they are."""

    def __init__(self, again: Rerelease, seed: int) -> None:
        self._again, self._bits = again, NotPrivateSeededBits(seed)
        self._same = self._symbols = 0

    def of(self, batch: Batch) -> Iterator[Codes]:
        """The words of a batch, and those of both releases."""
        yield batch.codes
        once = self._again.stepped(batch.codes, batch.lengths, self._bits)
        compared = self._again.compared(batch)
        self._same += int(np.count_nonzero((batch.codes == once) & compared))
        self._symbols += int(np.count_nonzero(compared))
        yield once
        yield self._again.stepped(once, batch.lengths, self._bits)

    @property
    def agreement(self) -> float:
        """The share of symbols that stay, so far."""
        return self._same / self._symbols if self._symbols else 1.0


def _is_flat(law: Law) -> bool:
    """Whether the law of the optimal mechanism is s(x)·c^−d(w, x): reversible, with positive eigenvalues."""
    peaks = law.table.peaks if law.table is not None and law["beyond"] == "graceful" else ()
    return bool(peaks) and all(word == released for word, released, _ in peaks)


def is_positive(cost: Cost, rate: float, symbols: int) -> bool:
    """Whether e^{−η·c(a, a')} is a positive definite matrix at every position, so that P is similar to one.

    The cost is without steps, and the rate is η.
    """
    if cost.period != 1 or symbols > LIMITS.now.metric_symbols:
        return False
    return all(_is_positive(metric, cost, rate, symbols) for metric in cost.metrics)


def _is_positive(metric: SymbolCosts, cost: Cost, rate: float, symbols: int) -> bool:
    far = 0.0 if cost.far == INFINITE else np.exp(-rate * float(cost.values[cost.far]))
    table: NDArray[np.float64] = np.full((symbols, symbols), far)
    levels = np.array([float(value) for value in cost.values])
    rows = np.repeat(np.arange(symbols), np.diff(metric.first))
    table[rows, metric.symbol] = np.exp(-rate * levels[metric.level])
    symmetric = bool(np.array_equal(table, table.T))
    return symmetric and float(np.linalg.eigvalsh(table)[0]) > 1e-12 * symbols


class OnlineWords(WordSums):
    """The different words of an online release, and the chances with which each of their symbols is released."""

    def __init__(self, released: PrivateFile) -> None:
        super().__init__(min(ESTIMATION_LIMITS.now.fewest_groups, released.units()))
        self._path, self._again = released.path, Rerelease.of(released)
        self._emissions: dict[tuple[int, int, bool], int] = {}
        self._rows: list[Floats] = []
        self._words: dict[int, list[tuple[Codes, Indices]]] = {}
        self._masks: dict[bytes, int] = {}
        self._laws: dict[tuple[int, int], tuple[list[int], Floats]] = {}
        self._graph = released.release.mechanism.language.graph
        self.taken = np.zeros(0 if self._graph is None else self._graph.edge_count)
        """How often each edge of the model occurs in the released words."""

    def _add(self, batch: Batch) -> None:
        for length in np.unique(batch.lengths[batch.lengths > 0]).tolist():
            rows = np.flatnonzero(batch.lengths == length)
            words = gathered(batch.codes, batch.lengths, rows, length)
            self._words.setdefault(length, []).append((words, batch.groups[rows]))

    def chain(self) -> HiddenChain:
        """All of it."""
        results = []
        for length, parts in sorted(self._words.items()):
            words = np.concatenate([each for each, _ in parts])
            groups = np.concatenate([each for _, each in parts])
            different, number = np.unique(words, axis=0, return_inverse=True)
            counts = np.zeros((len(different), len(self.sizes)))
            np.add.at(counts, (number.reshape(-1), groups), 1.0)
            results.append(ReleasedOfLength(self._emission_rows(length, different, counts.sum(axis=1)), counts))
        if not results or self._graph is None:
            raise InputError("estimate: expected at least one sequence with a symbol in the private file, found none")
        return HiddenChain(self._graph, np.array(self._rows), results)

    def _emission_rows(self, length: int, words: Codes, counts: Floats) -> Indices:
        mechanism = self._again.mechanism(length)
        language = mechanism.language.runs
        assert isinstance(mechanism, Online) and language is not None  # noqa: S101 - asked before
        try:
            edges = language.walk_edges(words)
        except WordError:
            raise FileError(str(self._path), expected="words that the model has", found="others") from None
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
