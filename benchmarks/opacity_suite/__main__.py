"""Run the suite with symveil, and with another tool if one is named: who agrees with what was published?

    python -m benchmarks.opacity_suite
    python -m benchmarks.opacity_suite --tool "mytool {fsm} --secret {secret} --notion {notion} -k {k}"
    python -m benchmarks.opacity_suite --write models/

A tool exits with 0 where opacity holds and with 1 where it does not; anything else counts as no answer. `{json}` is the
model in symveil's format, `{fsm}` in that of UMDES and DESops, `{secret}` its secret states with commas between.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from symveil.formats.models.model_json import parse_model
from symveil.models.stochastic_system import LogicalSystem
from symveil.verification.opacity.verify import verify_opacity

SUITE = Path(__file__).with_name("suite.json")
_ANSWERS = {0: True, 1: False}


def cases() -> Iterator[dict[str, Any]]:
    """The cases of the suite, each with its model as a `system`."""
    for case in json.loads(SUITE.read_text(encoding="utf-8"))["cases"]:
        system = parse_model(json.dumps(case["model"]))
        assert isinstance(system, LogicalSystem)
        yield {**case, "system": system}


def fsm_text(system: LogicalSystem) -> str:
    """The model as an `.fsm` file; its initial states come first, and the file says how many there are."""
    states = [*system.initial, *(state for state in system.states if state not in system.initial)]
    blocks = [f"{len(states)}\t{len(system.initial)}" if len(system.initial) > 1 else str(len(states))]
    for state in states:
        own = [move for move in system.transitions if move[0] == state]
        rows = [f"{event}\t{target}\tc\t{'o' if event in system.observable else 'uo'}" for _, event, target in own]
        blocks.append("\n".join([f"{state}\t1\t{len(own)}", *rows]))
    return "\n\n".join(blocks) + "\n"


def write_models(folder: Path) -> None:
    """Every model, in both formats."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        (folder / f"{case['name']}.json").write_text(json.dumps(case["model"], ensure_ascii=False, indent=1) + "\n")
        (folder / f"{case['name']}.fsm").write_text(fsm_text(case["system"]))


def answer_of(tool: str, folder: Path, case: dict[str, Any], question: dict[str, Any]) -> bool | None:
    """What a tool says."""
    values = {
        "json": folder / f"{case['name']}.json",
        "fsm": folder / f"{case['name']}.fsm",
        "secret": ",".join(case["system"].secret),
        "notion": question["notion"],
        "k": question["k"],
    }
    done = subprocess.run([part.format(**values) for part in shlex.split(tool)], capture_output=True, check=False)
    return _ANSWERS.get(done.returncode)


def table(tool: str | None = None) -> list[dict[str, Any]]:
    """A row for each question: what was published, what symveil finds, what the tool says."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder)
        for case in cases():
            for question in case["questions"]:
                verdict = verify_opacity(case["system"], question["k"], notion=question["notion"])
                row = {
                    "case": case["name"],
                    "question": f"{question['notion']} {question['k']}",
                    "published": question["published"],
                    "expected": question.get("found", question["published"]),
                    "symveil": verdict.holds,
                    "witness": None if verdict.witness is None else " ".join(verdict.witness),
                }
                rows.append(row | ({} if tool is None else {"tool": answer_of(tool, folder, case, question)}))
    return rows


def main() -> int:
    """Print the table; 0 where everybody agrees with what is expected."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opacity_suite", description=__doc__)
    parser.add_argument("--tool")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.write is not None:
        write_models(given.write)
        return 0
    rows = table(given.tool)
    asked = ["published", "expected", "symveil", *(["tool"] if given.tool else [])]
    print("\t".join(["case", "question", *asked, "witness"]))
    for row in rows:
        print("\t".join([row["case"], row["question"], *(str(row[name]) for name in asked), row["witness"] or ""]))
    wrong = sum(row[name] != row["expected"] for row in rows for name in asked[2:])
    print(f"{len(rows)} questions, {wrong} answers that differ")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
