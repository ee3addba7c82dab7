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
COMPARISONS = {"hiding-insertions"}
HEADINGS = {"Promise", "Adversary", "Cost", "Theorem", "When not to use it"}
PAGE_OF = {"edit": "edit-channel"}


def test_every_mechanism_and_the_policies_have_a_page() -> None:
    pages = {page.stem for page in PAGES.glob("*.md")} - COMPARISONS
    named = {PAGE_OF.get(name, name) for name in names()} - {"auto"}
    assert pages == named | {"opacity-policies"}


@pytest.mark.parametrize("page", sorted(set(PAGES.glob("*.md"))), ids=lambda page: page.stem)
def test_it_says_what_a_mechanism_page_says(page: Path) -> None:
    if page.stem in COMPARISONS:
        return
    parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(said) >= HEADINGS
    assert all(len(said[heading].split()) >= 8 for heading in HEADINGS)
    assert parts[0].startswith("# ") and "```python" in parts[0], "it opens with an example"


@pytest.mark.parametrize("base", [DistanceWeighted, Mechanism], ids=lambda base: base.__name__)
def test_the_guide_to_adding_one_names_all_that_is_to_be_written(base: type) -> None:
    guide = (PAGES.parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\|[^|]+\| `{base.__name__}` [^|]+\|([^|]+)\|$", guide, flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(inspect.getattr_static(base, "__abstractmethods__"))
