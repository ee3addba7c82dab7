"""Verify the privacy of a chain or a channel: the question as it is typed, and the curve δ(ε) that answers it.

A question names pairs of states, labels, and which inputs are related. Chains may be put one after the other, to verify
what they give away together (C19 Example 32)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, Literal, get_args

from symveil.errors import InputError, ModelError, ParameterError
from symveil.formats.models.model_files import load_labelled_chain
from symveil.formats.models.transition_tables import is_channel_table, read_channel
from symveil.models.channel import Channel
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.models.names import shown as shown_name
from symveil.models.names import unlike
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import Number, exact
from symveil.parameters import Domain, Exact, File, Flag, Several, Whole, declared, listing_fields
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

    `alpha` is e^ε of the last point, above 1; options are those of `verify_privacy`.
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


_EPSILON = ("epsilon", "alpha", "curve")


@listing_fields
@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked about a chain or a channel, and how far the proof is to go.

    >>> Question(epsilon="1", pair=("s,t",)).pairs
    [('s', 't')]
    """

    epsilon: str | None = field(
        default=None,
        metadata=declared(
            "Privacy budget: a decimal or a fraction, above 0.", label="ε", domain=Exact(placeholder="E")
        ),
    )
    alpha: str | None = field(
        default=None,
        metadata=declared(
            "e^epsilon instead, exactly: 1 or more, such as 6/5.", label="e^ε", domain=Exact(placeholder="A")
        ),
    )
    pair: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "From S to T only; default: related states, both ways. A comma in a name is typed \\,. Repeatable.",
            label="Pairs of states",
            domain=Several(placeholder="S,T"),
        ),
    )
    related: str | None = field(
        default=None,
        metadata=declared(
            "Of a channel table: all, numbers at most R apart, or a table of pairs; by default its column related, or "
            "all.",
            label="Related inputs",
            domain=Domain(placeholder="R"),
        ),
    )
    apart: str | None = field(
        default=None,
        metadata=declared(
            "With a table of pairs that has distances: those up to D, 1 by default.",
            label="Largest distance",
            domain=Exact(placeholder="D"),
        ),
    )
    silent: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "A label that the attacker does not see, nor how long it lasts. Repeatable.",
            label="Silent labels",
            domain=Several(placeholder="L"),
        ),
    )
    delta: str | None = field(
        default=None,
        metadata=declared(
            "Does delta = D hold? Exit status 0 proved, 1 refuted or undecided.",
            label="Is δ at most …?",
            domain=Exact(placeholder="D"),
        ),
    )
    width: str | None = field(
        default=None,
        metadata=declared(
            "Stop when the bracket is this narrow; by default 1e-4, and `delta` is decided.",
            label="Width of the bracket",
            domain=Exact(placeholder="W"),
        ),
    )
    nodes: int = field(
        default=20_000,
        metadata=declared("Stop at so many nodes; wide ones count more.", label="Most nodes", domain=Whole(least=1)),
    )
    horizon: int | None = field(
        default=None,
        metadata=declared("Stop after so many labels.", label="Most labels", domain=Whole(placeholder="T")),
    )
    labels: Path | None = field(
        default=None, metadata=declared("Labels of a PRISM .tra file.", label="Labels", domain=File())
    )
    label_states: tuple[str, ...] = field(
        default=(),
        metadata=declared(
            "A label that the file lacks, and the numbers of its states. Repeatable.",
            label="Labels of states",
            option="--label",
            domain=Several(placeholder="L=N,N"),
        ),
    )
    lumped: bool = field(
        default=False,
        metadata=declared(
            "Merge bisimilar states first: the same delta, another ld.", label="Merge bisimilar states", domain=Flag()
        ),
    )
    support_only: bool = field(
        default=False,
        metadata=declared("A larger bound instead of ld: no relays.", label="No relays", domain=Flag()),
    )
    smallest_epsilon: bool = field(
        default=False,
        metadata=declared("The smallest epsilon at which `delta` holds.", label="Smallest ε", domain=Flag()),
    )
    curve: Path | None = field(
        default=None,
        metadata=declared(
            "Plot delta from epsilon 0 to E (.svg, .json; .png and .pdf with symveil[plots]).",
            label="Curve",
            domain=File(),
        ),
    )

    @property
    def has_level(self) -> bool:
        """Whether ε was given, as it is or as e^ε."""
        return self.epsilon is not None or self.alpha is not None

    @property
    def pairs(self) -> list[tuple[str, str]] | None:
        """The pairs that were named; None: the related ones."""
        return [read_pair(text) for text in self.pair] or None

    def options(self) -> dict[str, Any]:
        """How far the proof is to go, as `verify_privacy` takes it."""
        width = {} if self.width is None else {"width": exact(self.width, name="width")}
        return width | {
            "nodes": self.nodes,
            "horizon": self.horizon,
            "on_lumped": self.lumped,
            "support_only": self.support_only,
            "silent": self.silent,
        }

    def check(self, *, is_channel: bool) -> None:
        """Refuse what does not go together."""
        if not is_channel and (self.related is not None or self.apart is not None):
            name = "apart" if self.related is None else "related"
            raise InputError(f"{name}: expected a channel table (input, output, probability), found a chain")
        if is_channel and self.label_states:
            raise InputError("label: expected a .tra, .drn or .umb file, found a channel table")
        if self.smallest_epsilon:
            if self.delta is None:
                raise ParameterError("delta", expected="`delta` with `smallest_epsilon`", found="none")
            if any(getattr(self, name) is not None for name in _EPSILON):
                raise ParameterError(
                    "smallest_epsilon", expected="it without `epsilon`, `alpha` and `curve`", found="one of them"
                )
        elif (self.epsilon is None) == (self.alpha is None) and (
            not is_channel or self.has_level or self.curve is not None
        ):
            given = "both" if self.has_level else "neither"
            raise ParameterError("epsilon", expected="`epsilon` or `alpha`", found=given)


