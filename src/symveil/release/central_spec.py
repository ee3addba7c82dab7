"""What a release of one table or model of a whole file promises and costs, of public things only.

Nothing here depends on how many persons, records or dropped rows there are, except through the released numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symveil.central.cells import GRID
from symveil.central.noise import Neighbours, Query, read_delta, read_neighbours
from symveil.formats.manifest import CENTRAL_FORMAT, Manifest
from symveil.languages.graph import Model
from symveil.languages.language import AnyLength
from symveil.laws.guarantee import Guarantee
from symveil.laws.parameters import read_epsilon
from symveil.ledger.composition import approximate_loss
from symveil.ledger.units import EVERYTHING, PERSON, Unit
from symveil.models.alphabet import Alphabet
from symveil.numbers.rationals import at_least, spelled
from symveil.release.spec import ReleaseSpec


@dataclass(frozen=True, kw_only=True)
class CentralSpec(ReleaseSpec):
    """One table or model of the whole file, with one ε per person.

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
    attributes
        The public values of attributes that a law has, and the share of ε of each, as JSON.
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
    attributes: tuple[dict[str, Any], ...] = ()

    @property
    def budget(self) -> Fraction:
        """ε for each person, once."""
        return self.epsilon

    @property
    def unit(self) -> Unit:
        """Persons."""
        return EVERYTHING if self.neighbours == "replace" else PERSON

    @property
    def loss(self) -> str:
        """ε, and δ where there is one."""
        return approximate_loss(self.epsilon, self.delta)

    @property
    def alphabet(self) -> Alphabet | None:
        """The public symbols; None where there are none, for a δ."""
        return None if self.language is None else self.language.alphabet

    @property
    def model(self) -> Model | None:
        """The public model; None where every word over the alphabet counts."""
        return None if self.language is None else self.language.model

    def options(self, **others: object) -> dict[str, Any]:
        """The public parameters: what makes two runs the same command."""
        return {
            "release": self.kind,
            "epsilon": spelled(self.epsilon),
            **({"delta": spelled(self.delta)} if self.delta else {}),
            "neighbours": self.neighbours,
            "grid": GRID,
            **self.public_digests(),
            **self.parameters,
            **self._beside(),
            **others,
        }

    def _beside(self) -> dict[str, Any]:
        """What is public of times and attributes, where there are some."""
        times = {} if self.times is None else {"times": self.times}
        return times | ({"attributes": list(self.attributes)} if self.attributes else {})

    def promised(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What follows from the queries: said in the manifest, computed again by the check."""
        epsilon, delta = (
            sum((getattr(query, name) for query in queries), Fraction(0)) for name in ("epsilon", "delta")
        )
        guarantee = Guarantee.of_loss(epsilon, "certified", delta=delta)
        return {
            "unit": "person",
            "neighbours": self.neighbours,
            "epsilon": at_least(self.epsilon),
            "epsilon_exact": spelled(self.epsilon),
            **({"delta": at_least(self.delta), "delta_exact": spelled(self.delta)} if self.delta else {}),
            "how": "certified",
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
        return Manifest(
            {
                "format": CENTRAL_FORMAT,
                "version": version,
                "release_id": release_id,
                "release": self.kind,
                **self.promised(queries),
                "parameters": self.parameters,
                **({} if self.zones is None else {"zones": list(self.zones)}),
                **self._beside(),
                **self.public_words(self.model_file),
                "digests": {**self.public_digests(), "output": digest},
                "output": output,
                "charged": self.charged(charged=charged),
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
