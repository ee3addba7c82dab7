"""Model files in JSON: read exactly, refused at their place, written so that they come back the same."""

from __future__ import annotations

import gzip
import json
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symveil.errors import FileError, InputError, ModelError, SymveilError
from symveil.formats.models.model_files import load_model, save_model
from symveil.formats.models.model_json import model_document, model_text, parse_model
from symveil.languages.runs import runs
from symveil.models.automaton import Automaton, TransitionSystem
from symveil.models.markov_chain import MarkovChain

EXAMPLES = Path(__file__).parents[2] / "examples"

CHAIN = {
    "format": "symveil/1",
    "kind": "markov-chain",
    "initial": "a",
    "transitions": [["a", "a", "1/3"], ["a", "b", "2/3"], ["b", "a", 1]],
}
SYSTEM = {
    "format": "symveil/1",
    "kind": "transition-system",
    "initial": "s",
    "transitions": [["s", "go", "t"], ["t", "back", "s"]],
}
AUTOMATON = {
    "format": "symveil/1",
    "kind": "automaton",
    "initial": "p",
    "accepting": ["q"],
    "transitions": [["p", "a", "q"], ["q", None, "p"]],
}


def parse(document: object, **changes: object) -> object:
    if changes:
        assert isinstance(document, dict)
        document = {key: value for key, value in {**document, **changes}.items() if value is not ...}
    return parse_model(json.dumps(document), name="m.json")


# --- reading ---------------------------------------------------------------------------------------


def test_every_kind() -> None:
    assert parse(CHAIN) == MarkovChain.from_transitions(
        [("a", "a", Fraction(1, 3)), ("a", "b", Fraction(2, 3)), ("b", "a", 1)], initial="a"
    )
    assert parse(SYSTEM) == TransitionSystem.from_transitions([("s", "go", "t"), ("t", "back", "s")], initial="s")
    assert parse(AUTOMATON) == Automaton.from_transitions(
        [("p", "a", "q"), ("q", None, "p")], initial="p", accepting=["q"]
    )


@pytest.mark.parametrize(
    ("spelling", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("1e-1", Fraction(1, 10)),
        ("0.100000000000000000000000000001", Fraction(10**29 + 1, 10**30)),
        ('"1/3"', Fraction(1, 3)),
        ('"2/6"', Fraction(1, 3)),
        ('"0.1"', Fraction(1, 10)),
        ("1E-300", Fraction(1, 10**300)),
    ],
)
def test_a_probability_is_exactly_what_it_spells(spelling: str, value: Fraction) -> None:
    rest = 1 - value
    text = json.dumps({**CHAIN, "transitions": [["a", "b", "HERE"], ["a", "a", str(rest)], ["b", "a", 1]]})
    chain = parse_model(text.replace('"HERE"', spelling))
    assert chain.transitions[0] == ("a", "b", value)


def test_rounded_decimals_are_normalised_and_a_note_says_so(tmp_path) -> None:
    rows = [["a", "a", 0.3333333333], ["a", "b", 0.6666666666], ["b", "a", 1]]
    file = tmp_path / "m.json"
    file.write_text(json.dumps({**CHAIN, "transitions": rows}))
    notes: list[str] = []
    chain = load_model(file, notes=notes)
    assert chain.transitions[0] == ("a", "a", Fraction(1, 3))
    assert notes == [f"{file}: the probabilities of 1 state were normalised to sum to exactly 1"]
    notes.clear()
    load_model(EXAMPLES / "roads.json", notes=notes)
    assert notes == []


def test_fractions_are_not_normalised() -> None:
    """They are exact, so a sum that is not 1 was not rounded: it is wrong."""
    rows = [["a", "a", "1/3"], ["a", "b", "66666666666667/100000000000000"], ["b", "a", 1]]
    with pytest.raises(ModelError, match=r"'a' to sum to 1, found 1 \+ 3.33e-15$"):
        parse(CHAIN, transitions=rows)


def test_a_dead_end_and_an_unused_state_are_allowed() -> None:
    chain = parse(CHAIN, transitions=[["a", "b", 1]], states=["c", "b", "a"])
    assert chain == MarkovChain.from_transitions([("a", "b", 1)], initial="a", states=["c", "b", "a"])


def test_a_byte_order_mark_windows_line_ends_and_gzip_are_tolerated(tmp_path) -> None:
    text = json.dumps(CHAIN, indent=1).replace("\n", "\r\n")
    plain, packed = tmp_path / "m.json", tmp_path / "m.json.gz"
    plain.write_bytes(b"\xef\xbb\xbf" + text.encode())
    packed.write_bytes(gzip.compress(text.encode()))
    assert load_model(plain) == load_model(str(packed)) == parse(CHAIN)


