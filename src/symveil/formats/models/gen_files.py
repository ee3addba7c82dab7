"""Generators of libFAUDES (`.gen`), in its format of tokens: alphabet, states, transitions, initial states.

<Generator>                    or with attributes: <Generator name="plant" ftype="System">
"plant"                        a name
<Alphabet>
"start" +C+ "fail" +o+ "b" 0x3 an event and its flags, as libFAUDES reads them: letters in plus signs, a capital sets
</Alphabet>                    and a small one clears (O observable, C controllable), or a number in base 16 (1
<States>                       controllable, 2 observable); an event without flags is observable and not controllable
1 2 "busy" "idle#7"            an index, or a name, whose index is its place in the list or stands after #
</States>
<TransRel>
1 "start" 2                    state, event, state: a bare number is an index, also of a state with a name; what is in
</TransRel>                    quotes is a name, also "2"
<InitStates> 1 </InitStates>   one or several
<MarkedStates> 1 </MarkedStates>
</Generator>

The short names <A> <S> <T> <I> <M> mean the same; without <States> or <Alphabet> the transitions say what there is.
Marked states are not secret ones. A % begins a comment. Colours of states, acceptance of infinite runs and fairness say
nothing about finite runs and are left out. Files in libFAUDES' XML format are refused, and so is what its reader skips
although it changes the runs: clocks, invariants, numbers after a transition.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.models.lines import is_index
from symveil.formats.reading import placed, read_text
from symveil.models.stochastic_system import LogicalSystem

GEN_SUFFIX = ".gen"

_TOKEN = re.compile(
    r"""%[^\n]*|"([^"]*)"|'([^']*)'|(\+[A-Za-z]*\+)|(0x[0-9A-Fa-f]+(?![^\s<>]))|(</?\w+\s*/?>)|([^\s<>"'][^\s<>]*|.)"""
)
_HEAD = re.compile(r'(?:%[^\n]*+\n|[^<%]++)*+<(Generator|System)((?:\s+\w+="[^"]*")*)\s*>')
_OLD_HEAD = re.compile(r"(?:%[^\n]*+\n|\s++)*+<([acmt]|diag)Generator>")
_ENTITY = re.compile(r"&(amp|quot|apos|lt|gt);")
_ENTITIES = {"amp": "&", "quot": '"', "apos": "'", "lt": "<", "gt": ">"}
_NUMERIC = re.compile(r"-?[0-9]*\.?[0-9]*|[+-]?inf|[Tt]rue|[Ff]alse")
_SECTIONS = ("Alphabet", "States", "TransRel", "InitStates", "MarkedStates")
_SHORT = {name[0]: name for name in _SECTIONS}
_INFINITE = ("RabinAcceptance", "BuechiAcceptance", "FairnessConstraints")  # of finite runs they say nothing
_TIMED = ("Clocks", "Invariant", "Timing")
_OF_STATES = "Colors"
_LONGEST_FLAGS = 10
_CONTROLLABLE, _OBSERVABLE = 1, 2

NAME, INDEX, FLAGS, MARKUP = "a name", "an index", "flags", "markup"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    kind: str
    line: int


class _Tokens:
    """The tokens of a file; quoted ones are names, whatever they look like."""

    def __init__(self, text: str, path: Path) -> None:
        self._path = path
        self._all: list[_Token] = []
        line, at = 1, 0
        for match in _TOKEN.finditer(text):
            line += text.count("\n", at, match.start())
            at = match.start()
            quoted = match[1] if match[1] is not None else match[2]
            if quoted is not None:
                spelled = _ENTITY.sub(lambda entity: _ENTITIES[entity[1]], re.sub(r"[\x00-\x1f]+", " ", quoted))
                self._all.append(_Token(spelled, NAME, line))
            elif match[3] or match[4]:
                self._all.append(_Token(match[3] or match[4], FLAGS, line))
            elif match[5]:
                self._all.append(_Token(re.sub(r"\s", "", match[5]), MARKUP, line))
            elif match[6] and not match[6].isspace():
                kind = MARKUP if match[6] in "<>" else INDEX if is_index(match[6]) else NAME
                self._all.append(_Token(match[6], kind, line))
                if match[6][0] == "+":
                    raise self.refuse("flags of an event such as +o+", self._all[-1])
                if match[6][0] in "\"'" or (kind == NAME and _NUMERIC.fullmatch(match[6])):
                    raise self.refuse("an index of at most 9 digits, or a name in quotes", self._all[-1])
        self._at = 0

    def next(self, expected: str) -> _Token:
        """The next token."""
        if self._at == len(self._all):
            raise FileError(str(self._path), expected=expected, found="the end of the file")
        self._at += 1
        return self._all[self._at - 1]

    def refuse(self, expected: str, token: _Token) -> FileError:
        """What is wrong with a token."""
        if token.kind == MARKUP and token.text.strip("<>") in _TIMED:
            expected = "a generator without clocks, whose runs do not depend on time"
        return FileError(f"{self._path}: line {token.line}", expected=expected, found=repr(token.text[:40]))

    def section(self, name: str, written: str) -> list[_Token]:
        """Everything up to the end of a section, whose name may be `written` in short."""
        inside: list[_Token] = []
        while True:
            token = self.next(f"</{written}>")
            if token.kind != MARKUP:
                inside.append(token)
            elif token.text == f"</{written}>":
                return inside
            elif token.text == f"<{_OF_STATES}>" and name == "States":
                self.skip(_OF_STATES)
            elif token.text != "<Consecutive>" or name in ("TransRel", "Alphabet"):
                raise self.refuse(f"</{written}>", token)
            else:
                inside += self._consecutive()

    def skip(self, name: str) -> None:
        """Leave out everything up to the end of a section."""
        while self.next(f"</{name}>") != _Token(f"</{name}>", MARKUP, self._all[self._at - 1].line):
            pass

    def _consecutive(self) -> list[_Token]:
        first, last, end = (self.next("two numbers and </Consecutive>") for _ in range(3))
        if not (first.kind == last.kind == INDEX and end.text == "</Consecutive>"):
            raise self.refuse("two numbers and </Consecutive>", first)
        if not 0 <= int(last.text) - int(first.text) < LIMITS.now.states:
            raise self.refuse(f"at most {LIMITS.now.states} states, in order", first)
        return [_Token(str(number), INDEX, first.line) for number in range(int(first.text), int(last.text) + 1)]


