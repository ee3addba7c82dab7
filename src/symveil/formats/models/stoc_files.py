"""`.stoc` files: the probabilities of an automaton, a row `FROM TO EVENT P` for each transition.

They say nothing about observability and the initial state. The `.fsm` file of the same name beside
them does; where there is none, every event counts as observable and the first row's state as initial.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from symveil.errors import FileError, ModelError
from symveil.formats.models.lines import is_number, numbered_lines, split_cells
from symveil.formats.models.state_blocks import MoveLine, StateBlocks, StateLine, read_blocks
from symveil.models.names import shown
from symveil.models.stochastic_system import PartiallyObserved

_GZIPPED = re.compile(r"(.*)\.stoc\.gz", re.IGNORECASE | re.DOTALL)


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
    sibling = _sibling(file)
    if sibling is not None:
        return _joined(file, moves, sibling, notes)
    blocks = StateBlocks(file, moves=moves)
    for move in moves:
        for name in (move.source, move.target):
            blocks.states.setdefault(name, StateLine(name, False, 0, "0", move.line))
        blocks.events.say(move.event, None, "o", where="")
    if notes is not None:
        wanted = f"{_stem(file)}.fsm"
        notes.append(
            f"no {wanted} beside it: every event is taken as observable and {shown(moves[0].source)} as the initial "
            "state"
        )
    return blocks.system(initial=[moves[0].source], notes=notes)


def _read_rows(file: Path) -> list[MoveLine]:
    moves: list[MoveLine] = []
    with closing(numbered_lines(file, what=".stoc file")) as lines:
        for number, line in lines:
            if not line.strip() or (not moves and line.upper().split() == ["FROM", "TO", "EVENT", "P"]):
                continue
            form = "four cells: FROM, TO, EVENT and a probability"
            source, target, event, chance = split_cells(line, _is_row, form=form, where=f"{file}: line {number}")
            moves.append(MoveLine(source, event, target, chance, number))
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
            raise ModelError(
                frame.where(move.line), expected=f"no probability, because {file.name} has them", found="one"
            )
        wanted[move.source, move.event, move.target] = move.line
    for move in moves:
        if (move.source, move.event, move.target) not in wanted:
            raise ModelError(
                f"{file}: line {move.line}",
                expected=f"a transition of {sibling.name}",
                found=f"{shown(move.event)} from {shown(move.source)} to {shown(move.target)}",
            )
    given = {(move.source, move.event, move.target) for move in moves}
    for transition, line in wanted.items():
        if transition not in given:
            raise ModelError(
                str(file),
                expected=f"a probability for every transition of {sibling.name}",
                found=f"none for line {line}",
            )
    if frame.initial_count not in (None, 1):
        raise ModelError(
            str(sibling), expected="one initial state where there are probabilities", found=f"{frame.initial_count}"
        )
    joined = StateBlocks(file, frame.states, moves, frame.events, frame.declared)
    if notes is not None:
        notes.append(f"initial state and observable events are those of {sibling.name} beside it")
    return joined.system(initial=[next(iter(frame.states))], notes=notes)


def _stem(file: Path) -> str:
    packed = _GZIPPED.fullmatch(file.name)
    return packed[1] if packed else file.stem


def _sibling(file: Path) -> Path | None:
    """The `.fsm` file of the same name, beside a gzipped file also gzipped."""
    endings = (".fsm.gz", ".fsm") if _GZIPPED.fullmatch(file.name) else (".fsm",)
    for ending in endings:
        candidate = file.with_name(f"{_stem(file)}{ending}")
        if candidate.is_file():
            return candidate
    return None
