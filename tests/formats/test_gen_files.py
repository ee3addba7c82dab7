"""`.gen` files of libFAUDES: what its own reader makes of flags, indices and names; and controllable events of files.

Compared with src/cfl_token.cpp, cfl_generator.cpp and cfl_attributes.cpp of FGDES/libFAUDES.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import SymveilError
from symveil.formats.models.model_files import load_model


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / next(iter(files))


def generator(alphabet: str, states: str, moves: str, initial: str = "1") -> str:
    return (
        f"<Generator> plant <Alphabet> {alphabet} </Alphabet> <States> {states} </States> "
        f"<TransRel> {moves} </TransRel> <InitStates> {initial} </InitStates> </Generator>"
    )


@pytest.mark.parametrize(
    ("flags", "seen", "can_be_disabled"),
    [
        ("", True, False),
        ("+o+", False, False),
        ("+O+", True, False),
        ("+C+", True, True),
        ("+Co+", False, True),
        ("+cC+", True, False),  # libFAUDES clears after it sets
        ("+F+", True, False),
        ("0x0", False, False),
        ("0x01", False, True),  # bit 1 is controllable: without bit 2 nobody sees the event
        ("0x2", True, False),
        ("0x3", True, True),
        ("0x0f", True, True),
        ("+C+ +C+", True, True),
    ],
)
def test_flags_of_libfaudes(tmp_path: Path, flags: str, seen: bool, can_be_disabled: bool) -> None:
    text = generator(f'"a" {flags} "b" 0x2', "1 2", '1 "a" 2 2 "b" 1')
    system = load_model(written(tmp_path, {"p.gen": text}))
    assert isinstance(system, sv.LogicalSystem)
    assert system.observable == (("a", "b") if seen else ("b",))
    assert system.controllable == (("a",) if can_be_disabled else ())


def test_without_flags_nothing_is_said_of_controllable_events(tmp_path: Path) -> None:
    system = load_model(written(tmp_path, {"p.gen": generator("a", "1", "1 a 1")}))
    assert system.controllable is None
    refused = symveil("enforce", str(tmp_path / "p.gen"), "--policy", "supervisor", "--secret", "1")
    assert refused.status == 2
    assert "controllable: expected the events that can be disabled" in refused.err


@pytest.mark.parametrize(
    ("states", "moves", "initial", "expected"),
    [
        ('"x" "y"', '1 a "y" 2 a 1', "1", [("x", "a", "y"), ("y", "a", "x")]),  # named states by their index
        ('"2" "1"', '"1" a 1 1 a 2', '"2"', [("1", "a", "2"), ("2", "a", "1")]),  # quoted: a name; bare: an index
        ('"s0#7" "s1#1"', 's0 a 1 7 a "s0"', "s0", [("s0", "a", "s1"), ("s0", "a", "s0")]),
        ('5 "z"', "5 a 2", "5", [("5", "a", "z")]),  # a name's index is its place in the list
        ("1 0x5 2 +M+", "1 a 2 0x1 2 a 1", "2 0x3", [("1", "a", "2"), ("2", "a", "1")]),  # flags are no states
        ("", '"y" a "x" 2 a 1', "y", [("y", "a", "x"), ("x", "a", "y")]),  # no states declared: those of the moves
        ("", "4 a 9", "4", [("4", "a", "9")]),
        ("'p q' \"r&lt;\"", "'p q' a 'r&lt;'", "1", [("p q", "a", "r<")]),
    ],
)
def test_states_of_libfaudes(tmp_path: Path, states: str, moves: str, initial: str, expected: object) -> None:
    system = load_model(written(tmp_path, {"p.gen": generator("a", states, moves, initial)}))
    assert list(system.transitions) == expected
    assert system.initial == ("2" if initial in ("2 0x3", '"2"') else system.transitions[0][0],)


def test_short_sections_of_libfaudes(tmp_path: Path) -> None:
    short = '<Generator> "g" <T> 1 a 2 2 b 1 </T> <I> 1 </I> <M/> </Generator>'
    long = generator("a b", "1 2", "1 a 2 2 b 1")
    assert load_model(written(tmp_path, {"s.gen": short})) == load_model(written(tmp_path, {"l.gen": long}))


@pytest.mark.parametrize(
    ("alphabet", "states", "moves", "message"),
    [
        ("0x1", "1", "", "expected flags of an event"),
        ('"a" +C+ +o+', "1", "", "the same wherever they are repeated"),
        ("a", "1 2", "1 a 3", "states of <States>: the index of a state, found '3'"),
        ("a", "1 2", '1 a "2"', "states of <States>: the name of a state, without #, found '2'"),
        ("a", '"s#1" "t"', "1 a 1", "after # in the name of every state, or of none, found 't'"),
        ("a", '"s#1" "t#1"', "1 a 1", "an index and a name of its own, found 't#1'"),
        ("a", '1 "1"', "1 a 1", "an index and a name of its own, found '1'"),
        ("a", '"s#1"', '"s#1" a s', "without #, found 's#1'"),
        ("a", "", '1 a "x"', "the name of a state, without #, found 'x'"),
        ("a", "1 2", "1 a 2 0.5", "an index of at most 9 digits, or a name in quotes, found '0.5'"),
        ("a", "1 2", "1 a 0x2", "a state, an event and a state in each transition"),
        ("a", "0x2 1", "1 a 1", "a state before its flags"),
        ("a", "1234567890", "", "an index of at most 9 digits"),
    ],
)
def test_tokens_that_are_refused(tmp_path: Path, alphabet: str, states: str, moves: str, message: str) -> None:
    with pytest.raises(SymveilError, match=message) as refused:
        load_model(written(tmp_path, {"p.gen": generator(alphabet, states, moves)}))
    assert "line 1" in str(refused.value)


@pytest.mark.parametrize("name", ["p.gen", "p.fsm", "p.wmod", "p.json"])
def test_a_supervisor_disables_what_the_file_calls_controllable(tmp_path: Path, name: str) -> None:
    """0 -a-> 1 (secret), 0 -b-> 2: after a an observer is sure. a can be disabled, b cannot; h is never seen."""
    texts = {
        "p.gen": generator('"a" +C+ "b" "h" 0x1', "0 1 2", '0 a 1 0 b 2 2 "h" 2', "0"),
        "p.fsm": "3\n\n0\t0\t2\na\t1\tc\to\nb\t2\tuc\to\n\n1\t0\t0\n\n2\t0\t1\nh\t2\tc\tuo\n",
        "p.wmod": '<Module Name="m"><EventDeclList><EventDecl Kind="CONTROLLABLE" Name="a"/>'
        '<EventDecl Kind="UNCONTROLLABLE" Name="b"/><EventDecl Kind="CONTROLLABLE" Name="h" Observable="false"/>'
        '</EventDeclList><ComponentList><SimpleComponent Name="p"><Graph><NodeList>'
        '<SimpleNode Initial="true" Name="0"/><SimpleNode Name="1"/><SimpleNode Name="2"/></NodeList><EdgeList>'
        + "".join(
            f'<Edge Source="{one}" Target="{two}"><LabelBlock><SimpleIdentifier Name="{event}"/></LabelBlock></Edge>'
            for one, event, two in ("0a1", "0b2", "2h2")
        )
        + "</EdgeList></Graph></SimpleComponent></ComponentList></Module>",
    }
    if name == "p.json":
        sv.save_model(load_model(written(tmp_path, {"p.gen": texts["p.gen"]})), tmp_path / name)
    file = tmp_path / name if name == "p.json" else written(tmp_path, {name: texts[name]})
    system = load_model(file)
    assert system.controllable == ("a", "h")
    asked = ("enforce", str(file), "--policy", "supervisor", "--secret", "1", "--json")
    by_file, by_name = symveil(*asked), symveil(*asked, "--controllable", "a")
    assert by_file.status == by_name.status == 0
    assert by_file.document == by_name.document
    assert "1 controllable event" in by_file.err
    assert symveil(*asked, "--controllable", "b").status == 1  # the option wins


def test_what_says_nothing_about_finite_runs_is_left_out(tmp_path: Path) -> None:
    """Colours of states, acceptance of infinite runs, fairness, and text before the generator."""
    plain = generator('"a" "b" +o+', "1 2", '1 "a" 2 2 "b" 1')
    expected = load_model(written(tmp_path, {"plain.gen": plain}))
    more = plain.replace("1 2 </States>", '1 <Colors> "red" 7 </Colors> 2 <Colors> </Colors> </States>').replace(
        "</Generator>",
        "<RabinAcceptance> <RabinPair> <RSet> 1 </RSet> <ISet> 2 </ISet> </RabinPair> </RabinAcceptance> "
        '<FairnessConstraints> <Events> "a" </Events> </FairnessConstraints> </Generator>',
    )
    notes: list[str] = []
    assert load_model(written(tmp_path, {"more.gen": f"5 {more}"}), notes=notes) == expected
    assert any("infinite runs (acceptance, fairness) were left out" in note for note in notes)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1 2 </States>", '1 <Invariant> "c" "LE" 5 </Invariant> 2 </States>', "expected a generator without clocks"),
        ("</Generator>", "<Clocks> c </Clocks> </Generator>", "expected a generator without clocks"),
        ("1 2 </States>", "1 <Colors> 2 </States>", "expected </Colors>, found the end of the file"),
        ("<Generator>", "<cGenerator> <Generator>", "found libFAUDES' old format <cGenerator>"),
        ("<Generator>", '<Generator ftype="TimedGenerator">', "found the type 'TimedGenerator'"),
    ],
)
def test_generators_that_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = generator('"a"', "1 2", '1 "a" 2').replace(old, new)
    with pytest.raises(SymveilError) as caught:
        load_model(written(tmp_path, {"m.gen": text}))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
