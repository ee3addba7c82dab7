"""Papers on what chains and systems give away, next to ours: C19 §8 and the examples of Z25.

C19: the PIN checker, randomised response and its compositions. Z25: every number of its examples, and where its
definitions promise less than they seem to."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from symveil.enforcement.enforce import Enforcement, enforce_opacity
from symveil.examples.paper_systems import (
    RECONSTRUCTED,
    example_3,
    example_4,
    medical,
    pin_checker,
    randomised_response,
)
from symveil.languages.hamming_automaton import hamming_automaton
from symveil.models.labelled_chain import Pair
from symveil.numbers.rationals import spelled
from symveil.tasks.reproduce.rows import Row
from symveil.tasks.verify import compose
from symveil.verification.opacity.observation import delayed_estimate
from symveil.verification.opacity.run_observations import sensitive_strings
from symveil.verification.opacity.verify import verify_opacity
from symveil.verification.opacity.violation import violation_probability
from symveil.verification.privacy_verdict import PrivacyVerdict, shown
from symveil.verification.verify_privacy import verify_privacy

# Example 5: α, β of the utility 1/(d + β) + α
OFFSET, SMOOTHING = Fraction(1, 2), Fraction(1)


def zhao2025_rows() -> Iterator[Row]:
    """Every published number next to ours."""
    yield from _words()
    yield from _first_system()
    yield from _second_system()
    yield from _utility()
    yield from _substitution()
    yield from _safe()
    yield _not_enforceable()
    yield from _medical()
    yield from _definition_8()


def _same(item: str, published: object, ours: object, note: str = "") -> Row:
    return Row(item=item, published=str(published), ours=str(ours), agrees=str(published) == str(ours), note=note)


def _distance(one: str, other: str, alphabet: str) -> int:
    """The least ω whose automaton of the one word accepts the other."""
    return next(
        omega for omega in range(len(one) + 1) if hamming_automaton(one, alphabet=alphabet, within=omega).accepts(other)
    )


def _joined(observations: Iterator[tuple[str, ...]]) -> str:
    return ", ".join(sorted("".join(each) for each in observations))


def _words() -> Iterator[Row]:
    yield _same("Example 1: distance of abcdd and abbae", 3, _distance("abcdd", "abbae", "abcde"))
    near = ["".join((one, two)) for one in "abc" for two in "abc" if _distance("bb", one + two, "abc") == 1]
    yield _same("Example 2: words that lead to state 2¹ of A_bbc,2", "ab, ba, bc, cb", ", ".join(sorted(near)))
    yield _same(
        "Example 6: words of the distance-limited automaton, ℓ = 2",
        12,
        hamming_automaton("bbc", alphabet="abc", exactly=2).language_size,
        "Fig. 5 shows the automaton; the number follows from it",
    )


def _first_system() -> Iterator[Row]:
    system = example_3()
    yield _same("Example 3: violation, k = 1", "1/2", violation_probability(system, 1).exact, RECONSTRUCTED)
    yield _same(
        "Example 3: sensitive string", "abd", _joined(each.observation for each in sensitive_strings(system, 1))
    )
    yield _same(
        "Example 3: estimate after ab, given abd",
        "4",
        ", ".join(delayed_estimate(system, "abd", after=2)),
        "E6: the text names the secret state both 3 and 4; it is state 3 that abd exposes one step before its end",
    )
    yield _same("Example 3: estimate after ba", "7, 8", ", ".join(delayed_estimate(system, "ba")))
    yield _same("Example 3: almost opaque for θ above", "1/2", violation_probability(system, 1).upper)


def _second_system() -> Iterator[Row]:
    system = example_4()
    verdict = verify_opacity(system, 1)
    yield _same("Example 4: violation, k = 1", "1/3", violation_probability(system, 1).exact, RECONSTRUCTED)
    yield _same("Example 4: first-violating string", "aa", "".join(verdict.witness or ()))
    yield _same(
        "Example 4: sensitive string", "aab", _joined(each.observation for each in sensitive_strings(system, 1))
    )
    substitutes = enforce_opacity(system, 1, policy="substitution", omega=2).sensitive[0].substitutes
    yield _same("Example 4: substitutes of aab at distance 2", 12, len(substitutes))
    safe = enforce_opacity(system, 1, policy="safe", omega=2).sensitive[0].substitutes
    yield _same(
        "Example 4: substitutes that belong to the system",
        "acc, bab, bac, bcc",
        _joined(each.observation for each in safe),
        f"E6: bab and bcc are at distance {_distance('aab', 'bab', 'abc')} and {_distance('aab', 'bcc', 'abc')}, "
        "not 2; Example 8 has the two that remain",
    )


def _utility() -> Iterator[Row]:
    def utility(one: str, other: str) -> Fraction:
        return 1 / (_distance(one, other, "abc") + SMOOTHING) + OFFSET

    far, near = utility("aab", "acc"), utility("acc", "acc")
    yield _same("Example 5: u(aab, acc), α = 1/2, β = 1", "5/6", far)
    yield _same("Example 5: u(acc, acc)", "3/2", near)
    yield _same("Example 5: sensitivity bound", "2/3", near - far)
    yield _same("Example 5: ω/(β(ω + β)), ω = 2", "2/3", 2 / (SMOOTHING * (2 + SMOOTHING)))


def _substitution() -> Iterator[Row]:
    automaton = hamming_automaton("aab", alphabet="abc", exactly=2)
    yield _same("Example 7: V(1¹)", 4, automaton.ways(1, 1))
    _, mismatch = automaton.policy(1, 1)
    in_state = Fraction(2, 3)  # p(a|1), which Algorithm 1 multiplies into the policy
    yield _same("Example 7: output probability of b in 1¹", "1/6", mismatch.each * in_state)
    enforced = enforce_opacity(example_4(), 1, policy="substitution", omega=2)
    printed = [Fraction(1, 18), Fraction(1, 36), Fraction(1, 36), Fraction(1, 36), Fraction(1, 9)]
    yield _same(
        "Example 9: violation with substitution",
        "5/18",
        enforced.violation_after,
        f"E6: the terms printed for it add to {sum(printed)}; 1/3 · 10/12 = 5/18 is right",
    )


def _safe() -> Iterator[Row]:
    enforced = enforce_opacity(example_4(), 1, policy="safe", omega=2)
    substitutes = enforced.sensitive[0].substitutes
    yield _same("Example 8: substitutes", "acc, bac", _joined(each.observation for each in substitutes))
    yield _same(
        "Example 8: Pr_o of each",
        "1/6",
        ", ".join(dict.fromkeys(str(each.probability) for each in substitutes)),
        "E6: the text writes Pr_i(abb) for Pr_i(aab), and scales the policy by p(·) twice",
    )
    yield _same("Theorem 3: violation with the modified automaton", 0, enforced.violation_after, _E5)


_E5 = "E5: asserted in the paper, not enforced by its Algorithm 2; here the product has safe observations only"


def _not_enforceable() -> Row:
    enforced = enforce_opacity(example_3(), 1, policy="safe", omega=2)
    ours = "".join(enforced.unenforceable or ()) or "enforceable"
    return _same("Example 10: cannot be enforced at ω = 2 for", "abd", ours)


def _medical() -> Iterator[Row]:
    system = medical()
    yield _same("Medical system: violation, k = 2", "1/3", violation_probability(system, 2).exact, RECONSTRUCTED)
    yield _same(
        "Medical system: sensitive string", "adea", _joined(s.observation for s in sensitive_strings(system, 2))
    )
    substitution = enforce_opacity(system, 2, policy="substitution", omega=1)
    safe = enforce_opacity(system, 2, policy="safe", omega=1)
    yield _same("Medical system: substitutes, ω = 1", 16, len(substitution.sensitive[0].substitutes))
    yield _same("Medical system: violation with substitution", "7/24", substitution.violation_after)
    yield _same(
        "Medical system: output with the modified automaton",
        "abea, acea",
        _joined(each.observation for each in safe.sensitive[0].substitutes),
    )
    yield _same("Medical system: violation with it", 0, safe.violation_after)


def _definition_8() -> Iterator[Row]:
    """What the policies really promise, beside ours at ε = 2."""
    for name, enforced in (
        ("substitution, ω = 2", enforce_opacity(example_4(), 1, policy="substitution", omega=2)),
        ("safe, ω = 2", enforce_opacity(example_4(), 1, policy="safe", omega=2)),
        ("private, ε = 2 (ours)", enforce_opacity(example_4(), 1, policy="private", epsilon=2)),
    ):
        yield _true_loss(name, enforced)


def _true_loss(name: str, enforced: Enforcement) -> Row:
    epsilon = enforced.epsilon
    finite = epsilon is not None and epsilon < float("inf")
    return Row(
        item=f"Definition 8, Theorem 1: true ε on Example 4, {name}",
        published="at most ε",
        ours=f"{epsilon:.6g}" if finite else "infinity",
        agrees=finite,
        note="violation 0 and a common support"
        if finite
        else "E4: Definition 8 bounds Pr[M(s) ∈ Σ*] = 1, which every mechanism satisfies; neighbours' outputs differ",
    )


# Fig. 4b is a picture; these are its points as they can be computed (docs/theory/chains-and-opacity.md).
PIN_ALPHAS = (Fraction(1), Fraction(207, 200), Fraction(11, 10), Fraction(6, 5), Fraction(2809, 2209))
PURE = Fraction(2809, 2209)


def chistikov2019_rows() -> Iterator[Row]:
    """Every number of C19 §8 next to ours."""
    yield from _pin_rows()
    yield from _response_rows()


def _pin_rows() -> Iterator[Row]:
    chain = pin_checker()
    at_one = verify_privacy(chain, alpha=1)
    yield _exact("Example 31, ε = 0: δ", Fraction(200, 2503), at_one.delta.lower, at_one.delta.exact)
    pure = verify_privacy(chain, alpha=PURE)
    yield _exact("Example 31, ε = ln(2809/2209): δ", Fraction(0), pure.delta.upper, pure.delta.exact)
    just_below = verify_privacy(chain, alpha=PURE - Fraction(1, 10**6))
    yield Row(
        item="Example 31: no smaller ε has δ = 0",
        published="ln(2809/2209) is the pure ε",
        ours=f"δ ≥ {float(just_below.delta.lower):.3g} at α a millionth below",
        agrees=just_below.delta.lower > 0,
    )
    for alpha in PIN_ALPHAS:
        verdict = verify_privacy(chain, alpha=alpha)
        yield _ordered(f"Fig. 4b, α = {spelled(alpha)}: lv ≤ ld = lgd ≤ bd", verdict)
    close = verify_privacy(chain, alpha="1.035")
    ratio = _largest(close, "ld") / close.delta.upper
    yield Row(
        item="Example 31: ld within about 1.5 of δ for α ≤ 1.035",
        published="about 1.5",
        ours=f"{float(ratio):.4f} at α = 1.035",
        agrees=ratio < Fraction(155, 100),
    )


def _response_rows() -> Iterator[Row]:
    single = randomised_response()
    yield from _optimal("Example 32: one respondent, α = 6/5", verify_privacy(single, alpha="6/5"), Fraction(4, 15))
    two = compose(single, single, respondents="disjoint")
    yield from _optimal("Example 32: two respondents, α = 6/5", verify_privacy(two, alpha="6/5"), Fraction(4, 15))
    # the paper's R' adds one pair to R; changing both answers either way gives the same
    both: list[Pair] = [*two.pairs(), ("A|A", "B|B"), ("B|B", "A|A")]
    twice = verify_privacy(two, alpha="36/25", pairs=both)
    yield _exact("Example 32: one respondent twice, α = 36/25: max ld", Fraction(103, 225), _largest(twice, "ld"), True)
    yield Row(
        item="Example 32: one respondent twice, α = 36/25: δ itself",
        published="below ld (“our technique is not optimal”)",
        ours=shown(twice.delta),
        agrees=twice.delta.upper < Fraction(103, 225),
        note="basic composition says 8/15",
    )


def _optimal(item: str, verdict: PrivacyVerdict, published: Fraction) -> Iterator[Row]:
    yield _exact(f"{item}: max ld", published, _largest(verdict, "ld"), True)
    yield _exact(f"{item}: δ", published, verdict.delta.upper, verdict.delta.exact, "the bound is the truth here")


def _largest(verdict: PrivacyVerdict, name: str) -> Fraction:
    bounds = [pair.ld if name == "ld" else pair.bd for pair in verdict.pairs]
    return max(bound.value for bound in bounds if bound is not None)


def _exact(item: str, published: Fraction, ours: Fraction, known: bool, note: str = "") -> Row:
    return Row(
        item=item,
        published=spelled(published),
        ours=spelled(ours) if known else f"at most {float(ours):.6g}",
        agrees=known and ours == published,
        note=note,
    )


def _ordered(item: str, verdict: PrivacyVerdict) -> Row:
    """The largest of each over both directions."""
    lv, ld, bd = verdict.delta, _largest(verdict, "ld"), _largest(verdict, "bd")
    return Row(
        item=item,
        published="in this order; ld and lgd coincide, bd does not respond to α",
        ours=f"{shown(lv)} ≤ {spelled(ld)} ≤ {spelled(bd)}",
        agrees=lv.upper <= ld <= bd == Fraction(6, 53),
    )
