"""Baum–Welch behind online releases: against enumeration of all words, and on files drawn from a chain."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import symveil as sv
from symveil.estimation.hidden_chain import ChainTables, HiddenChain
from symveil.estimation.statistics import read_statistic
from symveil.mechanisms.online import Online
from symveil.release.private_file import PrivateFile
from symveil.release.rerelease import OnlineWords

from .test_iterated import CHAIN, released

ENDED = sv.Automaton.from_transitions(
    [("0", "a", "1"), ("0", "b", "0"), ("1", "a", "0"), ("1", "c", "1"), ("1", "b", "2"), ("2", "c", "0")],
    initial="0",
    accepting=["0", "2"],
)
"""Symbols are not states, and words must end in some of them."""
SURE = 1 - 1e-6
STATISTICS = ("visits", "first", "last", "positions", "ngrams:2", "ngrams:3", "transitions", "od", "presence")


def private(folder: Path, model: object, words: list[str], **named: object) -> Path:
    sv.save_model(model, folder / "model.json")  # type: ignore[arg-type]
    source, out = folder / "true.csv", folder / "private.csv"
    source.write_text("id,path\n" + "".join(f"{i},{' '.join(word)}\n" for i, word in enumerate(words)))
    sv.privatize_file(
        source, out, model=folder / "model.json", mechanism="online", **{"adjacency": 1, "thin": True, **named}
    )  # type: ignore[arg-type]
    return out


def gathered(out: Path) -> tuple[HiddenChain, PrivateFile]:
    own = PrivateFile.open(out, manifest=None, model=None, cluster=None)
    gathering = OnlineWords(own)
    for batch in own.batches(gathering.groups):
        gathering.add(batch)
    return gathering.chain(), own


class Enumerated:
    """The posterior of whole words, by the mechanism's own probabilities and every word of the language."""

    def __init__(self, model: object, own: PrivateFile, chances: np.ndarray, public: bool) -> None:
        self.words: list[tuple[tuple[int, ...], float]] = []
        self.steps, self.log_likelihood = np.zeros(len(chances)), 0.0
        for codes, lengths in own.words():
            at = 0
            for length in lengths.tolist():
                word, at = codes[at : at + length], at + length
                language = sv.runs(model, length, public_start=public)  # type: ignore[arg-type]
                law = Online(language, epsilon=own.release.choice.epsilon, adjacency=own.release.choice.adjacency)
                rows = language.enumerate_codes(at_most=500)
                edges = language.walk_edges(rows)
                likely = np.exp([law.log_probabilities(row, word[None, :])[0] for row in rows])
                joint = likely * chances[edges].prod(axis=1)
                self.log_likelihood += float(np.log(joint.sum()))
                posterior = joint / joint.sum()
                np.add.at(self.steps, edges, posterior[:, None])
                self.words += [
                    (tuple(row), chance) for row, chance in zip(rows.tolist(), posterior.tolist(), strict=True)
                ]

    def table(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        found, order = np.zeros(shape), read_statistic(name).order
        for word, chance in self.words:
            n = len(word)
            if name == "presence":
                for symbol in set(word):
                    found[n, symbol] += chance
            elif name == "positions":
                for position, symbol in enumerate(word):
                    found[position, symbol] += chance
            elif name in ("first", "last"):
                found[word[0 if name == "first" else -1]] += chance
            elif name == "od":
                if n >= 2:
                    found[word[0], word[-1]] += chance
            else:
                for begin in range(n - order + 1):
                    found[word[begin : begin + order]] += chance
        return found


@pytest.mark.parametrize(
    ("model", "words", "named"),
    [
        (CHAIN, ["abca", "aab", "c", "bcab", "bcbc"], {"epsilon": 2}),
        (CHAIN, ["abca", "aab", "bcab"], {"epsilon": 3, "adjacency": 2, "public_start": True}),
        (ENDED, ["aa", "baa", "acb", "bbb", "abcb", "b"], {"epsilon": 1}),
    ],
    ids=["chain", "public start", "automaton"],
)
def test_by_enumeration(tmp_path: Path, model: object, words: list[str], named: dict[str, object]) -> None:
    """Expected steps, likelihood, every table, and five rounds of expectation and maximisation."""
    chain, own = gathered(private(tmp_path, model, words, **named))
    weights = [each.counts.sum(axis=1) for each in chain.released]
    chances = chain.normalised(np.random.default_rng(1).uniform(0.1, 1, chain.graph.edge_count))
    public = bool(named.get("public_start", False))
    plain = Enumerated(model, own, chances, public)
    m = len(chain.graph.alphabet)
    for name in STATISTICS:
        asked = read_statistic(name)
        shape = (*({"positions": (4,), "presence": (5,)}.get(name, ())), *(m,) * asked.order)
        table = ChainTables(chain, asked, shape).table(chances, weights)
        assert np.abs(table - plain.table(name, shape)).max() < 1e-12, name
    for _ in range(5):
        steps, likelihood = chain.expected_steps(chances, weights)
        assert np.abs(steps - plain.steps).max() < 1e-12
        assert abs(likelihood - plain.log_likelihood) < 1e-12
        chances = chain.normalised(steps)
        plain = Enumerated(model, own, chances, public)


def test_long_steps_find_what_short_ones_find(tmp_path: Path) -> None:
    """The likelihood never falls, and 1,000 plain rounds come to the same chain."""
    chooser = random.Random(5)
    words = [drawn(chooser, 4) for _ in range(60)]
    chain, _ = gathered(private(tmp_path, CHAIN, words, epsilon=4))
    weights = [each.counts.sum(axis=1) for each in chain.released]
    start = chain.evenly
    found = chain.fitted(start, weights)
    assert found.converged
    plain, before = start, -np.inf
    for _ in range(1000):
        steps, likelihood = chain.expected_steps(plain, weights)
        assert likelihood >= before - 1e-9
        plain, before = chain.normalised(steps), likelihood
    assert found.log_likelihood >= before - 1e-6
    assert np.abs(found.steps - steps).sum() < 1e-3 * steps.sum()


def drawn(chooser: random.Random, length: int) -> str:
    """A word of the chain, by its own probabilities: a 3/4, b 1/4 after a; b → c; c → a 1/2."""
    word = chooser.choice("abc")
    while len(word) < length:
        follow = {"a": ("ab", [3, 1]), "b": ("c", [1]), "c": ("ab", [1, 1])}[word[-1]]
        word += chooser.choices(follow[0], weights=follow[1])[0]
    return word


def test_a_chain_is_found_again(tmp_path: Path) -> None:
    """Words of a chain: all intervals at once hold the true counts, but for one run in a million if they are right.

    The estimate is off by some 70 steps of 7,500, and the released table by some 630.
    """
    chooser = random.Random(11)
    words = [drawn(chooser, 6) for _ in range(1500)]
    out = private(tmp_path, CHAIN, words, epsilon=3)
    found = sv.estimate(out, "ngrams:2", assume="chain", confidence=SURE)
    assert found.method == "chain-assumed"
    assert found.assumptions[0].startswith(
        "an assumption: the true sequences are independent draws from one first-order"
    )
    truth = {
        pair: sum(word[i : i + 2] == pair for word in words for i in range(5))
        for pair in ("aa", "ab", "bc", "ca", "cb")
    }
    rows = {"".join(row["symbols"]): row for row in found.document()["rows"]}
    assert rows.keys() == truth.keys()
    for pair, row in rows.items():
        assert row["low_all"] <= truth[pair] <= row["high_all"], (pair, row)
    off = {name: sum(abs(rows[pair][name] - truth[pair]) for pair in truth) for name in ("estimate", "released")}
    assert off["estimate"] < off["released"]
    shares = sv.estimate(out, "transitions", assume="chain")
    assert sum(row["estimate"] for row in shares.document()["rows"]) == pytest.approx(3)


@pytest.mark.soak
def test_intervals_cover_where_the_assumption_holds(tmp_path: Path) -> None:
    """Groups are conservative for the file: at least 95 % here; below 93 % of 500 by accident once in some 10³ runs."""
    covered = 0
    for seed in range(100):
        chooser = random.Random(seed)
        words = [drawn(chooser, 6) for _ in range(400)]
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = sv.estimate(private(folder, CHAIN, words, epsilon=2), "ngrams:2", assume="chain")
        for row in found.document()["rows"]:
            pair = "".join(row["symbols"])
            covered += row["low"] <= sum(word[i : i + 2] == pair for word in words for i in range(5)) <= row["high"]
    assert covered >= 0.93 * 500


def test_it_is_an_assumption_everywhere(tmp_path: Path) -> None:
    out = private(tmp_path, CHAIN, ["abca", "aab"] * 3, epsilon=4)
    found = sv.estimate(out, "ngrams:2", assume="chain")
    document = json.loads(json.dumps(found.document()))
    assert document["method"] == "chain-assumed" and document["assumptions"][0].startswith("an assumption: ")
    assert "assuming a Markov chain" in found.to_svg()
    assert document["rows"][0]["low"] is None  # six sequences are too few for intervals


@pytest.mark.parametrize(
    ("named", "statistic", "assume", "message"),
    [
        ({"epsilon": 4}, "ngrams:2", "chain", "assume: expected nothing but for releases by the mechanism online"),
        ({"epsilon": 4, "mechanism": "online"}, "lengths", "chain", "assume: expected nothing for lengths"),
        ({"epsilon": 4, "mechanism": "online"}, "visits", "order", "assume: expected chain, or nothing, found order"),
    ],
)
def test_where_it_is_refused(
    tmp_path: Path, named: dict[str, object], statistic: str, assume: str, message: str
) -> None:
    with pytest.raises(sv.SymveilError, match=message):
        sv.estimate(released(tmp_path, ["abca"] * 30, **named), statistic, assume=assume)
