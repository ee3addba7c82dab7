"""What can be seen of symveil from outside: signatures, options, keys of JSON documents."""

from __future__ import annotations

import inspect
import shutil
from pathlib import Path

import click

import symveil as sv
from symveil.cli.main import cli

PINNED_FILE = Path(__file__).parent / "pinned.json"
EXAMPLES = Path(__file__).parents[2] / "examples"
KILLED = Path(__file__).parents[1] / "fixtures" / "ledger_0_2_0" / "ledger.sqlite"
TRIPS = "trip_id,links\n1,a b a c\n2,b a\n"


def prepare(folder: Path) -> None:
    """What the commands below start from: trips, and a ledger with a release that is pending."""
    (folder / "trips.csv").write_text(TRIPS)
    (folder / "reversed.csv").write_text("id,sequence\n1,c b a\n2,b a\n")  # differs for certain, as a draw need not
    shutil.copy(KILLED, folder / "killed.sqlite")


def signature(callable_: object) -> list[str]:
    """Parameters as they are written: name, star, default."""
    shown = []
    keyword_only = False
    for parameter in inspect.signature(callable_).parameters.values():  # type: ignore[arg-type]
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            shown.append("*")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        shown.append(f"{'**' if parameter.kind is parameter.VAR_KEYWORD else ''}{parameter.name}{default}")
    return shown


def public_methods(kind: type) -> list[str]:
    return sorted(name for name in dir(kind) if not name.startswith("_") and not hasattr(BaseException, name))


def found_signatures() -> dict[str, object]:
    found: dict[str, object] = {}
    for name in sorted(set(sv.__all__) - {"__version__", "SymveilError"}):
        value = getattr(sv, name)
        found[name] = signature(value)
        if inspect.isclass(value):
            found[f"{name}: members"] = public_methods(value)
    return found


def found_options() -> dict[str, list[str]]:
    found = {}

    def look(command: click.Command, path: str) -> None:
        if isinstance(command, click.Group):
            for name, each in sorted(command.commands.items()):
                look(each, f"{path} {name}".strip())
            return
        options = [option for each in command.params for option in (*each.opts, *each.secondary_opts)]
        found[path] = sorted(option for option in options if option.startswith("--"))

    look(cli, "")
    return found


JSON_COMMANDS = {
    "release": ["release", "abc", "--alphabet", "abc", "--epsilon", "2"],
    "explain": ["explain", "abc", "--alphabet", "abc", "--epsilon", "2"],
    "explain on a model": [
        *("explain", "quay|market st", "--model", str(EXAMPLES / "roads.json"), "--separator", "|", "--epsilon", "3"),
        *("--adjacency", "1", "--beyond", "nothing"),
    ],
    "explain without epsilon": ["explain", "--model", str(EXAMPLES / "roads.json"), "--length", "3"],
    "audit": ["audit", "--alphabet", "ab", "--length", "2", "--epsilon", "1"],
    "opacity": ["opacity", str(EXAMPLES / "medical.json"), "--k", "2"],
    "enforce": ["enforce", str(EXAMPLES / "medical.json"), "--k", "2", "--epsilon", "2"],
    "enforce --policy edit": ["enforce", str(EXAMPLES / "medical.json"), "--k", "2", "--policy", "edit"],
    "verify": ["verify", str(EXAMPLES / "pin_checker.json"), "--alpha", "6/5"],
    "learn": ["learn", "trips.csv", "--out", "learned.json"],
    "privatize": ["privatize", "trips.csv", "--out", "private.csv", "--alphabet", "abc", "--epsilon", "2"],
    "check": ["check", "private.csv.manifest.json"],
    "compare": ["compare", "trips.csv", "reversed.csv"],
    "ledger grant of a unit": [
        *("ledger", "grant", "--ledger", "charged.db", "--epsilon", "3", "--everyone", "--adjacency", "1"),
    ],
    "privatize with a ledger": [
        *(
            "privatize",
            "trips.csv",
            "--out",
            "paid.csv",
            "--alphabet",
            "abc",
            "--epsilon",
            "2",
            "--ledger",
            "charged.db",
        ),
    ],
    "ledger grant": ["ledger", "grant", "--ledger", "budgets.db", "--epsilon", "3", "--everyone"],
    "ledger status": ["ledger", "status", "--ledger", "budgets.db"],
    "ledger status of a person": ["ledger", "status", "--ledger", "budgets.db", "--person", "alice"],
    "ledger history": ["ledger", "history", "--ledger", "budgets.db"],
    "ledger export": ["ledger", "export", "--ledger", "budgets.db", "--out", "budgets.csv"],
    "ledger abandon": ["ledger", "abandon", "--ledger", "killed.sqlite", "--release-id", "charged"],
    "ledger status of charges": ["ledger", "status", "--ledger", "killed.sqlite", "--person", "alice"],
    "ledger history of charges": ["ledger", "history", "--ledger", "charged.db"],
    "reproduce": ["reproduce", "chistikov2019"],
}
"""In this order: later ones use what earlier ones wrote."""


def keys(value: object, path: str = "$") -> set[str]:
    """The paths of all keys; the elements of a list share theirs."""
    if isinstance(value, dict):
        return {f"{path}.{key}" for key in value}.union(*(keys(each, f"{path}.{key}") for key, each in value.items()))
    if isinstance(value, list):
        return set().union(*(keys(each, f"{path}[]") for each in value[:3]))
    return set()
