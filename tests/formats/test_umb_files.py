"""UMB files: as umbi writes them, as the specification of the format allows them, and as nobody should."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import struct
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import umbi.ats

from cli.running import symveil
from symveil.errors import SymveilError
from symveil.formats.limits import LIMITS
from symveil.formats.models.model_files import load_labelled_chain, load_model

PRISM = {
    "coin.tra": "4 6\n0 2 1/3\n0 3 2/3\n1 2 1/4\n1 3 3/4\n2 2 1\n3 3 1\n",
    "coin.lab": '0="init" 1="deadlock" 2="heads" 3="done"\n0: 0\n1: 0\n2: 2 3\n3: 3\n',
    "coin.sta": "(pay,out,ok)\n0:(1,0,true)\n1:(-2,0,true)\n2:(1,1,true)\n3:(1,1,false)\n",
}
VALUES = [(1, 0, True), (-2, 0, True), (1, 1, True), (1, 1, False)]
MOVES: list[list[tuple[int, Any]]] = [
    [(2, Fraction(1, 3)), (3, Fraction(2, 3))],
    [(2, Fraction(1, 4)), (3, Fraction(3, 4))],
    [(2, Fraction(1))],
    [(3, Fraction(1))],
]


def ats_of(
    moves: list[list[tuple[int, Any]]],
    labels: dict[str, list[bool]],
    *,
    initial: tuple[int, ...] = (0, 1),
    values: list[tuple[Any, ...]] | None = None,
    names: tuple[str, ...] = ("pay", "out", "ok"),
) -> umbi.ats.ExplicitAts:
    ats = umbi.ats.ExplicitAts()
    for _ in moves:
        ats.add_state()
    ats.set_initial_states(initial)
    for state, own in enumerate(moves):
        if own:
            choice = ats.add_state_choice(state)
            for target, chance in own:
                choice.add_branch(target=target, prob=chance)
    for name, held in labels.items():
        ats.add_ap_annotation(name=name).set_state_values(held)
    if values is not None:
        ats.variable_valuations = umbi.ats.EntityClassValuations()
        own_values = umbi.ats.EntityValuations()
        variables = [own_values.add_variable(name) for name in names]
        for state, row in enumerate(values):
            own_values.set_entity_valuation(state, dict(zip(variables, row, strict=True)))
        ats.variable_valuations.set_state_valuations(own_values)
    return ats


LABELS = {"heads": [False, False, True, False], "done": [False, False, True, True]}


@pytest.fixture
def coin(tmp_path: Path) -> Path:
    """A chain of rationals with labels, variables and two initial states, written by umbi."""
    umbi.ats.write(ats_of(MOVES, LABELS, values=VALUES), tmp_path / "coin.umb")
    return tmp_path / "coin.umb"


def parts_of(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr]


def tar_of(parts: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def changed(path: Path, change: Callable[[dict[str, Any]], object], **files: bytes | None) -> Path:
    """The file with another index, and with other files by their names up to the first dot."""
    parts = parts_of(path)
    index = json.loads(parts["index.json"])
    change(index)
    parts["index.json"] = json.dumps(index).encode()
    for stem, content in files.items():
        name = next(name for name in parts if name.replace("-", "_").endswith(f"{stem}.bin"))
        if content is None:
            del parts[name]
        else:
            parts[name] = content
    other = path.with_name("changed.umb")
    other.write_bytes(tar_of(parts))
    return other


def nothing(_index: dict[str, Any]) -> None:
    pass


def test_the_same_chain_as_from_the_files_of_prism(tmp_path: Path, coin: Path) -> None:
    for name, text in PRISM.items():
        (tmp_path / name).write_text(text)
    chain = load_labelled_chain(coin)
    assert chain == load_labelled_chain(tmp_path / "coin.tra")
    assert chain.states[1] == "pay=-2&out=0&ok=true"
    assert chain.transitions[0][2] == Fraction(1, 3)
    assert chain.labels == ("", "", "done+heads", "done")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, lambda b: gzip.compress(gzip.compress(b))])
def test_plain_gzip_and_xz(coin: Path, pack: Callable[[bytes], bytes]) -> None:
    other = coin.with_name("other.umb.gz" if pack(b"")[:2] == b"\x1f\x8b" else "other.umb")
    other.write_bytes(pack(tar_of(parts_of(coin))))
    assert load_model(other) == load_model(coin)


def test_verify_names_states_by_their_variables(coin: Path) -> None:
    done = symveil("verify", str(coin), "--alpha", "1", "--pair", "pay=1&out=0,pay=-2", "--json")
    assert "1/12" in json.dumps(done.document)  # 1/3 - 1/4, exactly


def test_declarations_of_the_program_beside_it(coin: Path) -> None:
    coin.with_name("coin.pm").write_text("dtmc\nglobal secret pay : [-2..1];\nglobal observable ok : bool;\n")
    notes: list[str] = []
    chain = load_labelled_chain(coin, notes=notes)
    assert chain.related == (("pay=1&out=0&ok=true", "pay=-2&out=0&ok=true"),)
    assert set(chain.labels) == {"ok=true", "ok=false"}
    assert any("1 pairs of initial states" in note for note in notes)


def test_doubles_are_the_decimals_that_they_print_as(tmp_path: Path) -> None:
    third = 1 / 3
    moves: list[list[tuple[int, Any]]] = [[(0, 0.1), (1, 0.7), (0, 0.2), (1, 0.0)], [(0, third), (1, 1 - third)]]
    umbi.ats.write(ats_of(moves, {"on": [True, False]}, initial=(0,)), tmp_path / "m.umb")
    (tmp_path / "m.tra").write_text(f"2 4\n0 0 0.3\n0 1 0.7\n1 0 {third!r}\n1 1 {1 - third!r}\n")
    (tmp_path / "m.lab").write_text('0="init" 1="on"\n0: 0 1\n')
    notes: list[str] = []
    chain = load_labelled_chain(tmp_path / "m.umb", notes=notes)
    assert chain == load_labelled_chain(tmp_path / "m.tra")  # two branches to one state are one move
    assert chain.transitions[0] == ("0", "0", Fraction(3, 10))
    assert any("1 transitions of probability 0 were left out" in note for note in notes)


def test_a_deadlock_stays_where_it_is(tmp_path: Path) -> None:
    moves: list[list[tuple[int, Any]]] = [[(1, Fraction(1))], []]
    umbi.ats.write(ats_of(moves, {"on": [True, False], "deadlock": [False, True]}, initial=(0,)), tmp_path / "m.umb")
    assert load_labelled_chain(tmp_path / "m.umb").transitions[1] == ("1", "1", Fraction(1))
    umbi.ats.write(ats_of(moves, {"on": [True, False]}, initial=(0,)), tmp_path / "m.umb")
    with pytest.raises(SymveilError, match="a transition from every state"):
        load_model(tmp_path / "m.umb")


def test_what_the_specification_lets_a_file_leave_out(coin: Path) -> None:
    """Sizes of types, ranges of one part each, parts that no chain needs; a label's alias is its name; packed bits."""

    def leaner(index: dict[str, Any]) -> None:
        index["format-version"] = 1
        index["file-data"] = {"tool": "PRISM", "creation-date": "no date"}
        del index["transition-system"]["branch-probability-type"]["size"]
        for name, label in index["annotations"]["aps"].items():
            del label["type"]["size"]
            label["alias"] = f"is {name}"
        index["annotations"]["rewards"] = {"r": {"applies-to": ["choices"], "type": {"type": "double"}}}
        index["valuations"]["states"]["classes"] = [
            {
                "variables": [
                    {"name": "pay", "type": {"type": "uint", "size": 2}, "offset": -2},
                    {"padding": 3},
                    {"name": "out", "type": {"type": "int", "size": 2}},
                    {"name": "ok", "type": {"type": "bool"}},
                ]
            }
        ]

    packed = bytes((pay + 2) | (out << 5) | (ok << 7) for pay, out, ok in VALUES)
    assert load_labelled_chain(changed(coin, leaner, valuations=packed, state_to_choices=None)).states == (
        load_labelled_chain(coin).states
    )
    chain = load_labelled_chain(changed(coin, leaner, valuations=packed))
    assert chain.labels == ("", "", "is done+is heads", "is done")
    assert chain.transitions == load_labelled_chain(coin).transitions


