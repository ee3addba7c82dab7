"""Papers on mechanisms for words, next to ours: J19 and B26.

J19: the automaton of Fig. 2, both case studies, and what the printed law really does. B26: the policy of Fig. 1, the
curves and bounds of Fig. 2, Theorems 2 and 3, the experiment of Fig. 5."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import arb

from symveil.examples.paper_systems import GRID_STEPS, TRIP, corner_path, four_states, grid, network_language
from symveil.languages.free import FreeLanguage, words
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.languages.run_product import product_size
from symveil.languages.runs import RunLanguage, runs
from symveil.laws.law import DistanceLaw
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.numbers.conversions import ball, nearest_float, precision
from symveil.numbers.rationals import spelled
from symveil.tasks.reproduce.rows import Row
from symveil.verification.audit import audit

EXPERIMENT_SAMPLES = 2000

# B26 §V prints these expected errors for its own, unpublished chain: (permute-and-flip, exponential).
PRINTED = {Fraction(1, 2): ("12.7", "12.7"), Fraction(5): ("0.28", "0.62")}


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of Fig. 2: what varies, over which values, and how a point is computed."""

    name: str
    variable: str
    values: tuple[Fraction, ...]
    fixed: str
    tightest_at: int  # the index where the paper says the bounds are tightest: 0 or −1

    def parameters(self, value: Fraction) -> tuple[FreeLanguage, Fraction]:
        """The language and the ε of one point."""
        length = int(value) if self.variable == "n" else 5
        size = int(value) if self.variable == "m" else 2
        return words(range(size), length), value if self.variable == "ε" else Fraction(5)


PANELS = (
    Panel("(a)", "ε", tuple(Fraction(step, 10) for step in range(1, 101)), "n = 5, m = 2", 0),
    Panel("(b)", "n", tuple(map(Fraction, range(2, 21))), "ε = 5, m = 2", -1),
    Panel("(c)", "m", tuple(map(Fraction, range(2, 11))), "ε = 5, n = 5", -1),
)


def classic_law(language: FreeLanguage, epsilon: Fraction) -> DistanceLaw:
    """Permute-and-flip as B26 calibrates it."""
    return PermuteAndFlip(language, epsilon=epsilon, calibration="classic").distances()


def benvenuti2026_rows() -> Iterator[Row]:
    """Every published statement of B26 §III next to ours."""
    yield from _policy()
    for panel in PANELS:
        yield from _panel(panel)
    yield from _theorem_2()
    yield from _equation_5()
    yield from _what_is_left_on_the_table()


def _policy() -> Iterator[Row]:
    automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
    chances = {str(chance) for chance in _word_chances()}
    yield Row(
        item="Fig. 1: words at distance 2 from abc",
        published="12",
        ours=str(automaton.language_size),
        agrees=automaton.language_size == 12,
    )
    yield Row(
        item="Fig. 1: the policy μ draws each of them with probability",
        published="1/12",
        ours=", ".join(sorted(chances)),
        agrees=chances == {"1/12"},
        note="product of μ along every accepted word; the figure's numbers are a picture",
    )


def _word_chances() -> Iterator[Fraction]:
    automaton = hamming_automaton("abc", alphabet="abc", exactly=2)
    for word in words("abc", 3):
        if not automaton.accepts(word):
            continue
        chance, errors = Fraction(1), 0
        for position, (symbol, original) in enumerate(zip(word, "abc", strict=True)):
            choices = automaton.policy(position, errors)
            chance *= next(choice.each for choice in choices if symbol in choice.edge.symbols)
            errors += symbol != original
        yield chance


