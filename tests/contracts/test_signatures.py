"""The signatures of public callables, the options of commands and the keys of their JSON: pinned in `pinned.json`.

What is written there may grow by parameters with defaults, options and keys; what stands there goes only as
docs/policies.md says. Annotations are left out: they may become more exact. `pin_anew.py` adds what is new.
"""

from __future__ import annotations

import json

import pytest

import symveil as sv
from cli.running import symveil

from .public_surface import JSON_COMMANDS, PINNED_FILE, found_options, found_signatures, keys, prepare

PINNED = json.loads(PINNED_FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(PINNED["signatures"]))
def test_signatures(name: str) -> None:
    found = found_signatures()[name]
    pinned = PINNED["signatures"][name]
    if name.endswith("members"):
        assert set(pinned) <= set(found)
        return
    # nothing that stood there is gone, renamed, or has another place or default; what is new has a default
    assert [part for part in found if part in pinned] == pinned
    assert all("=" in part for part in found if part not in pinned and part != "*")


def test_every_public_name_is_pinned() -> None:
    assert {name.removesuffix(": members") for name in PINNED["signatures"]} == set(sv.__all__) - {
        "__version__",
        "SymveilError",
    }


def test_options() -> None:
    found = found_options()
    assert set(found) == set(PINNED["options"])
    for command, options in PINNED["options"].items():
        assert set(options) <= set(found[command]), command


def test_keys_of_json_documents(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    assert set(JSON_COMMANDS) == set(PINNED["keys"])
    for name, arguments in JSON_COMMANDS.items():
        done = symveil(*arguments, "--json")
        assert done.status in (0, 1), done.err
        missing = set(PINNED["keys"][name]) - keys(done.document)
        assert not missing, (name, sorted(missing))