class _States:
    """The states of a generator by index and by name."""

    def __init__(self, tokens: _Tokens, declared: Sequence[_Token]) -> None:
        self._tokens = tokens
        self._by_index: dict[int, str] = {}
        self._by_name: dict[str, str] = {}
        self.names: dict[str, None] = {}
        self._grows = ""
        numbered: bool | None = None
        for at, token in enumerate(declared):
            if token.kind == FLAGS:
                if at == 0:
                    raise tokens.refuse("a state before its flags", token)
                continue
            name, mark, number = token.text.partition("#") if token.kind == NAME else (token.text, "", "")
            if token.kind == NAME:
                if numbered not in (None, bool(mark)) or (mark and not is_index(number)):
                    raise tokens.refuse("an index after # in the name of every state, or of none", token)
                numbered = bool(mark)
            self._add(token, name, int(number) if number else None)
        if not self.names:
            self._grows = "anything"

    def _add(self, token: _Token, name: str, index: int | None = None) -> str:
        """A state with a name has the index that is given or, as libFAUDES counts, its place in the list."""
        own = int(name) if token.kind == INDEX else len(self.names) + 1 if index is None else index
        spelled = str(own) if token.kind == INDEX else name
        if own in self._by_index or spelled in self.names:
            raise self._tokens.refuse("each state once, with an index and a name of its own", token)
        self._by_index[own] = spelled
        if token.kind == NAME:
            self._by_name[spelled] = spelled
        self.names[spelled] = None
        return spelled

    def find(self, token: _Token) -> str:
        """The state that a token means: a bare number by its index, what is in quotes by its name."""
        result = self._by_index.get(int(token.text)) if token.kind == INDEX else self._by_name.get(token.text)
        if result is None and self._grows in ("anything", token.kind) and token.kind in (INDEX, NAME):
            self._grows = token.kind
            if "#" not in token.text:
                result = self._add(token, token.text)
        if result is None:
            meant = "the index of a state" if token.kind == INDEX else "the name of a state, without #"
            raise self._tokens.refuse(f"states of <States>: {meant}", token)
        return result

    def close(self) -> None:
        """From here on no state is new."""
        self._grows = ""


@dataclass(frozen=True, slots=True)
class _Event:
    flags: int = _OBSERVABLE
    is_marked: bool = False