def test_names_are_any_strings() -> None:
    names = ["", " ", "a\nb", "ä", "日本", "😀", "1/2", '"']
    rows = [[name, after, 1] for name, after in zip(names, [*names[1:], names[0]], strict=True)]
    chain = parse(CHAIN, initial="", transitions=rows)
    assert chain.states == tuple(names)
    assert parse_model(model_text(chain)) == chain


# --- refusing --------------------------------------------------------------------------------------

DUPLICATE = '{"format": "symveil/1", "kind": "markov-chain", "kind": "markov-chain", "transitions": []}'


@pytest.mark.parametrize(
    ("document", "changes", "message"),
    [
        ([], {}, "$: expected an object, found an array of 0"),
        (3, {}, "$: expected an object, found 3"),
        ({}, {}, "$: expected the key 'format', found none"),
        (CHAIN, {"format": "symveil/2"}, "$.format: expected 'symveil/1', found 'symveil/2'"),
        (CHAIN, {"kind": ...}, "$: expected the key 'kind', found none"),
        (
            CHAIN,
            {"kind": "petri-net"},
            "$.kind: expected one of markov-chain, transition-system, automaton, stochastic",
        ),
        (
            CHAIN,
            {"kind": ["automaton"]},
            "$.kind: expected one of markov-chain, transition-system, automaton, stochastic-system, labelled-chain",
        ),
        (CHAIN, {"kind": "labelled-chain"}, "$: expected the key 'labels', found none"),
        (CHAIN, {"transitions": ...}, "$: expected the key 'transitions', found none"),
        (
            CHAIN,
            {"colour": 1},
            "$.colour: expected one of the keys format, kind, transitions, initial, states, law",
        ),
        (CHAIN, {"two words": 1}, "$['two words']: expected one of the keys"),
        (CHAIN, {"accepting": ["a"]}, "$.accepting: expected one of the keys"),
        (CHAIN, {"transitions": {}}, "$.transitions: expected an array of [state, state, probability], found an obj"),
        (CHAIN, {"transitions": [["a", "b"]]}, "$.transitions[0]: expected [state, state, probability], found an arr"),
        (CHAIN, {"transitions": ["abc"]}, "$.transitions[0]: expected [state, state, probability], found 'abc'"),
        (CHAIN, {"transitions": [["a", 3, 1]]}, "$.transitions[0][1]: expected a name, a string, found 3"),
        (CHAIN, {"transitions": [["a", None, 1]]}, "$.transitions[0][1]: expected a name, a string, found null"),
        (CHAIN, {"transitions": [["a", "b", True]]}, "$.transitions[0][2]: expected a number or a rational string"),
        (CHAIN, {"transitions": [["a", "b", "1/0"]]}, "$.transitions[0][2]: expected a probability such as"),
        (CHAIN, {"transitions": [["a", "b", "half"]]}, "$.transitions[0][2]: expected a probability such as"),
        (CHAIN, {"transitions": [["a", "b", "1_0/1_0"]]}, "$.transitions[0][2]: expected a probability such as"),
        (CHAIN, {"transitions": [["a", "b", "٣/٣"]]}, "$.transitions[0][2]: expected a probability such as"),
        (CHAIN, {"transitions": [["a", "b", 0]]}, "$.transitions[0][2]: expected a probability above 0 and at most 1"),
        (CHAIN, {"transitions": [["a", "b", -0.5]]}, "$.transitions[0][2]: expected a probability above 0 and at mos"),
        (CHAIN, {"transitions": [["a", "b", "-1/2"]]}, "found -0.5"),
        (CHAIN, {"transitions": [["a", "b", 1.5]]}, "at most 1, found 1.5"),
        (CHAIN, {"transitions": [["a", "b", 0.9]]}, "$.transitions: expected the probabilities of state 'a' to sum to"),
        (CHAIN, {"transitions": [["a", "b", 1.00000001]]}, "above 0 and at most 1"),
        (CHAIN, {"transitions": [["a", "b", 0.5], ["a", "b", 0.5]]}, "$.transitions[1]: expected one transition from"),
        (CHAIN, {"transitions": [], "initial": ...}, "$.states: expected at least one state, found none"),
        (CHAIN, {"initial": "z"}, "$.initial: expected a state that occurs in the model, found 'z'"),
        (CHAIN, {"initial": None}, "$.initial: expected a name, a string, found null"),
        (CHAIN, {"states": ["a"]}, "$.transitions[1][1]: expected a state that occurs in the model, found 'b'"),
        (CHAIN, {"states": ["a", "b", "a"]}, "$.states[2]: expected each state once, found 'a' again"),
        (CHAIN, {"states": "ab"}, "$.states: expected an array of state names, found 'ab'"),
        (CHAIN, {"states": ["a", 3]}, "$.states[1]: expected a name, a string, found 3"),
        (SYSTEM, {"initial": ...}, "$: expected the key 'initial', found none"),
        (SYSTEM, {"transitions": [["s", None, "s"]]}, "$.transitions[0][1]: expected a name, a string, found null"),
        (SYSTEM, {"transitions": [["s", "a", "s"]] * 2}, "$.transitions[1]: expected each transition once, found ('s'"),
        (AUTOMATON, {"accepting": ...}, "$: expected the key 'accepting', found none"),
        (AUTOMATON, {"accepting": []}, "$.accepting: expected at least one accepting state, found none"),
        (AUTOMATON, {"accepting": ["z"]}, "$.accepting[0]: expected a state that occurs in the model, found 'z'"),
        (AUTOMATON, {"accepting": ["q", "q"]}, "$.accepting[1]: expected each state once, found 'q' again"),
        (AUTOMATON, {"transitions": [["p", 1, "q"]]}, "$.transitions[0][1]: expected a symbol, a string, or null"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(document, changes, message) -> None:
    with pytest.raises(ModelError) as caught:
        parse(document, **changes)
    text = str(caught.value)
    assert message in text
    assert text.startswith("m.json: $")
    assert caught.value.where.startswith("m.json: $")
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.json: expected JSON, found expecting value at line 1, column 1"),
        ('{"format":\n oops}', "at line 2, column 2"),
        ("{} {}", "extra data at line 1, column 4"),
        ('{"x": NaN}', "found NaN, which is no JSON number"),
        ('{"x": -Infinity}', "found -Infinity, which is no JSON number"),
        (DUPLICATE, "m.json: $.kind: expected each key once, found it again"),
        ('{"a\\ud800": 1, "a\\ud800": 1}', "each key once"),
    ],
)
def test_what_is_no_json(text: str, message: str) -> None:
    with pytest.raises(SymveilError) as caught:
        parse_model(text, name="m.json")
    assert message in str(caught.value)
    str(caught.value).encode()


def test_a_name_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(ModelError, match="half a surrogate pair"):
        parse(CHAIN, transitions=[["a", "\ud800", 1]])


@pytest.mark.parametrize(
    "number", ["1e999999999", "1e-999999999", "1e99999999999999999999", "9" * 10**6, "0." + "3" * 10**6]
)
def test_numbers_that_would_fill_the_memory_are_refused_at_once(number: str) -> None:
    text = json.dumps({**CHAIN, "transitions": [["a", "b", "HERE"]]}).replace('"HERE"', number)
    start = time.process_time()
    with pytest.raises(ModelError, match=r"\$\.transitions\[0\]\[2\]: expected a probability") as caught:
        parse_model(text)
    assert time.process_time() - start < 1
    assert len(str(caught.value)) < 300


def test_many_long_fractions_are_refused_before_their_sum_explodes() -> None:
    rows = [["a", f"b{index}", f"1/{10**990 + index}"] for index in range(5000)]
    start = time.process_time()
    with pytest.raises(ModelError, match="common denominator of at most 4000 digits"):
        parse(CHAIN, transitions=rows)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(FileError, match="nested at most 100 deep"):
        parse_model(text)


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path, monkeypatch) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(256 * 1024 * 1024 + 1)
    with pytest.raises(FileError, match="at most 256 MiB, found a larger file"):
        load_model(huge)
    packed = tmp_path / "packed.json.gz"
    with gzip.open(packed, "wb", compresslevel=1) as file:
        for _ in range(257):
            file.write(bytes(1024 * 1024))
    with pytest.raises(FileError, match="at most 256 MiB, found a larger file"):
        load_model(packed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe{", "expected a model file in UTF-8, found another byte at offset 0"),
        (gzip.compress(b"{}", mtime=0)[:-3], "found a damaged gzip file"),
        (b"\x1f\x8bnonsense", "found a damaged gzip file"),
    ],
)
def test_other_bytes_are_refused(tmp_path, content: bytes, message: str) -> None:
    file = tmp_path / "m.json"
    file.write_bytes(content)
    with pytest.raises(FileError, match=message):
        load_model(file)


