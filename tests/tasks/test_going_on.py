"""Coming back to a pending release with something else than before: other words never go out under one charge."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from file_mechanism import file_mechanism
from symveil.errors import FileError, LedgerError
from symveil.ledger.lifecycle import abandon, find_release
from symveil.ledger.store import Database
from symveil.mechanisms.by_length import of_length
from symveil.mechanisms.exponential import Exponential
from symveil.models.markov_chain import MarkovChain
from symveil.release import protocol
from symveil.release import protocol as settings
from symveil.storage.files import TemporaryOutput, temporary_path
from symveil.tasks.budgets import abandon_release, grant_budget, ledger_history, ledger_status
from symveil.tasks.privatize_file import privatize_file

WORDS = {f"p{number}": list("abcabc"[: number % 7]) for number in range(30)}
OPTIONS = {"alphabet": "abc", "epsilon": 1}
CHAIN = MarkovChain.from_transitions(
    [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)]
)
KILLED_AT = {
    "while writing": (TemporaryOutput, "write"),
    "before the rename": (TemporaryOutput, "publish"),
    "after the rename": (protocol, "write_manifest"),
}


class Killed(BaseException):
    """Stands for kill −9: nothing of ours may catch it."""


def write_csv(file) -> None:
    file.write_text("id,s\n" + "".join(f"{name},{' '.join(word)}\n" for name, word in WORDS.items()))


def write_jsonl(file) -> None:
    file.write_text("".join(json.dumps({"id": name, "s": word}) + "\n" for name, word in WORDS.items()))


def write_parquet(file) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.array(list(WORDS.values()), type=pa.list_(pa.string()))
    pq.write_table(pa.table({"id": list(WORDS), "s": words}), file)


def write_gzipped(file) -> None:
    write_csv(file)
    file.write_bytes(gzip.compress(file.read_bytes()))


def write_xes(file) -> None:
    time = "<date key='time:timestamp' value='2020-01-01T0{}:00:00Z'/>"
    event = f"<event><string key='concept:name' value='{{}}'/>{time}</event>"
    traces = (
        f"<trace><string key='concept:name' value='{name}'/>"
        + "".join(event.format(symbol, place) for place, symbol in enumerate(word))
        + "</trace>"
        for name, word in WORDS.items()
    )
    file.write_text(f"<log>{''.join(traces)}</log>")


FORMATS = {
    ".csv": write_csv, ".csv.gz": write_gzipped, ".jsonl": write_jsonl, ".parquet": write_parquet, ".xes": write_xes
}  # fmt: skip


class Place:
    """An input, where its output goes, and a ledger."""

    def __init__(self, folder, kind: str = ".csv") -> None:
        self.source, self.out, self.ledger = folder / f"in{kind}", folder / f"out{kind}", folder / "l.db"
        FORMATS[kind](self.source)
        grant_budget(self.ledger, 10, everyone=True)

    def run(self, **options):
        return privatize_file(self.source, self.out, ledger=self.ledger, **{**OPTIONS, **options})

    def killed(self, monkeypatch, point: str, **options) -> None:
        where, name = KILLED_AT[point]

        def dying(*_arguments, **_options):
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(where, name, dying)
            patch.setattr(TemporaryOutput, "__exit__", lambda file, *_: os.close(file._number))
            with pytest.raises(Killed):
                self.run(**options)

    def spent(self) -> str:
        return ledger_status(self.ledger).most_spent


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


# --- another version, other rates --------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("point", ["while writing", "before the rename"])
def test_another_version_does_not_go_on(place, monkeypatch, point, named):
    """0.2.0 went on, drew other words with the same key, and overwrote the digest of those it may have published."""
    options = {"release_id": "october"} if named else {}
    place.killed(monkeypatch, point, **options)
    monkeypatch.setattr("symveil.tasks.privatize_file.__version__", "9.9")
    with pytest.raises(
        LedgerError, match=r"another version \(.* then, 9.9 now\).*ledger abandon --release-id"
    ) as caught:
        place.run(**options)
    assert "\n" not in str(caught.value)
    assert not place.out.exists() and place.spent() == "1" and ledger_status(place.ledger).pending == 1
    # it can still be finished by what began it
    monkeypatch.undo()
    assert not place.run(**options).already_done
    assert place.spent() == "1" and ledger_status(place.ledger).pending == 0


@pytest.mark.parametrize("named", [True, False])
def test_an_output_in_its_place_is_finished_by_any_version(place, monkeypatch, named):
    options = {"release_id": "october"} if named else {}
    place.killed(monkeypatch, "after the rename", **options)
    before = place.out.read_bytes()
    monkeypatch.setattr("symveil.tasks.privatize_file.__version__", "9.9")
    assert place.run(**options).already_done  # nothing has to be drawn
    assert place.out.read_bytes() == before and place.spent() == "1" and ledger_status(place.ledger).pending == 0
    if named:
        assert place.run(**options).already_done  # done is done, also for later versions


def test_other_rates_do_not_go_on(place, monkeypatch):
    """As when a certificate was found by another search, or taken from a cache that is gone."""
    options = {"alphabet": None, "model": CHAIN, "adjacency": 1, "release_id": "r"}
    place.source.write_text("id,s\np1,a b a\np2,b c\np3,a\n")
    place.killed(monkeypatch, "while writing", **options)
    with monkeypatch.context() as patch:
        patch.setattr(Exponential, "rate", property(lambda mechanism: mechanism.epsilon * Fraction(2, 5)))
        with pytest.raises(LedgerError, match="release r: .*found other rates of the mechanism; .*ledger abandon"):
            place.run(**options)
        assert not place.out.exists()
    assert not place.run(**options).already_done


def test_other_words_are_not_published_even_where_nothing_else_tells(place, monkeypatch):
    """With --on-unknown drop-sequence lengths, and with them rates, are known only when something is drawn."""
    options = {"on_unknown": "drop-sequence", "release_id": "r"}
    place.killed(monkeypatch, "before the rename", **options)
    database = Database(str(place.ledger))
    recorded = find_release(database, "r").digest
    assert recorded is not None
    with monkeypatch.context() as patch:
        patch.setattr(Exponential, "rate", property(lambda _: Fraction(1, 100)))
        with pytest.raises(LedgerError, match="expected the output whose digest was recorded .*ledger abandon"):
            place.run(**options)
        assert find_release(database, "r").digest == recorded and not place.out.exists()
        assert not [path for path in place.out.parent.iterdir() if path.name.endswith(".aside")]
    place.run(**options)
    assert find_release(database, "r").digest == recorded
    database.close()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("metric", ["hamming", "levenshtein"])
def test_every_format_is_written_again_to_the_byte(tmp_path, monkeypatch, kind, metric):
    """Else a run that was killed before the rename could never be finished."""
    place = Place(tmp_path, kind)
    place.killed(monkeypatch, "before the rename", metric=metric, release_id="r")
    database = Database(str(place.ledger))
    recorded = find_release(database, "r")
    database.close()
    finished = place.run(metric=metric, release_id="r")
    assert finished.manifest == json.loads(recorded.manifest)
    assert finished.manifest["digests"]["output"] == recorded.digest and place.spent() == "1"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"epsilon": 2}, r"another epsilon \(1 then, 2 now\)"),
        ({"alphabet": "abcd"}, "another alphabet"),
        ({"adjacency": 2}, r"another adjacency \(1 then, 2 now\)"),
        ({"mechanism": "permute-and-flip"}, r"another mechanism \(auto then, permute-and-flip now\)"),
        ({"calibration": "classic"}, "another calibration"),
        ({"metric": "levenshtein"}, "another mechanism"),
        ({"on_unknown": "drop-sequence"}, "another on_unknown"),
        ({"over_budget": "drop"}, "another over_budget"),
        ({"identifier": "id", "sequence": "s"}, "another columns"),
        ({"alphabet": None, "model": CHAIN, "adjacency": 1}, "another model"),
    ],
)
def test_a_refusal_says_what_is_other(place, monkeypatch, changed, told):
    place.killed(monkeypatch, "while writing", release_id="r")
    with pytest.raises(LedgerError, match=f"release r: expected the same input and parameters.*{told}") as caught:
        place.run(release_id="r", **changed)
    assert "\n" not in str(caught.value) and "ledger abandon --release-id r" in str(caught.value)
    place.source.write_text(place.source.read_text() + "p99,a b\n")
    with pytest.raises(LedgerError, match="found another input; "):
        place.run(release_id="r")
    assert place.spent() == "1"


def test_of_a_finished_release_it_says_what_is_other(place):
    place.run(release_id="r")
    with pytest.raises(LedgerError, match=r"found another epsilon \(1 then, 3 now\); it is done"):
        place.run(release_id="r", epsilon=3)


def test_without_an_id_other_parameters_are_another_release(place, monkeypatch):
    place.killed(monkeypatch, "while writing")
    place.run(epsilon=2)
    assert place.spent() == "3" and ledger_status(place.ledger).pending == 1


# --- everything that decides is in the settings ------------------------------------------------


def families():
    free = {"alphabet": "abc", "epsilon": Fraction(2), "adjacency": 2}
    chain = {"model": CHAIN, "epsilon": Fraction(2), "adjacency": 1}
    for mechanism in ("exponential", "permute-and-flip", "staircase"):
        yield mechanism, file_mechanism(mechanism=mechanism, **free)
        yield f"{mechanism} on a chain", file_mechanism(mechanism=mechanism, **chain)
    yield "online", file_mechanism(mechanism="online", **chain)
    yield "edit", file_mechanism(metric="levenshtein", mechanism="edit", alphabet="abc", epsilon=Fraction(6))
    truncated = {"metric": "levenshtein", "mechanism": "truncated-levenshtein", "max_length": 4}
    yield "truncated", file_mechanism(**truncated, alphabet="abc", epsilon=Fraction(6))
    yield "truncated on a chain", file_mechanism(**truncated, model=CHAIN, epsilon=Fraction(6), adjacency=1)


@pytest.mark.parametrize(
    ("name", "family"), list(families()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_laws_that_words_are_drawn_by_are_in_the_settings(name, family):
    """The law of every length decides, and nothing else does: another rate is another release, another proof is not."""
    decided = settings.decisions(family, np.array([3]))
    own = of_length(family, 3)
    assert decided.mechanism == own.name and settings.decisions(family, np.array([3])) == decided
    unknown = settings.decisions(family, None)
    assert unknown == (decided if family.metric == "levenshtein" else settings.Decisions(family.name, None))
    assert settings.decisions(own, np.array([3])) == decided
    other = type(own).from_law(_other_law(own.law))
    assert settings.decisions(other, np.array([3])) != decided
    if own.law.certificate is not None:
        proved_otherwise = replace(own.law, certificate=replace(own.law.certificate, proof="another"))
        assert settings.decisions(type(own).from_law(proved_otherwise), np.array([3])) == decided


def _other_law(law):
    """The law at another rate; an edit channel has four numbers in the place of one."""
    if law.channel is not None:
        return replace(law, channel=replace(law.channel, ratio=law.channel.ratio / 2))
    return replace(law, rate=law.rate / 2)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"asked": 1, "made_by": 2, "worked_out": 3}'])
def test_settings_that_nobody_wrote(place, monkeypatch, text):
    place.killed(monkeypatch, "while writing", release_id="r")
    with sqlite3.connect(place.ledger) as connection:
        connection.execute("UPDATE symveil_releases SET settings = ?", (text,))
    connection.close()
    with pytest.raises(LedgerError, match="settings of a release as symveil writes them"):
        place.run(release_id="r")


def test_settings_that_are_kept_are_read_again():
    one = settings.Settings(options={"epsilon": "1", "offset": Fraction(1)}, made_by={"version": "1"}, laws="x")
    again = settings.Settings.read(one.text())
    assert again.text() == one.text() and one.differences(again) == [] and again.options_text() == one.options_text()
    other = settings.Settings(options={"epsilon": "2", "offset": Fraction(1)}, made_by={}, laws=None)
    assert other.differences(one) == [
        "another epsilon (1 then, 2 now)", "another version (1 then, not given now)", "other rates of the mechanism"
    ]  # fmt: skip


# --- abandoning --------------------------------------------------------------------------------


def test_an_abandoned_release_is_charged_and_never_drawn(place, monkeypatch):
    place.killed(monkeypatch, "while writing", release_id="r")
    database = Database(str(place.ledger))
    key = find_release(database, "r").key
    assert temporary_path(place.out, "r").exists()
    closed = abandon_release(place.ledger, "r")
    assert not temporary_path(place.out, "r").exists()
    assert (closed.charge, closed.sequences, closed.persons, closed.output_recorded) == ("1", 30, 30, False)
    assert not closed.already_abandoned and abandon_release(place.ledger, "r").already_abandoned
    kept = find_release(database, "r")
    assert (kept.state, kept.key, kept.stamp) == ("abandoned", None, None)
    database.close()
    assert key not in place.ledger.read_bytes()
    assert place.spent() == "1" and ledger_status(place.ledger).pending == 0
    assert [entry.state for entry in ledger_history(place.ledger) if entry.kind == "release"] == ["abandoned"]
    with pytest.raises(LedgerError, match="release r: .*found it abandoned; .*another `release_id`"):
        place.run(release_id="r")
    place.run(release_id="s")
    assert place.spent() == "2"


def test_without_an_id_an_abandoned_release_is_not_gone_on_with(place, monkeypatch):
    place.killed(monkeypatch, "before the rename")
    pending = [entry.release_id for entry in ledger_history(place.ledger) if entry.state == "pending"]
    assert abandon_release(place.ledger, pending[0]).output_recorded
    finished = place.run()
    assert finished.manifest["release_id"] != pending[0] and place.spent() == "2"


def test_what_cannot_be_abandoned(place):
    place.run(release_id="r")
    with pytest.raises(LedgerError, match="release r: expected a release that is pending, found it done"):
        abandon_release(place.ledger, "r")
    with pytest.raises(LedgerError, match=r"release: expected one that the ledger knows, found 'no\\nne'") as caught:
        abandon_release(place.ledger, "no\nne")
    assert "\n" not in str(caught.value)


def test_a_run_that_is_at_it_is_not_disturbed(place, monkeypatch):
    original, refused = TemporaryOutput.finish, []

    def finish(file):
        with pytest.raises(FileError, match="expected one process that writes this release, found another") as caught:
            abandon_release(place.ledger, "r")
        refused.append(caught.value)
        return original(file)

    monkeypatch.setattr(TemporaryOutput, "finish", finish)
    assert not place.run(release_id="r").already_done and len(refused) == 1
    assert ledger_status(place.ledger).abandoned == 0


def test_a_run_whose_release_is_abandoned_elsewhere_publishes_nothing(place, monkeypatch):
    """On another machine that shares the ledger there is no file to see."""
    original = TemporaryOutput.finish

    def finish(file):
        database = Database(str(place.ledger))
        abandon(database, "r")
        database.close()
        return original(file)

    monkeypatch.setattr(TemporaryOutput, "finish", finish)
    with pytest.raises(LedgerError, match="release r: expected it to be pending, found it finished .* or abandoned"):
        place.run(release_id="r")
    assert not place.out.exists() and place.spent() == "1"