@pytest.mark.parametrize(
    ("values", "names", "note"),
    [
        ([(1,), (2,), (1,), (3,)], ("x",), "two of them have the same values"),
        ([(1,), (2,), (3,), (4,)], ("module.x",), "plain names"),
        ([(Fraction(1, 2),), (Fraction(1),), (Fraction(2),), (Fraction(3),)], ("x",), "bool, int, uint or double"),
    ],
)
def test_variables_that_name_no_states(tmp_path: Path, values: Any, names: tuple[str, ...], note: str) -> None:
    umbi.ats.write(ats_of(MOVES, LABELS, values=values, names=names), tmp_path / "m.umb")
    notes: list[str] = []
    assert load_labelled_chain(tmp_path / "m.umb", notes=notes).states == ("0", "1", "2", "3")
    assert note in notes[0]


def test_a_variable_of_doubles(tmp_path: Path) -> None:
    umbi.ats.write(ats_of(MOVES, LABELS, values=[(0.5,), (-1.25,), (2.0,), (1e-3,)], names=("x",)), tmp_path / "m.umb")
    assert load_labelled_chain(tmp_path / "m.umb").states == ("x=0.5", "x=-1.25", "x=2.0", "x=0.001")


def _of_system(**members: object) -> Callable[[dict[str, Any]], object]:
    return lambda index: index["transition-system"].update({key.replace("_", "-"): members[key] for key in members})


