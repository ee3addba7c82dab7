"""Automata as blocks of text, a block for each state: what UMDES, DESUMA, DESops and VEiP write.

2                     how many states; VEiP also writes how many of them are initial

idle  0  1            a state, its flag, how many transitions follow; in a .pfa its initial probability
go  busy  c  o  0.5   event, target, c or uc, o or uo, probability: any of the last three may be missing

busy  1  0

EVENTS                the events and their marks: this block may be missing
go  c  o

`.stoc` files: the probabilities of an automaton, a row `FROM TO EVENT P` for each transition.

They say nothing about observability and the initial state. The `.fsm` file of the same name beside
them does; where there is none, every event counts as observable and the first row's state as initial.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern

from symveil.errors import FileError, ModelError
from symveil.formats.models.lines import Line, is_number, numbered_lines
from symveil.formats.reading import beside, placed, stem
from symveil.models.markov_chain import read_probability
from symveil.models.names import shown
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem

_COUNT = re.compile(r"[0-9]{1,18}")  # Python refuses to read very long integers

SILENT = "ε"
"""What an event without a name is called."""

_STATE_FORM = "a state, 0 or 1, and the number of its transitions"
_ROW_FORM = "an event, its target and then, as far as known, c or uc, o or uo, a probability"
_EVENT_FORM = "an event and then, as far as known, c or uc, o or uo"


@dataclass(frozen=True, slots=True)
class StateLine:
    """The first line of a block; `chance` is the initial probability as it is spelled, in a .pfa."""

    name: str
    flag: bool
    transitions: int
    chance: str
    line: int


@dataclass(frozen=True, slots=True)
class MoveLine:
    """A transition, and its probability as it is spelled."""

    source: str
    event: str
    target: str
    chance: str | None
    line: int


@dataclass(slots=True)
class EventMarks:
    """The events of a file in order of mention, and what was said about each."""

    known: dict[str, None] = field(default_factory=dict)
    controllable: dict[str, str] = field(default_factory=dict)
    observable: dict[str, str] = field(default_factory=dict)

    def say(self, event: str, controllable: str | None, observable: str | None, *, where: str) -> None:
        """Note an event and its marks; refused where they contradict what was said before."""
        self.known[event] = None
        for marks, mark in ((self.controllable, controllable), (self.observable, observable)):
            if mark is not None and marks.setdefault(event, mark) != mark:
                raise ModelError(
                    where, expected=f"event {shown(event)} to be {marks[event]}, as further up", found=mark
                )

    def seen(self, notes: list[str] | None) -> tuple[str, ...]:
        """The observable events: all that are not marked `uo`. `notes` gets a line on how many have no mark."""
        unmarked = sum(1 for event in self.known if event not in self.observable)
        if unmarked and notes is not None:
            many = "1 event" if unmarked == 1 else f"{unmarked} events"
            notes.append(f"{many} without the mark o or uo: taken as observable")
        return tuple(event for event in self.known if self.observable.get(event) != "uo")

    def disabled(self) -> tuple[str, ...] | None:
        """The events that a supervisor can disable: those marked `c`; None where no event has a mark."""
        marked = tuple(event for event in self.known if self.controllable.get(event) == "c")
        return marked if self.controllable else None


@dataclass(slots=True)
class StateBlocks:
    """What a file of blocks says."""

    file: Path
    states: dict[str, StateLine] = field(default_factory=dict)
    moves: list[MoveLine] = field(default_factory=list)
    events: EventMarks = field(default_factory=EventMarks)
    declared: set[str] | None = None
    initial_count: int | None = None
    zeros: int = 0
    """How often a zero stands for the letter o."""
    unnamed: list[tuple[int, str]] = field(default_factory=list)
    """The lines without an event, and what stands after the target there."""

    def where(self, line: int) -> str:
        """How messages call a line."""
        return f"{self.file}: line {line}"

    def wrong(self, line: int | None, expected: str, found: str) -> ModelError:
        """What is wrong with a line, or with the file as a whole."""
        return ModelError(str(self.file) if line is None else self.where(line), expected=expected, found=found)

    def system(
        self, *, initial: Sequence[str], secret: Sequence[str] = (), notes: list[str] | None
    ) -> PartiallyObserved:
        """The system: stochastic where every transition has a probability, logical where none has."""
        self._require_declared()
        self._say_dialect(notes)
        chances = list(self._chances())
        names, observable = tuple(self.states), self.events.seen(notes)
        controllable = self.events.disabled()
        with placed(self.file, lambda row: self.where(self.moves[row].line)):
            if not chances:
                return LogicalSystem.from_transitions(
                    ((move.source, move.event, move.target) for move in self.moves),
                    initial=initial,
                    observable=observable,
                    secret=secret,
                    states=names,
                    controllable=controllable,
                )
            if len(initial) != 1:
                raise self.wrong(None, "one initial state where there are probabilities", f"{len(initial)}")
            rows = (
                (move.source, move.event, move.target, chance) for move, chance in zip(self.moves, chances, strict=True)
            )
            return StochasticSystem.from_transitions(
                rows,
                initial=initial[0],
                observable=observable,
                secret=secret,
                states=names,
                controllable=controllable,
                notes=notes,
            )

    def _say_dialect(self, notes: list[str] | None) -> None:
        """What was read although it is spelled differently; refused where it can be read in two ways."""
        for line, mark in self.unnamed:
            if mark in self.states:
                expected = f"an event before its target, where a state is called {mark!r}"
                raise self.wrong(line, expected, "a line that can be read in two ways")
        if notes is None:
            return
        if self.zeros:
            notes.append(f"a zero was read as the letter o in {self.zeros} marks of events")
        if self.unnamed:
            notes.append(f"{len(self.unnamed)} moves without an event are unobservable: the event is called {SILENT}")

    def _require_declared(self) -> None:
        if self.declared is None:
            return
        for move in self.moves:
            if move.event not in self.declared and move.event != SILENT:
                actual = f"the undeclared event {shown(move.event)}"
                raise self.wrong(move.line, "an event of the EVENTS block", actual)

    def _chances(self) -> Iterator[str]:
        """The probabilities of all transitions, or none at all."""
        for move in self.moves:
            if (move.chance is None) != (self.moves[0].chance is None):
                wanted, actual = ("no probability", "one") if move.chance is not None else ("a probability", "none")
                raise self.wrong(move.line, f"{wanted}, as in line {self.moves[0].line}", actual)
            if move.chance is not None:
                yield move.chance


def read_fsm(path: str | Path, *, notes: list[str] | None = None) -> PartiallyObserved:
    """The system in an `.fsm` file of UMDES, DESUMA, DESops or VEiP; the first state is the initial one.

    The flag of a state is its marking, which says nothing about secrets: those have to be given apart.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "plant.fsm")
    ...     _ = file.write_text("2\\n\\nidle\\t0\\t1\\ngo\\tbusy\\tc\\to\\n\\nbusy\\t1\\t1\\nfail\\tidle\\tuc\\tuo")
    ...     read_fsm(file)
    LogicalSystem(2 states, 2 transitions, 1 observable event, 0 secret states)
    """
    blocks = read_blocks(Path(path), what=".fsm file")
    states = tuple(blocks.states)
    count = 1 if blocks.initial_count is None else blocks.initial_count
    if not 1 <= count <= len(states):
        raise blocks.wrong(None, f"between 1 and {len(states)} initial states in its first line", f"{count}")
    return blocks.system(initial=states[:count], notes=notes)


def read_pfa(path: str | Path, *, notes: list[str] | None = None) -> PartiallyObserved:
    """The system in a `.pfa` file of VEiP. A state with flag 0 is secret; one state has the initial probability 1.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "home.pfa")
    ...     _ = file.write_text("2\\n\\nhome\\t1\\t1\\t1\\nleave\\tclinic\\to\\t1\\n\\nclinic\\t0\\t0\\t0\\n")
    ...     read_pfa(file)
    StochasticSystem(2 states, 1 transition, 1 observable event, 1 secret state)
    """
    blocks = read_blocks(Path(path), what=".pfa file", with_chances=True)
    for move in blocks.moves:
        if move.chance is None:
            raise blocks.wrong(move.line, "a probability at the end of the line", "none")
    secret = [state.name for state in blocks.states.values() if not state.flag]
    if notes is not None:
        marked = "1 state with flag 0 is" if len(secret) == 1 else f"{len(secret)} states with flag 0 are"
        notes.append(f"{marked} secret, as VEiP has it")
    return blocks.system(initial=[_initial(blocks)], secret=secret, notes=notes)


def _initial(blocks: StateBlocks) -> str:
    """The one state whose initial probability is 1; refused where a run may start in several."""
    certain: list[str] = []
    for state in blocks.states.values():
        chance, _ = read_probability(state.chance, where=blocks.where(state.line))
        if chance not in (0, 1):
            expected = "the initial probability 0 or 1, because a system starts in one state; split it into one system "
            raise blocks.wrong(state.line, f"{expected}for each", shown(state.chance))
        if chance == 1:
            certain.append(state.name)
    if len(certain) != 1:
        raise blocks.wrong(None, "one state with the initial probability 1", f"{len(certain) or 'none'}")
    return certain[0]


def read_blocks(file: Path, *, what: str, with_chances: bool = False) -> StateBlocks:
    """The blocks of a file; `with_chances`: a state's line ends with its initial probability, as in a .pfa."""
    with closing(numbered_lines(file, what=what)) as lines:
        return parse_blocks(lines, file=file, what=what, with_chances=with_chances)


