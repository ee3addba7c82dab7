"""The choice of a mechanism as data: which one, with which parameters, before there is a word.

It is read and refused once, and then travels as it is: from the command line, the studio or a notebook to the
engines, into the manifest, and from there to the check. What it means on a language says `selection`.

Every mechanism that people can ask for by name. A new one is registered by a line here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any

from symveil.errors import NotPrivateError, ParameterError, either
from symveil.languages.cost_table import CostTable
from symveil.languages.free import FreeLanguage, words
from symveil.languages.graph import AnyModel, require_words
from symveil.languages.language import AnyLength, runs_of_any_length, words_of_any_length
from symveil.languages.open import OpenRuns, OpenWords, runs_up_to
from symveil.languages.runs import RunLanguage, runs
from symveil.laws.parameters import (
    Adjacency,
    Calibration,
    Cap,
    Utility,
    read_adjacency,
    read_beyond,
    read_calibration,
    read_cap,
    read_epsilon,
    read_metric,
    read_offset,
    read_step,
    read_utility,
)
from symveil.mechanisms.cost_weighted import read_cost
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.mechanisms.edit_channel import EditChannel
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.law import parameter_names
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.mechanisms.truncated_levenshtein import TruncatedLevenshtein
from symveil.models.alphabet import Alphabet, Metric, Symbol, read_length
from symveil.numbers.rationals import Number, spelled
from symveil.parameters import (
    Exact,
    Flag,
    OneOf,
    Table,
    Whole,
    check_names,
    declared,
    described,
    listing_fields,
)

AUTO = "auto"
"""Instead of a name: of the candidates that keep the promise, the one with the least expected error."""

REGISTERED: tuple[type[Mechanism], ...] = (
    Exponential,
    PermuteAndFlip,
    Staircase,
    Online,
    Optimal,
    EditChannel,
    TruncatedLevenshtein,
    Jones2019Printed,
)

BY_NAME: dict[str, type[Mechanism]] = {kind.name: kind for kind in REGISTERED}


def names(metric: Metric | None = None) -> tuple[str, ...]:
    """The names to choose from, of one metric or of all.

    >>> names("levenshtein")
    ('auto', 'edit', 'truncated-levenshtein')
    """
    return (AUTO, *(kind.name for kind in REGISTERED if metric is None or kind.metric == metric))


def takers(parameter: str) -> tuple[str, ...]:
    """The mechanisms that have a parameter.

    >>> takers("cutoff")
    ('truncated-levenshtein',)
    """
    # what is kept beyond b is refused in words of its own (`_read_beyond`)
    return tuple(kind.name for kind in REGISTERED if parameter != "beyond" and parameter in parameter_names(kind))


_SINCE_0_3 = frozenset({"cost", "cap", "balanced", "step", "costs"})

AnyLanguage = FreeLanguage | RunLanguage | AnyLength | OpenWords | OpenRuns


@listing_fields
@dataclass(frozen=True, kw_only=True, slots=True)
class MechanismChoice:
    """Which mechanism releases words, with all its parameters.

    >>> choice = MechanismChoice(epsilon="1/2", adjacency=3)
    >>> choice.epsilon, choice.mechanism, choice.beyond
    (Fraction(1, 2), 'auto', 'graceful')
    >>> MechanismChoice.from_document(choice.document()) == choice
    True
    """

    epsilon: Fraction = field(
        metadata=declared(
            "Privacy budget: a decimal or a fraction, above 0.",
            label="Privacy budget ε",
            domain=Exact(placeholder="E"),
            more="Of each word; kept exact. Small: private; large: accurate.",
        )
    )
    mechanism: str = field(
        default=AUTO,
        metadata=declared(
            "How a private word is chosen; auto is the least expected error of those that keep `beyond`.",
            label="Mechanism",
            domain=OneOf(labels={AUTO: "the best for these numbers"} | {kind.name: kind.label for kind in REGISTERED}),
        ),
    )
    adjacency: Adjacency | None = field(
        default=None,
        metadata=declared(
            "Words that differ in up to B symbols are to look alike; all: any two words. 1 by default over an "
            "alphabet, required on a model.",
            label="Hidden symbols b",
            domain=Whole(placeholder="B|all", least=1, words=("all",)),
            more="symveil.adjacency_table shows what each b hides on a model.",
        ),
    )
    calibration: Calibration = field(
        default="tight",
        metadata=declared(
            "tight spends the whole budget, where that is proved; classic is the papers' factor 2.",
            label="Calibration",
            domain=OneOf(labels={"tight": "tight: spends all of ε", "classic": "classic: the papers' rate"}),
        ),
    )
    prior: str = field(
        default="uniform",
        metadata=declared(
            "What is likely beforehand: all words alike, as the chain has them, or less where many symbols follow.",
            label="Words beforehand",
            domain=OneOf(
                labels={
                    "uniform": "all alike",
                    "chain": "as likely as the chain has them",
                    "degrees": "less likely where there are more ways on",
                }
            ),
        ),
    )
    utility: Utility = field(
        default="distance",
        metadata=declared(
            "The score function of the exponential mechanism: a small distance, or a large 1/(distance + A) (J19).",
            label="Score function",
            domain=OneOf(labels={"distance": "a small distance", "inverse": "a large 1/(distance + A)"}),
        ),
    )
    offset: Fraction = field(
        default=Fraction(1),
        metadata=declared(
            "With `utility` inverse: its offset A, above 0.", label="Offset A", domain=Exact(placeholder="A")
        ),
    )
    public_start: bool = field(
        default=False,
        metadata=declared(
            "The first symbol is public and is kept (Markov chains).", label="Public first symbol", domain=Flag()
        ),
    )
    metric: Metric = field(
        default="hamming",
        metadata=declared(
            "What close means: substitutions, or insertions and deletions too (then the length is secret).",
            label="Close means",
            domain=OneOf(labels={"hamming": "few substitutions", "levenshtein": "few edits, lengths secret"}),
        ),
    )
    max_length: int | None = field(
        default=None,
        metadata=declared(
            "With `metric` levenshtein: no word has more symbols than this public bound.",
            label="Longest word",
            domain=Whole(),
        ),
    )
    cutoff: int | None = field(
        default=None,
        metadata=declared(
            "With truncated-levenshtein: words farther than K edits are all alike.",
            label="Cutoff",
            domain=Whole(placeholder="K"),
        ),
    )
    cost: str | None = field(
        default=None,
        metadata=declared(
            "On a model: how far a word is. swap counts swaps that adjacent words can make, given adds up `costs`.",
            label="A wrong symbol costs",
            domain=OneOf(
                labels={
                    "hamming": "the same, whichever it is",
                    "swap": "as many swaps as it needs",
                    "given": "what a file says",
                }
            ),
            more="None: given where there are costs; else the mechanism's own, and with auto the best.",
        ),
    )
    cap: Cap | None = field(
        default=None,
        metadata=declared(
            "The most that a symbol costs under `cost` swap or given; by default a large number.",
            label="At most",
            domain=Whole(placeholder="C|none", least=1, words=("none",)),
        ),
    )
    balanced: bool = field(
        default=False,
        metadata=declared(
            "On a chain: a prior that makes all words equally easy to hide.", label="Balanced", domain=Flag()
        ),
    )
    step: int | None = field(
        default=None,
        metadata=declared(
            "With staircase: how wide its first step is.", label="First step", domain=Whole(placeholder="T", least=1)
        ),
    )
    costs: CostTable | None = field(
        default=None,
        metadata=declared("What each pair of symbols costs (`CostTable`).", label="Costs", domain=Table(), option=None),
    )
    beyond: str | None = field(
        default=None,
        metadata=declared(
            "What auto keeps for words that differ in d places, more than B: a loss of at most d/B times epsilon "
            "(graceful, the default), K times that, or nothing.",
            label="Kept beyond b",
            domain=OneOf(
                placeholder="graceful|K|nothing",
                labels={
                    "graceful": "in proportion: (d/b)·ε",
                    **{str(factor): f"at most {factor}·(d/b)·ε" for factor in (2, 4, 8)},
                    "nothing": "nothing: least error",
                },
                others=True,
            ),
            more="loss_at has what a named mechanism, or one with named costs, loses beyond b.",
        ),
    )
    not_private: bool = field(
        default=False,
        metadata=declared("Needed by mechanisms kept only to reproduce a paper.", label="Not private", domain=Flag()),
    )

    def __post_init__(self) -> None:
        metric = read_metric(self.metric, max_length=self.max_length)
        if self.mechanism != AUTO:
            self._check_name(metric)
        kind = BY_NAME.get(self.mechanism)
        read = {
            "epsilon": read_epsilon(self.epsilon, zero_allowed=kind is not None and not kind.private),
            "calibration": read_calibration(self.calibration),
            "utility": read_utility(self.utility),
            "offset": read_offset(self.offset),
            "max_length": None if self.max_length is None else read_length(self.max_length, name="max_length"),
            "cutoff": None if self.cutoff is None else read_length(self.cutoff, name="cutoff"),
            "adjacency": self.adjacency
            if self.adjacency in (None, "all")
            else read_adjacency(self.adjacency, length=1),
            "cap": read_cap(self.cap),
            "step": None if self.step is None else read_step(self.step),
            "costs": CostTable.from_document(self.costs) if isinstance(self.costs, Mapping) else self.costs,
        }
        for name, value in read.items():
            object.__setattr__(self, name, value)
        if self.prior not in ("uniform", "chain", "degrees"):
            raise ParameterError("prior", expected="uniform, chain or degrees", found=self.prior)
        for name in ("public_start", "balanced", "not_private"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(name, expected="true or false", found=getattr(self, name))
        if metric == "levenshtein" and self.public_start:
            raise ParameterError("public_start", expected="metric hamming with it", found=metric)
        if kind is not None and not kind.private and not self.not_private:
            raise NotPrivateError(
                f"mechanism {self.mechanism}: expected `not_private=True`, because its law as "
                "printed is not ε-private; it is kept to reproduce the paper"
            )
        self._check_parameters()
        self._check_costs()
        object.__setattr__(self, "beyond", self._read_beyond())

    def _read_beyond(self) -> str:
        """What is kept beyond b: by "auto", on request by the exponential and the optimal one; by Hamming distance."""
        named = self.cost or self.costs or self.step or self.cap
        if self.beyond is None:
            settled = named or self.balanced or self.metric != "hamming"
            return "graceful" if self.mechanism == AUTO and not settled else "nothing"
        beyond = read_beyond(self.beyond)
        named = named or (self.balanced and self.mechanism == AUTO)
        if beyond != "nothing" and (named or self.mechanism not in (AUTO, "exponential", "optimal")):
            raise ParameterError(
                "beyond",
                expected="nothing, unless the mechanism is auto, exponential or optimal, by Hamming distance; loss_at "
                "says what others keep",
                found=self.beyond,
            )
        return beyond

    @property
    def grace(self) -> Fraction | None:
        """K: any two words that differ in d places lose at most K·(d/b)·ε; None where nothing is kept beyond b."""
        if self.beyond == "nothing":
            return None
        return Fraction(1) if self.beyond in (None, "graceful") else Fraction(self.beyond)

    def _check_costs(self) -> None:
        """Refuse costs that contradict each other, or another parameter."""
        if self.cost is None and self.costs is None:
            if self.cap is not None and self.mechanism != AUTO:
                raise ParameterError("cap", expected="cost swap or given with it", found=self.cap)
            name = None
        else:
            name = read_cost(self.cost, self.costs)
        if name == "hamming" and self.cap is not None:
            raise ParameterError("cap", expected="cost swap or given with it", found=self.cap)
        if self.utility != "distance" and (name not in (None, "hamming") or self.balanced):
            raise ParameterError("utility", expected="distance with costs or balance", found=self.utility)
        if self.prior != "uniform" and self.balanced:
            expected = f"false with prior {self.prior}, which is another prior"
            raise ParameterError("balanced", expected=expected, found=True)

    def _check_name(self, metric: Metric) -> None:
        kind = BY_NAME.get(self.mechanism) if isinstance(self.mechanism, str) else None
        if kind is not None and kind.metric == metric:
            return
        listed = ", ".join(names(metric))
        where = "with metric levenshtein" if metric == "levenshtein" else "on words of one length (metric hamming)"
        if kind is not None and metric == "hamming":
            where += f"; {self.mechanism} needs metric levenshtein: words of different lengths"
        raise ParameterError("mechanism", expected=f"one of {listed} {where}", found=self.mechanism)

    def _check_parameters(self) -> None:
        """Refuse a parameter that the mechanism, or with "auto" every mechanism of the metric, would not look at."""
        considered = names(self.metric)[1:] if self.mechanism == AUTO else (self.mechanism,)
        for each in fields(self):
            value = getattr(self, each.name)
            takes = takers(each.name)
            # the offset is looked at with the inverse utility only, so it does no harm elsewhere
            if not takes or value == each.default or each.name == "offset" or set(takes) & set(considered):
                continue
            if each.default is None:
                expected = f"mechanism {either(takes)} with it"
            elif self.mechanism == AUTO:
                expected = f"{each.default} with metric {self.metric}"
            else:
                expected = f"{each.default} for mechanism {self.mechanism}"
            raise ParameterError(each.name, expected=expected, found=value)

    # --- as a document -------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The JSON form: what a manifest has under `parameters`."""
        document = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            # what came later is there only where it was used: finished releases in ledgers are known by this text
            if each.name not in ("not_private", "beyond")
            and (each.name not in _SINCE_0_3 or getattr(self, each.name) != each.default)
        }
        if self.beyond != "nothing":  # earlier versions kept nothing, and did not say so
            document["beyond"] = self.beyond
        if self.costs is not None:
            document["costs"] = self.costs.document()
        # the offset is spelled as 0.2 did: finished releases in ledgers are known by this text
        return document | {"epsilon": spelled(self.epsilon), "offset": str(self.offset)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> MechanismChoice:
        """The choice that a document describes; keys that it does not have are the defaults, b = 1 among them."""
        known = {each.name for each in fields(cls)} - {"not_private"}
        if "epsilon" not in document:
            raise ParameterError("epsilon", expected="a number above 0 such as 0.5 or 1/2", found="none")
        known_values = {name: value for name, value in document.items() if name in known}
        # what earlier versions took where a document does not say it
        return cls(**{"beyond": "nothing", "adjacency": 1, **known_values})

    # --- the language it is for ----------------------------------------------------------------

    def language(
        self,
        *,
        alphabet: Alphabet | Iterable[Symbol] | None = None,
        model: AnyModel | None = None,
        length: int | None = None,
    ) -> AnyLanguage:
        """The words over an alphabet, or of a model, that this choice is about.

        Parameters
        ----------
        alphabet, model
            One of them: all words over an alphabet, or the words that a model can produce.
        length
            How many symbols each word has, where only words of one length are meant. With metric "levenshtein" the
            length of a word is a secret, and `max_length` of the choice takes its place.

        >>> MechanismChoice(epsilon=1).language(alphabet="ab", length=3)
        words(alphabet of 2 symbols, length 3)
        >>> MechanismChoice(epsilon=1, metric="levenshtein", max_length=5).language(alphabet="ab")
        words_up_to(alphabet of 2 symbols, max_length 5)
        """
        if alphabet is not None and model is not None:
            raise ParameterError("alphabet", expected="an alphabet or a model", found="both")
        if self.metric == "levenshtein" and length is not None:
            raise ParameterError("length", expected="none with metric levenshtein, where it is a secret", found=length)
        if model is not None:
            return self._model_language(model, length)
        if alphabet is None:
            raise ParameterError("alphabet", expected="an alphabet or a model", found="none")
        if self.metric == "levenshtein":
            return OpenWords(Alphabet.from_symbols(alphabet), self.max_length)
        if self.public_start:
            raise ParameterError("public_start", expected="a model with public_start", found="an alphabet")
        return words_of_any_length(alphabet) if length is None else words(alphabet, length)

    def _model_language(self, model: AnyModel, length: int | None) -> AnyLanguage:
        if self.metric == "hamming":
            if length is None:
                return runs_of_any_length(model, public_start=self.public_start)
            return runs(model, length, public_start=self.public_start)
        if self.mechanism == EditChannel.name:
            raise EditChannel.refusal_of_models()
        if self.max_length is None:
            raise ParameterError("max_length", expected="a public bound on the lengths with a model", found="none")
        return runs_up_to(require_words(model), self.max_length)


def read_choice(epsilon: Number, **parameters: Any) -> MechanismChoice:
    """A choice from parameters as they were given: numbers of any kind, text, None for a default.

    >>> read_choice("0.5", adjacency=2, cutoff=None).epsilon
    Fraction(1, 2)
    """
    return MechanismChoice(epsilon=epsilon, **parameters)  # type: ignore[arg-type]  # it reads what it is given


def requested_choice(
    function: str, types: type, named: dict[str, Any], *, given: MechanismChoice | None = None, **settled: Any
) -> MechanismChoice:
    """The choice that was given, or the one that the names make, which are taken out of `named`.

    `function` and `types` say who asks, for messages, and which names it takes: others are refused, as Python does.
    Fields in `settled` the function settles itself, so that they cannot be named.

    >>> from symveil.laws.parameters import ChoiceParameters
    >>> class Named(ChoiceParameters):
    ...     keep: tuple[str, ...]
    >>> named = {"epsilon": 1, "keep": ("town",)}
    >>> requested_choice("release", Named, named, metric="hamming").epsilon, named
    (Fraction(1, 1), {'keep': ('town',)})
    """
    check_names(function, types, named, without=settled)
    if given is None:
        if "epsilon" not in named:
            raise TypeError(f"{function}() missing 1 required keyword-only argument: 'epsilon'")
        named |= settled
    return described(MechanismChoice, given, named, name="choice")
