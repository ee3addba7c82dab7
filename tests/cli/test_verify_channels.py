"""`symveil verify` of channel tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import symveil as sv

from .running import symveil

RESPONSE = str(Path(__file__).parents[2] / "examples" / "randomised_response.csv")
STEPS = "input,output,probability\n0,a,2/3\n0,b,1/3\n1,a,1/2\n1,b,0.5\n2,a,1/3\n2,b,2/3\n"


def test_the_smallest_epsilon_is_told() -> None:
    done = symveil("verify", RESPONSE, "--json")
    assert done.status == 0
    document = done.document
    assert {"alpha", "epsilon", "pairs", "delta", "holds", "worst", "loss"} <= document.keys()
    assert document["alpha_exact"] == document["loss"]["alpha_exact"] == "3/1"
    assert document["epsilon"] == pytest.approx(1.0986122886681098)
    assert document["delta_exact"] == "0/1"
    assert document["worst"]["witness"]["labels"] == ["yes"]
    page = symveil("verify", RESPONSE).out
    assert "smallest epsilon for delta = 0: 1.09862" in page
    assert "largest odds of yes against no: yes: 0.75 against 0.25" in page


@pytest.mark.parametrize(
    ("options", "status", "alpha", "delta"),
    [
        (("--alpha", "2"), 0, "2/1", "1/4"),
        (("--alpha", "2", "--delta", "1/5"), 1, "2/1", "1/4"),
        (("--delta", "1/4"), 0, "2/1", "1/4"),
        (("--delta", "1/2"), 0, "1/1", "1/2"),
    ],
)
def test_questions(options: tuple[str, ...], status: int, alpha: str, delta: str) -> None:
    done = symveil("verify", RESPONSE, *options, "--json")
    assert (done.status, done.document["alpha_exact"], done.document["delta_exact"]) == (status, alpha, delta)


def test_infinity(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_text("input,output,probability\na,x,0.9\na,y,0.1\nb,x,1\n")
    done = symveil("verify", str(file), "--json")
    assert done.status == 0
    assert done.document["epsilon"] == done.document["loss"]["epsilon"] == "infinity"
    assert done.document["delta_exact"] == "1/10"
    assert symveil("verify", str(file), "--delta", "0.05").status == 1
    assert "smallest epsilon for delta = 0.05: none" in symveil("verify", str(file), "--delta", "0.05").out
    assert symveil("verify", str(file), "--delta", "0.1").status == 0
    found = symveil("verify", str(file), "--smallest-epsilon", "--delta", "0", "--json")
    assert (found.status, found.document["infinite"], found.document["epsilon"]["upper"]) == (1, True, None)


def test_who_is_related(tmp_path: Path) -> None:
    file, pairs = tmp_path / "c.tsv", tmp_path / "pairs.csv"
    file.write_text(STEPS.replace(",", "\t"))
    ask = ("verify", str(file), "--json")
    assert symveil(*ask).document["alpha_exact"] == "2/1"
    assert symveil(*ask, "--related", "1").document["alpha_exact"] == "3/2"
    assert symveil(*ask, "--pair", "0,1").document["alpha_exact"] == "4/3"
    pairs.write_text("input,related\n1,2\n")
    assert symveil(*ask, "--related", str(pairs)).document["alpha_exact"] == "3/2"
    pairs.write_text("input,related,distance\n0,1,1\n0,2,2\n1,2,1.5\n0,0,0\n")
    assert len(symveil(*ask, "--related", str(pairs)).document["pairs"]) == 2
    assert len(symveil(*ask, "--related", str(pairs), "--apart", "3/2").document["pairs"]) == 4
    file.write_text("input\toutput\tprobability\trelated\n0\ta\t1\t1\n1\ta\t1\t\n2\tb\t1\t\n")
    assert [(pair["from"], pair["to"]) for pair in symveil(*ask).document["pairs"]] == [("0", "1"), ("1", "0")]


def test_parquet_and_python(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"input": [1, 1, 2], "output": ["x", "y", "x"], "probability": [0.25, 0.75, 1.0]})
    frame.to_parquet(tmp_path / "c.parquet")
    channel = sv.read_channel(tmp_path / "c.parquet")
    assert channel == sv.Channel.of(frame)
    done = symveil("verify", str(tmp_path / "c.parquet"), "--pair", "2,1", "--json")
    assert done.document["alpha_exact"] == "4/1"


def test_curves(tmp_path: Path) -> None:
    done = symveil("verify", RESPONSE, "--alpha", "3", "--curve", str(tmp_path / "c.json"))
    assert done.status == 0, done.err
    assert (tmp_path / "c.json").stat().st_size > 1000
    assert "expected --epsilon or --alpha" in symveil("verify", RESPONSE, "--curve", "c.svg").assert_one_error_line()


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (STEPS + "2,c,1/9\n", (), "c.csv: input '2': expected its probabilities to sum to 1 (a third is written 1/3, "
         "not 0.333), found 1.1111"),
        (STEPS.replace("0.5", "half"), (), "c.csv: line 5: expected a probability such as 0.5 or "),
        (STEPS + "0,a,0\n", (), "c.csv: input '0', output 'a': expected one probability, found a second"),
        ("input,output\na,b\n", (), "c.csv: expected columns input, output, probability (and related, or none), each "),
        ("input,output,probability\n", (), "c.csv: expected at least one row in a channel table, found none"),
        ("input,output,probability\n,b,1\n", (), "c.csv: line 2: expected a name in every cell, found none"),
        (STEPS.replace("\n2,", "\ntwo,"), ("--related", "1"), "related: expected inputs that are numbers, "),
        (STEPS, ("--related", "pairs.csv"), "pairs.csv: expected a readable table of related inputs"),
        (STEPS, ("--apart", "2"), "apart: expected --related with a table of pairs, found none"),
        (STEPS, ("--pair", "0,7"), "pair: expected inputs of the channel, found '7'"),
        (STEPS, ("--related", "0"), "related: expected at least one pair of related inputs, found none"),
        (STEPS, ("--alpha", "2", "--epsilon", "1"), "epsilon: expected --epsilon or --alpha, found both"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, text: str, options: tuple[str, ...], expected: str) -> None:
    (tmp_path / "c.csv").write_text(text)
    assert expected in symveil("verify", str(tmp_path / "c.csv"), *options).assert_one_error_line()


def test_options_of_channels_are_refused_with_chains() -> None:
    chain = str(Path(RESPONSE).with_name("pin_checker.json"))
    line = symveil("verify", chain, "--alpha", "2", "--related", "all").assert_one_error_line()
    assert "related: expected a channel table (input, output, probability), found a chain" in line
