"""Generators of libFAUDES (`.gen`), in its format of tokens: alphabet, states, transitions, initial states.

<Generator>                    or with attributes: <Generator name="plant" ftype="System">
"plant"                        a name
<Alphabet>
"start" "fail" +o+             an event; flags in plus signs: a small o is unobservable, a capital O observable
</Alphabet>
<States>
1 2 "busy"
</States>
<TransRel>
1 "start" 2                    state, event, state
</TransRel>
<InitStates> 1 </InitStates>   one or several
<MarkedStates> 1 </MarkedStates>
</Generator>

Marked states are not secret ones. A % begins a comment. Files in libFAUDES' XML format are refused.
"""

from __future__ import annotations

import re
from pathlib import Path

from symveil.errors import FileError
from symveil.io.models.explicit_states import is_number
from symveil.io.models.places import placed
from symveil.io.reading import read_text
from symveil.models.stochastic_system import LogicalSystem

GEN_SUFFIX = ".gen"

_LARGEST_FILE = 64 * 1024 * 1024
_TOKEN = re.compile(r'%[^\n]*|"([^"]*)"|(</?\w+>|[^\s"<]+|<)')
_HEAD = re.compile(r'\s*(?:%[^\n]*\n\s*)*<(Generator|System)((?:\s+\w+="[^"]*")*)\s*>')
_FLAGS = re.compile(r"\+[A-Za-z]*\+")
_OTHER_FLAGS = re.compile(r"\+\S*\+")
_SECTIONS = ("Alphabet", "States", "TransRel", "InitStates", "MarkedStates")
_MOST_CONSECUTIVE = 1_000_000


class _Tokens:
    """The tokens of a file with their lines; quoted ones are names, whatever they look like."""

    def __init__(self, text: str, path: Path) -> None:
        self._path = path
        self._all: list[tuple[str, bool, int]] = []
        line, at = 1, 0
        for found in _TOKEN.finditer(text):
            line += text.count("\n", at, found.start())
            at = found.start()
            if not found[0].startswith("%"):
                quoted = found[1] is not None
                self._all.append((found[1] if quoted else found[2], quoted, line))
        self._at = 0

    def next(self, expected: str) -> tuple[str, bool]:
        """The next token, and whether it is in quotes."""
        if self._at == len(self._all):
            raise FileError(str(self._path), expected=expected, found="the end of the file")
        self._at += 1
        return self._all[self._at - 1][:2]

    def refuse(self, expected: str, found: str) -> FileError:
        """What is wrong with the token that came last."""
        line = self._all[self._at - 1][2] if self._all else 1
        return FileError(f"{self._path}: line {line}", expected=expected, found=repr(found[:40]))

    def section(self, name: str) -> list[tuple[str, bool]]:
        """Everything up to the end of a section."""
        inside: list[tuple[str, bool]] = []
        while True:
            token, quoted = self.next(f"</{name}>")
            if not quoted and token == f"</{name}>":
                return inside
            if not quoted and token.startswith("<"):
                if token.strip("<>") != "Consecutive" or name == "TransRel":
                    raise self.refuse(f"</{name}>", token)
                inside += self._consecutive()
                continue
            inside.append((token, quoted))

    def _consecutive(self) -> list[tuple[str, bool]]:
        first, last, end = (self.next("two numbers and </Consecutive>")[0] for _ in range(3))
        if not (is_number(first) and is_number(last) and end == "</Consecutive>"):
            raise self.refuse("two numbers and </Consecutive>", first)
        if not 0 <= int(last) - int(first) < _MOST_CONSECUTIVE:
            raise self.refuse(f"at most {_MOST_CONSECUTIVE} states, in order", f"{first} {last}")
        return [(str(number), False) for number in range(int(first), int(last) + 1)]


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
    text = read_text(file, what=".gen file", at_most=_LARGEST_FILE)
    if text.lstrip().startswith("<?xml"):
        raise FileError(
            str(file), expected="libFAUDES' format of tokens", found="its XML format; write it with the ending .gen"
        )
    head = _HEAD.match(text)
    kind = re.search(r'ftype="([^"]*)"', head[2]) if head else None
    if head is None or (kind and kind[1] not in ("Generator", "System")):
        found = f"the type {kind[1][:40]!r}" if kind else "another beginning"
        raise FileError(str(file), expected="a file that begins with <Generator>", found=found)
    tokens = _Tokens("\n" * text.count("\n", 0, head.end()) + text[head.end() :], file)
    sections = _sections(tokens)
    observable = _alphabet(tokens, sections.get("Alphabet", []))
    states = [token for token, quoted in sections.get("States", []) if quoted or not _OTHER_FLAGS.fullmatch(token)]
    moves = _moves(tokens, sections.get("TransRel", []))
    initial = [token for token, _ in sections.get("InitStates", [])]
    if not initial:
        raise FileError(str(file), expected="at least one state in <InitStates>", found="none")
    for source, event, target in moves:
        if event not in observable:
            raise FileError(str(file), expected="events of the alphabet", found=f"the event {event[:40]!r}")
        for state in (source, target):
            if states and state not in states:
                raise FileError(str(file), expected="states of <States>", found=repr(state[:40]))
    if notes is not None and sections.get("MarkedStates"):
        notes.append("marked states are not secret: name those with --secret")
    with placed(lambda where: f"{file}: {where}"):
        return LogicalSystem.from_transitions(
            list(dict.fromkeys(moves)),
            initial=initial,
            observable=[event for event, seen in observable.items() if seen],
            states=list(dict.fromkeys(states)) or None,
        )


def _sections(tokens: _Tokens) -> dict[str, list[tuple[str, bool]]]:
    sections: dict[str, list[tuple[str, bool]]] = {}
    named = False
    while True:
        token, quoted = tokens.next("</Generator>")
        if not quoted and token in ("</Generator>", "</System>"):
            return sections
        name = token[1:-1]
        if not quoted and token.startswith("<") and token.endswith(">") and name in _SECTIONS:
            if name in sections:
                raise tokens.refuse("each section once", token)
            sections[name] = tokens.section(name)
        elif named or sections or (not quoted and token.startswith("<")):
            raise tokens.refuse(f"one of the sections {', '.join(_SECTIONS)}", token)
        else:
            named = True


def _alphabet(tokens: _Tokens, inside: list[tuple[str, bool]]) -> dict[str, bool]:
    """The events, and whether each is observable."""
    events: dict[str, bool] = {}
    last = None
    for token, quoted in inside:
        if not quoted and _OTHER_FLAGS.fullmatch(token):
            if last is None or not _FLAGS.fullmatch(token):
                raise tokens.refuse("flags of an event such as +o+", token)
            events[last] = "o" not in token
            continue
        if token in events:
            raise tokens.refuse("each event once", token)
        events[token], last = True, token
    return events


def _moves(tokens: _Tokens, inside: list[tuple[str, bool]]) -> list[tuple[str, str, str]]:
    cells = [token for token, quoted in inside if quoted or not _OTHER_FLAGS.fullmatch(token)]
    if len(cells) % 3:
        raise tokens.refuse("a state, an event and a state in each transition", cells[-1])
    return [(cells[at], cells[at + 1], cells[at + 2]) for at in range(0, len(cells), 3)]
