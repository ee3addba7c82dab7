"""Output that is piped on a Windows code page: borders that it has, words for letters that it has not."""

from __future__ import annotations

import io
import json
import sys

import pytest

from symveil.cli.output import print_facts, print_json, print_notes, print_table


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
    print_facts("Facts", [("on average", "no ε-private mechanism, δ ≤ 1"), ("bar", "██")])
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
