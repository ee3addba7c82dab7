"""The controls of a panel as plain HTML: native elements, each with its label, its hint and a place for its error.

Native controls work with every keyboard and screen reader. `studio.js` sends the form's values after
each change. Only what is marked public may enter a link.

The fields of a form that stand for those of a `MechanismChoice`: when they are shown, and how they are read.

A field that is not shown is not read.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from symveil.errors import ParameterError
from symveil.formats.cost_files import CostFiles
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.choice import AUTO, BY_NAME, REGISTERED, MechanismChoice, takers
from symveil.numbers.rationals import exact
from symveil.parameters import File, Flag, OneOf, Parameter, parameters_of

UNSET = "auto"
"""What a form says where one of several is not chosen."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a slider may say: from `low` to `high`; the box beside it also between the steps, unless `only_steps`."""

    low: Fraction
    high: Fraction
    step: Fraction
    only_steps: bool = False

    @classmethod
    def of(cls, low: str, high: str, step: str, *, only_steps: bool = False) -> Scale:
        """A scale from decimals; whole numbers have nothing in between."""
        return cls(exact(low), exact(high), exact(step), only_steps or exact(step) == 1)

    def require(self, name: str, text: str) -> None:
        """Refuse what is not on the scale: a link may say anything, and nothing else is computed than is shown.

        >>> Scale.of("0.1", "10", "0.1").require("epsilon", "2.25")
        >>> Scale.of("0.1", "10", "0.1").require("epsilon", "50")
        Traceback (most recent call last):
        symveil.errors.ParameterError: epsilon: expected a number from 0.1 to 10, found '50'
        """
        kind = "a number" if not self.only_steps else "a whole number" if self.step == 1 else "a multiple of {2}"
        ends = (f"{float(each):g}" for each in (self.low, self.high, self.step))
        described = f"{kind} from {{0}} to {{1}}".format(*ends)
        value = exact(text, name=name, expected=described)
        if not self.low <= value <= self.high or (self.only_steps and value % self.step):
            raise ParameterError(name, expected=described, found=repr(text))

    def nearest(self, text: str) -> float:
        """Where the slider stands."""
        try:
            return float(min(max(exact(text), self.low), self.high))
        except ParameterError:
            return float(self.low)


