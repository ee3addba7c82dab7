"""What is asked about a chain or a channel as it is typed: pairs of states, labels, which inputs are related."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from symveil.errors import InputError, ModelError, ParameterError
from symveil.formats.models.model_files import load_labelled_chain
from symveil.formats.models.transition_tables import is_channel_table, read_channel
from symveil.models.channel import Channel
from symveil.models.labelled_chain import LabelledChain
from symveil.numbers.rationals import exact
from symveil.parameters.declaration import Domain, Exact, File, Flag, Several, Whole, declared, listing_fields

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
            "From S to T only; a comma in a name is typed \\,. Default: the related states, both ways. Repeatable.",
            label="Pairs of states",
            domain=Several(placeholder="S,T"),
        ),
    )
    related: str | None = field(
        default=None,
        metadata=declared(
            "Of a channel table: all inputs, numbers at most R apart, or a table of pairs; by default its column "
            "related, or all.",
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
            "A label that a .tra, .drn or .umb file lacks, and the numbers of the states that show it. Repeatable.",
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
        """Refuse what does not go together.

        Parameters
        ----------
        is_channel
            Whether it is about a table of inputs, outputs and probabilities.
        """
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

    Parameters
    ----------
    file
        A chain, or a table of a channel.
    question
        It names pairs, labels and related inputs.
    notes
        What there is to say is added.
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
