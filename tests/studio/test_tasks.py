"""What a form can say, a task answers or refuses: junk in a field is a message for that field, never a breakdown."""

from __future__ import annotations

import pytest

from symveil.errors import SymveilError
from symveil.studio.answer import Answer
from symveil.studio.panel import Panel
from symveil.studio.panels.compare import ComparePanel
from symveil.studio.panels.ledger import LedgerPanel
from symveil.studio.panels.map import MapPanel
from symveil.studio.panels.opacity import OpacityPanel
from symveil.studio.panels.proofs import ProofsPanel
from symveil.studio.panels.release import ReleasePanel
from symveil.studio.worker import Task

JUNK = ("", " ", "abc", "-1", "0", "1e400", "nan", "inf", "1/0", "1/3", "99999999999999999999", "é", "\x00", "a" * 5000)
SMALL = {"word": "abca", "calibration": "classic"}  # answered at once, so that many can be asked


def task_of(kind: type[Panel]) -> Task:
    return kind.task(object.__new__(kind))


CASES = [
    (kind, name)
    for kind in (ReleasePanel, ComparePanel, MapPanel, OpacityPanel, ProofsPanel, LedgerPanel)
    for name in kind.defaults
    if name not in kind.files and not (kind is MapPanel and name in ("alphabet", "word", "separator"))
]


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda each: getattr(each, "name", each))
def test_junk_is_answered_or_refused(kind: type[Panel], name: str) -> None:
    usual = {**kind.defaults, **{key: value for key, value in SMALL.items() if key in kind.defaults}, "address": ""}
    for junk in JUNK:
        try:
            answer = task_of(kind)({**usual, name: junk}, lambda *_: None)
        except SymveilError as error:
            assert "\n" not in str(error)
        else:
            assert isinstance(answer, Answer)
            assert answer.json() and answer.report() and isinstance(answer.csv(), str)


@pytest.mark.parametrize("kind", [ReleasePanel, ComparePanel], ids=lambda each: each.name)
@pytest.mark.parametrize("word", ["", "a", "aaaa"])
@pytest.mark.parametrize("alphabet", ["a", "ab"])
def test_the_smallest_words_have_an_answer(kind: type[Panel], alphabet: str, word: str) -> None:
    answer = task_of(kind)({**kind.defaults, "alphabet": alphabet, "word": word}, lambda *_: None)
    assert answer.html().startswith('<div class="cards"')


def test_a_long_word_is_summed_up_or_said_to_be_too_long() -> None:
    for length in (40, 150, 400):
        values = {**ReleasePanel.defaults, "word": "abcd" * (length // 4)}
        answer = task_of(ReleasePanel)(values, lambda *_: None)
        trellis = answer.sections[-1]
        assert ("summed up" in trellis.heading) == (length <= 150)
        assert len(trellis.svg) < 150_000
