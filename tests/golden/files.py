"""Settings over files: bytes of private files, manifests, tables, models and reports, and answers read from them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import symveil as sv
from symveil.randomness import NotPrivateSeededBits

from .settings import EXAMPLES, Setting, file_document

TRIPS = {"model": EXAMPLES / "roads.json", "separator": "|", "adjacency": 2}


def settings() -> Iterator[Setting]:
    """About 40 settings, by name."""
    for label, options in [
        ("auto", {}),
        ("exponential", {"mechanism": "exponential"}),
        ("swap", {"mechanism": "exponential", "cost": "swap", "cap": 2}),
        ("staircase", {"mechanism": "staircase"}),
        ("permute-and-flip", {"mechanism": "permute-and-flip"}),
        ("online", {"mechanism": "online"}),
        ("nothing", {"beyond": "nothing"}),
    ]:
        yield in_folder(f"privatize trips {label}", lambda at, o=options: _private_trips(at, "private.csv", **o))
    for suffix in (".jsonl", ".parquet", ".csv.gz"):
        yield in_folder(f"privatize trips to {suffix}", lambda at, s=suffix: _converted(at, s))
    yield in_folder("privatize log", _private_log)
    for statistic in ("visits", "first", "last", "transitions", "od", "lengths", "ngrams:2"):
        yield in_folder(f"estimate {statistic}", lambda at, s=statistic: _estimated(at, s))
        yield in_folder(f"count {statistic}", lambda at, s=statistic: _counted(at, s))
    yield in_folder("count by model", lambda at: _counted(at, "visits", trips=True))
    yield in_folder("learn trips", lambda at: _learned(at, trips=True))
    yield in_folder("learn log", lambda at: _learned(at, trips=False))
    yield in_folder("compare", _compared)
    for example in sorted(EXAMPLES.iterdir()):
        if example.suffix in (".json", ".fsm", ".graphml"):
            yield in_folder(f"model {example.name}", lambda at, e=example: _saved_model(at, e))


def in_folder(name: str, answer: Callable[[Path], object], *, slow: bool = False) -> Setting:
    """A setting whose answer needs an empty folder."""

    def run() -> object:
        with tempfile.TemporaryDirectory() as folder:
            return answer(Path(folder))

    return Setting(name, run, slow=slow)


def _trip_options(**options: object) -> dict[str, object]:
    return {**TRIPS, "epsilon": "3", "release_id": "golden", **options}


def _private_trips(at: Path, name: str, **options: object) -> dict[str, object]:
    sv.privatize_file(EXAMPLES / "trips.csv", at / name, **_trip_options(**options))
    manifest = at / f"{name}.manifest.json"
    return {
        "file": file_document(at / name),
        "manifest": file_document(manifest),
        "check": _checked(manifest, TRIPS["model"]),
    }


def _checked(manifest: Path, model: Path | None = None) -> list[str]:
    report = sv.check_manifest(manifest, model=model)
    return [f"{row['check']}: {row['holds']}" for row in report.document()["checks"]]


def _converted(at: Path, suffix: str) -> dict[str, object]:
    """The trips in another format, and made private there."""
    rows = [line.split(",") for line in (EXAMPLES / "trips.csv").read_text().splitlines()]
    source = at / f"trips{suffix}"
    _write(source, rows)
    sv.privatize_file(source, at / f"private{suffix}", **_trip_options(mechanism="exponential"))
    return {"words": [list(word) for word in sv.read_sequences(at / f"private{suffix}", separator="|")]}


def _write(path: Path, rows: list[list[str]]) -> None:
    import gzip
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq

    header, body = rows[0], rows[1:]
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress("\n".join(map(",".join, rows)).encode()))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in body))
    else:
        pq.write_table(pa.table(dict(zip(header, map(list, zip(*body, strict=True)), strict=True))), path)


def _private_log(at: Path) -> dict[str, object]:
    alphabet = sv.alphabet_of(EXAMPLES / "hospital.xes").symbols
    sv.privatize_file(
        EXAMPLES / "hospital.xes", at / "private.xes", alphabet=alphabet, epsilon="4", release_id="golden"
    )
    return {
        "file": file_document(at / "private.xes"),
        "manifest": file_document(at / "private.xes.manifest.json"),
    }


def _estimated(at: Path, statistic: str) -> object:
    sv.privatize_file(
        EXAMPLES / "hospital_visits.csv",
        at / "private.csv",
        alphabet=sv.alphabet_of(EXAMPLES / "hospital_visits.csv", sequence="steps").symbols,
        sequence="steps",
        epsilon="4",
        release_id="golden",
    )
    return sv.estimate(at / "private.csv", statistic).document()


def _counted(at: Path, statistic: str, *, trips: bool = False) -> dict[str, object]:
    if trips:
        source, reading = (
            "city_trips.csv",
            {"model": EXAMPLES / "roads.json", "separator": "|", "person": "rider", "sequence": "streets"},
        )
    else:
        alphabet = sv.alphabet_of(EXAMPLES / "hospital_visits.csv", sequence="steps").symbols
        source, reading = "hospital_visits.csv", {"alphabet": alphabet, "person": "patient", "sequence": "steps"}
    if statistic == "lengths":
        reading["max_length"] = 12
    sv.count_file(EXAMPLES / source, statistic, epsilon="1", out=at / "table.csv", release_id="golden", **reading)
    return {
        "table": file_document(at / "table.csv"),
        "manifest": file_document(at / "table.csv.manifest.json"),
        "check": _checked(at / "table.csv.manifest.json", reading.get("model")),
    }


def _learned(at: Path, *, trips: bool) -> dict[str, object]:
    columns = (
        sv.ColumnOptions(separator="|", person="rider", sequence="streets")
        if trips
        else sv.ColumnOptions(person="patient", sequence="steps")
    )
    source = EXAMPLES / ("city_trips.csv" if trips else "hospital_visits.csv")
    where = (
        {"model": EXAMPLES / "roads.json"} if trips else {"alphabet": sv.alphabet_of(source, sequence="steps").symbols}
    )
    sv.learn(source, at / "model.json", epsilon="5", lengths=(1, 12), columns=columns, release_id="golden", **where)
    sv.synthesize(at / "model.json", at / "synthetic.csv", count=50, separator="|", bits=NotPrivateSeededBits(3))
    return {"model": file_document(at / "model.json"), "synthetic": file_document(at / "synthetic.csv")}


def _compared(at: Path) -> object:
    _private_trips(at, "private.csv", mechanism="exponential")
    return sv.compare(EXAMPLES / "trips.csv", at / "private.csv", separator="|").document()


def _saved_model(at: Path, example: Path) -> dict[str, object]:
    model = sv.load_model(example)
    sv.save_model(model, at / "model.json")
    return {"kind": type(model).__name__, "file": file_document(at / "model.json")}
