"""C19 §8: the PIN checker, randomised response and its compositions, next to what the paper says."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from symveil.examples.paper_systems import pin_checker, randomised_response
from symveil.models.labelled_chain import Pair
from symveil.numbers.rationals import spelled
from symveil.tasks.reproduce.rows import Row
from symveil.tasks.verify import compose
from symveil.verification.privacy_verdict import PrivacyVerdict, shown
from symveil.verification.verify_privacy import verify_privacy

PAPER = "chistikov2019"
_row = partial(Row, paper=PAPER)

# Fig. 4b is a picture; these are its points as they can be computed (docs/theory/chains-and-opacity.md).
PIN_ALPHAS = (Fraction(1), Fraction(207, 200), Fraction(11, 10), Fraction(6, 5), Fraction(2809, 2209))
PURE = Fraction(2809, 2209)


def rows() -> Iterator[Row]:
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
    yield _row(
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
    yield _row(
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
    yield _row(
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
    return _row(
        item=item,
        published=spelled(published),
        ours=spelled(ours) if known else f"at most {float(ours):.6g}",
        agrees=known and ours == published,
        note=note,
    )


def _ordered(item: str, verdict: PrivacyVerdict) -> Row:
    """The largest of each over both directions."""
    lv, ld, bd = verdict.delta, _largest(verdict, "ld"), _largest(verdict, "bd")
    return _row(
        item=item,
        published="in this order; ld and lgd coincide, bd does not respond to α",
        ours=f"{shown(lv)} ≤ {spelled(ld)} ≤ {spelled(bd)}",
        agrees=lv.upper <= ld <= bd == Fraction(6, 53),
    )
