"""What a release of a file promises: its price for the ledger, its manifest for everybody."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.formats.manifest import FORMAT, Manifest, alphabet_digest, model_digest
from symveil.languages.any_length import AnyLength
from symveil.languages.graph import Model
from symveil.laws.adjacency import chosen_adjacency, refuse_thin, share_of_positions
from symveil.laws.parameters import require_spellable
from symveil.laws.protection import Protection, protection
from symveil.ledger.composition import pure_loss, symbol_loss
from symveil.ledger.units import Unit, charged_units, shown_units
from symveil.mechanisms.choice import BY_NAME, MechanismChoice
from symveil.mechanisms.mechanism import LengthClass, Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.alphabet import Alphabet, Symbol
from symveil.numbers.rationals import at_least, spelled
from symveil.release.job import Written
from symveil.release.protocol import Price
from symveil.release.timed import TimedEvents, TimeSettings

_LARGEST_FOR_PROTECTION = 200_000
"""Length × transitions up to which the protection is worked out."""
_LONGEST_FOR_PROTECTION = 500
_WEAKNESS = {"exact": 0, "certified": 1, "classic": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """What is released by what: a choice, and the mechanism that it means on the words of a file."""

    choice: MechanismChoice
    mechanism: Mechanism
    policy: dict[str, Any] | None = None
    """Where a policy for opacity is released: its public parameters, for the manifest and the ledger."""
    times: TimedEvents | None = None
    """How the times of events are released; None: they are not."""

    @classmethod
    def of(
        cls,
        choice: MechanismChoice,
        *,
        alphabet: Alphabet | Iterable[Symbol] | None,
        model: Model | None,
        laws: Iterable[Mapping[str, Any]] = (),
        times: TimeSettings | None = None,
    ) -> Release:
        """The words over an alphabet, or of a model, released as a choice says; by the `law` of a manifest if given."""
        if choice.mechanism in BY_NAME and not BY_NAME[choice.mechanism].private:
            raise ParameterError("mechanism", expected="one that is private", found=choice.mechanism)
        # a manifest has to say them, and the check to read them
        require_spellable(choice.epsilon, "epsilon")
        require_spellable(choice.offset, "offset")
        own = choice if times is None else times.of_words(choice, on_model=model is not None)
        rows = list(laws)
        known = rows if times is None or model is not None else []  # over an alphabet the rows are of the joint law
        mechanism = choose_mechanism(own, own.language(alphabet=alphabet, model=model)).with_laws(known)
        b = chosen_adjacency(choice.adjacency, mechanism.language)
        timed = None
        if times is not None and b != "all":
            timed = times.events(
                symbols=len(mechanism.alphabet) if model is None else None,
                epsilon=choice.epsilon,
                adjacency=b,
                law=rows[0] if rows else None,
            )
        return cls(
            choice=replace(choice, mechanism=mechanism.name, adjacency=b, beyond=own.beyond),
            mechanism=mechanism,
            times=timed,
        )

    def document(self) -> dict[str, Any]:
        """The choice, with the name of the mechanism that it means."""
        times = {} if self.times is None else self.times.asked()
        return {**self.choice.document(), "mechanism": self.mechanism.name, **times}

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""
        return self.mechanism.alphabet

    @property
    def model(self) -> Model | None:
        """The model of the words; None where every word over the alphabet is one."""
        return self.mechanism.language.model


def price(release: Release) -> Price:
    """ε for each sequence and what it is an ε of; the loss itself where it is known for words of every length."""
    epsilon = release.choice.epsilon
    rate = release.mechanism.symbol_rate() if release.times is None else None
    loss = pure_loss(epsilon) if rate is None else symbol_loss(rate, len(release.alphabet), 1)
    choice = release.choice
    b = chosen_adjacency(choice.adjacency, release.mechanism.language)
    unit = Unit(adjacency=b, metric=choice.metric, public_start=choice.public_start)
    return Price(charge=charged_units(epsilon), loss=loss, unit=unit)


def whole_loss(release: Release, *, proved: bool = True) -> Callable[[int], float]:
    """What two words of a length lose at most, however many of their symbols differ; infinite where nothing is known.

    Nothing is known with a public start, where words that begin differently can be distinguished; nor of policies.

    Parameters
    ----------
    release
        What is released by what.
    proved
        Whether the bound of each length is computed, as for the manifest; else what the choice keeps for any length.
    """
    mechanism, choice = release.mechanism, release.choice

    def loss(length: int) -> float:
        if choice.public_start or release.policy is not None:
            return math.inf
        if release.times is not None:
            own = at_least(release.times.loss(length, arbitrarily=True))
            return own if release.times.joint else math.nextafter(own + of_words(length), math.inf)
        return of_words(length)

    def of_words(length: int) -> float:
        if mechanism.metric == "levenshtein":
            largest = mechanism.curve(np.empty(0, dtype=np.int64)).largest
            return math.inf if largest is None else mechanism.loss_at(largest)
        if length == 0:
            return 0.0
        if not proved:
            return mechanism.loss_at(length)
        own = mechanism.of_length(length)
        return math.inf if own is None else mechanism.curve(np.array([length])).bound(length)

    return loss


def parameters(release: Release, **others: object) -> dict[str, Any]:
    """The public parameters as they were asked for: what makes two runs the same command."""
    choice, costs = release.choice, release.choice.costs
    document = release.document()
    if release.model is None and choice.adjacency == 1:
        document.pop(
            "beyond", None
        )  # one symbol over an alphabet: every promise means the same, as before there were any
    return {
        **document,
        **({} if costs is None else {"costs": costs.digest}),  # a table may be long, and the ledger compares texts
        "alphabet": alphabet_digest(release.alphabet),
        "model": None if release.model is None else model_digest(release.model),
        **({} if release.policy is None else {"policy": release.policy}),
        **others,
    }


def manifest(
    release: Release,
    facts: Mapping[str, object],
    release_id: str,
    written: Written,
    *,
    version: str,
    record: str,
    model_file: Path | None,
    charged: bool,
    said: Mapping[str, object],
) -> Manifest:
    """The manifest of a release. Averages in it are over the public model, never over the data.

    `facts` are public facts about the output, and `record` is what one sequence is there. `said` has what else its
    reader should know: the day, the columns that pass.
    """
    promise = promised(release, written.lengths, charged=charged)
    # the plain name: which folders its holder has is nobody's business, and the check looks beside the manifest
    file_name = None if model_file is None else model_file.name
    first = ("mechanism", "epsilon", "epsilon_exact", "eta", "b", "how", "guarantee")
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": version,
        "release_id": release_id,
        **{key: promise[key] for key in first},
        "parameters": release.document(),
        "classes": promise["classes"],
        "law": promise["law"],
        "alphabet": [str(symbol) for symbol in release.alphabet.symbols] if release.model is None else None,
        "model": None if release.model is None else {"kind": release.model.kind, "file": file_name},
        "digests": {
            "model": None if release.model is None else model_digest(release.model),
            "alphabet": alphabet_digest(release.alphabet),
            "output": written.digest,
            **({} if release.choice.costs is None else {"costs": release.choice.costs.digest}),
        },
        "output": facts,
        "counts": written.counts(),
        "protection": promise["protection"],
        "positions_with_alternatives": promise["positions_with_alternatives"],
        "thin": promise["thin"],
        "charged": promise["charged"],
        **({} if release.policy is None else {"policy": release.policy}),
        "unit": str(price(release).unit),
        "record": record,
        **said,
    }
    return Manifest({**document, "passes_unprotected": passes_unprotected(document)})


def passes_unprotected(document: Mapping[str, Any]) -> list[str]:
    """What everybody can read as it was: ids, columns that were kept, and what is public of the sequences.

    Parameters
    ----------
    document
        The manifest of a private file.

    >>> counts = {"dropped_unknown": 0, "dropped_over_budget": 0}
    >>> passes_unprotected({"output": {"format": "CSV", "columns": {"id": "trip", "sequence": "s"}}, "kept": ["town"],
    ...                     "parameters": {"metric": "hamming"}, "counts": counts})
    ['trip', 'town', 'number of sequences', 'order of sequences', 'length of each sequence']
    """
    output, parameters, counts = document["output"], document["parameters"], document["counts"]
    listed = [output["columns"][name] for name in ("id", "case") if name in output["columns"]]
    listed += [*document.get("kept", ()), "number of sequences", "order of sequences"]
    if parameters["metric"] != "levenshtein":
        listed.append("length of each sequence")
    if parameters.get("public_start"):
        listed.append("first symbol of each sequence")
    if counts["dropped_unknown"] or counts["dropped_over_budget"]:
        listed.append("which sequences are left out")
    if "kept" not in document:
        listed.append("columns that were kept, which this older manifest does not list")
    return listed


def promised(release: Release, lengths: NDArray[np.int64], *, charged: bool) -> dict[str, Any]:
    """What follows from the mechanism and the public lengths: said in the manifest, computed again by the check."""
    classes = release.mechanism.classes(lengths)
    rates = {each.rate for each in classes}
    names = {each.mechanism for each in classes}
    near, share = middle_protection(release, lengths), hidden_share(release, lengths)
    how = max((each.guarantee.how for each in classes), key=_WEAKNESS.__getitem__, default="exact")
    promise = {
        "mechanism": names.pop() if len(names) == 1 else release.mechanism.name,
        "epsilon": at_least(release.choice.epsilon),
        "epsilon_exact": spelled(release.choice.epsilon),
        "eta": spelled(min(rate for rate in rates if rate is not None)) if rates - {None} else None,
        "b": release.choice.adjacency,
        "how": how,
        "guarantee": {
            "epsilon": max((each.guarantee.epsilon for each in classes), default=0.0),
            "how": how,
            "loss_at": release.mechanism.curve(lengths).rows(),
        },
        "classes": [_class_document(each) for each in classes],
        "law": laws(release.mechanism, lengths),
        "protection": None if near is None else near.document(),
        "positions_with_alternatives": share,
        "thin": share is not None and 2 * share < 1,
        "charged": shown_units(charged_units(release.choice.epsilon)) if charged else None,
    }
    if release.times is None or release.choice.adjacency == "all" or release.choice.adjacency is None:
        return promise
    return release.times.promised(promise, lengths, release.choice.adjacency)


def _class_document(each: LengthClass) -> dict[str, object]:
    return {
        "lengths": list(each.lengths),
        "mechanism": each.mechanism,
        "eta": None if each.rate is None else spelled(each.rate),
        "guarantee": {"epsilon": each.guarantee.epsilon, "how": each.guarantee.how},
    }


def laws(mechanism: Mechanism, lengths: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Everything that the law of the noise depends on, by length: enough to undo it without searching or proving again.

    Parameters
    ----------
    mechanism
        What releases the words of a file.
    lengths
        The lengths that occur; looked at where they are public.
    """
    if mechanism.metric == "levenshtein":
        return [{"lengths": [0, mechanism.largest_output], **_law(mechanism)}]
    results: list[dict[str, Any]] = []
    for length in np.unique(lengths[lengths > 0]).tolist():
        own = mechanism.of_length(length)
        if own is None:
            continue
        law, first = _law(own), length
        if results and {key: value for key, value in results[-1].items() if key != "lengths"} == law:
            first = results.pop()["lengths"][0]
        results.append({"lengths": [first, length], **law})
    return results


