"""Statements that pages, help and docstrings once made and that are not true: they stay gone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FALSE = {
    "pairs beyond b are not bounded by multiples of ε on every model": (
        r"2b (places|symbols|positions) have 2ε",
        "Words that differ in more than b places are protected less: 2b places have 2ε.",
    ),
    "beyond b there may be no bound": (r"only a bounded factor", "prefer one word by only a bounded factor"),
    "twice the distance is the square of a factor": (
        r"four times that",
        "at most e²; all of it four times that",
    ),
    "OpenDP is exact too": (r"[Ee]xact where others", "Exact where others approximate: no float decides a draw"),
    "it is so for one mechanism": (
        r"two to three times as\s+long\s+as\s+(drawing )?random\s+integers",
        "takes two to three times as long as drawing random integers",
    ),
    "auto compares candidates": (
        r"auto[`\"]*:? (is|takes|has|means)? ?the (mechanism|one) with the least expected error",
        "auto: the one with the least expected error",
    ),
    "our curve is a mean over words": (r"[Bb]oth (ends|curves) are proved \(\[", "Both ends are proved ([how](x.md))"),
    "opacity is about secrets, not everything": (r"so that nothing is given away", "so that nothing is given away"),
    "it was 250,000 of each word": (r"two million releases", "the loss from two million releases"),
    "a ledger counts enforce --log with --ledger": (
        r"nor `symveil enforce` on logs",
        "not `symveil release`, Python, the studio, nor `symveil enforce` on logs",
    ),
    "bars of one table, not of the page": (r"\d+ of \d+ bars passed", "**96 of 96 bars passed** in 130 rows"),
    "the demo's mechanisms had one ε and two promises": (
        r"have the same guarantee, ε = 2 for trips that\s+differ in at most two blocks",
        "Both private trips have the same guarantee, ε = 2 for trips that\ndiffer in at most two blocks",
    ),
    "an example that protects nobody": (r"(epsilon[= ]|ε = )1000\b", 'alphabet="ab", epsilon=1000, case="who"'),
}
"""Why it is false, and how it read. What 0.3 and earlier did is history, and stays in the changelog."""


def texts() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md"))
    for folder, kinds in (
        ("docs", "md ipynb"),
        ("src", "py html"),
        ("examples", "py md json"),
        ("benchmarks", "py md"),
    ):
        for kind in kinds.split():
            yield from sorted((ROOT / folder).rglob(f"*.{kind}"))


@pytest.mark.parametrize("why", FALSE)
def test_it_is_gone(why: str) -> None:
    pattern, said = FALSE[why]
    assert re.search(pattern, said), "a check that cannot fail is none"
    found = [str(path.relative_to(ROOT)) for path in texts() if re.search(pattern, path.read_text(encoding="utf-8"))]
    assert not found, why


def test_every_page_is_looked_at() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in texts()}
    assert {
        "README.md",
        "docs/benchmarks.md",
        "docs/tutorials/road-network.ipynb",
        "src/symveil/cli/options.py",
    } <= names
