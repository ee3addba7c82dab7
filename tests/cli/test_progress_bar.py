"""One bar draws all progress, on a terminal only."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from symveil.cli import explain_setting, output
from symveil.cli.main import main
from symveil.cli.output import progress_bar
from symveil.numerics.progress import heard_by, named
from symveil.workflows.privatize_file import privatize_file


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def looked_at(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """In the test itself: pytest puts its own stream there between a fixture and the test."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_REPORTS", 0)
    return shown


def lines(terminal: Terminal) -> list[str]:
    return [line.rstrip() for line in terminal.getvalue().replace("\x1b[?25l", "").replace("\x1b[?25h", "").split("\r")]


def test_counted_work(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("auditing") as progress:
        for done in (0, 1, 2):
            progress(done, 2)
    assert [line.split("]")[1].strip() for line in lines(terminal)[1:]] == ["0%", "50%", "100%"]
    assert all(line.startswith("auditing  [") for line in lines(terminal)[1:])
    assert terminal.getvalue().endswith("\n")


def test_work_without_a_known_end(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("estimates explored") as progress:
        progress(12, None)
        progress(3456, None)
    *shown, erased = lines(terminal)[1:]
    assert [line.split("]")[1].strip() for line in shown] == ["12", "3,456"]
    assert erased == "\x1b[K"
    assert not any("%" in line for line in shown)


def test_a_file_in_two_passes(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("privatising") as progress:
        for what in ("charging", "releasing"):
            for share, records in ((500, 10_000), (1000, 12_000)):
                named(progress, what, records=records)(share, 1000)
    shown = lines(terminal)[1:]
    assert [line.split("]")[1].split("%")[0].strip() for line in shown] == ["50", "100", "50", "100"]
    assert "charging: 10,000 sequences, " in shown[0] and shown[0].endswith(" a second")
    assert "releasing: 12,000 sequences, " in shown[-1]


def test_reports_that_come_too_fast_are_not_drawn_but_the_last_one_is(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_REPORTS", 60)
    with progress_bar("x") as progress:
        for done in range(1001):
            progress(done, 1000)
    assert len(lines(terminal)) == 3
    assert "100%" in lines(terminal)[-1]


def test_nothing_is_drawn_where_nobody_looks_or_nothing_is_told(monkeypatch) -> None:
    terminal = looked_at(monkeypatch)
    with progress_bar("x"):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar("x") as progress:
        progress(1, 2)
        assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]


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
        (("explain", "--model", "map.csv", "--length", "6", "--epsilon", "0.7531", "--mechanism", "exponential"),
         "certifying exponential"),
    ],
)  # fmt: skip
def test_long_work_says_what_it_does_and_how_far_it_is(files, arguments, what: str, monkeypatch) -> None:
    """A file that takes an hour looks like this one; only privatize said how far it was."""
    privatize_file("in.csv", "private.csv", alphabet="abc", epsilon=4, sequence="links", separator="")
    told: list[tuple[str, int, int | None]] = []

    @contextmanager
    def bar(label: str):
        def tell(done: int, total: int | None, what: str = label, records: int | None = None) -> None:
            told.append((what, done, total))

        with heard_by(tell):  # as the bar itself is
            yield tell

    monkeypatch.setattr(output, "progress_bar", bar)
    monkeypatch.setattr(explain_setting, "progress_bar", bar)
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code
    assert [each for each, _, _ in told if each.startswith(what)]
    assert all(total is None or 0 <= done <= total for _, done, total in told)
