"""The JSON format of models.

    {"format": "symveil/1", "kind": "markov-chain", "initial": "home",
     "transitions": [["home", "main st", "1/2"], ["home", "park rd", 0.5]]}

Whatever is wrong with a text is an error that gives the JSON path, what was expected there and what
was found.

A learned law of words as JSON: beside the transitions of the chain that `release` and the others read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from symveil.central.attribute_law import AttributeLaw
from symveil.central.learned import LearnedLaw
from symveil.central.limits import LIMITS as CENTRAL
from symveil.central.noise import Quality, TableNoise
from symveil.central.rules import Rules
from symveil.central.time_law import TimeLaw
from symveil.central.word_law import FEATURES, Support, no_parameters
from symveil.errors import FileError, ModelError, ParameterError
from symveil.estimation.table import Floats
from symveil.formats.json_text import (
    Numeral,
    described,
    member_path,
    parse_json,
    plain_json,
    read_members,
    require,
    require_keys,
)
from symveil.formats.limits import LIMITS
from symveil.formats.reading import placed, read_text
from symveil.languages.graph import AnyModel, require_words
from symveil.models.automaton import Automaton, TransitionSystem
from symveil.models.labelled_chain import LabelledChain
from symveil.models.markov_chain import MarkovChain
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem
from symveil.numbers.rationals import exact

FORMAT = "symveil/1"

_FINEST_DECIMAL = 10**18  # a denominator that does not divide it has no short decimals

Reader = Callable[[object, str], Any]
"""Reads one JSON value: (value, where it stands)."""


def parse_model(text: str, *, name: str = "model", notes: list[str] | None = None) -> AnyModel:
    """The model in a JSON text; `name` is what messages call the text.

    >>> parse_model('{"format": "symveil/1", "kind": "markov-chain", "transitions": [["a", "b", 0.9]]}')
    Traceback (most recent call last):
    symveil.errors.ModelError: model: $.transitions: expected the probabilities of state 'a' to sum to 1, found 0.9
    """
    root = f"{name}: $"
    members = read_members(parse_json(text, where=name), where=root, expected="an object")
    read = _READERS[_kind(members, root=root)]
    with placed(root, joint="."):
        return read(members, root, notes)


def _kind(members: dict[str, object], *, root: str) -> str:
    require_keys(members, required=("format", "kind"), optional=members, where=root)
    if members["format"] != FORMAT:
        raise ModelError(f"{root}.format", expected=repr(FORMAT), found=described(members["format"]))
    kind = members["kind"]
    if isinstance(kind, str) and kind in _READERS:
        return kind
    raise ModelError(f"{root}.kind", expected=f"one of {', '.join(_READERS)}", found=described(kind))


# --- one reader for each kind ------------------------------------------------------------------


def _read_chain(members: dict[str, object], root: str, notes: list[str] | None) -> AnyModel:
    # `law`, `times` and `attributes` are what a learned chain keeps for synthesize; the chain itself does not need them
    _require_keys(
        members, root, required=("transitions",), optional=("initial", "states", "law", "times", "attributes")
    )
    return MarkovChain.from_transitions(
        _rows(members, root, (_name, _name, _probability), "[state, state, probability]"),
        initial=_name(members["initial"], f"{root}.initial") if "initial" in members else None,
        states=_names(members, "states", root) if "states" in members else None,
        notes=notes,
    )


def _read_system(members: dict[str, object], root: str, _notes: list[str] | None) -> AnyModel:
    _require_keys(members, root, required=("initial", "transitions"), optional=("states",))
    return TransitionSystem.from_transitions(
        _rows(members, root, (_name, _name, _name), "[state, action, state]"),
        initial=_name(members["initial"], f"{root}.initial"),
        states=_names(members, "states", root) if "states" in members else None,
    )


def _read_automaton(members: dict[str, object], root: str, _notes: list[str] | None) -> AnyModel:
    _require_keys(members, root, required=("initial", "accepting", "transitions"), optional=("states",))
    return Automaton.from_transitions(
        _rows(members, root, (_name, _name_or_null, _name), "[state, symbol or null, state]"),
        initial=_name(members["initial"], f"{root}.initial"),
        accepting=_names(members, "accepting", root),
        states=_names(members, "states", root) if "states" in members else None,
    )


_OPTIONAL = ("secret", "states", "controllable")


def _read_partially_observed(members: dict[str, object], root: str, notes: list[str] | None) -> AnyModel:
    """A stochastic system, or a logical one where no row has a probability (or `initial` is a list)."""
    _require_keys(members, root, required=("initial", "observable", "transitions"), optional=_OPTIONAL)
    observable = _names(members, "observable", root, kind="event")
    secret = _names(members, "secret", root) if "secret" in members else []
    states = _names(members, "states", root) if "states" in members else None
    controllable = _names(members, "controllable", root, kind="event") if "controllable" in members else None
    several = isinstance(members["initial"], list)
    if _first_row_has(3, members) or (several and not members["transitions"]):
        return LogicalSystem.from_transitions(
            _rows(members, root, (_name, _name, _name), "[state, event, state], as in the first row"),
            initial=_names(members, "initial", root) if several else _name(members["initial"], f"{root}.initial"),
            observable=observable,
            secret=secret,
            states=states,
            controllable=controllable,
        )
    same = ", as in the first row" if _first_row_has(4, members) else " or, in every row, [state, event, state]"
    return StochasticSystem.from_transitions(
        _rows(members, root, (_name, _name, _name, _probability), f"[state, event, state, probability]{same}"),
        initial=_name(members["initial"], f"{root}.initial"),
        observable=observable,
        secret=secret,
        states=states,
        controllable=controllable,
        notes=notes,
    )


def _read_labelled_chain(members: dict[str, object], root: str, notes: list[str] | None) -> AnyModel:
    _require_keys(members, root, required=("transitions", "labels"), optional=("related", "states"))
    where = f"{root}.labels"
    labels = read_members(members["labels"], where=where, expected="an object {state: label}")
    return LabelledChain.from_transitions(
        _rows(members, root, (_name, _name, _probability), "[state, state, probability]"),
        labels={state: _name(label, member_path(where, state)) for state, label in labels.items()},
        related=_pairs(members["related"], f"{root}.related") if "related" in members else (),
        states=_names(members, "states", root) if "states" in members else None,
        notes=notes,
    )


def _first_row_has(cells: int, members: dict[str, object]) -> bool:
    rows = members["transitions"]
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], list) and len(rows[0]) == cells


def _pairs(value: object, where: str) -> list[tuple[str, str]]:
    pairs = []
    for index, pair in enumerate(require(value, list, where=where, expected="an array of [state, state]")):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ModelError(f"{where}[{index}]", expected="[state, state]", found=described(pair))
        pairs.append((_name(pair[0], f"{where}[{index}][0]"), _name(pair[1], f"{where}[{index}][1]")))
    return pairs


_READERS: dict[str, Callable[[dict[str, object], str, list[str] | None], AnyModel]] = {
    MarkovChain.kind: _read_chain,
    TransitionSystem.kind: _read_system,
    Automaton.kind: _read_automaton,
    StochasticSystem.kind: _read_partially_observed,
    LabelledChain.kind: _read_labelled_chain,
}


def _require_keys(
    members: dict[str, object], root: str, *, required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    require_keys(members, required=("format", "kind", *required), optional=optional, where=root)


# --- values ------------------------------------------------------------------------------------


def _rows(members: dict[str, object], root: str, readers: tuple[Reader, ...], columns: str) -> list[tuple[Any, ...]]:
    where = f"{root}.transitions"
    numbered = tuple(enumerate(readers))
    rows = []
    for index, row in enumerate(require(members["transitions"], list, where=where, expected=f"an array of {columns}")):
        here = f"{where}[{index}]"
        if not isinstance(row, list) or len(row) != len(readers):
            raise ModelError(here, expected=columns, found=described(row))
        rows.append(tuple([read(row[column], f"{here}[{column}]") for column, read in numbered]))
    return rows


def _names(members: dict[str, object], key: str, root: str, *, kind: str = "state") -> list[str]:
    where = f"{root}.{key}"
    names = require(members[key], list, where=where, expected=f"an array of {kind} names")
    return [_name(name, f"{where}[{index}]") for index, name in enumerate(names)]


def _name(value: object, where: str) -> str:
    return require(value, str, where=where, expected="a name, a string")


def _name_or_null(value: object, where: str) -> str | None:
    return None if value is None else require(value, str, where=where, expected="a symbol, a string, or null")


def _probability(value: object, where: str) -> str:
    if isinstance(value, Numeral):
        return value.text
    return require(value, str, where=where, expected='a number or a rational string such as "1/3"')


# --- writing -----------------------------------------------------------------------------------


def model_document(model: AnyModel) -> dict[str, object]:
    """A model as the JSON document that `parse_model` reads back as the same model.

    >>> chain = MarkovChain.from_transitions([("a", "a", "1/3"), ("a", "b", "2/3"), ("b", "a", "1")])
    >>> model_document(chain)["transitions"]
    [['a', 'a', '1/3'], ['a', 'b', '2/3'], ['b', 'a', 1]]
    """
    if isinstance(model, StochasticSystem | LogicalSystem):
        return _partially_observed_document(model)
    document: dict[str, object] = {"format": FORMAT, "kind": model.kind}
    if not isinstance(model, LabelledChain) and model.initial is not None:
        document["initial"] = model.initial
    if isinstance(model, LabelledChain):
        document["labels"] = dict(zip(model.states, model.labels, strict=True))
        if model.related:
            document["related"] = [list(pair) for pair in model.related]
    if isinstance(model, Automaton):
        document["accepting"] = list(model.accepting)
    rows: list[list[Any]]
    if isinstance(model, MarkovChain | LabelledChain):
        rows = [[source, target, _spelled(chance)] for source, target, chance in model.transitions]
        mentioned = dict.fromkeys(name for row in rows for name in row[:2])
    else:
        rows = [list(row) for row in model.transitions]
        mentioned = dict.fromkeys(name for row in rows for name in row[::2])
    if tuple(mentioned) != model.states:
        document["states"] = list(model.states)
    document["transitions"] = rows
    return document


def _partially_observed_document(system: PartiallyObserved) -> dict[str, object]:
    document: dict[str, object] = {
        "format": FORMAT,
        "kind": system.kind,
        # a list says that the system is logical, even where it has no transition that could
        "initial": list(system.initial) if isinstance(system, LogicalSystem) else system.initial,
        "observable": list(system.observable),
        "secret": list(system.secret),
    }
    if system.controllable is not None:
        document["controllable"] = list(system.controllable)
    mentioned = dict.fromkeys(name for source, _, target in system.moves for name in (source, target))
    if tuple(mentioned) != system.states:
        document["states"] = list(system.states)
    document["transitions"] = (
        [list(move) for move in system.transitions]
        if isinstance(system, LogicalSystem)
        else [[*move, _spelled(chance)] for *move, chance in system.transitions]
    )
    return document


def model_text(model: AnyModel) -> str:
    """A model as JSON text for people and their version control: a transition on each line."""
    document = model_document(model)
    rows = document.pop("transitions")
    head = [f"{_json(key)}: {_json(value)}" for key, value in document.items()]
    body = ",\n".join(f"  {_json(row)}" for row in rows) if isinstance(rows, list) else ""
    return "{" + ",\n ".join([*head, f'"transitions": [\n{body}\n]']) + "}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _spelled(probability: Fraction) -> int | float | str:
    """A JSON number where its digits are exact, and a rational string otherwise."""
    if probability == 1:
        return 1
    if _FINEST_DECIMAL % probability.denominator == 0 and exact(float(probability)) == probability:
        return float(probability)
    return f"{probability.numerator}/{probability.denominator}"


_FARTHEST_LENGTH, _FARTHEST_ELSE = 1e6, 100.0
"""Weights of lengths are added as logarithms; the others are multiplied as numbers."""


def law_text(law: LearnedLaw) -> str:
    """The model file of a learned law: a Markov chain, and under `law` what `synthesize` draws from."""
    document = json.loads(model_text(law.chain()))
    document["law"] = {
        "lengths": [law.support.shortest, law.support.longest],
        "symbols": list(law.symbols),
        "zones": list(law.zone_names),
        "zone": law.support.zone.tolist(),
        "source": law.support.source.tolist(),
        "target": law.support.target.tolist(),
        "split": law.support.split,
        "at_most_once": list(law.rules.once),
        "constraints": [model_document(model) for model in law.rules.constraints],
        "parameters": {name: law.parameters[name].tolist() for name in FEATURES},
        **({} if law.quality is None else {"quality": law.quality.document()}),
    }
    if law.times is not None:
        document["times"] = law.times.document()
    if law.attributes:
        document["attributes"] = [each.document() for each in law.attributes]
    return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def read_law(path: Path) -> LearnedLaw:
    """The law in a model file that `learn --epsilon` wrote; refused where there is none."""
    text = read_text(path, what="model", at_most=LIMITS.now.json_bytes)
    document = plain_json(text, where=str(path))
    try:
        law_document = document.get("law") if isinstance(document, dict) else None
        if law_document is None:
            raise FileError(
                str(path),
                expected="a model that symveil learn --epsilon wrote, with a law of words",
                found="another one",
            )
        law = _law(law_document)
        times = document.get("times")
        listed = document.get("attributes", [])
        return replace(
            law,
            times=None if times is None else TimeLaw.from_document(times, law.support),
            attributes=tuple(AttributeLaw.from_document(each, law.support.symbols) for each in listed),
        )
    except FileError:
        raise
    except (ModelError, ParameterError, ValueError, TypeError, LookupError, AttributeError, OverflowError):
        raise FileError(f"{path}: $.law", expected="a law as symveil writes it", found="another document") from None


def _law(document: dict[str, Any]) -> LearnedLaw:
    for name in ("lengths", "symbols", "zones", "zone", "source", "target", "at_most_once", "constraints"):
        if not isinstance(document.get(name, []), list):
            raise TypeError(name)
    symbols, zones = tuple(map(_text, document["symbols"])), tuple(map(_text, document["zones"]))
    shortest, longest = map(_whole, document["lengths"])
    arrays = {name: np.array([*map(_whole, document[name])], dtype=np.int64) for name in ("zone", "source", "target")}
    sizes = len(symbols) * max(len(zones), 1) * longest
    if (
        longest < shortest
        or len(document["parameters"]["lengths"]) != longest - shortest + 1
        or sizes > CENTRAL.now.sums
    ):
        raise ValueError("lengths that do not fit")
    split = None if document.get("split") is None else _whole(document["split"])
    support = Support(symbols=len(symbols), shortest=shortest, longest=longest, split=split, **arrays)
    if support.zones != len(zones):
        raise ValueError("zones that do not fit")
    wanted = {name: len(values) for name, values in no_parameters(support).items()}
    parameters = {name: np.array([*map(_number, document["parameters"][name])], dtype=np.float64) for name in FEATURES}
    once = tuple(map(_whole, document.get("at_most_once", ())))
    models = [require_words(parse_model(json.dumps(each))) for each in document.get("constraints", ())]
    right = (
        all(0 <= code < len(symbols) for code in once)
        and (split is None or split >= 1)
        and 1 <= shortest <= longest
        and len(arrays["zone"]) == len(symbols) == len(set(symbols)) > 0
        and len(arrays["source"])
        == len(arrays["target"])
        == len(set(zip(document["source"], document["target"], strict=True)))
        and all(each.min(initial=0) >= 0 and each.max(initial=0) < len(symbols) for each in arrays.values())
        and all(
            values.shape == (wanted[name],) and _can_be_weighed(name, values) for name, values in parameters.items()
        )
    )
    if not right:
        raise ValueError("sizes that do not fit")
    rules = Rules(once=once, constraints=tuple(models))
    quality = None if document.get("quality") is None else _quality(document["quality"])
    return LearnedLaw(
        support=support, parameters=parameters, symbols=symbols, zone_names=zones, rules=rules, quality=quality
    )


def _quality(document: dict[str, Any]) -> Quality:
    tables = tuple(
        TableNoise(_text(each["table"]), _whole(each["cells"]), _number(each["noise"])) for each in document["tables"]
    )
    quality = Quality(_number(document["persons"]), tables)
    if not (1 <= quality.persons < np.inf and all(each.cells >= 0 and 0 <= each.noise < np.inf for each in tables)):
        raise ValueError("numbers that do not fit")
    return quality


def _can_be_weighed(name: str, values: Floats) -> bool:
    """Whether parameters are within what floats can weigh words by; a fit ends far within it."""
    return bool((np.abs(values) <= (_FARTHEST_LENGTH if name == "lengths" else _FARTHEST_ELSE)).all())


def _number(value: object) -> float:
    if type(value) not in (int, float):
        raise TypeError(value)
    return float(value)  # type: ignore[arg-type]


def _whole(value: object) -> int:
    """A whole number as JSON has it: neither a text of digits nor true."""
    if type(value) is not int:
        raise TypeError(value)
    return value


def _text(value: object) -> str:
    """A name that can be written: a lone surrogate is in no file."""
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode()
    return value