def parse_blocks(lines: Iterable[Line], *, file: Path, what: str, with_chances: bool = False) -> StateBlocks:
    """The blocks in the lines of a file.

    >>> text = ["1", "", "idle 0 2", "go idle c o", "EVENTS"]
    >>> lines = [Line(Path("plant.fsm"), number, line) for number, line in enumerate(text, start=1)]
    >>> parse_blocks(lines, file=Path("plant.fsm"), what=".fsm file")
    Traceback (most recent call last):
    symveil.errors.ModelError: plant.fsm: line 5: expected 2 transitions of state 'idle', as line 3 says, found 1
    """
    blocks = StateBlocks(file)
    count: int | None = None
    state: StateLine | None = None  # whose transitions are being read
    left = 0
    number = 0
    for line in lines:
        text, number = line.text.strip(), line.number  # the last number is needed after the loop
        begun = state is not None and left < state.transitions
        if state is not None and left and (text == "EVENTS" or (not text and begun)):
            break
        if not text:
            continue
        if count is None:
            count, blocks.initial_count = _read_counts(line)
        elif blocks.declared is not None:
            _read_event(line, blocks)
        elif state is not None and left:
            blocks.moves.append(_read_move(line, state, blocks))
            left -= 1
        elif text == "EVENTS":
            blocks.declared = set()
        else:
            state = _read_state(line, blocks, with_chances=with_chances)
            left = state.transitions
    if count is None:
        raise FileError(str(file), expected=f"a {what} that begins with the number of states", found="an empty file")
    if state is not None and left:
        many = "1 transition" if state.transitions == 1 else f"{state.transitions} transitions"
        expected = f"{many} of state {shown(state.name)}, as line {state.line} says"
        raise blocks.wrong(number, expected, f"{state.transitions - left}")
    if count != len(blocks.states):
        raise blocks.wrong(None, f"{count} states, as its first line says", f"{len(blocks.states)}")
    if not blocks.states:
        raise blocks.wrong(None, "at least one state", "none")
    return blocks


