"""A law as a value: how words of one language are released, as frozen data.

Everything that a calibration decides stands in it, and everything that a draw needs. A mechanism draws by a law
(`Mechanism.law`, `Mechanism.from_law`); a manifest contains the laws of all lengths of a file (`Law.document`).
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Protocol

import numpy as np

from symveil.calibration.edit_channel import ChannelParameters
from symveil.calibration.search import CertifiedRate
from symveil.errors import ParameterError
from symveil.languages.cost_table import CostTable
from symveil.languages.language import Language
from symveil.laws.adjacency import chosen_adjacency
from symveil.laws.guarantee import Guarantee, How
from symveil.laws.parameters import Adjacency
from symveil.mechanisms.optimal_law import SolvedLaw
from symveil.numbers.once import computed_once
from symveil.numbers.rationals import exact, spelled

_STRONGEST_FIRST: tuple[How, ...] = ("exact", "certified", "classic")
_CLOSE = Fraction(1, 10**9)
"""Bounds by floats differ a little between machines: the loss in a certificate by this much."""

_WORDS_AND_RESULTS = frozenset(
    {
        *("language", "alphabet", "max_length", "possible", "safe", "correction"),
        *("epsilon", "adjacency"),
        *("solved", "parameters", "through", "loss", "claimed"),
    }
)
"""What the constructors of mechanisms take that stands elsewhere in a law."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Law:
    """How words of a language are released.

    Parameters
    ----------
    kind
        The name of the mechanism that draws by it.
    language
        The words. In a document stands their digest.
    epsilon, adjacency
        The budget, and b as it was given.
    parameters
        What else the mechanism was given or has chosen: prior, cost, cap, balanced, first step …, by name.
    rate
        η, for a staircase the height of a step; None where there is none.
    proved
        The loss that is proved for words within b, and how.
    certificate
        The proof behind the rate; None where none is needed.
    channel
        The four numbers of an edit channel.
    table
        What decides the table of the optimal mechanism.
    through
        The law of the mechanism whose outcomes are corrected to safe observations.
    losses
        The loss at distances, where `calibrate` made the law.

    >>> import symveil as sv
    >>> law = sv.Exponential(sv.words("abc", 5), epsilon=2).law
    >>> law.kind, law.rate, law.proved, law == sv.Exponential(sv.words("abc", 5), epsilon=2).law
    ('exponential', Fraction(2, 1), Guarantee(epsilon=2.0, how='exact'), True)
    """

    kind: str
    language: Language = field(repr=False)
    epsilon: Fraction
    adjacency: Adjacency
    parameters: tuple[tuple[str, Any], ...] = ()
    rate: Fraction | None = None
    proved: Guarantee
    certificate: CertifiedRate | None = field(default=None, repr=False)
    channel: ChannelParameters | None = None
    table: SolvedLaw | None = field(default=None, repr=False)
    through: Law | None = None
    losses: tuple[tuple[int, float], ...] = field(default=(), repr=False)

    @computed_once
    def language_digest(self) -> str:
        """SHA-256 of the words: equal languages have equal digests."""
        return language_digest(self.language)

    @property
    def tells_nothing(self) -> bool:
        """Whether what is released carries no information about the word."""
        return self.channel is not None and self.channel.tells_nothing

    def _data(self) -> tuple[object, ...]:
        known = (self.kind, self.epsilon, self.adjacency, self.parameters, self.rate, self.proved, self.certificate)
        return (*known, self.channel, self.table, self.through, self.language_digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Law) and self._data() == other._data()

    def __hash__(self) -> int:
        return hash((self.kind, self.epsilon, self.rate, self.language_digest))

    def __getitem__(self, name: str) -> Any:
        """A parameter by its name."""
        return dict(self.parameters)[name]

    def claims(self, rate: Fraction | None, proved: Guarantee) -> bool:
        """Whether no more is claimed than what was proved again: this rate, no less loss, known no better."""
        same = self.rate is None or self.rate == rate
        no_better = _STRONGEST_FIRST.index(proved.how) <= _STRONGEST_FIRST.index(self.proved.how)
        return same and no_better and proved.epsilon <= self.proved.epsilon

    def claims_certificate(self, proved: CertifiedRate | None) -> bool:
        """Whether the certificate claims no smaller loss than the one that was proved again, and is known no better."""
        claimed = self.certificate
        if claimed is None or proved is None:
            return claimed is proved
        no_better = _STRONGEST_FIRST.index(proved.how) <= _STRONGEST_FIRST.index(claimed.how)
        return no_better and proved.loss <= claimed.loss * (1 + _CLOSE)


def language_digest(language: Language) -> str:
    """SHA-256 of a language: its metric, lengths, symbols, public start, and the graph behind it.

    >>> import symveil as sv
    >>> language_digest(sv.words("ab", 3)) == language_digest(sv.words("ab", 3)) != language_digest(sv.words("ab", 4))
    True
    """
    symbols = [str(symbol) for symbol in language.alphabet.symbols]
    digest = hashlib.sha256()
    shape = (language.metric, language.length, language.max_length, language.public_start, symbols)
    digest.update(repr(shape).encode())
    graph = language.graph
    if graph is not None:
        digest.update(repr((graph.start, graph.state_is_symbol)).encode())
        for array in (graph.first, graph.symbol, graph.target, graph.accepting):
            digest.update(np.ascontiguousarray(array, dtype=np.int64).tobytes())
        if graph.prior is not None:
            digest.update(" ".join(map(str, graph.prior)).encode())
    return digest.hexdigest()


