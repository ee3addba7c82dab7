"""End to end: the loss of every mechanism, measured from releases of two neighbouring words.

The claim of a mechanism with guarantee g is P(M(w) ∈ S) ≤ e^g P(M(w') ∈ S) for every event S. The pair and the
event are chosen beforehand from the exact law: the pair that the audit finds worst, and of the events "the output is
at least this much likelier for w" the one that would show a loss of 1.2 g most clearly. Then w and w' are released
250,000 times each through the public interface, 10⁶ times in `make soak`, and the two frequencies are compared.

*The test.* x of n and y of n outputs lie in S. With p₋ the lower Clopper–Pearson limit of x and q₊ the upper one
of y, each at level α/2, the claim is rejected if p₋ > e^g q₊. Both limits are exact for every n, so a private
mechanism is rejected with probability at most α. α is 10⁻⁶ divided by the number of mechanisms: a whole run raises a
false alarm at most once in a million runs. The bits are the operating system's, so every run draws anew.

*Its power.* The limits are monotone in x and y. So if the test rejects at the β/2-quantile of x and the 1−β/2-quantile
of y, it rejects with probability at least 1−β. With β = 10⁻⁶ this is computed from the exact law of a mechanism that
loses 20 % more than g, before anything is drawn, and then such a mechanism is drawn from and must be rejected.
Mechanisms that draw words one at a time are released as often as this power takes, and 10⁶ times in `make soak`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta, binom

import symveil as sv
from mechanisms.every_mechanism import EVERY_MECHANISM, Case, Mechanism, Word, counted, law

CASES = [case for case in EVERY_MECHANISM if case.private]
FALSE_ALARM = 1e-6
LEVEL = FALSE_ALARM / len(CASES)
MISSED = 1e-6
DRAWS, MANY_DRAWS = 250_000, 1_000_000
EPSILON = 2
MORE = 1.2


@dataclass(frozen=True)
class Question:
    """Two neighbouring words, an event, and the loss that is claimed."""

    word: Word
    neighbour: Word
    event: frozenset[Word | None]
    claimed: float

    def chances(self, mechanism: Mechanism) -> tuple[float, float]:
        """The exact probabilities of the event."""
        one, other = law(mechanism, self.word), law(mechanism, self.neighbour)
        return (math.fsum(one[each] for each in self.event), math.fsum(other[each] for each in self.event))


def rejected(inside: int, inside_of_neighbour: int, draws: int, claimed: float) -> bool:
    """Whether these frequencies refute the claim, by exact limits."""
    lower = beta.ppf(LEVEL / 2, inside, draws - inside + 1) if inside else 0.0
    full = inside_of_neighbour == draws
    upper = 1.0 if full else beta.isf(LEVEL / 2, inside_of_neighbour + 1, draws - inside_of_neighbour)
    return bool(lower > math.exp(claimed) * upper)


def power_is_enough(question: Question, mechanism: Mechanism, draws: int) -> bool:
    """Whether the claim is refuted with probability at least 1 − MISSED if this is the mechanism."""
    one, other = question.chances(mechanism)
    fewest, most = binom.ppf(MISSED / 2, draws, one), binom.isf(MISSED / 2, draws, other)
    return rejected(int(fewest), int(most), draws, question.claimed)


def fewest_draws(question: Question, worse: Mechanism) -> int:
    """The smallest of some numbers of draws with enough power, each a tenth larger than the one before."""
    draws = 1_000
    while draws < MANY_DRAWS and not power_is_enough(question, worse, draws):
        draws += draws // 10
    return min(draws, MANY_DRAWS)


def measured(question: Question, mechanism: Mechanism, draws: int) -> bool:
    """Release both words so many times, through the public interface; whether the claim is refuted."""
    inside = []
    for word in (question.word, question.neighbour):
        seen = counted(mechanism, word, draws)
        assert sum(seen.values()) == draws
        inside.append(sum(count for released, count in seen.items() if released in question.event))
    return rejected(*inside, draws, question.claimed)


def asked(mechanism: Mechanism, worse: Mechanism) -> Question:
    """The audit's worst pair, and the event that tells a loss of 1.2 g from one of g most clearly."""
    code = mechanism.language.alphabet.code
    witness = sv.audit(mechanism).witness
    assert witness is not None
    word, neighbour = (tuple(code[symbol] for symbol in each) for each in (witness.word, witness.neighbour))
    claimed = mechanism.guarantee.epsilon
    one, other = law(worse, word), law(worse, neighbour)
    likeliest = sorted((each for each in one if each is not None), key=lambda each: other[each] / one[each])
    p, q = (np.cumsum([chances[each] for each in likeliest]) for chances in (one, other))
    clearness = (np.log(p / q) - claimed) / np.sqrt(1 / p + 1 / q)
    return Question(word, neighbour, frozenset(likeliest[: int(np.argmax(clearness)) + 1]), claimed)