def _panel(panel: Panel) -> Iterator[Row]:
    laws = [classic_law(*panel.parameters(value)) for value in panel.values]
    errors = [law.expected_error for law in laws]
    gaps = []
    contained = True
    for value, law in zip(panel.values, laws, strict=True):
        if law.bounds is None:
            contained = False
            continue
        contained &= law.bounds.lower <= law.expected_error <= law.bounds.upper
        gaps.append((law.bounds.upper - law.bounds.lower) / panel.parameters(value)[0].length)
    item = f"Fig. 2{panel.name}: {panel.variable} = {_range(panel.values)}, {panel.fixed}"
    yield Row(
        item=f"{item}: E[ℓ] within the bounds of Theorem 2",
        published="at every point",
        ours=f"at every point; E[ℓ] from {errors[0]:.4g} to {errors[-1]:.4g}" if contained else "not everywhere",
        agrees=contained,
        note="exact curves: symveil reproduce --plots DIR",
    )
    end = "small" if panel.tightest_at == 0 else "large"
    yield Row(
        item=f"{item}: where the bounds are tightest",
        published=f"at {end} {panel.variable}",
        ours=f"gap per symbol {gaps[0]:.3g} at the left, {gaps[-1]:.3g} at the right",
        agrees=gaps[panel.tightest_at] == min(gaps),
    )


def _range(values: Sequence[Fraction]) -> str:
    return f"{float(values[0]):g} … {float(values[-1]):g}"


def _theorem_2() -> Iterator[Row]:
    panel = PANELS[0]
    never_worse = True
    for value in panel.values:
        language, epsilon = panel.parameters(value)
        exponential = Exponential(language, epsilon=epsilon, calibration="classic").distances()
        never_worse &= classic_law(language, epsilon).expected_error <= exponential.expected_error
    yield Row(
        item="Theorem 2: never worse than the exponential mechanism",
        published="E[ℓ] ≤ nC/(1+C)",
        ours="holds at every ε of Fig. 2(a)" if never_worse else "fails",
        agrees=never_worse,
    )
    law = classic_law(*panel.parameters(Fraction(5)))
    total = float(law.probabilities[1:].sum())
    yield Row(
        item="Proof of Theorem 2, eq. 8: Σ P(ℓ) from ℓ = 1, n = 5, m = 2, ε = 5",
        published="1",
        ours=f"{total:.6f}",
        agrees=abs(total - 1) < 1e-9,
        note="E3: the sum must start at ℓ = 0; the theorem itself is right",
    )


def _equation_5() -> Iterator[Row]:
    """Φ as B26 writes it, where that can still be evaluated: 2³¹ subsets, gathered by their size."""
    language, epsilon = PANELS[0].parameters(Fraction(5))
    literal = sum(
        distance * language.count(distance) * _chance_by_equation_5(language, epsilon, distance)
        for distance in range(language.length + 1)
    )
    ours = classic_law(language, epsilon).expected_error
    yield Row(
        item="E[ℓ] by eq. 4–5 as written and by our integral, n = 5, m = 2, ε = 5",
        published="(no number printed)",
        ours=f"{literal:.9f} and {ours:.9f}",
        agrees=abs(literal - ours) < 1e-12,
        note="E3: eq. 5 has 2^|L| terms; with 43 states and n = 14 only the integral form can be evaluated",
    )


def _chance_by_equation_5(language: FreeLanguage, epsilon: Fraction, distance: int) -> float:
    """p_ℓ Φ(ℓ) with Φ = Σ_k (−1)^k/(k+1) e_k, the e_k being the coefficients of Π (1 + p_i x)."""
    with precision(400):  # the alternating sum cancels
        accept = [(-ball(epsilon / 2) * other).exp() for other in range(language.length + 1)]
        symmetric = [arb(1)]
        for other, chance in enumerate(accept):
            for _ in range(language.count(other) - (other == distance)):
                shifted = [arb(0), *(chance * value for value in symmetric)]
                symmetric = [old + new for old, new in zip([*symmetric, arb(0)], shifted, strict=True)]
        phi = sum(((-1) ** k * value / (k + 1) for k, value in enumerate(symmetric)), start=arb(0))
        return nearest_float(accept[distance] * phi)


