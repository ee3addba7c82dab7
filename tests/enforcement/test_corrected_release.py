"""A mechanism for all observations whose unsafe outcomes become safe ones: its law, its loss, and when it is chosen."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from cli.running import symveil
from symveil.enforcement import length_tables
from symveil.enforcement.limits import LIMITS
from symveil.languages.distance_sums import all_distances
from symveil.languages.limits import LIMITS as LANGUAGES
from symveil.languages.runs import smallest
from symveil.mechanisms.limits import LIMITS as MECHANISMS
from symveil.mechanisms.postprocessed import Postprocessed
from symveil.mechanisms.restricted import Restricted
from symveil.randomness import NotPrivateSeededBits
from symveil.tasks.enforce import enforcement_document

from .plain_observer import busy_system


def corrected(length: int, adjacency: int = 1) -> sv.Enforcement:
    system = busy_system(50, 8)
    return sv.enforce_opacity(system, 2, epsilon=2, length=length, adjacency=adjacency, mechanism="corrected")


def by_definition(release: Postprocessed) -> np.ndarray:
    """P(x|w) = Σ over o of P(o drawn|w)·R(x|o), R the identity on safe o and e^{−ρd} on others; all pairs."""
    (inputs,), (outputs,) = release.inputs(at_most=5000), release.outputs(at_most=5000)
    drawn = np.exp([release.through.log_probabilities(word, inputs) for word in inputs])
    weights = np.exp(-float(release.correction.rate) * all_distances(inputs, outputs))
    safe = {tuple(row): number for number, row in enumerate(outputs.tolist())}
    shown = weights / weights.sum(axis=1, keepdims=True)
    for number, row in enumerate(inputs.tolist()):
        if tuple(row) in safe:
            shown[number] = np.eye(len(outputs))[safe[tuple(row)]]
    return drawn @ shown


@pytest.mark.parametrize("adjacency", [1, 2])
def test_the_law_is_that_of_the_definition_and_loses_no_more_than_is_promised(adjacency):
    release = corrected(3, adjacency).mechanism(3)
    assert isinstance(release, Postprocessed)
    (inputs,), (outputs,) = release.inputs(at_most=5000), release.outputs(at_most=5000)
    assert 0 < len(release.correction.unsafe) == len(inputs) - len(outputs)
    law = by_definition(release)
    np.testing.assert_allclose(law.sum(axis=1), 1, rtol=1e-12)
    for number in (0, 7, len(inputs) - 1):
        found = np.exp(release.log_probabilities(inputs[number], outputs))
        np.testing.assert_allclose(found, law[number], rtol=1e-10)
        mean = law[number] @ np.count_nonzero(outputs != inputs[number], axis=1)
        told = release.distances(tuple(release.alphabet.symbols[code] for code in inputs[number]))
        assert told.expected_error == pytest.approx(mean, rel=1e-10)
    np.testing.assert_allclose(release.laws(inputs[:5], outputs), law[:5], rtol=1e-10)
    near = all_distances(inputs, inputs)
    worst = max(
        np.log(law[one] / law[two]).max() for one, two in np.argwhere((near > 0) & (near <= adjacency)).tolist()
    )
    assert worst <= release.guarantee.epsilon + 1e-12  # the logarithms of this test are rounded
    assert release.guarantee.epsilon <= 2
    assert sv.audit(release).private


def test_what_is_drawn_has_the_law_and_is_safe():
    """20,000 draws of one observation from a fixed seed: within six standard deviations of every probability."""
    release = corrected(3).mechanism(3)
    (outputs,), word = release.outputs(at_most=5000), release.correction.unsafe[0]
    count = 20_000
    drawn = release.release_codes(np.repeat(word[None, :], count, axis=0), bits=NotPrivateSeededBits(5))
    assert (release.correction.safe.first_impossible(drawn) == 0).all()
    expected = np.exp(release.log_probabilities(word, outputs))
    found = np.array([(drawn == row).all(axis=1).sum() for row in outputs])
    assert np.abs(found - count * expected).max() < 6 * math.sqrt(count * expected.max())


@pytest.mark.parametrize("listed", [False, True])
def test_what_it_achieves_is_what_the_list_of_all_pairs_gives(monkeypatch, listed, set_limits):
    if listed:  # as for mechanisms whose weights are not exponential in the Hamming distance
        monkeypatch.setattr(length_tables, "hamming_rate", lambda law: None)
    set_limits(LIMITS, numbers_at_once=300)
    enforced = corrected(3)
    release, law = enforced.mechanism(3), by_definition(enforced.mechanism(3))
    (inputs,), (outputs,) = release.inputs(at_most=5000), release.outputs(at_most=5000)
    runs = {each.events: each for each in enforced._runs.walk(cut=False)}
    chances = np.array(
        [[float(runs[tuple(row)].probability), float(runs[tuple(row)].secret)] for row in inputs.tolist()]
    )
    distance = (chances[:, 0, None] * law * all_distances(inputs, outputs)).sum()
    shown = law.T @ chances
    assert enforced.expected_distance == pytest.approx(distance, rel=1e-10)
    assert enforced.posterior_of_secret == pytest.approx((shown[:, 1] / shown[:, 0]).max(), rel=1e-10)


@pytest.mark.parametrize("hamming", [True, False])
def test_where_everything_is_safe_nothing_is_corrected(monkeypatch, hamming):
    if not hamming:
        monkeypatch.setattr(length_tables, "hamming_rate", lambda law: None)
    rows = [("0", event, "0", "1/3") for event in "abc"]
    system = sv.StochasticSystem.from_transitions(rows, initial="0", observable=["a", "b", "c"], secret=[])
    enforced = sv.enforce_opacity(system, 2, epsilon=2, length=3, mechanism="corrected")
    plain = sv.Exponential(sv.words("abc", 3), epsilon=2)
    assert enforced.expected_distance == pytest.approx(plain.distances().expected_error, rel=1e-12)
    assert enforced.posterior_of_secret == 0
    assert enforced.mechanism(3).log_probability("abc", "abb") == pytest.approx(plain.log_probability("abc", "abb"))


def test_where_nothing_is_known_exactly_the_certified_mechanism_with_less_error_is_taken(set_limits):
    set_limits(MECHANISMS, restricted_inputs=100)  # 125 observations: too many to compare
    system = busy_system(50, 8)
    chosen, direct = (
        sv.enforce_opacity(system, 2, epsilon=2, length=3, mechanism=mechanism) for mechanism in ("auto", "direct")
    )
    assert isinstance(direct.mechanism(3), Restricted)
    assert direct.guarantee.how == "classic"
    assert isinstance(chosen.mechanism(3), Postprocessed)
    assert chosen.guarantee.how == "exact"
    assert chosen.expected_distance < 0.8 * direct.expected_distance
    found, other = enforcement_document(chosen), enforcement_document(direct)
    assert found["mechanism"].startswith("corrected exponential")
    assert found["lower_bound"]["value"] <= found["expected_error"] < other["expected_error"]
    assert chosen.with_epsilon(4).mechanism(3).name == "private"
    assert enforcement_document(sv.enforce_opacity(system, 2, policy="safe", omega=1, length=3))["lower_bound"] is None


@pytest.mark.parametrize("mechanism", ["auto", "direct", "corrected"])
def test_a_released_log_is_checked_with_the_mechanism_it_was_released_by(tmp_path, monkeypatch, mechanism):
    """Manifests of former versions do not name one: they mean the direct one."""
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.tasks.enforce_options import release_log
    from symveil.tasks.parameters import RunOptions

    monkeypatch.chdir(tmp_path)
    sv.save_model(busy_system(50, 8), "system.json")
    Path("log.csv").write_text("id,seen\n1,a b c\n2,b b\n3,e e a\n")
    enforced = sv.enforce_opacity(sv.load_model("system.json"), 2, epsilon=2, length=3, mechanism=mechanism)
    release_log(
        enforced, Path("log.csv"), Path("out.csv"), columns=ColumnOptions(identifier="id", sequence="seen"),
        run=RunOptions(release_id="may"), system_file=Path("system.json"),
    )  # fmt: skip
    policy = json.loads(Path("out.csv.manifest.json").read_text())["policy"]
    assert policy.get("mechanism", "direct") == mechanism
    assert ("mechanism" in policy) == (mechanism != "direct")
    assert symveil("check", "out.csv.manifest.json").status == 0


def test_unknown_mechanisms_are_refused():
    for asked in ({"mechanism": "best", "epsilon": 1}, {"mechanism": "direct", "policy": "safe", "omega": 1}):
        with pytest.raises(sv.SymveilError, match="mechanism: expected auto, direct or corrected"):
            sv.enforce_opacity(busy_system(5, 1), length=2, **asked)


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_graph_has_the_same_words(set_limits, seed):
    from benchmarks.systems import random_system

    set_limits(LANGUAGES, unmerged_states=0)
    enforced = sv.enforce_opacity(random_system(40, seed), 1, epsilon=1, length=5)
    longest = enforced.longest
    for language in (enforced._runs.safe.language(longest), enforced._runs.safe.possible(longest)):
        assert language is not None
        small = smallest(language)
        assert np.array_equal(small.enumerate_codes(at_most=10**5), language.enumerate_codes(at_most=10**5))
        assert small.graph.state_count <= language.graph.state_count