def _read_counts(line: Line) -> tuple[int, int | None]:
    cells = line.text.split()
    if len(cells) > 2 or not all(_COUNT.fullmatch(cell) for cell in cells):
        raise ModelError(line.where, expected="the number of states", found=shown(line.text.strip()))
    return int(cells[0]), int(cells[1]) if len(cells) == 2 else None


def _read_state(line: Line, blocks: StateBlocks, *, with_chances: bool) -> StateLine:
    width = 4 if with_chances else 3

    def fits(cells: list[str]) -> bool:
        return (
            len(cells) == width
            and cells[1] in ("0", "1")
            and bool(_COUNT.fullmatch(cells[2]))
            and all(is_number(cell) for cell in cells[3:])
        )

    form = f"{_STATE_FORM} and its initial probability" if with_chances else _STATE_FORM
    name, flag, transitions, *chance = line.cells(fits, form=form)
    if name in blocks.states:
        before = blocks.states[name].line
        raise blocks.wrong(line.number, f"each state once, and {shown(name)} is in line {before}", "it again")
    state = StateLine(name, flag == "1", int(transitions), chance[0] if chance else "0", line.number)
    blocks.states[name] = state
    return state


def _read_move(line: Line, state: StateLine, blocks: StateBlocks) -> MoveLine:
    if _has_no_event(line.text):  # a move that no observer sees
        event, (target, *rest) = SILENT, [cell.strip() for cell in line.text.split("\t")[1:] if cell.strip()]
        controllable, observable, chance, left = _marks(rest)
        if left or observable == "o":
            raise blocks.wrong(line.number, "an event, or uo where there is none", shown(line.text.strip()))
        blocks.unnamed.append((line.number, rest[0]))
        observable = "uo"
    else:
        event, target, *rest = line.cells(_is_move, form=_ROW_FORM)
        controllable, observable, chance, _ = _marks(rest)
        blocks.zeros += _zeros(rest)
    blocks.events.say(event, controllable, observable, where=line.where)
    # names repeat: one string for each keeps large files small in memory
    return MoveLine(state.name, intern(event), intern(target), chance and intern(chance), line.number)


def _has_no_event(line: str) -> bool:
    """Whether the cell of the event is empty: a tab comes first, and a mark where an event's target would stand."""
    cells = [cell.strip() for cell in line.split("\t")]
    return line.startswith("\t") and len(cells) > 2 and bool(cells[1]) and cells[2] in ("c", "uc", "o", "uo")


def _read_event(line: Line, blocks: StateBlocks) -> None:
    event, *rest = line.cells(_is_event, form=_EVENT_FORM)
    if blocks.declared is None or event in blocks.declared:
        raise ModelError(line.where, expected="each event once in the EVENTS block", found=f"{shown(event)} again")
    blocks.declared.add(event)
    controllable, observable, _, _ = _marks(rest)
    blocks.zeros += _zeros(rest)
    blocks.events.say(event, controllable, observable, where=line.where)


