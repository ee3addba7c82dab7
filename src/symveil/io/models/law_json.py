"""A learned law of words as JSON: beside the transitions of the chain that `release` and the others read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from symveil.central.learned import LearnedLaw
from symveil.central.rules import Rules
from symveil.central.support import MOST_SUMS, Support
from symveil.central.word_law import FEATURES, no_parameters
from symveil.errors import FileError, ModelError
from symveil.io.models.model_json import model_document, model_text, parse_model
from symveil.io.reading import read_text
from symveil.languages.graph import require_words

_LARGEST = 512 * 1024 * 1024


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
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False) + "\n"


def read_law(path: Path) -> LearnedLaw:
    """The law in a model file that `learn --epsilon` wrote; refused where there is none."""
    text = read_text(path, what="model", at_most=_LARGEST)
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
    symbols, zones = tuple(map(str, said["symbols"])), tuple(map(str, said["zones"]))
    shortest, longest = (int(each) for each in said["lengths"])
    arrays = {name: np.array(said[name], dtype=np.int64) for name in ("zone", "source", "target")}
    sizes = len(symbols) * max(len(zones), 1) * longest
    if longest < shortest or len(said["parameters"]["lengths"]) != longest - shortest + 1 or sizes > MOST_SUMS:
        raise ValueError("lengths that do not fit")
    split = None if said.get("split") is None else int(said["split"])
    support = Support(symbols=len(symbols), shortest=shortest, longest=longest, split=split, **arrays)
    if support.zones != len(zones):
        raise ValueError("zones that do not fit")
    wanted = {name: len(values) for name, values in no_parameters(support).items()}
    parameters = {name: np.array(said["parameters"][name], dtype=np.float64) for name in FEATURES}
    once = tuple(int(code) for code in said.get("at_most_once", ()))
    models = [require_words(parse_model(json.dumps(each))) for each in said.get("constraints", ())]
    right = (
        all(0 <= code < len(symbols) for code in once)
        and (split is None or split >= 1)
        and 1 <= shortest <= longest
        and len(arrays["zone"]) == len(symbols)
        and all(each.min(initial=0) >= 0 and each.max(initial=0) < len(symbols) for each in arrays.values())
        and all(values.shape == (wanted[name],) and np.isfinite(values).all() for name, values in parameters.items())
    )
    if not right:
        raise ValueError("sizes that do not fit")
    rules = Rules(once=once, constraints=tuple(models))
    return LearnedLaw(support=support, parameters=parameters, symbols=symbols, zone_names=zones, rules=rules)
