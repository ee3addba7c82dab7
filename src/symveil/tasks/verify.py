"""Verifying the privacy of a chain: a δ(ε) curve, as a picture and as numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from symveil.errors import ParameterError
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import Number, exact
from symveil.pictures.curves import Band, Curve
from symveil.pictures.svg_plots import curves_svg
from symveil.storage.atomic import write_text
from symveil.verification.privacy_verdict import PrivacyVerdict
from symveil.verification.verify_privacy import Subject, verify_privacy

_MOST_POINTS = 1000
_CURVE_POINTS = 25


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
        from symveil.pictures.plots import draw_curves  # noqa: PLC0415 - matplotlib, which the studio's pages do without

        draw_curves(curves, [Band("", across, lower, upper)], title=title, x_label="ε", y_label="δ", path=target)


def privacy_curve(
    chain: Subject,
    *,
    alphas: Sequence[Number] | None = None,
    epsilons: Sequence[Number] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> PrivacyCurve:
    """A verdict for each α, or for each ε. `options` are those of `verify_privacy`.

    Parameters
    ----------
    chain
        A labelled chain, a mechanism's release chain, or a channel.
    alphas
        e^ε of each point, 1 or more.
    epsilons
        ε of each point instead.
    progress
        Called with how many points are done, and of how many.
    **options
        Those of `verify_privacy`, such as `pairs`, `nodes` or `symmetric`.

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


def privacy_curve_up_to(
    chain: Subject, alpha: Fraction, *, progress: Progress | None = None, **options: Any
) -> PrivacyCurve:
    """The curve from ε = 0 to ln α at points that are evenly spaced in ε, but for rounding.

    Parameters
    ----------
    chain
        A labelled chain, a mechanism's release chain, or a channel.
    alpha
        e^ε of the last point, above 1.
    progress
        Called with how many points are done, and of how many.
    **options
        Those of `verify_privacy`.
    """
    # rationals with short denominators: then most values are exact
    span, steps = math.log(alpha), range(1, _CURVE_POINTS - 1)
    inner = [Fraction(math.exp(span * step / (_CURVE_POINTS - 1))).limit_denominator(1000) for step in steps]
    alphas = sorted({Fraction(1), *(point for point in inner if 1 < point < alpha), alpha})
    return privacy_curve(chain, alphas=alphas, progress=progress, **options)
