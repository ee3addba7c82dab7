"""Estimates from private files: every form and format, refusals in one line, old manifests, and coverage."""

from __future__ import annotations

import itertools
import json
import random
import re
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import symveil as sv
from symveil.estimation.edit_tables import EditLengths
from symveil.estimation.statistics import read_statistic
from symveil.estimation.substitution_tables import SubstitutionTables
from symveil.estimation.table import Batch, windows
from symveil.formats.manifest import manifest_path
from symveil.languages.language import words_of_any_length
from symveil.randomness import NotPrivateSeededBits
from symveil.release.rerelease import noise_of_mechanism

ROOT = Path(__file__).parents[2]
SURE = 1 - 1e-6
"""Where a truth outside of all intervals at once would be a mistake: a false alarm in a million runs."""
SCHEMA = json.loads((ROOT / "docs" / "manifest.schema.json").read_text())


def write_words(folder: Path, words: list[str], form: str = "wide.csv") -> tuple[Path, dict[str, str]]:
    """The words in a file of some form, and the options to read it with."""
    kind = form.partition(".")[2]
    file = folder / f"true.{kind}"
    if form == "wide.csv":
        file.write_text("id,pages\n" + "".join(f"{i},{' '.join(word)}\n" for i, word in enumerate(words)))
        return file, {}
    if form == "long.csv":
        rows = [f"{i},{k},{symbol}\n" for i, word in enumerate(words) for k, symbol in enumerate(word)]
        file.write_text("who,when,what\n" + "".join(rows))
        return file, {"case": "who", "order": "when", "symbol": "what"}
    if form == "wide.jsonl":
        file.write_text("".join(json.dumps({"id": i, "pages": list(word)}) + "\n" for i, word in enumerate(words)))
        return file, {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": range(len(words)), "pages": [list(word) for word in words]}), file)
    return file, {}


def some_words(count: int, seed: int = 1, alphabet: str = "abc") -> list[str]:
    chooser = random.Random(seed)
    return ["".join(chooser.choices(alphabet, weights=[5, 2, 1], k=chooser.randint(1, 6))) for _ in range(count)]


def private(folder: Path, words: list[str], form: str = "wide.csv", **named: object) -> Path:
    source, options = write_words(folder, words, form)
    out = source.with_name(f"private.{form.partition('.')[2]}")
    sv.privatize_file(source, out, alphabet="abc", **options, **named)  # type: ignore[arg-type]
    return out


def pairs(words: list[str]) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for word in words:
        for pair in itertools.pairwise(word):
            found[pair] = found.get(pair, 0) + 1
    return found


@pytest.mark.parametrize("form", ["wide.csv", "long.csv", "wide.jsonl", "wide.parquet"])
def test_every_form(tmp_path: Path, form: str) -> None:
    words = some_words(400)
    found = sv.estimate(private(tmp_path, words, form, epsilon=4), "ngrams:2", confidence=SURE)
    truth = pairs(words)
    assert len(found) == 9 and found.method == "exact-unbiased"
    for index in range(9):
        row = found.row(index)
        assert row["low_all"] <= truth.get(tuple(row["symbols"]), 0) <= row["high_all"]
    assert abs(sum(found.numbers["estimate"]) - sum(truth.values())) < 1e-9  # sums stay
    assert abs(sum(found.numbers["consistent"]) - sum(truth.values())) < 1e-9


@pytest.mark.parametrize(
    "named",
    [
        {"epsilon": 6, "mechanism": "staircase", "adjacency": 2},
        {"epsilon": 6, "mechanism": "exponential", "adjacency": 3},
        {"epsilon": 8, "mechanism": "exponential", "utility": "inverse"},
        {"epsilon": 5, "mechanism": "permute-and-flip"},
    ],
    ids=["staircase", "several rates", "inverse", "permute-and-flip"],
)
@pytest.mark.parametrize("statistic", ["visits", "ngrams:2", "od", "positions", "transitions", "first"])
def test_every_mechanism_and_manifest(tmp_path: Path, named: dict[str, object], statistic: str) -> None:
    """The manifest passes its schema; without `law`, as 0.2 wrote it, the answer is the same."""
    out = private(tmp_path, some_words(60), **named)
    manifest = manifest_path(out)
    told = json.loads(manifest.read_text())
    jsonschema.validate(told, SCHEMA)
    found = sv.estimate(out, statistic)
    del told["law"]
    told["format"] = "symveil-manifest/1"
    manifest.write_text(json.dumps(told))
    assert sv.check_manifest(manifest).holds
    older = sv.estimate(out, statistic)
    for name, values in found.numbers.items():
        assert np.allclose(older.numbers[name], values, rtol=1e-9, atol=1e-9)
    assert np.array_equal(older.codes, found.codes)


def test_lengths_are_exact(tmp_path: Path) -> None:
    words = some_words(50)
    found = sv.estimate(private(tmp_path, words, epsilon=1), "lengths")
    assert {row["length"]: row["estimate"] for row in found.document()["rows"]} == {
        n: sum(len(word) == n for word in words) for n in {len(word) for word in words}
    }
    assert not found.numbers["standard_error"].any()
    spread = sv.estimate(tmp_path / "private.csv", "lengths", target="population")
    assert spread.numbers["standard_error"].all()


def test_presence_by_length(tmp_path: Path) -> None:
    words = some_words(3000)
    found = sv.estimate(private(tmp_path, words, epsilon=5), "presence", confidence=SURE)
    assert len(found) >= 3
    for row in found.document()["rows"]:
        truth = sum(row["symbols"][0] in word for word in words if len(word) == row["length"])
        assert row["low_all"] <= truth <= row["high_all"]
    with pytest.raises(sv.SymveilError, match="draws symbols independently"):
        sv.estimate(private(tmp_path, words, epsilon=5, mechanism="permute-and-flip", adjacency=2), "presence")


def test_transitions_are_shares(tmp_path: Path) -> None:
    found = sv.estimate(private(tmp_path, some_words(2000), epsilon=4), "transitions")
    by_row: dict[str, float] = {}
    for row in found.document()["rows"]:
        by_row[row["symbols"][0]] = by_row.get(row["symbols"][0], 0.0) + row["consistent"]
        assert 0 <= row["low_all"] <= row["low"] <= row["high"] <= row["high_all"] <= 1
    assert by_row == pytest.approx(dict.fromkeys("abc", 1.0))


def test_clusters_widen_what_is_said_of_a_population(tmp_path: Path) -> None:
    """Each person repeats one word 20 times: 40 persons know less than 800 strangers."""
    words = [word for word in some_words(40, seed=3) for _ in range(20)]
    source = tmp_path / "true.csv"
    source.write_text("id,who,pages\n" + "".join(f"{i},p{i // 20},{' '.join(w)}\n" for i, w in enumerate(words)))
    out = tmp_path / "private.csv"
    sv.privatize_file(source, out, alphabet="abc", epsilon=5, keep=("who",))
    alone = sv.estimate(out, "visits", target="population")
    together = sv.estimate(out, "visits", target="population", cluster="who")
    assert (together.numbers["standard_error"] > 2 * alone.numbers["standard_error"]).all()
    with pytest.raises(sv.SymveilError, match="one column 'nobody'"):
        sv.estimate(out, "visits", target="population", cluster="nobody")


def test_refusals_name_the_epsilon_that_is_enough(tmp_path: Path) -> None:
    words = some_words(100)
    with pytest.raises(sv.SymveilError, match="epsilon (1|1.5) would have been enough") as refused:
        sv.estimate(private(tmp_path, words, epsilon=0.1), "ngrams:3")
    enough = float(str(refused.value).split("epsilon ")[-1].split(" ")[0])
    sv.estimate(private(tmp_path, words, epsilon=enough), "ngrams:3")
    with pytest.raises(sv.SymveilError, match="nothing can be said"):
        sv.estimate(private(tmp_path, words, epsilon=enough - 0.5), "ngrams:3")


def test_an_exact_zero_is_refused(tmp_path: Path) -> None:
    """Two symbols, three of them, first step 2: pairs cannot be told from this staircase at all."""
    source = tmp_path / "true.csv"
    source.write_text("id,pages\n" + "".join(f"{i},a b a\n" for i in range(100)))
    out = tmp_path / "private.csv"
    sv.privatize_file(source, out, alphabet="ab", epsilon=1, mechanism="staircase", adjacency=3)
    law = json.loads(manifest_path(out).read_text())["law"][0]
    assert (law["first_step"], law["reach"]) == (2, 3)
    with pytest.raises(sv.SymveilError, match="found 0: .* epsilon 2 would have been enough"):
        sv.estimate(out, "ngrams:2")  # at 2 the first step is 1
    assert len(sv.estimate(out, "visits")) == 2


def test_presence_names_an_epsilon_too(tmp_path: Path) -> None:
    words = ["abcabcabc"] * 50
    with pytest.raises(sv.SymveilError, match="would have been enough") as refused:
        sv.estimate(private(tmp_path, words, epsilon=1), "presence")
    enough = float(str(refused.value).split("epsilon ")[-1].split(" ")[0])
    assert len(sv.estimate(private(tmp_path, words, epsilon=enough), "presence")) == 3


def test_what_is_not_the_release_is_refused(tmp_path: Path) -> None:
    out = private(tmp_path, some_words(30), epsilon=2)
    text = out.read_text()
    out.write_text(text.replace("a", "b", 1))
    with pytest.raises(sv.SymveilError, match="the bytes that the manifest tells"):
        sv.estimate(out, "visits")
    out.write_text(text)
    manifest = manifest_path(out)
    moved = tmp_path / "elsewhere.json"
    manifest.rename(moved)
    with pytest.raises(sv.SymveilError, match="`manifest`"):
        sv.estimate(out, "visits")
    assert len(sv.estimate(out, "visits", manifest=moved)) == 3
    told = json.loads(moved.read_text())
    for spoiled in (told | {"law": [{}]}, told | {"law": 3}, told | {"alphabet": ["x"]}, told | {"counts": {}}):
        moved.write_text(json.dumps(spoiled))
        with pytest.raises(sv.SymveilError):
            sv.estimate(out, "visits", manifest=moved)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"statistic": "speed"}, "statistic: expected one of visits"),
        ({"statistic": "ngrams:0"}, "statistic: expected one of"),
        ({"target": "world"}, "target: expected file or population"),
        ({"confidence": 1}, "confidence: expected a number between 0 and 1"),
    ],
)
def test_wrong_words(tmp_path: Path, named: dict[str, object], message: str) -> None:
    with pytest.raises(sv.SymveilError, match=message):
        sv.estimate(private(tmp_path, some_words(3), epsilon=2), **{"statistic": "visits", **named})  # type: ignore[arg-type]


