"""Partially observed systems in .fsm, .stoc and .pfa: read as they are meant, refused at their line."""

from __future__ import annotations

import gzip
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_or_refuse import read_or_refuse

from symveil.errors import InputError, ModelError
from symveil.formats.limits import LIMITS
from symveil.formats.models.model_files import load_model
from symveil.languages.graph import word_graph
from symveil.languages.runs import runs
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem

# A machine that may fail unseen, as DESUMA writes it: tabs, marking, controllability, observability.
PLANT = """3

idle\t1\t2
start\tbusy\tc\to
break\tdown\tuc\tuo

busy\t0\t2
done\tidle\tuc\to
break\tdown\tuc\tuo

down\t0\t1
repair\tidle\tc\to
"""
# The same with DESops' column of probabilities, and its block of events.
PROBABLE = """3

idle\t1\t2
start\tbusy\tc\to\t0.9
break\tdown\tuc\tuo\t0.1

busy\t0\t2
done\tidle\tuc\to\t0.75
break\tdown\tuc\tuo\t1/4

down\t0\t1
repair\tidle\tc\to\t1

EVENTS
start\tc\to
done\tuc\to
break\tuc\tuo
repair\tc\to
alarm\tuc\to"""
ROWS = """idle busy start 0.9
idle down break 0.1
busy idle done 0.75
busy down break 0.25
down idle repair 1
"""
# A day as VEiP writes it: 1 means that a state is not secret, then transitions and the initial probability.
DAY = """4

home\t1\t2\t1
leave\twork\to\t0.7
leave2\tclinic\tuo\t0.3


work\t1\t1\t0\t
back\tdone\to\t1

clinic\t0\t1\t0
back\tdone\to\t1
\t
done\t1\t0\t0"""

PLANT_MOVES = (
    ("idle", "start", "busy"),
    ("idle", "break", "down"),
    ("busy", "done", "idle"),
    ("busy", "break", "down"),
    ("down", "repair", "idle"),
)
PLANT_CHANCES = (Fraction(9, 10), Fraction(1, 10), Fraction(3, 4), Fraction(1, 4), Fraction(1))
LOGICAL_PLANT = LogicalSystem(
    states=("idle", "busy", "down"),
    transitions=PLANT_MOVES,
    initial=("idle",),
    observable=("start", "done", "repair"),
    controllable=("start", "repair"),
)
STOCHASTIC_PLANT = StochasticSystem(
    states=("idle", "busy", "down"),
    transitions=tuple((*move, chance) for move, chance in zip(PLANT_MOVES, PLANT_CHANCES, strict=True)),
    initial="idle",
    observable=("start", "done", "repair"),
    controllable=("start", "repair"),
)


@pytest.fixture
def load(tmp_path):
    """Writes a text into a file of this name and loads it; `load.notes` is what was said."""

    def write_and_load(name: str, text: str | bytes) -> PartiallyObserved:
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        write_and_load.notes.clear()
        return load_model(tmp_path / name, notes=write_and_load.notes)

    write_and_load.notes = []
    return write_and_load


# --- .fsm ------------------------------------------------------------------------------------------


def test_an_fsm_file_is_a_logical_system(load) -> None:
    assert load("plant.fsm", PLANT) == LOGICAL_PLANT
    assert load.notes == []


@pytest.mark.parametrize(
    "text",
    [
        PLANT.rstrip(),  # no end of the last line
        PLANT.replace("\t", "  "),
        PLANT.replace("\n", "\r\n"),
        PLANT.replace("\n\n", "\n"),  # no blank lines
        PLANT.replace("\n\n", "\n \t\n\n"),
        PLANT.replace("\t", " \t"),
        PLANT.replace("1\t2", "1 2").replace("0\t1", "0 1"),
        "\ufeff" + PLANT,
        PLANT.replace("\tc\t", "\t").replace("\tuc\t", "\t"),  # VEiP's later form: observability alone
        PLANT.replace("3\n", "3\t1\n"),
        PLANT + "\nEVENTS\nstart c o\nbreak uc uo\ndone uc o\nrepair c o",
        PLANT + "\nEVENTS\nstart\nbreak uo\ndone uc\nrepair c o\n",
    ],
)
def test_the_spellings_of_an_fsm_file(load, text) -> None:
    system = load("plant.fsm", text)
    assert (set(system.observable), system.states) == ({"start", "done", "repair"}, LOGICAL_PLANT.states)
    assert system.transitions == PLANT_MOVES


def test_marking_is_not_secrecy(load) -> None:
    assert load("plant.fsm", PLANT).secret == ()
    assert load("plant.fsm", PROBABLE).secret == ()