def _what_is_left_on_the_table() -> Iterator[Row]:
    """The same ε spent in full: the tight calibrations against B26's mechanism."""
    for length, size in ((5, 2), (14, 4)):
        language = words(range(size), length)
        published = classic_law(language, Fraction(5)).expected_error
        for mechanism in (Exponential(language, epsilon=5), PermuteAndFlip(language, epsilon=5)):
            error = mechanism.distances().expected_error
            yield Row(
                item=f"Beyond B26, ε = 5, n = {length}, m = {size}: E[ℓ], Mechanism 1 and our tight {mechanism.name}",
                published="(no number printed)",
                ours=f"{published:.6f} and {error:.6f}",
                agrees=error <= published and mechanism.guarantee.epsilon <= 5,
                note=f"true loss {mechanism.guarantee.epsilon:.6g}; agrees: less error at the same ε",
            )


@dataclass(frozen=True, slots=True)
class Point:
    """The experiment at one ε: exact expectations, and the mean error of samples."""

    epsilon: Fraction
    exponential: float
    flip: float
    flip_samples: float
    flip_deviation: float


def experiment(language: RunLanguage, epsilon: Fraction) -> Point:
    """One point of Fig. 5."""
    flip = PermuteAndFlip(language, epsilon=epsilon, adjacency=1, calibration="classic")
    exponential = Exponential(language, epsilon=epsilon, adjacency=1, calibration="classic")
    law = flip.distances(TRIP)
    deviation = math.sqrt(float(law.probabilities @ (law.distances - law.expected_error) ** 2))
    return Point(
        epsilon=epsilon,
        exponential=exponential.distances(TRIP).expected_error,
        flip=law.expected_error,
        flip_samples=_mean_error(flip, language),
        flip_deviation=deviation,
    )


def _mean_error(mechanism: Mechanism, language: RunLanguage) -> float:
    codes = np.repeat(language.encode(TRIP)[None, :], EXPERIMENT_SAMPLES, axis=0)
    return float(np.count_nonzero(mechanism.release_codes(codes) != codes, axis=1).mean())


def road_rows() -> Iterator[Row]:
    """Every published statement of B26 §IV–V next to ours, on a generated network of 43 segments."""
    yield _theorem_3()
    language = network_language()
    note = "the paper's chain was not published; a generated network of 43 segments, mean degree 5.3"
    for epsilon in (Fraction(1, 2), Fraction(5), Fraction(10)):
        point = experiment(language, epsilon)
        ratio = point.flip / point.exponential
        printed = PRINTED.get(epsilon)
        yield Row(
            item=f"Fig. 5, ε = {spelled(epsilon)}: E[ℓ] of permute-and-flip and of the exponential mechanism",
            published=" and ".join(printed) if printed else "(a curve)",
            ours=f"{point.flip:.4g} and {point.exponential:.4g}, ratio {ratio:.3f}",
            agrees=ratio > 0.97 if epsilon < 1 else ratio <= 0.75,
            note=f"{note}; agrees: equal below ε = 1, at least 25 % less above 3 (on this network that comes later)",
        )
        error = abs(point.flip_samples - point.flip)
        yield Row(
            item=f"Fig. 5, ε = {spelled(epsilon)}: mean error of 2,000 samples",
            published="close to its expectation",
            ours=f"{point.flip_samples:.4g}, expected {point.flip:.4g}",
            agrees=error <= 6 * point.flip_deviation / math.sqrt(EXPERIMENT_SAMPLES),
            note="agreement means within six standard deviations",
        )
    yield from _certified(language, note)


def _theorem_3() -> Row:
    language = four_states()
    verdict = audit(PermuteAndFlip(language, epsilon=1, adjacency=1, calibration="classic"))
    return Row(
        item="Theorem 3: Mechanism 2 is ε-private, four states, n = 3, ε = 1",
        published="at most 1",
        ours=f"{verdict.worst_epsilon:.6f}",
        agrees=verdict.private,
        note=f"exact, over all {verdict.pairs_checked} pairs; the arrows of Fig. 3a are a picture, these are ours",
    )