def test_few_sequences(tmp_path: Path) -> None:
    """A closed form needs no groups; what needs them says how many."""
    out = private(tmp_path, some_words(5), epsilon=3)
    assert np.isfinite(sv.estimate(out, "ngrams:2").numbers["standard_error"]).all()
    with pytest.raises(sv.SymveilError, match="at least 20"):
        sv.estimate(out, "visits", target="population")
    with pytest.raises(sv.SymveilError, match="at least 20"):
        sv.estimate(out, "ngrams:3")


def test_an_estimate_is_data_and_pictures(tmp_path: Path) -> None:
    found = sv.estimate(private(tmp_path, some_words(50), epsilon=3), "od")
    frame = found.to_pandas()
    assert list(frame.columns[:3]) == ["symbol_1", "symbol_2", "released"]
    assert found.to_svg().count("<rect") == 10  # nine cells and the card
    bars = sv.estimate(tmp_path / "private.csv", "positions")
    assert len(re.findall("<rect[^>]*><title>", bars.to_svg())) == len(bars)
    assert list(bars.table.column_names[:2]) == ["symbol", "position"]
    assert json.loads(json.dumps(found.document(2)))["rows"][0]["symbols"]


def coverage(mechanism: str, runs: int, statistic: str = "ngrams:2", epsilon: int = 4) -> tuple[float, float]:
    """How often intervals cover: the share of cells with a true count of 5 or more, and of tables all at once."""
    covered = cover_all = rows = 0
    words = some_words(600)
    codes = np.array(["abc".index(symbol) for word in words for symbol in word], dtype=np.int32)
    lengths = np.array([len(word) for word in words])
    law = sv.select_mechanism(
        words_of_any_length("abc"),
        epsilon=epsilon,
        mechanism=mechanism,
        adjacency=1 if mechanism == "exponential" else 2,
    )
    noise = noise_of_mechanism(law)
    asked = read_statistic(statistic)
    truth = np.zeros((3,) * asked.order)
    np.add.at(truth, windows(asked, Batch(codes, lengths, np.zeros_like(lengths))).symbols, 1)
    counted = truth >= 5
    for seed in range(runs):
        released, ends = law.release_flat(codes, lengths, bits=NotPrivateSeededBits(seed))
        tables = SubstitutionTables(asked, noise, target="file", groups=100)
        tables.add(Batch(released, ends, np.arange(len(ends)) % 100))
        low, high, low_all, high_all = tables.finish().intervals(0.95)
        covered += int(((low <= truth) & (truth <= high))[counted].sum())
        cover_all += bool(((low_all <= truth) & (truth <= high_all)).all())
        rows += int(counted.sum())
    return covered / rows, cover_all / runs