@dataclass(frozen=True, slots=True)
class Form:
    """Builds the fields of one panel; `values` are the defaults, some of them from the link that was opened."""

    panel: str
    values: Mapping[str, str]

    def field(self, name: str, label: str, control: str, *, hint: str = "", when: str = "", output: str = "") -> str:
        """A label, a control, a hint, a place for an error; shown only `when` others have values
        ("a=b|c&d=e", and after ";" another way)."""
        key = self._key(name)
        shown_when = f' data-when="{html.escape(when, quote=True)}"' if when else ""
        below = f'<p class="hint" id="{key}-hint">{hint}</p>' if hint else ""
        return (
            f'<div class="field"{shown_when}><label for="{key}"><span>{label}</span>{output}</label>{control}{below}'
            f'<p class="error" id="{key}-error" role="alert" hidden></p></div>'
        )

    def slider(self, name: str, label: str, scale: Scale, *, hint: str = "") -> str:
        """A slider with a box for the exact value. What counts is the box: a slider knows its steps only."""
        key, value = self._key(name), html.escape(self.values[name], quote=True)
        box = (
            f'<input class="exact" type="text" inputmode="decimal" data-of="{key}" value="{value}" autocomplete="off" '
            f'aria-label="{html.escape(label, quote=True)}, exactly" aria-describedby="{key}-error">'
        )
        low, high, step = (f"{float(each):g}" for each in (scale.low, scale.high, scale.step))
        control = (
            f'<input type="range" {self._attributes(name, public=True)} min="{low}" max="{high}" step="{step}" '
            f'value="{scale.nearest(self.values[name]):g}">'
        )
        return self.field(name, label, control, hint=hint, output=box)

    def slider_of(self, each: Parameter, scale: Scale) -> str:
        """The slider of a declared parameter."""
        return self.slider(each.name, each.label, scale, hint=_in_words(each))

    def choice(
        self,
        name: str,
        label: str,
        options: Sequence[tuple[str, str]],
        *,
        hint: str = "",
        when: str = "",
        public: bool = True,
        usual: str | None = None,
    ) -> str:
        """One of several."""
        chosen = self.values[name]
        if chosen not in dict(options):  # from a link: shown as it is, and judged as it is
            options = (*options, (chosen, chosen))
        shown = "".join(
            f'<option value="{html.escape(value, quote=True)}"{" selected" if value == chosen else ""}>'
            f"{html.escape(text)}</option>"
            for value, text in options
        )
        control = f"<select {self._attributes(name, public=public, usual=usual)}>{shown}</select>"
        return self.field(name, label, control, hint=hint, when=when)

    def text(
        self,
        name: str,
        label: str,
        *,
        hint: str = "",
        when: str = "",
        secret: bool = False,
        public: bool = False,
        usual: str | None = None,
    ) -> str:
        """A line of text. The browser must neither remember it nor send it to a spelling service."""
        value = html.escape(self.values[name], quote=True)
        kind = "secret" if secret else "plain"
        control = (
            f'<input type="text" class="{kind}" {self._attributes(name, public=public, usual=usual)} value="{value}" '
            'autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck="false">'
        )
        return self.field(name, label, control, hint=hint, when=when)

    def parameter(
        self,
        each: Parameter,
        *,
        when: str = "",
        options: Sequence[tuple[str, str]] = (),
        hint: str | None = None,
        usual: str | None = None,
    ) -> str:
        """The control of a declared parameter: its label, its help and its domain are those of the field.

        `options` and `hint` replace what its domain and its help say; with the value `usual` it is left out of links.
        """
        text = _in_words(each) if hint is None else hint
        domain = each.domain
        if isinstance(domain, File):
            return self.file(each.name, each.label, hint=f"{text} It stays on this machine.", when=when)
        chosen = list(options)
        if not chosen and isinstance(domain, Flag):
            chosen = [("no", "no"), ("yes", "yes")]
        elif not chosen and isinstance(domain, OneOf):
            unset = [(UNSET, "chosen with the mechanism")] if each.default is None and not domain.others else []
            chosen = [*unset, *domain.labels.items()]
        if chosen:
            return self.choice(each.name, each.label, chosen, hint=text, when=when, usual=usual)
        return self.text(each.name, each.label, hint=text, when=when, public=True, usual=usual)

    def further(self, title: str, fields: Iterable[str], *, shown: bool = False, when: str = "") -> str:
        """Fields that are seldom needed, below a title that opens them; shown only `when` others have values."""
        opened = " open" if shown else ""
        opened += f' data-when="{html.escape(when, quote=True)}"' if when else ""
        return f'<details class="further"{opened}><summary>{title}</summary>{"".join(fields)}</details>'

    def file(self, name: str, label: str, *, hint: str = "", when: str = "") -> str:
        """A place to drop a file, or to choose one."""
        key = self._key(name)
        control = (
            f'<div class="drop" data-drop="{key}"><input type="file" id="{key}" aria-describedby="{key}-hint">'
            f'<input type="hidden" name="{name}" data-panel-field="{self.panel}" id="{key}-handle" value="">'
            f'<p class="dropped" id="{key}-name">Drop a file here, or choose one.</p></div>'
        )
        return self.field(name, label, control, hint=hint or "It stays on this machine.", when=when)

    def _attributes(self, name: str, *, public: bool, usual: str | None = None) -> str:
        key = self._key(name)
        mark = " data-public" if public else ""
        mark += "" if usual is None else f' data-usual="{html.escape(usual, quote=True)}"'
        return (
            f'id="{key}" name="{name}" data-panel-field="{self.panel}" aria-describedby="{key}-hint {key}-error"{mark}'
        )

    def _key(self, name: str) -> str:
        return f"{self.panel}-{name}"


def _in_words(each: Parameter) -> str:
    """The help of a parameter for a page, where parameters have labels and no names."""
    text = each.help.replace("`", "").replace("_", " ").replace("epsilon", "ε")
    return html.escape(re.sub(r"\bB\b", "b", text))


NOT_HERE = {"not_private": "mechanisms that only reproduce a paper are for the command line"}
"""The parameters that no form has, and why."""

FIELDS: dict[str, Parameter] = {
    each.name: each
    for each in (*parameters_of(MechanismChoice), *parameters_of(CostFiles))
    if each.option is not None and each.name not in NOT_HERE
}
"""All others, by name: the fields of the choice, and those of the files of its costs."""

FILES = frozenset(name for name, each in FIELDS.items() if isinstance(each.domain, File))

