"""What is generated is what its source says now: the command reference, the API reference, the architecture picture."""

from __future__ import annotations

import re

import architecture_picture
import make_commands
import make_parameters
import pytest

import symveil as sv

from .blocks import ROOT


def test_the_command_reference_is_what_help_says() -> None:
    written = make_commands.PAGE.read_text(encoding="utf-8")
    assert written == make_commands.reference(), "run `python docs/make_commands.py`"


def test_the_command_reference_has_every_option() -> None:
    page = make_commands.PAGE.read_text(encoding="utf-8")
    groups = {title: part.partition("\n#")[0] for title, part in re.findall(r"^### (Options .*)\n([^#]*)", page, re.M)}
    assert len(groups) == 2
    for command in make_commands.COMMANDS:
        section = page.partition(f"\n## symveil {command.name}\n")[2].partition("\n## ")[0]
        assert section
        text = section + "".join(part for title, part in groups.items() if f"[{title.lower()}]" in section)
        options = {name for parameter in command.params for name in parameter.opts if name.startswith("--")}
        assert [option for option in options - {"--json"} if f"`{option}" not in text] == []
        assert "--json" in options or command.name == "ledger", "the page says that all commands have it"


def test_the_command_reference_lists_shared_options_once() -> None:
    page = make_commands.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\* `--[^`]*`: .*$", page, re.M)
    assert len(rows) > 150
    assert max(rows.count(row) for row in rows) <= 3  # of the three that mean another map


def test_the_command_reference_has_every_command_by_its_task() -> None:
    named = [name for names in make_commands.TASKS.values() for name in names]
    assert sorted(named) == sorted(command.name for command in make_commands.COMMANDS)


def test_schemas_are_what_the_fields_say() -> None:
    again = "run `python docs/make_parameters.py`"
    for path in make_parameters.SCHEMAS:
        text = path.read_text(encoding="utf-8")
        assert text == make_parameters.manifest_schema(text), again


def test_every_public_name_is_in_the_reference_once() -> None:
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    shown = [name for page in pages for name in re.findall(r"^::: symveil\.(\w+)$", page.read_text("utf-8"), re.M)]
    assert sorted(name for name in shown if name != "errors") == sorted(sv.__all__)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "reference").glob("*.md")), ids=lambda page: page.stem)
def test_every_reference_page_opens_with_sentences(page) -> None:
    opening = page.read_text("utf-8").partition("\n# ")[2] or page.read_text("utf-8").partition("# ")[2]
    first = opening.partition("\n\n")[2].partition("\n\n")[0]
    assert first.count(". ") + first.count(".\n") + first.endswith(".") >= 2, first


def test_the_architecture_picture_has_the_imports_of_now() -> None:
    picture = architecture_picture.PICTURE.read_text(encoding="utf-8")
    drawn = {tuple(pair.split()) for pair in re.findall(r'data-import="([^"]+)"', picture)}
    assert drawn == set(architecture_picture.imports()), "run `python docs/architecture_picture.py`"


def test_the_architecture_picture_has_the_layers_of_now() -> None:
    picture = architecture_picture.PICTURE.read_text(encoding="utf-8")
    order = [package for layer in architecture_picture.layers() for package in layer]
    assert re.findall(r'font-weight="500"[^>]*>(\w+)</text>', picture) == order


def test_the_page_about_the_architecture_has_the_layers_of_now() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    layers = architecture_picture.layers()
    assert " > ".join(" | ".join(layer) for layer in layers) in " ".join(page.split())
    rows = re.findall(r"^\| `(\w+)` \|", page, re.M)
    assert sorted(rows) == sorted(package for layer in layers for package in layer)
