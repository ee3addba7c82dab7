"""Labelled chains in JSON and in PRISM's explicit files."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
from fractions import Fraction
from pathlib import Path

import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import FileError, ModelError, SymveilError
from symveil.examples.paper_systems import pin_checker, randomised_response
from symveil.formats.models.model_files import load_labelled_chain, load_model, load_word_model, save_model
from symveil.models.labelled_chain import LabelledChain

EXAMPLE = Path(__file__).parents[2] / "examples" / "pin_checker.json"

TRA = "3 5\n0 1 0.5\n0 2 0.5\n1 1 1\n2 0 0.25\n2 2 0.75\n"
LAB = '0="init" 1="deadlock" 2="heads" 3="odd"\n0: 0\n1: 2 3\n2: 3\n'


def test_json_there_and_back(tmp_path: Path) -> None:
    for chain in (pin_checker(), randomised_response()):
        save_model(chain, tmp_path / "chain.json")
        assert load_model(tmp_path / "chain.json") == chain
    assert load_labelled_chain(EXAMPLE) == pin_checker()


def document(**changes: object) -> str:
    base: dict[str, object] = {
        "format": "symveil/1",
        "kind": "labelled-chain",
        "labels": {"a": "x", "b": "x"},
        "related": [["a", "b"]],
        "transitions": [["a", "b", 1], ["b", "a", "1/2"], ["b", "b", 0.5]],
    }
    return json.dumps({key: value for key, value in {**base, **changes}.items() if value is not None})


def test_probabilities_are_read_as_they_are_spelled(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(document())
    chain = load_labelled_chain(tmp_path / "m.json")
    assert chain.transitions[1:] == (("b", "a", Fraction(1, 2)), ("b", "b", Fraction(1, 2)))
    assert chain.related == (("a", "b"),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transitions": [["a", "b", 1], ["b", "a", 0.4]]},
            "$.transitions: expected the probabilities of state 'b' to sum to 1, found 0.4",
        ),
        ({"labels": {"a": "x"}}, "$.labels: expected a label for state 'b', found none"),
        ({"labels": None}, "$: expected the key 'labels', found none"),
        ({"labels": ["x"]}, "$.labels: expected an object {state: label}, found an array of 1"),
        ({"labels": {"a": "x", "b": 1}}, "$.labels.b: expected a name, a string, found 1"),
        (
            {"labels": {"a": "x", "b": "x", "c": "x"}},
            "$.labels['c']: expected a state that occurs in the model, found 'c'",
        ),
        ({"related": [["a", "c"]]}, "$.related[0][1]: expected a state that occurs in the model, found 'c'"),
        ({"related": [["a"]]}, "$.related[0]: expected [state, state], found an array of 1"),
        ({"related": "ab"}, "$.related: expected an array of [state, state], found 'ab'"),
        (
            {"initial": "a"},
            "$.initial: expected one of the keys format, kind, transitions, labels, related, states, found another one",
        ),
    ],
)  # fmt: skip
def test_refused_json(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text(document(**changes))
    with pytest.raises(ModelError) as error:
        load_model(file)
    assert str(error.value) == f"{file}: {message}"


def test_prism(tmp_path: Path) -> None:
    (tmp_path / "coin.tra").write_text(TRA)
    (tmp_path / "coin.lab").write_text(LAB)
    chain = load_labelled_chain(tmp_path / "coin.tra")
    assert chain.states == ("0", "1", "2")
    assert chain.labels == ("", "heads+odd", "odd")
    assert chain.transitions[3] == ("2", "0", Fraction(1, 4))
    assert load_model(tmp_path / "coin.lab") == chain
    (tmp_path / "other.lab").write_text(LAB)
    (tmp_path / "coin.lab").unlink()
    assert load_labelled_chain(tmp_path / "coin.tra", labels=tmp_path / "other.lab") == chain
    (tmp_path / "coin.lab.gz").write_bytes(gzip.compress(LAB.encode()))
    assert load_labelled_chain(tmp_path / "coin.tra") == chain


def test_a_prism_label_is_a_set(tmp_path: Path) -> None:
    """Neither the order nor a repetition can be seen; C19's δ would be 1 if they were labels of their own."""
    (tmp_path / "s.tra").write_text("7 9\n0 3 2/3\n0 4 1/3\n1 3 1/3\n1 4 2/3\n2 2 1\n3 3 1\n4 4 1\n5 5 1\n6 6 1\n")
    for lines, same in (
        ("3: 2 3\n4: 3 2", True),
        ("3: 3\n4: 3 3", True),
        ("3: 2\n4: 3\n3: 3\n4: 2", True),
        ("3: 2\n4: 3", False),
    ):
        (tmp_path / "s.lab").write_text(f'0="init" 1="deadlock" 2="b" 3="a"\n0: 0\n{lines}\n')
        chain = load_labelled_chain(tmp_path / "s.tra")
        assert (chain.label("3") == chain.label("4")) is same
        delta = sv.verify_privacy(chain, alpha="6/5", pairs=[("0", "1")]).delta
        assert delta.lower == delta.upper == (0 if same else Fraction(4, 15))
    assert chain.label("3") == "b"


