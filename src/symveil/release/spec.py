"""What a release promises and costs, of public things only: its price for the ledger, its manifest for everybody.

One idea, two kinds: each sequence of a file is released by itself (`LocalSpec`), or one table or model of the whole
file is (`central_job.CentralSpec`). Nothing in either depends on secret words.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.errors import ParameterError
from symveil.formats.manifest import (
    FORMAT,
    Manifest,
    alphabet_digest,
    model_digest,
    passes_unprotected,
)
from symveil.languages.graph import Model
from symveil.languages.language import AnyLength
from symveil.laws.adjacency import chosen_adjacency, refuse_thin, share_of_positions
from symveil.laws.parameters import require_spellable
from symveil.laws.protection import Protection, protection
from symveil.ledger.composition import pure_loss, symbol_loss
from symveil.ledger.units import Unit, charged_units, shown_units
from symveil.mechanisms.by_length import length_classes, loss_curve, of_length, symbol_rate
from symveil.mechanisms.calibrate import RowLaws, law_rows, mechanism_by_rows
from symveil.mechanisms.choice import BY_NAME, MechanismChoice
from symveil.mechanisms.mechanism import LengthClass, Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.alphabet import Alphabet, Symbol
from symveil.numbers.rationals import at_least, spelled
from symveil.release.batch import Written
from symveil.release.limits import LIMITS
from symveil.release.protocol import Price
from symveil.release.timed import TimedEvents, TimeSettings

_WEAKNESS = {"exact": 0, "certified": 1, "classic": 2}


class ReleaseSpec(ABC):
    """What is released, from which public things: everything that decides a draw but the words and the key."""

    @property
    @abstractmethod
    def budget(self) -> Fraction:
        """ε: what each sequence, or each person, loses at most."""

    @property
    @abstractmethod
    def unit(self) -> Unit:
        """Between which files or sequences ε bounds the loss."""

    @property
    @abstractmethod
    def loss(self) -> str:
        """How the loss is distributed, for ledgers that compose losses."""

    @property
    @abstractmethod
    def alphabet(self) -> Alphabet | None:
        """The public symbols, in the order of their codes; None where there are none."""

    @property
    @abstractmethod
    def model(self) -> Model | None:
        """The public model of the words; None where every word over the alphabet is one."""

    @abstractmethod
    def options(self, **others: object) -> dict[str, Any]:
        """The public parameters as they were given: what makes two runs the same command."""

    def price(self) -> Price:
        """What is charged, and what it is a charge for."""
        return Price(charge=charged_units(self.budget), loss=self.loss, unit=self.unit)

    def charged(self, *, charged: bool) -> str | None:
        """The charge as it is shown; None where there is no charge."""
        return shown_units(charged_units(self.budget)) if charged else None

    def public_digests(self) -> dict[str, str | None]:
        """Of the alphabet, and of the model where there is one."""
        return {
            "alphabet": None if self.alphabet is None else alphabet_digest(self.alphabet),
            "model": None if self.model is None else model_digest(self.model),
        }

    def public_words(self, model_file: str | None) -> dict[str, Any]:
        """The alphabet and the model as manifests have them: one of them, or neither.

        `model_file` is a plain name: which folders its holder has is not public.
        """
        listed = None if self.alphabet is None or self.model is not None else self.alphabet.symbols
        return {
            "alphabet": None if listed is None else [str(symbol) for symbol in listed],
            "model": None if self.model is None else {"kind": self.model.kind, "file": model_file},
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalSpec(ReleaseSpec):
    """Each sequence by itself: a choice, and the mechanism that it means on the words of a file.

    Parameters
    ----------
    choice
        Which mechanism, with which parameters.
    mechanism
        The mechanism.
    policy
        Where a policy for opacity is released: its public parameters, for the manifest and the ledger.
    times
        How the times of events are released; None: they are not.
    """

    choice: MechanismChoice
    mechanism: Mechanism
    policy: dict[str, Any] | None = None
    times: TimedEvents | None = None

    @classmethod
    def from_choice(
        cls,
        choice: MechanismChoice,
        *,
        alphabet: Alphabet | Iterable[Symbol] | None,
        model: Model | None,
        laws: RowLaws | None = None,
        times: TimeSettings | None = None,
        event_row: Mapping[str, Any] | None = None,
    ) -> LocalSpec:
        """The words over an alphabet, or of a model, released as a choice says; by the laws of a manifest if given.

        `times` says how times of events are released, and `event_row` is a row of the law of a manifest that has them.
        """
        if choice.mechanism in BY_NAME and not BY_NAME[choice.mechanism].private:
            raise ParameterError("mechanism", expected="one that is private", found=choice.mechanism)
        # a manifest has to say them, and the check to read them
        require_spellable(choice.epsilon, "epsilon")
        require_spellable(choice.offset, "offset")
        own = choice if times is None else times.of_words(choice, on_model=model is not None)
        language = own.language(alphabet=alphabet, model=model)
        mechanism = choose_mechanism(own, language) if laws is None else mechanism_by_rows(language, laws)
        b = chosen_adjacency(choice.adjacency, mechanism.language)
        timed = None
        if times is not None and isinstance(b, int):
            symbols = len(mechanism.alphabet) if model is None else None
            timed = times.events(symbols=symbols, epsilon=choice.epsilon, adjacency=b, law=event_row)
        chosen = replace(choice, mechanism=mechanism.name, adjacency=b, beyond=own.beyond)
        return cls(choice=chosen, mechanism=mechanism, times=timed)

    def document(self) -> dict[str, Any]:
        """The choice, with the name of the mechanism that it means."""
        times = {} if self.times is None else self.times.parameters()
        return {**self.choice.document(), "mechanism": self.mechanism.name, **times}

    @property
    def alphabet(self) -> Alphabet:
        """The symbols, in the order of their codes."""
        return self.mechanism.alphabet

    @property
    def model(self) -> Model | None:
        """The model of the words; None where every word over the alphabet is one."""
        return self.mechanism.language.model

    @property
    def budget(self) -> Fraction:
        """ε for each sequence."""
        return self.choice.epsilon

    @property
    def adjacency(self) -> Any:
        """b as a whole number, or "all"."""
        return chosen_adjacency(self.choice.adjacency, self.mechanism.language)

    @property
    def unit(self) -> Unit:
        """Words so far apart, by what adjacency counts."""
        choice = self.choice
        return Unit(adjacency=self.adjacency, metric=choice.metric, public_start=choice.public_start)

    @property
    def loss(self) -> str:
        """The loss itself where it is known for words of every length, else that of any mechanism with this ε."""
        rate = symbol_rate(self.mechanism) if self.times is None else None
        return pure_loss(self.budget) if rate is None else symbol_loss(rate, len(self.alphabet), 1)

    def whole_loss(self, *, proved: bool = True) -> Callable[[int], float]:
        """What two words of a length lose at most, however many symbols differ; infinite where nothing is known.

        Nothing is known with a public start, where words that begin differently can be distinguished; nor of policies.

        With `proved` the bound of each length is computed, as for the manifest; else it is what the choice keeps for
        all.
        """
        mechanism, choice = self.mechanism, self.choice

        def loss(length: int) -> float:
            if choice.public_start or self.policy is not None:
                return math.inf
            if self.times is None:
                return of_words(length)
            own = at_least(self.times.loss(length, arbitrarily=True))
            return own if self.times.joint else math.nextafter(own + of_words(length), math.inf)

        def of_words(length: int) -> float:
            if mechanism.metric == "levenshtein":
                largest = loss_curve(mechanism, np.empty(0, dtype=np.int64)).largest
                return math.inf if largest is None else mechanism.loss_at(largest)
            if length == 0:
                return 0.0
            if not proved:
                return mechanism.loss_at(length)
            own = of_length(mechanism, length)
            return math.inf if own is None else loss_curve(mechanism, np.array([length])).bound(length)

        return loss

    def options(self, **others: object) -> dict[str, Any]:
        """The public parameters as they were given: what makes two runs the same command."""
        choice, costs = self.choice, self.choice.costs
        document = self.document()
        if self.model is None and choice.adjacency == 1:
            # one symbol over an alphabet: every promise means the same, as before there were any
            document.pop("beyond", None)
        return {
            **document,
            **({} if costs is None else {"costs": costs.digest}),  # a table may be long, and the ledger compares texts
            **self.public_digests(),
            **({} if self.policy is None else {"policy": self.policy}),
            **others,
        }

    def manifest(
        self,
        facts: Mapping[str, object],
        release_id: str,
        written: Written,
        *,
        version: str,
        record: str,
        model_file: Path | None,
        charged: bool,
        further: Mapping[str, object],
    ) -> Manifest:
        """The manifest. Averages in it are over the public model, never over the data.

        `facts` are public facts about the output, and `record` is what one sequence is there. `further` has what
        else its reader should know: the day, the columns that pass.
        """
        promise, digests = self.promised(written.lengths, charged=charged), self.public_digests()
        first = ("mechanism", "epsilon", "epsilon_exact", "eta", "b", "how", "guarantee")
        document: dict[str, Any] = {
            "format": FORMAT,
            "version": version,
            "release_id": release_id,
            **{key: promise[key] for key in first},
            "parameters": self.document(),
            "classes": promise["classes"],
            "law": promise["law"],
            **self._stand_in(promise["law"], further),
            **self.public_words(None if model_file is None else model_file.name),
            "digests": {
                "model": digests["model"],
                "alphabet": digests["alphabet"],
                "output": written.digest,
                **({} if self.choice.costs is None else {"costs": self.choice.costs.digest}),
            },
            "output": facts,
            "counts": written.counts(),
            "protection": promise["protection"],
            "positions_with_alternatives": promise["positions_with_alternatives"],
            "thin": promise["thin"],
            "charged": promise["charged"],
            **({} if self.policy is None else {"policy": self.policy}),
            "unit": promise["unit"],
            "record": record,
            **further,
        }
        return Manifest({**document, "passes_unprotected": passes_unprotected(document)})

    def _stand_in(self, rows: Sequence[Mapping[str, Any]], further: Mapping[str, Any]) -> dict[str, Any]:
        """The law of the length that averages are about, where it is no length of the file."""
        averages = (further.get("expected_error"), further.get("attacker"))
        averaged = {each["length"] for each in averages if each is not None}
        missing = sorted(n for n in averaged if not any(row["lengths"][0] <= n <= row["lengths"][1] for row in rows))
        return {"stand_in": law_rows(self.mechanism, np.array(missing))} if missing else {}

    def promised(self, lengths: NDArray[np.int64], *, charged: bool) -> dict[str, Any]:
        """What follows from the mechanism and the public lengths: said in the manifest, computed again by the check."""
        classes = length_classes(self.mechanism, lengths)
        rates = {each.rate for each in classes}
        names = {each.mechanism for each in classes}
        near, share = self.middle_protection(lengths), self.hidden_share(lengths)
        how = max((each.guarantee.how for each in classes), key=_WEAKNESS.__getitem__, default="exact")
        promise = {
            "mechanism": names.pop() if len(names) == 1 else self.mechanism.name,
            "epsilon": at_least(self.budget),
            "epsilon_exact": spelled(self.budget),
            "eta": spelled(min(rate for rate in rates if rate is not None)) if rates - {None} else None,
            "b": self.choice.adjacency,
            "how": how,
            "guarantee": {
                "epsilon": max((each.guarantee.epsilon for each in classes), default=0.0),
                "how": how,
                "loss_at": loss_curve(self.mechanism, lengths).rows(),
            },
            "classes": [_class_document(each) for each in classes],
            "law": law_rows(self.mechanism, lengths),
            "protection": None if near is None else near.document(),
            "positions_with_alternatives": share,
            "thin": share is not None and 2 * share < 1,
            "charged": self.charged(charged=charged),
            "unit": str(self.unit),
        }
        return promise if self.times is None else self.times.promised(promise, lengths, self.adjacency)

    def hidden_share(self, lengths: NDArray[np.int64]) -> float | None:
        """On a model the share of positions of typical sequences that have an alternative within b; None elsewhere.

        A policy for opacity has secrets of its own: it is left out.
        """
        if self.policy is not None:
            return None
        return share_of_positions(self.mechanism.language, self.adjacency, lengths.tolist())

    def refuse_thin(self, lengths: NDArray[np.int64] | None, *, thin: bool) -> None:
        """Refuse a release that leaves most positions of typical sequences without an alternative, unless it is meant.

        Lengths are None where they are secret, or not known before something is drawn.
        """
        if lengths is not None and self.policy is None:
            refuse_thin(self.mechanism.language, self.adjacency, lengths.tolist(), thin=thin)

    def middle_protection(self, lengths: NDArray[np.int64]) -> Protection | None:
        """How many feasible words lie near a typical word of the middle one of the lengths that occur."""
        positive = lengths[lengths > 0]
        if self.model is None or not len(positive):
            return None
        length = int(positive[len(positive) // 2])
        of_any_length = self.mechanism.language
        language = of_any_length.of_length(length) if isinstance(of_any_length, AnyLength) else None
        if language is None or language.graph is None or length > LIMITS.now.protection_length:
            return None
        if length * language.graph.edge_count > LIMITS.now.protection_edges:
            return None
        return protection(language, self.mechanism.adjacency)


def _class_document(each: LengthClass) -> dict[str, object]:
    return {
        "lengths": list(each.lengths),
        "mechanism": each.mechanism,
        "eta": None if each.rate is None else spelled(each.rate),
        "guarantee": {"epsilon": each.guarantee.epsilon, "how": each.guarantee.how},
    }
