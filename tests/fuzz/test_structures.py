"""JSON of any shape in every place of a model, and any text where something is typed: read, or refused in one line.

By hypothesis, which shrinks what it finds; `test_parsers` has the bytes, the time and the memory.
"""

from __future__ import annotations

import json
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.errors import SymveilError
from symveil.formats.models.model_json import model_text, parse_model
from symveil.formats.symbols import read_alphabet
from symveil.laws.parameters import read_epsilon
from symveil.models.alphabet import join_word, split_word
from symveil.numbers.rationals import exact, spelled

from .examples import MODELS

names = st.sampled_from(["a", "b", "c", "0", "s", "t", "", "x y"])
numbers = st.sampled_from([0, 1, 0.5, "1/2", "1/3", "2/3", -1, 1e400, "1/0", "½", 10**25, "1e-9"])
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), names, numbers)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
rows = st.lists(
    st.one_of(st.tuples(names, names, numbers), st.tuples(names, names, names, numbers), values), max_size=5
)
KEYS = ["kind", "initial", "states", "transitions", "accepting", "observable", "secret", "labels", "related", "extra"]


def one_line(error: SymveilError) -> bool:
    return len(str(error).splitlines()) == 1


@settings(max_examples=400)
@given(
    base=st.sampled_from(MODELS), changes=st.dictionaries(st.sampled_from(KEYS), values, max_size=3), transitions=rows
)
def test_any_json_in_any_place_of_a_model(base: bytes, changes: dict[str, object], transitions: list[object]) -> None:
    document = json.loads(base) | changes
    if transitions:
        document["transitions"] = transitions
    try:
        model = parse_model(json.dumps(document))
    except SymveilError as error:
        assert one_line(error)
    else:
        assert parse_model(model_text(model)) == model


@settings(max_examples=400)
@given(st.one_of(st.text(max_size=12), st.from_regex(r"\A-?[0-9./eE+_ -]{0,10}\Z"), st.integers(), st.floats()))
def test_any_text_as_a_number(value: object) -> None:
    try:
        epsilon = read_epsilon(value)  # type: ignore[arg-type]
    except SymveilError as error:
        assert one_line(error)
    else:
        assert isinstance(epsilon, Fraction)
        assert 0 < epsilon <= 10**9
        assert exact(spelled(epsilon)) == epsilon


@settings(max_examples=300)
@given(alphabet=st.text(max_size=8), separator=st.none() | st.text(max_size=2), word=st.text(max_size=12))
def test_any_text_as_an_alphabet_and_a_word(alphabet: str, separator: str | None, word: str) -> None:
    try:
        read_alphabet(alphabet.lstrip("@"))
    except SymveilError as error:
        assert one_line(error)
    assert join_word(split_word(word, separator), separator) == word