def test_deadlocks_stay_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "d.tra").write_text("2 1\n0 1 1\n")
    (tmp_path / "d.lab").write_text('0="init" 1="deadlock" 2="a"\n0: 0 2\n1: 1\n')
    notes: list[str] = []
    chain = load_labelled_chain(tmp_path / "d.tra", notes=notes)
    assert chain.transitions[1] == ("1", "1", 1)
    assert "deadlock" in notes[0]


@pytest.mark.parametrize(
    ("tra", "lab", "message"),
    [
        ("", LAB, "line 1: expected the number of states and of transitions of a Markov chain, found an empty file"),
        ("3 5 7\n", LAB, "line 1: expected the number of states and of transitions of a Markov chain, found '3 5 7'"),
        ("3 4\n" + TRA[4:], LAB, "expected 4 transitions, as its first line says, found 5"),
        (TRA.replace("2 0 0.25", "2 7 0.25"), LAB, "line 5: expected a state below 3, found 7"),
        (TRA.replace("2 0 0.25", "2 0"), LAB, "line 5: expected source, target and probability, found '2 0'"),
        (TRA.replace("0.25", "x"), LAB, "line 5: expected a probability such as 0.5 or \"1/2\", found 'x'"),
        (TRA.replace("0.25", "0.2"), LAB, "line 6: expected the probabilities of state '2' to sum to 1, found 0.95"),
        (TRA.replace("1 1 1\n", "\n1 1 1/2\n"), LAB, "line 5: expected the probabilities of state '1' to sum to 1"),
        ("2 1\n0 1 1\n", LAB[:-5], "transitions: expected a transition from every state"),
        (TRA, "nothing", "line 1: expected labels such as 0=\"init\" 1=\"heads\", found 'nothing'"),
        (TRA, LAB + "9: 2\n", "line 5: expected a state below 3, found 9"),
        (TRA, LAB + "1: 8\n", "line 5: expected labels of its first line, found 8"),
        (TRA, '0="a" 1="b" 2="a+b"\n1: 0 1\n2: 2\n', "line 1: expected label names that are not empty, without '+'"),
        (TRA, '0="a" 1=""\n1: 0\n2: 1\n', "line 1: expected label names that are not empty, without '+', found ''"),
        (TRA, '0="a" 00="b"\n1: 0\n', "line 1: expected each label number once, found 0 twice"),
        (TRA, '0="a" 1="a"\n1: 0\n2: 1\n', "line 1: expected each label name once, found 'a' twice"),
        (TRA, '0="init"\n0: 0\n', "expected a label besides init and deadlock, so that something is seen, found none"),
    ],
)  # fmt: skip
def test_refused_prism(tra: str, lab: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.tra").write_text(tra)
    (tmp_path / "m.lab").write_text(lab)
    with pytest.raises(SymveilError) as error:
        load_labelled_chain(tmp_path / "m.tra")
    assert message in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "m."))


def test_files_that_are_missing_or_something_else(tmp_path: Path) -> None:
    (tmp_path / "m.tra").write_text(TRA)
    with pytest.raises(FileError, match="expected its labels beside it, in m.lab, found no such file"):
        load_model(tmp_path / "m.tra")
    (tmp_path / "m.json").write_text(document())
    with pytest.raises(FileError, match="expected a markov-chain, transition-system or automaton, which has words"):
        load_word_model(tmp_path / "m.json")
    with pytest.raises(FileError, match="expected a labelled-chain, found a transition-system"):
        load_labelled_chain(Path(__file__).parents[2] / "examples" / "robot.json")
    with pytest.raises(ModelError, match="which has words, found a labelled-chain"):
        sv.runs(load_model(tmp_path / "m.json"), 3)
    assert isinstance(load_model(tmp_path / "m.json"), LabelledChain)


