"""The rate of a mechanism on a model, whatever its cost: the one place where a budget becomes a rate.

Every mechanism has the classic rate (`Weighting.classic`). Where more is proved, more of the budget is used:
exponential weights by Hamming distance have the quick certificate of `certify`, all pairs of words are compared where
they are few or short (`halves`), and there is that of `costs` (docs/theory/certificates.md).
"""

from __future__ import annotations

from fractions import Fraction

from symveil.calibration.affordable import is_compared_by_halves
from symveil.calibration.search import CertifiedRate
from symveil.calibration.weighting import Weighting
from symveil.numbers.progress import Progress

_NEARLY_ALL = Fraction(199, 200)


def calibrated_rate(
    weighting: Weighting,
    *,
    epsilon: Fraction,
    thorough: bool = True,
    of_many_lengths: bool = False,
    progress: Progress | None = None,
    claimed: Fraction | None = None,
    proof: str = "",
) -> CertifiedRate:
    """The largest rate that is proved to lose at most `epsilon`; or that rate which is claimed, where it is proved.

    Unless `thorough`, exponential weights by Hamming distance have the quick certificate alone; other costs always get
    the slower ones too. With `of_many_lengths` one proof is made for many lengths where there is one. The result has
    the rate that is claimed, or another one where that was not proved; `proof` is what proved it
    (`CertifiedRate.proof`): then that is evaluated, once. "": the quickest that does.

    >>> import symveil as sv
    >>> from symveil.calibration.weighting import Weighting
    >>> from symveil.languages.swap_costs import swap
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = sv.runs(chain, length=5)
    >>> cost = swap(words, adjacency=2).staircase(period=2, first_step=1)
    >>> found = calibrated_rate(Weighting(language=words, cost=cost, adjacency=2), epsilon=Fraction(3))
    >>> found.rate > Fraction(3, 2), found.how                    # more than the classic ε/2
    (True, 'exact')
    """
    older = None
    if weighting.is_plain and proof in ("", "bounds"):
        # provers are imported when they are needed: a release must not wait for loops and scipy to load
        from symveil.calibration.certify import quick_rate  # noqa: PLC0415

        older = quick_rate(weighting, epsilon=epsilon, progress=progress, claimed=claimed)
        enough = older.how == "exact" or older.rate >= epsilon / max(weighting.farthest, 1) * _NEARLY_ALL
        if not thorough or enough or proof or older.rate == claimed:
            return older
    if weighting.drops == 0:
        return weighting.classic(epsilon)
    from symveil.calibration.costs.rates import certify_cost  # noqa: PLC0415
    from symveil.calibration.enumeration import is_enumerable  # noqa: PLC0415
    from symveil.calibration.halves.rates import rate_by_halves  # noqa: PLC0415

    few = is_enumerable(weighting)
    covering = weighting.covering if of_many_lengths and not few else weighting
    affordable = not few and not covering.with_shorter and is_compared_by_halves(weighting)
    if affordable and proof in ("", "halves"):
        result = rate_by_halves(weighting, epsilon=epsilon, progress=progress, claimed=claimed)
        if result is not None and (older is None or result.rate > older.rate):
            return result
        if result is not None and older is not None:
            return older
    if proof == "halves":
        return weighting.classic(epsilon)
    long_windows = proof == "long blocks"
    result = certify_cost(covering, epsilon=epsilon, progress=progress, claimed=claimed, long_windows=long_windows)
    return older if older is not None and older.rate > result.rate else result
