"""`.pfa` files of VEiP: probabilistic automata whose flag says which states are *not* secret."""

from __future__ import annotations

from pathlib import Path

from symveil.errors import ModelError
from symveil.io.models.state_blocks import StateBlocks, read_blocks
from symveil.models.names import shown
from symveil.models.probabilities import read_probability
from symveil.models.stochastic_system import PartiallyObserved


def read_pfa(path: str | Path, *, notes: list[str] | None = None) -> PartiallyObserved:
    """The system in a `.pfa` file. A state with flag 0 is secret; one state has the initial probability 1.

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
            raise ModelError(blocks.place(move.line), expected="a probability at the end of the line", found="none")
    secret = [state.name for state in blocks.states.values() if not state.flag]
    if notes is not None:
        marked = "1 state with flag 0 is" if len(secret) == 1 else f"{len(secret)} states with flag 0 are"
        notes.append(f"{marked} secret, as VEiP has it")
    return blocks.system(initial=[_initial(blocks)], secret=secret, notes=notes)


def _initial(blocks: StateBlocks) -> str:
    """The one state whose initial probability is 1; refused where a run may start in several."""
    certain: list[str] = []
    for state in blocks.states.values():
        place = blocks.place(state.line)
        chance, _ = read_probability(state.chance, where=place)
        if chance not in (0, 1):
            raise ModelError(
                place,
                expected="the initial probability 0 or 1, because a system starts in one state; split it into one "
                "system for each",
                found=shown(state.chance),
            )
        if chance == 1:
            certain.append(state.name)
    if len(certain) != 1:
        raise ModelError(
            str(blocks.file), expected="one state with the initial probability 1", found=f"{len(certain) or 'none'}"
        )
    return certain[0]