def _certified(language: RunLanguage, note: str) -> Iterator[Row]:
    for epsilon in (Fraction(3), Fraction(5)):
        tight = Exponential(language, epsilon=epsilon, adjacency=1)
        flip = PermuteAndFlip(language, epsilon=epsilon, adjacency=1, calibration="classic")
        ours, theirs = tight.distances(TRIP).expected_error, flip.distances(TRIP).expected_error
        yield Row(
            item=f"Beyond B26, ε = {spelled(epsilon)}: E[ℓ], Mechanism 2 and our certified exponential mechanism",
            published="(no number printed)",
            ours=f"{theirs:.4g} and {ours:.4g}",
            agrees=ours <= theirs and tight.guarantee.epsilon <= epsilon,
            note=f"{note}; rate {float(tight.rate):.4g}, loss {tight.guarantee.epsilon:.6g} ({tight.guarantee.how})",
        )


SENTENCE = "american control conference 2019"
EPSILONS = (Fraction(10), Fraction(1), Fraction(1, 10), Fraction(0))
PRIVATE_SENTENCES = 5
GRID_RUNS = 100

# Fig. 5a as printed; samples that lost a blank in print, and so have 31 characters, are left out.
PRINTED_SAMPLES = {
    Fraction(10): ("amfr ofece9laencctfnot tmf2f2fto", *([SENTENCE] * 4)),
    Fraction(1): (
        "cofrfei0onia2trll1loo2lmi20in9er",
        "cler220e 99ntrol aonft0e0a2 o01e",
        "9menic0n cfn0rol n2lfereac0 20o9",
        "omr10 c1l1nom20ee1ma2 trftcilnt0",
        "0in2mian c0ntrootlonf 01 cn 2019",
    ),
    Fraction(1, 10): (
        "amerioan cocr9rl conference 201i",
        "alerrcan con ofi conierence 2r19",
        "l0t9tnln cntntroa alffefonce e12",
    ),
    Fraction(0): (
        "cf1 tmnrlcef9rollmo9fell oiim910",
        "fo9 afte 19m9meoenaa0t20roneaf 9",
        "amenmean conlrol ronferenne i01n",
    ),
}

# Below this probability we say that samples do not come from a law.
IMPLAUSIBLE = 1e-6


class ExponentialAtAnyEpsilon(Exponential):
    """The right law of J19, also at the paper's ε = 0."""

    _zero_epsilon_allowed: ClassVar[bool] = True


def jones2019_rows() -> Iterator[Row]:
    """Every published number of J19 §V and §VII-A next to ours."""
    yield from _automata()
    language = words(sorted(set(SENTENCE)), len(SENTENCE))
    for epsilon in EPSILONS:
        yield from _case_study(language, epsilon)


def _automata() -> Iterator[Row]:
    automaton = hamming_automaton(SENTENCE, alphabet=sorted(set(SENTENCE)))
    yield _number("Case Study 1: states of the automaton", 561, automaton.state_count)
    yield _number("Case Study 1: edges of the automaton", 1056, automaton.edge_count, "match and mismatch grouped")
    figure = hamming_automaton("abc", alphabet="abc", exactly=2)
    levenshtein = levenshtein_automaton("abc", 2)
    yield _number(
        "Fig. 1a: states of the Levenshtein automaton of abc, k = 2", 12, levenshtein.state_count, "(|x|+1)(k+1)"
    )
    printed = levenshtein_automaton("abc", 2, printed=True)
    wrong = "".join(map(str, printed.misjudged() or ()))
    yield Row(
        item="Algorithm 1: words it accepts, k = 2",
        published="within distance 2 of abc",
        ours=f"accepts {wrong}, at distance {printed.distance(wrong)}; refuses abcc, at distance 1",
        agrees=False,
        note="E2: line 10 reads any symbol for free where an insertion should cost one edit; ours has it right",
    )
    yield _number("Fig. 2: V(start), words at distance 2 from abc", 12, figure.ways(0, 0))


def _number(item: str, published: int, ours: int, note: str = "") -> Row:
    return Row(item=item, published=str(published), ours=str(ours), agrees=published == ours, note=note)


