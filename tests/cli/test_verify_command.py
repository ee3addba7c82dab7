"""`symveil verify` and `symveil audit --by-chain`."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from symveil.errors import FileError, ParameterError
from symveil.formats.models.model_files import load_model
from symveil.models.labelled_chain import LabelledChain
from symveil.tasks.verify import read_pair

from .running import symveil

PIN = str(Path(__file__).parents[2] / "examples" / "pin_checker.json")


def test_document() -> None:
    done = symveil("verify", PIN, "--alpha", "6/5", "--delta", "0.05", "--json")
    assert done.status == 0
    assert done.err == ""
    document = done.document
    assert {"alpha", "epsilon", "pairs", "delta", "holds"} <= document.keys()
    assert document["alpha"] == 1.2
    assert document["holds"] is True
    assert document["delta"]["lower"] <= 791 / 37545 <= document["delta"]["upper"]
    assert [(pair["from"], pair["to"]) for pair in document["pairs"]] == [("0", "1"), ("1", "0")]
    assert document["pairs"][1]["ld_exact"] == document["pairs"][1]["lgd_exact"] == "200/2597"
    assert document["pairs"][1]["bd_exact"] == "6/53"


@pytest.mark.parametrize(
    ("arguments", "status", "holds"),
    [
        (("--delta", "1/50"), 1, False),
        (("--delta", "0.0210682"), 0, True),
        (("--delta", "0.02107", "--horizon", "3"), 1, None),
        ((), 0, None),
    ],
)
def test_status(arguments: tuple[str, ...], status: int, holds: bool | None) -> None:
    done = symveil("verify", PIN, "--alpha", "6/5", *arguments, "--json")
    assert (done.status, done.document["holds"]) == (status, holds)


def test_epsilon_and_a_page_for_people() -> None:
    done = symveil("verify", PIN, "--epsilon", "0.1", "--pair", "1,0", "--delta", "0.01")
    assert done.status == 1
    assert "0.048" in done.out
    assert "NO" in done.out
    assert "epsilon = 0.1" in done.out


def test_named_options() -> None:
    plain = symveil("verify", PIN, "--alpha", "6/5", "--no-bd", "--lumped", "--json").document
    assert plain["lumped"] is True
    assert plain["pairs"][0]["bd"] is None
    assert plain["delta_exact"] == "791/37545"
    support = symveil("verify", PIN, "--alpha", "6/5", "--support-only", "--width", "0.01", "--json").document
    assert support["pairs"][1]["ld"] is None
    assert support["pairs"][1]["support_only"] >= 200 / 2597
    assert "without relays" in symveil("verify", PIN, "--alpha", "6/5", "--support-only").out


def test_smallest_epsilon() -> None:
    done = symveil("verify", PIN, "--smallest-epsilon", "--delta", "0", "--json")
    assert done.status == 0
    found = done.document["epsilon"]
    assert found["lower"] <= 0.2402924 <= found["upper"] <= found["lower"] + 0.001


def test_smallest_epsilon_is_printed_on_the_side_that_was_proved() -> None:
    """0.2138671875 is proved: 0.213867, the nearest six digits, is not."""
    asked = ("verify", PIN, "--smallest-epsilon", "--delta", "0.01")
    found = symveil(*asked, "--json").document["epsilon"]
    done = symveil(*asked)
    lower, upper = (Fraction(number) for number in re.findall(r"enough[ │]+(\d\.\d+)\b", done.out))
    assert Fraction(found["upper"]) <= upper < Fraction(found["upper"]) + Fraction(1, 10**6)
    assert Fraction(found["lower"]) - Fraction(1, 10**6) < lower <= Fraction(found["lower"])


def test_curve(tmp_path: Path) -> None:
    for suffix in ("json", "svg", "png"):
        path = tmp_path / f"curve.{suffix}"
        done = symveil("verify", PIN, "--alpha", "1.3", "--curve", str(path))
        assert done.status == 0, done.err
        assert "wrote" in done.err
        assert path.stat().st_size > 1000
    points = json.loads((tmp_path / "curve.json").read_text())["points"]
    deltas = [point["delta"]["upper"] for point in points]
    assert deltas == sorted(deltas, reverse=True)
    assert points[0]["delta_exact"] == "200/2503"
    assert points[-1]["delta"]["upper"] == 0
    assert len(points) >= 20


def test_prism_files(tmp_path: Path) -> None:
    (tmp_path / "c.tra").write_text("4 6\n0 2 2/3\n0 3 1/3\n1 2 1/3\n1 3 2/3\n2 2 1\n3 3 1\n")
    (tmp_path / "c.lab").write_text('0="init" 1="yes" 2="no"\n0: 0\n2: 1\n3: 2\n')
    done = symveil("verify", str(tmp_path / "c.tra"), "--alpha", "6/5", "--pair", "0,1", "--json")
    assert done.status == 0
    assert done.document["delta_exact"] == "4/15"
    (tmp_path / "c.lab").rename(tmp_path / "d.lab")
    again = symveil(
        "verify",
        str(tmp_path / "c.tra"),
        "--labels",
        str(tmp_path / "d.lab"),
        "--alpha",
        "6/5",
        "--pair",
        "0,1",
        "--json",
    )
    assert again.document == done.document
    # and the same in Python
    chain = load_model(tmp_path / "c.tra", labels=tmp_path / "d.lab")
    assert isinstance(chain, LabelledChain)
    assert chain.labels == ("", "", "yes", "no")
    with pytest.raises(
        FileError, match=r"expected a PRISM \.tra file, which label files belong to, found labels with a"
    ):
        load_model(PIN, labels=tmp_path / "d.lab")


def test_names_with_commas() -> None:
    assert read_pair("a,b") == ("a", "b")
    assert read_pair(r"a\,b,c\\") == ("a,b", "c\\")
    assert read_pair(",b") == ("", "b")
    assert read_pair("a,") == ("a", "")
    for text in ("a", "a,b,c", ""):
        with pytest.raises(ParameterError, match="two states S,T"):
            read_pair(text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((PIN,), "epsilon: expected --epsilon or --alpha, found neither"),
        ((PIN, "--alpha", "2", "--epsilon", "1"), "epsilon: expected --epsilon or --alpha, found both"),
        ((PIN, "--alpha", "0.5"), "alpha: expected a number, 1 or more, such as 1.2 or 6/5, found 0.5"),
        ((PIN, "--epsilon", "0"), "epsilon: expected a number above 0"),
        ((PIN, "--alpha", "2", "--pair", "0,nobody"), "pair: expected states of the chain, found 'nobody'"),
        ((PIN, "--alpha", "2", "--pair", "0"), "pair: expected two states S,T"),
        ((PIN, "--alpha", "2", "--delta", "2"), "delta: expected a number from 0 to 1"),
        ((PIN, "--alpha", "2", "--curve", "x.gif"), "curve: expected a file name ending in .svg, .png, .pdf or .json"),
        ((PIN, "--smallest-epsilon"), "delta: expected --delta with --smallest-epsilon, found none"),
        ((PIN, "--smallest-epsilon", "--delta", "0", "--alpha", "2"), "smallest-epsilon: expected it without"),
        ((PIN, "--smallest-epsilon", "--delta", "0", "--width", "0.1"), "expected it without --width and --bd"),
        ((PIN, "--smallest-epsilon", "--delta", "0", "--bd"), "expected it without --width and --bd"),
        ((PIN, "--alpha", "2", "--width", "x"), "width: expected"),
        (("nowhere.json", "--alpha", "2"), "nowhere.json: expected a readable model file"),
        ((str(Path(PIN).with_name("robot.json")), "--alpha", "2"), "expected a labelled-chain, found a transition-"),
    ],
)  # fmt: skip
def test_refused(arguments: tuple[str, ...], expected: str) -> None:
    assert expected in symveil("verify", *arguments).assert_one_error_line()


def test_refused_chains(tmp_path: Path) -> None:
    chain = {
        "format": "symveil/1",
        "kind": "labelled-chain",
        "labels": {"a": "x", "b": "x"},
        "transitions": [["a", "b", 1], ["b", "a", "1/2"]],
    }
    file = tmp_path / "m.json"
    file.write_text(json.dumps(chain))
    line = symveil("verify", str(file), "--alpha", "2").assert_one_error_line()
    assert "$.transitions: expected the probabilities of state 'b' to sum to 1, found 0.5" in line
    chain["transitions"] = [["a", "b", 1], ["b", "a", 1]]
    file.write_text(json.dumps({**chain, "labels": {"a": "x"}}))
    assert (
        "expected a label for state 'b', found none"
        in symveil("verify", str(file), "--alpha", "2").assert_one_error_line()
    )
    file.write_text(json.dumps(chain))
    line = symveil("verify", str(file), "--alpha", "2").assert_one_error_line()
    assert "pair: expected --pair S,T, or related states in the chain, found none" in line
    # a model without words is refused where words are asked for
    line = symveil("audit", "--model", str(file), "--length", "2", "--epsilon", "1").assert_one_error_line()
    assert "which symveil verify takes" in line


def test_audit_by_chain() -> None:
    small = ("--alphabet", "abc", "--length", "3", "--epsilon", "1", "--by-chain", "--json")
    done = symveil("audit", *small, "--mechanism", "staircase")
    assert done.status == 0
    assert done.document["private"] is True
    assert done.document["worst_epsilon"] == pytest.approx(1, abs=1e-12)
    assert done.document["pairs_checked"] == 27 * 6
    printed = symveil("audit", *small, "--mechanism", "jones2019-printed", "--not-private")
    assert printed.status == 1
    assert printed.document["private"] is False
    assert printed.document["worst_epsilon"] > 2


def test_a_message_names_no_option_of_another_command(tmp_path: Path) -> None:
    """compare has no --person and no --keep."""
    (tmp_path / "trips.csv").write_text("id,word\n1,ab\n2,ba\n")
    files = (str(tmp_path / "trips.csv"),) * 2
    line = symveil("compare", *files, "--sequence", "id", "--id", "id").assert_one_error_line()
    assert "sequence: expected another column than --id, found 'id'" in line


def test_silent_labels(tmp_path: Path) -> None:
    """With its waiting seen, the chain tells s from t for certain; without it, not at all."""
    chain = {
        "format": "symveil/1",
        "kind": "labelled-chain",
        "labels": {"s": "?", "t": "?", "w": "wait", "a": "a"},
        "related": [["s", "t"]],
        "transitions": [["s", "w", 1], ["w", "w", "1/2"], ["w", "a", "1/2"], ["t", "a", 1], ["a", "a", 1]],
    }
    file = tmp_path / "m.json"
    file.write_text(json.dumps(chain))
    assert symveil("verify", str(file), "--alpha", "2", "--json").document["delta_exact"] == "1/1"
    assert symveil("verify", str(file), "--alpha", "1", "--silent", "wait", "--json").document["delta_exact"] == "0/1"
    found = symveil("verify", str(file), "--smallest-epsilon", "--delta", "0", "--silent", "wait", "--json").document
    assert found["alpha_exact"] == "1/1"
    line = symveil("verify", str(file), "--alpha", "1", "--silent", "w").assert_one_error_line()
    assert "silent[0]: expected a label of the chain, found 'w'" in line
