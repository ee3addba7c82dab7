"""Options that several commands share, and what they add up to: a language and a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from symveil.errors import InputError, ParameterError, WordError

if TYPE_CHECKING:
    from symveil.languages.free import FreeLanguage
    from symveil.mechanisms.mechanism import WordMechanism
    from symveil.models.alphabet import Alphabet
    from symveil.privacy.parameters import Adjacency

Command = TypeVar("Command", bound=Callable[..., Any])

MECHANISMS = ["auto", "exponential", "permute-and-flip", "staircase", "jones2019-printed"]

_MECHANISM_OPTIONS = [
    click.option("--epsilon", metavar="E", required=True, help="Privacy budget: a decimal or a fraction, above 0."),
    click.option(
        "--adjacency", metavar="B|all", default="1", show_default=True, help="Words this close are to look alike."
    ),
    click.option(
        "--metric", type=click.Choice(["hamming"]), default="hamming", show_default=True, help="What close means."
    ),
    click.option("--mechanism", type=click.Choice(MECHANISMS), default="auto", show_default=True),
    click.option(
        "--calibration",
        type=click.Choice(["tight", "classic"]),
        default="tight",
        show_default=True,
        help="tight spends the whole budget; classic is the papers' factor 2.",
    ),
    click.option("--prior", type=click.Choice(["uniform"]), default="uniform", show_default=True, help="Public prior."),
    click.option("--utility", type=click.Choice(["distance", "inverse"]), default="distance", show_default=True),
    click.option("--offset", metavar="A", default="1", show_default=True, help="Offset of the inverse utility."),
    click.option("--not-private", is_flag=True, help="Needed by mechanisms kept only to reproduce a paper."),
]

_WORD_OPTIONS = [
    click.option("--alphabet", metavar="A", help="Characters, a comma list, or @file with a symbol per line."),
    click.option("--alphabet-from-word", is_flag=True, help="Take it from the word, which leaks it: only for papers."),
    click.option("--separator", metavar="S", help="Split the word here instead of at every character."),
    click.option("--show-values", is_flag=True, help="Let error messages show the secret symbol."),
]

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")


def _apply(options: list[Callable[[Command], Command]]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


mechanism_options = _apply(_MECHANISM_OPTIONS)
word_options = _apply(_WORD_OPTIONS)


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
    not_private: bool

    def build(self, language: FreeLanguage) -> WordMechanism:
        """The mechanism they ask for, on this language."""
        from symveil.mechanisms.selection import select_mechanism
        from symveil.privacy.parameters import read_epsilon

        return select_mechanism(
            language,
            epsilon=read_epsilon(self.epsilon),
            mechanism=self.mechanism,
            adjacency=self._adjacency(),
            calibration=self.calibration,
            utility=self.utility,
            offset=self.offset,
            not_private=self.not_private,
        )

    def _adjacency(self) -> Adjacency:
        if self.adjacency == "all":
            return "all"
        try:
            return int(self.adjacency)
        except ValueError:
            raise ParameterError(
                "adjacency", expected='a whole number, 1 or more, or "all"', found=repr(self.adjacency)
            ) from None


@dataclass(frozen=True, kw_only=True, slots=True)
class WordOptions:
    """A typed word and how to read it."""

    text: str
    alphabet: str | None
    alphabet_from_word: bool
    separator: str | None
    show_values: bool

    def read(self) -> tuple[FreeLanguage, list[str]]:
        """The free language of the word, and the word; refuses a word outside the alphabet."""
        from symveil.io.symbols import split_word
        from symveil.languages.free import words

        word = split_word(self.text, self.separator)
        language = words(self._alphabet(word), len(word))
        try:
            language.encode(word)
        except WordError as error:
            if self.show_values and error.position:
                raise WordError(f"{error}: {word[error.position - 1]!r}", position=error.position) from None
            raise
        return language, word

    def _alphabet(self, word: list[str]) -> Alphabet:
        from symveil.models.alphabet import Alphabet

        if self.alphabet_from_word:
            if self.alphabet is not None:
                raise InputError("alphabet: expected --alphabet or --alphabet-from-word, found both")
            click.echo("symveil: note: the alphabet is taken from the secret word, which gives it away", err=True)
            return Alphabet.from_symbols(sorted(set(word)))
        alphabet = public_alphabet(self.alphabet)
        if self.separator is None and any(len(str(symbol)) > 1 for symbol in alphabet.symbols):
            raise InputError(
                "separator: expected --separator, because the alphabet has symbols of several characters, found none"
            )
        return alphabet


def public_alphabet(typed: str | None) -> Alphabet:
    """The alphabet of `--alphabet`; refused when missing, since the data must not define it."""
    from symveil.io.symbols import read_alphabet

    if typed is None:
        raise InputError(
            "alphabet: expected --alphabet, found none; taking it from the word would leak the word's symbols "
            "(--alphabet-from-word does so on purpose, for reproducing papers)"
        )
    return read_alphabet(typed)