def test_probabilities_make_an_fsm_file_stochastic(load) -> None:
    system = load("plant.FSM.gz", PROBABLE)
    assert system == StochasticSystem(
        states=STOCHASTIC_PLANT.states,
        transitions=STOCHASTIC_PLANT.transitions,
        initial="idle",
        observable=("start", "done", "repair", "alarm"),  # the block of events declares one that never happens
        controllable=("start", "repair"),
    )


def test_events_without_a_mark_are_observable_and_it_says_so(load) -> None:
    system = load("plant.fsm", "2\n\na 0 2\nx b\ny b uo\n\nb 0 1\nz a c\n")
    assert system.observable == ("x", "z")
    (note,) = load.notes
    assert note.endswith("plant.fsm: 2 events without the mark o or uo: taken as observable")
    assert load("plant.fsm", "2\n\na 0 1\nx b 1/1\n\nb 0 1\nx a o 1\n").observable == ("x",)
    assert load.notes == []  # its other line has the mark


def test_an_fsm_file_may_be_nondeterministic_and_have_several_initial_states(load) -> None:
    system = load("g.fsm", "3\t2\n\n0\t1\t2\na\t1\tc\to\na\t2\tc\to\n\n1\t0\t0\n\n2\t1\t0\n")
    assert system.initial == ("0", "1")
    assert system.transitions == (("0", "a", "1"), ("0", "a", "2"))


def test_names_with_blanks_between_tabs(load) -> None:
    text = "2\n\n('0', 'a')\t0\t1\ngo\t('1', 'a')\tc\to\n\n('1', 'a')\t1\t1\n{'x', 'y'}\t('0', 'a')\tc\tuo\n"
    system = load("product.fsm", text)
    assert system.states == ("('0', 'a')", "('1', 'a')")
    assert system.transitions[1] == ("('1', 'a')", "{'x', 'y'}", "('0', 'a')")