def _numbers(**members: object) -> Callable[[dict[str, Any]], object]:
    return lambda index: index["transition-system"].update({f"#{key}": members[key] for key in members})


def _of_label(**members: object) -> Callable[[dict[str, Any]], object]:
    return lambda index: index["annotations"]["aps"]["heads"].update(
        {key.replace("_", "-"): members[key] for key in members}
    )


def _of_variables(*fields: dict[str, object]) -> Callable[[dict[str, Any]], object]:
    return lambda index: index["valuations"]["states"].update(classes=[{"variables": list(fields)}])


BAD: dict[str, tuple[Callable[[dict[str, Any]], object], dict[str, bytes | None], str]] = {
    "continuous": (_of_system(time="stochastic"), {}, "expected a Markov chain: discrete time.*found stochastic time"),
    "decisions": (_numbers(players=1), {}, "found 1 players who choose"),
    "observed": (
        lambda index: index["transition-system"].update({"#observations": 2, "observations-apply-to": "states"}),
        {},
        "found 2 observations",
    ),
    "intervals": (
        _of_system(branch_probability_type={"type": "double-interval", "size": 128}),
        {},
        "probabilities of branches .double or rational., found .*interval",
    ),
    "no-probabilities": (lambda index: index["transition-system"].pop("branch-probability-type"), {}, "found none"),
    "more-choices": (_numbers(choices=5), {}, "at most one choice in each state.*5 choices in 4 states"),
    "huge-states": (_numbers(states=10**12), {}, "1 to 1000000 states"),
    "many-states": (_numbers(states=10**6), {}, "bytes, as index.json says"),
    "no-states": (_numbers(states=0), {}, "the index of a UMB file"),
    "huge-branches": (_numbers(branches=2**64 - 1), {}, "at most 16000000 branches"),
    "many-branches": (_numbers(branches=10**7), {}, "ranges in order, from 0 to 10000000"),
    "too-huge": (_numbers(branches=2**80), {}, "whole numbers"),
    "wordy-states": (_numbers(states="many"), {}, "the index of a UMB file"),
    "half-states": (_numbers(states=4.5), {}, "whole numbers"),
    "initial": (_numbers(**{"initial-states": 3}), {}, "3 initial states, as index.json says, found 2"),
    "version": (lambda index: index.update({"format-version": 2}), {}, "format-version 0 or 1, found 2"),
    "no-system": (lambda index: index.pop("transition-system"), {}, "the index of a UMB file"),
    "long-rationals": (_of_system(branch_probability_type={"type": "rational", "size": 2**31}), {}, "rationals of at"),
    "odd-rationals": (_of_system(branch_probability_type={"type": "rational", "size": 2}), {}, "whole bytes"),
    "label-of-doubles": (_of_label(type={"type": "double", "size": 64}), {}, "labels that states have or have not"),
    "label-of-choices": (_of_label(applies_to=["choices"]), {}, "labels that states have or have not"),
    "label-of-laws": (_of_label(probability_type={"type": "double"}), {}, "labels that states have or have not"),
    "label-of-what": (_of_label(type={"type": "colour"}), {}, "the index of a UMB file"),
    "label-with-plus": (_of_label(alias="a+b"), {}, "label names"),
    "label-twice": (_of_label(alias="done"), {}, "each label name once"),
    "labels-as-number": (lambda index: index["annotations"].update(aps=1), {}, "the index of a UMB file"),
    "labels-as-list": (lambda index: index["annotations"].update(aps=[1]), {}, "the index of a UMB file"),
    "annotations-as-list": (lambda index: index.update(annotations=[]), {}, "expected an object"),
    "many-labels": (
        lambda index: index["annotations"].update(aps={str(label): {} for label in range(1001)}), {},
        "at most 1000 labels",
    ),
    "label-bits": (nothing, {"heads/states/values": b"\x04"}, "8 bytes, as index.json says, found 1"),
    "label-missing": (nothing, {"heads/states/values": None}, "'annotations/aps/heads/.*no such file"),
    "targets-missing": (nothing, {"branch_to_target": None}, "no such file"),
    "initial-missing": (nothing, {"state_is_initial": None}, "no such file"),
    "label-bits-beyond": (nothing, {"heads/states/values": b"\xff" * 8}, "bits for 4 states"),
    "only-init": (lambda index: index.pop("annotations"), {}, "a label besides init and deadlock"),
    "targets": (nothing, {"branch_to_target": struct.pack("<6Q", 2, 3, 2, 4, 2, 3)}, "branch 3: .*below 4, found 4"),
    "ranges-back": (nothing, {"choice_to_branches": struct.pack("<5Q", 0, 4, 2, 5, 6)}, "ranges in order"),
    "ranges-huge": (nothing, {"choice_to_branches": struct.pack("<5Q", 0, 2, 2**63, 5, 6)}, "ranges in order"),
    "two-choices": (nothing, {"state_to_choices": struct.pack("<5Q", 0, 0, 2, 3, 4)}, "state 1: .*at most one choice"),
    "no-ranges": (nothing, {"choice_to_branches": None}, "as there are no ranges"),
    "denominator": (nothing, {"branch_to_probability": bytes(96)}, "branch 0: .*a denominator 0"),
    "negative": (nothing, {"branch_to_probability": struct.pack("<qQ", -1, 2) * 6}, "a negative number"),
    "sums": (nothing, {"branch_to_probability": struct.pack("<qQ", 1, 3) * 6}, "to sum to 1"),
    "above-one": (nothing, {"branch_to_probability": struct.pack("<qQ", 4, 3) * 6}, "a branch of state 0: .*at most 1"),
    "short": (nothing, {"branch_to_probability": bytes(95)}, "96 bytes, as index.json says, found 95"),
    "no-chances": (nothing, {"branch_to_probability": None}, "'branch-to-probability.bin' in it.*no such file"),
    "not-a-number": (
        _of_system(branch_probability_type={"type": "double"}),
        {"branch_to_probability": struct.pack("<6d", 0.5, 0.5, float("nan"), 1, 1, 1)},
        "branch 2: expected a probability, found nan",
    ),
    "no-values": (nothing, {"valuations": None}, "no such file"),
    "values-cut": (nothing, {"valuations": b"\0"}, "bytes, as index.json says, found 1"),
    "values-unaligned": (_of_variables({"name": "x", "type": {"type": "int", "size": 3}}), {}, "found 3 bits"),
    "values-huge": (_of_variables({"name": "x", "type": {"type": "uint", "size": 2**32 - 1}}), {}, "at most 1024 bits"),
    "values-padded": (
        _of_variables({"name": "x", "type": {"type": "uint", "size": 8}}, {"padding": 8 * 10**12}), {}, "as index.json"
    ),
    "values-nothing": (_of_variables({"nothing": 1}), {}, "the index of a UMB file"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_refused(coin: Path, case: str, capfd: pytest.CaptureFixture[str]) -> None:
    change, files, expected = BAD[case]
    bad = changed(coin, change, **files)
    began = time.monotonic()
    with pytest.raises(SymveilError, match=expected) as refused:
        load_model(bad)
    assert time.monotonic() - began < 20
    assert str(refused.value).startswith(str(bad))
    assert len(str(refused.value).splitlines()) == 1
    assert capfd.readouterr() == ("", "")  # umbi has nothing to say beside it


def test_several_actions_in_a_state_are_refused(tmp_path: Path) -> None:
    umbi.ats.write(
        ats_of([[(0, Fraction(1))], [(0, Fraction(1))]], {"on": [True, False]}, initial=(0,)), tmp_path / "m.umb"
    )
    ats = umbi.ats.read(tmp_path / "m.umb")
    ats.add_state_choice(1).add_branch(target=1, prob=Fraction(1))
    umbi.ats.write(ats, tmp_path / "m.umb")
    with pytest.raises(SymveilError, match="at most one choice in each state of a Markov chain"):
        load_model(tmp_path / "m.umb")


def _negative_size(plain: bytes) -> bytes:
    """A member whose size leads back to itself; its checksum is right."""
    head = bytearray(plain[:512])
    head[124:136] = b"\xff" * 10 + struct.pack(">h", -1024)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return plain[:512] + plain[512:2048] + bytes(head) + plain


def _sparse(plain: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("index.json")
        member.pax_headers = {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(2**50), "GNU.sparse.name": "index.json"}
        member.size = 1
        archive.addfile(member, io.BytesIO(b"{"))
    return packed.getvalue()


DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _plain: b"", "found an empty file"),
    "text": (lambda _plain: b"@type: DTMC\n" * 100, "a tar file, plain or by gzip or xz, found another file"),
    "cut-gzip": (lambda plain: gzip.compress(plain)[:-40], "a damaged gzip file"),
    "cut-xz": (lambda plain: lzma.compress(plain)[:-40], "a damaged gzip or xz file"),
    "wrong-xz": (lambda plain: lzma.compress(plain)[:20] + b"x" * 40, "a damaged gzip or xz file"),
    "cut-in-head": (lambda plain: plain[:700], "a damaged tar file"),
    "cut-in-data": (lambda plain: plain[: plain.index(b"branch-to-target") + 512 + 10], "a damaged tar file"),
    "xz-bomb": (lambda _plain: lzma.compress(bytes(2**23 + 1)), "a UMB file of at most 8 MiB"),
    "no-index": (lambda _plain: tar_of({"outdex.json": b"{}"}), "a tar file without it"),
    "checksum": (lambda plain: plain.replace(b"index.json", b"outdex.jso", 1), "a damaged tar file"),
    "index-twice": (lambda _plain: tar_of({"index.json": b"{}", "./index.json": b"{}"}), "a damaged tar file"),
    "index-latin": (lambda _plain: tar_of({"index.json": b'{"\xe4": 1}'}), "index.json: expected JSON in UTF-8"),
    "index-cut": (lambda _plain: tar_of({"index.json": b'{"a": '}), "index.json: expected JSON"),
    "index-list": (lambda _plain: tar_of({"index.json": b"[]"}), "index.json: expected an object"),
    "index-deep": (lambda _plain: tar_of({"index.json": b"[" * 10**5}), "nested at most 100 deep"),
    "index-large": (lambda _plain: tar_of({"index.json": b" " * (2**22 + 1)}), "at most 4 MiB"),
    "key-twice": (
        lambda _plain: tar_of({"index.json": b'{"transition-system": {"time": 1, "time": 2}}'}), "each key once"
    ),
    "negative-size": (_negative_size, "a damaged tar file"),
    "sparse": (_sparse, "a damaged tar file|without it"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_files(coin: Path, case: str, set_limits) -> None:
    set_limits(LIMITS, model_bytes=2**23)
    damage, expected = DAMAGED[case]
    bad = coin.with_name("bad.umb")
    bad.write_bytes(damage(tar_of(parts_of(coin))))
    with pytest.raises(SymveilError, match=expected) as refused:
        load_model(bad)
    assert len(str(refused.value).splitlines()) == 1


def test_every_cut_of_a_file_is_refused_or_whole(coin: Path) -> None:
    plain = tar_of(parts_of(coin))
    bad = coin.with_name("bad.umb")
    whole = load_model(coin)
    for end in range(0, len(plain), 97):
        bad.write_bytes(plain[:end])
        try:
            assert load_model(bad) == whole, end  # only the zeros at the end were cut
            assert not any(plain[end:])
        except SymveilError as error:
            assert len(str(error).splitlines()) == 1


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "m.umb").write_bytes(b"no")
    done = symveil("verify", str(tmp_path / "m.umb"), "--epsilon", "1", "--pair", "0,1")
    assert "a tar file" in done.assert_one_error_line()


def test_without_umbi_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.umb").write_bytes(b"no")
    code = (
        "import sys\n"
        "sys.modules['umbi'] = None\n"
        "import symveil as sv\n"
        "try:\n"
        "    sv.load_model(sys.argv[1])\n"
        "except sv.SymveilError as error:\n"
        "    assert 'umbi' in str(error) and 'the extra symveil[umb]' in str(error), error\n"
        "else:\n"
        "    raise SystemExit('it was read')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.umb")], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
