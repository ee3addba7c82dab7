"""The fields of a form that stand for those of a `MechanismChoice`: when they are shown, and how they are read.

A field that is not shown is not read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from symveil.errors import ParameterError
from symveil.formats.cost_files import CostFiles
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.choice import AUTO, BY_NAME, REGISTERED, MechanismChoice, takers
from symveil.parameters import File, Flag, OneOf, Parameter, parameters_of
from symveil.studio.forms import Form

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

    Parameters
    ----------
    form
        Of the panel.
    name
        Of the parameter.
    usual
        The value with which it is left out of links.
    kinds
        Which mechanisms there are to choose from; empty: all.
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

    Parameters
    ----------
    values
        The form's values; fields that it does not have are as they are by default.
    adjacency
        b, which depends on what the form is about.

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