@pytest.mark.parametrize("path", ["no/such/file.json", ".", "a\0b.json", "\ud800.json"])
def test_a_file_that_cannot_be_opened_is_refused(path: str) -> None:
    with pytest.raises(FileError, match="expected a readable model file"):
        load_model(path)


# --- writing ---------------------------------------------------------------------------------------


def test_probabilities_are_written_short_and_exact() -> None:
    rows = [("a", "a", "1/3"), ("a", "b", "1/8"), ("a", "c", "13/24"), ("b", "a", 1)]
    document = model_document(MarkovChain.from_transitions(rows))
    assert [row[2] for row in document["transitions"]] == ["1/3", 0.125, "13/24", 1]


def test_a_written_file_has_a_transition_on_each_line(tmp_path) -> None:
    file = tmp_path / "new" / "m.json"
    save_model(parse(CHAIN), file)
    assert file.read_text().splitlines() == [
        '{"format": "symveil/1",',
        ' "kind": "markov-chain",',
        ' "initial": "a",',
        ' "transitions": [',
        '  ["a", "a", "1/3"],',
        '  ["a", "b", "2/3"],',
        '  ["b", "a", 1]',
        "]}",
    ]
    assert [path.name for path in file.parent.iterdir()] == ["m.json"]


def test_nothing_is_left_behind_where_writing_fails(tmp_path) -> None:
    (tmp_path / "m.json").mkdir()
    with pytest.raises(FileError):
        save_model(parse(CHAIN), tmp_path / "m.json")
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@st.composite
def chains(draw: st.DrawFn) -> MarkovChain:
    states = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    rows = []
    for source in states:
        targets = draw(st.lists(st.sampled_from(states), unique=True))
        weights = [draw(st.integers(1, 10 ** draw(st.integers(0, 40)))) for _ in targets]
        rows += [(source, t, Fraction(w, sum(weights))) for t, w in zip(targets, weights, strict=True)]
    rows = draw(st.permutations(rows))
    return MarkovChain(
        states=tuple(draw(st.permutations(states))),
        transitions=tuple(rows),
        initial=draw(st.none() | st.sampled_from(states)),
    )


