"""What is written about the proofs is true of their files; no Coq is needed for that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proofs import coq

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \| \[`(\w+\.v)`\]\((\w+\.v)\) \|", re.MULTILINE)
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKS = [
    (page, file) for page in PAGES for file in re.findall(r"proofs/(\w+\.v|README\.md)\b", page.read_text("utf-8"))
]


def rows() -> dict[str, str]:
    found = ROW.findall((coq.PROOFS / "README.md").read_text("utf-8"))
    assert all(shown == linked for _, shown, linked in found)
    return {theorem: file for theorem, file, _ in found}


def test_the_table_lists_every_theorem() -> None:
    assert rows() == coq.theorems()
    assert len(rows()) >= 30


def test_every_theorem_has_its_assumptions() -> None:
    assert set(coq.listed_assumptions()) == set(coq.theorems())


def test_every_file_is_built() -> None:
    assert sorted(coq.files()) == sorted(file.name for file in coq.PROOFS.glob("*.v"))


@pytest.mark.parametrize("name", coq.files())
def test_nothing_is_admitted(name: str) -> None:
    text = (coq.PROOFS / name).read_text("utf-8")
    assert text.startswith("(* ")
    assert not re.search(r"\b(Admitted|admit|Axiom|Parameter|Conjecture|Admit Obligations)\b", text)


def test_mutants_change_one_statement() -> None:
    mutants = coq.mutants()
    assert {mutant.theorem for mutant in mutants} == set(coq.theorems())
    for mutant in mutants:
        text = (coq.PROOFS / mutant.file).read_text("utf-8")
        assert text.count(mutant.right) == 1, mutant
        until = text[: text.index(mutant.right)] + mutant.right.partition("\n")[0]
        assert coq.STATEMENT.findall(until)[-1] == mutant.theorem, mutant
        assert "Proof." not in until.rpartition(f" {mutant.theorem}")[2], mutant


def test_links_of_pages_are_files() -> None:
    assert len({file for _, file in LINKS}) >= 12
    for page, file in LINKS:
        assert (coq.PROOFS / file).is_file(), f"{page.name} links {file}"


def test_the_proofs_name_pages_that_exist() -> None:
    named = {
        (file.name, page)
        for file in [*coq.PROOFS.glob("*.v"), coq.PROOFS / "README.md"]
        for page in re.findall(r"[\w/-]+\.(?:md|py)\b", file.read_text("utf-8"))
    }
    assert len(named) >= 25
    assert [(file, page) for file, page in sorted(named) if not (ROOT / page).is_file()] == []


def test_links_of_the_list_are_files() -> None:
    linked = re.findall(r"\]\(([^)]+)\)", (coq.PROOFS / "README.md").read_text("utf-8"))
    assert len(linked) >= len(rows())
    assert [file for file in linked if not (coq.PROOFS / file).is_file()] == []


@pytest.mark.parametrize("name", sorted(set(rows().values()) - {"loss.v"}))
def test_the_pages_of_a_theorem_link_its_file(name: str) -> None:
    head = (coq.PROOFS / name).read_text("utf-8").partition("*)")[0]
    pages = [ROOT / page for page in re.findall(r"docs/theory/[\w-]+\.md", head)]
    assert pages
    assert [page.name for page in pages if f"proofs/{name}" not in page.read_text("utf-8")] == []
