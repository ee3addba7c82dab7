"""Every mechanism has a page, and every page says the same five things."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from symveil.mechanisms.choice import names
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.mechanisms.mechanism import Mechanism

PAGES = Path(__file__).parents[2] / "docs" / "mechanisms"
HEADINGS = {"Promise", "Adversary", "Cost", "Theorem", "When not to use it"}
PAGE_OF = {"edit": "edit-channel"}


def test_every_mechanism_has_a_page() -> None:
    """The mechanism that is not private is an erratum."""
    named = {PAGE_OF.get(name, name) for name in names()} - {"auto", "jones2019-printed"}
    assert {page.stem for page in PAGES.glob("*.md")} == named


@pytest.mark.parametrize("page", sorted(set(PAGES.glob("*.md"))), ids=lambda page: page.stem)
def test_it_says_what_a_mechanism_page_says(page: Path) -> None:
    parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(said) >= HEADINGS
    assert all(len(said[heading].split()) >= 8 for heading in HEADINGS)
    assert parts[0].startswith("# ") and "```python" in parts[0], "it opens with an example"
    assert "loss_at" in said["Promise"] and "pass" in said["Promise"], "the loss beyond b, and what passes unprotected"


@pytest.mark.parametrize("base", [DistanceWeighted, Mechanism], ids=lambda base: base.__name__)
def test_the_guide_to_adding_one_names_all_that_is_to_be_written(base: type) -> None:
    guide = (PAGES.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\|[^|]+\| `{base.__name__}` [^|]+\|([^|]+)\|$", guide, flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(inspect.getattr_static(base, "__abstractmethods__"))
