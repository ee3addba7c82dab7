"""An oracle for certificates of any cost: small random languages, and their losses from the definition.

Costs are read from their tables, κ is e^{−rate·⌊(D + F − t)/F⌋}, Z is a sum over all words, and the loss is the largest
ln P(w'|w)/P(w'|v) over all adjacent w, v and all w'.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from calibration_oracle import random_actions, random_automaton, random_chain
from numpy.typing import NDArray

from symveil.calibration.weighting import Weighting
from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.languages.cost_table import between_positions, given
from symveil.languages.costs import Cost, hamming
from symveil.languages.runs import RunLanguage, runs
from symveil.languages.swap_costs import swap

MOST_WORDS = 250


def distances(setting: Weighting, words: NDArray[np.int32]) -> NDArray[np.float64]:
    """D of every pair of words, infinite where they may not stand for each other or begin differently in public."""
    language, cost = setting.language, setting.cost
    value = np.array([*(float(each) for each in cost.values), math.inf])  # level −1 is the last
    total = np.zeros((len(words), len(words)))
    begin = 1 if language.public_start else 0
    for position in range(begin, language.length):
        table = cost.table(cost.metric_of[position])
        total += value[table[words[:, position][:, None], words[:, position][None, :]]]
    if begin and language.length:
        total[words[:, 0][:, None] != words[:, 0][None, :]] = math.inf
    return total


def exact_loss(setting: Weighting, rate: Fraction) -> float:
    """The loss of a rate, by its definition."""
    words = setting.language.enumerate_codes(at_most=MOST_WORDS)
    total = distances(setting, words)
    period, start = setting.cost.period, setting.cost.start_phase
    drop = total if period == 1 else np.where(np.isinf(total), math.inf, np.floor((total + start) / period))
    with np.errstate(divide="ignore"):
        logs = -float(rate) * drop + setting.weights(rate).log_prior(words)[None, :]
    top = logs.max(axis=1)
    logs -= (top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))[:, None]
    differ = (words[:, None, :] != words[None, :, :]).sum(axis=2)
    adjacent = (differ > 0) & (differ <= setting.adjacency)
    if setting.language.public_start:
        adjacent &= words[:, 0][:, None] == words[:, 0][None, :]
    worst = 0.0
    for i, others in enumerate(adjacent):
        if not others.any():
            continue
        possible = ~np.isinf(drop[i])
        if np.isinf(drop[others][:, possible]).any():
            return math.inf
        worst = max(worst, float((logs[i][possible] - logs[others][:, possible]).max()))
    return worst


def random_language(dice: random.Random, *, longest: int = 6, chains: bool | None = None) -> RunLanguage | None:
    """A language of few words, two at least: a chain's, with accepting states at random, or an automaton's."""
    length = dice.randint(1, longest)
    try:
        if chains if chains is not None else dice.random() < 0.6:
            language = runs(random_chain(dice), length, public_start=dice.random() < 0.4)
            if dice.random() < 0.4:
                accepting = language.graph.accepting & (
                    np.array([dice.random() for _ in language.graph.accepting]) < 0.7
                )
                language = replace(language, graph=replace(language.graph, accepting=accepting))
        else:
            language = runs(random_actions(dice) if dice.random() < 0.5 else random_automaton(dice), length)
    except ModelError:
        return None
    if not language.has_at_most(MOST_WORDS) or language.size < 2:
        return None
    return language


def certain_language(dice: random.Random, *, longest: int = 6, chains: bool | None = None) -> RunLanguage:
    """As `random_language`: where the dice fall on none they are thrown again."""
    return next(found for found in iter(lambda: random_language(dice, longest=longest, chains=chains), 0) if found)


def random_cost(dice: random.Random, language: RunLanguage, adjacency: int) -> Cost:
    """Any of the costs there are."""
    symbols = language.alphabet.symbols
    kind = dice.choice(["hamming", "swap", "swap", "capped", "given", "places"])
    if kind == "hamming":
        cost = hamming(language)
    elif kind == "swap":
        cost = swap(language, adjacency=adjacency)
    elif kind == "capped":
        cost = swap(language, adjacency=adjacency, cap=dice.randint(1, 4))
    elif kind == "given":
        table = [(one, two, dice.choice([1, 2, "3/2"])) for one, two in itertools.combinations(symbols, 2)]
        cost = given(language, table)
    else:
        places = {symbol: (dice.randint(0, 3), dice.randint(0, 3)) for symbol in symbols}
        cost = between_positions(language, places, unit=1, cap=dice.choice([None, 2, 3]))
    whole = all(value.denominator == 1 for value in cost.values)
    if whole and dice.random() < 0.5:
        period = dice.choice([adjacency, adjacency, 2, 3])
        cost = cost.staircase(period=period, first_step=dice.randint(1, period))
    return cost


@dataclass(frozen=True)
class CostCase:
    """A setting, a rate, and what it loses."""

    weighting: Weighting
    rate: Fraction
    exact: float


def random_case(dice: random.Random, *, longest: int = 6, chains: bool | None = None) -> CostCase | None:
    """Anything that a certificate is asked for; None where the dice fell on no language."""
    language = random_language(dice, longest=longest, chains=chains)
    if language is None:
        return None
    adjacency = dice.randint(1, 3)
    is_chain = language.graph.state_is_symbol
    balanced = is_chain and dice.random() < 0.25
    try:
        setting = Weighting(
            language=language,
            cost=random_cost(dice, language, adjacency),
            adjacency=adjacency,
            with_prior=not balanced and language.graph.prior is not None and dice.random() < 0.4,
            balanced=balanced,
        )
        assert setting.largest_step >= 0
    except (ParameterError, TooLargeError):
        return None
    rate = Fraction(dice.choice([1, 3, 7, 13, 20, 30, 60]), 10)
    return CostCase(setting, rate, exact_loss(setting, rate))


def certain_case(
    dice: random.Random, *, longest: int = 6, chains: bool | None = None, adjacent: bool = False, plain: bool = False
) -> CostCase:
    """As `random_case`: where the dice fall on none they are thrown again, until words are `adjacent`, and no balance.

    Parameters
    ----------
    dice, longest, chains
        As `random_case` takes them.
    adjacent
        Whether some words have to be adjacent.
    plain
        Whether a balance is not of use.
    """
    while True:
        case = random_case(dice, longest=longest, chains=chains)
        if (
            case is not None
            and not (adjacent and case.weighting.drops == 0)
            and not (plain and case.weighting.balanced)
        ):
            return case
