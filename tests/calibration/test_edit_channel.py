"""The loss of the edit channel against enumeration, its tail against long sums, its search against random channels."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from edit_oracle import Channel, neighbours, words
from symveil.calibration import answers, edit_channel
from symveil.calibration.edit_channel import (
    NOTHING,
    SCANNED,
    ChannelParameters,
    _sequences,
    best_channel,
    channel_loss,
    inserted_above,
    none_inserted,
)
from symveil.errors import ParameterError
from symveil.numbers.conversions import ball, precision


def loss_by_enumeration(symbols: int, longest: int, outputs: int, **parameters: float) -> float:
    channel = Channel(symbols=symbols, **parameters)
    inputs, released = words(symbols, longest), words(symbols, outputs)
    logs = np.log([[channel.probability(word, output) for output in released] for word in inputs])
    return max(float((logs[i] - logs[j]).max()) for i, j in neighbours(inputs, 1))


def test_the_value_of_the_theory():
    """docs/theory/hidden-lengths.md: m = 2, ρ = 1/4, q = 2, δ = 0.06, σ = 0.04."""
    values = {"ratio": 0.25, "power": 2, "deletion": 0.06, "substitution": 0.04}
    loss = channel_loss(ChannelParameters.of(**values), 2)
    assert float(loss.worst) == pytest.approx(3.42747, abs=5e-6)
    assert loss.attained
    assert loss_by_enumeration(2, 4, 7, **values) == pytest.approx(float(loss.worst), abs=1e-9)


@pytest.mark.parametrize("symbols", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [2, "3.5", 6])
def test_the_chosen_channel_loses_exactly_what_it_says(symbols, epsilon):
    """All adjacent words of up to 4 symbols (3 over 3 letters), outputs up to 7 (6): never more, and attained."""
    chosen = best_channel(epsilon=Fraction(epsilon), symbols=symbols, nominal_length=20)
    parameters = chosen.parameters
    assert not parameters.tells_nothing
    longest, outputs = (3, 6) if symbols == 3 else (4, 7)
    found = loss_by_enumeration(
        symbols,
        longest,
        outputs,
        ratio=float(parameters.ratio),
        power=float(parameters.power),
        deletion=float(parameters.deletion),
        substitution=float(parameters.substitution),
    )
    assert chosen.loss.attained
    assert found <= float(chosen.loss.worst) + 1e-12
    assert found == pytest.approx(float(chosen.loss.worst), abs=1e-9)
    assert float(chosen.loss.worst) == pytest.approx(float(Fraction(epsilon)), abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    symbols=st.integers(1, 3),
    ratio=st.floats(0.01, 0.95),
    power=st.floats(2, 6),
    deletion=st.floats(0.01, 0.8),
    share=st.floats(0.01, 1),
)
def test_no_pair_loses_more_than_reported(symbols, ratio, power, deletion, share):
    substitution = share * (1 - deletion) * (symbols - 1) / symbols
    values = {"ratio": ratio, "power": power, "deletion": deletion, "substitution": substitution * (1 - 1e-9)}
    loss = channel_loss(ChannelParameters.of(**values), symbols)
    found = loss_by_enumeration(symbols, 2, 5, **values)
    assert found <= float(loss.worst) + 1e-9
    # by kind of edit: what an output of up to five symbols shows is never more than the scan found
    assert found <= float(max(loss.insertion, loss.deletion, loss.substitution)) + 1e-9


def test_the_supremum_is_approached_as_outputs_grow():
    """Where long outputs are the worst, enumeration climbs to the reported loss from below and does not pass it."""
    parameters = ChannelParameters.of(ratio="0.9", power=2, deletion="0.7", substitution="0.01")
    loss = channel_loss(parameters, 2)
    channel = Channel(symbols=2, ratio=0.9, power=2, deletion=0.7, substitution=0.01)
    found = [
        math.log(channel.probability((0,), (0,) * length) / channel.probability((), (0,) * length))
        for length in (1, 2, 4, 8, 16, 32)
    ]
    assert max(found) <= float(loss.insertion) + 1e-9
    assert max(found) == pytest.approx(float(loss.insertion), abs=5e-3)


@pytest.mark.parametrize("power", ["2", "2.05", "2.41", "3", "4.5", "6"])
def test_the_tail_bound_holds_far_beyond_the_scan(power):
    """a_L computed for L up to 20,000 lies between the two bounds for L ≥ L₀, and converges to 2ζ(q)."""
    q, table = float(power), _sequences(Fraction(power))
    falling = np.arange(1, 20_002, dtype=np.float64) ** -q
    values = []
    for length in [SCANNED - 1, SCANNED, SCANNED + 1, 2000, 5000, 20_000]:
        values.append((1 + length) ** q * float(falling[: length + 1] @ falling[length::-1]))
        assert ((length + 2) / (length + 1)) ** q * values[-1] <= float(table.s_tail)  # this is s_{L+1}
        if length >= SCANNED:
            assert float(table.a_least) <= values[-1] <= float(table.a_tail)
    zeta = float(np.sum(np.arange(1, 2_000_000, dtype=np.float64) ** -q))
    assert values[-1] == pytest.approx(2 * zeta, rel=0.01)
    scanned = [float(value) for value in table.a]
    assert scanned[:2] == pytest.approx([1, 2])


def test_a_scan_alone_would_understate_the_supremum_of_a():
    """Why there is a bound: for q = 2 the largest a_L is at L = 19, past any short scan."""
    values = [float(value) for value in _sequences(Fraction(2)).a]
    assert max(values[:10]) < max(values) == values[19]


def test_a_geometric_insertion_law_has_no_finite_loss():
    """g(t) = (1−ρ)ρ^t: g*g/g = (1−ρ)(L+1) grows without end."""
    ratio, ratios = 0.5, []
    for length in (1, 10, 100):
        gap = [(1 - ratio) * ratio**t for t in range(length + 1)]
        twice = sum(gap[j] * gap[length - j] for j in range(length + 1))
        ratios.append(twice / gap[length])
    assert ratios == pytest.approx([1, 5.5, 50.5])


@pytest.mark.parametrize(("symbols", "epsilon"), [(2, 3), (3, 5), (26, 8)])
def test_no_random_channel_within_the_budget_is_better(symbols, epsilon):
    """300 random channels around the chosen one: whichever makes 0.5 % fewer edits breaks the budget."""
    chosen = best_channel(epsilon=Fraction(epsilon), symbols=symbols, nominal_length=100).parameters
    source = np.random.default_rng(1)
    best = _edits(chosen)
    tried = 0
    for _ in range(300):
        spread = source.lognormal(0, 0.3, size=4)
        ratio, deletion, substitution = (
            float(value) * factor
            for value, factor in zip((chosen.ratio, chosen.deletion, chosen.substitution), spread[:3], strict=True)
        )
        power = max(2.0, float(chosen.power) * spread[3])
        if ratio >= 1 or deletion + substitution >= 1 or power > 20:
            continue
        candidate = ChannelParameters.of(
            ratio=f"{ratio:.9g}", power=f"{power:.6g}", deletion=f"{deletion:.9g}", substitution=f"{substitution:.9g}"
        )
        if _edits(candidate) > best * 0.995:
            continue
        tried += 1
        assert channel_loss(candidate, symbols).worst > epsilon
    assert tried > 20  # cheaper ones exist; all of them break the budget


def _edits(parameters: ChannelParameters) -> float:
    count = np.arange(2000)
    weights = float(parameters.ratio) ** count / (1.0 + count) ** float(parameters.power)
    mean = float(weights @ count / weights.sum())
    return 100 * float(parameters.deletion + parameters.substitution) + 101 * mean


def test_the_search_is_deterministic_and_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path))
    edit_channel._answers.clear()
    first = best_channel(epsilon=Fraction(4), symbols=5, nominal_length=10)
    (file,) = tmp_path.iterdir()
    edit_channel._answers.clear()
    monkeypatch.setattr(edit_channel, "_searched", None)  # so it must have been kept
    assert best_channel(epsilon=Fraction(4), symbols=5, nominal_length=10) == first
    monkeypatch.undo()
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path))
    edit_channel._answers.clear()
    # an entry that breaks the budget, or is none, is not believed
    answers.keep(file.stem, {"ratio": "1/2", "power": "2", "deletion": "1/1000", "substitution": "1/1000"})
    assert best_channel(epsilon=Fraction(4), symbols=5, nominal_length=10) == first
    edit_channel._answers.clear()
    file.write_text("{}")
    assert best_channel(epsilon=Fraction(4), symbols=5, nominal_length=10) == first
    edit_channel._answers.clear()


@pytest.mark.parametrize("symbols", [1, 2, 26, 1000])
@pytest.mark.parametrize("epsilon", ["1/1000", "0.5", "1.2", "1.4", 3, "3.4", 10, 60, 10**6])
def test_the_loss_is_always_within_the_budget(symbols, epsilon):
    chosen = best_channel(epsilon=Fraction(epsilon), symbols=symbols, nominal_length=50)
    assert chosen.loss.worst <= Fraction(epsilon)
    if Fraction(epsilon) < Fraction(1, 3):
        # 2·e^{−ε} ≤ 2δg(0) ≤ e^ε for any channel that inserts: ε ≥ ln(2)/2
        assert chosen.parameters == NOTHING


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"ratio": 1}, "ratio"),
        ({"ratio": "-0.1"}, "ratio"),
        ({"ratio": 0}, "ratio"),
        ({"power": "1.5"}, "power"),
        ({"power": 50}, "power"),
        ({"deletion": 0}, "deletion"),
        ({"deletion": 2}, "deletion"),
        ({"substitution": "0.99"}, "substitution"),
        ({"substitution": -1}, "substitution"),
    ],
)
def test_parameters_outside_their_domain(change, name):
    values = {"ratio": "1/4", "power": 2, "deletion": "0.06", "substitution": "0.04"}
    with pytest.raises(ParameterError, match=f"^{name}: expected"):
        ChannelParameters.of(**{**values, **change})


def test_a_symbol_must_be_its_own_likeliest_image():
    parameters = ChannelParameters.of(ratio="1/4", power=2, deletion="0.1", substitution="0.6")
    with pytest.raises(ParameterError, match="substitution"):
        channel_loss(parameters, 2)
    assert channel_loss(parameters, 3).worst > 0
    with pytest.raises(ParameterError, match="one symbol"):
        sv.EditChannel("a", epsilon=9, parameters=parameters)


@pytest.mark.parametrize(
    ("ratio", "deletion", "substitution", "symbols"),
    [("0.9999", "0.4", "0.1", 3), ("0.9", "0.451", "0", 1), ("0.99", "0.4", "0.1", 2)],
)
def test_large_powers_are_as_exact_as_small_ones(ratio, deletion, substitution, symbols):
    """Near q = 20 the library's polylogarithm has few good bits; a loss called exact is attained all the same."""
    own = ChannelParameters.of(ratio=ratio, power=20, deletion=deletion, substitution=substitution)
    # Σ ρ^t/(1+t)^20 by its first terms: the rest is below 10⁻⁵⁰
    total = sum(Fraction(ratio) ** t / Fraction(1 + t) ** 20 for t in range(400))
    with precision(128):
        assert abs(float(none_inserted(own) * ball(total)) - 1) < 1e-15
        assert none_inserted(own).rel_accuracy_bits() > 90
    channel = sv.EditChannel("abc"[:symbols], epsilon=20, parameters=own)
    assert channel.guarantee.how == "exact"
    rows = channel.outputs(7, at_most=20_000)
    nothing = np.empty(0, np.int32)
    assert math.isclose(sum(np.exp(channel.log_probabilities(nothing, each)).sum() for each in rows), 1, abs_tol=1e-12)
    verdict = sv.audit(channel, length=2, output_length=6)
    assert math.isclose(verdict.worst_epsilon, channel.guarantee.epsilon, rel_tol=1e-9)