def _law(mechanism: Mechanism) -> dict[str, object]:
    document = {**mechanism.parameters_document(), **mechanism.law_document()}
    return {"mechanism": mechanism.name, "reach": mechanism.reach, **document}


def hidden_share(release: Release, lengths: NDArray[np.int64]) -> float | None:
    """On a model the share of positions of typical sequences that have an alternative within b; None elsewhere.

    Parameters
    ----------
    release
        What releases the file. A policy for opacity has secrets of its own: it is left out.
    lengths
        The lengths that occur.
    """
    if release.policy is not None:
        return None
    b = chosen_adjacency(release.choice.adjacency, release.mechanism.language)
    return share_of_positions(release.mechanism.language, b, lengths.tolist())


def refuse_thin_release(release: Release, lengths: NDArray[np.int64] | None, *, thin: bool) -> None:
    """Refuse a release that leaves most positions of typical sequences without an alternative, unless it is meant.

    Parameters
    ----------
    release
        What releases the file.
    lengths
        The lengths that occur; None: they are secret, or not known before something is drawn.
    thin
        Whether it is meant.
    """
    if lengths is not None and release.policy is None:
        b = chosen_adjacency(release.choice.adjacency, release.mechanism.language)
        refuse_thin(release.mechanism.language, b, lengths.tolist(), thin=thin)


def middle_protection(release: Release, lengths: NDArray[np.int64]) -> Protection | None:
    """How many feasible words lie near a typical word of the middle one of the lengths that occur."""
    positive = lengths[lengths > 0]
    if release.model is None or not len(positive):
        return None
    length = int(positive[len(positive) // 2])
    of_any_length = release.mechanism.language
    language = of_any_length.of_length(length) if isinstance(of_any_length, AnyLength) else None
    if language is None or language.graph is None or length > _LONGEST_FOR_PROTECTION:
        return None
    if length * language.graph.edge_count > _LARGEST_FOR_PROTECTION:
        return None
    return protection(language, release.mechanism.adjacency)
