"""Oracles shared by the tests: words written out one by one, and laws computed from their definitions.

Nothing here calls the code under test to compute an expected value: distances, counts and
weights come from `itertools` and `math`.
"""

from __future__ import annotations

import itertools
import math
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import symveil as sv
from symveil.mechanisms.distance_weighted import Jones2019Printed
from symveil.mechanisms.mechanism import Mechanism

settings.register_profile("symveil", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("symveil")

# in the background of a shell Ctrl-C is ignored, and so it would be in the commands that tests interrupt
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Spark's JVM lives for seconds: compiling its bytecode a second time, and better, takes longer than it saves
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# conftest files have one name and no examples: collecting them as doctest modules would only make them clash
collect_ignore_glob = ["conftest.py", "*/conftest.py", "fixtures/*/make.py"]  # made by, and for, another version

SYMBOLS = "abcdefgh"


@pytest.hookimpl(tryfirst=True)  # before the names of groups are sent to the process that hands out the tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of a file stay in one process: what they compute once is computed once, not once in each process.

    Handing out files instead of single tests also takes half the processor time.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))


@pytest.fixture(autouse=True)
def days_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is a day later: what compares two manifests fails by day too, not only at midnight."""
    day = date(2020, 1, 1)

    def tomorrow() -> str:
        nonlocal day
        day += timedelta(days=1)
        return f"{day.isoformat()}T00:00:00+00:00"

    for module in ("ledger.accounts", "ledger.charging", "ledger.lifecycle"):
        monkeypatch.setattr(f"symveil.{module}.now", tomorrow)
    monkeypatch.setattr("symveil.release.protocol.today", lambda: tomorrow()[: len("2020-01-01")])


@pytest.fixture
def set_limits() -> Iterator[Callable[..., None]]:
    """Other limits of a room until the end of a test: `set_limits(LIMITS, attacker_words=0)`."""
    with ExitStack() as usual:
        yield lambda limits, **others: usual.enter_context(limits.changed(**others))


def hamming(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    return sum(left != right for left, right in zip(one, other, strict=True))


@dataclass(frozen=True)
class ListedWords:
    """The free language of `length` over `size` symbols with every word listed."""

    length: int
    size: int
    words: tuple[tuple[int, ...], ...]
    rows: np.ndarray

    def distances_from(self, word: tuple[int, ...]) -> list[int]:
        return _distances(self.length, self.size, word)

    @property
    def counts(self) -> Counter[int]:
        return Counter(self.distances_from(self.words[0]))

    @property
    def language(self) -> sv.FreeLanguage:
        return sv.words(SYMBOLS[: self.size], self.length)

    def some_words(self, at_most: int) -> list[int]:
        """Indices of at most `at_most` words, spread over the language, the last one included."""
        step = max(1, len(self.words) // at_most)
        return sorted({*range(0, len(self.words), step), len(self.words) - 1})[-at_most:]


@cache
def _write_out(length: int, size: int) -> ListedWords:
    words = tuple(itertools.product(range(size), repeat=length))
    rows = np.array(words, dtype=np.int32).reshape(len(words), length)
    return ListedWords(length, size, words, rows)


@lru_cache(maxsize=4096)
def _distances(length: int, size: int, word: tuple[int, ...]) -> list[int]:
    return [hamming(word, other) for other in _write_out(length, size).words]


@pytest.fixture(scope="session")
def write_out() -> Callable[[int, int], ListedWords]:
    return _write_out


# --- laws from their definitions -------------------------------------------------------------------

LogWeights = Callable[[ListedWords, float, int], dict[int, float]]


def _distance_utility(calibration: str) -> LogWeights:
    """ln r(ℓ) = −ηℓ, η = ε/2b classic (B26 [21]), ε/b tight with b at most n (docs/theory/losses.md)."""

    def log_weights(written: ListedWords, epsilon: float, b: int) -> dict[int, float]:
        eta = epsilon / (2 * b) if calibration == "classic" else epsilon / max(1, min(b, written.length))
        return {distance: -eta * distance for distance in written.counts}

    return log_weights


def _inverse_utility(calibration: str, offset: float) -> LogWeights:
    """ln r(ℓ) = εa(b+a)/(2b(ℓ+a)) (J19 Definition 12, Lemma 1); tight drops the 2."""

    def log_weights(written: ListedWords, epsilon: float, b: int) -> dict[int, float]:
        if calibration == "tight":
            b, halved = max(1, min(b, written.length)), 1
        else:
            halved = 2
        scale = epsilon * offset * (b + offset) / (halved * b)
        return {distance: scale / (distance + offset) for distance in written.counts}

    return log_weights


def _staircase(calibration: str) -> LogWeights:
    """ln r(ℓ) = −ε⌈(ℓ−t+1)⁺/b⌉ with the t ∈ 1..b of the least expected error (docs/theory/losses.md)."""

    def log_weights(written: ListedWords, epsilon: float, b: int) -> dict[int, float]:
        height = epsilon if calibration == "tight" else epsilon / 2
        counts = written.counts

        def weights(t: int) -> dict[int, float]:
            return {distance: -height * math.ceil(max(distance - t + 1, 0) / b) for distance in counts}

        def expected_error(t: int) -> float:
            mass = {distance: counts[distance] * math.exp(log) for distance, log in weights(t).items()}
            return math.fsum(distance * value for distance, value in mass.items()) / math.fsum(mass.values())

        return weights(min(range(1, b + 1), key=expected_error))

    return log_weights


def _printed(offset: float) -> LogWeights:
    """J19 equation 18 with ℓ over 0..n: ρ(ℓ) = exp(εa(b+a)/(2b(ℓ+a))) shared by the N(ℓ) words (§12 E1)."""

    def log_weights(written: ListedWords, epsilon: float, b: int) -> dict[int, float]:
        scale = epsilon * offset * (b + offset) / (2 * b)
        return {distance: scale / (distance + offset) - math.log(n) for distance, n in written.counts.items()}

    return log_weights


@dataclass(frozen=True)
class Variant:
    """A mechanism with its parameters, and where it has one, the definition of its weights."""

    name: str
    make: Callable[..., Mechanism]
    log_weights: LogWeights | None
    private: bool = True
    tight: bool = False

    def log_law(self, written: ListedWords, epsilon: float, b: int) -> dict[int, float]:
        """ln P(w'|w) by distance: weights summed word by word, then normalised."""
        assert self.log_weights is not None
        logs = self.log_weights(written, epsilon, b)
        highest = max(logs.values())
        total = math.fsum(math.exp(logs[d] - highest) for d in written.distances_from(written.words[0]))
        return {distance: log - highest - math.log(total) for distance, log in logs.items()}


def _make(kind: type[Mechanism], **fixed: object) -> Callable[..., Mechanism]:
    def make(language: sv.FreeLanguage, epsilon: object, adjacency: object = 1) -> Mechanism:
        return kind(language, epsilon=epsilon, adjacency=adjacency, **fixed)  # type: ignore[arg-type]

    return make


CALIBRATIONS = ("tight", "classic")
OFFSETS = {"1": 1.0, "1/2": 0.5, "3": 3.0}

VARIANTS = [
    *(
        Variant(
            f"exponential-{calibration}",
            _make(sv.Exponential, calibration=calibration),
            _distance_utility(calibration),
            tight=calibration == "tight",
        )
        for calibration in CALIBRATIONS
    ),
    *(
        Variant(
            f"inverse-{calibration}-offset-{spelled}",
            _make(sv.Exponential, calibration=calibration, utility="inverse", offset=spelled),
            _inverse_utility(calibration, offset),
            tight=calibration == "tight",
        )
        for calibration in CALIBRATIONS
        for spelled, offset in OFFSETS.items()
    ),
    *(
        Variant(
            f"staircase-{calibration}",
            _make(sv.Staircase, calibration=calibration),
            _staircase(calibration),
            tight=calibration == "tight",
        )
        for calibration in CALIBRATIONS
    ),
    *(
        Variant(
            f"permute-and-flip-{calibration}",
            _make(sv.PermuteAndFlip, calibration=calibration),
            None,
            tight=calibration == "tight",
        )
        for calibration in CALIBRATIONS
    ),
    *(
        Variant(
            f"jones2019-printed-offset-{spelled}",
            _make(Jones2019Printed, offset=spelled),
            _printed(offset),
            private=False,
        )
        for spelled, offset in OFFSETS.items()
    ),
]


def _ids(variant: Variant) -> str:
    return variant.name


@pytest.fixture(scope="session", params=VARIANTS, ids=_ids)
def variant(request: pytest.FixtureRequest) -> Variant:
    """Every mechanism."""
    return request.param


@pytest.fixture(scope="session", params=[v for v in VARIANTS if v.private], ids=_ids)
def private_variant(request: pytest.FixtureRequest) -> Variant:
    """Every mechanism that keeps its promise."""
    return request.param


@pytest.fixture(scope="session", params=[v for v in VARIANTS if v.log_weights is not None], ids=_ids)
def weighted_variant(request: pytest.FixtureRequest) -> Variant:
    """Every mechanism that is defined by weights r(ℓ)."""
    return request.param


@pytest.fixture(scope="session", params=[v for v in VARIANTS if v.tight], ids=_ids)
def tight_variant(request: pytest.FixtureRequest) -> Variant:
    """Every mechanism that spends the whole budget."""
    return request.param


@pytest.fixture(
    scope="session",
    params=[v for v in VARIANTS if v.name.endswith(("-tight", "tight-offset-1", "printed-offset-1"))],
    ids=_ids,
)
def one_of_each(request: pytest.FixtureRequest) -> Variant:
    """One mechanism of each kind, where the calibration makes no difference."""
    return request.param


@pytest.fixture
def shared_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder for all tests of a run: nothing they compute comes from, or stays in, the user's own."""
    folder = tmp_path_factory.getbasetemp() / "kept"
    monkeypatch.setenv("SYMVEIL_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """A test that runs a command in this process leaves no signal ignored: later pools could not be ended."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
