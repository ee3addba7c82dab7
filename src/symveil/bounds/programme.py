"""The best private law of a small language as a linear programme, from both sides.

The unknowns are P(x|w); adjacent words must satisfy P(x|w) ≥ e^{−ε}P(x|v), rows add up to 1, and the expected loss is
to be least. *Primal*: a solver proposes a law (`mechanisms/optimal_law.py` makes an exact one of it). *Dual*: those
inequalities, multiplied by any f_x(w,v) ≥ 0 and added to the expected loss, show

    E[d] ≥ Σ_w min_x [π(w)d(w,x) − Σ_v f_x(w,v) + e^{−ε}Σ_v f_x(v,w)]

for every ε-private mechanism (docs/theory/lower-bounds.md, Theorem 3.3). The solver's multipliers are the best f; since
any f will do, nothing about the solver has to be believed. Under the graceful promise words further apart are compared
too, and e^{−ρd(w,v)} stands in the place of e^{−ε}.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from symveil.bounds.prior import Floats, Integers, Prior

# Beyond this the solver takes longer than all prices together.
MOST_ROWS = 6_000
_MOST_WORDS = 64
# Below this, products of it underflow.
_LEAST_DECAY = 2.0**-900
# Multipliers are tried a little smaller too: the differences of large numbers that must not be below 0 then have room,
# however small the bound is beside them.
_SHARES = (1.0, 1 - 2.0**-40, 1 - 2.0**-32, 1 - 2.0**-24, 1 - 2.0**-16, 1 - 2.0**-8)


# The least tolerances that HiGHS takes, and the seconds after which it gives up.
_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10, "time_limit": 600.0}
_MOST_ROUNDS, _SHRINKS = 16, 0.9
"""Of adding rays: each round has to leave less than such a share of the gap."""
_CLOSE = 1e-9
"""How near, relative to it, to a bound from below a solution by rays is taken for the best one."""
_FLAT = 1e-7
"""By how much, relative to it, the error of the first rays may differ from the least one where ε is next to nothing."""
# Weights of rays below this are the solver's zeros.
_SMALLEST_WEIGHT = 1e-13


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PrivacyProgramme:
    """What it costs to release each output for each word, how likely words are, and which are compared.

    `losses` has a row for each word: what each output costs for it. `adjacent` has both orders of each pair of numbers
    of words that an inequality is about, `steps` how many times the budget the words of each pair may lose.
    """

    losses: Floats
    shares: Floats
    adjacent: Integers
    steps: Integers

    @property
    def rows(self) -> int:
        """How many inequalities privacy makes."""
        return len(self.adjacent) * int(self.losses.shape[1])

    def _solved(self, decay: Floats, unit: Floats, costs: Floats, *, method: str, options: dict[str, float]) -> Any:
        """What a solver says of P(x|w)/unit, for the `decay` of each pair.

        Chances of wrong words are of the size e^{−ε}, and the solver's tolerance is absolute: in such units it is
        relative to them, also where they are far below it.
        """
        # half a second of imports, which words over an alphabet never need
        from scipy import sparse  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415

        count, outputs = self.losses.shape
        word, other, output = self._cells()
        row = np.arange(len(word))
        values = np.concatenate(
            [np.repeat(decay, outputs) * unit[other, output] / unit[word, output], -np.ones(len(row))]
        )
        cells = np.concatenate([other * outputs + output, word * outputs + output])
        private = sparse.csr_array((values, (np.tile(row, 2), cells)), shape=(len(row), count * outputs))
        ends = np.repeat(np.arange(count), outputs)
        sums = sparse.csr_array((unit.ravel(), (ends, np.arange(count * outputs))), shape=(count, count * outputs))
        return linprog(
            costs.ravel(),
            A_ub=private,
            b_ub=np.zeros(len(row)),
            A_eq=sums,
            b_eq=np.ones(count),
            method=method,
            options=options,
        )

    def _cells(self) -> tuple[Integers, Integers, Integers]:
        """Word, other word and output of each inequality."""
        outputs = self.losses.shape[1]
        word, other = (np.repeat(self.adjacent[:, side], outputs) for side in (0, 1))
        return word, other, np.tile(np.arange(outputs), len(self.adjacent))

    # --- primal: a law ---------------------------------------------------------------------------

    def law(self, ratio: float) -> Floats | None:
        """A law that nearly satisfies everything, with nearly the least error, solved all at once; None: given up."""
        unit = np.where(np.eye(len(self.losses), dtype=np.bool_), 1.0, 1 / ratio)
        # in the unknowns' units; divided by the largest, so that their size does not matter
        costs = self.shares[:, None] * self.losses / self.losses.max()
        decay = ratio ** -self.steps.astype(np.float64)
        for method in ("highs-ipm", "highs-ds"):
            result = self._solved(decay, unit, costs, method=method, options=_OPTIONS)
            if result.status == 0:
                return np.asarray(np.maximum(result.x.reshape(unit.shape) * unit, 0.0))
        return None

    def law_by_rays(self, ratio: float, decays: Floats) -> Floats | None:
        """The best law as a sum of few columns; None where that would take many rounds.

        Columns of private laws form a cone, and a law is a sum of rays of it, such as c^−hops(·, x) and the constant.
        With the prices y of the words that the best sum of the rays at hand has, a better ray for the output x makes
        Σ (loss(w, x)·π(w) − y(w))·p(w) the least over p ≤ 1 of the cone. What all outputs could gain by that bounds how
        far the sum is from the best law: where ε is not small, the first rays are the right ones.

        `decays` are c^−hops between all words, which are the outputs too.
        """
        from scipy import sparse  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415

        count, pairs = len(self.losses), np.arange(len(self.adjacent))
        cells = np.concatenate([self.adjacent[:, 1], self.adjacent[:, 0]])
        values = np.concatenate([ratio ** -self.steps.astype(np.float64), -np.ones(len(pairs))])
        cone = sparse.csr_array((values, (np.tile(pairs, 2), cells)), shape=(len(pairs), count))
        costs = self.shares[:, None] * self.losses * (ratio / self.losses.max())
        rays = np.concatenate([decays, np.ones((count, count))], axis=1)
        outputs, none = np.tile(np.arange(count), 2), np.zeros(len(pairs))
        gap = np.inf
        # where all words are connected, the entries of a column then hardly differ, as those of the first rays
        least = float(decays.min())
        nearly_flat = least > 0 and least**-2 - 1 <= _FLAT
        for _ in range(_MOST_ROUNDS):
            best = linprog(
                (costs[:, outputs] * rays).sum(axis=0),
                A_eq=rays,
                b_eq=np.ones(count),
                method="highs-ds",
                options=_OPTIONS,
            )
            if best.status != 0:
                return None
            if nearly_flat:
                return _summed(rays, outputs, best.x)
            reduced = costs - best.eqlin.marginals[:, None]
            better = [
                linprog(reduced[:, x], A_ub=cone, b_ub=none, bounds=(0, 1), method="highs-ds", options=_OPTIONS)
                for x in range(count)
            ]
            if any(each.status != 0 for each in better):
                return None
            gains = np.array([-min(each.fun, 0.0) for each in better])
            gap, before = float(gains.sum() / best.fun), gap
            if gap <= _CLOSE:
                return _summed(rays, outputs, best.x)
            if gap > min(1.0, _SHRINKS * before):  # rounds are many where ε is small
                return None
            new = np.flatnonzero(gains > 0)
            # what the solver's tolerance leaves out is made up for: rays are in the cone as exactly as floats are
            raised = [(decays * np.maximum(better[x].x, 0.0)).max(axis=1) for x in new]
            rays = np.concatenate([rays, np.array(raised).T], axis=1)
            outputs = np.concatenate([outputs, new])
        return None

    # --- dual: a bound -----------------------------------------------------------------------------

    def bound(self, decays: Floats) -> float:
        """A proved bound on the expected error, as good as the solver's multipliers; `decays[g]` is at most e^{−εg}."""
        if not len(self.adjacent) or decays[1] < _LEAST_DECAY:
            return 0.0
        decay = np.append(decays, 0.0)[np.minimum(self.steps, len(decays))]
        unit = np.where(self.losses == 0, 1.0, decays[1])
        costs = self.shares[:, None] * self.losses  # in units: where there is a loss, the unit is e^{−ε}
        solved = self._solved(decay, unit, costs, method="highs", options={})
        if solved.status != 0:
            return 0.0
        word, _, output = self._cells()
        multipliers = np.maximum(-solved.ineqlin.marginals, 0.0) * decays[1] / unit[word, output]
        return max(self._proved(share * multipliers, decay) for share in _SHARES)

    def _proved(self, multipliers: Floats, decay: Floats) -> float:
        """The bound for any multipliers ≥ 0, rounded down."""
        count, outputs = self.losses.shape
        word, other, output = self._cells()
        sent = np.bincount(word * outputs + output, multipliers, count * outputs)
        received = np.bincount(other * outputs + output, multipliers * np.repeat(decay, outputs), count * outputs)
        own = (self.shares[:, None] * self.losses).ravel()
        terms = own - sent + received
        # differences of sums of at most |adjacent| positive numbers
        error = (len(self.adjacent) + 8) * 2.0**-52 * (own + sent + received)
        least = (terms - error).reshape(count, outputs).min(axis=1)
        return max(0.0, float(least.sum() - count * 2.0**-52 * np.abs(least).sum()))


