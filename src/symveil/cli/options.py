"""Options that several commands share, and what they add up to: a language and a mechanism."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.single_options import (
    Option,
    adjacency_option,
    choice_option,
    epsilon_option,
    file_option,
    number_option,
)
from symveil.cli.values import MECHANISM_NAME, PATH, STEP, OneOf
from symveil.errors import InputError, ParameterError, WordError

if TYPE_CHECKING:
    from symveil.languages.cost_table import CostTable
    from symveil.languages.language import Language
    from symveil.laws.parameters import Adjacency
    from symveil.mechanisms.choice import MechanismChoice
    from symveil.mechanisms.mechanism import Mechanism
    from symveil.models.alphabet import Alphabet

_MECHANISM_OPTIONS: list[Option] = [
    epsilon_option(required=True),
    adjacency_option,
    choice_option(
        "--metric",
        of=("hamming", "levenshtein"),
        text="What close means: substitutions, or insertions and deletions too (then the length is secret).",
    ),
    click.option(
        "--mechanism",
        type=MECHANISM_NAME,
        default="auto",
        show_default=True,
        help="How a private word is chosen; auto is the least expected error of those that keep --beyond.",
    ),
    choice_option(
        "--calibration", of=("tight", "classic"), text="tight spends the whole budget; classic is the papers' factor 2."
    ),
    choice_option(
        "--prior", of=("uniform", "chain"), text="What is likely beforehand: all words alike, or as the chain has them."
    ),
    choice_option(
        "--utility",
        of=("distance", "inverse"),
        text="What the exponential mechanism likes: a small distance, or a large 1/(distance + A) (J19).",
    ),
    click.option(
        "--offset", metavar="A", default="1", show_default=True, help="With utility inverse: its offset, above 0."
    ),
    number_option(
        "--max-length", "N", text="With metric levenshtein: no word has more symbols than this public bound."
    ),
    number_option("--cutoff", "K", text="With truncated-levenshtein: words farther than K edits are all alike."),
    click.option(
        "--cost",
        type=OneOf(("hamming", "swap", "given")),
        help="On a model: how far a word is. swap counts swaps that adjacent words can make.",
    ),
    file_option("--costs", text="What wrong symbols cost: CSV of symbol, symbol, cost."),
    file_option("--places", text="The same from a map: CSV of symbol, x, y."),
    click.option("--metres-per-unit", metavar="M", help="With --places: how far a cost of 1 reaches; 100 by default."),
    click.option("--cap", metavar="C|none", help="The most that a symbol costs; by default a large number."),
    click.option(
        "--beyond",
        metavar="graceful|K|nothing",
        help="What auto keeps for words that differ in d places, more than B: a loss of at most d/B times epsilon "
        "(graceful, the default), K times that, or nothing.",
    ),
    click.option("--balanced", is_flag=True, help="On a chain: a prior that makes all words equally easy to hide."),
    click.option("--step", metavar="T", type=STEP, help="With staircase: how wide its first step is."),
    click.option("--not-private", is_flag=True, help="Needed by mechanisms kept only to reproduce a paper."),
]

_LANGUAGE_OPTIONS = [
    click.option("--alphabet", metavar="A", help="Characters, a comma list, or @file with a symbol per line."),
    click.option("--model", metavar="M", type=PATH, help="A model: only its words are released."),
    click.option("--public-start", is_flag=True, help="The first symbol is public and is kept (Markov chains)."),
]

_WORD_OPTIONS = [
    click.argument("word"),
    *_LANGUAGE_OPTIONS,
    click.option("--alphabet-from-word", is_flag=True, help="Alphabet of the word itself, which leaks it: for papers."),
    click.option("--separator", metavar="S", help="Split the word here instead of at every character."),
    click.option("--show-values", is_flag=True, help="Let error messages show the secret symbol."),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class MechanismOptions:
    """The shared options as they were typed; only `explain` does without ε."""

    epsilon: str | None
    adjacency: str | None
    metric: str
    mechanism: str
    calibration: str
    prior: str
    utility: str
    offset: str
    max_length: int | None
    cutoff: int | None
    cost: str | None
    costs: Path | None
    places: Path | None
    metres_per_unit: str | None
    cap: str | None
    balanced: bool
    beyond: str | None
    step: int | str | None
    not_private: bool

    @property
    def time_step(self) -> str | None:
        """`--step` where it was typed with a unit of time: from an artificial time to the next."""
        return self.step if isinstance(self.step, str) else None

    def choice(self, *, public_start: bool = False, for_file: bool = False) -> MechanismChoice:
        """The choice they add up to; refuses what does not go together."""
        from symveil.mechanisms.choice import read_choice

        typed = {field.name: getattr(self, field.name) for field in fields(self)}
        typed["adjacency"] = None if self.adjacency is None else read_adjacency_option(self.adjacency)
        typed["not_private"] |= for_file  # refused with the words
        del typed["places"], typed["metres_per_unit"]
        if for_file and self.time_step is not None:
            typed["step"] = None
        typed["costs"] = self._cost_table()
        return read_choice(**typed, public_start=public_start)

    def _cost_table(self) -> CostTable | None:
        """What `--costs` or `--places` holds."""
        if self.costs is not None and self.places is not None:
            raise InputError("places: expected --costs or --places, found both")
        if self.metres_per_unit is not None and self.places is None:
            raise InputError("metres-per-unit: expected --places with it, found none")
        if self.costs is None and self.places is None:
            return None
        from symveil.formats.cost_files import read_costs, read_places

        if self.costs is not None:
            return read_costs(self.costs)
        assert self.places is not None  # noqa: S101 - one of them is there
        return read_places(self.places, metres_per_unit=self.metres_per_unit or "100")


def read_adjacency_option(text: str) -> Adjacency:
    """`--adjacency` as it was typed."""
    if text == "all":
        return "all"
    try:
        return int(text)
    except ValueError:
        raise ParameterError("adjacency", expected='a whole number, 1 or more, or "all"', found=repr(text)) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageOptions:
    """Where words come from: an alphabet, or a model."""

    alphabet: str | None
    model: Path | None
    public_start: bool

    def language(self, choice: MechanismChoice, notes: list[str], *, length: int | None = None) -> Language:
        """The words that a choice is about; what should be said about them goes into `notes`."""
        given = self.given(notes)
        # without a model the mechanism itself says whether it needs the bound; "edit" is refused on every model
        if (
            "model" in given
            and choice.metric == "levenshtein"
            and choice.max_length is None
            and choice.mechanism != "edit"
        ):
            raise InputError(
                "max-length: expected --max-length N with --model and metric levenshtein, because the length of the "
                "word is secret, found none"
            )
        return choice.language(**given, length=length)

    def given(self, notes: list[str]) -> dict[str, Any]:
        """The alphabet or the model, as it was read."""
        from symveil.formats.models.model_files import load_word_model

        named = self.parameters()
        return {"model": load_word_model(self.model, notes=notes)} if self.model is not None else named

    def parameters(self) -> dict[str, Any]:
        """The same for `privatize_file`, which reads the model itself."""
        self.check()
        return {"model": self.model} if self.model is not None else {"alphabet": self._alphabet()}

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.alphabet is not None and self.model is not None:
            raise InputError("model: expected --alphabet or --model, found both")
        if self.model is None and self.public_start:
            raise InputError("public-start: expected --model with --public-start, found no model")

    def _alphabet(self) -> Alphabet:
        """The alphabet of `--alphabet`; refused when missing, since the data must not define it."""
        from symveil.formats.symbols import read_alphabet

        if self.alphabet is None:
            raise InputError(
                "alphabet: expected --alphabet or --model, found none; taking it from the word would leak the word's "
                "symbols (--alphabet-from-word does so on purpose, for reproducing papers)"
            )
        return read_alphabet(self.alphabet)


def public_support(alphabet: str | None, model: Path | None, *, model_option: str) -> dict[str, Any]:
    """The alphabet or the model that sequences of a whole file are counted on; the data must not define it."""
    from symveil.formats.symbols import read_alphabet

    if (alphabet is None) == (model is None):
        actual = "none" if model is None else "both"
        raise InputError(
            f"alphabet: expected --alphabet or {model_option}, found {actual}; it is public, and taken from the data "
            "it would leak symbols"
        )
    return {"model": model} if alphabet is None else {"alphabet": read_alphabet(alphabet)}


@dataclass(frozen=True, kw_only=True, slots=True)
class WordOptions:
    """A typed word and how to read it."""

    word: str | None
    alphabet: str | None
    alphabet_from_word: bool
    model: Path | None
    public_start: bool
    separator: str | None
    show_values: bool

    def read(self, mechanism: MechanismOptions, notes: list[str]) -> tuple[Mechanism, list[str]]:
        """The mechanism on the language of the word, and the word; refuses a word outside it."""
        from symveil.formats.symbols import split_word
        from symveil.mechanisms.selection import choose_mechanism

        word = split_word(self.word or "", self.separator)
        language, choice = self._language(mechanism, word, notes)
        if self.separator is None and not language.alphabet.spells_text:
            raise InputError(
                "separator: expected --separator, because there are symbols of several characters, found none"
            )
        try:
            language.encode(word)
        except WordError as error:
            if self.show_values and error.position and error.position <= len(word):
                raise WordError(f"{error}: {word[error.position - 1]!r}", position=error.position) from None
            raise
        return choose_mechanism(choice, language), word

    def without_word(
        self, mechanism: MechanismOptions, length: int | None, notes: list[str]
    ) -> tuple[Language, MechanismChoice]:
        """The language of all words of a public length, and the choice; for what does not depend on a word."""
        if self.alphabet_from_word or self.separator is not None:
            name = "alphabet-from-word" if self.alphabet_from_word else "separator"
            raise InputError(f"{name}: expected a word with --{name}, found none")
        choice = mechanism.choice(public_start=self.public_start)
        if choice.metric != "hamming":
            raise InputError("metric: expected hamming without a word, found levenshtein")
        if length is None:
            raise InputError("length: expected a word, or --length N for averages over the public model, found neither")
        source = LanguageOptions(alphabet=self.alphabet, model=self.model, public_start=self.public_start)
        return source.language(choice, notes, length=length), choice

    def _language(
        self, mechanism: MechanismOptions, word: list[str], notes: list[str]
    ) -> tuple[Language, MechanismChoice]:
        own = self._own_alphabet(word, notes)
        source = LanguageOptions(alphabet=self.alphabet, model=self.model, public_start=self.public_start)
        source.check()
        choice = mechanism.choice(public_start=self.public_start)
        # the length of the word is public, or not looked at
        length = len(word) if choice.metric == "hamming" else None
        if own is not None:
            return choice.language(alphabet=own, length=length), choice
        return source.language(choice, notes, length=length), choice

    def _own_alphabet(self, word: list[str], notes: list[str]) -> Alphabet | None:
        """The symbols of the word, where that was asked for."""
        from symveil.models.alphabet import Alphabet

        if not self.alphabet_from_word:
            return None
        if self.alphabet is not None or self.model is not None:
            raise InputError("alphabet: expected --alphabet-from-word or an alphabet or model, found both")
        notes.append("the alphabet is taken from the secret word, which gives it away")
        return Alphabet.from_symbols(sorted(set(word)))


def _collected(kind: type, name: str, options: Sequence[Option]) -> Option:
    """A decorator that adds `options` to a command and hands them over as one object, called `name`."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_object(**values: Any) -> Any:
            typed = {field.name: values.pop(field.name) for field in fields(kind)}
            return command(**{name: kind(**typed)}, **values)

        decorated: Callable[..., Any] = with_object
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


language_options = _collected(LanguageOptions, "source", _LANGUAGE_OPTIONS)
word_options = _collected(WordOptions, "source", _WORD_OPTIONS)
optional_word_options = _collected(WordOptions, "source", [click.argument("word", required=False), *_WORD_OPTIONS[1:]])
mechanism_options = _collected(MechanismOptions, "mechanism", _MECHANISM_OPTIONS)
mechanism_options_without_epsilon = _collected(
    MechanismOptions, "mechanism", [epsilon_option(required=False), *_MECHANISM_OPTIONS[1:]]
)
