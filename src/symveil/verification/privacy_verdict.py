"""The verdict on the privacy of a labelled chain: what is printed, drawn and written as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from symveil.numbers.conversions import float_at_least, float_at_most, log_upper_bound
from symveil.numbers.rationals import at_least, shown_at_least, spelled
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table, Text
from symveil.verification.distances.bracket import Bracket

_MOST_ROWS = 60
_LONGEST_EXACT = 2000  # digits of a fraction that is still written out


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A proved upper bound; `exact` where it is the distance itself."""

    value: Fraction
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Witness:
    """Labels that an observer may see first, and how likely that is from each of the two states."""

    labels: tuple[str, ...]
    probability: Fraction
    other: Fraction

    @property
    def rank(self) -> tuple[bool, Fraction]:
        """By the odds, infinite ones last."""
        return self.other == 0, self.probability if self.other == 0 else self.probability / self.other

    @property
    def loss(self) -> Fraction | None:
        """ln of the odds, rounded upwards, and at least 0; None where they are infinite."""
        return None if self.other == 0 else log_upper_bound(max(Fraction(1), self.probability / self.other))

    def __str__(self) -> str:
        chances = f"{_short(self.probability)} against {_short(self.other)}"
        return f"{' '.join(self.labels)}: {chances}"

    def document(self) -> dict[str, object]:
        """As JSON."""
        chances = {"probability": self.probability, "other": self.other}
        spelled_out = {f"{name}_exact": text for name, value in chances.items() if (text := written(value)) is not None}
        return {"labels": list(self.labels), **{name: float(value) for name, value in chances.items()}, **spelled_out}


@dataclass(frozen=True, slots=True, kw_only=True)
class PairVerdict:
    """What is known about telling `source` from `target`: lv lies in the bracket, and below each distance."""

    source: str
    target: str
    lv: Bracket
    ld: Bound | None
    bd: Bound | None
    support_only: Bound | None = None
    witness: Witness | None = None
    """Where words end: the one with the largest odds for `source`. No event says more for it."""

    @property
    def lgd(self) -> Bound | None:
        """The greatest fixed point: equal to ld (docs/theory/chains-and-opacity.md)."""
        return self.ld

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        lv: dict[str, object] = {"lower": float_at_most(self.lv.lower), "upper": float_at_least(self.lv.upper)}
        entry: dict[str, object] = {"from": self.source, "to": self.target, "lv": lv}
        if self.lv.exact and (text := written(self.lv.lower)) is not None:
            lv |= {"lower_exact": text, "upper_exact": text}
            entry["lv_exact"] = text
        for name, bound in (("ld", self.ld), ("lgd", self.lgd), ("bd", self.bd)):
            _enter(entry, name, bound)
        if self.support_only is not None:
            _enter(entry, "support_only", self.support_only)
        if self.witness is not None:
            entry["witness"] = self.witness.document()
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyVerdict(Reported):
    """δ at e^ε = α for each pair, as a bracket with both ends proved, and the distances above it.

    `alpha` is exact, or None where ε was given: then e^ε lies between `alpha_below`, at which upper bounds
    are proved, and `alpha_above`, at which lower bounds are. `holds` answers whether the pairs are
    (ε, δ)-private for the `asked` δ: None where nothing was asked, or where the bracket does not decide it.
    """

    alpha_below: Fraction
    alpha_above: Fraction
    epsilon: Fraction | None
    pairs: tuple[PairVerdict, ...]
    asked: Fraction | None = None
    lumped: bool = False
    infinite: bool = False
    """No ε is enough: δ is that of every α from `alpha_below` on."""

    @property
    def worst(self) -> PairVerdict:
        """The pair with the largest δ; of several, the one whose witness has the largest odds."""
        return max(self.pairs, key=lambda pair: (pair.lv.upper, pair.witness is not None and pair.witness.rank))

    @property
    def alpha(self) -> Fraction | None:
        """α, where it is a rational."""
        return self.alpha_below if self.alpha_below == self.alpha_above else None

    @property
    def delta(self) -> Bracket:
        """The largest δ over the pairs."""
        return Bracket(
            lower=max(pair.lv.lower for pair in self.pairs),
            upper=max(pair.lv.upper for pair in self.pairs),
            nodes=sum(pair.lv.nodes for pair in self.pairs),
        )

    @property
    def holds(self) -> bool | None:
        """Whether δ is at most the asked one: True and False are proved, None is undecided or not asked."""
        if self.asked is None:
            return None
        if self.delta.upper <= self.asked:
            return True
        return False if self.delta.lower > self.asked else None

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        alpha = (self.alpha_below + self.alpha_above) / 2
        # beyond the floats as text, like all numbers that are too large for JSON's readers
        document: dict[str, object] = {"alpha": float(alpha) if alpha < 10**300 else shown_at_least(alpha)}
        if self.infinite:
            document["alpha"] = document["epsilon"] = "infinity"
        elif self.alpha is not None and (text := written(self.alpha)) is not None:
            document["alpha_exact"] = text
        if self.infinite:
            pass
        elif self.epsilon is None:
            document["epsilon"] = at_least(log_upper_bound(self.alpha_above))
        else:
            document |= {"epsilon": float(self.epsilon), "epsilon_exact": _ratio(self.epsilon)}
        document["pairs"] = [pair.document() for pair in self.pairs]
        delta = self.delta
        bounds: dict[str, object] = {"lower": float_at_most(delta.lower), "upper": float_at_least(delta.upper)}
        if delta.exact and (text := written(delta.lower)) is not None:
            bounds |= {"lower_exact": text, "upper_exact": text}
            document["delta_exact"] = text
        document["delta"] = bounds
        document["holds"] = self.holds
        largest, worst = self.largest_odds, self.worst
        if largest is not None and worst.witness is not None:
            document["worst"] = {"from": worst.source, "to": worst.target, "witness": worst.witness.document()}
            loss: dict[str, object] = {"epsilon": "infinity" if largest.loss is None else at_least(largest.loss)}
            if largest.loss is not None and (text := written(max(Fraction(1), largest.rank[1]))) is not None:
                loss["alpha_exact"] = text
            document["loss"] = loss
        if self.lumped:
            document["lumped"] = True
        return document

    @property
    def largest_odds(self) -> Witness | None:
        """The witness with the largest odds of all; None where a pair has none."""
        witnesses = [pair.witness for pair in self.pairs if pair.witness is not None]
        return max(witnesses, key=lambda each: each.rank) if len(witnesses) == len(self.pairs) else None

    @property
    def at(self) -> str:
        """Where δ was computed, for a reader."""
        if self.infinite:
            return "every epsilon, however large"
        return f"alpha = {_short(self.alpha)}" if self.alpha else f"epsilon = {spelled(self.epsilon or Fraction(0))}"

    def __str__(self) -> str:
        bound_text = "" if self.asked is None else f"; at most {spelled(self.asked)}: {answer_in_words(self.holds)}"
        return f"delta {shown(self.delta)} at {self.at} over {len(self.pairs)} pairs{bound_text}"

    def report(self, *, searched: str | None = None) -> Report:
        """δ and the distances of each pair, the worst pair, and the answer to what was requested.

        Parameters
        ----------
        searched
            The δ for which the smallest ε was searched; None: ε was given.
        """
        name = "ld without relays" if self.pairs[0].support_only else "ld = lgd"
        rows = [
            (pair.source, pair.target, shown(pair.lv), shown_bound(pair.ld or pair.support_only), shown_bound(pair.bd))
            for pair in self.pairs[:_MOST_ROWS]
        ]
        if len(self.pairs) > _MOST_ROWS:
            rows.append((f"… {len(self.pairs) - _MOST_ROWS} more", "", "", "", ""))
        table = Table.from_rows(("from", "to", "delta (lv)", name, "bd"), rows)
        texts = [f"delta over these pairs: {shown(self.delta)}"]
        worst = self.worst
        if worst.witness is not None:
            texts.append(f"largest odds of {worst.source} against {worst.target}: {worst.witness}")
            texts.append(f"epsilon without any delta: {shown_loss(self)}")
        if self.asked is not None:
            texts.append(f"at most {spelled(self.asked)}: {answer_in_words(self.holds)}")
        first: tuple[Text, ...] = ()
        if searched is not None:
            enough = "none" if self.infinite else shown_at_least(log_upper_bound(self.alpha_above))
            first = (Text(f"smallest epsilon for delta = {searched}: {enough}"),)
        heading = "No finite epsilon is enough: delta as epsilon grows" if self.infinite else f"Privacy at {self.at}"
        return Report(title=heading, sections=(Section(heading, (*first, table, *map(Text, texts))),))


