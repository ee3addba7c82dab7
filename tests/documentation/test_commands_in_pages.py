"""Every `symveil` command that a page shows does what the page says, in a folder that has the examples in it.

Files that a command reads are examples, or written by an earlier command, or shown by the page in a block with a title.

The commands of one page are run one after the other in one folder, as a reader would. They run in this process:
that a new process behaves the same is tested in tests/cli.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from symveil.cli.main import main
from symveil.tasks.budgets import grant_budget

from .blocks import PAGES, ROOT, Block, Command, blocks, commands, name

IN_PAGES = {name(page): list(commands(page.read_text(encoding="utf-8"))) for page in PAGES}
TITLED = {
    name(page): {
        block.title: "\n".join(block.lines) + "\n" for block in blocks(page.read_text(encoding="utf-8")) if block.title
    }
    for page in PAGES
}

# what a page's own line makes of a file that the page does not show: test_fasta_becomes_a_column
OWN_FILES = {"docs/files.md": {"reads.csv": "id,dna\nr1,ACGTTA\nr2,NNA\n"}}

# the one page whose examples do not follow from each other; budgets are there
REFERENCE = "docs/reference/commands.md"

# what takes a quarter of a minute or more, and where the same command is run
RUN_ELSEWHERE = {
    ("demo", "--out", "demo-out"): "tests/tasks/test_demo.py",
    ("reproduce", "benvenuti2026", "--plots", "figures"): "tests/papers/test_figures.py",
}


@pytest.mark.parametrize("page", [page for page, found in IN_PAGES.items() if found])
def test_commands(page: str, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for file, text in {**OWN_FILES.get(page, {}), **TITLED[page]}.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    if page == REFERENCE:
        grant_budget(tmp_path / "budgets.db", "3", everyone=True)
    for command in IN_PAGES[page]:
        if command.not_run is not None or tuple(command.arguments) in RUN_ELSEWHERE:
            continue
        assert command.arguments[0] != "studio", f"{page}, line {command.line}: serves for ever, expected # not run: …"
        status, out, err = _run(command, capsys)
        assert status == command.status, f"{page}, line {command.line}: exit {status}\n{out}{err}"
        if command.keep_output is not None:
            (tmp_path / command.keep_output).write_text(out, encoding="utf-8")


def test_what_is_run_elsewhere_is_still_shown() -> None:
    assert set(RUN_ELSEWHERE) <= {tuple(each.arguments) for found in IN_PAGES.values() for each in found}
    assert all((ROOT / file).exists() for file in RUN_ELSEWHERE.values())


@pytest.mark.skipif(shutil.which("awk") is None, reason="awk is not installed")
def test_fasta_becomes_a_column(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith("awk "))
    (tmp_path / "reads.fasta").write_text(">r1 a read\nACG\nTTA\n>r2\nNNA\n")
    subprocess.run(["sh", "-c", line], check=True, cwd=tmp_path)
    assert (tmp_path / "reads.csv").read_text() == OWN_FILES["docs/files.md"]["reads.csv"]


def _run(command: Command, capsys) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(command.arguments))
    return ended.value.code or 0, *capsys.readouterr()


def test_what_is_not_run_says_why() -> None:
    """The reason is part of the page; only what needs a cluster, a person or a server may have one."""
    for found in IN_PAGES.values():
        for command in found:
            assert command.not_run is None or len(command.not_run) > len("not run: "), command
    run = [command for found in IN_PAGES.values() for command in found if command.not_run is None]
    assert len(run) >= 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\nsymveil a --b 'c d'  # why\n```", Command(2, ("a", "--b", "c d"), 0, None, None)),
        ("- so:\n\n  ```sh\n  $ symveil a \\\n      --b  # exit 1: no\n  ```", Command(5, ("a", "--b"), 1, None, None)),
        ("```sh\nsymveil a  # exit 2: no\n```", Command(2, ("a",), 2, None, None)),
        ("```sh\nsymveil a --json > x.json\n```", Command(2, ("a", "--json"), 0, None, "x.json")),
        ("```sh\nsymveil a  # not run: a cluster\n```", Command(2, ("a",), 0, "not run: a cluster", None)),
        ("```sh\nsymveil a # not run: a cluster\n```", Command(2, ("a",), 0, "not run: a cluster", None)),
    ],
)
def test_commands_are_found(text: str, expected: Command) -> None:
    assert list(commands(text)) == [expected]


@pytest.mark.parametrize(
    "text", ["```python\nsymveil a\n```", "```text\nsymveil a\n```", "symveil a", "```\nmake a\n```"]
)
def test_other_text_is_no_command(text: str) -> None:
    assert list(commands(text)) == []


def test_a_block_with_a_title_is_a_file() -> None:
    (block,) = blocks('```csv title="a.csv"\nx,y\n```')
    assert block == Block("csv", 1, ("x,y",), "a.csv")


_FOR_NEWCOMERS = ("README.md", "docs/quickstart-trips.md", "docs/how-to/", "docs/tutorials/")


def test_pages_for_newcomers_promise_no_seconds() -> None:
    """What takes two seconds on a quiet machine takes ten on a busy one; only benchmarks name their circumstances."""
    for page in PAGES:
        if name(page).startswith(_FOR_NEWCOMERS):
            text = page.read_text(encoding="utf-8")
            for block in blocks(text):
                text = text.replace("\n".join(block.lines), "")
            assert re.findall(r"\b\d+(?:\.\d+)? (?:s|ms|seconds?)\b", text) == [], name(page)


def test_commands_are_quoted_as_every_shell_knows() -> None:
    """cmd.exe takes an apostrophe for a character."""
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            for line in block.lines:
                typed = line.partition("  #")[0]
                assert "'" not in typed or not typed.lstrip(" $").startswith("symveil "), f"{name(page)}: {line}"
