"""What a form is about: a word over an alphabet, or a trip of a model. Read as the command line reads it.

How words, guarantees and prices are shown: plain words first, the number with them.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeVar

from symveil.calibration.affordable import all_certificates_are_quick
from symveil.calibration.enumeration import is_enumerable
from symveil.errors import InputError, ModelError, ParameterError
from symveil.examples.paper_systems import TRIP, road_network
from symveil.formats.models.model_files import load_model
from symveil.formats.symbols import read_alphabet
from symveil.languages.free import FreeLanguage, words
from symveil.languages.graph import AnyModel
from symveil.languages.language import Language
from symveil.languages.runs import RunLanguage, runs
from symveil.laws.adjacency import adjacency_table
from symveil.laws.protection import Protection, typical_words
from symveil.mechanisms.attacker import AttackerView
from symveil.mechanisms.choice import AUTO
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.alphabet import Word, decode, split_word
from symveil.numbers.rationals import factor
from symveil.reports.report import Marked, Report, Section, Text
from symveil.studio.answer import Answer
from symveil.studio.forms import choice_of
from symveil.studio.limits import LIMITS
from symveil.tasks.doubts import attacker_facts, doubts, guarantee_in_words, hides_little, promise_in_words

Loaded = TypeVar("Loaded")

File = tuple[str, int]
"""A path and when it was written: a file that was written again is read again. Or the name of an example, and 0."""

NO_FILE: File = ("", 0)
"""The example roads."""

NETWORK_SEPARATOR = " "
MOST_ADJACENCY = 10
EXAMPLE_ADJACENCY = 2
"""What the example hides where nothing is chosen: at b = 2 every road of a trip has alternatives there."""
AT_ONCE = "at_once"
"""A form with this value asks for what can be shown at once: at the published rate, for which nothing is proved."""
_TYPICAL_LENGTHS = (10, 5, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class Subject:
    """A language and one of its words; `typical` where the word is not the user's but one of the public model."""

    language: FreeLanguage | RunLanguage
    word: Word
    separator: str
    typical: bool
    notes: tuple[str, ...]

    @property
    def shown_separator(self) -> str:
        """What stands between the symbols of a released word."""
        return "" if self.language.alphabet.spells_text and not self.separator else (self.separator or " ")


def read_subject(values: Mapping[str, str]) -> Subject:
    """The subject of a form with the fields of `SubjectFields`."""
    source, separator = values["source"], values["separator"]
    if source == "alphabet":
        return _free_subject(values["alphabet"], values["word"], separator)
    file = source_file(values)
    typed = values["trip"]
    if file == NO_FILE:
        separator = NETWORK_SEPARATOR
        typed = typed or NETWORK_SEPARATOR.join(TRIP)
    notes = model_in(file)[1]
    public_start = values.get("public_start") == "yes"
    if typed:
        word: Word = tuple(split_word(typed, separator or None))
        _check_length(len(word))
        language = runs_of(file, len(word), public_start)
        language.encode(word)
        return Subject(language, word, separator, source == "network" and not values["trip"], notes)
    language = _typical_language(file, public_start)
    word = decode(typical_words(language, 1)[0], language.alphabet, like=())
    return Subject(language, word, separator, True, notes)


def source_file(values: Mapping[str, str]) -> File:
    """Where the model comes from."""
    return NO_FILE if values["source"] == "network" else example_or_file(values, ("alphabet", "network"), "a model")


def example_or_file(values: Mapping[str, str], examples: Collection[str], what: str) -> File:
    """An example by its name, or the file that was dropped."""
    source = values["source"]
    if source != "file" and source not in examples:
        raise ParameterError("source", expected=f"file or one of {', '.join(examples)}", found=source)
    if source != "file":
        return source, 0
    if not values["model"]:
        raise ModelError("model", expected=f"{what}: drop a file here", found="none yet")
    return values["model"], Path(values["model"]).stat().st_mtime_ns


def loaded(path: str, load: Callable[..., Loaded]) -> tuple[Loaded, tuple[str, ...]]:
    """What a file holds and what there is to say about it, without the folder that a dropped file happens to lie in."""
    notes: list[str] = []
    return load(path, notes=notes), tuple(note.replace(path, Path(path).name) for note in notes)


