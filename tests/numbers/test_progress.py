"""One kind of progress, and the two kinds of before version 0.3, which still work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import symveil as sv
from symveil.numbers.progress import Phases, accepted, named, part, silent

SYSTEM = sv.StochasticSystem.from_transitions(
    [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2")], initial="0", observable=["a", "b"], secret=["1"]
)
EXPLORES: dict[str, Callable[..., object]] = {
    "verify_opacity": lambda progress: sv.verify_opacity(SYSTEM, progress=progress),
    "violation_probability": lambda progress: sv.violation_probability(SYSTEM, progress=progress),
    "enforce_opacity": lambda progress: sv.enforce_opacity(SYSTEM, epsilon=1, progress=progress).violation_before,
}


@pytest.fixture
def release(tmp_path: Path) -> Callable[..., object]:
    (tmp_path / "in.csv").write_text("id,sequence\n1,a b\n2,b\n")
    return lambda progress: sv.privatize_file(
        tmp_path / "in.csv", tmp_path / "out.csv", alphabet="ab", epsilon=1, progress=progress
    )


@pytest.mark.parametrize("name", EXPLORES)
def test_work_without_a_known_end_says_none(name: str) -> None:
    told: list[tuple[int, int | None]] = []
    EXPLORES[name](lambda done, total: told.append((done, total)))
    assert told and all(done >= 0 and total is None for done, total in told)


@pytest.mark.parametrize("name", EXPLORES)
def test_one_number_as_before(name: str) -> None:
    told: list[int] = []
    with pytest.warns(DeprecationWarning, match=r"take \(done, total\)") as warned:
        EXPLORES[name](told.append)
    assert told and all(isinstance(done, int) for done in told)
    assert len(warned) == 1
    assert warned[0].filename == __file__  # the caller's line, not one of ours
    rest: list[tuple[int, ...]] = []
    with pytest.warns(DeprecationWarning):
        EXPLORES[name](lambda *given: rest.append(given))
    assert rest == [(done,) for done in told]


def test_a_file_is_told_by_its_share(release: Callable[..., object]) -> None:
    told: list[tuple[int, int | None]] = []
    release(lambda done, total: told.append((done, total)))
    assert told[-1] == (1000, 1000) and told == sorted(told)
    more: list[tuple[str, int]] = []

    def tell(done: int, total: int | None, *, what: str, records: int) -> None:
        more.append((what, records))

    release(tell)
    assert more[-1] == ("releasing", 2)


def test_three_arguments_as_before(release: Callable[..., object]) -> None:
    told: list[tuple[object, ...]] = []
    for callback in (lambda what, share, records: told.append((what, share, records)), lambda *all_: told.append(all_)):
        told.clear()
        with pytest.warns(DeprecationWarning, match="a callable with 3 arguments is deprecated"):
            release(callback)
        assert told[-1] == ("releasing", 1.0, 2)
        assert all(isinstance(share, float) and 0 <= share <= 1 for _, share, _ in told)


@pytest.mark.parametrize("before", [1, 3])
def test_what_takes_two_numbers_is_left_alone(before: int) -> None:
    class Told:
        def __call__(self, done: int, total: int | None, note: str = "") -> None: ...

        def method(self, done: int, total: int | None) -> None: ...

    def by_name(done: int, total: int | None = None, **names: object) -> None: ...

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each in (silent, Told(), Told().method, by_name, dict[int, int]().setdefault, max):
            assert accepted(each, before=before) == each
        assert accepted(None, before=before) is None


def test_names_are_told_to_those_who_take_them() -> None:
    told: list[object] = []
    named(lambda done, total: told.append((done, total)), "x", records=5)(1, 2)
    named(lambda done, total, what: told.append(what), "x", records=5)(1, 2)
    named(lambda done, total, records=0: told.append(records), "x", records=5)(1, 2)
    named(lambda done, total, **names: told.append(names), "x")(1, None)
    named(None, "x")(1, 2)
    assert told == [(1, 2), "x", 5, {"what": "x"}]


def test_a_part_stays_within_its_bounds() -> None:
    told: list[tuple[int, int | None]] = []
    tell = part(lambda done, total: told.append((done, total)), 40, 60, of=100)
    for done, total in ((0, 3), (1, 3), (3, 3), (7, 3), (5, None), (0, 0)):
        tell(done, total)
    assert told == [(40, 100), (40, 100), (46, 100), (60, 100), (60, 100), (40, 100), (40, 100)]
    part(None, 0, 1, of=2)(1, 1)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_time_that_is_left_is_told_where_it_holds() -> None:
    """In the last pass over a file, from a tenth and five seconds on; not where a certificate was searched."""
    clock = Clock()
    phases = Phases("privatising", passes=("charging", "releasing"), clock=clock)
    for what, searched in (("charging", False), ("releasing", False), ("releasing", True)):
        if searched:
            phases = Phases("privatising", passes=("releasing",), clock=clock)
        begun = clock.now
        phases.report(0, 1000, what, records=0)
        said = []
        for step in range(1, 10):
            clock.now = begun + 20 * step
            if searched and step == 1:
                phases.report(1, 2, "certifying", behind=True)
            phases.report(100 * step, 1000, what, records=0)
            said.append(next((part for part in phases.text().split(", ") if "left" in part), ""))
        if what == "charging" or searched:
            assert said == [""] * 9
        else:
            minutes = [
                "about 3 min left",
                "about 3 min left",
                "about 3 min left",
                "about 2 min left",
                "about 2 min left",
            ]
            assert said == [*minutes, "about 80 s left", "about 60 s left", "about 40 s left", "about 20 s left"]


def test_what_a_log_has_does_not_depend_on_a_file() -> None:
    lines = []
    for share, records in ((1, 10_000), (977, 990_000)):
        phases = Phases("x", clock=lambda: 0.0)
        phases.report(share, 1000, "releasing", records=records)
        lines.append(phases.for_a_log())
    assert lines == ["releasing, 0 min so far"] * 2
