"""A release that is finished, run again: the same input is done already, an input with other records is refused."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from symveil.errors import LedgerError, ParameterError
from symveil.workflows.budgets import grant_budget, ledger_status
from symveil.workflows.privatize_file import privatize_file

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
