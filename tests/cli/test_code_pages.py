"""What streams can take: code pages of Windows, and terminals, which obey control characters."""

from __future__ import annotations

import io
import json
import sys

import pytest

from symveil.cli.main import main
from symveil.cli.output import print_json, print_line, print_notes, print_report
from symveil.reports.report import Report, Section, Table, facts_report
from symveil.reports.terminal import visible


def print_table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    print_report(Report(title=title, sections=(Section("", (Table.from_rows(columns, rows),)),)))


def printed(monkeypatch, encoding: str, print_it) -> str:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace", newline="") for _ in range(2))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        print_it()
    for stream in (out, err):
        stream.flush()
    return (out.buffer.getvalue() + err.buffer.getvalue()).decode(encoding)


def everything() -> None:
    print_report(facts_report("Facts", [("on average", "no ε-private mechanism, δ ≤ 1"), ("bar", "██")]))
    print_table("Table", ("ε", "chance"), [("1", "0.5")])
    print_notes(["Σⁿ → ε"], warnings=["ε × 2 …"])


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "cp850", "ascii", "latin-1"])
def test_nothing_is_lost(monkeypatch, encoding) -> None:
    text = printed(monkeypatch, encoding, everything)
    assert "?" not in text and "0.5" in text
    lines = text.splitlines()[1:5]  # the facts, between their borders
    assert len({len(line) for line in lines}) == 1 and ("+--" in lines[0] or "┌─" in lines[0])


def test_what_can_be_written_is_written_as_ever(monkeypatch) -> None:
    text = printed(monkeypatch, "utf-8", everything)
    assert "no ε-private mechanism, δ ≤ 1" in text and "┌" in text and "██" in text and "Σⁿ → ε" in text


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_a_document_stays_what_it_is(monkeypatch, encoding) -> None:
    document = {"symbol": "ε│", "word": ["ä", "日"]}
    assert json.loads(printed(monkeypatch, encoding, lambda: print_json(document))) == document


HOSTILE = "".join(map(chr, [*range(32), 127, *range(128, 160), 0x200E, 0x2028, 0x202E, 0x2066, 0xD800])) + "a"


def test_a_terminal_is_not_given_orders(monkeypatch) -> None:
    """Symbols come from files: one may hold an escape sequence that clears the screen or writes another answer."""

    def all_of_it() -> None:
        print_report(facts_report("Facts" + HOSTILE.replace("\n", ""), [("name", HOSTILE), (HOSTILE, "value")]))
        print_table("Table", ("symbols", "count"), [(f"a → {HOSTILE}", "1")])
        print_notes([HOSTILE], warnings=[f"w{HOSTILE}"])
        print_line(HOSTILE)

    text = printed(monkeypatch, "utf-8", all_of_it)
    assert not {each for each in text if each in HOSTILE} - {"\n", "a"}
    assert text.count("\\x1b") == 7 and text.count("\\x9b") == 7 and "\\u202e" in text
    assert text.count("symveil: note:") == 1 and visible("tür 日 →") == "tür 日 →"


def test_a_document_has_them_as_json_spells_them(monkeypatch) -> None:
    text = printed(monkeypatch, "utf-8", lambda: print_json({"symbol": HOSTILE}))
    assert not {each for each in text if each in HOSTILE} - {"\n", "a"} and json.loads(text) == {"symbol": HOSTILE}


def test_tables_of_other_peoples_symbols(tmp_path, monkeypatch, capsys) -> None:
    """`count --delta` and `estimate` printed escape sequences as they were."""
    monkeypatch.chdir(tmp_path)
    evil = "x\x1b]0;owned\x07\x1b[2J"
    lines = "".join(json.dumps({"id": number, "s": [evil, "b"]}) + "\n" for number in range(200))
    (tmp_path / "in.jsonl").write_text(lines)
    (tmp_path / "symbols.txt").write_bytes(evil.encode() + b"\nb\n")
    for command in (
        "count in.jsonl --statistic visits --epsilon 3 --delta 1e-6 --bound 2 --out table.csv",
        "privatize in.jsonl --alphabet @symbols.txt --epsilon 3 --out private.jsonl",
        "estimate private.jsonl --statistic visits",
    ):
        with pytest.raises(SystemExit) as ended:
            main(command.split())
        out, err = capsys.readouterr()
        assert not ended.value.code and "\x1b" not in out + err and "\x07" not in out + err
        assert command.startswith("privatize") or "x\\x1b]0;owned\\x07\\x1b[2J" in out
