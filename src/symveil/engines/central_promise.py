"""What a central release promises: its price for the ledger, its manifest for everybody.

Nothing in either depends on how many persons, records or dropped rows there are, but through the released numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symveil.central.contributions import GRID
from symveil.central.noise import Neighbours, Query
from symveil.engines.protocol import Price
from symveil.io.manifest import CENTRAL_FORMAT, Manifest, alphabet_digest, model_digest
from symveil.languages.any_length import AnyLength
from symveil.ledger.amounts import charged_units, shown_units
from symveil.ledger.composition import pure_loss
from symveil.ledger.units import EVERYTHING, PERSON
from symveil.numerics.rationals import at_least, spelled
from symveil.privacy.guarantee import Guarantee


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
        The public alphabet, or the model whose words are legal.
    parameters
        Everything else that was asked for, as JSON.
    model_file
        The plain name of the model's file; None where there is none.
    """

    kind: str
    epsilon: Fraction
    neighbours: Neighbours
    language: AnyLength
    parameters: dict[str, Any]
    model_file: str | None = None

    def price(self) -> Price:
        """ε for each person, once."""
        unit = EVERYTHING if self.neighbours == "replace" else PERSON
        return Price(charge=charged_units(self.epsilon), loss=pure_loss(self.epsilon), unit=unit)

    def asked(self, **others: object) -> dict[str, Any]:
        """The public parameters: what makes two runs the same command."""
        model = self.language.model
        return {
            "release": self.kind,
            "epsilon": spelled(self.epsilon),
            "neighbours": self.neighbours,
            "grid": GRID,
            "alphabet": alphabet_digest(self.language.alphabet),
            "model": None if model is None else model_digest(model),
            **self.parameters,
            **others,
        }

    def promised(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What follows from the queries: said in the manifest, computed again by the check."""
        guarantee = Guarantee.of_loss(sum((query.epsilon for query in queries), Fraction(0)), "certified")
        return {"guarantee": guarantee.document(), "queries": [query.document() for query in queries]}

    def manifest(
        self, release_id: str, digest: str, *, queries: Sequence[Query], output: dict[str, object], version: str,
        charged: bool,
    ) -> Manifest:  # fmt: skip
        """The manifest beside the output."""
        model, alphabet = self.language.model, self.language.alphabet
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
                "how": "certified",
                **self.promised(queries),
                "parameters": self.parameters,
                "alphabet": [str(symbol) for symbol in alphabet.symbols] if model is None else None,
                "model": None if model is None else {"kind": model.kind, "file": self.model_file},
                "digests": {
                    "alphabet": alphabet_digest(alphabet),
                    "model": None if model is None else model_digest(model),
                    "output": digest,
                },
                "output": output,
                "charged": shown_units(charged_units(self.epsilon)) if charged else None,
            }
        )
