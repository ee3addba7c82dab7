"""`.fsm` files of UMDES, DESUMA and DESops (and of VEiP, whose first line also counts the initial states).

The flag of a state is its marking, which says nothing about secrets: those have to be given apart.
"""

from __future__ import annotations

from pathlib import Path

from symveil.errors import ModelError
from symveil.io.models.state_blocks import read_blocks
from symveil.models.stochastic_system import PartiallyObserved


def read_fsm(path: str | Path, *, notes: list[str] | None = None) -> PartiallyObserved:
    """The system in an `.fsm` file; the first state is the initial one. It has no secret states.

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
        raise ModelError(
            str(path), expected=f"between 1 and {len(states)} initial states in its first line", found=f"{count}"
        )
    return blocks.system(initial=states[:count], notes=notes)