_ON_A_MODEL = "source=network|file"
_ALSO = {
    "offset": "utility=inverse",
    "cost": _ON_A_MODEL,
    "cap": f"{_ON_A_MODEL}&cost=swap|given",
    "balanced": _ON_A_MODEL,
    "prior": _ON_A_MODEL,
    "public_start": _ON_A_MODEL,
    **dict.fromkeys(("costs", "places", "metres_per_unit"), f"{_ON_A_MODEL}&cost=given"),
}


def _shown_when(name: str) -> str:
    """For which mechanisms a field is shown, and with which other fields."""
    if name == "calibration":  # always: a mechanism that does not know the classic one says so
        return ""
    if name == "metric":
        return f"mechanism={AUTO}"
    if name == "beyond":  # of costs that are named the loss says what is kept
        chosen = f"mechanism={AUTO}&metric=hamming"
        return f"{chosen}&source=alphabet;{chosen}&cost={AUTO}"
    if name == "max_length":
        kinds = [kind.name for kind in BY_NAME.values() if kind.metric == "levenshtein"]
    else:
        kinds = [kind for kind in takers(name) if BY_NAME[kind].private]
    ways = [f"mechanism={'|'.join(kinds)}"] if kinds else []
    ways += [f"mechanism={AUTO}&metric={metric}" for metric in sorted({BY_NAME[kind].metric for kind in kinds})]
    also = _ALSO.get(name)
    return ";".join(f"{way}&{also}" if also else way for way in ways) or also or ""


SHOWN_WHEN = {name: _shown_when(name) for name in FIELDS}


def usual_value(each: Parameter) -> str:
    """What a form says of a parameter at first."""
    if isinstance(each.domain, OneOf) and each.default is None:
        return AUTO
    return "no" if isinstance(each.domain, Flag) else each.shown_default


DEFAULTS = {name: usual_value(each) for name, each in FIELDS.items()} | {"beyond": "graceful", "max_length": "16"}
"""What a form says at first: the defaults of the fields; where lengths are secret, a bound to look at."""


def mechanism_field(form: Form, name: str, *, usual: str | None = None, kinds: Collection[str] = ()) -> str:
    """The field of a parameter of the mechanism; those that are not private stay on the command line.

    With the value `usual` it is left out of links; `kinds` are the mechanisms to choose from, all where it is empty.
    """
    private = [(kind.name, kind.label) for kind in REGISTERED if kind.private and (not kinds or kind.name in kinds)]
    options = [(AUTO, "the best for these numbers"), *private] if name == "mechanism" else ()
    return form.parameter(FIELDS[name], when=SHOWN_WHEN[name], options=options, usual=usual)


def holds(condition: str, values: Mapping[str, str]) -> bool:
    """Whether a field with this condition is shown, as `studio.js` decides it: "a=b|c&d=e" or, after ";", another.

    >>> holds("mechanism=auto&metric=hamming;mechanism=online", {"mechanism": "online"}), holds("", {})
    (True, True)
    """

    def met(each: str) -> bool:
        name, _, allowed = each.partition("=")
        return values.get(name, DEFAULTS.get(name)) in allowed.split("|")

    return not condition or any(all(map(met, way.split("&"))) for way in condition.split(";"))


def choice_of(values: Mapping[str, str], adjacency: Adjacency) -> MechanismChoice:
    """The choice that a form describes: refused where the command line would refuse it.

    Fields that the form does not have are as they are by default.

    >>> choice_of({"epsilon": "2", "mechanism": "staircase", "step": "3", "cutoff": "not shown"}, 1).step
    3
    """
    shown = {name: values[name].strip() for name in FIELDS if name in values and holds(SHOWN_WHEN[name], values)}
    unset = {name for name, text in shown.items() if text == AUTO and FIELDS[name].default is None}
    read: dict[str, Any] = {
        name: FIELDS[name].read(text)
        for name, text in shown.items()
        if name not in unset and name != "adjacency" and (text or name == "epsilon")
    }
    files = {each.name: read.pop(each.name) for each in parameters_of(CostFiles) if each.name in read}
    paths: dict[str, Any] = {name: Path(text) if name in FILES else text for name, text in files.items()}
    costs = CostFiles(**paths).table()
    if read.get("cost") == "given" and costs is None:
        raise ParameterError("costs", expected="a table of costs: drop a file below", found="none yet")
    kind = BY_NAME.get(read.get("mechanism", AUTO))
    if kind is not None:
        read["metric"] = kind.metric
    return MechanismChoice(**read, costs=costs, adjacency=adjacency)
