"""A learned law of words as JSON: beside the transitions of the chain that `release` and the others read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from symveil.central.learned import LearnedLaw
from symveil.central.quality import Quality, TableNoise
from symveil.central.rules import Rules
from symveil.central.support import MOST_SUMS, Support
from symveil.central.word_law import FEATURES, Floats, no_parameters
from symveil.errors import FileError, ModelError
from symveil.formats.json_text import refuse_deep_nesting
from symveil.formats.models.model_json import model_document, model_text, parse_model
from symveil.formats.reading import read_text
from symveil.languages.graph import require_words

_LARGEST = 512 * 1024 * 1024
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
    return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def read_law(path: Path) -> LearnedLaw:
    """The law in a model file that `learn --epsilon` wrote; refused where there is none."""
    text = read_text(path, what="model", at_most=_LARGEST)
    refuse_deep_nesting(text, where=str(path))
    try:
        document = json.loads(text)
        said = document.get("law") if isinstance(document, dict) else None
        if said is None:
            raise FileError(
                str(path),
                expected="a model that symveil learn --epsilon wrote, with a law of words",
                found="another one",
            )
        return _law(said)
    except FileError:
        raise
    except (ModelError, ValueError, TypeError, LookupError, AttributeError, OverflowError):
        raise FileError(f"{path}: $.law", expected="a law as symveil writes it", found="another document") from None


def _law(said: dict[str, Any]) -> LearnedLaw:
    for name in ("lengths", "symbols", "zones", "zone", "source", "target", "at_most_once", "constraints"):
        if not isinstance(said.get(name, []), list):
            raise TypeError(name)
    symbols, zones = tuple(map(_text, said["symbols"])), tuple(map(_text, said["zones"]))
    shortest, longest = map(_whole, said["lengths"])
    arrays = {name: np.array([*map(_whole, said[name])], dtype=np.int64) for name in ("zone", "source", "target")}
    sizes = len(symbols) * max(len(zones), 1) * longest
    if longest < shortest or len(said["parameters"]["lengths"]) != longest - shortest + 1 or sizes > MOST_SUMS:
        raise ValueError("lengths that do not fit")
    split = None if said.get("split") is None else _whole(said["split"])
    support = Support(symbols=len(symbols), shortest=shortest, longest=longest, split=split, **arrays)
    if support.zones != len(zones):
        raise ValueError("zones that do not fit")
    wanted = {name: len(values) for name, values in no_parameters(support).items()}
    parameters = {name: np.array([*map(_number, said["parameters"][name])], dtype=np.float64) for name in FEATURES}
    once = tuple(map(_whole, said.get("at_most_once", ())))
    models = [require_words(parse_model(json.dumps(each))) for each in said.get("constraints", ())]
    right = (
        all(0 <= code < len(symbols) for code in once)
        and (split is None or split >= 1)
        and 1 <= shortest <= longest
        and len(arrays["zone"]) == len(symbols) == len(set(symbols)) > 0
        and len(arrays["source"]) == len(arrays["target"]) == len(set(zip(said["source"], said["target"], strict=True)))
        and all(each.min(initial=0) >= 0 and each.max(initial=0) < len(symbols) for each in arrays.values())
        and all(
            values.shape == (wanted[name],) and _can_be_weighed(name, values) for name, values in parameters.items()
        )
    )
    if not right:
        raise ValueError("sizes that do not fit")
    rules = Rules(once=once, constraints=tuple(models))
    quality = None if said.get("quality") is None else _quality(said["quality"])
    return LearnedLaw(
        support=support, parameters=parameters, symbols=symbols, zone_names=zones, rules=rules, quality=quality
    )


def _quality(said: dict[str, Any]) -> Quality:
    tables = tuple(
        TableNoise(_text(each["table"]), _whole(each["cells"]), _number(each["noise"])) for each in said["tables"]
    )
    quality = Quality(_number(said["persons"]), tables)
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