def test_states_are_named_for_labels_that_no_file_has(tmp_path: Path) -> None:
    """By `label_states` in Python and --label on the command line, with and without a .lab file, also in DRN."""
    (tmp_path / "bare.tra").write_text(TRA)
    (tmp_path / "init.tra").write_text(TRA)
    (tmp_path / "init.lab").write_text('0="init" 1="deadlock"\n0: 0\n')
    (tmp_path / "more.tra").write_text(TRA)
    (tmp_path / "more.lab").write_text(LAB)
    (tmp_path / "m.drn").write_text(
        "@type: DTMC\n@nr_states\n3\n@model\nstate 0 init\n\taction 0\n\t\t1 : 0.5\n\t\t2 : 0.5\nstate 1\n\taction 0\n"
        "\t\t1 : 1\nstate 2\n\taction 0\n\t\t0 : 0.25\n\t\t2 : 0.75\n"
    )
    for name in ("bare.tra", "init.tra", "m.drn"):
        with pytest.raises(FileError, match="`label_states`"):
            load_labelled_chain(tmp_path / name)
        chain = load_labelled_chain(tmp_path / name, label_states={"done": [1], "odd": [1, "2"]})
        assert [chain.label(state) for state in "012"] == ["", "done+odd", "odd"]
    both = load_labelled_chain(tmp_path / "more.tra", label_states={"new": [0, 1]})
    assert [both.label(state) for state in "012"] == ["new", "heads+new+odd", "odd"]
    for wrong, message in (
        ({"a": [3]}, "`label_states`: expected numbers of states, below 3, found '3'"),
        ({"a": [-1]}, "`label_states`: expected numbers of states, below 3, found '-1'"),
        ({"a+b": [0]}, "`label_states`: expected label names that are not empty"),
    ):
        with pytest.raises(FileError) as caught:
            load_labelled_chain(tmp_path / "bare.tra", label_states=wrong)
        assert message in str(caught.value)
    (tmp_path / "m.json").write_text(document())
    with pytest.raises(FileError, match="expected a .tra, .drn or .umb file with `label_states`"):
        load_labelled_chain(tmp_path / "m.json", label_states={"a": [0]})
    asked = ["verify", str(tmp_path / "bare.tra"), "--alpha", "1", "--pair", "0,2"]
    assert "or name states with --label" in symveil(*asked).assert_one_error_line()
    done = symveil(*asked, "--label", "odd=1,2", "--label", "done=1", "--json")
    assert done.document["pairs"][0]["lv"]["upper"] == 1.0  # the states themselves look different
    assert "label: expected a label and numbers" in symveil(*asked, "--label", "odd").assert_one_error_line()
    assert "--label: expected numbers of states" in symveil(*asked, "--label", "odd=x").assert_one_error_line()


def packed(name: str, content: bytes) -> bytes:
    """A tar archive as Storm writes it, and as others do: with a folder and a file beside it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for own, text in (("README", b"x" * 1000), (name, content)):
            member = tarfile.TarInfo(own)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return made.getvalue()


def test_packed_files_of_storm(tmp_path: Path) -> None:
    text = (
        b"@type: DTMC\n@nr_states\n2\n@model\nstate 0 init\n\taction 0\n\t\t1 : 0.5\n\t\t0 : 0.5\nstate 1 done\n"
        b"\taction 0\n\t\t1 : 1\n"
    )
    (tmp_path / "plain.drn").write_bytes(text)
    plain = load_labelled_chain(tmp_path / "plain.drn")
    archive = packed("brp-double.drn", text)
    for name, content in (
        ("a.drn.gz", gzip.compress(text)), ("b.drn.xz", lzma.compress(text)), ("c.drn.gz", gzip.compress(archive)),
        ("d.drn.xz", lzma.compress(archive)), ("e.drn", archive),
        ("f.DRN.XZ", lzma.compress(text) + lzma.compress(b"")),
        ("g.drn.xz", lzma.compress(text[:50]) + lzma.compress(text[50:])),
    ):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        assert load_labelled_chain(tmp_path / name) == plain, name
    save_model(plain, tmp_path / "m.json")
    (tmp_path / "m.json.xz").write_bytes(lzma.compress((tmp_path / "m.json").read_bytes()))
    assert load_model(tmp_path / "m.json.xz") == plain
    wide = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
    for name, content, message in (
        ("a.drn.xz", lzma.compress(text)[:-9], "found a damaged gzip or xz file"),
        ("b.drn.xz", lzma.compress(text, filters=wide), "found a damaged gzip or xz file"),  # it wants half a gigabyte
        ("c.drn.gz", gzip.compress(packed("other.txt", text)), "found an archive without one"),
        ("d.drn.gz", gzip.compress(archive[:2600]), "found a damaged gzip file"),
        ("e.drn.gz", gzip.compress(archive[:124] + b"9" * 12 + archive[136:]), "found a damaged archive"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileError, match=message):
            load_model(tmp_path / name)


@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
def test_files_beside_each_other_are_packed_alike_and_keep_their_letters(tmp_path: Path, packed: str) -> None:
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packed]
    (tmp_path / f"Die.tra{packed}").write_bytes(pack(TRA.encode()))
    (tmp_path / f"Die.lab{packed}").write_bytes(pack(LAB.encode()))
    chain = load_labelled_chain(tmp_path / f"Die.tra{packed}")
    assert chain.labels == ("", "heads+odd", "odd")
    assert load_labelled_chain(tmp_path / f"Die.lab{packed}") == chain


def test_a_wrong_sum_in_a_drn_file_is_in_the_last_line_of_its_state(tmp_path: Path) -> None:
    text = "@type: DTMC\n@nr_states\n2\n@model\nstate 0 init a\n action 0\n  0 : 0.5\n  1 : 0.4\nstate 1 b\n"
    (tmp_path / "m.drn").write_text(f"{text} action 0\n  1 : 1\n")
    with pytest.raises(ModelError, match=r"m\.drn: line 8: expected the probabilities of state '0' to sum to 1"):
        load_labelled_chain(tmp_path / "m.drn")
