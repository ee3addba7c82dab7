"""Code in pages: which pages there are, their fenced blocks, and the commands in them.

A line of a block without a language, or of `sh` or `console`, that begins with `symveil` is a command and is run.
What it should exit with is 0, or what its comment says: "exit 1", "exit 2". A comment that begins with "not run:" gives
the reason why it cannot be. `> FILE` at the end keeps what the command prints. A block with a title is a file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_FENCE = re.compile(r'^ *(?P<ticks>`{3,}|~{3,}) *(?P<language>[\w-]*)(?: title="(?P<title>[^"]+)")?')
_SHELL = ("", "sh", "console", "bash", "shell")
_COMMENT = re.compile(r"\s{2,}#\s*(?P<comment>.*)$|\s#\s*(?P<reason>not run:.*)$")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    language: str
    line: int
    lines: tuple[str, ...]
    title: str | None = None


@dataclass(frozen=True)
class Command:
    line: int
    arguments: tuple[str, ...]
    status: int
    not_run: str | None
    keep_output: str | None


def blocks(text: str) -> Iterator[Block]:
    fence, language, title, begun, inside = "", "", None, 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        match = _FENCE.match(line)
        if not fence and match:
            fence, language, title, begun, inside = match["ticks"], match["language"], match["title"], number, []
        elif fence and match and match["ticks"].startswith(fence) and not match["language"]:
            yield Block(language, begun, tuple(inside), title)
            fence = ""
        elif fence:
            inside.append(line)
    assert not fence, f"line {begun}: a block without an end"


def commands(text: str) -> Iterator[Command]:
    for block in blocks(text):
        if block.language not in _SHELL:
            continue
        whole = ""
        for number, line in enumerate(block.lines, start=block.line + 1):
            whole += line.strip() if not whole else " " + line.strip()
            if whole.endswith("\\"):
                whole = whole[:-1].rstrip()
                continue
            typed, whole = whole.removeprefix("$ "), ""
            if typed.startswith("symveil "):
                yield _command(number, typed)


def _command(line: int, typed: str) -> Command:
    match = _COMMENT.search(typed)
    comment = (match["comment"] or match["reason"] or "") if match else ""
    words = shlex.split(typed[: match.start()] if match else typed)
    keep = words.pop() if ">" in words[-2:-1] else None
    return Command(
        line=line,
        arguments=tuple(words[1:-1] if keep else words[1:]),
        status=int(exits[1]) if (exits := re.search(r"\bexit ([12])\b", comment)) else 0,
        not_run=comment if comment.startswith("not run:") else None,
        keep_output=keep,
    )
