"""Many words by the online mechanism at once: every record's word is the one that a session draws from its bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import symveil as sv
from mechanisms.batch_languages import KEY, OF_EACH_KIND, ROWS
from mechanisms.random_models import chains, models
from symveil.errors import ModelError
from symveil.languages.graph import word_graph
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.online import Online
from symveil.mechanisms.online_batch import OnlineBatch, steps_to_each
from symveil.models.markov_chain import MarkovChain
from symveil.randomness.limits import LIMITS as BITS

LANGUAGES = {
    **OF_EACH_KIND,
    "no symbol": sv.runs(MarkovChain.from_transitions(ROWS), 0),
}


def agree(mechanism: Online, codes: np.ndarray) -> None:
    """The same words from the same bits, and not a bit more or less."""
    names = KEY.names_of_rows(np.arange(len(codes)))
    together, apart = KEY.streams(names), KEY.streams(names)
    batch = OnlineBatch(mechanism.language, mechanism.keep_choice, steering=mechanism.steering)
    found = batch.draw(codes, together)
    assert found.tolist() == mechanism._draw_by_sessions(codes, apart).tolist()
    assert together.word_rows(len(codes), 1).tolist() == apart.word_rows(len(codes), 1).tolist()


def words(language, count: int) -> np.ndarray:
    known = language.enumerate_codes(at_most=10_000)
    return known[np.random.default_rng(1).integers(0, len(known), count)]


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("steering", [True, False])
@pytest.mark.parametrize("epsilon", ["1/10", 3])
def test_a_batch_draws_what_sessions_draw(name: str, steering: bool, epsilon) -> None:
    mechanism = sv.Online(LANGUAGES[name], epsilon=epsilon, adjacency=1, steering=steering)
    agree(mechanism, words(LANGUAGES[name], 120))


@pytest.mark.parametrize("name", ["dead end", "public start", "accepting states"])
def test_also_where_the_first_bits_decide_nothing(name: str, set_limits) -> None:
    set_limits(BITS, filter_bits=2)
    agree(sv.Online(LANGUAGES[name], epsilon=1, adjacency=1), words(LANGUAGES[name], 60))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_on_any_model(data) -> None:
    model = data.draw(models)
    length = data.draw(st.integers(0, 5))
    public = isinstance(model, MarkovChain) and data.draw(st.booleans())
    try:
        language = sv.runs(model, length, public_start=public)
    except ModelError:
        assume(False)
    agree(sv.Online(language, epsilon="1/2", adjacency=1, steering=data.draw(st.booleans())), words(language, 25))


def test_tables_in_pieces_change_nothing(set_limits) -> None:
    mechanism = sv.Online(LANGUAGES["dead end"], epsilon="1/4", adjacency=1)
    codes = words(LANGUAGES["dead end"], 80)
    for steps in (1, 6, 13):  # to no symbol, to one, to two of five at once
        for options in (1, 40):
            set_limits(LIMITS, online_distances=steps, online_options=options)
            agree(mechanism, codes)


def test_few_words_and_many_are_the_same_records() -> None:
    language = LANGUAGES["dead end"]
    mechanism = sv.Online(language, epsilon=1, adjacency=1)
    codes = words(language, 40)
    names = KEY.names_of_rows(np.arange(40))
    whole = mechanism.release_codes(codes, bits=KEY.streams(names))
    few = [mechanism.release_codes(codes[at : at + 3], bits=KEY.streams(names[at : at + 3])) for at in range(0, 40, 3)]
    assert np.concatenate(few).tolist() == whole.tolist()


def steps_by_definition(graph, goal: int) -> dict[int, int]:
    """How many steps lead to a state at least, from each state from which some do."""
    steps, found = {goal: 0}, True
    while found:
        found = {
            state: 1 + min(steps[to] for to in after)
            for state in range(graph.state_count)
            if state not in steps and (after := [int(to) for to in graph.target[graph.edges(state)] if to in steps])
        }
        steps.update(found)
    return steps


@given(chains())
@settings(max_examples=40, deadline=None)
def test_steps_to_many_states_are_the_fewest(chain) -> None:
    graph = word_graph(chain)
    found = steps_to_each(graph, np.arange(len(chain.states)))
    for goal in range(len(chain.states)):
        expected = steps_by_definition(graph, goal)
        assert [int(steps) for steps in found[:, goal]] == [
            expected.get(state, np.iinfo(np.int32).max) for state in range(graph.state_count)
        ]