def read_question_about(
    file: Path, question: Question, notes: list[str]
) -> tuple[LabelledChain | Channel, list[tuple[str, str]] | None]:
    """The chain or the channel in a file, and the pairs of states that are compared; None: its related ones.

    What there is to say is added to `notes`.
    """
    if is_channel_table(file):
        channel = read_related_channel(file, question.related, question.apart, notes)
        require_inputs(channel, question.pairs)
        return channel, question.pairs
    chain = load_labelled_chain(
        file, labels=question.labels, label_states=read_labels(question.label_states), notes=notes
    )
    return chain, named_pairs(chain, question.pairs, notes)


def read_labels(typed: tuple[str, ...]) -> dict[str, list[str]]:
    """The states of each label, from texts such as `done=4,5`."""
    named: dict[str, list[str]] = {}
    for text in typed:
        name, mark, states = text.rpartition("=")
        if not (name and mark and states):
            raise InputError(f"label: expected a label and numbers of states such as done=4,5, found {text[:40]!r}")
        named.setdefault(name, []).extend(state.strip() for state in states.split(","))
    return named


def read_pair(text: str) -> tuple[str, str]:
    r"""The two states of `S,T`; `\,` is a comma in a name and `\\` a backslash.

    >>> read_pair(r"a\,b,c")
    ('a,b', 'c')
    """
    parts = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", text)
    if not parts[-1]:
        parts = parts[:-1] if not text.endswith(",") else parts[: text.count(",") + 1]
    if len(parts) != 2:
        raise ParameterError(
            "pair", expected=r"two states S,T (a comma in a name is typed \,)", found=f"{len(parts)} of them"
        )
    first, second = (re.sub(r"\\(.)", r"\1", part) for part in parts)
    return first, second


def read_related_channel(file: Path, related: str | None, apart: str | None, notes: list[str]) -> Channel:
    """A channel, of which `related` says which inputs are related: all, numbers so far apart, or a table of pairs."""
    meant: str | Fraction | Path | None = related
    if related is not None and related != "all":
        meant = (
            Fraction(related)
            if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?(/[1-9][0-9]{0,8})?", related)
            else Path(related)
        )
    if apart is not None and not isinstance(meant, Path):
        raise InputError("apart: expected `related` with a table of pairs, found none")
    return read_channel(file, related=meant, apart="1" if apart is None else apart, notes=notes)


def require_inputs(model: Channel, pairs: list[tuple[str, str]] | None) -> None:
    """Refuse pairs that are no inputs of a channel, and a channel without any."""
    for pair in pairs or ():
        for state in pair:
            if state not in model.number:
                raise ParameterError("pair", expected="inputs of the channel", found=repr(state))
    if pairs is None and not model.related:
        raise InputError("related: expected at least one pair of related inputs, found none; say `related='all'`")


def named_pairs(
    model: LabelledChain, pairs: list[tuple[str, str]] | None, notes: list[str]
) -> list[tuple[str, str]] | None:
    """The pairs by the names of their states, which may be typed as values of variables."""
    if pairs is None and not model.related:
        raise InputError("pair: expected `pair` S,T, or related states in the chain, found none")
    try:
        return pairs and [(model.state(one, notes=notes), model.state(other, notes=notes)) for one, other in pairs]
    except ModelError as error:
        raise InputError(f"pair: {str(error).removeprefix('state: ')}") from None
