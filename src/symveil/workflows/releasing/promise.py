"""What a release of a file promises: its price for the ledger, its manifest for everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil import __version__
from symveil.io.manifest import FORMAT, Manifest, alphabet_digest, model_digest
from symveil.languages.runs import RunLanguage
from symveil.ledger.amounts import charged_units, shown_units
from symveil.ledger.composition import pure_loss, symbol_loss
from symveil.ledger.units import Unit
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.ragged import LengthClass
from symveil.mechanisms.ragged_edits import Family
from symveil.numerics.rationals import at_least, spelled
from symveil.privacy.parameters import read_metric
from symveil.privacy.protection import Protection, protection
from symveil.workflows.releasing.job import Job, Written
from symveil.workflows.releasing.protocol import Price

_LARGEST_FOR_PROTECTION = 200_000
"""Length × transitions up to which the protection is worked out."""
_LONGEST_FOR_PROTECTION = 500
_WEAKNESS = {"exact": 0, "certified": 1, "classic": 2}


def price(family: Family) -> Price:
    """ε for each sequence and what it is an ε of; the loss itself where it is known for words of every length."""
    epsilon = family.epsilon
    loss = pure_loss(epsilon)
    if family.model is None and family.adjacency == 1 and len(family.alphabet) > 1:
        chosen = family.of_length(1)
        if isinstance(chosen, Exponential) and chosen.utility == "distance":
            loss = symbol_loss(chosen.rate, len(family.alphabet), 1)
    unit = Unit(adjacency=family.adjacency, metric=read_metric(family.metric), public_start=family.public_start)
    return Price(charge=charged_units(epsilon), loss=loss, unit=unit)


def parameters(family: Family, **others: object) -> dict[str, Any]:
    """The public parameters as they were asked for: what makes two runs the same command."""
    return {
        "epsilon": spelled(family.epsilon),
        "adjacency": family.adjacency,
        **_choices(family),
        "alphabet": alphabet_digest(family.alphabet),
        "model": None if family.model is None else model_digest(family.model),
        **others,
    }


def _choices(family: Family) -> dict[str, Any]:
    """What was chosen besides a budget, an adjacency and the words."""
    return {
        "mechanism": family.mechanism,
        "calibration": family.calibration,
        "prior": family.prior,
        "utility": family.utility,
        "offset": str(family.offset),
        "public_start": family.public_start,
        "metric": family.metric,
        "max_length": family.max_length,
        "cutoff": family.cutoff,
    }


def manifest(
    family: Family, job: Job, release_id: str, written: Written, *, model_file: Path | None, charged: bool
) -> Manifest:
    """The manifest of a release. Averages in it are over the public model, never over the data."""
    promise = promised(family, written.lengths, charged=charged)
    told_first = ("mechanism", "epsilon", "epsilon_exact", "eta", "b", "how", "guarantee")
    return Manifest(
        {
            "format": FORMAT,
            "version": __version__,
            "release_id": release_id,
            **{key: promise[key] for key in told_first},
            "parameters": _choices(family),
            "classes": promise["classes"],
            "alphabet": [str(symbol) for symbol in family.alphabet.symbols] if family.model is None else None,
            "model": None if family.model is None else {"kind": family.model.kind, "file": _name(model_file)},
            "digests": {
                "model": None if family.model is None else model_digest(family.model),
                "alphabet": alphabet_digest(family.alphabet),
                "output": written.digest,
            },
            "output": job.facts,
            "counts": written.counts(),
            "protection": promise["protection"],
            "charged": promise["charged"],
        }
    )


def promised(family: Family, lengths: NDArray[np.int64], *, charged: bool) -> dict[str, Any]:
    """What follows from the mechanism and the public lengths: said in the manifest, worked out anew by the check."""
    classes = family.classes(lengths)
    rates = {each.rate for each in classes}
    names = {each.mechanism for each in classes}
    how = max((each.guarantee.how for each in classes), key=_WEAKNESS.__getitem__, default="exact")
    return {
        "mechanism": names.pop() if len(names) == 1 else family.mechanism,
        "epsilon": at_least(family.epsilon),
        "epsilon_exact": spelled(family.epsilon),
        "eta": spelled(min(rate for rate in rates if rate is not None)) if rates - {None} else None,
        "b": family.adjacency,
        "how": how,
        "guarantee": {"epsilon": max((each.guarantee.epsilon for each in classes), default=0.0), "how": how},
        "classes": [_class_document(each) for each in classes],
        "protection": _protection(family, lengths),
        "charged": shown_units(charged_units(family.epsilon)) if charged else None,
    }


def _class_document(found: LengthClass) -> dict[str, object]:
    return {
        "lengths": list(found.lengths),
        "mechanism": found.mechanism,
        "eta": None if found.rate is None else spelled(found.rate),
        "guarantee": found.guarantee.document(),
    }


def _name(path: Path | None) -> str | None:
    """Its plain name: which folders its holder has is nobody's business, and the check looks beside the manifest."""
    return None if path is None else path.name


def _protection(family: Family, lengths: NDArray[np.int64]) -> dict[str, object] | None:
    found = middle_protection(family, lengths)
    return None if found is None else found.document()


def middle_protection(family: Family, lengths: NDArray[np.int64]) -> Protection | None:
    """How many feasible words lie near a typical word of the middle one of the lengths that occur."""
    positive = lengths[lengths > 0]
    if family.model is None or not len(positive):
        return None
    length = int(positive[len(positive) // 2])
    mechanism = family.of_length(length)
    if mechanism is None or not isinstance(mechanism.language, RunLanguage):
        return None
    too_large = length * mechanism.language.graph.edge_count > _LARGEST_FOR_PROTECTION
    if too_large or length > _LONGEST_FOR_PROTECTION:
        return None
    return protection(mechanism.language, mechanism.adjacency)
