"""Tables in memory wherever commands take files: counted, learned from, estimated, drawn, compared."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import symveil as sv
from symveil.errors import FileError, LedgerError, ParameterError, WordError

WORDS = ["a b a", "b", "a c", "a b a"] * 100
COLUMNS = {"trip_id": list(range(400)), "rider": [f"r{n % 40}" for n in range(400)], "links": WORDS}
VISITS = Counter(symbol for word in WORDS for symbol in word.split())
MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]
CHAIN = sv.MarkovChain.from_transitions([("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "a", 1), ("c", "a", 1)])
every_library = pytest.mark.parametrize("make", MAKERS)


@every_library
def test_a_table_is_counted_as_its_file_is(make, tmp_path: Path) -> None:
    """With hardly any noise: what is left are the true counts, of all persons."""
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "in.csv", index=False)
    for source in (make(COLUMNS), tmp_path / "in.csv"):
        table = sv.count(
            source, "visits", epsilon=10**6, alphabet="abc", bound=1000, person="rider", sequence="links"
        ).to_pandas()
        assert dict(zip(table["symbol"], table["count"].round(), strict=True)) == VISITS


@every_library
def test_a_table_is_counted_into_a_file_and_charged_once(make, tmp_path: Path) -> None:
    ledger, out = tmp_path / "l.db", tmp_path / "out.csv"
    sv.grant_budget(ledger, 3, everyone=True)
    asked = {"epsilon": 1, "alphabet": "abc", "bound": 8, "person": "rider", "sequence": "links", "ledger": ledger}
    made = sv.count_file(make(COLUMNS), "visits", **asked, out=out, release_id="one")
    assert made.manifest["charged"] == "1" and sv.person_status(ledger, "r1").spent == "1"
    again = sv.count_file(make(COLUMNS), "visits", **asked, out=out, release_id="one")
    assert again.already_done and sv.person_status(ledger, "r1").spent == "1"
    assert sv.check_manifest(made.manifest_file).holds
    with pytest.raises(LedgerError, match="second time"):
        sv.count_file(make(COLUMNS), "visits", **asked, out=out)


def test_another_table_under_the_same_name_is_refused_while_it_is_pending(tmp_path: Path, monkeypatch) -> None:
    """A run that ends after the charge goes on with the same table, and not with another."""
    ledger, out = tmp_path / "l.db", tmp_path / "out.csv"
    sv.grant_budget(ledger, 3, everyone=True)
    asked = {"epsilon": 1, "alphabet": "abc", "bound": 8, "person": "rider", "sequence": "links", "ledger": ledger}

    def stop(self) -> None:
        raise KeyboardInterrupt

    from symveil.release.central_job import CentralJob

    with monkeypatch.context() as patch:
        patch.setattr(CentralJob, "publish", stop)
        with pytest.raises(KeyboardInterrupt):
            sv.count_file(pd.DataFrame(COLUMNS), "visits", **asked, out=out, release_id="one")
    other = pd.DataFrame(COLUMNS | {"links": ["b", *WORDS[1:]]})
    with pytest.raises(LedgerError, match="another input"):
        sv.count_file(other, "visits", **asked, out=out, release_id="one")
    sv.count_file(pd.DataFrame(COLUMNS), "visits", **asked, out=out, release_id="one")
    assert sv.person_status(ledger, "r1").spent == "1"


@every_library
def test_a_city_is_learned_from_a_table_and_drawn_into_one(make, tmp_path: Path) -> None:
    learned = sv.learn(
        make(COLUMNS),
        tmp_path / "model.json",
        epsilon=1000,
        lengths=(1, 3),
        model=CHAIN,
        person="rider",
        sequence="links",
    )
    drawn = sv.synthesize(learned, count=200)
    assert drawn.out is None and drawn.document()["out"] is None and drawn.document()["released"] == 200
    frame = drawn.to_pandas()
    assert frame["id"].tolist() == list(range(1, 201))
    moves = {(one, other) for one, other, _ in CHAIN.transitions}
    assert all(moves.issuperset(pairwise(word)) for word in frame["sequence"])
    assert frame.attrs["symveil"]["release"] == "learn"
    assert pl.DataFrame(drawn).shape == pa.table(drawn).shape == (200, 2)
    same = sv.compare(make(COLUMNS), drawn, sequence="links")
    assert set(same.metrics) >= {"visits_jsd", "length_jsd"}
    assert not list(tmp_path.glob("*.csv"))
    written = sv.synthesize(tmp_path / "model.json", tmp_path / "words.csv", count=5)
    assert len(written.words) == 5 == len((tmp_path / "words.csv").read_text().splitlines()) - 1


def test_a_private_table_of_pandas_answers_by_itself() -> None:
    private = sv.privatize(pd.DataFrame(COLUMNS), alphabet="abc", epsilon=40, sequence="links")
    answer = sv.estimate(private, "visits")
    assert {row["symbols"][0]: round(row["estimate"]) for row in answer.document()["rows"]} == VISITS
    assert any("table is taken to be the release" in each for each in answer.assumptions)
    clustered = sv.privatize(pd.DataFrame(COLUMNS), alphabet="abc", epsilon=4, sequence="links", keep=["rider"])
    assert len(sv.estimate(clustered, "visits", cluster="rider", target="population").to_pandas()) == 3


@every_library
def test_a_private_file_that_was_read_into_a_table_answers_with_its_manifest(make, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    pd.DataFrame(COLUMNS).to_csv(source, index=False)
    release = sv.privatize_file(source, tmp_path / "out.csv", alphabet="abc", epsilon=3, sequence="links")
    table = make(pd.read_csv(release.out).to_dict("list"))
    one, other = (sv.estimate(each, "ngrams:2", manifest=release.manifest_file) for each in (table, release.out))
    assert one.table.select(["symbol_1", "symbol_2", "estimate"]) == other.table.select(
        ["symbol_1", "symbol_2", "estimate"]
    )
    with pytest.raises(ParameterError, match="manifest: expected the manifest of a private table"):
        sv.estimate(table, "visits")


def test_tables_on_a_model_need_it(tmp_path: Path) -> None:
    private = sv.privatize(pd.DataFrame(COLUMNS), model=CHAIN, epsilon=60, adjacency=1, sequence="links")
    answer = sv.estimate(private, "visits", model=CHAIN)
    assert {row["symbols"][0]: round(row["estimate"]) for row in answer.document()["rows"]} == VISITS
    sv.save_model(CHAIN, tmp_path / "roads.json")
    assert sv.estimate(private, "lengths", model=tmp_path / "roads.json").row(0)["estimate"] == 200
    with pytest.raises(ParameterError, match="model: expected the model, or its file, which a table does not hold"):
        sv.estimate(private, "visits")
    other = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1), ("c", "a", 1)])
    with pytest.raises(FileError, match="model: expected the model that the manifest tells, found another"):
        sv.estimate(private, "visits", model=other)


def test_a_table_that_is_not_the_release_is_refused() -> None:
    private = sv.privatize(pd.DataFrame(COLUMNS), alphabet="abc", epsilon=4, sequence="links")
    with pytest.raises(FileError, match="expected the number of sequences in the file, found another one"):
        sv.estimate(private[private["trip_id"] > 7], "visits")
    changed = private.copy()
    changed.loc[0, "links"] = "x y z"
    with pytest.raises(FileError, match="symbols of the alphabet only"):
        sv.estimate(changed, "visits")
    private.attrs["symveil"] = {"format": "symveil-manifest/2"}
    with pytest.raises(FileError, match=r"table.attrs\['symveil'\]: \$.version: expected what every manifest has"):
        sv.estimate(private, "visits")


@every_library
def test_what_a_table_cannot_have_is_refused(make, tmp_path: Path) -> None:
    frame = make(COLUMNS)
    asked = {"epsilon": 1, "alphabet": "abc", "sequence": "links"}
    with pytest.raises(ParameterError, match="delimiter: expected a CSV file with it, found a table in memory"):
        sv.count(frame, "visits", **asked, delimiter=";")
    with pytest.raises(ParameterError, match="engine: expected local with a table in memory, found spark"):
        sv.count_file(frame, "visits", **asked, out=tmp_path / "out.csv", engine="spark")
    with pytest.raises(TypeError, match=r"learn\(\) got an unexpected keyword argument 'colour'"):
        sv.learn(frame, tmp_path / "m.json", epsilon=1, lengths=(1, 3), alphabet="abc", colour="red")
    with pytest.raises((WordError, FileError)):
        sv.compare(make({"id": [1], "links": [""]}), frame)
