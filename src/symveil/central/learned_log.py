"""The law of an event log learned with one ε per person: lengths, activities that cases repeat, moves by position."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from symveil.central.contributions import GRID, PersonCounts, Read, contributed_each
from symveil.central.counts import CLEAR
from symveil.central.learned import LearnedLaw
from symveil.central.log_cells import LogLengths, LogMoves, LogRepeats, LogTable
from symveil.central.log_fit import fitted_log, lower_quartile
from symveil.central.noise import Neighbours, Query
from symveil.central.noisy_tables import NoisyTable, length_shares
from symveil.central.quality import Quality
from symveil.central.rules import RuledLaw, Rules
from symveil.central.support import Support
from symveil.central.word_law import Floats, Trellis, no_parameters
from symveil.randomness import BitSource, RecordKey

LOG_SHARES = {"lengths": Fraction(15, 100), "repeats": Fraction(10, 100), "moves": Fraction(75, 100)}
"""What each table gets of ε."""
MOST_REPEATS = 4
"""The bound of the table of repeats: a person with more pairs of a case and a repeated activity is scaled down."""
RARELY = 0.1
"""An activity that fewer than this share of all cases repeat, and fewer than this share of all that have it, as far as
noise lets that be seen, is one that a case has at most once."""
FEWEST_CASES = 50.0
"""The least number of cases that a table of lengths is taken to speak of, for that rule."""
PROBES, FEWEST_PROBES = 20_000, 2000
"""Draws by which it is found out how many words of each length obey the rules; the fewer, the more activities."""
_PROBED_SYMBOLS = 2_000_000
LEAST_OBEYED = 0.05
"""Lengths of which a smaller share of words obeys the rules are given up."""
MOST_GIVEN_UP = 0.2
"""The share of all words that lengths may have which are given up; where it is more, rules are withdrawn."""
_NO_SHARE = 1e-300


def log_queries(
    epsilon: Fraction, neighbours: Neighbours, *, quartile: int, shares: Mapping[str, Fraction] = LOG_SHARES
) -> tuple[Query, ...]:
    """The queries of the law of a log, in their order: the bound of the third follows from the answer to the first.

    >>> [(each.bound, str(each.epsilon)) for each in log_queries(Fraction(1), "add-remove", quartile=7)]
    [(1, '3/20'), (4, '1/10'), (7, '3/4')]
    """
    return tuple(
        Query(name=f"law of a log: {name}", epsilon=epsilon * shares[name], bound=bound, neighbours=neighbours)
        for name, bound in zip(LOG_SHARES, (1, MOST_REPEATS, quartile), strict=True)
    )


def log_quality(support: Support, persons: float, queries: Sequence[Query]) -> Quality:
    """The noise of the tables that decide most about the words of a log: lengths and moves."""
    cells = {"lengths": len(LogLengths(support)), "moves": len(LogMoves(support))}
    return Quality.of(persons, cells, {"lengths": queries[0], "moves": queries[2]})


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

    Parameters
    ----------
    support
        The moves and the lengths.
    read
        Reads all legal words; their groups are persons, numbered from 0.
    persons
        How many persons there are.
    symbols
        The names of activities.
    rules
        Declared ones, which words obey beside those that are learned.
    epsilon, neighbours
        What each person loses at most, and between which files.
    keys
        Where noise comes from.
    """

    def answers(asked: Query, table: LogTable, sums: Sequence[int]) -> Floats:
        return np.array([value / GRID for value in asked.answered(sums, keys, cells=table.names(symbols))])

    tables: list[LogTable] = [LogLengths(support), LogRepeats(support), LogMoves(support)]
    counted = PersonCounts.of_each(tables, read(), persons)
    asked = list(log_queries(epsilon, neighbours, quartile=1)[:2])
    weights = [own.weights(each.bound) for own, each in zip(counted, asked, strict=False)]
    sums = contributed_each(tables[:2], read(), weights)
    lengths = answers(asked[0], tables[0], sums[0])
    there = RuledLaw.of(support, no_parameters(support), rules, symbols).trellis().log_lengths > -np.inf
    deviation = math.sqrt(2) * float(asked[0].scale / GRID)
    shares = length_shares(NoisyTable(values=lengths, deviation=deviation), there[support.shortest - 1 :])
    repeats = answers(asked[1], tables[1], sums[1])
    quartile = min(lower_quartile(shares, support.shortest), max(support.longest, 2))
    asked.append(log_queries(epsilon, neighbours, quartile=quartile)[2])
    parted = replace(support, split=quartile)
    last = LogMoves(parted)
    moves = answers(asked[2], last, contributed_each([last], read(), [counted[2].weights(quartile)])[0])
    noise = float(asked[2].scale / GRID)
    table = NoisyTable(values=moves, deviation=math.sqrt(2) * noise)
    parameters = fitted_log(parted, shares, table, clear=CLEAR * noise)
    law = LearnedLaw(
        support=parted,
        parameters=parameters,
        symbols=tuple(symbols),
        zone_names=("all",),
        rules=rules,
        quality=log_quality(parted, float(lengths.sum()), asked),
    )
    once = _at_most_once(law, shares, repeats, max(FEWEST_CASES, float(lengths.sum())), float(asked[1].scale / GRID))
    bits = keys.streams(keys.names([b"law of a log: words that obey the rules"])).of_row(0)
    return _obeyed(law, shares, once, bits), tuple(asked)


def _at_most_once(law: LearnedLaw, shares: Floats, repeats: Floats, cases: float, noise: float) -> list[int]:
    """The activities that cases have at most once, those that are repeated least first.

    A rare one may well be repeated by most cases that have it: so what is repeated is also held against how often the
    law has the activity, where it is clear of the noise.
    """
    means = Trellis.of(law.support, law.parameters, shares=shares).expected().means
    occurring = means["starts"].copy()
    np.add.at(occurring, law.support.target, means["moves"].reshape(law.support.phases, -1).sum(axis=0))
    most = np.minimum(RARELY * cases, np.maximum(RARELY * cases * occurring, CLEAR * noise))
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
        own = RuledLaw.of(ruled.support, ruled.parameters, ruled.rules, ruled.symbols)
        trellis = own.trellis(shares=(shares + (shares > 0) / max(int((shares > 0).sum()), 1)) / 2)
        probes = min(PROBES, max(FEWEST_PROBES, _PROBED_SYMBOLS // own.support.symbols))
        _, lengths, obeyed = own.attempted(trellis, probes, bits)
        drawn, good = (
            np.bincount(each - law.support.shortest, minlength=len(shares)) for each in (lengths, lengths[obeyed])
        )
        kept = good >= np.maximum(1, LEAST_OBEYED * drawn)
        if shares[kept].sum() >= 1 - MOST_GIVEN_UP or not learned:
            break
        learned = learned[: len(learned) - max(1, len(learned) // 4)]
    if not kept.any():
        return ruled  # declared rules that hardly any word obeys: drawing finds one, or refuses
    rates = np.where(kept, good / np.maximum(drawn, 1), 1.0)
    with np.errstate(invalid="ignore"):
        weights = np.log(np.where(kept, np.maximum(shares, _NO_SHARE), _NO_SHARE)) - np.log(rates)
        weights -= trellis.log_lengths[law.support.shortest - 1 :]
    known = np.where(np.isfinite(weights), weights, ruled.parameters["lengths"])
    return replace(ruled, parameters=ruled.parameters | {"lengths": known})
