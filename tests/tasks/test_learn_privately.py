"""`learn --epsilon` and `synthesize`: one ε per person, an ordinary model file, legal words for nothing more."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from test_check_central import changed, changes

import symveil as sv
from symveil.central.learned import SHARES
from symveil.cli.main import main
from symveil.formats.manifest import manifest_path
from symveil.formats.models.model_json import read_law
from symveil.formats.sequences.columns import ColumnOptions
from symveil.randomness import NotPrivateSeededBits
from symveil.release import protocol
from symveil.release.central_job import CentralJob
from symveil.tasks.learn_privately import learn
from symveil.tasks.synthesize import synthesize

ROOT = Path(__file__).parents[2]
ROADS = sv.MarkovChain.from_transitions(
    [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "c", 1), ("c", "a", "1/2"), ("c", "d", "1/2"), ("d", "a", 1)]
)
STREET = sv.MarkovChain.from_transitions([("a", "b", 1)], states=["a", "b"])
VISITS = ["register exam consult", "register exam exam exam consult", "exam register consult"]
ACTIVITIES = ["register", "exam", "consult"]
EXAM_FIRST = sv.Automaton.from_transitions(
    [("0", "register", "0"), ("0", "exam", "1"), *(("1", each, "1") for each in ACTIVITIES)],
    initial="0",
    accepting=["0", "1"],
)
ANYTHING = sv.Automaton.from_transitions([("0", each, "0") for each in ACTIVITIES], initial="0", accepting=["0"])
TRIPS = ["a b c d"] * 60 + ["b c a"] * 30 + ["c d a b c"] * 10


def write(path: Path, trips: list[str], persons: list[str] | None = None) -> Path:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["trip", "who", "links"])
        names = persons or [f"p{number}" for number in range(len(trips))]
        out.writerows([number, name, trip] for number, (name, trip) in enumerate(zip(names, trips, strict=True)))
    return path


def learned(source: Path, out: Path, **named: object):
    given = {"epsilon": 1, "lengths": (2, 5), "model": ROADS}
    reading = ColumnOptions(identifier="trip", sequence="links", person="who")
    return learn(source, out, **{**given, "columns": reading, **named})  # type: ignore[arg-type]


def test_much_budget_learns_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # one key and one name: three trips fit several laws, and which of them is found depends on the last digits
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(32))
    source, model = write(tmp_path / "in.csv", TRIPS), tmp_path / "model.json"
    learned(source, model, epsilon=10_000, release_id="r")
    law = read_law(model)
    codes, lengths = law.draw(4000, NotPrivateSeededBits(3))
    words = [" ".join(law.symbols[code] for code in word) for word in np.split(codes, np.cumsum(lengths)[:-1])]
    for trip, share in (("a b c d", 0.6), ("b c a", 0.3), ("c d a b c", 0.1)):
        # the law knows moves, ends and lengths, not whole words: near, with 4000 draws at 6 standard errors
        assert abs(words.count(trip) / 4000 - share) < 0.08 + 6 * (share * (1 - share) / 4000) ** 0.5


def test_an_ordinary_model_with_the_moves_of_the_graph(tmp_path: Path) -> None:
    source, model = write(tmp_path / "in.csv", TRIPS), tmp_path / "model.json"
    learned(source, model)
    chain = sv.load_model(model)
    assert isinstance(chain, sv.MarkovChain)
    moves = {(one, other) for one, other, _ in ROADS.transitions}
    assert {(one, other) for one, other, _ in chain.transitions} == moves  # also those that nobody made
    private = sv.Exponential(sv.runs(chain, 4), epsilon=2, adjacency=1).release(("a", "b", "c", "d"))
    assert set(pairwise(private)) <= moves


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".xes"])
def test_synthetic_words_are_legal_and_as_many_as_declared(tmp_path: Path, ending: str) -> None:
    source, model, out = write(tmp_path / "in.csv", TRIPS), tmp_path / "model.json", tmp_path / f"synthetic{ending}"
    learned(source, model, epsilon="0.1")
    document = synthesize(model, out, count=500).document()
    assert {name: document[name] for name in ("out", "released")} == {"out": str(out), "released": 500}
    reading = {} if ending == ".xes" else {"sequence": "sequence"}
    words = [tuple(word) for word in sv.read_sequences(out, **reading)]
    moves = {(one, other) for one, other, _ in ROADS.transitions}
    assert len(words) == 500 and all(2 <= len(word) <= 5 and set(pairwise(word)) <= moves for word in words)


def test_the_charge_the_manifest_and_the_check(tmp_path: Path) -> None:
    source, model, ledger = (
        write(tmp_path / "in.csv", TRIPS, ["ann"] * 60 + ["bob"] * 40),
        tmp_path / "m.json",
        tmp_path / "l.db",
    )
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    result = learned(source, model, ledger=ledger, release_id="r")
    assert sv.person_status(ledger, "ann").spent == sv.person_status(ledger, "bob").spent == "1"
    assert sum(SHARES.values()) == 1 and sum(Fraction(each["epsilon"]) for each in result.manifest["queries"]) == 1
    sv.save_model(ROADS, tmp_path / "roads.json")
    assert sv.check_manifest(result.manifest_file, model=tmp_path / "roads.json").holds
    jsonschema.validate(result.manifest, json.loads((ROOT / "docs" / "central.schema.json").read_text()))
    again = learned(source, model, ledger=ledger, release_id="r")
    assert again.already_done and sv.person_status(ledger, "ann").spent == "1"
    assert result.document()["guarantee"] == {"epsilon": 1.0, "how": "certified"}


def test_files_without_a_legal_word_are_ordinary_releases(tmp_path: Path) -> None:
    told = []
    for number, trips in enumerate(([], ["a d"] * 20, ["a b " * 200], TRIPS)):
        out = tmp_path / str(number) / "model.json"
        result = learned(write(tmp_path / f"{number}.csv", trips), out, release_id="r")
        said = {key: value for key, value in result.manifest.items() if key not in ("digests", "date")}
        told.append((said, set(json.loads(out.read_text())["law"])))
    assert all(each == told[0] for each in told[1:])


def test_logs_without_a_legal_case_are_ordinary_releases(tmp_path: Path) -> None:
    """Nothing in the manifest or the form of the model tells files apart, but the bound that noisy lengths chose."""
    told = []
    for number, cases in enumerate(([], ["stroll"] * 20, ["exam " * 200], VISITS * 20)):
        out = tmp_path / str(number) / "model.json"
        source = write(tmp_path / f"{number}.csv", cases)
        result = learned(source, out, model=None, alphabet=ACTIVITIES, lengths=(1, 8), release_id="r")
        said = {key: value for key, value in result.manifest.items() if key not in ("digests", "queries", "date")}
        names = [(each["query"], each["epsilon"]) for each in result.manifest["queries"]]
        told.append((said, names, set(json.loads(out.read_text())["law"])))
    assert all(each == told[0] for each in told[1:])


@pytest.mark.parametrize(
    "changed", [{}, {"rows": VISITS * 19}, {"kind": "trips"}, {"no_repeats": True}, {"constraint": ANYTHING}]
)
def test_killed_and_run_again_a_log_has_the_same_noise_and_nothing_else_has_it(tmp_path: Path, monkeypatch, changed):
    source, out, ledger = write(tmp_path / "in.csv", VISITS * 20), tmp_path / "model.json", tmp_path / "l.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    given = {"model": None, "alphabet": ACTIVITIES, "lengths": (1, 8), "ledger": ledger, "release_id": "r"}
    drawn: list[bytes] = []

    def killed(job: CentralJob) -> None:
        drawn.append(job._temporary.temporary.read_bytes())
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(CentralJob, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            learned(source, out, **given)
    named = dict(changed)
    write(source, named.pop("rows", VISITS * 20))
    if changed:
        with pytest.raises(sv.SymveilError, match="release r: expected the same input and parameters"):
            learned(source, out, **given | named)
    else:
        learned(source, out, **given)
        assert out.read_bytes() == drawn[0] and sv.person_status(ledger, "p1").spent == "1"


@pytest.mark.parametrize(
    ("named", "line"),
    [
        ({"model": None}, "learn: expected a public alphabet or a public model, found none"),
        ({"lengths": (5, 2)}, "lengths: expected a shortest length, 1 or more, up to a longest, found 5 to 2"),
        ({"lengths": 5}, "lengths: expected a shortest and a longest length"),
        ({"epsilon": -1}, "epsilon: expected"),
        ({"lengths": (2, 10**8)}, "learn: expected at most 50,000,000 symbols x zones x lengths"),
        ({"model": STREET, "lengths": (3, 4)}, "a word of the public lengths"),
        ({"out": "model.csv"}, "out: expected a file name ending in .json"),
        ({"neighbours": "some"}, "neighbours: expected add-remove or replace"),
        ({"zones": "6"}, "zones: expected `places` with a grid"),
    ],
)
def test_refusals(tmp_path: Path, named, line) -> None:
    given = dict(named)
    out = tmp_path / given.pop("out", "model.json")
    with pytest.raises(sv.SymveilError, match=line):
        learned(write(tmp_path / "in.csv", TRIPS), out, **given)
    assert not out.exists() and not manifest_path(out).exists()


@pytest.mark.parametrize(
    "text",
    ["{}", "[]", '{"law": {}}', '{"law": {"lengths": [1, 2]}}', '{"law": 3}', "no json", '{"law": {"lengths": "ab"}}'],
)
def test_a_model_without_a_law_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(
        sv.SymveilError,
        match="expected (a model that symveil learn|a law as symveil writes|JSON, found expecting value)",
    ):
        synthesize(tmp_path / "model.json", tmp_path / "out.csv", count=1)
    assert not (tmp_path / "out.csv").exists()


def test_the_commands(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("trips.csv"), TRIPS)
    sv.save_model(ROADS, "roads.json")
    reading = ("--id", "trip", "--sequence", "links", "--person", "who", "--json")

    def ran(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        return int(ended.value.code or 0), *capsys.readouterr()

    private = ("learn", "trips.csv", "--out", "model.json", "--epsilon", "1", "--from-graph", "roads.json")
    status, out, _ = ran(*private, "--lengths", "2..5", *reading)
    assert status == 0 and json.loads(out)["guarantee"] == {"epsilon": 1.0, "how": "certified"}
    status, out, _ = ran("synthesize", "model.json", "--count", "7", "--out", "synthetic.csv", "--json")
    assert (status, json.loads(out)["released"]) == (0, 7)
    assert "lengths: expected a shortest and a longest length such as 15..49" in ran(*private, *reading)[2]
    nothing = ("learn", "trips.csv", "--out", "model.json", "--epsilon", "1", "--lengths", "2..5", *reading)
    assert "alphabet: expected --alphabet or --from-graph, found none; it is public" in ran(*nothing)[2]
    assert "at most 3 symbols in a sequence" in ran(*private, "--lengths", "2..5", "--longest", "3", *reading)[2]
    public = ("learn", "trips.csv", "--out", "public.json", "--sequence", "links", "--id", "trip")
    assert "person: expected --epsilon with it, found none" in ran(*public, "--person", "who")[2]
    assert ran(*public)[0] == 0


def synthetic(model: Path, **named: object) -> list[tuple[str, ...]]:
    out = model.with_suffix(".csv")
    synthesize(model, out, count=300, bits=NotPrivateSeededBits(2), **named)  # type: ignore[arg-type]
    return [tuple(word) for word in sv.read_sequences(out, sequence="sequence")]


def test_an_alphabet_without_a_map_is_an_event_log(tmp_path: Path) -> None:
    source, model = write(tmp_path / "in.csv", VISITS * 40), tmp_path / "model.json"
    result = learned(source, model, model=None, alphabet=ACTIVITIES, lengths=(1, 8), epsilon=1000)
    assert [each["query"] for each in result.manifest["queries"]] == [
        f"law of a log: {name}" for name in ("lengths", "repeats", "moves")
    ]
    assert result.manifest["parameters"]["law"] == "log" and sv.check_manifest(result.manifest_file).holds
    assert sum(Fraction(each["epsilon"]) for each in result.manifest["queries"]) == 1000
    assert result.manifest["queries"][2]["bound"] == 3  # the lower quartile of the lengths
    law = read_law(model)
    assert {law.symbols[code] for code in law.rules.once} == {"register", "consult"}
    words = synthetic(model)
    assert all(word.count("register") <= 1 and word.count("consult") <= 1 for word in words)
    assert sum(word[-1] == "consult" for word in words) > 280
    assert {len(word) for word in words} == {3, 5}
    trips = learned(source, model, model=None, alphabet=ACTIVITIES, lengths=(1, 8), kind="trips", release_id="t")
    assert len(trips.manifest["queries"]) == 5


def test_longer_cases_count_as_far_as_the_longest_length_goes(tmp_path: Path) -> None:
    source, model = write(tmp_path / "in.csv", ["register " + "exam " * 30] * 50), tmp_path / "model.json"
    learned(source, model, model=None, alphabet=ACTIVITIES, lengths=(1, 6), epsilon=1000)
    words = synthetic(model)
    assert sum(word == ("register", *("exam",) * 5) for word in words) > 280


def test_declared_rules_are_kept_by_the_model_and_added_when_drawing(tmp_path: Path) -> None:
    """With rules words that break them add nothing, and are never drawn; what is declared later only takes away."""
    sv.save_model(EXAM_FIRST, tmp_path / "rule.json")
    wrong = ["consult consult consult consult"] * 500
    source, model = write(tmp_path / "in.csv", VISITS * 40 + wrong), tmp_path / "model.json"
    given = {"model": None, "alphabet": ACTIVITIES, "lengths": (1, 8), "epsilon": 1000}
    result = learned(source, model, constraint=tmp_path / "rule.json", **given)
    assert len(result.manifest["parameters"]["constraints"]) == 1

    def in_order(word: tuple[str, ...]) -> bool:
        return "consult" not in word or "exam" in word[: word.index("consult")]

    words = synthetic(model)
    assert all(map(in_order, words)) and {len(word) for word in words} == {3, 5}
    assert all(in_order(word) and len(set(word)) == len(word) == 3 for word in synthetic(model, no_repeats=True))
    learned(source, model, **given, release_id="free")
    assert not all(map(in_order, synthetic(model)))
    assert all(map(in_order, synthetic(model, constraint=EXAM_FIRST)))
    chain = sv.load_model(model)
    assert isinstance(chain, sv.MarkovChain)


def test_trips_without_a_link_twice_and_chains_that_begin_somewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "new_release_key", lambda: bytes(32))
    source, model = write(tmp_path / "in.csv", [*TRIPS, "a b c a b"]), tmp_path / "model.json"
    learned(source, model, no_repeats=True)
    assert all(len(set(word)) == len(word) for word in synthetic(model))
    begun = sv.MarkovChain.from_transitions(ROADS.transitions, initial="c")
    learned(source, model, model=begun, release_id="c")
    assert {word[0] for word in synthetic(model)} == {"a", "d"}  # where c leads to


def test_a_process_model_is_a_support(tmp_path: Path) -> None:
    """An automaton's words are the legal ones: not all that its pairs of activities would allow."""
    source, model = write(tmp_path / "in.csv", VISITS * 40), tmp_path / "model.json"
    result = learned(source, model, model=EXAM_FIRST, lengths=(1, 8))
    assert result.manifest["parameters"]["law"] == "log"
    words = synthetic(model)
    assert all("consult" not in word or "exam" in word[: word.index("consult")] for word in words)


