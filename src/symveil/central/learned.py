"""A law of words learned with one ε per person: noisy tables, and the fit to them.

Of trips there are five tables, of moves, starts, ends, zones and lengths. Of an event log there are three: lengths of
cases, activities that a case has twice, and moves by position. A case that is longer than the longest public length
counts with its first events and without an end; one that is shorter than the shortest does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from symveil.central.attribute_law import AttributeLaw
from symveil.central.cells import GRID, PersonCounts, Read, Table, cell_name, contributed_each
from symveil.central.fit import Classes, fitted, fitted_log, lower_quartile, words_in
from symveil.central.limits import LIMITS
from symveil.central.noise import Neighbours, NoisyTable, Quality, Query, length_shares, queries_of_shares
from symveil.central.rules import RuledLaw, Rules
from symveil.central.time_law import TimeLaw
from symveil.central.time_tables import WORDS_NAME, WordsReleased
from symveil.central.word_law import FEATURES, Parameters, Support, Trellis, no_parameters
from symveil.estimation.table import Batch, Floats, Indices
from symveil.models.alphabet import Codes, Lengths
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import BitSource, RecordKey

SHARES = {
    "moves": Fraction(50, 100),
    "od": Fraction(30, 100),
    "starts": Fraction(8, 100),
    "ends": Fraction(8, 100),
    "lengths": Fraction(4, 100),
}
"""What each table of a law of trips gets of ε."""
LOG_SHARES = {"lengths": Fraction(15, 100), "repeats": Fraction(10, 100), "moves": Fraction(75, 100)}
"""The same of a law of a log."""
LAW_SHARES = {"trips": SHARES, "log": LOG_SHARES}
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
    times
        The law of times; None where words were learned alone.
    attributes
        The laws of attributes.
    """

    support: Support
    parameters: Parameters = field(repr=False)
    symbols: tuple[str, ...] = field(repr=False)
    zone_names: tuple[str, ...] = field(repr=False)
    rules: Rules = field(default_factory=Rules)
    quality: Quality | None = None
    times: TimeLaw | None = field(default=None, repr=False)
    attributes: tuple[AttributeLaw, ...] = field(default=(), repr=False)

    @property
    def ruled(self) -> RuledLaw:
        """The law given its rules."""
        return RuledLaw.of(self.support, self.parameters, self.rules, self.symbols)

    def chain(self) -> MarkovChain:
        """The Markov chain with the same moves: each from a symbol as often as the law has it.

        It follows automata among the rules, and does not know that a symbol occurs at most once.
        """
        law = self.ruled
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
        return self.ruled.draw(count, bits)

    def released(self, read: Read, *, cut: bool, neighbours: Neighbours, keys: RecordKey) -> WordsReleased:
        """What laws of times and of attributes beside this one are learned from, without looking at anything."""
        words = self.draw(LIMITS.now.judging_words, keys.streams(keys.names([WORDS_NAME])).of_row(0))
        persons = 0.0 if self.quality is None else self.quality.persons
        return WordsReleased(
            support=self.support, symbols=self.symbols, words=words, persons=persons,
            read=read, cut=cut, neighbours=neighbours, keys=keys,
        )  # fmt: skip

    def under(self, rules: Rules) -> LearnedLaw:
        """The same law with more rules."""
        return replace(self, rules=self.rules.and_those(rules))


def law_queries(
    epsilon: Fraction,
    neighbours: Neighbours,
    *,
    quartile: int | None = None,
    shares: Mapping[str, Fraction] | None = None,
) -> tuple[Query, ...]:
    """The queries of a law, each with its share of ε: of trips a table for each feature.

    With a quartile they are those of a log, in their order: the bound of the third is the quartile, which follows from
    the answer to the first.

    >>> [str(each.epsilon) for each in law_queries(Fraction(1), "add-remove")]
    ['1/2', '2/25', '2/25', '3/10', '1/25']
    >>> [(each.bound, str(each.epsilon)) for each in law_queries(Fraction(1), "add-remove", quartile=7)]
    [(1, '3/20'), (4, '1/10'), (7, '3/4')]
    """
    if quartile is None:
        label, bounds = "law of words", dict.fromkeys(FEATURES, 1)
    else:
        label, bounds = "law of a log", {"lengths": 1, "repeats": LIMITS.now.repeats, "moves": quartile}
    own = LAW_SHARES["trips" if quartile is None else "log"] if shares is None else shares
    return queries_of_shares(label, bounds, own, epsilon, neighbours)


def law_quality(support: Support, persons: float, queries: Sequence[Query]) -> Quality:
    """The noise of each table of a law of trips; of a log's those that decide most, lengths and moves."""
    if support.split is None:
        cells = {name: len(each) for name, each in support.cells().items()}
        return Quality.of(persons, cells, dict(zip(FEATURES, queries, strict=True)))
    cells = {"lengths": len(LogLengths(support)), "moves": len(LogMoves(support))}
    return Quality.of(persons, cells, {"lengths": queries[0], "moves": queries[2]})


