"""The controls of a panel as plain HTML: native elements, each with its label, its hint and a place for its error.

Native controls work with every keyboard and screen reader. `studio.js` sends the form's values after
each change. Only what is marked public may enter a link.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symveil.errors import ParameterError
from symveil.numbers.rationals import exact
from symveil.parameters import File, Flag, OneOf, Parameter

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

        Parameters
        ----------
        each
            What the field of a description declares.
        when
            As in `field`.
        options
            Other choices than those of its domain.
        hint
            Another hint than its help.
        usual
            The value with which it is left out of links.
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
