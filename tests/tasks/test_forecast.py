"""What is said before a release of what can be learned from it, held against what is learned."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.central.noise import Quality
from symveil.cli.main import main
from symveil.estimation.iterated import Iterates
from symveil.estimation.limits import LIMITS
from symveil.mechanisms.choice import MechanismChoice
from symveil.release.spec import LocalSpec
from symveil.tasks.count import count, count_file
from symveil.tasks.learn_privately import learn
from symveil.tasks.plan_budget import forecast, plan_budget


def write(path: Path, words: list[str]) -> Path:
    path.write_text("id,word\n" + "".join(f"{number},{word}\n" for number, word in enumerate(words)))
    return path


@pytest.mark.parametrize(("epsilon", "mechanism"), [(2, "auto"), (4, "auto"), (3, "permute-and-flip")])
@pytest.mark.parametrize("statistic", ["visits", "ngrams:2"])
def test_intervals_are_as_wide_as_forecast(tmp_path: Path, statistic: str, epsilon: int, mechanism: str) -> None:
    """Uniform words, rows of average size: the standard errors of estimate are within a fifth of the forecast."""
    dice = random.Random(5)
    words = ["".join(dice.choice("abcd") for _ in range(6)) for _ in range(3000)]
    source = write(tmp_path / "in.csv", words)
    named = {"alphabet": "abcd", "epsilon": epsilon, "mechanism": mechanism}
    out = sv.privatize_file(source, tmp_path / "out.csv", separator="", **named).out  # type: ignore[arg-type]
    found = sv.estimate(out, statistic)
    release = LocalSpec.from_choice(MechanismChoice(epsilon=epsilon, mechanism=mechanism), alphabet="abcd", model=None)
    (said,) = (each for each in forecast(release, np.array([6]), 3000) if each.statistic == statistic)
    errors = found.numbers["standard_error"]
    assert said.half_width is not None and said.total == {"visits": 18_000, "ngrams:2": 15_000}[statistic]
    assert 0.8 < 1.96 * float(np.sqrt((errors**2).mean())) / said.half_width < 1.25
    wrong = forecast(release, np.array([6]), 12_000)[0 if statistic == "visits" else 1]  # of four times as many
    assert not 0.8 < 1.96 * float(np.sqrt((errors**2).mean())) / (wrong.half_width or 1) < 1.25


def test_what_cannot_be_told_is_said_beforehand(tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", ["a b c"] * 200)
    small = LocalSpec.from_choice(MechanismChoice(epsilon="0.001"), alphabet=[f"s{n}" for n in range(50)], model=None)
    assert [each.half_width for each in forecast(small, np.array([5]), 100)] == [None, None, 0.0]
    assert forecast(small, None, 100) == () and forecast(small, np.array([5]), 0) == ()
    roads = sv.MarkovChain.from_transitions(
        [(a, b, "1/2") for a, b in ("ab", "ac", "bc", "ba", "ca", "cb")], states=["a", "b", "c"]
    )
    for epsilon, note in (("0.01", "without intervals"), ("20", "with intervals")):
        release = LocalSpec.from_choice(MechanismChoice(epsilon=epsilon, adjacency=1), alphabet=None, model=roads)
        visits = forecast(release, np.array([3]), 200)[0]
        assert visits.half_width is None and note in visits.note
    ledger = tmp_path / "budgets.db"
    sv.grant_budget(ledger, 9, everyone=True)
    plan = plan_budget(source, tmp_path / "out.csv", alphabet="abc", epsilon=2, ledger=ledger, separator=" ")
    assert [each.statistic for each in plan.forecast] == ["visits", "ngrams:2", "lengths"]
    assert plan.document()["forecast"] == [each.document() for each in plan.forecast]


def test_a_dry_run_prints_the_forecast(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, ledger = write(tmp_path / "in.csv", ["a b c"] * 200), tmp_path / "budgets.db"
    sv.grant_budget(ledger, 9, everyone=True)
    asked = ["privatize", source, "--out", tmp_path / "o.csv", "--alphabet", "abc", "--epsilon", 2, "--ledger", ledger]
    with pytest.raises(SystemExit, match="^0$"):
        main([*map(str, asked), "--separator", " ", "--dry-run"])
    said = " ".join(capsys.readouterr().out.split())
    assert "What estimate will say from 200 such sequences" in said and "of an average row" in said


def iterates(*, signal: float, agreement: float) -> Iterates:
    """A statistic with 40 cells in 50 groups: a second release takes from the first cells, and adds noise."""
    dice = np.random.default_rng(3)
    first = dice.poisson(20.0, (50, 40)).astype(np.float64)
    step = np.where(np.arange(40) < 5, signal, 0.0) + dice.normal(0.0, 2.0, (50, 40))
    sums = np.stack([first, first - step, first - 2 * step])
    return Iterates(sums=sums, sizes=np.full(50, 10), agreement=agreement, seed=1)


@pytest.mark.parametrize(
    ("signal", "agreement", "warned"), [(0.0, 0.6, True), (8.0, 0.6, False), (0.0, 0.97, False), (8.0, 0.97, False)]
)
def test_a_table_whose_noise_was_not_undone_says_so(signal: float, agreement: float, warned: bool) -> None:
    found = iterates(signal=signal, agreement=agreement)
    assert bool(found.table().warnings) is warned
    assert bool(found.shares(np.arange(40) // 8).warnings) is warned
    if warned:
        assert "about 40 % of its symbols are noise" in found.table().warnings[0]
        assert np.allclose(found.table().estimate, found.table().released, rtol=0.1)


def test_such_a_table_is_headed_as_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str], set_limits) -> None:
    set_limits(LIMITS, least_signal=1.1)  # whatever chance makes of a small file
    states = [f"s{n}" for n in range(12)]
    near = [(one, other, "1/6") for n, one in enumerate(states) for other in (states * 2)[n + 1 : n + 7]]
    sv.save_model(sv.MarkovChain.from_transitions(near), tmp_path / "m.json")
    source = write(tmp_path / "in.csv", ["s0 s1 s2 s3", "s5 s6 s9 s11", "s3 s7 s8 s10"] * 20)
    named = {"model": tmp_path / "m.json", "adjacency": 1, "separator": " "}
    sv.privatize_file(source, tmp_path / "noise.csv", epsilon=2, **named)  # type: ignore[arg-type]
    with pytest.raises(SystemExit, match="^0$"):
        main(["estimate", str(tmp_path / "noise.csv"), "--statistic", "ngrams:2"])
    said = capsys.readouterr()
    assert said.err.splitlines()[0].startswith("symveil: warning: the noise could not be undone (shrinkage ")
    assert said.err.count("could not be undone") == 1
    assert "iterated-release, noise not undone" in " ".join(said.out.split())
    found = sv.estimate(tmp_path / "noise.csv", "ngrams:2")
    assert found.warnings == found.assumptions[:2] and found.caveat == ", noise not undone"
    sv.privatize_file(source, tmp_path / "clear.csv", epsilon=12, **named)  # type: ignore[arg-type]
    assert not sv.estimate(tmp_path / "clear.csv", "ngrams:2").warnings


def test_a_bound_that_nothing_is_known_of_is_no_0_percent(tmp_path: Path) -> None:
    source = write(tmp_path / "in.csv", ["a b c"] * 5)
    table = count(source, "visits", epsilon="0.01", alphabet="abc", separator=" ")
    assert table.bound == 4 and table.clipped_share is None
    assert table.warnings == table.notes[:1] and "the bound of 4 is a guess" in table.warnings[0]
    assert " ".join(table.notes).count("is not known") == 1 and "%" not in " ".join(table.notes)
    for name in ("t.json", "t.csv"):
        count_file(source, "visits", epsilon="0.01", alphabet="abc", separator=" ", out=tmp_path / name)
        assert sv.check_manifest(tmp_path / f"{name}.manifest.json").holds
    read = sv.read_counts(tmp_path / "t.json")
    assert read.clipped_share is None and read.notes == table.notes
    given = count(source, "visits", epsilon="0.01", alphabet="abc", separator=" ", bound=3)
    assert not given.warnings and "because the bound was given" in " ".join(given.notes)


@pytest.mark.parametrize("epsilon", ["1e-310", "1e-101"])
def test_an_epsilon_whose_noise_no_float_holds_is_refused_in_one_line(tmp_path: Path, epsilon: str, capsys) -> None:
    source = write(tmp_path / "in.csv", ["a b c"] * 5)
    for asked in (
        ["count", str(source), "--statistic", "visits", "--alphabet", "abc", "--out", str(tmp_path / "o.csv")],
        ["learn", str(source), "--alphabet", "abc", "--lengths", "1..4", "--out", str(tmp_path / "o.json")],
    ):
        with pytest.raises(SystemExit, match="^2$"):
            main([*asked, "--epsilon", epsilon, "--separator", " "])
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("symveil: error: epsilon: expected at least 1e-100, so that noise")
    assert not (tmp_path / "o.csv").exists() and not (tmp_path / "o.json").exists()


@pytest.mark.parametrize("epsilon", ["1e-100", "1e9"])
def test_the_farthest_epsilons_are_counted_and_learned_with(tmp_path: Path, epsilon: str) -> None:
    source = write(tmp_path / "in.csv", ["a b c"] * 5)
    for name in ("t.csv", "t.json"):
        count_file(source, "visits", epsilon=epsilon, alphabet="abc", separator=" ", out=tmp_path / name)
        assert sv.check_manifest(tmp_path / f"{name}.manifest.json").holds
    for kind in ("trips", "log"):
        out = tmp_path / f"{kind}.json"
        learned = learn(source, out, epsilon=epsilon, lengths=(1, 4), alphabet="abc", kind=kind, separator=" ")
        assert sv.check_manifest(learned.manifest_file).holds


def test_few_persons_are_warned_of_noise_by_learn_and_by_synthesize(tmp_path: Path, capsys) -> None:
    sizes = {20: True, 20_000: False}
    for persons, noisy in sizes.items():
        source, model = write(tmp_path / "in.csv", ["a b c"] * persons), tmp_path / f"m{persons}.json"
        asked = ["learn", source, "--alphabet", "abc", "--lengths", "1..4", "--epsilon", 1, "--out", model, "--json"]
        with pytest.raises(SystemExit, match="^0$"):
            main([*map(str, asked), "--separator", " ", "--kind", "trips"])
        said = capsys.readouterr()
        quality = json.loads(said.out)["quality"]
        assert {each["table"] for each in quality["tables"]} == {"moves", "starts", "ends", "od", "lengths"}
        if not noisy:
            assert quality["persons"] == pytest.approx(persons, abs=200)  # noise of some ten; alarms once in 10⁷
        assert ("warning: words are mostly noise: " in said.err) is noisy
        with pytest.raises(SystemExit, match="^0$"):
            main(["synthesize", str(model), "--count", "5", "--out", str(tmp_path / "s.csv")])
        assert ("warning: words are mostly noise: " in capsys.readouterr().err) is noisy


def test_the_forecast_of_a_law_is_the_noise_that_it_has(tmp_path: Path) -> None:
    """The expected noise of a table is the mean of what is drawn: cells × scale, over what persons add."""
    source = write(tmp_path / "in.csv", ["a b c"] * 1000)
    learned = learn(source, tmp_path / "m.json", epsilon=1, lengths=(1, 4), alphabet="abc", separator=" ", kind="trips")
    assert isinstance(learned.quality, Quality)
    shares = {name: share for name, share, _ in learned.quality.rows()}
    persons = learned.quality.persons
    assert shares["moves"] == pytest.approx(9 * 2 / persons) and shares["lengths"] == pytest.approx(4 * 25 / persons)