NO_WORD = sv.Automaton.from_transitions([("0", "x", "0")], initial="0", accepting=["0"])


@pytest.mark.parametrize(
    ("named", "line"),
    [
        (
            {"constraint": NO_WORD},
            "constraint: expected a word of the public lengths that the constraint allows",
        ),
        ({"no_repeats": True, "lengths": (5, 6)}, "no_repeats: expected words of at most 4 symbols, as many as there"),
        ({"no_repeats": 1}, "no_repeats: expected True or False"),
        ({"kind": "some"}, "kind: expected auto, trips or log, found some"),
        ({"kind": "log", "zones": "z.csv"}, "kind: expected trips with places or zones, found log"),
        ({"constraint": "none.json"}, "none.json: expected"),
    ],
)
def test_rules_that_leave_no_word_are_refused_before_anybody_is_charged(tmp_path: Path, named, line) -> None:
    ledger = tmp_path / "l.db"
    sv.grant_budget(ledger, epsilon=5, everyone=True)
    with pytest.raises(sv.SymveilError, match=line):
        learned(write(tmp_path / "in.csv", TRIPS), tmp_path / "model.json", ledger=ledger, release_id="r", **named)
    assert sv.person_status(ledger, "p1").spent == "0"
    assert not (tmp_path / "model.json").exists()