@cache
def parameter_names(kind: type) -> tuple[str, ...]:
    """The parameters that a kind of mechanism has besides its words, ε and the adjacency, as it is constructed.

    >>> import symveil as sv
    >>> parameter_names(sv.Staircase)
    ('calibration', 'cost', 'cap', 'balanced', 'costs', 'step')
    """
    return tuple(name for name in inspect.signature(kind).parameters if name not in _WORDS_AND_RESULTS)


class RequestedParameters(Protocol):
    """What a mechanism reads of a choice, which names mechanisms and so stands above them."""

    @property
    def epsilon(self) -> Fraction:
        """The privacy budget."""

    @property
    def adjacency(self) -> Adjacency | None:
        """How many symbols are hidden; None: not chosen."""

    @property
    def grace(self) -> Fraction | None:
        """K: what is kept beyond the adjacency; None: nothing."""

    @property
    def costs(self) -> CostTable | None:
        """What each pair of symbols costs, where that was given."""


def chosen_parameters(kind: type, choice: RequestedParameters) -> dict[str, Any]:
    """The parameters of a choice that a kind of mechanism has.

    >>> import symveil as sv
    >>> chosen_parameters(sv.PermuteAndFlip, sv.MechanismChoice(epsilon=1, calibration="classic"))
    {'calibration': 'classic'}
    """
    chosen = {name: getattr(choice, name) for name in parameter_names(kind) if hasattr(choice, name)}
    if "beyond" in chosen:  # a mechanism of a name keeps (d/b)·ε, or nothing: K is for "auto"
        chosen["beyond"] = "nothing" if choice.grace is None else "graceful"
    return chosen


def law_from_row(
    kind: type, language: Language, choice: RequestedParameters, row: Mapping[str, Any], proved: Guarantee
) -> Law:
    """The law in a row of a manifest. Nothing is proved: `proved_again` does that.

    `choice` has the parameters in the manifest: what the row, of any version, does not have is taken from there.
    `proved` is the loss that the manifest claims for these words.
    """
    names = parameter_names(kind)
    given = chosen_parameters(kind, choice)
    given |= {name: row[name] for name in names if name in row and name not in ("offset", "cap")}
    if "offset" in given and "offset" in row:
        given["offset"] = exact(row["offset"], name="offset")
    if "cost" in names:
        given["cost"] = row.get("cost", "hamming")
        given["costs"] = choice.costs if given["cost"] == "given" else None
        if given["cost"] == "hamming":
            given["cap"] = None
        elif given["cost"] == "swap" and "cap" in row:
            given["cap"] = "none" if row["cap"] is None else int(row["cap"])
    if "step" in names and "first_step" in row:
        given["step"] = int(row["first_step"])
    if "beyond" in names:
        plain = given.get("cost", "hamming") == "hamming" and not given.get("balanced")
        given["beyond"] = row.get("beyond", given["beyond"] if plain else "nothing")
    written = row.get("rate", row.get("step_height"))
    rate = None if written is None else exact(written, name="rate")
    if rate is not None and rate < 0:
        raise ParameterError("rate", expected="0 or more", found=written)
    return Law(
        kind=row["mechanism"],
        language=language,
        epsilon=choice.epsilon,
        adjacency=chosen_adjacency(choice.adjacency, language),
        parameters=tuple((name, given[name]) for name in names if name in given),
        rate=rate,
        proved=proved,
        certificate=None if rate is None else _certificate_from_row(language, row, rate, proved),
        channel=ChannelParameters.of(**{name: row[name] for name in _CHANNEL}) if "ratio" in row else None,
        table=SolvedLaw.from_document(row) if row["mechanism"] == "optimal" else None,
    )


_CHANNEL = ("ratio", "power", "deletion", "substitution")
_NEEDS_CERTIFICATE = ("exponential", "staircase", "truncated-levenshtein")


def _certificate_from_row(
    language: Language, row: Mapping[str, Any], rate: Fraction, proved: Guarantee
) -> CertifiedRate | None:
    """The claimed proof of a rate. Rows of 0.3 do not name it: there is one unless the loss is the classic one."""
    if "certificate" not in row:
        needed = row["mechanism"] in _NEEDS_CERTIFICATE and not language.homogeneous
        if not needed or proved.how == "classic" or proved.loss is None:
            return None
        return CertifiedRate(rate, proved.loss, proved.how, 0.0)
    written = row["certificate"]
    if written is None:
        return None
    loss = exact(written["loss"], name="loss")
    return CertifiedRate(rate, loss, written["how"], 0.0, proof=str(written["proof"]))


def law_row(law: Law, *, reach: int, parameters: Mapping[str, object]) -> dict[str, object]:
    """The JSON form of a law, without the lengths that it is for: a row of a manifest's `law`.

    b is `reach`, or less where words are not that far apart; `parameters` are what the mechanism shows of itself.
    """
    given, certificate = dict(law.parameters), law.certificate
    beyond = {"beyond": given["beyond"]} if "beyond" in given else {}
    proof: dict[str, object] | None = None
    if certificate is not None:
        proof = {"loss": spelled(certificate.loss), "how": certificate.how, "proof": certificate.proof}
    table = {} if law.table is None else law.table.document()
    return {"mechanism": law.kind, "reach": reach, **parameters, **table, **beyond, "certificate": proof}