def _case_study(language: FreeLanguage, epsilon: Fraction) -> Iterator[Row]:
    printed = Jones2019Printed(language, epsilon=epsilon, adjacency=1)
    right = ExponentialAtAnyEpsilon(language, epsilon=epsilon, adjacency=1, utility="inverse", calibration="classic")
    tight = ExponentialAtAnyEpsilon(language, epsilon=epsilon, adjacency=1)
    at = f"Case Study 1, ε = {spelled(epsilon)}"
    assumed = "adjacency 1 and offset 1 assumed: J19 does not state them"
    yield Row(
        item=f"{at}: true loss of the printed law (eq. 18)",
        published=f"at most {spelled(epsilon)}",
        ours=f"{printed.guarantee.epsilon:.6g}",
        agrees=printed.guarantee.epsilon <= epsilon,
        note=f"E1: ρ(ℓ) omits N(ℓ), the number of words at distance ℓ; {assumed}",
    )
    yield Row(
        item=f"{at}: true loss of the right law (eq. 16)",
        published=f"at most {spelled(epsilon)}",
        ours=f"{right.guarantee.epsilon:.6g}",
        agrees=right.guarantee.epsilon <= epsilon,
        note="half of the budget stays unused; the tight calibration spends all of it" if epsilon else "",
    )
    yield from _printed_samples(at, epsilon, printed, right)
    for law, mechanism in (("printed law", printed), ("right law", right), ("utility −d, tight", tight)):
        yield _our_samples(at, law, mechanism)


def _printed_samples(at: str, epsilon: Fraction, printed: Mechanism, right: Mechanism) -> Iterator[Row]:
    """How likely a law makes distances at least as small as those of the paper's own samples."""
    samples = PRINTED_SAMPLES[epsilon]
    distances = [sum(a != b for a, b in zip(SENTENCE, sample, strict=True)) for sample in samples]
    for name, mechanism in (("printed law", printed), ("right law", right)):
        below = np.cumsum(mechanism.distances().probabilities)
        smallest = min(distances)
        chance = -math.expm1(len(samples) * math.log1p(-min(1 - 1e-16, float(below[smallest]))))
        yield Row(
            item=f"{at}: samples of Fig. 5a under the {name}",
            published=f"distances {', '.join(map(str, distances))}",
            ours=f"P(one this close) = {chance:.3g}",
            agrees=chance >= IMPLAUSIBLE,
            note="the paper's samples come from its printed law" if name == "right law" else "",
        )


def _our_samples(at: str, law: str, mechanism: Mechanism) -> Row:
    samples = [str(sample) for sample in mechanism.release_many([SENTENCE] * PRIVATE_SENTENCES)]
    well_formed = all(len(sample) == len(SENTENCE) and set(sample) <= set(SENTENCE) for sample in samples)
    return Row(
        item=f"{at}: samples by the {law}",
        published=" | ".join(PRINTED_SAMPLES[mechanism.epsilon]),
        ours=" | ".join(samples),
        agrees=well_formed,
        note=f"expected distance {mechanism.distances().expected_error:.4g}; true loss "
        f"{mechanism.guarantee.epsilon:.4g}; the words are random: agrees means 32 of its characters, as printed",
    )


def grid_rows() -> Iterator[Row]:
    """Every published number of J19 §VII-B, private runs on a grid, next to ours."""
    language = runs(grid(), GRID_STEPS)
    size = product_size(language, language.encode(corner_path()))
    note = "the paper's path is a picture; ours goes right, down, right, down … for 18 steps"
    for item, published, ours in (("states", 6194, size.state_count), ("edges", 18762, size.edge_count)):
        yield Row(
            item=f"Case Study 2: {item} of the product automaton",
            published=str(published),
            ours=str(ours),
            agrees=abs(published - ours) <= 0.03 * published,
            note=f"{note}; agreement means within 3 %",
        )
    seconds = _grid_seconds(language)
    yield Row(
        item="Case Study 2: set-up and 100 private runs",
        published="193 s + 6.4 s",
        ours=f"{seconds:.4f} s",
        agrees=seconds < 199.4,
        note="ε = 5, classic calibration as in the paper; every run is a walk on the grid",
    )


def _grid_seconds(language: RunLanguage) -> float:
    mechanism = Exponential(language, epsilon=5, adjacency=1, calibration="classic")
    codes = np.repeat(language.encode(corner_path())[None, :], GRID_RUNS, axis=0)
    begin = time.perf_counter()
    mechanism.release_codes(codes)
    return time.perf_counter() - begin
