"""Make a system opaque by a function or a supervisor: what was found as a report, its files, and a log through it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from symveil.enforcement.synthesis import Synthesis
from symveil.errors import ParameterError
from symveil.formats.sequences.columns import ColumnOptions
from symveil.numbers.rationals import exact
from symveil.storage.atomic import write_files
from symveil.tasks.draw import diagram_text
from symveil.tasks.enforce_log import enforced_log
from symveil.tasks.parameters import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisReport:
    """What was found, the files that were written, and what there is to say."""

    synthesis: Synthesis
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The JSON form of the contract."""
        return self.synthesis.document()


def report_synthesis(
    synthesis: Synthesis,
    *,
    log: Path | None = None,
    out: Path | None = None,
    columns: ColumnOptions | None = None,
    form: RunOptions | None = None,
    function: Path | None = None,
    draw: Path | None = None,
) -> SynthesisReport:
    """Write the function, draw it, and pass a log through it, each where a file is named for it.

    Parameters
    ----------
    synthesis
        What `synthesize_opacity` found.
    log, out
        A file of observations, and the file of what is shown instead of them: both or neither.
    columns, form
        How the log is read, and how what is shown is written: spreadsheet_safe, start, time_step.
    function
        Where the function or the supervisor is to be written, as JSON.
    draw
        A picture to write, `.svg` or `.dot`.
    """
    notes: list[str] = []
    files: dict[Path, bytes] = {}
    machine = synthesis.function or synthesis.supervisor
    if machine is not None and synthesis.possible:
        if draw:
            files[draw] = diagram_text(machine.to_diagram(), draw).encode()
        if function:
            files[function] = (json.dumps(machine.document(), ensure_ascii=False) + "\n").encode()
        notes += [f"wrote {path}" for path in files]
        if log and out:
            shown = enforced_log(synthesis, log, out, columns, form)
            files[out] = shown.content
            notes += shown.notes(out)
        write_files(files)
    informed = synthesis.informed_verdict
    if informed is not None and not informed.holds:
        notes.append(
            "an observer who knows the function can be sure of a secret after "
            f"{' '.join(informed.witness or ()) or 'nothing'}: keep the function secret"
        )
    return SynthesisReport(synthesis=synthesis, notes=tuple(notes))


def read_event_costs(texts: Sequence[str], *, name: str) -> dict[str, Fraction] | None:
    """Costs as they are typed, `event=cost` each; None where there is none.

    >>> read_event_costs(["main st=2", "a=b=1/2"], name="insert-cost")
    {'main st': Fraction(2, 1), 'a=b': Fraction(1, 2)}
    """
    costs: dict[str, Fraction] = {}
    for text in texts:
        event, between, cost = text.rpartition("=")
        if not between:
            raise ParameterError(name, expected="EVENT=COST", found=repr(text))
        if event in costs:
            raise ParameterError(name, expected="each event once", found=repr(event))
        costs[event] = exact(cost, name=name, expected="EVENT=COST with a number, 0 or more")
    return costs or None