def _free_subject(alphabet: str, text: str, separator: str) -> Subject:
    if alphabet.startswith("@"):
        raise InputError("alphabet: expected characters, or a list with commas, found a file name")
    symbols = read_alphabet(alphabet)
    typed = split_word(text, separator or None)
    if not separator and not symbols.spells_text:
        raise ParameterError("separator", expected="one, because there are symbols of several characters", found="none")
    _check_length(len(typed))
    language = words(symbols, len(typed))
    language.encode(typed)
    return Subject(language, tuple(typed), separator, False, ())


def _check_length(length: int) -> None:
    if length > LIMITS.now.symbols:
        raise ParameterError("word", expected=f"at most {LIMITS.now.symbols} symbols on this page", found=f"{length}")


@lru_cache(maxsize=8)
def model_in(file: File) -> tuple[AnyModel, tuple[str, ...]]:
    """The model of a file, kept: reading it again and again would hold up the slider."""
    if file == NO_FILE:
        return road_network(), ()
    return loaded(file[0], load_model)


@lru_cache(maxsize=16)
def runs_of(file: File, length: int, public_start: bool = False) -> RunLanguage:
    """Its words of one length, kept."""
    return runs(model_in(file)[0], length, public_start=public_start)


def _typical_language(file: File, public_start: bool) -> RunLanguage:
    """Words of a length to look at: ten symbols, or as many as there are."""
    for length in _TYPICAL_LENGTHS:
        try:
            return runs_of(file, length, public_start)
        except ModelError:
            if length == _TYPICAL_LENGTHS[-1]:
                raise
    raise AssertionError("the last length either returns or raises")


def read_mechanism(values: Mapping[str, str], subject: Subject) -> Mechanism:
    """The mechanism that a form asks for: refused where the command line would refuse it."""
    choice = choice_of(values, adjacency_of(values))
    if choice.metric == "hamming":
        return choose_mechanism(choice, subject.language)
    if subject.language.graph is None:
        return choose_mechanism(choice, choice.language(alphabet=subject.language.alphabet))
    return choose_mechanism(choice, choice.language(model=model_in(source_file(values))[0]))


def read_quick_mechanism(values: Mapping[str, str], subject: Subject) -> tuple[Mechanism, tuple[Text, ...]]:
    """The same for a panel that answers at once: at the published rate where a certificate takes minutes, and a note.

    A mechanism whose cost is named gets its certificate, as everywhere. With `AT_ONCE` none gets one.
    """
    if AT_ONCE in values:
        note = "A larger rate is being proved for this ε. Until then all of this is drawn at the published rate, which "
        return read_mechanism({**values, "calibration": "classic"}, subject), (Text(f"{note}is as private.", "quiet"),)
    mechanism = read_mechanism(values, subject)
    if values["mechanism"] == AUTO or values["cost"] != AUTO or mechanism.calibration != "tight":
        return mechanism, ()
    weighting = mechanism.weighting
    if weighting is None or weighting.is_plain or is_enumerable(weighting) or all_certificates_are_quick(weighting):
        return mechanism, ()
    note = "A certificate of this mechanism takes minutes on this model, so all of this is drawn at the published "
    note += "rate. To have it computed, choose what a wrong symbol costs in the form."
    return read_mechanism({**values, "calibration": "classic"}, subject), (Text(note, "quiet"),)


def undecided(values: Mapping[str, str]) -> bool:
    """Whether b is still to be chosen: on a model of one's own there is no default."""
    return values["source"] == "file" and not values["adjacency"].strip()


def adjacency_of(values: Mapping[str, str]) -> int | Literal["all"]:
    """b as it was chosen; over an alphabet 1 where nothing was, on the example what suits it. A model has no default.

    >>> adjacency_of({"source": "alphabet", "adjacency": ""}), adjacency_of({"source": "file", "adjacency": "all"})
    (1, 'all')
    >>> adjacency_of({"source": "file", "adjacency": ""})
    Traceback (most recent call last):
    symveil.errors.ParameterError: adjacency: expected a choice: on a model b is a decision, found none yet
    """
    text = values["adjacency"].strip()
    if text == "all":
        return "all"
    if text:
        if not (text.isascii() and text.isdigit() and len(text) < 9 and 1 <= int(text) <= MOST_ADJACENCY):
            raise ParameterError("adjacency", expected=f"a whole number from 1 to {MOST_ADJACENCY}", found=repr(text))
        return int(text)
    if undecided(values):
        raise ParameterError("adjacency", expected="a choice: on a model b is a decision", found="none yet")
    return 1 if values["source"] == "alphabet" else EXAMPLE_ADJACENCY


