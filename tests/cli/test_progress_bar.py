"""One line for all progress of a command: a bar on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import io
import re
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from symveil.cli import explain as explain_setting
from symveil.cli import progress
from symveil.cli.main import main
from symveil.cli.output import print_report
from symveil.cli.progress import progress_bar
from symveil.numbers.progress import listener, named, reporting_to
from symveil.reports.report import facts_report
from symveil.tasks.privatize_file import privatize_file


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def looked_at(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """In the test itself: pytest puts its own stream there between a fixture and the test."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 0)
    monkeypatch.setenv("COLUMNS", "200")
    return shown


def lines(terminal: Terminal) -> list[str]:
    """Every line that was drawn, without its time; an erased one is empty."""
    return [re.sub(r", \d+:\d\d$", "", line) for line in terminal.getvalue().split("\r\033[K")[1:]]


def test_counted_work(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("auditing") as tell:
        for done in (0, 1, 2):
            tell(done, 2)
    *drawn, erased = lines(terminal)
    assert [line.split("] ")[1] for line in drawn] == ["auditing 0 %", "auditing 50 %", "auditing 100 %"]
    assert drawn[1].startswith("[############------------]") and erased == ""


def test_work_without_a_known_end(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("estimates explored") as tell:
        tell(12, None)
        tell(3456, None)
    assert lines(terminal) == ["estimates explored 12", "estimates explored 3,456", ""]


def bars(terminal: Terminal) -> list[int]:
    return [line.count("#") for line in lines(terminal) if line.startswith("[")]


def test_a_file_in_two_passes_has_one_bar(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("privatising", passes=("charging", "releasing")) as tell:
        for what in ("charging", "releasing"):
            for share, records in ((0, 0), (500, 10_000), (1000, 12_000)):
                named(tell, what, records=records)(share, 1000)
    assert bars(terminal) == [0, 6, 12, 12, 18, 24]
    assert lines(terminal)[1].endswith("charging 25 %, 10,000 sequences")
    assert lines(terminal)[5].endswith("releasing 100 %, 12,000 sequences")


def test_searches_have_names_and_numbers_and_move_no_bar(monkeypatch) -> None:
    """Dozens of certificates, before a file and in it: each is called what it is, and the bar never moves back."""
    terminal = looked_at(monkeypatch)
    with progress_bar("privatising", passes=("releasing",)) as tell:
        for length in range(30):
            search = listener(f"certifying swap costs, length {length}")
            assert search is not None
            for done in range(3):
                search(done, 3)
        before = len(lines(terminal))
        for share in (0, 400, 1000):
            named(tell, "releasing", records=0)(share, 1000)
            search = listener("certifying swap costs, length 99")
            assert search is not None
            search(1, 3)
    first, middle = lines(terminal)[:before], lines(terminal)[before:]
    assert not any("privatising" in line or "[" in line or "left" in line for line in first)
    assert first[-1] == "certifying swap costs, length 29 (search 30) 66 %"
    assert bars(terminal) == sorted(bars(terminal))
    assert middle[1].endswith("releasing 0 %, 0 sequences, certifying swap costs, length 99 (search 31) 33 %")


def test_a_file_that_is_read_again_says_so_without_a_bar(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("counting"):
        for _ in range(3):
            with_records = named(progress._lines[-1].hear, "reading", records=0)
            with_records(0, 1000)
            with_records(1000, 1000)
    assert bars(terminal) == []
    assert lines(terminal)[-2] == "reading (pass 3) 100 %, 0 sequences"


def test_parts_of_one_whole_share_its_bar(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("demo") as tell:
        for step, name in enumerate(("making up a town", "privatising", "drawing")):
            named(tell, name)(step, 3)
    assert bars(terminal) == [0, 8, 16] and lines(terminal)[2].endswith("drawing 66 %")


def test_reports_that_come_too_fast_are_not_drawn_but_the_last_one_is(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_REPORTS", 60)
    with progress_bar("x") as tell:
        for done in range(1001):
            tell(done, 1000)
    assert len(lines(terminal)) == 3
    assert lines(terminal)[1].endswith("x 100 %")


def test_a_line_fits_the_terminal_and_what_is_printed_has_lines_of_its_own(monkeypatch, capsys) -> None:
    terminal = looked_at(monkeypatch)
    monkeypatch.setenv("COLUMNS", "40")
    with progress_bar("x" * 100) as tell:
        tell(1, 2)
        assert len(lines(terminal)[0]) == 39
        print_report(facts_report("t", [("a", "b")]))
        assert lines(terminal)[-1] == ""  # erased before


def test_nothing_is_drawn_where_nothing_is_told(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar(""), progress_bar("x"):
        pass
    assert terminal.getvalue() == ""


def test_a_line_a_minute_where_nobody_looks(monkeypatch) -> None:
    """Also where nothing is reported. It says nothing of a file but that it is read: a log may be read by others."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.05)
    with progress_bar(""), progress_bar("privatising") as tell:
        time.sleep(0.2)
        assert stream.getvalue().startswith("symveil: progress: privatising, 0 min so far\n")
        named(tell, "releasing", records=123_456)(417, 1000)
        time.sleep(0.2)
    said = stream.getvalue()
    assert "symveil: progress: releasing, 0 min so far\n" in said
    assert not re.search("41|123|%", said) and "\r" not in said
    time.sleep(0.15)
    assert stream.getvalue() == said  # it has ended


def ticking() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "symveil progress"]


@pytest.mark.parametrize("failing", [None, "rest", "end"])
def test_nothing_ticks_after_the_command_whatever_fails_at_its_end(failing: str | None, monkeypatch) -> None:
    """A line that could not be erased left its thread running, and the command, which was done, had failed."""

    def fails(_: object) -> None:
        raise RuntimeError

    with progress_bar("auditing") as tell:
        tell(1, 2)
        (thread,) = ticking()
        if failing is not None:
            monkeypatch.setattr(progress._Line, failing, fails)
    if failing is not None:  # then nobody waits for it
        thread.join(5)
    assert not thread.is_alive() and ticking() == []


def test_a_command_without_phases_is_silent_where_nobody_looks(monkeypatch) -> None:
    """The studio runs for days."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.02)
    with progress_bar(""):
        time.sleep(0.1)
    assert stream.getvalue() == ""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SYMVEIL_CACHE", str(tmp_path / "cache"))
    rows = "".join(f"{number},p{number % 7},{'abca'[number % 3 :]}\n" for number in range(300))
    Path("in.csv").write_text(f"trip_id,rider,links\n{rows}")
    Path("map.csv").write_text("from,to\na,b\na,c\nb,c\nb,a\nc,a\n")


READ = ("--sequence", "links", "--separator", "")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("learn", "in.csv", *READ, "--out", "m.json"), "reading"),
        (
            ("learn", "in.csv", *READ, "--person", "rider", "--epsilon", "3", "--alphabet", "abc", "--lengths", "1..4",
             "--out", "m.json"),
            "reading",
        ),
        (("count", "in.csv", *READ, "--epsilon", "1", "--statistic", "visits", "--alphabet", "abc", "--out", "t.csv"),
         "reading"),
        (("check", "private.csv.manifest.json"), "checking"),
        (("estimate", "private.csv", "--statistic", "visits"), "estimating"),
        (("compare", "in.csv", "private.csv", *READ), "reading"),
        (("alphabet", "in.csv", *READ), "reading"),
        (("explain", "--model", "map.csv", "--length", "6", "--epsilon", "0.7531", "--adjacency", "1",
          "--mechanism", "exponential"),
         "certifying exponential"),
    ],
)  # fmt: skip
def test_long_work_says_what_it_does_and_how_far_it_is(files, arguments, what: str, monkeypatch) -> None:
    """A file that takes an hour looks like this one; only privatize said how far it was."""
    privatize_file("in.csv", "private.csv", alphabet="abc", epsilon=4, sequence="links", separator="")
    told: list[tuple[str, int, int | None]] = []

    @contextmanager
    def bar(label: str, *, passes: tuple[str, ...] = ()):
        def tell(done: int, total: int | None, what: str = label, records: int | None = None) -> None:
            told.append((what, done, total))

        with reporting_to(tell):  # as the bar itself is
            yield tell

    monkeypatch.setattr(progress, "progress_bar", bar)
    monkeypatch.setattr(explain_setting, "progress_bar", bar)
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code
    assert [each for each, _, _ in told if each.startswith(what)]
    assert all(total is None or 0 <= done <= total for _, done, total in told)
