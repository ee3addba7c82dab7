"""Options that several commands share, and what they add up to: a language and a mechanism."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import click

from symveil.cli.single_options import Option, adjacency_option, epsilon_option
from symveil.cli.values import PATH, WHOLE_NUMBER, OneOf
from symveil.errors import InputError, ParameterError, WordError

if TYPE_CHECKING:
    from symveil.languages.bounded import BoundedRuns, BoundedWords, EveryWord
    from symveil.languages.free import FreeLanguage
    from symveil.languages.graph import Model
    from symveil.languages.runs import RunLanguage
    from symveil.mechanisms.edit_mechanism import EditMechanism
    from symveil.mechanisms.mechanism import WordMechanism
    from symveil.models.alphabet import Alphabet
    from symveil.privacy.parameters import Adjacency

    FixedLanguage = FreeLanguage | RunLanguage
    OpenLanguage = EveryWord | BoundedWords | BoundedRuns

MECHANISMS = [
    "auto",
    "exponential",
    "permute-and-flip",
    "staircase",
    "online",
    "edit",
    "truncated-levenshtein",
    "jones2019-printed",
]

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
        type=OneOf(MECHANISMS),
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

    def check_metric(self) -> None:
        """Refuse options that do not belong to the metric."""
        from symveil.privacy.parameters import read_metric

        read_metric(self.metric, max_length=self.max_length)

    @overload
    def build(self, language: FixedLanguage) -> WordMechanism: ...
    @overload
    def build(self, language: OpenLanguage) -> EditMechanism: ...
    @overload
    def build(self, language: FixedLanguage | OpenLanguage) -> WordMechanism | EditMechanism: ...

    def build(self, language: FixedLanguage | OpenLanguage) -> WordMechanism | EditMechanism:
        """The mechanism they ask for, on this language."""
        from symveil.mechanisms.selection import select_mechanism
        from symveil.privacy.parameters import read_epsilon

        return select_mechanism(
            language,
            epsilon=read_epsilon(self.epsilon),
            mechanism=self.mechanism,
            adjacency=read_adjacency_option(self.adjacency),
            calibration=self.calibration,
            prior=self.prior,
            utility=self.utility,
            offset=self.offset,
            cutoff=self.cutoff,
            not_private=self.not_private,
        )

    def parameters(self) -> dict[str, Any]:
        """The same for `privatize_file`, which makes a mechanism for each length."""
        return {
            "epsilon": self.epsilon,
            "mechanism": self.mechanism,
            "adjacency": read_adjacency_option(self.adjacency),
            "calibration": self.calibration,
            "prior": self.prior,
            "utility": self.utility,
            "offset": self.offset,
            "metric": self.metric,
            "max_length": self.max_length,
            "cutoff": self.cutoff,
        }


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

    def language(self, length: int, notes: list[str]) -> FixedLanguage:
        """The words of this length; what should be said about them goes into `notes`."""
        from symveil.languages.free import words
        from symveil.languages.runs import runs

        model = self._model(notes)
        if model is None:
            return words(self._alphabet(), length)
        return runs(model, length, public_start=self.public_start)

    def open_language(self, max_length: int | None, notes: list[str]) -> OpenLanguage:
        """The words of all lengths up to a public bound, or of any length."""
        from symveil.languages.bounded import BoundedWords, EveryWord, runs_up_to

        model = self._model(notes)
        if self.public_start:
            raise InputError(
                "public-start: expected metric hamming with --public-start, found levenshtein; a model's `initial` can "
                "hold the public first state"
            )
        if model is None:
            alphabet = self._alphabet()
            return EveryWord(alphabet) if max_length is None else BoundedWords(alphabet, max_length)
        if max_length is None:
            raise InputError(
                "max-length: expected --max-length N with --model and metric levenshtein, because the length of the "
                "word is secret, found none"
            )
        return runs_up_to(model, max_length)

    def _model(self, notes: list[str]) -> Model | None:
        from symveil.io.model_files import load_word_model

        self._check()
        return None if self.model is None else load_word_model(self.model, notes=notes)

    def parameters(self) -> dict[str, Any]:
        """The same for `privatize_file`, which reads words of all lengths."""
        self._check()
        if self.model is not None:
            return {"model": self.model, "public_start": self.public_start}
        return {"alphabet": self._alphabet()}

    def _check(self) -> None:
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

    word: str
    alphabet: str | None
    alphabet_from_word: bool
    model: Path | None
    public_start: bool
    separator: str | None
    show_values: bool

    def read(self, mechanism: MechanismOptions, notes: list[str]) -> tuple[FixedLanguage | OpenLanguage, list[str]]:
        """The language of the word, and the word; refuses a word outside it."""
        from symveil.io.symbols import split_word

        mechanism.check_metric()
        word = split_word(self.word, self.separator)
        language: FixedLanguage | OpenLanguage
        if mechanism.metric == "levenshtein":
            if mechanism.mechanism == "edit" and self.model is not None:
                from symveil.mechanisms.edit_selection import edit_on_a_model

                raise edit_on_a_model()  # before a bound is asked for that would not help
            language = self._open_language(word, mechanism.max_length, notes)
        else:
            language = self._language(word, notes)
        if self.separator is None and not language.alphabet.spells_text:
            raise InputError(
                "separator: expected --separator, because there are symbols of several characters, found none"
            )
        try:
            language.encode(word)
        except WordError as error:
            if self.show_values and error.position:
                raise WordError(f"{error}: {word[error.position - 1]!r}", position=error.position) from None
            raise
        return language, word

    def _language(self, word: list[str], notes: list[str]) -> FixedLanguage:
        from symveil.languages.free import words

        own = self._own_alphabet(word, notes)
        return words(own, len(word)) if own else self._source().language(len(word), notes)

    def _open_language(self, word: list[str], max_length: int | None, notes: list[str]) -> OpenLanguage:
        from symveil.languages.bounded import EveryWord, words_up_to

        own = self._own_alphabet(word, notes)
        if not own:
            return self._source().open_language(max_length, notes)
        return EveryWord(own) if max_length is None else words_up_to(own, max_length)

    def _source(self) -> LanguageOptions:
        return LanguageOptions(alphabet=self.alphabet, model=self.model, public_start=self.public_start)

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
mechanism_options = _collected(MechanismOptions, "mechanism", _MECHANISM_OPTIONS)
