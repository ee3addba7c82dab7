"""`symveil opacity`: the contract's JSON, its exit statuses, and one line for every kind of bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from symveil.cli.main import main

from .running import Finished, symveil

EXAMPLES = Path(__file__).parents[2] / "examples"
MEDICAL = str(EXAMPLES / "medical.json")
PROMISED = {
    "property", "notion", "k", "holds", "violation_probability", "witness", "estimator_states", "system_states",
}  # fmt: skip

PLANT = {
    "format": "symveil/1",
    "kind": "stochastic-system",
    "initial": "0",
    "observable": ["a", "b"],
    "secret": ["1"],
    "transitions": [["0", "a", "1", "1/4"], ["0", "b", "2", 0.75]],
}
LOGICAL = {**PLANT, "transitions": [["0", "a", "1"], ["0", "a", "2"], ["0", "b", "1"]]}
FSM = "3\n\ns0\t0\t2\na\ts1\tc\to\nb\ts2\tc\to\n\ns1\t0\t0\n\ns2\t1\t0"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("plant.json", PLANT)
    write("logical.json", LOGICAL)
    Path("plant.fsm").write_text(FSM)


def write(name: str, model: dict) -> None:
    Path(name).write_text(json.dumps(model))


@pytest.fixture
def here(capsys):
    """The command line in this process: what it prints and how it exits, without half a second of imports."""

    def run(*arguments: str) -> Finished:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = capsys.readouterr()
        return Finished(left.value.code or 0, out, err)

    return run


# --- answers --------------------------------------------------------------------------------------


def test_json_of_the_medical_system():
    done = symveil("opacity", MEDICAL, "--k", "2", "--json")
    assert done.status == 1
    assert done.err == ""
    assert done.document.keys() >= PROMISED
    expected = {
        "property": "weak 2-step opacity",
        "notion": "weak",
        "k": 2,
        "holds": False,
        "violation_probability": "1/3",
        "witness": ["a", "d"],
        "system_states": 11,
    }
    assert {key: done.document[key] for key in expected} == expected
    assert isinstance(done.document["estimator_states"], int)


def example_of_the_help(command: str) -> list[str]:
    """What the help says one can type, without the name of the program."""
    text = " ".join(symveil(command, "--help").out.split())
    return text.partition("Example: symveil ")[2].split()


def test_the_example_of_the_help_works(monkeypatch):
    monkeypatch.chdir(EXAMPLES.parent)
    example = example_of_the_help("opacity")
    assert example[:2] == ["opacity", "examples/medical.json"]
    done = symveil(*example)
    assert done.status in {0, 1}
    assert "weak 2-step opacity" in done.out
    assert "1/3" in done.out
    assert "a d" in done.out
    assert done.err == ""


def test_a_system_that_keeps_its_secret(here):
    write("kept.json", {**PLANT, "transitions": [["0", "a", "1", "1/2"], ["0", "u", "2", "1/2"], ["2", "a", "3", 1]]})
    done = here("opacity", "kept.json", "--k", "infinite", "--json")
    assert done.status == 0
    assert done.document["holds"] is True
    assert done.document["k"] == "infinite"
    assert (done.document["violation_probability"], done.document["witness"]) == ("0", None)
    assert "holds" in here("opacity", "kept.json").out


@pytest.mark.parametrize(("theta", "holds"), [("1/2", True), ("0.2500001", True), ("1/4", False), ("0.1", False)])
def test_almost_opacity_is_strictly_below_theta(here, theta, holds):
    done = here("opacity", "plant.json", "--theta", theta, "--json")
    assert done.document["holds"] is holds
    assert done.status == (0 if holds else 1)
    assert done.document["violation_probability"] == "1/4"
    assert done.document["witness"] == ["a"]


def test_a_logical_system_has_a_verdict_and_no_probability(here):
    done = here("opacity", "logical.json", "--json")
    assert done.status == 1
    assert done.document["witness"] == ["b"]
    assert done.document["violation_probability"] is None
    assert done.document["estimate"] == ["1"]


@pytest.mark.parametrize(
    ("notion", "k", "name"),
    [("weak", 0, "weak current-state opacity"), ("strong", 1, "strong 1-step opacity"), ("initial", None, "initial-")],
)
def test_every_notion_is_named(here, notion, k, name):
    done = here("opacity", "plant.json", "--notion", notion, "--k", str(k or 0), "--json")
    assert done.document["notion"] == notion
    assert done.document["k"] == k
    assert done.document["property"].startswith(name)
    assert done.status == (0 if notion == "initial" else 1)


def test_secrets_of_an_fsm_come_by_option_and_never_from_its_marking(here):
    """s2 is marked in the file."""
    done = here("opacity", "plant.fsm", "--json")
    assert done.status == 0
    assert done.err.startswith("symveil: note: plant.fsm: no state is secret")
    assert here("opacity", "plant.fsm", "--secret", "s1", "--json").document["witness"] == ["a"]
    both = here("opacity", "plant.fsm", "--secret", "s1", "--secret", "s2")
    assert both.status == 1
    assert both.err == ""
    # on a file with secrets they take their place
    assert here("opacity", "plant.json", "--secret", "2", "--json").document["witness"] == ["b"]


def test_an_unreachable_secret_is_a_warning(here):
    write("far.json", {**PLANT, "states": ["0", "1", "2", "9"], "secret": ["9"]})
    done = here("opacity", "far.json", "--json")
    assert done.status == 0
    assert done.document["violation_probability"] == "0"
    assert done.err == "symveil: note: far.json: warning: no run reaches the secret state '9'\n"


def test_a_horizon(here):
    write("loop.json", {**PLANT, "transitions": [["0", "a", "0", "1/2"], ["0", "b", "1", "1/2"]]})
    found = [here("opacity", "loop.json", "--within", t, "--json").document for t in ("1", "2", "3")]
    assert [each["violation_probability"] for each in found] == ["1/2", "3/4", "7/8"]
    assert [each["within"] for each in found] == [1, 2, 3]
    assert here("opacity", "loop.json", "--json").document["violation_probability"] == "1"


def test_what_holds_goes_with_the_probability_that_is_shown(here):
    """Within one event nothing is given away: 0 is the probability, and the contract says that it then holds."""
    done = here("opacity", MEDICAL, "--k", "2", "--within", "1", "--json")
    assert done.document["violation_probability"] == "0"
    assert done.document["holds"] is True
    assert done.status == 0


@pytest.mark.parametrize(
    ("within", "theta", "holds"),
    [
        ("0", None, True), ("1", None, False),
        ("1", "3/5", True), ("1", "1/2", False), ("2", "3/5", False), ("2", "4/5", True), ("3", "4/5", False),
    ],
)  # fmt: skip
def test_within_a_horizon_it_holds_if_the_probability_there_is_nothing_or_below_theta(here, within, theta, holds):
    """1/2, 3/4 and 7/8 within one, two and three events, and 1 at last."""
    write("loop.json", {**PLANT, "transitions": [["0", "a", "0", "1/2"], ["0", "b", "1", "1/2"]]})
    done = here("opacity", "loop.json", "--within", within, *(("--theta", theta) if theta else ()), "--json")
    assert done.document["holds"] is holds
    assert done.status == (0 if holds else 1)


def test_bounds_of_nothing_are_nothing(here):
    bounds = here("opacity", "plant.json", "--secret", "0", "--notion", "initial", "--json").document[
        "violation_bounds"
    ]
    assert bounds == {"lower": 1, "upper": 1}
    done = here("opacity", MEDICAL, "--notion", "initial", "--json")
    assert done.document["violation_bounds"] == {"lower": 0, "upper": 0}
    assert "-0.0" not in done.out


# --- errors ---------------------------------------------------------------------------------------

BAD_MODELS = {
    "undeclared.fsm": "2\n\nidle\t0\t1\ngo\tbusy\tc\to\n\nbusy\t1\t1\nfail\tidle\tuc\tuo\n\nEVENTS\ngo c o\n",
    "blind.fsm": "2\n\nidle\t0\t1\ngo\tbusy\tc\tuo\n\nbusy\t1\t0\n",
    "sum.json": json.dumps({**PLANT, "transitions": [["0", "a", "1", "1/4"], ["0", "b", "2", 0.7]]}),
    "blind.json": json.dumps({**PLANT, "observable": []}),
    "secret.json": json.dumps({**PLANT, "secret": ["7"]}),
    "two.json": json.dumps({**PLANT, "transitions": [["0", "a", "1", "1/4"], ["0", "a", "2", "3/4"]]}),
    "chain.json": json.dumps({"format": "symveil/1", "kind": "markov-chain", "transitions": [["a", "a", 1]]}),
    "torn.json": "{",
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "MODEL"),
        (("none.json",), "none.json: expected a readable model file, found No such file or directory"),
        (
            ("undeclared.fsm",),
            "undeclared.fsm: line 7: expected an event of the EVENTS block, found the undeclared event",
        ),
        (("blind.fsm",), "at least one observable event"),
        (("blind.json",), "blind.json: $.observable: expected at least one observable event"),
        (("sum.json",), "sum.json: "),
        (("sum.json",), "sum to 1"),
        (("secret.json",), "secret.json: $.secret[0]: expected a state that occurs in the model, found"),
        (("two.json",), "two.json: $.transitions[1]: expected one transition from '0' by event 'a'"),
        (
            ("chain.json",),
            "chain.json: expected a partially observed system (kind stochastic-system), found markov-chain",
        ),
        (("torn.json",), "torn.json"),
        (("plant.json", "--secret", "none"), "secret: expected a state of the system, found 'none'"),
        (("plant.fsm", "--secret", "none"), "secret: expected a state of the system, found 'none'"),
        (("plant.json", "--k", "-1"), "k: expected a whole number, 0 or more, or 'infinite', found -1"),
        (("plant.json", "--k", "1.5"), "k: expected a whole number, 0 or more, or 'infinite', found 1.5"),
        (("plant.json", "--k", "lots"), "k: expected a whole number, 0 or more, or 'infinite', found lots"),
        (
            ("plant.json", "--notion", "mild"),
            "notion: expected one of weak, strong, initial, separate-1, separate-2, joint-1, joint-2, found 'mild'",
        ),
        (("plant.json", "--theta", "0"), "theta: expected a number above 0 and at most 1, found 0"),
        (("plant.json", "--theta", "1.1"), "theta: expected a number above 0 and at most 1, found 1.1"),
        (("plant.json", "--theta", "much"), "theta: expected a number above 0 and at most 1, found 'much'"),
        (("logical.json", "--theta", "1/2"), "expected probabilities on every transition for a threshold or a horizon"),
        (
            ("plant.fsm", "--secret", "s1", "--theta", "1/2"),
            "expected probabilities on every transition for a threshold",
        ),
        (("logical.json", "--within", "3"), "expected probabilities on every transition for a threshold or a horizon"),
        (("plant.json", "--within", "-1"), "within: expected a whole number of events, 0 or more, found -1"),
        (("plant.json", "--within", "x"), "within: expected a whole number, found 'x'"),
        (("plant.json", "--draw", "plant.png"), "draw: expected a file name ending in .svg or .dot, found 'plant.png'"),
        (
            ("plant.json", "--draw-observer", "o"),
            "draw-observer: expected a file name ending in .svg or .dot, found 'o'",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(here, arguments, expected):
    for name, text in BAD_MODELS.items():
        Path(name).write_text(text)
    before = sorted(Path.cwd().iterdir())
    assert expected in here("opacity", *arguments).assert_one_error_line()
    assert sorted(Path.cwd().iterdir()) == before


def test_no_picture_is_left_behind_by_bad_input(here):
    """Two pictures were asked for, and one of them cannot be written."""
    before = sorted(Path.cwd().iterdir())
    here("opacity", "plant.json", "--draw", "s.svg", "--draw-observer", "plant.json/o.svg").assert_one_error_line()
    assert sorted(Path.cwd().iterdir()) == before


@pytest.mark.parametrize("other", ["s.svg", "./s.svg", "sub/../s.svg"])
def test_two_pictures_of_one_name_are_refused(here, other):
    Path("sub").mkdir()
    before = sorted(Path.cwd().iterdir())
    line = here("opacity", "plant.json", "--draw", "s.svg", "--draw-observer", other).assert_one_error_line()
    assert "draw-observer: expected another file than --draw, found 's.svg'" in line
    assert sorted(Path.cwd().iterdir()) == before


def test_bad_input_in_a_process_of_its_own():
    Path("sum.json").write_text(BAD_MODELS["sum.json"])
    line = symveil("opacity", "sum.json", "--json").assert_one_error_line()
    assert "sum.json" in line


# --- pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["svg", "dot"])
def test_pictures(here, suffix):
    done = here("opacity", "plant.json", "--draw", f"s.{suffix}", "--draw-observer", f"o.{suffix}", "--json")
    assert done.status == 1
    assert done.document["witness"] == ["a"]
    system, observer = Path(f"s.{suffix}").read_text(), Path(f"o.{suffix}").read_text()
    start = {"svg": "<", "dot": "digraph"}[suffix]
    assert system.lstrip().startswith(start)
    assert observer.lstrip().startswith(start)
    assert "1/4" in system
    assert system != observer


def test_events_of_a_drawing_that_nobody_sees(tmp_path):
    """A drawing cannot say it: --unobservable does, and the verdict is that of a model that says it itself."""
    drawing, model = tmp_path / "m.dot", tmp_path / "m.json"
    moves = [["a", "u", "s"], ["a", "x", "b"], ["s", "x", "t"], ["b", "y", "b"], ["t", "z", "t"]]
    edges = " ".join(f'{one} -> {other} [label="{event}"];' for one, event, other in moves)
    drawing.write_text(f"digraph {{ i [style=invis]; i -> a; {edges} }};")
    document = {"format": "symveil/1", "kind": "stochastic-system", "initial": "a", "observable": ["x", "y", "z"]}
    model.write_text(json.dumps({**document, "transitions": moves}))
    asked = ("--k", "0", "--secret", "s", "--json")
    all_seen, unseen, said = (
        symveil("opacity", str(file), *asked, *more)
        for file, more in ((drawing, ()), (drawing, ("--unobservable", "u")), (model, ()))
    )
    assert "name others with --unobservable" in all_seen.err
    assert all_seen.document["holds"] is False
    assert unseen.document["holds"] is said.document["holds"] is True
    again = symveil("opacity", str(model), *asked, "--unobservable", "z", "--unobservable", "u")
    assert again.status in (0, 1), again.err
    for wrong, message in (("q", "unobservable: expected an event of the system, found 'q'"),):
        assert message in symveil("opacity", str(model), *asked[:4], "--unobservable", wrong).assert_one_error_line()
    hidden = [part for event in "xyz" for part in ("--unobservable", event)]
    assert (
        "an event that is left to be seen"
        in symveil("opacity", str(model), *asked[:4], *hidden).assert_one_error_line()
    )
    enforced = symveil(
        "enforce", str(drawing), "--secret", "s", "--k", "0", "--policy", "insertion", "--unobservable", "u"
    )
    assert enforced.status == 0 and "already opaque" in enforced.out


def test_a_system_that_is_opaque_already_is_told_so(tmp_path):
    """By every policy, also with a picture to draw and without events to disable."""
    (tmp_path / "opaque.json").write_text(
        json.dumps(
            {
                "format": "symveil/1", "kind": "stochastic-system", "initial": "a", "observable": ["x", "y"],
                "secret": ["s"],
                "transitions": [["a", "x", "b", 0.5], ["a", "u", "s", 0.5], ["s", "x", "b", 1], ["b", "y", "end", 1]],
            }
        )
    )  # fmt: skip
    asked = ("enforce", str(tmp_path / "opaque.json"), "--k", "0", "--draw", str(tmp_path / "picture.svg"), "--policy")
    for policy in (("private", "--epsilon", "2"), ("safe", "--omega", "1"), ("substitution", "--omega", "1")):
        done = symveil(*asked, *policy)
        assert done.status == 0 and "already opaque" in done.out, done.err
        assert "was not written: the system is already opaque" in done.err
        assert not (tmp_path / "picture.svg").exists()
    for policy in ("insertion", "edit", "supervisor"):
        done = symveil(*asked, policy)
        assert done.status == 0 and "already opaque: nothing has to be changed" in done.out, done.err
        assert symveil(*asked, policy, "--json").document["already_opaque"] is True


def test_private_substitutes_are_drawn(tmp_path):
    picture, medical = tmp_path / "picture.svg", str(Path(__file__).parents[2] / "examples" / "medical.json")
    done = symveil("enforce", medical, "--k", "2", "--policy", "private", "--epsilon", "2", "--draw", str(picture))
    assert done.status == 0, done.err
    assert "<svg" in picture.read_text()


def test_a_supervisor_says_which_supervisors_it_speaks_of(tmp_path):
    (tmp_path / "open.json").write_text(
        json.dumps(
            {
                "format": "symveil/1", "kind": "stochastic-system", "initial": "a", "observable": ["x", "y"],
                "secret": ["s"], "transitions": [["a", "x", "s", "1/2"], ["a", "y", "b", "1/2"]],
            }
        )
    )  # fmt: skip
    asked = ("enforce", str(tmp_path / "open.json"), "--k", "0", "--policy", "supervisor")
    done = symveil(*asked, "--controllable", "y")
    assert done.status == 1
    assert "cannot be enforced by disabling controllable events that are observed" in done.out
    assert "controllable: expected the events that can be disabled" in symveil(*asked).assert_one_error_line()
