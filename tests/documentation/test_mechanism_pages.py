"""Every mechanism has a section on the page about mechanisms, and every section says the same things."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from symveil.mechanisms.choice import names
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.mechanisms.mechanism import Mechanism

ROOT = Path(__file__).parents[2]
OPENING, *PARTS = re.split(r"^## (.+)\n", (ROOT / "docs" / "mechanisms.md").read_text("utf-8"), flags=re.MULTILINE)
SECTIONS = dict(zip(PARTS[::2], PARTS[1::2], strict=True))
SECTION_OF = {"edit": "Edit channel", "truncated-levenshtein": "Truncated Levenshtein"}
MOST_WORDS = 400


def test_every_mechanism_has_a_section_and_a_row() -> None:
    """The mechanism that is not private is an erratum."""
    shown = [name for name in names() if name not in ("auto", "jones2019-printed")]
    assert list(SECTIONS) == [SECTION_OF.get(name, name.capitalize()) for name in shown]
    assert re.findall(r"^\| \[([\w-]+)\]", OPENING, flags=re.MULTILINE) == shown


def test_the_page_opens_with_the_promise() -> None:
    assert "loss_at" in OPENING and "passes unprotected" in OPENING and "theory/" in OPENING
    assert "promise.md#against-whom" in OPENING


@pytest.mark.parametrize("section", SECTIONS)
def test_it_says_what_a_section_says(section: str) -> None:
    text = SECTIONS[section]
    assert text.lstrip().startswith("```python"), "it opens with an example"
    assert "loss_at" in text, "the loss beyond b"
    for part in ("Theorem", "Cost", "When not to use it"):
        assert len(text.partition(f"**{part}.**")[2].partition("\n\n")[0].split()) >= 8, part
    assert len(text.split()) <= MOST_WORDS


@pytest.mark.parametrize("base", [DistanceWeighted, Mechanism], ids=lambda base: base.__name__)
def test_the_guide_to_adding_one_names_all_that_is_to_be_written(base: type) -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\|[^|]+\| `{base.__name__}` [^|]+\|([^|]+)\|$", guide, flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(inspect.getattr_static(base, "__abstractmethods__"))
