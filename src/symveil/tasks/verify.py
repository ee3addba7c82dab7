"""Verifying the privacy of a chain: a δ(ε) curve, as a picture and as numbers.

Putting chains one after the other, to verify what they give away together (C19 Example 32).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from symveil.errors import ModelError, ParameterError
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.models.names import shown as shown_name
from symveil.models.names import unlike
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import Number, exact
from symveil.pictures.charts import Band, Curve, curves_chart
from symveil.pictures.marks import Chart, save_chart
from symveil.storage.files import write_text
from symveil.verification.chain_pairs import Subject, read_alpha
from symveil.verification.privacy_verdict import (
    PrivacyVerdict,
)
from symveil.verification.verify_privacy import PreparedSubject

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
        return self._chart("δ against ε", (("ld = lgd", "ld"), ("bd", "bd")), mark).to_svg()

    def _chart(self, title: str, others: Iterable[tuple[str, str]], mark: float | None = None) -> Chart:
        across = self.epsilons
        lower = [float(verdict.delta.lower) for verdict in self.verdicts]
        upper = [float(verdict.delta.upper) for verdict in self.verdicts]
        return curves_chart(
            [Curve("δ, proved from both sides", across, upper), *self._bounds(others)],
            [Band("", across, lower, upper)],
            title=title,
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
        """The bracket on δ, ld and bd, as SVG, PNG or PDF (C19 Fig. 4b); or all numbers as JSON."""
        target = Path(path)
        if target.suffix.lower() == ".json":
            write_text(target, json.dumps(self.document(), ensure_ascii=False, allow_nan=False) + "\n")
            return
        shown = (("ld = lgd", "ld"), ("without relays", "support_only"), ("bd", "bd"))
        save_chart(self._chart(title, shown), target)


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
    points: list[tuple[Fraction, Number | None, Number | None]] = []
    points += [(exact(value, name="alpha"), value, None) for value in alphas or ()]
    points += [(exact(value, name="epsilon"), None, value) for value in epsilons or ()]
    if not 1 <= len(points) <= _MOST_POINTS:
        raise ParameterError("points", expected=f"1 to {_MOST_POINTS} of them", found=len(points))
    verdicts, subject = [], PreparedSubject.of(chain, **options)
    for number, (_, alpha, epsilon) in enumerate(sorted(points, key=lambda point: point[0]), start=1):
        verdicts.append(subject.verdict(read_alpha(alpha, epsilon)))
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


Respondents = Literal["disjoint", "same"]


def compose(first: LabelledChain, second: LabelledChain, *, respondents: str = "disjoint") -> LabelledChain:
    """The chain that runs `first` to its end and then `second`, from related states `x|y` of both.

    Both end: each has one state that is never left, `second` is entered where `first` would get there. With
    "disjoint" respondents x|y is related to x'|y and to x|y', where x, x' and y, y' are: the two
    answers come from different people. With the "same" respondent, to x'|y' as well.

    Parameters
    ----------
    first, second
        Labelled chains, each with one state that is never left.
    respondents
        Whose answers they are: "disjoint" or the "same".

    >>> from symveil.examples.paper_systems import randomised_response
    >>> from symveil.verification.verify_privacy import verify_privacy
    >>> both = compose(randomised_response(), randomised_response(), respondents="same")
    >>> verdict = verify_privacy(both, alpha="36/25")
    >>> str(max(pair.ld.value for pair in verdict.pairs)), str(verdict.delta.upper)
    ('103/225', '64/225')
    """
    if respondents not in get_args(Respondents):
        raise ParameterError("respondents", expected=" or ".join(get_args(Respondents)), found=respondents)
    end = _end(first, "first")
    _end(second, "second")
    x_starts, y_starts = _starts(first, "first"), _starts(second, "second")
    labels: dict[str, str] = {}
    rows = []
    outer: dict[tuple[str, str], str] = {}
    for state, y in product(first.states, y_starts):
        if state != end:
            outer[state, y] = unlike(f"{state}|{y}", labels)
            labels[outer[state, y]] = first.label(state)
    inner: dict[str, str] = {}
    for state in second.states:
        inner[state] = unlike(state, labels)
        labels[inner[state]] = second.label(state)
    for y in y_starts:
        for source, target, chance in first.transitions:
            if source != end:
                rows.append((outer[source, y], inner[y] if target == end else outer[target, y], chance))
    rows += [(inner[source], inner[target], chance) for source, target, chance in second.transitions]
    related: dict[Pair, None] = {}
    for x, other in first.related:
        related |= {(outer[x, y], outer[other, y]): None for y in y_starts}
    for y, other in second.related:
        related |= {(outer[x, y], outer[x, other]): None for x in x_starts}
    if respondents == "same":
        for (x, x_other), (y, y_other) in product(first.related, second.related):
            related |= {
                (outer[x, y], outer[x_other, y_other]): None,
                (outer[x, y_other], outer[x_other, y]): None,
            }
    return LabelledChain.from_transitions(rows, labels=labels, related=tuple(related), states=tuple(labels))


def _starts(chain: LabelledChain, which: str) -> list[str]:
    starts = list(dict.fromkeys(state for pair in chain.related for state in pair))
    if not starts:
        raise ModelError(which, expected="related states, from which its runs start", found="none")
    return starts


def _end(chain: LabelledChain, which: str) -> str:
    """The one state that is never left."""
    absorbing = [source for source, target, chance in chain.transitions if source == target and chance == 1]
    if len(absorbing) != 1:
        actual = ", ".join(map(shown_name, absorbing[:3])) or "none"
        raise ModelError(which, expected="exactly one state that is never left, where its runs end", found=actual)
    return absorbing[0]