def test_a_model_without_words_of_some_lengths(tmp_path: Path) -> None:
    """Lengths that no word has get no share: a street that ends, and an automaton that counts to two."""
    twice = sv.Automaton.from_transitions([("0", "a", "1"), ("1", "b", "0")], initial="0", accepting=["0"])
    for name, model, legal in (("street", STREET, {1, 2}), ("pairs", twice, {2, 4, 6})):
        out = tmp_path / f"{name}.json"
        learned(write(tmp_path / "in.csv", ["a b"] * 50), out, model=model, kind="log", lengths=(1, 6), release_id=name)
        assert {len(word) for word in synthetic(out)} <= legal


@pytest.mark.parametrize(
    "change",
    [
        {"lengths": [1, 10**9]},
        {"lengths": [10**9, 10**9]},
        {"constraints": [3]},
        {"constraints": [{"format": "symveil/1", "kind": "stochastic-system"}]},
        {"at_most_once": [99]},
        {"split": 0},
        {"zone": [0, 0, 0, 10**9]},
        {"zone": {}},
        {"symbols": ["a", "b", "c", "\ud800"]},
        {"symbols": ["a", "b", "c", "c"]},
        {"symbols": []},
        {"source": [0]},
        {"source": ["0"]},
        {"lengths": [True, 5]},
        {"at_most_once": {}},
        {"parameters": {}},
        {"parameters": 7},
        *({"parameters": {"ends": [0.0, 0.0, 0.0, value]}} for value in (1e308, -1e5, float("nan"), "1", True, None)),
    ],
)
def test_a_law_that_was_changed_by_hand_is_refused_in_one_line(tmp_path: Path, change: dict[str, object]) -> None:
    model = tmp_path / "model.json"
    learned(write(tmp_path / "in.csv", TRIPS), model)
    document = json.loads(model.read_text())
    if isinstance(ends := change.get("parameters"), dict) and ends:
        change = {"parameters": document["law"]["parameters"] | ends}
    document["law"] |= change
    model.write_text(json.dumps(document))
    with pytest.raises(
        sv.SymveilError, match=r"\$.law: expected a law as symveil writes it|JSON, found NaN"
    ) as refusal:
        synthesize(model, tmp_path / "out.csv", count=1)
    assert "\n" not in str(refusal.value)