def answer_in_words(holds: bool | None) -> str:
    """The answer in words."""
    return {True: "yes", False: "NO", None: "undecided"}[holds]


def shown_loss(verdict: PrivacyVerdict) -> str:
    """The loss without any δ, for a reader."""
    largest = verdict.largest_odds
    if largest is None:
        return "—"
    return "infinite" if largest.loss is None else shown_at_least(largest.loss)


def shown(bracket: Bracket) -> str:
    """A bracket for a reader: a short fraction where it is exact, decimals rounded outwards otherwise."""
    if bracket.exact:
        return _short(bracket.lower)
    return f"[{_decimal(bracket.lower, up=False)}, {_decimal(bracket.upper, up=True)}]"


def shown_bound(bound: Bound | None) -> str:
    """A bound for a reader."""
    if bound is None:
        return "—"
    return _short(bound.value) if bound.exact else f"≤ {_decimal(bound.value, up=True)}"


def _short(value: Fraction) -> str:
    """A short fraction as it is, a long one with nine digits, rounded upwards: what is above 0 never shows as 0."""
    if max(value.numerator, value.denominator) < 10**7:
        return spelled(value)
    return shown_at_least(value, 9)


def _decimal(value: Fraction, *, up: bool) -> str:
    """Six places, rounded outwards."""
    scaled = value * 10**6
    return f"{(math.ceil(scaled) if up else math.floor(scaled)) / 10**6:.6f}"


def _enter(entry: dict[str, object], name: str, bound: Bound | None) -> None:
    entry[name] = None if bound is None else float_at_least(bound.value)
    if bound is not None and bound.exact and (text := written(bound.value)) is not None:
        entry[f"{name}_exact"] = text


def written(value: Fraction) -> str | None:
    """`p/q`, unless it is too long to read."""
    return _ratio(value) if value.denominator < 10**_LONGEST_EXACT else None


def _ratio(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
