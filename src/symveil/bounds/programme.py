"""The linear programme of a small language: its dual solution is the best lower bound there is.

P(x|w) ≥ e^{−ε}P(x|v) for adjacent w, v, multiplied by any f_x(w,v) ≥ 0 and added to the expected error, shows

    E[d] ≥ Σ_w min_x [π(w)d(w,x) − Σ_v f_x(w,v) + e^{−ε}Σ_v f_x(v,w)]

for every ε-private mechanism (docs/theory/lower-bounds.md, Theorem 6). The solver's multipliers are the best f; since
any f will do, nothing about the solver has to be believed. Under the graceful promise all words are compared, and
e^{−ρd(w,v)} stands in the place of e^{−ε}.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from symveil.bounds.prior import Floats, Prior

# Beyond this the solver takes longer than all prices together.
MOST_ROWS = 6_000
_MOST_WORDS = 64
# Below this, products of it underflow.
_LEAST_DECAY = 2.0**-900
# Multipliers are tried a little smaller too: the differences of large numbers that must not be below 0 then have room,
# however small the bound is beside them.
_SHARES = (1.0, 1 - 2.0**-40, 1 - 2.0**-32, 1 - 2.0**-24, 1 - 2.0**-16, 1 - 2.0**-8)


@dataclass(frozen=True, slots=True, eq=False)
class SmallProgramme:
    """Words with their probabilities, the outputs, and which words are compared.

    `adjacent` holds ordered pairs of numbers of words, both orders of each, `steps` how many decays lie between them.
    """

    words: NDArray[np.int32]
    shares: Floats
    outputs: NDArray[np.int32]
    adjacent: NDArray[np.int64]
    steps: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """How many inequalities privacy makes."""
        return len(self.adjacent) * len(self.outputs)

    def losses(self) -> Floats:
        """d(w, x) for every word and output."""
        differs = self.words[:, None, :] != self.outputs[None, :, :]
        return np.asarray(np.count_nonzero(differs, axis=2), dtype=np.float64)

    def bound(self, decays: Floats) -> float:
        """A proved bound on the expected error, as good as the solver's multipliers; `decays[g]` is at most e^{−εg}.

        The solver's unknowns are P(x|w)/unit: chances of wrong words are of the size e^{−ε}, and its tolerance is
        absolute, so that without units it would find nothing where ε is large.
        """
        # half a second of imports, which words over an alphabet never need
        from scipy import sparse  # noqa: PLC0415
        from scipy.optimize import linprog  # noqa: PLC0415

        losses = self.losses()
        count, outputs = losses.shape
        decay = np.repeat(np.append(decays, 0.0)[np.minimum(self.steps, len(decays))], outputs)
        if not len(self.adjacent) or decays[1] < _LEAST_DECAY:
            return 0.0
        word, other = (np.repeat(self.adjacent[:, side], outputs) for side in (0, 1))
        output = np.tile(np.arange(outputs), len(self.adjacent))
        row = np.arange(len(word))
        unit = np.where(losses == 0, 1.0, decays[1])
        above, below = unit[other, output], unit[word, output]
        values = np.concatenate([decay * above / below, -np.ones(len(row))])
        cells = np.concatenate([other * outputs + output, word * outputs + output])
        private = sparse.csr_array((values, (np.tile(row, 2), cells)), shape=(len(row), count * outputs))
        ends = np.repeat(np.arange(count), outputs)
        sums = sparse.csr_array((unit.ravel(), (ends, np.arange(count * outputs))), shape=(count, count * outputs))
        solved = linprog(
            (self.shares[:, None] * losses).ravel(),  # in units: where there is a loss, the unit is e^{−ε}
            A_ub=private,
            b_ub=np.zeros(len(row)),
            A_eq=sums,
            b_eq=np.ones(count),
            method="highs",
        )
        if solved.status != 0:
            return 0.0
        multipliers = np.maximum(-solved.ineqlin.marginals, 0.0) * decays[1] / below
        return max(self._proved(share * multipliers, losses, decay) for share in _SHARES)

    def _proved(self, multipliers: Floats, losses: Floats, decay: Floats) -> float:
        """The bound for any multipliers ≥ 0, rounded down."""
        count, outputs = losses.shape
        output = np.tile(np.arange(outputs), len(self.adjacent))
        sent, received = (
            np.bincount(np.repeat(self.adjacent[:, side], outputs) * outputs + output, values, count * outputs)
            for side, values in ((0, multipliers), (1, multipliers * decay))
        )
        own = (self.shares[:, None] * losses).ravel()
        terms = own - sent + received
        # differences of sums of at most |adjacent| positive numbers
        error = (len(self.adjacent) + 8) * 2.0**-52 * (own + sent + received)
        least = (terms - error).reshape(count, outputs).min(axis=1)
        return max(0.0, float(least.sum() - count * 2.0**-52 * np.abs(least).sum()))


def small_programme(prior: Prior, adjacency: int | None) -> SmallProgramme | None:
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
    return SmallProgramme(
        words=words,
        shares=prior.word_probabilities(words),
        outputs=np.array(list(itertools.product(*symbols)), dtype=np.int32).reshape(outputs, language.length),
        adjacent=adjacent,
        steps=apart[near] if adjacency is None else np.ones(len(adjacent), dtype=np.int64),
    )
