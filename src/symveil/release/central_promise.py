"""What a central release promises: its price for the ledger, its manifest for everybody.

Nothing in either depends on how many persons, records or dropped rows there are, but through the released numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symveil.central.cells import GRID
from symveil.central.noise import Neighbours, Query, read_delta, read_neighbours
from symveil.formats.manifest import CENTRAL_FORMAT, Manifest, alphabet_digest, model_digest
from symveil.languages.any_length import AnyLength
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import read_epsilon
from symveil.ledger.composition import approximate_loss
from symveil.ledger.units import EVERYTHING, PERSON, charged_units, shown_units
from symveil.numbers.rationals import at_least, spelled
from symveil.release.protocol import Price


@dataclass(frozen=True, kw_only=True)
class CentralRelease:
    """What is released from which public things: everything that decides a draw but the data and the key.

    Parameters
    ----------
    kind
        "count": a table; "learn": a model.
    epsilon, neighbours
        What each person loses at most, and between which files.
    language
        The public alphabet, or the model whose words are legal; None where there is neither, for a δ.
    parameters
        Everything else that was asked for, as JSON.
    model_file
        The plain name of the model's file; None where there is none.
    delta
        Above 0 where cells are not public: another promise.
    zones
        Where origins and destinations are counted by zone: the name of the zone of each symbol, in their order.
    times
        What is public about the times of a law that has some, as JSON.
    """

    kind: str
    epsilon: Fraction
    neighbours: Neighbours
    language: AnyLength | None
    parameters: dict[str, Any]
    model_file: str | None = None
    delta: Fraction = Fraction(0)
    zones: tuple[str, ...] | None = None
    times: dict[str, Any] | None = None

    def price(self) -> Price:
        """ε for each person, once, and δ where there is one."""
        unit = EVERYTHING if self.neighbours == "replace" else PERSON
        return Price(charge=charged_units(self.epsilon), loss=approximate_loss(self.epsilon, self.delta), unit=unit)

    def options(self, **others: object) -> dict[str, Any]:
        """The public parameters: what makes two runs the same command."""
        return {
            "release": self.kind,
            "epsilon": spelled(self.epsilon),
            **({"delta": spelled(self.delta)} if self.delta else {}),
            "neighbours": self.neighbours,
            "grid": GRID,
            **self._digests(),
            **self.parameters,
            **({} if self.times is None else {"times": self.times}),
            **others,
        }

    def _digests(self) -> dict[str, str | None]:
        """Of what is public: the alphabet, and the model where there is one."""
        if self.language is None:
            return {"alphabet": None, "model": None}
        model = self.language.model
        return {
            "alphabet": alphabet_digest(self.language.alphabet),
            "model": None if model is None else model_digest(model),
        }

    def promised(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What follows from the queries: said in the manifest, computed again by the check."""
        epsilon, delta = (
            sum((getattr(query, name) for query in queries), Fraction(0)) for name in ("epsilon", "delta")
        )
        guarantee = Guarantee.of_loss(epsilon, "certified", delta=delta)
        return {
            "guarantee": guarantee.document(),
            "queries": [query.document() for query in queries],
            # with other records in a person's place, as many persons are in both files
            "passes_unprotected": ["number of persons"] if self.neighbours == "replace" else [],
        }

    def manifest(
        self, release_id: str, digest: str, *, queries: Sequence[Query], output: dict[str, object], version: str,
        charged: bool, date: str,
    ) -> Manifest:  # fmt: skip
        """The manifest beside the output."""
        model = None if self.language is None else self.language.model
        listed = None if self.language is None or model is not None else self.language.alphabet.symbols
        return Manifest(
            {
                "format": CENTRAL_FORMAT,
                "version": version,
                "release_id": release_id,
                "release": self.kind,
                "unit": "person",
                "neighbours": self.neighbours,
                "epsilon": at_least(self.epsilon),
                "epsilon_exact": spelled(self.epsilon),
                **({"delta": at_least(self.delta), "delta_exact": spelled(self.delta)} if self.delta else {}),
                "how": "certified",
                **self.promised(queries),
                "parameters": self.parameters,
                **({} if self.zones is None else {"zones": list(self.zones)}),
                **({} if self.times is None else {"times": self.times}),
                "alphabet": None if listed is None else [str(symbol) for symbol in listed],
                "model": None if model is None else {"kind": model.kind, "file": self.model_file},
                "digests": {**self._digests(), "output": digest},
                "output": output,
                "charged": shown_units(charged_units(self.epsilon)) if charged else None,
                "date": date,
            }
        )


def queries_of(document: dict[str, Any]) -> tuple[Query, ...]:
    """The queries that a manifest tells: what decides the noise, and not what it says follows from that."""
    neighbours = read_neighbours(document["neighbours"])
    return tuple(
        Query(
            name=str(each["query"]),
            epsilon=read_epsilon(each["epsilon"]),
            bound=int(each["bound"]),
            neighbours=neighbours,
            delta=read_delta(each["delta"]) if "delta" in each else Fraction(0),
        )
        for each in document["queries"]
    )