def _is_move(cells: list[str]) -> bool:
    return len(cells) >= 2 and not _marks(cells[2:])[3]


def _is_event(cells: list[str]) -> bool:
    _, _, chance, rest = _marks(cells[1:])
    return len(cells) >= 1 and chance is None and not rest


def _marks(cells: Sequence[str]) -> tuple[str | None, str | None, str | None, list[str]]:
    """c or uc, o or uo, a probability, each where it is given in this order; and what is left over."""
    rest = list(cells)
    controllable = rest.pop(0) if rest and rest[0] in ("c", "uc") else None
    observable = None
    if rest and (rest[0] in ("o", "uo", "u0") or (controllable and rest[0] == "0")):
        observable = rest.pop(0).replace("0", "o")
    chance = rest.pop(0) if rest and is_number(rest[0]) else None
    return controllable, observable, chance, rest


def _zeros(cells: Sequence[str]) -> int:
    """Whether the mark o is spelled with a zero."""
    return int("u0" in cells or (len(cells) > 1 and cells[0] in ("c", "uc") and cells[1] == "0"))


def read_stoc(path: str | Path, *, notes: list[str] | None = None) -> PartiallyObserved:
    """The system in a `.stoc` file and the `.fsm` file beside it. It has no secret states.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "plant.stoc")
    ...     _ = file.write_text("idle busy go 0.75\\nidle idle wait 0.25\\n")
    ...     notes = []
    ...     read_stoc(file, notes=notes)
    StochasticSystem(2 states, 2 transitions, 2 observable events, 0 secret states)
    >>> notes
    ["no plant.fsm beside it: every event is taken as observable and 'idle' as the initial state"]
    """
    file = Path(path)
    moves = _read_rows(file)
    sibling = beside(file, ".fsm")
    if sibling is not None:
        return _joined(file, moves, sibling, notes)
    blocks = StateBlocks(file, moves=moves)
    for move in moves:
        for name in (move.source, move.target):
            blocks.states.setdefault(name, StateLine(name, False, 0, "0", move.line))
        blocks.events.say(move.event, None, "o", where="")
    if notes is not None:
        wanted = f"{stem(file)}.fsm"
        notes.append(
            f"no {wanted} beside it: every event is taken as observable and {shown(moves[0].source)} as the initial "
            "state"
        )
    return blocks.system(initial=[moves[0].source], notes=notes)


def _read_rows(file: Path) -> list[MoveLine]:
    moves: list[MoveLine] = []
    with closing(numbered_lines(file, what=".stoc file")) as lines:
        for line in lines:
            if not line.text.strip() or (not moves and line.text.upper().split() == ["FROM", "TO", "EVENT", "P"]):
                continue
            form = "four cells: FROM, TO, EVENT and a probability"
            source, target, event, chance = line.cells(_is_row, form=form)
            moves.append(MoveLine(source, event, target, chance, line.number))
    if not moves:
        raise FileError(str(file), expected="a .stoc file with at least one row FROM TO EVENT P", found="none")
    return moves


def _is_row(cells: list[str]) -> bool:
    return len(cells) == 4 and is_number(cells[3])


def _joined(file: Path, moves: list[MoveLine], sibling: Path, notes: list[str] | None) -> PartiallyObserved:
    """The transitions of both files have to be the same; everything but the probabilities is the sibling's."""
    frame = read_blocks(sibling, what=".fsm file")
    wanted: dict[tuple[str, str, str], int] = {}
    for move in frame.moves:
        if move.chance is not None:
            raise frame.wrong(move.line, f"no probability, because {file.name} has them", "one")
        wanted[move.source, move.event, move.target] = move.line
    joined = StateBlocks(file, frame.states, moves, frame.events, frame.declared)
    for move in moves:
        if (move.source, move.event, move.target) not in wanted:
            actual = f"{shown(move.event)} from {shown(move.source)} to {shown(move.target)}"
            raise joined.wrong(move.line, f"a transition of {sibling.name}", actual)
    given = {(move.source, move.event, move.target) for move in moves}
    missing = next((line for transition, line in wanted.items() if transition not in given), None)
    if missing is not None:
        expected = f"a probability for every transition of {sibling.name}"
        raise joined.wrong(None, expected, f"none for line {missing}")
    if frame.initial_count not in (None, 1):
        raise frame.wrong(None, "one initial state where there are probabilities", f"{frame.initial_count}")
    if notes is not None:
        notes.append(f"initial state and observable events are those of {sibling.name} beside it")
    return joined.system(initial=[next(iter(frame.states))], notes=notes)