@pytest.mark.parametrize("mechanism", ["exponential", "staircase"])
def test_intervals_cover(mechanism: str) -> None:
    """95 % intervals over 60 releases of a file: outside of these bounds once in some 10⁴ runs (seeds are fixed)."""
    each, everything = coverage(mechanism, 60)
    assert 0.90 <= each <= 0.99
    assert everything >= 0.83


def test_intervals_cover_where_little_was_changed() -> None:
    """At epsilon 8 few words decide about a cell: a normal law alone covers all at once in three of four releases."""
    each, everything = coverage("exponential", 60, "od", epsilon=8)
    assert 0.92 <= each <= 0.99
    assert everything >= 0.9


def test_lengths_behind_an_edit_channel_cover() -> None:
    """All at once, in 60 releases with fixed seeds; lengths that do not occur have errors far below one sequence."""
    lengths = np.repeat([2, 3, 4, 6], [160, 330, 160, 150])
    codes = np.zeros(int(lengths.sum()), dtype=np.int32)
    channel = sv.EditChannel("abc", epsilon=6)
    covered = 0
    for seed in range(60):
        released, ends = channel.release_flat(codes, lengths, bits=NotPrivateSeededBits(seed))
        table = EditLengths(channel.parameters, target="file", groups=100, confidence=0.95)
        table.add(Batch(released, ends, np.arange(len(ends)) % 100))
        found = table.finish()
        truth = np.bincount(lengths, minlength=len(found.estimate))[: len(found.estimate)]
        _, _, low_all, high_all = found.intervals(0.95)
        covered += bool(((low_all <= truth) & (truth <= high_all))[found.listed].all())
    assert covered >= 54


