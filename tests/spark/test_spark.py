"""The Spark engine for real, on local[2]: retries, two actions, budgets, tables, and the local engine's words."""

from __future__ import annotations

import pickle
import sys
import traceback
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from file_mechanism import file_mechanism

sys.path.insert(0, str(Path(__file__).parents[1]))
import services
import symveil as sv
from symveil.errors import FileError, InternalError, LedgerError, OverBudgetError, ParameterError
from symveil.languages.language import AnyLength
from symveil.mechanisms.mechanism import Mechanism
from symveil.numbers.once import counted_searches, no_searches
from symveil.release.batch import ReleasePlan, privatize_batch
from symveil.tasks.budgets import grant_budget, ledger_status, person_status
from symveil.tasks.check import check_manifest

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore"),  # Spark's and py4j's own
    pytest.mark.skipif(services.java() is None, reason="no Java 17, and installing it was not allowed"),
]

ROWS = 600


@pytest.fixture
def source(tmp_path) -> Path:
    words = [list("abcab"[: number % 6]) for number in range(ROWS)]
    table = pa.table(
        {
            "uid": [f"u{number}" for number in range(ROWS)],
            "trip": pa.array(words, type=pa.list_(pa.string())),
            "who": [f"p{number % 50}" for number in range(ROWS)],
            "city": ["x"] * ROWS,
        }
    )
    (tmp_path / "in").mkdir()
    for part in range(2):
        pq.write_table(table.slice(part * ROWS // 2, ROWS // 2), tmp_path / "in" / f"part-{part}.parquet")
    return tmp_path / "in"


def plan() -> ReleasePlan:
    family = file_mechanism(alphabet="abc", epsilon=Fraction(1, 2))
    return ReleasePlan(mechanism=family, release_id="r", release_key=bytes(32), sequence="trip", identifier="uid")


def words(rows) -> dict[str, tuple[str, ...]]:
    return {row["uid"]: tuple(row["trip"]) for row in rows}


def test_a_retried_task_and_a_second_action_release_the_same_words(spark, source, tmp_path):
    from symveil.release.spark_session import release_frame

    expected = words(
        row for file in sorted(source.glob("*.parquet"))
        for batch in pq.read_table(file).to_batches() for row in privatize_batch(batch, plan()).to_pylist()
    )  # fmt: skip
    frame = spark.read.parquet(str(source)).select("uid", "trip")
    private = release_frame(frame, plan())
    first, second = words(private.collect()), words(private.repartition(3).collect())  # two actions on one plan
    assert first == second == expected
    marks = tmp_path / "marks"
    marks.mkdir()

    def failing_once(batches):
        """The first attempt of every task fails after it has drawn: Spark runs it again."""
        from pyspark import TaskContext

        context = TaskContext.get()
        yield from batches
        (marks / f"{context.partitionId()}-{context.attemptNumber()}").touch()
        if context.attemptNumber() == 0:
            raise RuntimeError("a worker is lost")

    retried = private.mapInArrow(failing_once, private.schema)
    assert words(retried.collect()) == expected
    assert {mark.name.split("-")[1] for mark in marks.iterdir()} == {"0", "1"}


@pytest.fixture
def ledger(tmp_path):
    """PostgreSQL, as on a cluster; SQLite on the driver where there is none."""
    if services.postgres_programs() is None:
        yield str(tmp_path / "l.db")
        return
    with services.postgres() as url:
        yield url


def test_the_whole_job_with_a_ledger(spark, source, tmp_path, ledger):
    out = tmp_path / "out"
    options = {"alphabet": "abc", "epsilon": 1, "engine": "spark", "identifier": "uid", "sequence": "trip"}
    options |= {"person": "who", "ledger": ledger, "release_id": "r", "keep": ["city"]}
    with pytest.raises(OverBudgetError):
        sv.privatize_file(source, out, **options)
    grant_budget(ledger, 12, everyone=True)
    told = sv.privatize_file(source, out, **options)
    released = pq.read_table(out)
    assert sorted(released.column_names) == ["city", "trip", "uid"] and released.num_rows == ROWS
    assert person_status(ledger, "p7").left == "0"
    assert check_manifest(told.manifest_file).holds
    again = sv.privatize_file(source, out, **options)
    assert again.already_done and ledger_status(ledger).releases == 1
    there = sorted(path.name for path in tmp_path.iterdir() if path.name != "l.db")
    assert there == ["in", "out", "out.manifest.json"]
    grant_budget(ledger, 12, persons=["p7"])
    fewer = sv.privatize_file(
        source,
        tmp_path / "fewer",
        **{**options, "release_id": "s", "over_budget": "drop", "on_unknown": "drop-sequence"},
    )
    assert fewer.manifest["counts"]["dropped_over_budget"] == ROWS - 12
    assert set(pq.read_table(fewer.out)["uid"].to_pylist()) == {f"u{number}" for number in range(7, ROWS, 50)}


def test_tables_and_events(spark, source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spark.read.parquet(str(source)).write.saveAsTable("trips_in")
    options = {"alphabet": "abc", "epsilon": 1000, "engine": "spark", "identifier": "uid", "sequence": "trip"}
    told = sv.privatize_file("table:trips_in", "table:trips_out", **options)
    assert words(spark.table("trips_out").collect()) == words(spark.read.parquet(str(source)).collect())
    assert told.manifest["output"]["format"] == "table"
    events = pa.table({"c": ["x", "y", "x", "x"], "t": [3, 1, 1, 2], "s": ["c", "b", "a", "b"]})
    pq.write_table(events, tmp_path / "log.parquet")
    long = {"alphabet": "abc", "epsilon": 1000, "engine": "spark", "case": "c", "order": "t", "symbol": "s"}
    told = sv.privatize_file(tmp_path / "log.parquet", tmp_path / "private", **long)
    rows = sorted(pq.read_table(told.out).to_pylist(), key=lambda row: (row["c"], row["t"]))
    assert [(row["c"], row["t"], row["s"]) for row in rows] == [
        ("x", 1, "a"),
        ("x", 2, "b"),
        ("x", 3, "c"),
        ("y", 1, "b"),
    ]
    assert check_manifest(told.manifest_file).holds


@pytest.mark.parametrize(("separator", "rows"), [(None, ["a  b a", "", "b c"]), ("|", ["a|b|a", "", "b|c"])])
def test_a_solved_law_travels_to_the_tasks(spark, tmp_path, separator, rows):
    """The driver finds the law of every length that occurs; tasks, which get the plan as a copy, solve nothing."""
    from symveil.formats.sequences.columns import ColumnOptions
    from symveil.release.spark_job import SparkJob

    chain = sv.MarkovChain.from_transitions([(one, two, "1/3") for one in "abc" for two in "abc"])
    pq.write_table(pa.table({"uid": ["x", "y", "z"], "trip": rows}), tmp_path / "in.parquet")
    columns = ColumnOptions(sequence="trip", identifier="uid", separator=separator)
    family = file_mechanism(model=chain, epsilon=1, mechanism="optimal", adjacency=1)
    job = SparkJob(tmp_path / "in.parquet", tmp_path / "out", columns, family, on_unknown="error", master=None)
    job.look_at_lengths(job.plan("r", bytes(32)))
    assert job.lengths is not None
    assert job.lengths.tolist() == [0, 2, 3]
    with counted_searches() as searches:
        job.calibrate(lambda lengths: lengths)
    assert len(searches) >= 1
    copy = pickle.loads(pickle.dumps(job.plan("r", bytes(32))))  # noqa: S301 - our own
    for batch in (
        pa.record_batch({"uid": ["x"], "trip": [list("aba")]}),
        pa.record_batch({"uid": ["z"], "trip": [["b"] * 2]}),
    ):
        with no_searches():
            assert privatize_batch(batch, copy).equals(privatize_batch(batch, job.plan("r", bytes(32))))


def test_a_thin_release_is_refused_before_anybody_is_charged(spark, tmp_path):
    ring = sv.MarkovChain.from_transitions(
        [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "e", 1), ("e", "a", 1)], initial="e"
    )
    pq.write_table(pa.table({"uid": ["x", "y"], "trip": [list("abdeabde"), list("acde")]}), tmp_path / "in.parquet")
    named = {"model": ring, "epsilon": 1, "adjacency": 1, "sequence": "trip", "identifier": "uid", "engine": "spark"}
    ledger = tmp_path / "budgets.db"
    grant_budget(ledger, 5, everyone=True)
    for more in ({}, {"ledger": ledger}):
        with pytest.raises(ParameterError, match="^adjacency: expected a b within which at least half"):
            sv.privatize_file(tmp_path / "in.parquet", tmp_path / "out", **named, **more)
    assert not (tmp_path / "out").exists() and ledger_status(ledger).persons == 0
    done = sv.privatize_file(tmp_path / "in.parquet", tmp_path / "out", **named, ledger=ledger, thin=True)
    assert done.manifest["thin"] is True and ledger_status(ledger).persons == 2


def test_what_is_refused(spark, source, tmp_path):
    common = {"alphabet": "abc", "epsilon": 1, "engine": "spark"}
    with pytest.raises(FileError, match="column of ids"):
        sv.privatize_file(source, tmp_path / "o", **common, sequence="trip")
    with pytest.raises(FileError, match="Spark can read"):
        sv.privatize_file(tmp_path / "nothing", tmp_path / "o", **common)
    with pytest.raises(FileError, match="each id once"):
        sv.privatize_file(source, tmp_path / "o", **common, sequence="trip", identifier="city")
    with pytest.raises(ParameterError, match="position 3 of . is not in it") as caught:
        sv.privatize_file(source, tmp_path / "o", **{**common, "alphabet": "ab"}, sequence="trip", identifier="uid")
    assert "\n" not in str(caught.value)
    events = pa.table({"c": ["x"], "t": [1], "s": ["a"]})
    pq.write_table(events, tmp_path / "log.parquet")
    with pytest.raises(ParameterError, match="metric: expected one sequence per row"):
        long = {"case": "c", "order": "t", "symbol": "s", "metric": "levenshtein"}
        sv.privatize_file(tmp_path / "log.parquet", tmp_path / "o", **common, **long)
    (tmp_path / "there").mkdir()
    with pytest.raises(FileError, match="not there yet"):
        sv.privatize_file(source, tmp_path / "there", **common, sequence="trip", identifier="uid")
    assert not (tmp_path / "o").exists()
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(".aside")]


def test_nobody_is_charged_for_rows_that_cannot_be_drawn(spark, tmp_path):
    """What the local engine refuses is refused here, and before the charge: two persons in one case would share one
    charge, text sorts "10" before "9", and a row without an id stops the drawing.
    """
    ledger = tmp_path / "l.db"
    grant_budget(ledger, 10, everyone=True)
    events = {"c": ["x", "x", "y"], "s": ["a", "b", "a"], "o": [1, 2, 1], "p": ["P", "P", "P"]}
    long = {"case": "c", "symbol": "s", "order": "o", "person": "p"}
    wide = {"sequence": "s", "identifier": "c", "person": "p"}
    for changed, columns, message in (
        ({"p": ["P", "Q", "P"]}, long, "one person in every case"),
        ({"p": ["P", None, "P"]}, long, "one person in every case"),
        ({"o": ["9", "10", "1"]}, long, "numbers, dates or timestamps in the order column"),
        ({"o": [1, None, 1]}, long, "a place in the order"),
        ({"c": ["x", "x", None]}, long, "an id in every row"),
        ({"c": ["x", "", "y"]}, wide, "an id in every row"),
        ({"c": [{"n": 1}, {"n": 2}, {"n": 3}]}, wide, "text, numbers or dates as ids"),
    ):
        pq.write_table(pa.table({**events, **changed}), tmp_path / "in.parquet")
        with pytest.raises(FileError, match=message):
            sv.privatize_file(
                tmp_path / "in.parquet", tmp_path / "o", alphabet="ab", epsilon=1, engine="spark", ledger=ledger,
                **columns,
            )  # fmt: skip
    assert ledger_status(ledger).releases == 0


def test_names_that_are_syntax_elsewhere(spark, tmp_path):
    table = pa.table({"a.b`c": [1, 2], "count": [["a"], ["b", "a"]]})
    pq.write_table(table, tmp_path / "in.parquet")
    sv.privatize_file(
        tmp_path / "in.parquet", tmp_path / "o", alphabet="ab", epsilon=300, engine="spark", sequence="count",
        identifier="a.b`c",
    )  # fmt: skip
    assert pq.read_table(tmp_path / "o").sort_by("a.b`c").to_pylist() == table.to_pylist()


SECRET = "MARKER-of-a-secret-word"


def faulty() -> Mechanism:
    """A mechanism with a mistake that quotes a word; its class travels to the tasks by value."""

    class Faulty(AnyLength):
        def first_refused(self, codes, lengths):
            try:
                int(SECRET)
            except ValueError as error:  # as libraries do: both messages are printed
                raise RuntimeError(f"cannot read {SECRET}") from error

    return sv.select_mechanism(Faulty(alphabet=sv.Alphabet.from_symbols("abc")), epsilon=1, adjacency=1)


def test_a_mistake_in_a_task_tells_no_value(spark, tmp_path, monkeypatch):
    """In 0.2.0 the task's traceback, with the value, went through the JVM into the logs of executors and driver."""
    from symveil.release.spark_session import release_frame

    pq.write_table(pa.table({"uid": ["u"], "trip": [["a"]]}), tmp_path / "in.parquet")
    frame = spark.read.parquet(str(tmp_path / "in.parquet"))
    with pytest.raises(Exception, match="symveil.errors.InternalError: internal error: RuntimeError at") as raised:
        release_frame(frame, ReleasePlan(**{**vars(plan()), "mechanism": faulty()})).collect()
    assert SECRET not in "".join(traceback.format_exception(raised.value)) + str(raised.value)
    monkeypatch.setattr("symveil.release.spec.choose_mechanism", lambda *_: faulty())
    names = {"identifier": "uid", "sequence": "trip"}
    with pytest.raises(InternalError, match="^internal error: RuntimeError at symveil") as told:
        sv.privatize_file(tmp_path / "in.parquet", tmp_path / "o", alphabet="abc", epsilon=1, engine="spark", **names)
    assert SECRET not in "".join(traceback.format_exception(told.value))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.parquet"]


def test_a_run_that_was_killed_before_the_rename_is_finished(spark, source, tmp_path, monkeypatch):
    """The files of a folder are cut and named anew by every run; its rows are the same words, which is what counts."""
    from symveil.release import spark_job

    ledger, out = tmp_path / "l.db", tmp_path / "out"
    grant_budget(ledger, 1, everyone=True)
    options = {"alphabet": "abc", "epsilon": 1, "engine": "spark", "identifier": "uid", "sequence": "trip"}
    options |= {"ledger": ledger, "release_id": "r"}

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(spark_job.FolderOutput, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            sv.privatize_file(source, out, **options)
    # other words, which nothing but their digest tells: lengths are not collected before something is drawn here
    with monkeypatch.context() as patch:
        patch.setattr(spark_job, "rows_digest", lambda *_: "rows:others")
        with pytest.raises(LedgerError, match="expected the output whose digest was recorded"):
            sv.privatize_file(source, out, **options)
        assert not out.exists()
    assert not sv.privatize_file(source, out, **options).already_done
    assert pq.read_table(out).num_rows == ROWS and ledger_status(ledger).most_spent == "1"
