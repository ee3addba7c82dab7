"""Noise is named by what is asked: the same question draws it again, another one draws other noise."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import spearmanr

from central.test_counts import batches
from central.test_event_logs import support_of
from symveil.central.cells import bin_names, cells_of
from symveil.central.counts import CountTerms, private_counts
from symveil.central.learned import LogLengths, LogMoves, LogRepeats, learn_law, learn_log
from symveil.central.limits import LIMITS
from symveil.central.noise import Query
from symveil.central.rules import Rules
from symveil.randomness import RecordKey, discrete_laplace

KEYS = RecordKey(bytes(32), "names")
SYMBOLS = [f"s{number}" for number in range(12)]
FILE = [[[(person + step) % 12 for step in range(1 + person % 9)]] for person in range(60)]
Drawn = dict[str, dict[bytes, tuple[int, Fraction]]]


def noise_of(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """What a run draws: for each query, the noise of each cell and its scale."""
    drawn: Drawn = {}
    plain = Query.answered

    def answered(query, table, keys, *, cells):
        answers = plain(query, table, keys, cells=cells)
        own = [(answer - total, query.scale) for answer, total in zip(answers, table, strict=True)]
        drawn[query.name] = dict(zip(cells, own, strict=True))
        return answers

    with monkeypatch.context() as patch:
        patch.setattr(Query, "answered", answered)
        run()
    return drawn


def counted() -> object:
    cells = cells_of("ngrams:2", symbols=12, longest=20)
    terms = CountTerms(epsilon=Fraction(1), bound="auto", confidence=0.9)
    return private_counts(cells, lambda: batches(FILE), len(FILE), terms, names=SYMBOLS, keys=KEYS)


def learned() -> object:
    support = support_of(1, 9, symbols=12)
    return learn_log(
        support, lambda: batches(FILE), len(FILE), symbols=SYMBOLS, rules=Rules(), epsilon=Fraction(1),
        neighbours="add-remove", keys=KEYS,
    )  # fmt: skip


def alike(one: dict[bytes, tuple[int, Fraction]], other: dict[bytes, tuple[int, Fraction]]) -> tuple[float, float]:
    """How the noise of the n-th cell of one table goes with that of the n-th of the other.

    The rank correlation in their scales, and the share of cells in which one is a small multiple of the other, up to
    rounding: noise of 2³² steps and more is that by chance in less than one cell of 10⁶.
    """
    pairs = list(zip(one.values(), other.values(), strict=False))
    assert len(pairs) > 100
    shares = np.array([[float(z / scale) for z, scale in pair] for pair in pairs])
    multiples = [
        any(abs(up * a - down * b) <= 8 for up in range(1, 5) for down in range(1, 5)) for (a, _), (b, _) in pairs
    ]
    return abs(float(spearmanr(shares[:, 0], shares[:, 1]).statistic)), float(np.mean(multiples))


@pytest.mark.parametrize(
    ("run", "query", "where", "results"),
    [
        (counted, "ngrams:2", "counts.chosen_bound", [(4, 0.0), (8, 0.0)]),
        (learned, "law of a log: moves", "learned.lower_quartile", [3, 5]),
    ],
)
def test_another_outcome_of_an_earlier_stage_has_other_noise(
    run, query: str, where: str, results, monkeypatch: pytest.MonkeyPatch, set_limits: Callable[..., None]
) -> None:
    """Made again with another bound or another quartile: no cell has the noise that it had, nor a multiple of it.

    144 cells and more: by chance the rank correlation of independent noise is beyond 0.45 once in 10⁷.
    """
    set_limits(LIMITS, probes=20)
    drawn = []
    for result in (results[0], results[0], results[1]):
        with monkeypatch.context() as patch:
            patch.setattr(f"symveil.central.{where}", lambda *_, result=result, **__: result)
            drawn.append(noise_of(run, monkeypatch))
    first, again, other = drawn
    assert first == again
    assert {name for name in first if first[name] == other[name]} == set(first) - {
        query
    }  # what came before is the same
    shared = first[query].keys() & other[query].keys()
    assert not any(first[query][cell][0] == other[query][cell][0] for cell in shared)
    correlation, multiples = alike(first[query], other[query])
    assert correlation < 0.45 and multiples == 0


def test_noise_by_number_would_go_with_the_scale() -> None:
    """What this replaces: from the same stream at another scale many cells have a multiple, so two tables show sums."""

    def by_number(scale: Fraction) -> dict[bytes, tuple[int, Fraction]]:
        names = [f"moves\0{number}".encode() for number in range(150)]
        streams = KEYS.streams(KEYS.names(names))
        return {name: (discrete_laplace(scale, streams.of_row(row)), scale) for row, name in enumerate(names)}

    correlation, multiples = alike(by_number(Fraction(3 << 32)), by_number(Fraction(5 << 32)))
    assert correlation > 0.45 and multiples > 0.2


def test_noise_follows_symbols_and_not_their_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symveil.central.learned.fitted", lambda support, *_: {})
    support = support_of(1, 9, symbols=12)
    turned = [SYMBOLS[(code + 5) % 12] for code in range(12)]

    def law(symbols) -> object:
        return learn_law(
            support, lambda: batches(FILE), len(FILE), symbols=symbols, zone_names=["all"], rules=Rules(), classes={},
            epsilon=Fraction(1), neighbours="replace", keys=KEYS,
        )  # fmt: skip

    one, other = (noise_of(lambda names=names: law(names), monkeypatch) for names in (SYMBOLS, turned))
    assert one == other and list(one["law of words: starts"]) != list(other["law of words: starts"])


def test_every_cell_has_a_name_of_its_own() -> None:
    for split in (None, 3):
        support = support_of(2, 7, split, symbols=12)
        for table in (LogLengths(support), LogRepeats(support), LogMoves(support)):
            assert len(set(table.names(SYMBOLS))) == len(table)
        for cells in support.cells().values():
            assert len(set(cells.names(SYMBOLS))) == len(cells)
    assert len(set(bin_names(15))) == 15
    early, late = (set(LogMoves(support_of(2, 7, split, symbols=12)).names(SYMBOLS)) for split in (3, 4))
    assert len(early & late) == 12  # starts only: other positions are other cells


@pytest.mark.parametrize(
    "change", [{"epsilon": Fraction(2)}, {"bound": 4}, {"neighbours": "replace"}, {"delta": Fraction(1, 100)}]
)
def test_everything_that_decides_noise_is_in_its_name(change) -> None:
    given = {"name": "visits", "epsilon": Fraction(1), "bound": 3}
    cells = [b"%d" % number for number in range(150)]
    one, other = (Query(**each).answered([0] * 150, KEYS, cells=cells) for each in (given, given | change))  # type: ignore[arg-type]
    assert not any(a == b for a, b in zip(one, other, strict=True))
    assert abs(spearmanr(one, other).statistic) < 0.45