def _summed(rays: Floats, outputs: Integers, weights: Floats) -> Floats:
    """The law that is a weighted sum of rays; weights that a solver found are made as exact as floats are."""
    count = len(rays)
    used = np.flatnonzero(weights > _SMALLEST_WEIGHT)
    exact = np.linalg.lstsq(rays[:, used], np.ones(count))[0]
    chosen = exact if (exact >= 0).all() else weights[used]
    law = np.zeros((count, count))
    np.add.at(law.T, outputs[used], (rays[:, used] * chosen).T)
    return law


def small_programme(prior: Prior, adjacency: int | None) -> PrivacyProgramme | None:
    """The programme of a language with few words and few outputs; None where there are too many.

    Without an adjacency it is that of the graceful promise, where any two words are compared. Outputs are all words
    made of the symbols that occur at each position: another symbol is wrong for every word.
    """
    language = prior.language
    if not language.has_at_most(_MOST_WORDS):
        return None
    words = language.enumerate_codes(at_most=_MOST_WORDS)
    symbols = [np.unique(words[:, column]).tolist() for column in range(language.length)]
    outputs = 1
    for each in symbols:
        outputs *= len(each)
    apart = np.count_nonzero(words[:, None, :] != words[None, :, :], axis=2)
    near = (apart > 0) & (apart <= (language.length if adjacency is None else adjacency))
    if prior.first:
        near &= words[:, None, 0] == words[None, :, 0]
    adjacent = np.argwhere(near)
    if len(adjacent) * outputs > MOST_ROWS:
        return None
    released = np.array(list(itertools.product(*symbols)), dtype=np.int32).reshape(outputs, language.length)
    return PrivacyProgramme(
        losses=np.count_nonzero(words[:, None, :] != released[None, :, :], axis=2).astype(np.float64),
        shares=prior.word_probabilities(words),
        adjacent=adjacent,
        steps=apart[near] if adjacency is None else np.ones(len(adjacent), dtype=np.int64),
    )