@pytest.mark.soak
@pytest.mark.parametrize("epsilon", [6, 8, 10])
@pytest.mark.parametrize("mechanism", ["exponential", "staircase"])
def test_intervals_cover_in_300_simulations_with_little_noise(mechanism: str, epsilon: int) -> None:
    """Counts are whole, so that the share of single cells cannot be hit as well as with more noise."""
    for statistic in ("visits", "ngrams:2", "od", "first"):
        each, everything = coverage(mechanism, 300, statistic, epsilon)
        assert 0.9 <= each <= 0.99, statistic
        assert everything >= 0.89, statistic


@pytest.mark.soak
@pytest.mark.parametrize("statistic", ["visits", "ngrams:2", "od", "first"])
@pytest.mark.parametrize("mechanism", ["exponential", "staircase", "permute-and-flip"])
def test_intervals_cover_in_300_simulations(mechanism: str, statistic: str) -> None:
    each, everything = coverage(mechanism, 300, statistic)
    assert 0.93 <= each <= 0.97
    assert everything >= 0.89


# --- edit channels --------------------------------------------------------------------------------


def edited(folder: Path, words: list[str], epsilon: object) -> Path:
    source, _ = write_words(folder, words)
    out = source.with_name("private.csv")
    sv.privatize_file(source, out, alphabet="abc", epsilon=epsilon, metric="levenshtein", mechanism="edit")  # type: ignore[arg-type]
    return out