def test_a_ratio_too_close_to_one_is_refused_in_one_line():
    near = ChannelParameters.of(ratio=1 - Fraction(1, 10**4000), power=20, deletion="0.4", substitution="0.1")
    with pytest.raises(ParameterError, match="^ratio: expected one that is not so close to 1"):
        channel_loss(near, 3)


@pytest.mark.parametrize("power", ["2", "20"])
def test_what_is_inserted_far_out_adds_up_close_to_one(power):
    """Where the series is too long the sum from t on is a difference: the same as from t' on, and what lies between."""
    own = ChannelParameters.of(ratio="0.999999999", power=power, deletion="0.4", substitution="0.1")
    with precision(128):
        weights, total = inserted_above(own, 24, 24)
        _, later = inserted_above(own, 48, 24)
        assert total.overlaps(sum(weights, start=arb(0)) + ball(own.ratio) ** 24 * later)
        assert total.rel_accuracy_bits() > 90


@pytest.mark.parametrize(
    "entry",
    [
        {"ratio": "1/2", "power": "2", "deletion": "1/2"},  # something is missing
        {"ratio": "3/2", "power": "2", "deletion": "1/2", "substitution": "1/10"},  # no probability
        {"ratio": "half", "power": "2", "deletion": "1/2", "substitution": "1/10"},
        {"ratio": "1/2", "power": "2", "deletion": "2", "substitution": "1/10"},
        {"ratio": "1/2", "power": "2", "deletion": "1/10000", "substitution": "1/10000"},  # its loss is far above ε
        {"ratio": "0.999999999999", "power": "2", "deletion": "1/2", "substitution": "1/10"},  # inserts without end
        {"ratio": "1e-999999999", "power": "2", "deletion": "1/2", "substitution": "1/10"},
        {"ratio": "1/2", "power": "9" * 90_000, "deletion": "1/2", "substitution": "1/10"},
    ],
)
def test_what_was_kept_is_believed_only_if_its_loss_is_proved_again(tmp_path, monkeypatch, entry):
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path))
    edit_channel._answers.clear()
    found = best_channel(epsilon=Fraction(3), symbols=4, nominal_length=20)
    (file,) = tmp_path.iterdir()
    answers.keep(file.stem, entry)
    edit_channel._answers.clear()
    assert best_channel(epsilon=Fraction(3), symbols=4, nominal_length=20) == found
    assert found.loss.worst <= 3
