"""`compare` on files of every form, its refusals, its report."""

from __future__ import annotations

import csv
import gzip
import html.parser
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import symveil as sv
from symveil.comparison.times import TIME_METRICS
from symveil.tasks.compare import HOLDER_ONLY
from symveil.tasks.compare_report import comparison_page
from symveil.tasks.compare_tables import METRICS

TRUE = [("a", "b", "c", "a"), ("a", "b", "c"), ("b", "c", "d"), ("d",)]
PRIVATE = [("a", "b", "c", "a"), ("a", "c", "c"), ("b", "c", "d"), ("d",)]
PLACES = "symbol,x,y\na,0,0\nb,1,0\nc,0,2\nd,3,4\n"
CONTRACT = {
    *("visits_jsd", "coverage_kendall_tau", "od_jsd", "length_jsd", "diameter_jsd", "pattern_f1"),
    *("pattern_support_error", "bigram_l1", "transition_tv", "log_similarity"),
}


def _wide_csv(path: Path, words) -> None:
    path.write_text("id,word\n" + "".join(f"{n},{' '.join(word)}\n" for n, word in enumerate(words)))


def _long_csv(path: Path, words) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "when", "what"])
        writer.writerows([n, at, s] for n, word in enumerate(words) for at, s in reversed([*enumerate(word)]))


def _json_lines(path: Path, words) -> None:
    path.write_text("".join(json.dumps({"id": n, "word": word}) + "\n" for n, word in enumerate(words)))


def _parquet(path: Path, words) -> None:
    pq.write_table(pa.table({"id": range(len(words)), "word": [[*word] for word in words]}), path)


def _xes(path: Path, words) -> None:
    def text(key, value):
        return f'<string key="{key}" value="{value}"/>'

    traces = ""
    for n, word in enumerate(words):
        events = "".join(f"<event>{text('concept:name', symbol)}</event>" for symbol in word)
        traces += f"<trace>{text('concept:name', n)}{events}</trace>"
    path.write_text(f'<?xml version="1.0"?><log xes.version="1.0" xmlns="http://www.xes-standard.org/">{traces}</log>')


def _gzipped(path: Path, words) -> None:
    plain = path.with_name("plain.csv")
    _wide_csv(plain, words)
    path.write_bytes(gzip.compress(plain.read_bytes()))


