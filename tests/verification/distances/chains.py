"""Random labelled chains for the tests here, and the two known cases of docs/theory/chains-and-opacity.md."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from symveil.models.labelled_chain import LabelledChain

ALPHAS = st.sampled_from([Fraction(1), Fraction(21, 20), Fraction(6, 5), Fraction(3, 2), Fraction(2), Fraction(5)])


@st.composite
def labelled_chains(draw: st.DrawFn, *, most: int = 7, ending: bool = False) -> LabelledChain:
    """Chains of up to `most` states; with `ending`, half of the mass of every state leaves for the end."""
    size = draw(st.integers(2, most))
    count = draw(st.integers(1, 3))
    names = [f"s{place}" for place in range(size)]
    labels = {name: f"l{draw(st.integers(0, count - 1))}" for name in names}
    rows = []
    for name in names:
        targets = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        weights = [draw(st.integers(1, 6)) for _ in targets]
        for target, weight in zip(targets, weights, strict=True):
            rows.append((name, target, Fraction(weight, sum(weights)) / (2 if ending else 1)))
    if ending:
        stops = draw(st.lists(st.sampled_from(["x", "y"]), min_size=size, max_size=size))
        rows += [(name, stop, Fraction(1, 2)) for name, stop in zip(names, stops, strict=True)]
        rows += [("x", "x", Fraction(1)), ("y", "y", Fraction(1))]
        labels |= {"x": "x", "y": "y"}
        names += ["x", "y"]
    return LabelledChain.from_transitions(rows, labels=labels, states=names)


def relay_case(*, with_relay: bool) -> LabelledChain:
    """Mathematics §10: an unreachable state x changes ld(s, t) from 3/125 to 0."""
    rows = [
        ("s", "i", "1/5"), ("s", "k", "4/5"), ("t", "j", "6/25"), ("t", "k", "19/25"),
        ("i", "A", "18/25"), ("i", "B", "7/25"), ("j", "A", "1/2"), ("j", "B", "1/2"),
        ("A", "A", 1), ("B", "B", 1), ("k", "k", 1),
    ]  # fmt: skip
    labels = {"s": "s", "t": "s", "i": "m", "j": "m", "k": "k", "A": "A", "B": "B"}
    if with_relay:
        rows += [("x", "A", "3/5"), ("x", "B", "2/5")]
        labels["x"] = "m"
    return LabelledChain.from_transitions(rows, labels=labels, related=[("s", "t")])


def lumping_case() -> LabelledChain:
    """Mathematics §10: merging i' into i changes ld(s, t) from 7/10 to 16/25."""
    rows = [
        ("s", "i", 1), ("t", "i'", "3/10"), ("t", "k", "7/10"), ("i", "A", 1), ("i'", "A", 1), ("k", "B", 1),
        ("A", "A", 1), ("B", "B", 1),
    ]  # fmt: skip
    labels = {"s": "s", "t": "s", "i": "m", "i'": "m", "k": "m", "A": "A", "B": "B"}
    return LabelledChain.from_transitions(rows, labels=labels, related=[("s", "t")])


def rare_event(chance: Fraction) -> LabelledChain:
    """s shows A with a small chance and t never: ld(s, t) = lv(s, t) = chance. The rest makes it a chain for floats."""
    rows = [("s", "A", chance), ("s", "B", 1 - chance), ("t", "B", Fraction(1)), ("A", "A", Fraction(1))]
    rows.append(("B", "B", Fraction(1)))
    for place in range(2, 22):
        rows += [(f"f{place}", "A", Fraction(1, place)), (f"f{place}", "B", 1 - Fraction(1, place))]
    labels = dict.fromkeys((source for source, _, _ in rows), "?") | {"A": "A", "B": "B"}
    return LabelledChain.from_transitions(rows, labels=labels)
