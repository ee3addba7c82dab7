"""Names and docstrings of the package say what is there; `word_list` has the words and the exceptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from .word_list import ALLOWED_IN, ALLOWED_NAMES, NAMES, BadWord, names_in, sentences_in, strings_in, words_in

SRC = Path(__file__).parents[2] / "src" / "symveil"
FILES = sorted(SRC.rglob("*.py"))


def listed(file: Path, bad: list[BadWord]) -> list[str]:
    return [f"{file.relative_to(SRC)}:{each}" for each in bad]


def test_no_name_explains_nothing() -> None:
    assert len(FILES) > 200
    bad = []
    for file in FILES:
        bad += listed(file, names_in(file.read_text("utf-8"), file=file.relative_to(SRC).as_posix()))
    assert bad == []


def test_no_docstring_is_a_riddle() -> None:
    assert [line for file in FILES for line in listed(file, sentences_in(file.read_text("utf-8")))] == []


def test_no_message_and_no_help_is_a_riddle() -> None:
    """Every text of the package, and the pages of the studio. (No user sees what the compiler of the loops refuses.)"""
    shown = [file for file in FILES if "loops" not in file.parts]
    assert [line for file in shown for line in listed(file, strings_in(file.read_text("utf-8")))] == []
    for page in SRC.rglob("*.html"):
        assert [str(each) for each in words_in(page.read_text("utf-8"))] == [], page.name


@pytest.mark.parametrize(
    "planted",
    [
        "def told_twice(): ...\n",
        "class FoundPair: ...\n",
        "def f(heard): ...\n",
        "places_seen = 1\n",
        "class A:\n    def __init__(self): self._kept = {}\n",
        "for place in (1, 2): ...\n",
        "[1 for said in ()]\n",
        "async def nobody(): ...\n",
    ],
)
def test_a_planted_name_is_rejected(planted: str) -> None:
    assert len(names_in(planted)) == 1


@pytest.mark.parametrize(
    "planted",
    [
        '"""Whoever reads this."""\n',
        'def f():\n    """The rate, as it was told."""\n',
        'class A:\n    """What is said of it."""\n',
        'class A:\n    def f(self):\n        """Ends\n\n        where nobody looks.\n        """\n',
    ],
)
def test_a_planted_docstring_is_rejected(planted: str) -> None:
    assert len(sentences_in(planted)) == 1


@pytest.mark.parametrize(
    "planted",
    [
        'raise ValueError("nobody was charged")\n',
        'notes.append(f"{count} rows were told apart")\n',
        'option(help="The rate is worked out.")\n',
        'LIMIT = 3\n"""What is said where it is reached."""\n',
    ],
)
def test_a_planted_message_is_rejected(planted: str) -> None:
    assert len(strings_in(planted)) == 1


def test_good_code_passes() -> None:
    code = 'def rows_of(path: str, *, expected: int, found: int):\n    """The rows of a file."""\n    return found\n'
    assert names_in(code) == sentences_in(code) == strings_in(code) == []
    assert sentences_in("# nobody reads a comment as a docstring\n") == []


def test_line_and_word_are_reported() -> None:
    (bad,) = names_in("x = 1\nplace = 2\n")
    assert (bad.line, bad.word) == (2, "place")
    (bad,) = sentences_in('x = 1\n\n\ndef f():\n    """First.\n\n    It is worked out.\n    """\n')
    assert (bad.line, bad.word) == (7, "worked out")


def test_every_exception_is_used_and_has_a_reason() -> None:
    """An exception that nothing needs would hide the next bad name."""
    text = "\n".join(file.read_text("utf-8") for file in FILES)
    assert all(len(reason) > 5 for reason in (*ALLOWED_NAMES.values(), *ALLOWED_IN.values()))
    assert [name for name in ALLOWED_NAMES if name not in text] == []
    for file, word in ALLOWED_IN:
        code = (SRC / file).read_text("utf-8")
        assert any(bad.instead == NAMES[word] for bad in names_in(code)), (file, word)