FORMS = {
    "wide.csv": (_wide_csv, {}),
    "wide.csv.gz": (_gzipped, {}),
    "long.csv": (_long_csv, {"case": "who", "order": "when", "symbol": "what"}),
    "lists.jsonl": (_json_lines, {}),
    "lists.parquet": (_parquet, {}),
    "log.xes": (_xes, {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_has_the_same_words(name: str, tmp_path: Path) -> None:
    write, columns = FORMS[name]
    (tmp_path / "true").mkdir()
    write(tmp_path / "true" / name, TRUE)
    write(tmp_path / name, PRIVATE)
    found = sv.compare(tmp_path / "true" / name, str(tmp_path / name), **columns)
    assert dict(found.metrics) == dict(sv.compare(TRUE, PRIVATE).metrics)
    assert found.document()["true"] == {"file": str(tmp_path / "true" / name), "sequences": 4, "symbols": 11}


def test_files_may_differ_in_form(tmp_path: Path) -> None:
    _long_csv(tmp_path / "true.csv", TRUE)
    _parquet(tmp_path / "private.parquet", PRIVATE)
    columns = FORMS["long.csv"][1]
    found = sv.compare(tmp_path / "true.csv", tmp_path / "private.parquet", **columns)
    assert dict(found.metrics) == dict(sv.compare(TRUE, PRIVATE).metrics)


def test_a_private_log_may_have_lost_its_order(tmp_path: Path) -> None:
    _long_csv(tmp_path / "true.csv", TRUE)
    rows = "".join(f"{n},{symbol}\n" for n, word in enumerate(PRIVATE) for symbol in word)
    (tmp_path / "private.csv").write_text(f"who,what\n{rows}")
    found = sv.compare(tmp_path / "true.csv", tmp_path / "private.csv", **FORMS["long.csv"][1])
    assert dict(found.metrics) == dict(sv.compare(TRUE, PRIVATE).metrics)


def test_whole_numbers_are_the_symbols_that_they_spell(tmp_path: Path) -> None:
    numbers = [[[ord(symbol) for symbol in word] for word in words] for words in (TRUE, PRIVATE)]
    _wide_csv(tmp_path / "true.csv", [[*map(str, word)] for word in numbers[0]])
    _json_lines(tmp_path / "private.jsonl", numbers[1])
    _parquet(tmp_path / "private.parquet", numbers[1])
    for name in ("private.jsonl", "private.parquet"):
        assert dict(sv.compare(tmp_path / "true.csv", tmp_path / name).metrics) == dict(sv.compare(*numbers).metrics)


def test_what_cannot_be_read_is_refused_as_it_was_asked_for(tmp_path: Path) -> None:
    _long_csv(tmp_path / "true.csv", TRUE)
    (tmp_path / "private.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(sv.SymveilError, match=r"private\.csv: expected one column 'who' \(`case`\)"):
        sv.compare(tmp_path / "true.csv", tmp_path / "private.csv", **FORMS["long.csv"][1])


def test_a_manifest_says_how_its_file_is_read(tmp_path: Path) -> None:
    true = tmp_path / "true.csv"
    true.write_text("trip,street,note\n1,a|b|c,x\n2,b|a,y\n")
    out = tmp_path / "private.csv"
    sv.privatize_file(true, out, alphabet="abc", epsilon=50, sequence="street", separator="|", spreadsheet_safe=True)
    found = sv.compare(true, out, sequence="street", separator="|")
    assert found.metrics["log_similarity"] == 1 and found.private.document()["symbols"] == 5


def test_a_folder_that_a_cluster_wrote(tmp_path: Path) -> None:
    folder = tmp_path / "released.parquet"
    folder.mkdir()
    _parquet(folder / "part-0.parquet", PRIVATE[:2])
    _parquet(folder / "part-1.parquet", PRIVATE[2:])
    (folder / "_SUCCESS").write_bytes(b"")
    assert dict(sv.compare(TRUE, folder).metrics) == dict(sv.compare(TRUE, PRIVATE).metrics)


def test_the_contract_s_metrics_are_there(tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    places.write_text(PLACES)
    found = sv.compare(TRUE, PRIVATE, places=places)
    assert set(found.metrics) >= CONTRACT and not found.left_out
    assert set(METRICS) == {*found.metrics, *TIME_METRICS}  # these files have no times
    document = json.loads(json.dumps(found.document()))
    assert document["metrics"] == dict(found.metrics) and document["holder_only"] == HOLDER_ONLY
    assert (document["zones"], document["patterns"], document["top"]) == ("grid 6x6", [2, 5], 100)
    assert document["directly_follows"]["edges_true"] == 4
    assert sv.compare(TRUE, TRUE, places=places).metrics == {
        name: 1.0 if METRICS[name].best.startswith("1") else 0.0 for name in found.metrics
    } | {"range_query_error": 0.0, "pattern_support_error": 0.0}


def test_zones_change_origins_and_destinations_only(tmp_path: Path) -> None:
    places, zones = tmp_path / "places.csv", tmp_path / "zones.csv"
    places.write_text(PLACES)
    zones.write_text("symbol,zone\na,west\nb,west\nc,west\nd,east\n")
    by = {
        name: sv.compare(TRUE, PRIVATE, places=places, zones=given).metrics
        for name, given in {"one": "1", "grid": "2x3", "file": zones}.items()
    }
    assert by["one"]["od_jsd"] == 0
    assert by["file"]["od_jsd"] == 0  # a…a and a…c both stay in the west
    assert sv.compare(TRUE, PRIVATE, zones=zones).metrics["od_jsd"] == 0
    rest = [{name: value for name, value in each.items() if name != "od_jsd"} for each in by.values()]
    assert rest[0] == rest[1] == rest[2]


def test_only_symbols_that_occur_need_a_zone(tmp_path: Path) -> None:
    places, zones = tmp_path / "places.csv", tmp_path / "zones.csv"
    places.write_text(PLACES + "e,5,5\n")
    zones.write_text("symbol,zone\na,1\nb,2\nc,2\nd,1\n")
    assert sv.compare(TRUE, PRIVATE, places=places, zones=zones).zones == str(zones)


def test_in_a_notebook_it_says_whom_it_is_for() -> None:
    assert HOLDER_ONLY in sv.compare(TRUE, PRIVATE)._repr_html_()


def test_symbols_that_nobody_visits_count_where_places_are_known(tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    places.write_text(PLACES + "e,5,5\nf,6,6\n")
    with_places = sv.compare(TRUE, PRIVATE, places=places)
    assert len(with_places.symbols) == 6
    assert with_places.metrics["coverage_kendall_tau"] != sv.compare(TRUE, PRIVATE).metrics["coverage_kendall_tau"]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"zones": "6"}, "zones: expected `places` with a grid: it is laid over them, found no places"),
        ({"places": "few.csv"}, "places: expected a place for every symbol, found none for 3 of them"),
        ({"zones": "some.csv"}, "zones: expected a zone for every symbol, found none for 3 of them"),
        ({"zones": "few.csv"}, "few.csv: expected a column symbol (or state, link_id, id, name) and a column zone"),
        ({"zones": "twice.csv"}, "twice.csv: line 3: expected each symbol in one zone, found another zone before"),
        ({"zones": "0", "places": "few.csv"}, "zones: expected a grid of 1 to 1000000 cells"),
        ({"top": 0}, "top: expected a whole number, 1 or more, found 0"),
        ({"patterns": (5, 2)}, "patterns: expected two numbers of symbols from 2 to 100, the smaller first"),
        ({"patterns": (1, 2)}, "patterns: expected two numbers"),
    ],
)
def test_refusals_are_one_line_without_a_symbol(change, line: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("few.csv").write_text("symbol,x,y\na,0,0\nz,1,1\n")
    Path("some.csv").write_text("symbol,zone\na,1\n")
    Path("twice.csv").write_text("symbol,zone\na,1\na,2\n")
    with pytest.raises(sv.SymveilError) as refused:
        sv.compare(TRUE, PRIVATE, **change)
    assert str(refused.value).startswith(line) and "\n" not in str(refused.value)


def test_files_without_a_symbol_are_refused(tmp_path: Path) -> None:
    _wide_csv(tmp_path / "empty.csv", [(), ()])
    for pair in ((TRUE, tmp_path / "empty.csv"), (tmp_path / "empty.csv", TRUE), ([], TRUE), (TRUE, [""])):
        with pytest.raises(sv.SymveilError, match="expected at least one sequence with a symbol, found none"):
            sv.compare(*pair)


def test_short_words_leave_metrics_out() -> None:
    found = sv.compare(["a", "a"], ["b"])
    left = {"od_jsd", "pattern_f1", "pattern_support_error", "bigram_l1", "transition_tv"}
    assert set(found.left_out) >= left and found.document()["directly_follows"] is None
    assert comparison_page(found).count("<svg") == 2


class _Page(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attributes) -> None:
        if tag not in {"meta", "rect", "path", "circle", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag not in {"rect", "path", "circle"}:
            assert self.open.pop() == tag


def test_the_report(tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    places.write_text(PLACES.replace("\na,", "\n<b>a&,"))
    named = [[tuple("<b>a&" if s == "a" else s for s in word) for word in words] for words in (TRUE, PRIVATE)]
    text = comparison_page(sv.compare(*named, places=places))
    parser = _Page()
    parser.feed(text)
    assert parser.open == []
    assert HOLDER_ONLY[1:] in text and "<b>a" not in text and "&lt;b&gt;a&amp;" in text
    assert text.count("<svg") == 7
    assert all((name in text) == (name not in TIME_METRICS) for name in METRICS)  # words have no times
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)", text)
