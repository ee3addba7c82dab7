"""A file in, a private file out: same form, same order, legal, counted; and nothing secret in what is told."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.errors import FileError, LedgerError, OverBudgetError, ParameterError, WordError
from symveil.tasks.budgets import grant_budget, ledger_status, person_status
from symveil.tasks.check import check_manifest

CHAIN = sv.MarkovChain.from_transitions(
    [("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4"), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)]
)
ALLOWED = {(source, target) for source, target, _ in CHAIN.transitions}


@pytest.fixture
def trips(tmp_path):
    file = tmp_path / "trips.csv"
    words = [" ".join("abacab"[: number % 7]) for number in range(50)]
    file.write_text("trip_id,links,who\n" + "".join(f"t{n},{word},p{n % 5}\n" for n, word in enumerate(words)))
    return file


def rows(path) -> list[dict[str, str]]:
    content = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
    return list(csv.DictReader(io.StringIO(content.decode())))


def release(source, out, **options):
    chosen = {"alphabet": "abc", "epsilon": 1, "sequence": "links", **options}
    if "model" in options:
        chosen = {"adjacency": 1, "thin": True, **chosen}
    return sv.privatize_file(source, out, **chosen)


def test_lengths_ids_and_order_stay(trips, tmp_path):
    told = release(trips, tmp_path / "out.csv.gz", keep=["who"])
    before, after = rows(trips), rows(told.out)
    assert [(row["trip_id"], row["who"]) for row in before] == [(row["trip_id"], row["who"]) for row in after]
    assert [len(row["links"].split()) for row in before] == [len(row["links"].split()) for row in after]
    assert before != after
    assert told.manifest["counts"] == {
        "sequences": 50, "released": 50, "dropped_unknown": 0, "dropped_over_budget": 0,
        "symbols": sum(len(row["links"].split()) for row in before),
    }  # fmt: skip
    assert list(after[0]) == ["trip_id", "links", "who"]
    assert list(rows(release(trips, tmp_path / "o.csv").out)[0]) == ["trip_id", "links"]  # nothing else passes


def test_on_a_model_every_word_is_legal(trips, tmp_path):
    told = release(trips, tmp_path / "out.csv", alphabet=None, model=CHAIN, adjacency=2)
    for row in rows(told.out):
        word = row["links"].split()
        assert all(move in ALLOWED for move in itertools.pairwise(word))
    assert told.manifest["protection"]["neighbours_within_adjacency"] > 0
    assert told.manifest["how"] in ("exact", "certified")


def test_public_start(trips, tmp_path):
    told = release(
        trips, tmp_path / "out.csv", alphabet=None, model=CHAIN, public_start=True, epsilon="0.01", adjacency=1
    )
    for before, after in zip(rows(trips), rows(told.out), strict=True):
        assert before["links"][:1] == after["links"][:1]


def test_the_manifest(trips, tmp_path):
    told = release(trips, tmp_path / "out.csv", epsilon="1/3")
    manifest = json.loads(told.manifest_file.read_text())
    assert manifest == told.manifest
    for key in ("version", "mechanism", "epsilon", "eta", "b", "how", "digests", "release_id", "counts"):
        assert key in manifest
    assert (manifest["epsilon_exact"], manifest["eta"], manifest["b"]) == ("1/3", "1/3", 1)
    assert set(manifest["digests"]) == {"model", "alphabet", "output"}
    assert told.document()["out"] == str(told.out)


def test_nothing_that_is_told_depends_on_the_words(tmp_path):
    """Two files with the same lengths and ids and different words: the same manifest, but for the digest and the id."""
    told = []
    for number, letters in enumerate(("aaaa", "bcbc")):
        source = tmp_path / f"in{number}.csv"
        source.write_text("trip_id,links\n" + "".join(f"{n},{' '.join(letters[: n % 5])}\n" for n in range(40)))
        document = release(source, tmp_path / f"o{number}" / "out.csv", release_id="r").document()
        for key in ("out", "manifest", "date"):  # a day may end between two runs
            document.pop(key)
        document["digests"].pop("output")
        told.append(document)
    assert told[0] == told[1]


def test_the_true_error_only_when_asked_for(trips, tmp_path):
    told = release(trips, tmp_path / "out.csv", unsafe_report_true_error=True)
    before = [row["links"].split() for row in rows(trips)]
    after = [row["links"].split() for row in rows(told.out)]
    changed = sum(one != other for w, v in zip(before, after, strict=True) for one, other in zip(w, v, strict=True))
    assert told.true_error["changed_symbols"] == changed
    assert "changed" not in told.manifest_file.read_text()
    assert told.document()["unsafe_true_error"] == told.true_error
    assert release(trips, tmp_path / "p.csv").true_error is None


# --- what is refused ---------------------------------------------------------------------------


def left(tmp_path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.parametrize("ledger", [False, True])
def test_unknown_symbols(tmp_path, ledger):
    source = tmp_path / "in.csv"
    source.write_text("id,links\n1,a b\n2,a SECRET\n3,b\n4,SECRET\n")
    options = {"ledger": tmp_path / "l.db"} if ledger else {}
    if ledger:
        grant_budget(tmp_path / "l.db", 1, everyone=True)
    before = left(tmp_path)
    with pytest.raises(WordError, match=r"in.csv: line 3: .* position 2 of 2") as caught:
        release(source, tmp_path / "out.csv", **options)
    assert "SECRET" not in str(caught.value)
    assert left(tmp_path) == before
    if ledger:
        assert ledger_status(tmp_path / "l.db").releases == 0  # found out before anybody was charged
    told = release(source, tmp_path / "out.csv", on_unknown="drop-sequence", **options)
    assert [row["id"] for row in rows(told.out)] == ["1", "3"]
    assert told.manifest["counts"]["dropped_unknown"] == 2


def test_impossible_moves_are_unknown_to_a_model(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("id,links\n1,a b c\n2,c c\n3,z\n")
    with pytest.raises(WordError, match="line 3: .* position 2 of 2"):
        release(source, tmp_path / "out.csv", alphabet=None, model=CHAIN)
    told = release(source, tmp_path / "out.csv", alphabet=None, model=CHAIN, on_unknown="drop-sequence")
    assert [row["id"] for row in rows(told.out)] == ["1"]


@pytest.mark.parametrize("ledger", [False, True])
def test_repeated_ids(tmp_path, ledger):
    source = tmp_path / "in.csv"
    source.write_text("id,links\n1,a b\n2,a\n1,b\n")
    options = {"ledger": tmp_path / "l.db"} if ledger else {}
    if ledger:
        grant_budget(tmp_path / "l.db", 1, everyone=True)
    before = left(tmp_path)
    with pytest.raises(FileError, match="in.csv: line 4: expected each id once"):
        release(source, tmp_path / "out.csv", **options)
    assert left(tmp_path) == before


def test_parameters(trips, tmp_path):
    for options, message in [
        ({"alphabet": None}, "an alphabet or a model, found none"),
        ({"model": CHAIN}, "an alphabet or a model, found both"),
        ({"epsilon": 0}, "epsilon"),
        ({"mechanism": "jones2019-printed"}, "one that is private"),
        ({"engine": "magic"}, "local or spark"),
        ({"on_unknown": "ignore"}, "on_unknown"),
        ({"over_budget": "ignore"}, "over_budget"),
        ({"release_id": "../x"}, "release_id"),
        ({"release_id": ""}, "release_id"),
        ({"public_start": True}, "public_start"),
        ({"adjacency": 0}, "adjacency"),
    ]:
        with pytest.raises(ParameterError, match=message):
            release(trips, tmp_path / "out.csv", **options)
    with pytest.raises(sv.SymveilError, match="without the separator"):
        release(trips, tmp_path / "out.csv", alphabet=["a", "b c"])
    for out, message in [
        ("out.jsonl", "a file name ending in .csv"),
        ("trips.csv", "another file"),
        ("out", "a file name ending in"),
    ]:
        with pytest.raises(FileError, match=message):
            release(trips, tmp_path / out)
    assert left(tmp_path) == ["trips.csv"]


# --- forms -------------------------------------------------------------------------------------


def test_an_empty_file_of_sequences(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("id,links\n")
    told = release(source, tmp_path / "out.csv")
    assert told.out.read_text() == "id,links\n" and told.manifest["counts"]["released"] == 0
    assert check_manifest(told.manifest_file).holds
    pq.write_table(
        pa.table({"id": pa.array([], pa.string()), "links": pa.array([], pa.list_(pa.string()))}),
        tmp_path / "i.parquet",
    )
    told = release(tmp_path / "i.parquet", tmp_path / "o.parquet")
    assert pq.read_table(told.out).num_rows == 0


def test_one_symbol_and_very_long_sequences(tmp_path):
    source = tmp_path / "in.csv"
    source.write_text("id,links\n1,a\n2," + " ".join("abac"[n % 4] for n in range(14_795)) + "\n3,\n")
    on_model = {"alphabet": None, "model": CHAIN, "calibration": "classic", "mechanism": "exponential"}
    for options in ({}, {"mechanism": "staircase", "adjacency": 3}, on_model):
        after = rows(release(source, tmp_path / "out.csv", **options).out)
        assert [len(row["links"].split()) for row in after] == [1, 14_795, 0]


def test_long_form_with_a_ledger(tmp_path):
    source = tmp_path / "log.csv"
    source.write_text("case:concept:name,concept:name,time:timestamp,p\nNA,b,2,x\nu,a,1,y\nNA,a,1,x\nv,a,1,x\n")
    grant_budget(tmp_path / "l.db", 2, everyone=True)
    told = sv.privatize_file(
        source, tmp_path / "out.csv", alphabet="ab", epsilon=1, person="p", ledger=tmp_path / "l.db"
    )
    after = rows(told.out)
    assert [(row["case:concept:name"], row["time:timestamp"]) for row in after] == [
        ("NA", "1"), ("NA", "2"), ("u", "1"), ("v", "1")
    ]  # fmt: skip
    assert person_status(tmp_path / "l.db", "x").spent == "2"
    assert person_status(tmp_path / "l.db", "y").spent == "1"


# --- budgets -----------------------------------------------------------------------------------


def test_over_budget(trips, tmp_path):
    ledger = tmp_path / "l.db"
    grant_budget(ledger, 10, persons=["p0", "p1", "p2"])
    with pytest.raises(OverBudgetError, match="2 persons"):
        release(trips, tmp_path / "out.csv", person="who", ledger=ledger)
    assert not (tmp_path / "out.csv").exists() and ledger_status(ledger).releases == 0
    told = release(trips, tmp_path / "out.csv", person="who", ledger=ledger, over_budget="drop")
    kept = [row["trip_id"] for row in rows(trips) if row["who"] in ("p0", "p1", "p2")]
    assert [row["trip_id"] for row in rows(told.out)] == kept
    assert told.manifest["counts"]["dropped_over_budget"] == 20
    assert person_status(ledger, "p0").left == "0" and person_status(ledger, "p4").spent == "0"


def test_a_release_is_made_once(trips, tmp_path):
    ledger = tmp_path / "l.db"
    grant_budget(ledger, 2, everyone=True)
    first = release(trips, tmp_path / "out.csv", ledger=ledger, release_id="r")
    content = first.out.read_bytes()
    again = release(trips, tmp_path / "out.csv", ledger=ledger, release_id="r")
    assert again.already_done and again.out.read_bytes() == content and again.manifest == first.manifest
    assert person_status(ledger, "t1").spent == "1"
    first.out.write_text("something else")
    with pytest.raises(LedgerError, match="expected its output"):
        release(trips, tmp_path / "out.csv", ledger=ledger, release_id="r")
    other = release(trips, tmp_path / "other.csv", ledger=ledger, release_id="s")
    assert other.out.read_bytes() != content and person_status(ledger, "t1").spent == "2"


def test_a_grant_of_nothing_makes_no_ledger(tmp_path):
    with pytest.raises(ParameterError, match="at least 0.000000000001, found 1e-13"):
        grant_budget(tmp_path / "l.db", "1e-13", everyone=True)
    assert left(tmp_path) == []


def test_one_id_is_one_release(trips, tmp_path):
    ledger, options = tmp_path / "l.db", {"ledger": tmp_path / "l.db", "release_id": "r"}
    grant_budget(ledger, 9, everyone=True)
    release(trips, tmp_path / "out.csv", **options)
    for other in ({"epsilon": 2}, {"alphabet": "abcd"}, {"keep": ["who"]}, {"on_unknown": "drop-sequence"}):
        with pytest.raises(LedgerError, match="release r: expected the same parameters"):
            release(trips, tmp_path / "out.csv", **{**options, **other})
    assert release(trips, tmp_path / "out.csv", **options).already_done
    assert ledger_status(ledger).releases == 1


def test_a_pending_release_in_its_place_is_that_of_its_input(trips, tmp_path):
    """Killed between the rename and the end: another input under the same id is not told that it was released."""
    ledger, options = tmp_path / "l.db", {"ledger": tmp_path / "l.db", "release_id": "r"}
    grant_budget(ledger, 9, everyone=True)
    place = tmp_path / "out.csv.manifest.json"

    def in_the_way(_done, _total, what):
        if what == "releasing":
            place.mkdir(exist_ok=True)

    with pytest.raises(FileError):  # the output is in its place, and then the manifest finds none
        release(trips, tmp_path / "out.csv", progress=in_the_way, **options)
    place.rmdir()
    content = trips.read_text()
    trips.write_text(content + "late,a b,p9\n")
    with pytest.raises(LedgerError, match="expected the same input and parameters"):
        release(trips, tmp_path / "out.csv", **options)
    trips.write_text(content)
    assert release(trips, tmp_path / "out.csv", **options).already_done


@pytest.mark.parametrize("moment", ["charging", "releasing"])
def test_an_input_that_changes_meanwhile_is_not_released(trips, tmp_path, moment):
    ledger, content = tmp_path / "l.db", trips.read_text()
    grant_budget(ledger, 9, everyone=True)

    def somebody_else_writes(_done, _total, what):
        if what == moment:
            trips.write_text(content + "late,a b,p9\n")

    with pytest.raises(LedgerError, match="expected an input that stays as it is"):
        release(trips, tmp_path / "out.csv", ledger=ledger, progress=somebody_else_writes)
    assert left(tmp_path) == ["l.db", "trips.csv"]
    trips.write_text(content)
    assert release(trips, tmp_path / "out.csv", ledger=ledger).manifest["counts"]["released"] == 50
    assert person_status(ledger, "t1").spent == "1"  # the charge that was made is gone on with


@pytest.mark.parametrize("ledger", [False, True])
def test_a_manifest_without_a_place(trips, tmp_path, ledger):
    (tmp_path / "out.csv.manifest.json").mkdir()
    grant_budget(tmp_path / "l.db", 9, everyone=True)
    with pytest.raises(FileError, match="expected a place for the manifest, found a folder"):
        release(trips, tmp_path / "out.csv", ledger=tmp_path / "l.db" if ledger else None)
    assert not (tmp_path / "out.csv").exists() and ledger_status(tmp_path / "l.db").releases == 0


def test_without_a_ledger_every_run_is_a_release_of_its_own(trips, tmp_path):
    one = release(trips, tmp_path / "out.csv", release_id="r").out.read_bytes()
    assert release(trips, tmp_path / "out.csv", release_id="r").out.read_bytes() != one


# --- checking ----------------------------------------------------------------------------------


def names(result) -> list[str]:
    return [check.name for check in result.checks if not check.holds]


def test_check_finds_what_is_wrong(trips, tmp_path):
    sv.save_model(CHAIN, tmp_path / "roads.json")
    told = release(trips, tmp_path / "out.csv", alphabet=None, model=tmp_path / "roads.json")
    assert check_manifest(told.manifest_file).holds
    text = told.manifest_file.read_text()
    document = json.loads(text)

    def changed(**values) -> list[str]:
        told.manifest_file.write_text(json.dumps({**document, **values}))
        return names(check_manifest(told.manifest_file))

    assert changed(epsilon_exact="1/10") == ["guarantee"]
    assert changed(guarantee={"epsilon": 0.5, "how": "exact"}) == ["guarantee"]
    assert changed(counts={**document["counts"], "released": 49}) == ["counts"]
    assert changed(digests={**document["digests"], "output": "0" * 64}) == ["output"]
    assert changed(digests={**document["digests"], "alphabet": "0" * 64}) == ["alphabet"]
    assert changed(model={"kind": "markov-chain", "file": "gone.json"}) == ["model"]
    told.manifest_file.write_text(text)
    other = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1), ("c", "a", 1)])
    sv.save_model(other, tmp_path / "roads.json")
    assert names(check_manifest(told.manifest_file)) == ["model"]
    sv.save_model(CHAIN, tmp_path / "elsewhere.json")
    assert check_manifest(told.manifest_file, model=tmp_path / "elsewhere.json").holds
    told.out.rename(tmp_path / "moved.csv")
    assert names(check_manifest(told.manifest_file, model=tmp_path / "elsewhere.json")) == ["output"]
    moved = check_manifest(told.manifest_file, model=tmp_path / "elsewhere.json", output=tmp_path / "moved.csv")
    assert moved.holds


@pytest.mark.parametrize("model", [None, CHAIN])
def test_check_believes_nothing_that_can_be_worked_out(trips, tmp_path, model):
    sv.save_model(CHAIN, tmp_path / "roads.json")
    grant_budget(tmp_path / "l.db", 9, everyone=True)
    source = {"alphabet": "abc"} if model is None else {"alphabet": None, "model": tmp_path / "roads.json"}
    told = release(trips, tmp_path / "out.csv", ledger=tmp_path / "l.db", **source)
    document = json.loads(told.manifest_file.read_text())
    counts, first, output = document["counts"], document["classes"][0], document["output"]
    lies = [
        ("guarantee", {"epsilon": 0.5}),
        ("guarantee", {"eta": "1/7"}),
        ("guarantee", {"mechanism": "staircase"}),
        ("guarantee", {"how": "classic"}),
        ("guarantee", {"guarantee": {**document["guarantee"], "how": "classic"}}),
        ("guarantee", {"charged": "0.5"}),
        ("guarantee", {"unit": "adjacency all, hamming"}),
        ("guarantee", {"protection": {"neighbours_within_adjacency": 10**6, "by_position": []}}),
        ("guarantee", {"classes": [{**first, "lengths": [1, 5000]}, *document["classes"][1:]]}),
        ("guarantee", {"classes": document["classes"][:-1]}),
        ("counts", {"counts": {**counts, "sequences": counts["sequences"] + 1}}),
        ("counts, passes unprotected", {"counts": {**counts, "dropped_unknown": 3}}),
        ("fields, counts, passes unprotected", {"counts": {**counts, "dropped_unknown": 3, "dropped_over_budget": -3}}),
        ("counts", {"counts": {**counts, "symbols": counts["symbols"] + 1}}),
        ("form", {"output": {**output, "form": "long"}}),
        ("form", {"output": {**output, "format": "Parquet"}}),
    ]
    for failing, lie in lies:
        told.manifest_file.write_text(json.dumps({**document, **lie}))
        assert names(check_manifest(told.manifest_file)) == failing.split(", "), lie
    told.manifest_file.write_text(json.dumps(document))
    assert check_manifest(told.manifest_file).holds


def test_check_finds_an_illegal_word(trips, tmp_path):
    from symveil.storage.files import digest_of

    told = release(trips, tmp_path / "out.csv", alphabet=None, model=CHAIN)
    sv.save_model(CHAIN, tmp_path / "roads.json")
    content = rows(told.out)
    content[2]["links"] = "c c"
    told.out.write_text("trip_id,links\n" + "".join(f"{row['trip_id']},{row['links']}\n" for row in content))
    document = json.loads(told.manifest_file.read_text())
    document["digests"]["output"] = digest_of(told.out)
    told.manifest_file.write_text(json.dumps(document))
    assert names(check_manifest(told.manifest_file, model=tmp_path / "roads.json")) == ["legality"]


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": "symveil-manifest/1"}', "[" * 100_000])
def test_what_is_no_manifest(tmp_path, text):
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(FileError):
        check_manifest(tmp_path / "m.json")


EVENTS = "".join(
    f"<trace><string key='concept:name' value='t{n}'/>"
    + "".join(f"<event><string key='concept:name' value='{letter}'/></event>" for letter in "abcab"[: n % 6])
    + "</trace>"
    for n in range(30)
)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "ndjson", "parquet", "xes"])
def test_every_format_there_and_checked(tmp_path, kind, packed):
    words = [list("abcab"[: n % 6]) for n in range(30)]
    plain = tmp_path / f"plain.{kind}"
    if kind in ("csv", "tsv"):
        comma = "," if kind == "csv" else "\t"
        plain.write_text(f"id{comma}s\n" + "".join(f"{n}{comma}{' '.join(word)}\n" for n, word in enumerate(words)))
    elif kind in ("jsonl", "ndjson"):
        plain.write_text("".join(json.dumps({"id": n, "s": word}) + "\n" for n, word in enumerate(words)))
    elif kind == "parquet":
        pq.write_table(pa.table({"id": list(range(30)), "s": pa.array(words, pa.list_(pa.string()))}), plain)
    else:
        plain.write_text(f"<log>{EVENTS}</log>")
    source = tmp_path / f"in.{kind}{packed}"
    source.write_bytes(gzip.compress(plain.read_bytes()) if packed else plain.read_bytes())
    grant_budget(tmp_path / "l.db", 1, everyone=True)
    told = sv.privatize_file(
        source, tmp_path / f"out.{kind}{packed}", alphabet="abc", epsilon=1, ledger=tmp_path / "l.db"
    )
    assert told.manifest["counts"]["released"] == 30
    assert told.manifest["counts"]["symbols"] == sum(map(len, words))
    assert check_manifest(told.manifest_file).holds
    assert (told.out.read_bytes()[:2] == b"\x1f\x8b") == bool(packed)
    name = "t7" if kind == "xes" else "7"
    assert person_status(tmp_path / "l.db", name).spent == "1"  # known by what the id says, not how it is spelled
