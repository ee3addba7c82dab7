"""A whole file: synthetic sequences and private counts beside the truth, for its holder; nothing of it stays."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from symveil.errors import ParameterError, SymveilError
from symveil.examples.millford import DAYS, FIRST_DAY, millford_times, millford_trips
from symveil.numbers.progress import silent
from symveil.reports.report import Picture, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.panels.files import FilePanel
from symveil.studio.tasks.whole_file import STATISTICS, read_attributes

ROWS = "who,word\n" + "".join(f"person-{number % 90},{'a b b' if number % 3 else 'b'}\n" for number in range(300))


def answered(folder: Path, **values: str) -> Answer:
    answer = FilePanel.task({**FilePanel.defaults, "folder": str(folder), **values}, silent)
    assert isinstance(answer, Answer)
    assert not list(folder.iterdir())  # neither the model nor the words are left
    return answer


def own(folder: Path, **values: str) -> dict[str, str]:
    (folder / "upload").mkdir(exist_ok=True)
    data = folder / "upload" / "people.csv"
    data.write_text(ROWS)
    return {"source": "file", "data": str(data), "alphabet": "ab", "person": "who", "sequence": "word", **values}


def test_synthetic_trips_are_shown_beside_the_true_ones(tmp_path: Path) -> None:
    answer = answered(tmp_path)
    headings = [section.heading for section in answer.sections]
    assert headings[:3] == ["What is promised, and what to expect", "On the map", "Synthetic trips on the map"]
    assert {"Hours", "Cycle times", "Waits", "Visits", "Lengths", "All metrics"} <= set(headings)
    (maps,) = (section for section in answer.sections if section.heading == "On the map")
    assert [part.caption for part in maps.parts if isinstance(part, Picture)] == ["true", "private"]
    page = answer.page()
    assert "for their holder only" in page and str(tmp_path) not in page + answer.json()
    assert answer.document["quality"] and answer.document["released"] == 4000
    metrics = dict(answer.rows)
    assert metrics["start_hour_jsd"] < 0.1 and metrics["visits_jsd"] < 0.05  # at ε = 4 rush hours are kept


def test_little_budget_is_said_to_be_little(tmp_path: Path) -> None:
    page = answered(tmp_path, epsilon="0.5").html()
    assert "Words are mostly noise" in page and "Times are mostly noise" in page


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_statistic_of_the_command_line_is_counted(tmp_path: Path, statistic: str) -> None:
    answer = answered(tmp_path, task="count", statistic=statistic)
    name = "ngrams:2" if statistic == "ngrams:K" else statistic
    assert dict(answer.marks)["statistic"].partition(":")[0] == name.partition(":")[0] and answer.rows
    (to_release,) = (section for section in answer.sections if section.heading == "To release it")
    command = next(str(part.text) for part in to_release.parts if isinstance(part, Text) and part.kind == "command")
    assert command.startswith("symveil count trips.csv --epsilon 4 ") and f"--statistic {name} " in command


def test_the_number_of_symbols_in_a_row_is_that_of_the_form(tmp_path: Path) -> None:
    answer = answered(tmp_path, task="count", statistic="ngrams:K", gram="3")
    assert dict(answer.marks)["statistic"] == "ngrams:3" and answer.columns[:3] == ("symbol_1", "symbol_2", "symbol_3")


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    values = own(tmp_path, lengths="1..3", count="50", period="", zones="")
    answer = answered(folder, **values)
    assert "Synthetic sequences" in answer.html() and "people.csv" in answer.html()
    assert str(tmp_path) not in answer.html() + answer.page() + answer.json()
    counted = answered(folder, **values, task="count")
    assert dict(counted.marks)["rows"] == "2" and "Beside the true counts" in counted.html()
    assert "No file yet" in answered(folder, source="file").html()
    with pytest.raises(ParameterError, match="alphabet"):
        answered(folder, **{**values, "alphabet": f"@{tmp_path / 'upload' / 'people.csv'}"})
    with pytest.raises(SymveilError):
        answered(folder, **{**values, "alphabet": ""})


def test_attributes_of_events_are_learned_too(tmp_path: Path) -> None:
    answer = answered(tmp_path, attributes="case:purpose=work,school,shopping,home", attribute_share="0.3", epsilon="8")
    (section,) = (each for each in answer.sections if each.heading == "Attributes of synthetic events")
    (table,) = section.parts
    assert isinstance(table, Table)
    shares = {str(value): float(str(share)) for value, share, _ in table.rows}
    trips = millford_trips().values()
    true = Counter(trip.purpose for trip in trips for _ in trip.blocks)
    assert shares.keys() == true.keys()
    assert all(abs(share - true[value] / true.total()) < 0.1 for value, share in shares.items())
    command = next(str(part.text) for each in answer.sections for part in each.parts if is_command(part))
    assert " --attribute case:purpose=purpose.txt " in command and " --attribute-share 0.3 " in command
    with pytest.raises(ParameterError, match="attributes"):
        answered(tmp_path, attributes="case:purpose")


def test_attributes_are_lists_and_never_files(tmp_path: Path) -> None:
    """What was typed into a page names no file of the machine."""
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden\n")
    assert read_attributes(f"ward={secret}") == {"ward": [str(secret)]}
    for text in ("1", "1,x", "1,2,", "١,٢", "1e3,2"):
        assert isinstance(read_attributes(f"ward={text}")["ward"], list)
    assert read_attributes("ward=-1, 2.5") == {"ward": "-1,2.5"}
    for text in ("ward", "ward=", "=1,2", "ward=a;ward=b"):
        with pytest.raises(ParameterError, match="attributes"):
            read_attributes(text)


def is_command(part: object) -> bool:
    return isinstance(part, Text) and part.kind == "command"


def test_people_go_to_work_in_the_morning() -> None:
    times, trips = millford_times(), millford_trips()
    assert times.keys() == trips.keys()
    for name, trip in trips.items():
        assert len(times[name]) == len(trip.blocks) and list(times[name]) == sorted(times[name])
        assert 0 <= (times[name][0] - FIRST_DAY).days == trip.day - 1 < DAYS
    starts = [times[name][0].hour for name, trip in trips.items() if trip.purpose == "work"]
    assert min(starts) == 6 and max(starts) == 8