def read_gen(path: str | Path, *, notes: list[str] | None = None) -> LogicalSystem:
    """The logical system in a `.gen` file of libFAUDES.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "plant.gen")
    ...     _ = file.write_text('<Generator> plant <Alphabet> "go" "fail" +o+ </Alphabet> <States> 1 2 </States> '
    ...                         '<TransRel> 1 "go" 2 2 "fail" 1 </TransRel> <InitStates> 1 </InitStates> </Generator>')
    ...     read_gen(file)
    LogicalSystem(2 states, 2 transitions, 1 observable event, 0 secret states)
    """
    file = Path(path)
    text = read_text(file, what=".gen file", at_most=LIMITS.now.file_bytes)
    if text.lstrip().startswith("<?xml"):
        raise FileError(
            str(file), expected="libFAUDES' format of tokens", found="its XML format; write it with the ending .gen"
        )
    head = _HEAD.match(text)
    kind = re.search(r'ftype="([^"]*)"', head[2]) if head else None
    if head is None or (kind and kind[1] not in ("Generator", "System")):
        old = _OLD_HEAD.match(text)
        actual = f"the type {kind[1][:40]!r}" if kind else "another beginning"
        if old:  # from before libFAUDES 2.11; it does not read them either
            actual = f"libFAUDES' old format <{old[1]}Generator>, which says flags elsewhere: write them in <Alphabet>"
        raise FileError(str(file), expected="a file that begins with <Generator>", found=actual)
    tokens = _Tokens("\n" * text.count("\n", 0, head.end()) + text[head.end() :], file)
    sections = _sections(tokens)
    events = _alphabet(tokens, sections.get("Alphabet", []))
    states = _States(tokens, sections.get("States", []))
    moves = _moves(tokens, sections.get("TransRel", []), states, events)
    states.close()
    initial = [states.find(token) for token in sections.get("InitStates", []) if token.kind != FLAGS]
    if not initial:
        raise FileError(str(file), expected="at least one state in <InitStates>", found="none")
    if notes is not None and sections.get("MarkedStates"):
        notes.append("marked states are not secret: name those with `secret`")
    if notes is not None and sections.keys() & set(_INFINITE):
        notes.append(
            "statements about infinite runs (acceptance, fairness) were left out: opacity is about finite ones"
        )
    controllable = [name for name, event in events.items() if event.flags & _CONTROLLABLE]
    with placed(file):
        return LogicalSystem.from_transitions(
            list(dict.fromkeys(moves)),
            initial=list(dict.fromkeys(initial)),
            observable=[name for name, event in events.items() if event.flags & _OBSERVABLE],
            states=list(states.names),
            controllable=controllable if any(event.is_marked for event in events.values()) else None,
        )


def _sections(tokens: _Tokens) -> dict[str, list[_Token]]:
    sections: dict[str, list[_Token]] = {}
    named = False
    while True:
        token = tokens.next("</Generator>")
        if token.kind != MARKUP:
            if named or sections:
                raise tokens.refuse(f"one of the sections {', '.join(_SECTIONS)}", token)
            named = True
            continue
        if token.text in ("</Generator>", "</System>"):
            return sections
        written = token.text.strip("<>").removesuffix("/")
        name = _SHORT.get(written, written)
        if name in _INFINITE and not token.text.startswith("</"):
            sections.setdefault(name, [])
            if not token.text.endswith("/>"):
                tokens.skip(written)
            continue
        if name not in _SECTIONS or token.text.startswith("</"):
            raise tokens.refuse(f"one of the sections {', '.join(_SECTIONS)}", token)
        if name in sections:
            raise tokens.refuse("each section once", token)
        sections[name] = [] if token.text.endswith("/>") else tokens.section(name, written)


def _alphabet(tokens: _Tokens, inside: Sequence[_Token]) -> dict[str, _Event]:
    """The events and their flags; every bare number but one in base 16 is the name of an event."""
    events: dict[str, _Event] = {}
    last = None
    for token in inside:
        if token.kind != FLAGS:
            if token.text in events:
                raise tokens.refuse("each event once", token)
            events[token.text], last = _Event(), token.text
            continue
        event_of_line = (
            None if last is None or len(token.text) > _LONGEST_FLAGS else _Event(_flags(token.text), is_marked=True)
        )
        if last is None or event_of_line is None or (events[last].is_marked and events[last] != event_of_line):
            raise tokens.refuse("flags of an event such as +o+ or 0x3, the same wherever they are repeated", token)
        events[last] = event_of_line
    return events


def _flags(text: str) -> int:
    """Letters change what an event has by default, a number replaces it; a small letter wins over its capital."""
    if text.startswith("0x"):
        return int(text, 16)
    flags = 0 if "o" in text else _OBSERVABLE
    return flags | _CONTROLLABLE if "C" in text and "c" not in text else flags


def _moves(
    tokens: _Tokens, inside: Sequence[_Token], states: _States, events: dict[str, _Event]
) -> list[tuple[str, str, str]]:
    plain = [token for token in inside if token.kind != FLAGS]
    if len(plain) % 3:
        raise tokens.refuse("a state, an event and a state in each transition", plain[-1])
    moves: list[tuple[str, str, str]] = []
    grows = not events
    cells: list[_Token] = []
    for token in inside:
        if token.kind == FLAGS:
            if cells or not moves:
                raise tokens.refuse("a state, an event and a state in each transition, and flags after them", token)
            continue
        cells.append(token)
        if len(cells) < 3:
            continue
        source, event, target = cells
        if grows:
            events.setdefault(event.text, _Event())
        elif event.text not in events:
            raise tokens.refuse("events of the alphabet", event)
        moves.append((states.find(source), event.text, states.find(target)))
        cells = []
    return moves