def losing_more(case: Case, mechanism: Mechanism) -> Mechanism:
    """The same with more ε than it says: what it really loses is 1.2 times what the first one claims."""
    claimed = mechanism.guarantee.epsilon
    epsilon = Fraction(EPSILON) * Fraction(MORE) * Fraction(claimed / sv.audit(mechanism).worst_epsilon)
    for _ in range(8):  # where the loss is not proportional to ε
        worse = case.make(epsilon.limit_denominator(10_000))
        loss = sv.audit(worse).worst_epsilon
        if abs(loss / claimed - MORE) < 0.002:
            break
        epsilon *= Fraction(MORE * claimed / loss)
    assert loss == pytest.approx(MORE * claimed, rel=0.01)
    return worse


def check(case: Case, draws: int | None) -> None:
    mechanism = case.make(EPSILON)
    worse = losing_more(case, mechanism)
    question = asked(mechanism, worse)
    draws = draws or fewest_draws(question, worse)
    assert power_is_enough(question, worse, draws), "too few draws to tell"
    one, other = question.chances(mechanism)
    assert math.log(one / other) <= question.claimed + 1e-9
    assert not measured(question, mechanism, draws), "the mechanism loses more than it says"
    assert measured(question, worse, draws), "a loss of 20 % more went unnoticed"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_measured_loss_is_consistent_with_the_guarantee(case: Case) -> None:
    check(case, None if case.slow else DRAWS)


@pytest.mark.soak
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_measured_loss_of_a_million_releases(case: Case) -> None:
    check(case, MANY_DRAWS)


def test_the_test_itself() -> None:
    """On the line it stays quiet, a fifth above it speaks, and nothing is claimed from no data."""
    draws, g, q = 10**6, 1.0, 0.1
    on_the_line, above = round(draws * q * math.exp(g)), round(draws * q * math.exp(MORE * g))
    assert not rejected(on_the_line, round(draws * q), draws, g)
    assert rejected(above, round(draws * q), draws, g)
    assert not rejected(0, 0, draws, g)
    assert not rejected(draws, draws, draws, g)


def test_the_false_alarm_rate_is_kept() -> None:
    """Summed over all outcomes: a mechanism exactly on the line is rejected with probability at most α."""
    draws, g = 300, 1.0
    for q in (0.01, 0.1, 0.3):
        p = q * math.exp(g)
        ys = np.arange(draws + 1)
        # for each y the smallest x that is rejected, by bisection, since the test is monotone in x
        total = 0.0
        for y, weight in zip(ys.tolist(), binom.pmf(ys, draws, q).tolist(), strict=True):
            if weight > 1e-15:
                low, high = 0, draws + 1
                while low < high:
                    middle = (low + high) // 2
                    low, high = (low, middle) if rejected(middle, y, draws, g) else (middle + 1, high)
                total += weight * float(binom.sf(low - 1, draws, p))
        assert total <= LEVEL
