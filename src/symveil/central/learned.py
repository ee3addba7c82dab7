"""A law of words learned with one ε per person: five tables with noise, and the fit to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from symveil.central.contributions import GRID, PersonCounts, Read, contributed_each
from symveil.central.fit import Classes, fitted, words_in
from symveil.central.noise import Neighbours, Query
from symveil.central.noisy_tables import NoisyTable
from symveil.central.quality import Quality
from symveil.central.rules import RuledLaw, Rules
from symveil.central.support import Support
from symveil.central.word_law import FEATURES, Parameters
from symveil.models.markov_chain import MarkovChain
from symveil.models.word import Codes, Lengths
from symveil.randomness import BitSource, RecordKey

SHARES = {
    "moves": Fraction(50, 100),
    "od": Fraction(30, 100),
    "starts": Fraction(8, 100),
    "ends": Fraction(8, 100),
    "lengths": Fraction(4, 100),
}
"""What each table gets of ε."""
_FINEST = 1 << 40
"""Of the probabilities of the chain: each move that the support has keeps at least one such part."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedLaw:
    """A law of words on a public support.

    Parameters
    ----------
    support
        The moves, the zones and the lengths.
    parameters
        What was learned of each of them.
    symbols
        The names of the symbols.
    zone_names
        The names of the zones.
    rules
        What words obey beside the support: the law is the one above, given these.
    quality
        The noise that it was learned from; None where an older version wrote it.
    """

    support: Support
    parameters: Parameters = field(repr=False)
    symbols: tuple[str, ...] = field(repr=False)
    zone_names: tuple[str, ...] = field(repr=False)
    rules: Rules = field(default_factory=Rules)
    quality: Quality | None = None

    def chain(self) -> MarkovChain:
        """The Markov chain with the same moves: each from a symbol as often as the law has it.

        It follows automata among the rules, and does not know that a symbol occurs at most once.
        """
        law = RuledLaw.of(self.support, self.parameters, self.rules, self.symbols)
        by_phase = law.trellis().expected().means["moves"].reshape(self.support.phases, -1)
        width = self.support.symbols
        listed = self.support.source * width + self.support.target
        order = np.argsort(listed)
        pairs = law.symbol[law.support.source] * width + law.symbol[law.support.target]
        means = np.zeros(len(listed))
        np.add.at(means, order[np.searchsorted(listed, pairs, sorter=order)], by_phase.sum(axis=0))
        whole = np.maximum(np.round(means * _FINEST), 1.0)
        totals = np.zeros(self.support.symbols)
        np.add.at(totals, self.support.source, whole)
        rows = zip(self.support.source.tolist(), self.support.target.tolist(), whole.tolist(), strict=True)
        return MarkovChain.from_transitions(
            [(self.symbols[a], self.symbols[b], Fraction(int(part), int(totals[a]))) for a, b, part in rows],
            states=self.symbols,
        )

    def draw(self, count: int, bits: BitSource) -> tuple[Codes, Lengths]:
        """So many words that obey all rules, one after the other, with their lengths."""
        return RuledLaw.of(self.support, self.parameters, self.rules, self.symbols).draw(count, bits)

    def under(self, rules: Rules) -> LearnedLaw:
        """The same law with more rules."""
        return replace(self, rules=self.rules.and_those(rules))


def law_queries(
    epsilon: Fraction, neighbours: Neighbours, shares: Mapping[str, Fraction] = SHARES
) -> tuple[Query, ...]:
    """The queries of a law of trips: a table for each feature, with its share of ε.

    >>> [str(each.epsilon) for each in law_queries(Fraction(1), "add-remove")]
    ['1/2', '2/25', '2/25', '3/10', '1/25']
    """
    return tuple(
        Query(name=f"law of words: {name}", epsilon=epsilon * shares[name], bound=1, neighbours=neighbours)
        for name in FEATURES
    )


def law_quality(support: Support, persons: float, queries: Sequence[Query]) -> Quality:
    """The noise of each table of a law of trips."""
    cells = {name: len(each) for name, each in support.cells().items()}
    return Quality.of(persons, cells, dict(zip(FEATURES, queries, strict=True)))


def learn_law(
    support: Support,
    read: Read,
    persons: int,
    *,
    symbols: Sequence[str],
    zone_names: Sequence[str],
    rules: Rules,
    classes: Classes,
    epsilon: Fraction,
    neighbours: Neighbours,
    keys: RecordKey,
) -> tuple[LearnedLaw, tuple[Query, ...]]:
    """A law learned from all words, and the queries that it cost.

    Each person adds 1 in all to each table, shared among everything of theirs: the law is that of a random word of a
    random person.

    Parameters
    ----------
    support
        The moves, the zones and the lengths.
    read
        Reads all legal words; their groups are persons, numbered from 0.
    persons
        How many persons there are.
    symbols, zone_names
        Names, for the result.
    rules
        Declared ones, which words of the law obey.
    classes
        What moves and pairs of zones have in common by the public map.
    epsilon, neighbours
        What each person loses at most, and between which files.
    keys
        Where noise comes from.
    """
    queries = law_queries(epsilon, neighbours)
    tables: dict[str, NoisyTable] = {}
    every = [support.cells()[name] for name in FEATURES]
    weights = [counted.weights(1) for counted in PersonCounts.of_each(every, read(), persons)]
    sums = contributed_each(every, read(), weights)
    for name, query, cells, own in zip(FEATURES, queries, every, sums, strict=True):
        called = cells.names(zone_names if name == "od" else symbols)
        values = np.array([value / GRID for value in query.answered(own, keys, cells=called)])
        tables[name] = NoisyTable(values=values, deviation=math.sqrt(2) * float(query.scale / GRID))
    parameters = fitted(support, tables, classes)
    law = LearnedLaw(
        support=support,
        parameters=parameters,
        symbols=tuple(symbols),
        zone_names=tuple(zone_names),
        rules=rules,
        quality=law_quality(support, words_in(tables), queries),
    )
    return law, queries
