"""`symveil opacity` with several parts: several files, or a module of Supremica's with several automata."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_opacity_command import here

__all__ = ["here"]  # a fixture


def model(transitions: str, *, observable: str, hidden: str = "") -> str:
    rows = [row.split() for row in transitions.split(", ")]
    document = {"format": "symveil/1", "kind": "stochastic-system", "initial": rows[0][0], "transitions": rows}
    return json.dumps(document | {"observable": observable.split(), "secret": hidden.split()})


def automaton(name: str, *edges: str, blocked: str = "") -> str:
    states = dict.fromkeys(state for edge in edges for state in edge.split()[::2])
    nodes = "".join(f'<SimpleNode Initial="{str(not at).lower()}" Name="{s}"/>' for at, s in enumerate(states))
    rows = "".join(
        f'<Edge Source="{source}" Target="{target}"><LabelBlock><SimpleIdentifier Name="{event}"/></LabelBlock></Edge>'
        for source, event, target in (edge.split() for edge in edges)
    )
    block = f'<LabelBlock><SimpleIdentifier Name="{blocked}"/></LabelBlock>' if blocked else ""
    graph = f"<Graph>{block}<NodeList>{nodes}</NodeList><EdgeList>{rows}</EdgeList></Graph>"
    return f'<SimpleComponent Kind="PLANT" Name="{name}">{graph}</SimpleComponent>'


def module(*automata: str) -> str:
    events = '<EventDecl Kind="UNCONTROLLABLE" Name="load" Observable="false"/>' + "".join(
        f'<EventDecl Kind="CONTROLLABLE" Name="{name}"/>' for name in ("send", "ack")
    )
    return (
        f'<Module Name="m" xmlns="http://waters.sourceforge.net/xsd/module"><EventDeclList>{events}</EventDeclList>'
        f"<ComponentList>{''.join(automata)}</ComponentList></Module>"
    )


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sender.json").write_text(
        model("idle load full, full send sent, sent ack idle", observable="send ack", hidden="sent")
    )
    Path("line.json").write_text(model("free send busy, busy ack free", observable="send ack"))
    Path("clock.json").write_text(model("idle tick idle", observable="tick"))
    sender, line = ("idle load full", "full send sent", "sent ack idle"), ("free send busy", "busy ack free")
    Path("both.wmod").write_text(module(automaton("sender", *sender), automaton("line", *line)))
    Path("one.wmod").write_text(module(automaton("sender", *sender)))
    Path("blocks.wmod").write_text(module(automaton("sender", *sender), automaton("line", *line, blocked="load")))


def test_files_are_parts(here):
    done = here("opacity", "sender.json", "line.json", "clock.json", "--k", "1", "--json")
    assert done.status == 1
    document = done.document
    assert (document["holds"], document["witness"], document["exposed_after"]) == (False, ["send"], 1)
    assert document["estimate"] == ["sent|busy"]
    assert document["dropped"] == [3]
    assert document["violation_probability"] is None
    assert "of 3 parts, these cannot matter and were left out: 3" in done.err


def test_a_module_of_several_automata(here):
    done = here("opacity", "both.wmod", "--secret", "sent", "--k", "1", "--json")
    assert done.status == 1
    assert done.document["witness"] == ["send"]
    assert here("opacity", "both.wmod", "--secret", "busy", "--json").document["witness"] == ["send"]
    assert here("opacity", "one.wmod", "--secret", "full", "--json").document["dropped"] == []


def test_a_secret_by_the_number_of_its_part(here):
    assert here("opacity", "sender.json", "clock.json", "--secret", "2:idle").status == 1
    assert here("opacity", "sender.json", "clock.json", "--secret", "1:idle").status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sender.json", "clock.json", "--secret", "idle"), "secret: expected a state of one part, or NUMBER:STATE"),
        (("sender.json", "clock.json", "--secret", "3:idle"), "secret: expected a state of one part"),
        (("sender.json", "line.json", "--theta", "1/2"), "theta: expected none with several parts, found one"),
        (("sender.json", "line.json", "--within", "0"), "within: expected none with several parts, found one"),
        (("sender.json", "line.json", "--draw", "a.svg"), "draw: expected none with several parts, found one"),
        (("sender.json", "line.json", "--notion", "joint-2"), "notion: expected weak, strong or initial"),
        (("blocks.wmod",), "blocks.wmod: expected automata that block no event of another one, found 'load'"),
        (("sender.json", "missing.json"), "missing.json"),
    ],
)
def test_bad_input_is_one_line(here, arguments, message):
    done = here("opacity", *arguments)
    assert done.status == 2
    assert done.err.startswith(f"symveil: error: {message}") and done.err.count("\n") == 1


def test_enforcement_names_the_way_for_several(here):
    done = here("enforce", "both.wmod", "--epsilon", "1")
    assert done.status == 2
    assert "expected one automaton; symveil opacity takes several" in done.err


def test_a_secret_that_no_run_of_a_part_reaches_is_noted(here):
    """As it is for a system in one file: such a secret is a slip of the pen, and never given away."""
    Path("island.json").write_text(
        model("free send busy, busy ack free, lost ack lost", observable="send ack", hidden="lost")
    )
    done = here("opacity", "sender.json", "island.json", "--k", "1")
    assert "part 2: warning: no run reaches the secret state 'lost'" in done.err and "part 1" not in done.err
    named = here("opacity", "sender.json", "island.json", "--k", "1", "--secret", "2:lost", "--secret", "sent")
    assert "part 2: warning: no run reaches the secret state 'lost'" in named.err
    assert "no run reaches" not in here("opacity", "sender.json", "line.json", "--k", "1").err
