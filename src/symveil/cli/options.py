"""Options that several commands share, and what they add up to: a language and a mechanism."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.single_options import Option, adjacency_option, epsilon_option
from symveil.cli.values import MECHANISM_NAME, PATH, WHOLE_NUMBER, OneOf
from symveil.errors import InputError, ParameterError, WordError

if TYPE_CHECKING:
    from symveil.languages.language import Language
    from symveil.mechanisms.choice import MechanismChoice
    from symveil.mechanisms.mechanism import Mechanism
    from symveil.models.alphabet import Alphabet
    from symveil.privacy.parameters import Adjacency

_MECHANISM_OPTIONS = [
    epsilon_option(required=True),
    adjacency_option,
    click.option(
        "--metric",
        type=OneOf(["hamming", "levenshtein"]),
        default="hamming",
        show_default=True,
        help="What close means: substitutions, or insertions and deletions too (then the length is secret).",
    ),
    click.option(
        "--mechanism",
        type=MECHANISM_NAME,
        default="auto",
        show_default=True,
        help="How a private word is chosen; auto is the least expected error.",
    ),
    click.option(
        "--calibration",
        type=OneOf(["tight", "classic"]),
        default="tight",
        show_default=True,
        help="tight spends the whole budget; classic is the papers' factor 2.",
    ),
    click.option(
        "--prior",
        type=OneOf(["uniform", "chain"]),
        default="uniform",
        show_default=True,
        help="What is likely beforehand: all words alike, or as the chain has them.",
    ),
    click.option(
        "--utility",
        type=OneOf(["distance", "inverse"]),
        default="distance",
        show_default=True,
        help="What the exponential mechanism likes: a small distance, or a large 1/(distance + A) (J19).",
    ),
    click.option(
        "--offset", metavar="A", default="1", show_default=True, help="With utility inverse: its offset, above 0."
    ),
    click.option(
        "--max-length",
        metavar="N",
        type=WHOLE_NUMBER,
        help="With metric levenshtein: no word has more symbols than this public bound.",
    ),
    click.option(
        "--cutoff",
        metavar="K",
        type=WHOLE_NUMBER,
        help="With truncated-levenshtein: words farther than K edits are all alike.",
    ),
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
    """The shared options as they were typed."""

    epsilon: str
    adjacency: str
    metric: str
    mechanism: str
    calibration: str
    prior: str
    utility: str
    offset: str
    max_length: int | None
    cutoff: int | None
    not_private: bool

    def choice(self, *, public_start: bool = False, for_file: bool = False) -> MechanismChoice:
        """The choice they add up to; refuses what does not go together."""
        from symveil.mechanisms.choice import read_choice

        typed = {field.name: getattr(self, field.name) for field in fields(self)}
        typed["adjacency"] = read_adjacency_option(self.adjacency)
        typed["not_private"] |= for_file  # refused with the words
        return read_choice(**typed, public_start=public_start)


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
        return choice.language(**self.given(choice, notes), length=length)

    def given(self, choice: MechanismChoice, notes: list[str]) -> dict[str, Any]:
        """The alphabet or the model, as it was read."""
        from symveil.io.models.model_files import load_word_model

        self.check()
        if self.model is None:
            return {"alphabet": self._alphabet()}
        if choice.metric == "levenshtein":
            self._check_secret_length(choice)
        return {"model": load_word_model(self.model, notes=notes)}

    def _check_secret_length(self, choice: MechanismChoice) -> None:
        if choice.max_length is None and choice.mechanism != "edit":  # which is refused on every model
            raise InputError(
                "max-length: expected --max-length N with --model and metric levenshtein, because the length of the "
                "word is secret, found none"
            )

    def parameters(self) -> dict[str, Any]:
        """The same for `privatize_file`, which reads words of all lengths."""
        self.check()
        if self.model is not None:
            return {"model": self.model}
        return {"alphabet": self._alphabet()}

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.alphabet is not None and self.model is not None:
            raise InputError("model: expected --alphabet or --model, found both")
        if self.model is None and self.public_start:
            raise InputError("public-start: expected --model with --public-start, found no model")

    def _alphabet(self) -> Alphabet:
        """The alphabet of `--alphabet`; refused when missing, since the data must not define it."""
        from symveil.io.symbols import read_alphabet

        if self.alphabet is None:
            raise InputError(
                "alphabet: expected --alphabet or --model, found none; taking it from the word would leak the word's "
                "symbols (--alphabet-from-word does so on purpose, for reproducing papers)"
            )
        return read_alphabet(self.alphabet)


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
        from symveil.io.symbols import split_word
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
