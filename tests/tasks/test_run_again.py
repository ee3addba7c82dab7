"""A release that is finished, run again: the same input is done already, an input with other records is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import LedgerError, ParameterError
from symveil.release.local import LocalJob
from symveil.tasks.budgets import grant_budget, ledger_status
from symveil.tasks.privatize_file import privatize_file

WORDS = {"x": ["a", "b", "a"], "y": [], "z": ["b"]}


def write(file, words: dict[str, list[str]]) -> None:
    match file.suffix:
        case ".csv":
            file.write_text("id,s\n" + "".join(f"{name},{' '.join(word)}\n" for name, word in words.items()))
        case ".jsonl":
            file.write_text("".join(json.dumps({"id": name, "s": word}) + "\n" for name, word in words.items()))
        case ".parquet":
            lists = pa.array(list(words.values()), type=pa.list_(pa.string()))
            pq.write_table(pa.table({"id": list(words), "s": lists}), file)
        case ".xes":
            time = "<date key='time:timestamp' value='2020-01-01T0{}:00:00Z'/>"
            event = f"<event><string key='concept:name' value='{{}}'/>{time}</event>"
            traces = (
                f"<trace><string key='concept:name' value='{name}'/>"
                + "".join(event.format(symbol, place) for place, symbol in enumerate(word))
                + "</trace>"
                for name, word in words.items()
            )
            file.write_text(f"<log>{''.join(traces)}</log>")


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet", ".xes"])
@pytest.mark.parametrize("metric", ["hamming", "levenshtein"])
def test_other_records_are_another_release(tmp_path, kind, metric):
    source, out, ledger = tmp_path / f"in{kind}", tmp_path / f"out{kind}", tmp_path / "l.db"
    grant_budget(ledger, 50, everyone=True)

    def run(words):
        write(source, words)
        return privatize_file(
            source, out, alphabet="ab", epsilon=8, ledger=ledger, release_id="r", metric=metric,
            on_unknown="drop-sequence",
        )  # fmt: skip

    outside = {**WORDS, "w": ["c"]}  # left out, and public all the same
    assert not run(outside).already_done
    before = out.read_bytes()
    assert run(outside).already_done
    assert run({**outside, "z": ["a"]}).already_done  # another word: nothing is kept that could tell
    renamed = {f"{name}2" if name == "y" else name: word for name, word in outside.items()}
    others = [WORDS, {**outside, "v": ["a"]}, renamed, dict(reversed(outside.items()))]
    if metric == "hamming":
        others.append({**outside, "z": ["b", "b"]})
    for words in others:
        with pytest.raises(LedgerError, match="release r: expected the input it was made from"):
            run(words)
    assert out.read_bytes() == before
    assert ledger_status(ledger).most_spent == "8"


def test_a_ledger_has_a_file_of_its_own(tmp_path):
    write(tmp_path / "in.csv", WORDS)
    before = (tmp_path / "in.csv").read_bytes()
    for name in ("in.csv", "out.csv", "out.csv.manifest.json"):
        with pytest.raises(ParameterError, match="ledger: expected a file of its own"):
            privatize_file(
                tmp_path / "in.csv", tmp_path / "out.csv", alphabet="ab", epsilon=1, ledger=tmp_path / name
            )  # fmt: skip
    assert (tmp_path / "in.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_the_same_command_again_is_refused_unless_it_is_meant(tmp_path):
    source, out, ledger = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "l.db"
    grant_budget(ledger, 50, everyone=True)

    def run(words=WORDS, *, epsilon=1, **options):
        write(source, words)
        return privatize_file(source, out, alphabet="ab", epsilon=epsilon, ledger=ledger, **options)

    def spent():
        return ledger_status(ledger).most_spent

    assert run().persons == 3
    before = out.read_bytes()
    with pytest.raises(LedgerError, match="would charge everyone a second time: .* `again=True`") as refused:
        run()
    assert "\n" not in str(refused.value) and out.read_bytes() == before and spent() == "1"
    assert run(again=True).persons == 3 and spent() == "2"
    with pytest.raises(LedgerError, match="a second time"):  # also after the second one
        run()
    run(epsilon=2)  # other parameters, other people, another id: not the same command
    run({"v": ["a"]}, epsilon=2)
    run({"v": ["a"]}, epsilon=2, release_id="named")
    out.write_text("something else")
    run({"v": ["a"]}, epsilon=2)
    with pytest.raises(ParameterError, match="again: expected no release id with it"):
        run(again=True, release_id="named")


def test_without_a_ledger_nothing_is_charged_and_the_same_command_runs_again(tmp_path):
    write(tmp_path / "in.csv", WORDS)
    for _ in range(2):
        done = privatize_file(tmp_path / "in.csv", tmp_path / "out.csv", alphabet="ab", epsilon=1)
    assert done.persons is None and done.notes == ()


def test_who_pays_is_said_to_the_holder_only(tmp_path):
    source, out, ledger = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "l.db"
    source.write_text("id,rider,s\n1,ann,a b\n2,bob,b\n3,ann,a\n")
    grant_budget(ledger, 50, everyone=True)
    common = {"alphabet": "ab", "ledger": ledger, "sequence": "s"}
    each = privatize_file(source, out, epsilon=1, **common)
    assert (each.persons, each.largest_charge) == (3, "1")
    assert any(
        note.startswith("3 persons for 3 sequences") and "`person` if people recur" in note for note in each.notes
    )
    riders = privatize_file(source, out, epsilon="0.5", person="rider", release_id="r", **common)
    assert (riders.persons, riders.largest_charge) == (2, "1")
    assert [note.partition(",")[0] for note in riders.notes] == ["a person loses epsilon for every sequence of theirs"]
    assert {"persons": 2, "largest_charge": "1"}.items() <= riders.document().items()
    assert not {"persons", "largest_charge"} & set(riders.manifest)
    done = privatize_file(source, out, epsilon="0.5", person="rider", release_id="r", **common)
    assert done.already_done and (done.persons, done.largest_charge) == (None, None)
    free = privatize_file(source, out, epsilon=1, alphabet="ab", sequence="s", person="rider")
    assert "no one is charged: `person` says who pays, and there is no `ledger`" in free.notes


def test_a_release_that_was_killed_says_who_had_paid(tmp_path, monkeypatch):
    source, out, ledger = tmp_path / "in.csv", tmp_path / "out.csv", tmp_path / "l.db"
    source.write_text("id,rider,s\n1,ann,a b\n2,bob,b\n3,ann,a\n")
    grant_budget(ledger, 50, everyone=True)

    def run():
        return privatize_file(source, out, alphabet="ab", sequence="s", epsilon="0.5", person="rider", ledger=ledger)

    with monkeypatch.context() as killed:
        killed.setattr(LocalJob, "publish", lambda _job: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run()
    gone_on = run()
    assert (gone_on.persons, gone_on.largest_charge) == (2, "1") and ledger_status(ledger).most_spent == "1"