def test_decimals_are_normalised_and_it_says_so(load) -> None:
    system = load("p.fsm", "1\n\ns 0 3\na s c o 0.3333333333\nb s c o 0.3333333333\nd s c o 0.3333333333\n")
    assert [row[3] for row in system.transitions] == [Fraction(1, 3)] * 3
    assert "normalised" in load.notes[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": expected a .fsm file that begins with the number of states, found an empty file"),
        ("\n \n", ": expected a .fsm file that begins with the number of states, found an empty file"),
        ("hello", ": line 1: expected the number of states, found 'hello'"),
        ("-1\n", ": line 1: expected the number of states, found '-1'"),
        ("9" * 5000, ": line 1: expected the number of states, found '9999"),
        ("²\n\na 0 0", ": line 1: expected the number of states, found '²'"),
        ("1 1 1\n", ": line 1: expected the number of states, found '1 1 1'"),
        ("0\n", ": expected at least one state, found none"),
        ("999999999999\n\na 0 1\nx a", ": expected 999999999999 states, as its first line says, found 1"),
        (PLANT.replace("3\n", "2\n", 1), ": expected 2 states, as its first line says, found 3"),
        (PLANT.replace("3\n", "3 0\n", 1), ": expected between 1 and 3 initial states in its first line, found 0"),
        (PLANT.replace("3\n", "3 4\n", 1), ": expected between 1 and 3 initial states in its first line, found 4"),
        (PROBABLE.replace("3\n", "3 2\n", 1), ": expected one initial state where there are probabilities, found 2"),
        ("1\n\na 0 999999999\nx a", ": line 4: expected 999999999 transitions of state 'a', as line 3 says, found 1"),
        ("2\n\na 0 2\nx a\n\nb 0 1\nx a\n", ": line 5: expected 2 transitions of state 'a', as line 3 says, found 1"),
        ("1\n\na 0 2\nx a\nEVENTS\nx", ": line 5: expected 2 transitions of state 'a', as line 3 says, found 1"),
        (
            "1\n\na 0 1\nx a\ny a\n",
            ": line 5: expected a state, 0 or 1, and the number of its transitions, found 'y a'",
        ),
        ("1\n\na 2 1\nx a\n", ": line 3: expected a state, 0 or 1, and the number of its transitions, found 'a 2 1'"),
        ("1\n\na 0 one\nx a\n", ": line 3: expected a state, 0 or 1, and the number"),
        ("2\n\na 0 1\nx b\n\na 0 0\n", ": line 6: expected each state once, and 'a' is in line 3, found it again"),
        ("1\n\na 0 1\nx b\n", ": line 4: expected a state that occurs in the model, found 'b'"),
        ("1\n\na 0 1\nx\n", ": line 4: expected an event, its target and then"),
        ("1\n\na 0 1\nx a o c\n", ": line 4: expected an event, its target and then"),
        ("1\n\na 0 1\nx a c o 1 1\n", ": line 4: expected an event, its target and then"),
        ("1\n\na 0 1\nx a c O\n", ": line 4: expected an event, its target and then"),
        ("1\n\na 0 1\nx a c o half\n", ": line 4: expected an event, its target and then"),
        ("1\n\na 0 1\nx a c o 1/0\n", ": line 4: expected a probability such as 0.5"),
        ("1\n\na 0 1\nx a c o -1\n", ": line 4: expected a probability above 0 and at most 1, found -1"),
        ("1\n\na 0 1\nx a c o 0\n", ": line 4: expected a probability above 0 and at most 1, found 0"),
        ("1\n\na 0 1\nx a c o 1e999999999\n", ": line 4: expected a probability such as 0.5"),
        ("1\n\na 0 1\nx a c o 0.9\n", ": transitions: expected the probabilities of state 'a' to sum to 1, found 0.9"),
        ("1\n\na 0 2\nx a c o 1\ny a c o\n", ": line 5: expected a probability, as in line 4, found none"),
        ("1\n\na 0 2\nx a c o\ny a c o 1\n", ": line 5: expected no probability, as in line 4, found one"),
        ("1\n\na 0 2\nx a o 0.5\nx a o 0.5\n", ": line 5: expected one transition from 'a' by event 'x'"),
        ("1\n\na 0 2\nx a\nx a\n", ": line 5: expected each transition once, found ('a', 'x', 'a') again"),
        ("2\n\na 0 1\nx b uo\n\nb 0 1\nx a o\n", ": line 7: expected event 'x' to be uo, as further up, found o"),
        ("2\n\na 0 1\nx b c\n\nb 0 1\nx a uc\n", ": line 7: expected event 'x' to be c, as further up, found uc"),
        ("1\n\na 0 1\nx a o\n\nEVENTS\nx uo\n", ": line 7: expected event 'x' to be o, as further up, found uo"),
        ("1\n\na 0 1\nx a\n\nEVENTS\ny\n", ": line 4: expected an event of the EVENTS block, found the undeclared ev"),
        ("1\n\na 0 1\nx a\n\nEVENTS\nx\nx o\n", ": line 8: expected each event once in the EVENTS block, found 'x' ag"),
        ("1\n\na 0 1\nx a\n\nEVENTS\nx o 1\n", ": line 7: expected an event and then, as far as known, c or uc"),
        ("1\n\na 0 1\nx a uo\n", ": observable: expected at least one observable event"),
        ("1\n\na 0 1\nx a\to\n", ": line 4: expected an event, its target and then, as far as known, c or uc, o or uo"),
        ("1\n\na 0 0\n", ": observable: expected at least one observable event"),
        (b"\x00\x01\x02", ": line 1: expected the number of states, found"),
        (b"\x89PNG\r\n\x1a\n", ": line 1: expected a .fsm file in UTF-8, found other bytes"),
        (b"\x1f\x8bno gzip", ": expected a readable .fsm file, found a damaged gzip file"),
    ],
)
def test_a_wrong_fsm_file_is_refused_at_its_line(load, tmp_path, text, message) -> None:
    with pytest.raises(InputError) as error:
        load("wrong.fsm", text)
    assert str(error.value).startswith(f"{tmp_path / 'wrong.fsm'}{message}")
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 600


def test_a_line_that_could_be_read_in_two_ways_is_refused(load) -> None:
    with pytest.raises(ModelError, match="line 4: .* with tabs between the cells or with blanks, found both"):
        load("two.fsm", "1\n\na 0 1\nx a\tc\to\n")


def test_an_endless_file_is_refused_in_time(load, set_limits) -> None:
    set_limits(LIMITS, file_bytes=1000)
    with pytest.raises(InputError, match=r"expected a \.fsm file of at most 1000 characters, found a larger file"):
        load("huge.fsm.gz", "1\n" + " \n" * 1_000_000)


def test_a_missing_file_is_refused(tmp_path) -> None:
    for name in ("none.fsm", "none.stoc", "none.pfa"):
        with pytest.raises(InputError, match=f"{name}: expected a readable {Path(name).suffix} file, found No such"):
            load_model(tmp_path / name)


