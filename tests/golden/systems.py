"""Settings over systems and commands: verdicts, probabilities, distances, enforced systems, documents of commands."""

from __future__ import annotations

import io
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

from .settings import EXAMPLES, Setting

OPACITY = {
    "medical.json": [],
    "zhao2025_example4.json": [],
    "plant.fsm": ["--secret", "down"],
    "robot.json": ["--secret", "s2"],
}
POLICIES = {
    "private": ["--length", "4", "--epsilon", "2"],
    "safe": ["--length", "4", "--omega", "1"],
    "substitution": ["--length", "4", "--omega", "1"],
    "insertion": [],
    "edit": [],
}


def settings() -> Iterator[Setting]:
    """About 70 settings, by name."""
    for system, secret in OPACITY.items():
        for k in ("0", "1", "2", "infinite"):
            for notion in ("weak", "strong"):
                yield _command("opacity", system, "--k", k, "--notion", notion, *secret)
        yield _command("opacity", system, "--k", "0", "--notion", "initial", *secret)
        for policy, options in POLICIES.items():
            yield _command("enforce", system, "--k", "1", "--policy", policy, *options, *secret)
    for alpha in ("1", "6/5", "2"):
        yield _command("verify", "pin_checker.json", "--alpha", alpha)
    yield _command("verify", "randomised_response.csv", "--epsilon", "1")
    for mechanism in ("exponential", "permute-and-flip", "staircase"):
        yield _command("audit", "--alphabet", "abc", "--length", "3", "--epsilon", "1", "--mechanism", mechanism)
        yield _command(
            *(
                "audit",
                "--model",
                "roads.json",
                "--length",
                "3",
                "--epsilon",
                "2",
                "--mechanism",
                mechanism,
                "--adjacency",
                "2",
            )
        )
    yield _command("explain", "abcab", "--alphabet", "abc", "--epsilon", "2")
    yield _command("explain", "--model", "roads.json", "--length", "4", "--epsilon", "3", "--adjacency", "2")
    for paper in ("jones2019", "benvenuti2026", "zhao2025", "chistikov2019"):
        yield _command("reproduce", paper, slow=True)


def _command(*words: str, slow: bool = False) -> Setting:
    def run() -> object:
        arguments = [str(EXAMPLES / word) if (EXAMPLES / word).is_file() else word for word in words]
        return run_command([*arguments, "--json"])

    return Setting("command " + " ".join(words), run, slow=slow)


def run_command(arguments: list[str]) -> dict[str, object]:
    """Exit status and JSON document of a command, run in this process; of a refusal the status alone."""
    from symveil.cli.entry import main

    out = io.StringIO()
    status: object = 0
    # a command ends its process, and leaves signals ignored and hooks set for that: here the process goes on
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    hooks = sys.excepthook, sys.unraisablehook
    with mock.patch.object(sys, "argv", ["symveil", *arguments]), redirect_stdout(out), redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            sys.excepthook, sys.unraisablehook = hooks
    text = out.getvalue()
    return {"status": status, "document": json.loads(text) if text else None}