def read_names(text: str) -> tuple[str, ...]:
    """Names with commas between them, each once.

    >>> read_names(" 1, at home ,1"), read_names("  ")
    (('1', 'at home'), ())
    """
    return tuple(dict.fromkeys(name for each in text.split(",") if (name := each.strip())))


def promise(mechanism: Mechanism, noun: str, *, symbol: str = "symbol") -> Marked:
    """What the guarantee of a mechanism promises."""
    guarantee, adjacency = mechanism.guarantee, mechanism.adjacency
    known = guarantee_in_words(guarantee.how, mechanism.calibration)
    differ = f"one {symbol}" if adjacency == 1 else f"up to {adjacency} {symbol}s"
    return Marked((
        f"Anyone who sees the private {noun} can prefer one {noun} to another that differs in {differ} by a factor of "
        "at most ",
        factor(guarantee.epsilon),
        f". {known[:1].upper()}{known[1:]}.",
    ))  # fmt: skip


def promise_lines(
    mechanism: Mechanism, noun: str, view: AttackerView | None, near: Protection | None
) -> tuple[Text, ...]:
    """What else there is to say of a guarantee, in the sentences of the command line: losses, attacker, warnings."""
    losses = Text(f"ε by distance: {promise_in_words(mechanism, noun)}.", "quiet")
    return losses, *attacker_lines(mechanism, view), *(warning(each) for each in doubts(mechanism, near))


def attacker_lines(mechanism: Mechanism, view: AttackerView | None, error: float | None = None) -> tuple[Text, ...]:
    """What an attacker learns who knows the public model and sees one private word, beside the error."""
    rows = attacker_facts(mechanism, view, error=error)
    if not rows:
        return ()
    text = "; ".join(sentence for _, sentence in rows)
    little = map(warning, hides_little(view))
    return *little, Text(f"An attacker who knows the public model: {text}.", "quiet")


def warning(sentence: str) -> Text:
    """A sentence to be warned by, as the command line has it."""
    return Text(Marked((f"{sentence[:1].upper()}{sentence[1:]}.",)), "warning")


def choose_adjacency(language: Language, noun: str) -> Answer:
    """What each b hides on a model, for users who have not chosen one: nothing is released before that."""
    explained = (
        f"On a model b is a decision: two {noun}s that differ in more than b symbols are protected less, and a "
        f"symbol for which no {noun} within b has another is not hidden at all. **Choose b in the form.** By the "
        "public model; no secret is read."
    )
    (shown,) = adjacency_table(language).report().sections
    sections = Section("What is to be hidden?", (Text(explained), Text(shown.heading, "quiet"), *shown.parts))
    return Answer.without(Report(title="symveil: choose b", sections=(sections,)))


def marked_word(word: Word, released: Word, separator: str) -> Marked:
    """A released word, with the symbols that differ marked; not by colour alone."""
    between = separator or ""
    pieces = [""]
    for index, (old, new) in enumerate(zip(word, released, strict=True)):
        shown = "␣" if new == " " else str(new)
        first = between if index else ""
        if new == old:
            pieces[-1] += first + shown
        else:
            pieces[-1] += first
            pieces += [shown, ""]
    return Marked(pieces)


def marked_edits(word: Word, released: Word, separator: str) -> Marked:
    """A released word of another length, laid against the true one."""
    between = separator or ""
    pieces, begun = [""], False
    for kind, _, _, first, last in difflib.SequenceMatcher(None, word, released, autojunk=False).get_opcodes():
        shown = ["␣" if symbol == " " else str(symbol) for symbol in released[first:last]]
        for each in shown or ["·"]:
            pieces[-1] += between if begun else ""
            begun = True
            if kind == "equal":
                pieces[-1] += each
            else:
                pieces += [each, ""]
    return Marked(pieces)