# --- .stoc -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "frame"), [("p.stoc", "p.fsm"), ("p.stoc.gz", "p.fsm.gz"), ("p.STOC.gz", "p.fsm")])
def test_a_stoc_file_takes_the_rest_from_the_fsm_file_beside_it(load, rows, frame) -> None:
    load(frame, PLANT)
    assert load(rows, ROWS.replace(" ", "\t").rstrip()) == STOCHASTIC_PLANT
    (note,) = load.notes
    assert note.endswith(f"initial state and observable events are those of {frame} beside it")


def test_a_stoc_file_alone(load) -> None:
    system = load("plant.stoc", ROWS)
    assert (system.states, system.initial) == (STOCHASTIC_PLANT.states, "idle")
    assert system.transitions == STOCHASTIC_PLANT.transitions
    assert system.observable == ("start", "break", "done", "repair")
    (note,) = load.notes
    assert "no plant.fsm beside it: every event is taken as observable and 'idle' as the initial state" in note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": expected a .stoc file with at least one row FROM TO EVENT P, found none"),
        ("a b x\n", ": line 1: expected four cells: FROM, TO, EVENT and a probability, found 'a b x'"),
        ("\na a x much\n", ": line 2: expected four cells: FROM, TO, EVENT and a probability, found 'a a x much'"),
        ("a a x 0.5\na a x 0.5\n", ": line 2: expected one transition from 'a' by event 'x'"),
        ("a a x 0.5\n", ": transitions: expected the probabilities of state 'a' to sum to 1, found 0.5"),
        ("a a x 1.5\n", ": line 1: expected a probability above 0 and at most 1, found 1.5"),
        (b"\xff\xff", ": line 1: expected a .stoc file in UTF-8, found other bytes"),
    ],
)
def test_a_wrong_stoc_file_is_refused_at_its_line(load, tmp_path, text, message) -> None:
    with pytest.raises(InputError) as error:
        load("wrong.stoc", text)
    assert str(error.value).startswith(f"{tmp_path / 'wrong.stoc'}{message}")


@pytest.mark.parametrize(
    ("frame", "rows", "message"),
    [
        (
            PLANT,
            ROWS + "down busy repair 1",
            "p.stoc: line 6: expected a transition of p.fsm, found 'repair' from 'down'",
        ),
        (
            PLANT,
            ROWS.replace("idle busy", "busy idle"),
            "p.stoc: line 1: expected a transition of p.fsm, found 'start'",
        ),
        (
            PLANT,
            ROWS.replace("down idle repair 1\n", ""),
            "p.stoc: expected a probability for every transition of p.fsm, found none for line 12",
        ),
        (PLANT, ROWS.replace("0.9", "0.8"), "p.stoc: transitions: expected the probabilities of state 'idle' to sum"),
        (PROBABLE, ROWS, "p.fsm: line 4: expected no probability, because p.stoc has them, found one"),
        (PLANT.replace("3\n", "3 2\n", 1), ROWS, "p.fsm: expected one initial state where there are probabilities"),
        ("x", ROWS, "p.fsm: line 1: expected the number of states"),
    ],
)
def test_a_stoc_file_that_contradicts_its_fsm_file_is_refused(load, tmp_path, frame, rows, message) -> None:
    (tmp_path / "p.fsm").write_text(frame)
    with pytest.raises(ModelError) as error:
        load("p.stoc", rows)
    assert message in str(error.value)


# --- .pfa ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("day.pfa", DAY),
        ("day.pfa.gz", DAY + "\n\n"),
        ("day.pfa", DAY.replace("\to\t", "\tc\to\t").replace("\tuo\t", "\tuc\tuo\t")),  # as VEiP wrote it first
        ("day.PFA", DAY.replace("\t", " ")),
    ],
)
def test_a_pfa_file_says_which_states_are_secret(load, name, text) -> None:
    assert load(name, text) == StochasticSystem(
        states=("home", "work", "clinic", "done"),
        transitions=(
            ("home", "leave", "work", Fraction(7, 10)),
            ("home", "leave2", "clinic", Fraction(3, 10)),
            ("work", "back", "done", Fraction(1)),
            ("clinic", "back", "done", Fraction(1)),
        ),
        initial="home",
        observable=("leave", "back"),
        secret=("clinic",),
        controllable=("leave", "back") if "\tc\t" in text else None,
    )
    assert load.notes[0].endswith("1 state with flag 0 is secret, as VEiP has it")


