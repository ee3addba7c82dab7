"""Options that several commands share, each declared once with one wording; and what they add up to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from symveil.cli.field_options import PATH, STEP, WHOLE_NUMBER, OneOf, Option, options_of
from symveil.errors import InputError, WordError

if TYPE_CHECKING:
    from symveil.languages.language import Language
    from symveil.mechanisms.choice import MechanismChoice
    from symveil.mechanisms.mechanism import Mechanism
    from symveil.models.alphabet import Alphabet


def _mechanism_choice() -> type:
    from symveil.mechanisms.choice import MechanismChoice

    return MechanismChoice


def _cost_files() -> type:
    from symveil.formats.cost_files import CostFiles

    return CostFiles


_LANGUAGE_OPTIONS: list[Option] = [
    click.option("--alphabet", metavar="A", help="Characters, a comma list, or @file with a symbol per line."),
    click.option("--model", metavar="M", type=PATH, help="A model: only its words are released."),
    options_of(_mechanism_choice, "public_start"),
]

_WORD_OPTIONS: list[Option] = [
    click.argument("word"),
    *_LANGUAGE_OPTIONS,
    click.option("--alphabet-from-word", is_flag=True, help="Alphabet of the word itself, which leaks it: for papers."),
    click.option("--separator", metavar="S", help="Split the word here instead of at every character."),
    click.option("--show-values", is_flag=True, help="Let error messages show the secret symbol."),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class MechanismOptions:
    """What was typed for the fields of a choice, and for the files of its costs; only `explain` does without ε."""

    typed: Mapping[str, Any]
    files: Mapping[str, Any]

    @property
    def epsilon(self) -> str | None:
        """ε as it was typed."""
        return cast("str | None", self.typed["epsilon"])

    @property
    def time_step(self) -> str | None:
        """`--step` where it was typed with a unit of time: from an artificial time to the next."""
        return self.typed["step"] if isinstance(self.typed["step"], str) else None

    def at(self, epsilon: str) -> MechanismOptions:
        """The same with another ε."""
        return replace(self, typed={**self.typed, "epsilon": epsilon})

    def choice(self, *, public_start: bool = False, for_file: bool = False) -> MechanismChoice:
        """The choice they add up to; refuses what does not go together."""
        from symveil.formats.cost_files import CostFiles
        from symveil.mechanisms.choice import read_choice

        typed = {**self.typed, "costs": CostFiles(**self.files).table(), "public_start": public_start}
        typed["not_private"] |= for_file  # refused with the words
        if for_file and self.time_step is not None:
            typed["step"] = None
        return read_choice(**typed)


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
        named = self.parameters()
        if self.model is None:
            return named
        from symveil.formats.models.model_files import load_word_model

        return {"model": load_word_model(self.model, notes=notes)}

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
        from symveil.mechanisms.selection import choose_mechanism
        from symveil.models.alphabet import split_word

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


def _mechanism_options(*, epsilon_required: bool) -> Option:
    """The options of a choice and of the files of its costs, handed over as one object."""
    not_here = ("public_start",)  # it is about the language

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_object(**values: Any) -> Any:
            from symveil.parameters import parameters_of

            kinds = (_mechanism_choice(), _cost_files())
            names = [[each.name for each in parameters_of(kind) if each.option is not None] for kind in kinds]
            typed, files = ({name: values.pop(name) for name in own if name not in not_here} for own in names)
            return command(mechanism=MechanismOptions(typed=typed, files=files), **values)

        required = {"epsilon": epsilon_required}
        choice = options_of(_mechanism_choice, without=not_here, required=required, kinds={"step": STEP})
        return choice(options_of(_cost_files)(with_object))

    return decorate


mechanism_options = _mechanism_options(epsilon_required=True)
mechanism_options_without_epsilon = _mechanism_options(epsilon_required=False)


def choice_option(*names: str, of: tuple[str, ...], text: str) -> Option:
    """One of a few words; the first is the default."""
    return click.option(*names, type=OneOf(of), default=of[0], show_default=True, help=text)


def file_option(*names: str, text: str) -> Option:
    """A file to read or to write."""
    return click.option(*names, metavar="FILE", type=PATH, help=text)


def number_option(name: str, metavar: str, *, text: str, default: int | None = None, required: bool = False) -> Option:
    """A whole number."""
    # click takes a default of None for a value, with which nothing is missing
    usual: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    return click.option(name, metavar=metavar, type=WHOLE_NUMBER, required=required, help=text, **usual)


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")

k_option = click.option(
    "--k", metavar="K|infinite", default="0", show_default=True, help="How many observations back: 0 is now."
)

notion_option = choice_option(
    "--notion",
    of=("weak", "strong", "initial", "separate-1", "separate-2", "joint-1", "joint-2"),
    text="Which instants must stay hidden: see symveil opacity.",
)

secret_option = click.option(
    "--secret", metavar="S", multiple=True, help="A secret state; replaces those of the file. Repeatable."
)


unobservable_option = click.option(
    "--unobservable",
    metavar="E",
    multiple=True,
    help="An event that the attacker does not see, beside those in the file; drawings (.dot) have none. Repeatable.",
)


def out_option(what: str, *, required: bool = True) -> Option:
    """Where a result goes. Every command writes it whole or not at all, and replaces what is there."""
    return click.option(
        "--out", metavar="FILE", type=PATH, required=required, help=f"{what}; a file of that name is replaced."
    )


def epsilon_option(*, required: bool) -> Option:
    """ε, exactly as it is typed."""
    return click.option(
        "--epsilon", metavar="E", required=required, help="Privacy budget: a decimal or a fraction, above 0."
    )


time_option = click.option(
    "--time", metavar="COL", help="The column of times, ISO 8601 or as --date-format says; such as time:timestamp."
)
