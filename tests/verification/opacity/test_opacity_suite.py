"""The public suite of published automata: our answers, the definition, and the runner that other tools use."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.opacity_suite.__main__ import cases, fsm_text, table
from test_other_notions import LONGEST, shortest_violation

import symveil as sv


def test_every_answer_is_what_was_published_or_says_why_not() -> None:
    rows = table()
    assert len(rows) == 16
    assert all(row["symveil"] == row["expected"] for row in rows)
    disputed = [row for row in rows if row["published"] != row["expected"]]
    assert [(row["case"], row["question"], row["witness"]) for row in disputed] == [
        ("falcone-2015-2d", "strong 1", "a b a c")
    ]


def test_the_definition_says_the_same() -> None:
    for case in cases():
        for question in case["questions"]:
            k = None if question["k"] == "infinite" else question["k"]
            joint = question["notion"] == "strong"
            found = shortest_violation(case["system"], k, joint, 1 if joint else 2)
            verdict = sv.verify_opacity(case["system"], question["k"], notion=question["notion"])
            length = None if verdict.witness is None else len(verdict.witness)
            assert found == (None if length is None or length > LONGEST else length), (case["name"], question)


def test_models_are_the_same_in_both_formats(tmp_path: Path) -> None:
    for case in cases():
        (tmp_path / "m.fsm").write_text(fsm_text(case["system"]))
        again = sv.load_model(tmp_path / "m.fsm").with_secret(case["system"].secret)
        assert set(again.transitions) == set(case["system"].transitions)
        assert (again.initial, set(again.observable)) == (case["system"].initial, set(case["system"].observable))


def test_another_tool_is_asked_and_its_answers_stand_beside_ours(tmp_path: Path) -> None:
    """A tool that says of everything that it holds."""
    tool = tmp_path / "tool.py"
    tool.write_text("import sys, pathlib\nsys.exit(0 if pathlib.Path(sys.argv[1]).is_file() and sys.argv[2] else 2)\n")
    rows = table(f"{sys.executable} -S -E {tool} {{fsm}} {{secret}}")
    assert all(row["tool"] is True for row in rows)
    assert sum(row["tool"] != row["expected"] for row in rows) == 10