def test_the_initial_state_of_a_pfa_file_need_not_be_the_first(load) -> None:
    text = "2\n\na 1 1 0\nx b o 1\n\nb 1 1 1.0\ny a o 1.0\n"
    assert load("p.pfa", text).initial == "b"
    assert load("p.pfa", text).secret == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": expected a .pfa file that begins with the number of states, found an empty file"),
        (DAY.replace("4\n", "5\n", 1), ": expected 5 states, as its first line says, found 4"),
        (PLANT, ": line 3: expected a state, 0 or 1, and the number of its transitions and its initial probability"),
        (
            DAY.replace("1\t2\t1", "1\t2\tx"),
            ": line 3: expected a state, 0 or 1, and the number of its transitions and",
        ),
        (DAY.replace("1\t2\t1", "1\t2\t0"), ": expected one state with the initial probability 1, found none"),
        (DAY.replace("0\t1\t0", "0\t1\t1"), ": expected one state with the initial probability 1, found 2"),
        (DAY.replace("1\t2\t1", "1\t2\t0.5"), ": line 3: expected the initial probability 0 or 1, because a system"),
        (DAY.replace("1\t2\t1", "1\t2\t1/0"), ": line 3: expected a probability such as 0.5"),
        (DAY.replace("\to\t0.7", "\to"), ": line 4: expected a probability at the end of the line, found none"),
        (DAY.replace("leave2", "leave"), ": line 5: expected event 'leave' to be o, as further up, found uo"),
        (DAY.replace("leave2\tclinic\tuo", "leave\tclinic\to"), ": line 5: expected one transition from 'home' by ev"),
    ],
)
def test_a_wrong_pfa_file_is_refused_at_its_line(load, tmp_path, text, message) -> None:
    with pytest.raises(InputError) as error:
        load("wrong.pfa", text)
    assert str(error.value).startswith(f"{tmp_path / 'wrong.pfa'}{message}")


# --- whatever comes in -----------------------------------------------------------------------------


CELLS = st.sampled_from(
    [
        "a",
        "b",
        "0",
        "1",
        "2",
        "c",
        "uc",
        "o",
        "uo",
        "0.5",
        "1/2",
        "1",
        "EVENTS",
        "-",
        "1e9",
        "9" * 30,
        "\x00",
        "é",
        "\x85",
    ]
)
LINES = st.lists(
    st.lists(CELLS, max_size=6).flatmap(
        lambda cells: st.sampled_from([" ", "\t", " \t"]).map(lambda gap: gap.join(cells))
    ),
    max_size=10,
).flatmap(lambda lines: st.sampled_from(["\n", "\r\n", "\r", "\n\n"]).map(lambda end: end.join(lines)))


@given(st.text() | LINES, st.sampled_from(["any.fsm", "any.pfa", "alone.stoc"]))
def test_any_text_is_read_or_refused(tmp_path_factory, text, name) -> None:
    read_or_refuse(text.encode(errors="surrogatepass"), tmp_path_factory.getbasetemp() / name)


@given(st.binary(max_size=200) | st.binary(max_size=100).map(gzip.compress))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content) -> None:
    for name in ("any.fsm", "any.stoc", "any.pfa"):
        read_or_refuse(content, tmp_path_factory.getbasetemp() / name)


@given(st.data(), st.sampled_from([("any.fsm", PLANT), ("any.fsm", PROBABLE), ("alone.stoc", ROWS), ("any.pfa", DAY)]))
def test_any_damaged_system_is_read_or_refused(tmp_path_factory, data, case) -> None:
    name, text = case
    content = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.sampled_from(list(b"\t\n 01co.\xff\x00")))
    read_or_refuse(bytes(content), tmp_path_factory.getbasetemp() / name)


# --- systems are no languages ----------------------------------------------------------------------


@pytest.mark.parametrize("system", [LOGICAL_PLANT, STOCHASTIC_PLANT])
def test_a_system_has_no_words_to_release(system) -> None:
    message = "expected a markov-chain, a transition-system or an automaton, which has words, found a stochastic-system"
    with pytest.raises(ModelError, match=message):
        word_graph(system)
    with pytest.raises(ModelError, match=message):
        runs(system, 3)


# --- what people write -----------------------------------------------------------------------------


def test_blank_lines_before_a_states_transitions(tmp_path) -> None:
    file = tmp_path / "plant.fsm"
    file.write_text("2\n\na 0 1\n\nx b\n\nb 0 0\n")
    assert load_model(file).transitions == (("a", "x", "b"),)


def test_a_header_in_a_stoc_file(tmp_path) -> None:
    file = tmp_path / "plant.stoc"
    file.write_text("FROM TO EVENT P\na b x 1\n")
    assert [row[:3] for row in load_model(file).transitions] == [("a", "x", "b")]