def _released(
    queries: Sequence[Query],
    tables: Sequence[Table],
    counted: Sequence[PersonCounts],
    read: Read,
    names: Sequence[Sequence[str]],
    keys: RecordKey,
) -> list[NoisyTable]:
    """What queries answer on their tables; everything that a person has is scaled down to the bound of the query."""
    weights = [own.weights(query.bound) for own, query in zip(counted, queries, strict=True)]
    sums = contributed_each(tables, read(), weights)
    return [
        query.released(own, keys, cells=table.names(symbols))
        for query, own, table, symbols in zip(queries, sums, tables, names, strict=True)
    ]


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

    The groups of words are persons, numbered from 0. Words of the law obey the declared rules; classes are what moves
    and pairs of zones have in common by the public map.
    """
    queries = law_queries(epsilon, neighbours)
    every = [support.cells()[name] for name in FEATURES]
    counted = PersonCounts.of_each(every, read(), persons)
    names = [zone_names if name == "od" else symbols for name in FEATURES]
    tables = dict(zip(FEATURES, _released(queries, every, counted, read, names, keys), strict=True))
    parameters = fitted(support, tables, classes)
    law = LearnedLaw(
        support=support,
        parameters=parameters,
        symbols=tuple(symbols),
        zone_names=tuple(zone_names),
        rules=rules,
        quality=law_quality(support, words_in(support, tables), queries),
    )
    return law, queries


@dataclass(frozen=True, eq=False)
class LogLengths:
    """A cell for each public length; longer cases are in the last one."""

    support: Support

    def __len__(self) -> int:
        return self.support.longest - self.support.shortest + 1

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """The length of each cell; the last one also has longer cases."""
        del symbols
        shortest, longest = self.support.shortest, self.support.longest
        return [cell_name([str(length)]) for length in range(shortest, longest)] + [cell_name([str(longest), "more"])]

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """The length of each case that counts, and which case it is."""
        cases = np.flatnonzero(batch.lengths >= self.support.shortest)
        lengths = np.minimum(batch.lengths[cases], self.support.longest)
        return lengths.astype(np.int64) - self.support.shortest, cases


@dataclass(frozen=True, eq=False)
class LogRepeats:
    """A cell for each activity: the cases that have it at least twice."""

    support: Support

    def __len__(self) -> int:
        return self.support.symbols

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """The activity of each cell."""
        return [cell_name([symbol]) for symbol in symbols]

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """Each repeated activity, and which case repeats it."""
        events = np.flatnonzero(batch.events_of(self.support.shortest, self.support.longest))
        pairs, times = np.unique(
            batch.word[events] * self.support.symbols + batch.codes[events].astype(np.int64), return_counts=True
        )
        cases, activities = np.divmod(pairs[times >= 2], self.support.symbols)
        return activities, cases


@dataclass(frozen=True, eq=False)
class LogMoves:
    """A cell for each start, each move and each end; moves and ends by phase, where the support has a split.

    They stand in the order of the parameters of a law: starts, moves of each phase, ends of each phase.
    """

    support: Support

    def __len__(self) -> int:
        support = self.support
        return support.symbols + support.phases * (len(support.source) + support.symbols)

    def names(self, symbols: Sequence[str]) -> list[bytes]:
        """What each cell counts: which positions, and the activities."""
        support = self.support
        split = str(support.split)
        phases = [["all"]] if support.split is None else [["up to", split], ["after", split]]
        pairs = list(zip(support.source.tolist(), support.target.tolist(), strict=True))
        starts = [cell_name(["start", symbol]) for symbol in symbols]
        moves = [cell_name(["move", *phase, symbols[a], symbols[b]]) for phase in phases for a, b in pairs]
        return starts + moves + [cell_name(["end", *phase, symbol]) for phase in phases for symbol in symbols]

    def of(self, batch: Batch) -> tuple[Indices, Indices]:
        """The cell of every start, move and end, and which case it is in."""
        support = self.support
        counted = batch.events_of(support.shortest, support.longest)
        codes, latest = batch.codes.astype(np.int64), np.zeros(len(batch.codes), dtype=np.int64)
        if support.split is not None:
            latest = (batch.position >= support.split).astype(np.int64)
        starts = np.flatnonzero(counted & (batch.position == 0))
        last = batch.position + 1 == batch.lengths[batch.word]
        moves = np.flatnonzero(counted & ~last & (batch.position + 1 < support.longest))
        ends = np.flatnonzero(counted & last)
        listed = support.source * support.symbols + support.target  # increasing
        number = np.searchsorted(listed, codes[moves] * support.symbols + codes[moves + 1])
        cells = [
            codes[starts],
            support.symbols + latest[moves] * len(listed) + number,
            support.symbols + support.phases * len(listed) + latest[ends] * support.symbols + codes[ends],
        ]
        return np.concatenate(cells), batch.word[np.concatenate([starts, moves, ends])]


_NO_SHARE = 1e-300


def learn_log(
    support: Support,
    read: Read,
    persons: int,
    *,
    symbols: Sequence[str],
    rules: Rules,
    epsilon: Fraction,
    neighbours: Neighbours,
    keys: RecordKey,
) -> tuple[LearnedLaw, tuple[Query, ...]]:
    """A law of cases learned from a whole log, and the queries that it cost.

    Three tables are bought, one after the other: the lengths of cases; for each activity, the cases that repeat it; and
    starts, moves and ends, those of the first q positions apart from later ones, where q is the lower quartile of the
    released lengths. What follows reads released numbers only.

    The groups of words are persons, numbered from 0. Words obey the declared rules beside those that are learned.
    """
    tables: list[Table] = [LogLengths(support), LogRepeats(support), LogMoves(support)]
    counted = PersonCounts.of_each(tables, read(), persons)
    queries = law_queries(epsilon, neighbours, quartile=1)[:2]
    lengths, repeats = _released(queries, tables[:2], counted[:2], read, [symbols] * 2, keys)
    there = RuledLaw.of(support, no_parameters(support), rules, symbols).trellis().log_lengths > -np.inf
    shares = length_shares(lengths, there[support.shortest - 1 :])
    quartile = min(lower_quartile(shares, support.shortest), max(support.longest, 2))
    queries = law_queries(epsilon, neighbours, quartile=quartile)
    parted = replace(support, split=quartile)
    (moves,) = _released(queries[2:], [LogMoves(parted)], counted[2:], read, [symbols], keys)
    parameters = fitted_log(parted, shares, moves, clear=LIMITS.now.clear * float(queries[2].scale / GRID))
    law = LearnedLaw(
        support=parted,
        parameters=parameters,
        symbols=tuple(symbols),
        zone_names=("all",),
        rules=rules,
        quality=law_quality(parted, lengths.total, queries),
    )
    cases = max(LIMITS.now.fewest_cases, lengths.total)
    once = _at_most_once(law, shares, repeats.values, cases, float(queries[1].scale / GRID))
    bits = keys.streams(keys.names([b"law of a log: words that obey the rules"])).of_row(0)
    return _obeyed(law, shares, once, bits), queries


def _at_most_once(law: LearnedLaw, shares: Floats, repeats: Floats, cases: float, noise: float) -> list[int]:
    """The activities that cases have at most once, those that are repeated least first.

    A rare one may well be repeated by most cases that have it: so what is repeated is also held against how often the
    law has the activity, where it is clear of the noise.
    """
    means = Trellis.of(law.support, law.parameters, shares=shares).expected().means
    occurring = means["starts"].copy()
    np.add.at(occurring, law.support.target, means["moves"].reshape(law.support.phases, -1).sum(axis=0))
    most = np.minimum(
        LIMITS.now.rarely * cases, np.maximum(LIMITS.now.rarely * cases * occurring, LIMITS.now.clear * noise)
    )
    return [int(code) for code in np.argsort(repeats, kind="stable") if repeats[code] < most[code]]


def _obeyed(law: LearnedLaw, shares: Floats, once: Sequence[int], bits: BitSource) -> LearnedLaw:
    """The law with the rule that some activities occur at most once, and with the same shares of lengths under it.

    The share of words that obey all rules is measured for each length, and the length is weighed by its inverse. A
    length of which hardly a word obeys them is given up. If that takes too many words, the rule is withdrawn from a
    quarter of the activities, those that are repeated most: the last in `once`.
    """
    learned = list(once)
    while True:
        ruled = law.under(Rules(once=tuple(learned)))
        if not ruled.rules:
            return ruled
        own = ruled.ruled
        trellis = own.trellis(shares=(shares + (shares > 0) / max(int((shares > 0).sum()), 1)) / 2)
        probes = min(LIMITS.now.probes, max(LIMITS.now.fewest_probes, LIMITS.now.probed_symbols // own.support.symbols))
        _, lengths, obeyed = own.attempted(trellis, probes, bits)
        drawn, good = (
            np.bincount(each - law.support.shortest, minlength=len(shares)) for each in (lengths, lengths[obeyed])
        )
        obeyed_enough = good >= np.maximum(1, LIMITS.now.least_obeyed * drawn)
        if shares[obeyed_enough].sum() >= 1 - LIMITS.now.given_up or not learned:
            break
        learned = learned[: len(learned) - max(1, len(learned) // 4)]
    if not obeyed_enough.any():
        return ruled  # declared rules that hardly any word obeys: drawing finds one, or refuses
    rates = np.where(obeyed_enough, good / np.maximum(drawn, 1), 1.0)
    with np.errstate(invalid="ignore"):
        weights = np.log(np.where(obeyed_enough, np.maximum(shares, _NO_SHARE), _NO_SHARE)) - np.log(rates)
        weights -= trellis.log_lengths[law.support.shortest - 1 :]
    known = np.where(np.isfinite(weights), weights, ruled.parameters["lengths"])
    return replace(ruled, parameters=ruled.parameters | {"lengths": known})