def test_edit_channels(tmp_path: Path) -> None:
    words = some_words(1500)
    out = edited(tmp_path, words, 6)
    manifest = manifest_path(out)
    told = json.loads(manifest.read_text())
    jsonschema.validate(told, SCHEMA)
    truths = {
        "visits": lambda row: sum(word.count(row["symbols"][0]) for word in words),
        "first": lambda row: sum(word[0] == row["symbols"][0] for word in words),
        "last": lambda row: sum(word[-1] == row["symbols"][0] for word in words),
        "ngrams:2": lambda row: pairs(words).get(tuple(row["symbols"]), 0),
        "od": lambda row: sum(len(w) > 1 and (w[0], w[-1]) == tuple(row["symbols"]) for w in words),
        "lengths": lambda row: sum(len(word) == row["length"] for word in words),
    }
    for statistic, truth in truths.items():
        found = sv.estimate(out, statistic, confidence=SURE)
        assert found.method == "exact-unbiased" and len(found) > 2
        for row in found.document()["rows"]:
            assert row["low_all"] <= truth(row) <= row["high_all"], (statistic, row)
    assert len(sv.estimate(out, "transitions")) == 9
    before = sv.estimate(out, "ngrams:2", target="population")
    del told["law"]
    manifest.write_text(json.dumps(told | {"format": "symveil-manifest/1"}))
    assert np.array_equal(
        sv.estimate(out, "ngrams:2", target="population").numbers["estimate"], before.numbers["estimate"]
    )
    for statistic in ("positions", "presence", "ngrams:3"):
        with pytest.raises(sv.SymveilError, match="behind an edit channel, found"):
            sv.estimate(out, statistic)


def test_an_edit_channel_that_tells_nothing(tmp_path: Path) -> None:
    with pytest.raises(sv.SymveilError, match=r"nothing can be said about visits .* epsilon [0-9.]+ would have been"):
        sv.estimate(edited(tmp_path, some_words(40), "0.5"), "visits")


def test_lengths_need_less_than_symbols(tmp_path: Path) -> None:
    """The epsilon that a refusal names is enough for lengths, and half of one less is not."""
    words = some_words(400)
    with pytest.raises(
        sv.SymveilError, match=r"nothing can be said about lengths .* would have been enough"
    ) as refused:
        sv.estimate(edited(tmp_path, words, "0.5"), "lengths")
    enough = float(str(refused.value).split("epsilon ")[-1].split(" ")[0])
    assert len(sv.estimate(edited(tmp_path, words, str(enough)), "lengths"))
    with pytest.raises(sv.SymveilError, match="nothing can be said about lengths"):
        sv.estimate(edited(tmp_path, words, str(enough - 0.5)), "lengths")
    with pytest.raises(sv.SymveilError, match="nothing can be said about visits"):
        sv.estimate(tmp_path / "private.csv", "visits")


def test_truncated_levenshtein_is_refused(tmp_path: Path) -> None:
    source, _ = write_words(tmp_path, ["ab", "c"])
    out = tmp_path / "private.csv"
    sv.privatize_file(
        source, out, alphabet="abc", epsilon=3, metric="levenshtein", mechanism="truncated-levenshtein", max_length=3
    )
    with pytest.raises(sv.SymveilError, match="found truncated-levenshtein, whose noise cannot be undone"):
        sv.estimate(out, "visits")
    manifest = manifest_path(out)
    told = json.loads(manifest.read_text())
    jsonschema.validate(told, SCHEMA)
    (row,) = told["law"]
    assert isinstance(row["rate"], str)
    for rate, holds in ((float(Fraction(row["rate"])), True), (float(Fraction(row["rate"])) + 1e-9, False)):
        row["rate"] = rate  # a number, as it was written first
        manifest.write_text(json.dumps(told))
        jsonschema.validate(told, SCHEMA)
        assert sv.check_manifest(manifest).holds is holds