def test_every_damaged_law_is_drawn_from_or_refused(tmp_path: Path) -> None:
    """One value exchanged or left out, everywhere in a law: words, or one line, and never anything else."""
    model = tmp_path / "model.json"
    learned(write(tmp_path / "in.csv", TRIPS), model)
    document = json.loads(model.read_text())
    refused = drawn = 0
    for path, value in [*changes(document["law"], ("law",)), (("law",), [[]] * 2)]:
        model.write_text(json.dumps(changed(document, path, value)))
        try:
            synthesize(model, tmp_path / "out.csv", count=2, bits=NotPrivateSeededBits(1))
            drawn += 1
        except sv.SymveilError as refusal:
            assert "\n" not in str(refusal)
            refused += 1
    assert drawn > 50 and refused > 50  # other weights are a law too; other kinds of values are none
    model.write_text('{"law": ' + "[" * 10**5 + "]" * 10**5 + "}")
    with pytest.raises(sv.SymveilError, match="nested"):
        synthesize(model, tmp_path / "out.csv", count=1)


def test_symbols_that_xml_cannot_hold(tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    learned(write(tmp_path / "in.csv", ["a a"] * 9), model, model=None, alphabet=["a", "b\x01"], lengths=(1, 3))
    with pytest.raises(sv.SymveilError, match="out: expected symbols that XML can hold"):
        synthesize(model, tmp_path / "out.xes", count=1)
