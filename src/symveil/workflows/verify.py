"""Verifying the privacy of a chain: one verdict, a δ(ε) curve, the smallest ε for a δ."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from symveil.drawing.curves import Band, Curve
from symveil.drawing.plots import draw_curves
from symveil.drawing.svg_plots import curves_svg
from symveil.errors import ParameterError
from symveil.io.files import write_text
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.numerics.conversions import float_at_least, float_at_most
from symveil.numerics.progress import Progress
from symveil.numerics.rationals import Number, exact
from symveil.privacy.release_chain import ReleaseChain
from symveil.verification.privacy_verdict import PrivacyVerdict
from symveil.verification.verify_privacy import read_share, verify_privacy

CURVE_SUFFIXES = (".png", ".svg", ".json")
_MOST_POINTS = 1000
_LARGEST_EXPONENT = 27


@dataclass(frozen=True, slots=True)
class PrivacyCurve:
    """δ against ε: a verdict for each ε, in rising order."""

    verdicts: tuple[PrivacyVerdict, ...]

    @property
    def epsilons(self) -> list[float]:
        """ε of each point."""
        return [math.log(verdict.alpha_below) if verdict.alpha_below > 1 else 0.0 for verdict in self.verdicts]

    def document(self) -> dict[str, object]:
        """The verdicts as JSON documents."""
        return {"points": [verdict.document() for verdict in self.verdicts]}

    def to_svg(self, *, mark: float | None = None) -> str:
        """δ with its bracket, ld and bd: the picture of the studio and of notebooks; `mark` points an ε out."""
        across = self.epsilons
        lower = [float(verdict.delta.lower) for verdict in self.verdicts]
        upper = [float(verdict.delta.upper) for verdict in self.verdicts]
        return curves_svg(
            [Curve("δ, proved from both sides", across, upper), *self._bounds((("ld = lgd", "ld"), ("bd", "bd")))],
            [Band("", across, lower, upper)],
            title="δ against ε",
            x_label="ε",
            y_label="δ",
            mark=mark if mark is not None and across[0] <= mark <= across[-1] else None,
            mark_label="" if mark is None else f"ε = {mark:g}",
        )

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _bounds(self, names: Iterable[tuple[str, str]]) -> Iterator[Curve]:
        """The largest of a distance over the pairs, where it is known at every ε."""
        for label, name in names:
            bounds = [[getattr(pair, name) for pair in verdict.pairs] for verdict in self.verdicts]
            if all(bound is not None for row in bounds for bound in row):
                values = [float(max(bound.value for bound in row)) for row in bounds]
                yield Curve(label, self.epsilons, values, "dashed" if name == "bd" else "solid")

    def draw(self, path: Path | str, *, title: str = "Privacy of the chain") -> None:
        """The bracket on δ, ld and bd, as PNG or SVG (C19 Fig. 4b); or all numbers as JSON."""
        target = Path(path)
        if target.suffix.lower() == ".json":
            write_text(target, json.dumps(self.document(), ensure_ascii=False, allow_nan=False) + "\n")
            return
        across = self.epsilons
        lower = [float(verdict.delta.lower) for verdict in self.verdicts]
        upper = [float(verdict.delta.upper) for verdict in self.verdicts]
        curves = [Curve("δ: true privacy (lv)", across, upper)]
        curves += self._bounds((("ld = lgd", "ld"), ("without relays", "support_only"), ("bd", "bd")))
        draw_curves(curves, [Band("", across, lower, upper)], title=title, x_label="ε", y_label="δ", path=target)


def privacy_curve(
    chain: LabelledChain | ReleaseChain,
    *,
    alphas: Sequence[Number] | None = None,
    epsilons: Sequence[Number] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> PrivacyCurve:
    """A verdict for each α, or for each ε. `options` are those of `verify_privacy`.

    >>> from symveil.examples.paper_systems import pin_checker
    >>> curve = privacy_curve(pin_checker(), alphas=[1, "6/5"])
    >>> [str(verdict.delta.upper) for verdict in curve.verdicts]
    ['200/2503', '791/37545']
    """
    if (alphas is None) == (epsilons is None):
        raise ParameterError("alphas", expected="either alphas or epsilons", found="both or neither")
    points: list[tuple[Fraction, dict[str, Number]]] = []
    for name, values in (("alpha", alphas), ("epsilon", epsilons)):
        points += [(exact(value, name=name), {name: value}) for value in values or ()]
    if not 1 <= len(points) <= _MOST_POINTS:
        raise ParameterError("points", expected=f"1 to {_MOST_POINTS} of them", found=len(points))
    verdicts = []
    for number, (_, point) in enumerate(sorted(points, key=lambda entry: entry[0]), start=1):
        verdicts.append(verify_privacy(chain, **point, **options))  # type: ignore[arg-type]
        if progress:
            progress(number, len(points))
    return PrivacyCurve(tuple(verdicts))


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestEpsilon:
    """The smallest ε at which δ is at most the given one: proved above `lower` and at most `upper`.

    `lower` is None where no ε is refuted (δ is small enough at ε = 0 already); `upper` is None where
    none was proved.
    """

    delta: Fraction
    lower: Fraction | None
    upper: Fraction | None

    def document(self) -> dict[str, object]:
        """As JSON."""
        return {
            "delta": float(self.delta),
            "epsilon": {
                "lower": 0.0 if self.lower is None else float_at_most(self.lower),
                "upper": None if self.upper is None else float_at_least(self.upper),
            },
        }


def smallest_epsilon(
    chain: LabelledChain | ReleaseChain,
    *,
    delta: Number,
    precision: Number = Fraction(1, 1000),
    pairs: Iterable[Pair] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> SmallestEpsilon:
    """The smallest ε for a δ, to within `precision`, by bisection on proved answers only.

    An ε whose bracket does not decide the question is neither above nor below; then the answer is wider
    than `precision`.

    >>> from symveil.examples.paper_systems import pin_checker
    >>> found = smallest_epsilon(pin_checker(), delta=0)
    >>> float(found.lower) <= 0.240292 <= float(found.upper)          # ln(2809/2209)
    True
    """
    wanted = read_share(delta, name="delta")
    step = exact(precision, name="precision")
    if step <= 0:
        raise ParameterError("precision", expected="a number above 0 such as 0.001", found=precision)
    asked = list((chain.chain if isinstance(chain, ReleaseChain) else chain).pairs(pairs))
    answer = partial(_answer, chain, wanted, asked, options)
    if answer(Fraction(0)):
        return SmallestEpsilon(delta=wanted, lower=None, upper=Fraction(0))
    refuted, proved = _first_proved(answer)
    if proved is None:
        return SmallestEpsilon(delta=wanted, lower=refuted, upper=None)
    # one bisection for where the answer stops being a proved no, one for where it starts being a proved yes
    rounds = max(1, math.ceil(math.log2(max(2.0, float((proved - refuted) / step)))))
    for wanted_answer in (False, True):
        low, high = refuted, proved
        for number in range(rounds):
            middle = (low + high) / 2
            found = answer(middle)
            if found is False:
                refuted = max(refuted, middle)
            elif found:
                proved = min(proved, middle)
            # what is undecided counts as a yes first, and as a no then
            below = found is False if wanted_answer is False else not found
            low, high = (middle, high) if below else (low, middle)
            if progress:
                progress(rounds * wanted_answer + number + 1, 2 * rounds)
        if proved - refuted <= step:
            break
    return SmallestEpsilon(delta=wanted, lower=refuted, upper=proved)


def _answer(
    chain: LabelledChain | ReleaseChain, delta: Fraction, pairs: list[Pair], options: dict[str, Any], epsilon: Fraction
) -> bool | None:
    """Whether δ holds at ε: asked with the usual bracket first, and with a narrow one where that is undecided."""
    point: dict[str, Any] = {"alpha": 1} if epsilon == 0 else {"epsilon": epsilon}
    for width in (Fraction(1, 10**4), Fraction(1, 10**8)):
        asked: dict[str, Any] = {"width": width, **options, **point}
        holds = verify_privacy(chain, delta=delta, pairs=pairs, symmetric=False, **asked).holds
        if holds is not None:
            return holds
    return None


def _first_proved(answer: Callable[[Fraction], bool | None]) -> tuple[Fraction, Fraction | None]:
    """The largest ε refuted and the first one proved, doubling from 1/16."""
    refuted, guess = Fraction(0), Fraction(1, 16)
    while True:
        found = answer(guess)
        if found:
            return refuted, guess
        if found is False:
            refuted = guess
        if guess == _LARGEST_EXPONENT:
            return refuted, None
        guess = min(2 * guess, Fraction(_LARGEST_EXPONENT))
