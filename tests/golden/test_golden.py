"""The package answers as golden.json says. Every third quick setting is compared in each run, all by `make golden`."""

from __future__ import annotations

import json

import pytest

from .record import GOLDEN, answer, differences, every_setting

SETTINGS = every_setting()
ANSWERS = json.loads(GOLDEN.read_text())
QUICK = [setting for setting in SETTINGS if not setting.slow][::3]
REST = [setting for setting in SETTINGS if setting not in QUICK and setting.here]
GROUPS = 12


def _compared(settings: list) -> list[str]:
    return [f"{s.name}{line}" for s in settings for line in differences(ANSWERS.get(s.name), answer(s))]


@pytest.mark.parametrize("group", range(GROUPS))
def test_answers_are_those_of_the_golden_file(group: int) -> None:
    assert not _compared(QUICK[group::GROUPS])


@pytest.mark.soak
@pytest.mark.parametrize("group", range(GROUPS))
def test_the_other_answers_are_those_of_the_golden_file(group: int) -> None:
    assert not _compared(REST[group::GROUPS])


def test_every_setting_is_in_the_golden_file_and_nothing_else() -> None:
    assert set(ANSWERS) == {setting.name for setting in SETTINGS}


def test_few_settings_are_refused() -> None:
    """A yardstick of refusals would measure nothing."""
    refused = [name for name, value in ANSWERS.items() if "refused" in value or value.get("status") == 2]
    assert len(refused) < len(ANSWERS) / 20


@pytest.mark.parametrize(
    ("golden", "now", "expected"),
    [
        ({"a": 1.0}, {"a": 1.0 + 1e-12}, 0),
        ({"a": 1.0}, {"a": 1.001}, 1),
        ({"a": [1, 2]}, {"a": [1, 3]}, 1),
        ({"a": [1, 2]}, {"a": [1]}, 1),
        ({"a": 1}, {"b": 1}, 2),
        ({"a": "x"}, {"a": "y"}, 1),
        (None, {"a": 1}, 1),
    ],
)
def test_differences_are_named(golden: object, now: object, expected: int) -> None:
    assert len(list(differences(golden, now))) == expected