@st.composite
def automata(draw: st.DrawFn) -> Automaton | TransitionSystem:
    states = tuple(draw(st.lists(NAMES, min_size=1, max_size=5, unique=True)))
    state = st.sampled_from(states)
    silent = draw(st.booleans())
    rows = tuple(draw(st.lists(st.tuples(state, NAMES | st.none() if silent else NAMES, state), unique=True)))
    if silent:
        accepting = tuple(draw(st.lists(state, min_size=1, unique=True)))
        return Automaton(states=states, transitions=rows, initial=draw(state), accepting=accepting)
    return TransitionSystem(states=states, transitions=rows, initial=draw(state))


@given(chains() | automata())
def test_what_is_written_is_read_back_the_same(model) -> None:
    assert parse_model(model_text(model)) == model
    assert parse_model(json.dumps(model_document(model))) == model


def test_the_longest_probabilities_can_be_read_back() -> None:
    one = Fraction(1, 10**3999 + 1)
    chain = MarkovChain.from_transitions([("a", "a", one), ("a", "b", 1 - one)])
    assert parse_model(model_text(chain)) == chain


# --- whatever comes in -----------------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["a", "b", "1/2", "1/3", "0.5", "markov-chain", "automaton", "symveil/1", "labelled-chain"])
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
)
ROWS = st.lists(st.lists(SCALARS, min_size=2, max_size=4), max_size=5)
NEARLY = st.fixed_dictionaries(
    {
        "format": st.just("symveil/1") | JSON,
        "kind": st.sampled_from(["markov-chain", "automaton", "transition-system", "stochastic-system"]) | JSON,
        "transitions": ROWS | JSON,
    },
    optional={
        "initial": SCALARS | JSON,
        "accepting": JSON,
        "observable": st.just(["a"]) | JSON,
        "secret": JSON,
        "states": JSON,
        "other": JSON,
    },
)


def _read_or_refuse(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    try:
        load_model(path)
    except SymveilError as error:
        assert isinstance(error, InputError)
        assert str(path) in str(error)
        assert len(str(error).splitlines()) == 1
        assert len(str(error)) < 1000


@given(JSON | NEARLY)
def test_any_json_is_read_or_refused(tmp_path_factory, document) -> None:
    _read_or_refuse(json.dumps(document).encode(), tmp_path_factory.getbasetemp() / "any.json")


@given(st.binary(max_size=200) | st.binary(max_size=100).map(gzip.compress))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content) -> None:
    path = tmp_path_factory.getbasetemp()
    for name in ("any.json", "any.csv", "any.graphml"):
        _read_or_refuse(content, path / name)


@given(st.data())
def test_any_damaged_model_is_read_or_refused(tmp_path_factory, data) -> None:
    content = bytearray(json.dumps(data.draw(st.sampled_from([CHAIN, SYSTEM, AUTOMATON]))).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.sampled_from(list(b'{}[],:"0e1.\xff n')))
    _read_or_refuse(bytes(content), tmp_path_factory.getbasetemp() / "any.json")


# --- the shipped examples --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "kind"), [("roads", MarkovChain), ("robot", TransitionSystem), ("visits", Automaton)])
def test_the_examples_are_models_with_words(name: str, kind: type) -> None:
    model = load_model(EXAMPLES / f"{name}.json")
    assert isinstance(model, kind)
    assert runs(model, length=6).size >= 10
