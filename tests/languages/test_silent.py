"""Silent labels: what is seen of a chain, against following every path of it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symveil as sv
from symveil.errors import ModelError, ParameterError
from symveil.models.labelled_chain import LabelledChain

Word = tuple[str, ...]


def seen_words(chain: LabelledChain, start: str, silent: set[str], steps: int) -> tuple[dict[Word, Fraction], Fraction]:
    """The law of what has been seen when runs come to the end `$`, and what has not come there in so many steps."""
    rows: dict[str, list[tuple[str, Fraction]]] = {}
    for source, target, chance in chain.transitions:
        rows.setdefault(source, []).append((target, chance))

    def read(word: Word, state: str) -> Word:
        return word if chain.label(state) in silent else (*word, chain.label(state))

    done: dict[Word, Fraction] = {}
    layer = {(start, read((), start)): Fraction(1)}
    for _ in range(steps):
        following: dict[tuple[str, Word], Fraction] = {}
        for (here, word), mass in layer.items():
            for target, chance in rows[here]:
                if chain.label(target) == "$":
                    done[word] = done.get(word, Fraction(0)) + mass * chance
                else:
                    key = (target, read(word, target))
                    following[key] = following.get(key, Fraction(0)) + mass * chance
        layer = following
    return done, sum(layer.values(), start=Fraction(0))


@st.composite
def mixes(draw: st.DrawFn) -> LabelledChain:
    """Visible states in three layers, and silent ones between them that go round; at least half moves on each time."""
    visible = [["s", "t"], ["a1", "b1"], ["a2", "b2"], ["end"]]
    labels = {
        "s": draw(st.sampled_from(["?", "tau"])),
        "t": "?",
        "a1": "a",
        "b1": "b",
        "a2": "a",
        "b2": "b",
        "end": "$",
    }
    rows: list[tuple[str, str, Fraction]] = [("end", "end", Fraction(1))]
    for depth in range(3):
        between = [f"q{depth}", f"r{depth}"]
        labels |= dict.fromkeys(between, "tau")
        ahead = visible[depth + 1]
        for state in (*visible[depth], *between):
            onward = [draw(st.integers(0, 3)) for _ in ahead]
            onward[0] += not any(onward)
            around = [draw(st.integers(0, 2)) for _ in between]
            if sum(around) > sum(onward):
                around = [0, sum(onward)]
            total = sum(onward) + sum(around)
            moves = zip((*ahead, *between), (*onward, *around), strict=True)
            rows += [(state, target, Fraction(weight, total)) for target, weight in moves if weight]
    return LabelledChain.from_transitions(rows, labels=labels, states=tuple(labels), related=[("s", "t")])


@settings(max_examples=20, deadline=None)
@given(chain=mixes(), alpha=st.sampled_from([Fraction(1), Fraction(6, 5), Fraction(2)]))
def test_delta_is_that_of_what_is_seen(chain: LabelledChain, alpha: Fraction) -> None:
    """After 40 steps at most 40·2^-37 has not come to the end: so far the words, counted path by path."""
    laws = {state: seen_words(chain, state, {"tau"}, 40) for state in "st"}
    left = max(rest for _, rest in laws.values())
    assert left < Fraction(1, 10**8)
    verdict = sv.verify_privacy(chain, alpha=alpha, silent=["tau"], symmetric=False)
    for pair in verdict.pairs:
        mine, theirs = laws[pair.source][0], laws[pair.target][0]
        counted = sum(
            (max(Fraction(0), p - alpha * theirs.get(w, Fraction(0))) for w, p in mine.items()), start=Fraction(0)
        )
        assert pair.lv.exact
        assert counted - alpha * left <= pair.lv.upper <= counted + left
        assert pair.ld is not None
        assert pair.lv.upper <= pair.ld.value
    # who sees less learns less
    if chain.label("s") == "?":
        timed = sv.verify_privacy(chain, alpha=alpha, symmetric=False, width="1e-6")
        assert verdict.delta.upper <= timed.delta.upper
    found = sv.smallest_epsilon(chain, delta=verdict.delta.upper, silent=["tau"])
    assert found.alpha is not None
    assert found.alpha <= alpha


@settings(max_examples=40, deadline=None)
@given(chain=mixes())
def test_nothing_silent_is_left_and_rows_sum_to_one(chain: LabelledChain) -> None:
    seen = sv.without_silent(chain, ["tau"])
    assert "tau" not in seen.chain.labels
    assert set(seen.start) == {"s", "t"}
    assert (seen.start["s"] == "s") == (chain.label("s") == "?")
    assert seen.chain.label(seen.start["s"]) == seen.chain.label(seen.start["t"])


def test_silence_for_ever_is_seen_as_the_end_of_everything() -> None:
    """From s nothing more is seen with probability 1/4; who waits for ever knows."""
    rows = [("s", "q", "1/2"), ("s", "a", "1/2"), ("q", "r", "1/2"), ("q", "a", "1/2"), ("r", "q'", 1), ("q'", "r", 1)]
    rows += [("t", "a", 1), ("a", "a", 1)]
    labels = {"s": "?", "t": "?", "a": "a", "q": "tau", "r": "tau", "q'": "tau"}
    chain = LabelledChain.from_transitions(rows, labels=labels, related=[("s", "t")])
    seen = sv.without_silent(chain, ["tau"]).chain
    assert dict(zip(seen.states, seen.labels, strict=True))["(silence)"] == "(silence)"
    verdict = sv.verify_privacy(chain, alpha=2, silent=["tau"])
    assert verdict.delta.upper == Fraction(1, 4)
    assert verdict.worst.witness is not None
    assert verdict.worst.witness.labels == ("?", "(silence)")
    # a label of that name is another one
    named = LabelledChain.from_transitions(rows, labels={**labels, "a": "(silence)"}, related=[("s", "t")])
    assert "(silence)'" in sv.without_silent(named, ["tau"]).chain.labels
    assert sv.verify_privacy(named, alpha=2, silent=["tau"]).delta.upper == Fraction(1, 4)


def test_everything_silent_tells_nothing() -> None:
    chain = LabelledChain.from_transitions(
        [("s", "t", 1), ("t", "t", 1)], labels={"s": "x", "t": "x"}, related=[("s", "t")]
    )
    assert sv.verify_privacy(chain, alpha=1, silent=["x"]).delta.upper == 0


def test_long_silent_loops() -> None:
    """A ring of silent states, left with small probability everywhere: a linear system of a hundred unknowns."""
    size = 100
    rows = [("s", "0", Fraction(1)), ("t", "50", Fraction(1)), ("a", "a", Fraction(1)), ("b", "b", Fraction(1))]
    for k in range(size):
        rows += [(str(k), str((k + 1) % size), Fraction(9, 10)), (str(k), "a" if k < 50 else "b", Fraction(1, 10))]
    labels = {"s": "?", "t": "?", "a": "a", "b": "b", **{str(k): "tau" for k in range(size)}}
    chain = LabelledChain.from_transitions(rows, labels=labels, related=[("s", "t")])
    stays = Fraction(9, 10) ** 50
    moves = {(s, t): p for s, t, p in sv.without_silent(chain, ["tau"]).chain.transitions}
    assert moves["s", "a"] == (1 - stays) / (1 - stays**2) == 1 / (1 + stays)
    assert moves["t", "a"] == stays / (1 + stays)


def test_refused() -> None:
    chain = LabelledChain.from_transitions([("p", "p", 1)], labels={"p": "a"}, related=[("p", "p")])
    with pytest.raises(ModelError, match=r"silent\[0\]: expected a label of the chain, found 'b'"):
        sv.verify_privacy(chain, alpha=1, silent=["b"])
    with pytest.raises(ModelError, match="silent: expected a list of labels, found 'a'"):
        sv.verify_privacy(chain, alpha=1, silent="a")
    with pytest.raises(ParameterError, match="silent: expected a chain with it"):
        sv.verify_privacy([[1], [1]], silent=["a"])
