"""Settings over mechanisms, languages, metrics, starts, costs and lengths: rates, losses, laws and seeded draws."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import symveil as sv
from symveil.examples.paper_systems import town
from symveil.randomness import NotPrivateSeededBits

from .settings import EXAMPLES, Setting

Words = list[tuple[str, ...]]


@dataclass(frozen=True)
class Language:
    """A language, made anew by each setting, with three of its words."""

    make: Callable[[], object]
    words: Callable[[], Words]


RING = [
    *(("a", "a", "1/2"), ("a", "b", "1/4"), ("a", "c", "1/4")),
    *(("b", "a", "1/2"), ("b", "c", "1/2"), ("c", "a", 1)),
]
ABSORBING = [
    ("a", "a", "1/2"),
    ("a", "b", "1/4"),
    ("a", "c", "1/4"),
    ("b", "b", "1/2"),
    ("b", "c", "1/2"),
    ("c", "c", 1),
]
EVEN = [["even", "a", "odd"], ["odd", "a", "even"], ["even", "b", "even"], ["odd", "b", "odd"], ["odd", None, "even"]]


def _chain(rows: list[tuple[str, str, object]]) -> sv.MarkovChain:
    return sv.MarkovChain.from_transitions(rows)


def _roads() -> object:
    return sv.load_model(EXAMPLES / "roads.json")


def _free(symbols: str, length: int) -> Language:
    repeated = (symbols * length)[:length]
    return Language(
        lambda: sv.words(symbols, length), lambda: [tuple(repeated), tuple(repeated[::-1]), tuple(symbols[0] * length)]
    )


def _of_chain(model: Callable[[], sv.MarkovChain], length: int, *, public_start: bool = False) -> Language:
    return Language(lambda: sv.runs(model(), length, public_start=public_start), lambda: _walks(model(), length))


def _walks(chain: sv.MarkovChain, length: int) -> Words:
    """Three words of a chain: at every step the first, the last, or in turns the first and the last successor."""
    following: dict[str, list[str]] = {}
    for state, successor, _ in chain.transitions:
        following.setdefault(state, []).append(successor)
    words = []
    for picks in ((0, 0), (-1, -1), (0, -1)):
        state, word = chain.initial, []
        for step in range(length):
            state = sorted(following if state is None else following[state])[picks[step % 2]]
            word.append(state)
        words.append(tuple(word))
    return words


FREE = {"ab1": _free("ab", 1), "abc4": _free("abc", 4), "abcd14": _free("abcd", 14), "acgt105": _free("acgt", 105)}
MODELS = {
    "ring3": _of_chain(lambda: _chain(RING), 3),
    "ring7": _of_chain(lambda: _chain(RING), 7),
    "ring6 public start": _of_chain(lambda: _chain(RING), 6, public_start=True),
    "absorbing6": _of_chain(lambda: _chain(ABSORBING), 6),
    "roads4": _of_chain(_roads, 4),
    "even5": Language(lambda: sv.runs(_automaton(), 5), lambda: [tuple("abbbb"), tuple("aabaa"), tuple("bbbba")]),
}
TOWN = _of_chain(town, 9)
SECRET_LENGTHS = {
    "up to ab3": Language(lambda: sv.words_up_to("ab", 3), lambda: [tuple("aba"), tuple("b"), ()]),
    "up to abc4": Language(lambda: sv.words_up_to("abc", 4), lambda: [tuple("abca"), tuple("cc"), ()]),
    "up to ring3": Language(lambda: sv.runs_up_to(_chain(RING), 3), lambda: [tuple("aba"), tuple("bc"), tuple("c")]),
}
BUDGETS = [(1, "1/2"), (1, "2"), (2, "3"), (3, "4"), ("all", "5")]


def _automaton() -> object:
    return sv.Automaton.from_transitions(EVEN, initial="even", accepting=["odd"])


def settings() -> Iterator[Setting]:
    """About 330 settings, by name."""
    for (name, language), (b, epsilon) in itertools.product(FREE.items(), BUDGETS):
        for label, kind, options in [
            ("exponential", sv.Exponential, {}),
            ("exponential classic", sv.Exponential, {"calibration": "classic"}),
            ("exponential inverse", sv.Exponential, {"utility": "inverse"}),
            ("permute-and-flip", sv.PermuteAndFlip, {}),
            ("staircase", sv.Staircase, {}),
        ]:
            yield _mechanism(f"law {label} {name}", language, kind, b, epsilon, options)
        yield _mechanism(f"auto {name}", language, sv.select_mechanism, b, epsilon, {})
    for (name, language), (b, epsilon) in itertools.product(MODELS.items(), BUDGETS):
        for label, kind, options in [
            ("exponential", sv.Exponential, {}),
            ("exponential hamming", sv.Exponential, {"cost": "hamming"}),
            ("exponential swap 2", sv.Exponential, {"cost": "swap", "cap": 2}),
            ("exponential balanced", sv.Exponential, {"balanced": True}),
            ("exponential chain prior", sv.Exponential, {"prior": "chain"}),
            ("permute-and-flip", sv.PermuteAndFlip, {}),
            ("staircase", sv.Staircase, {}),
            ("online", sv.Online, {}),
        ]:
            yield _mechanism(f"law {label} {name}", language, kind, b, epsilon, options)
        for beyond in ("graceful", "2", "nothing"):
            yield _mechanism(f"auto {beyond} {name}", language, sv.select_mechanism, b, epsilon, {"beyond": beyond})
    for beyond, (b, epsilon) in itertools.product(("graceful", "nothing"), [(1, "2"), (1, "4"), (2, "4")]):
        town = _mechanism(f"auto {beyond} town9", TOWN, sv.select_mechanism, b, epsilon, {"beyond": beyond})
        yield replace(town, slow=True)
    for (name, language), (b, epsilon) in itertools.product(SECRET_LENGTHS.items(), [(1, "1"), (2, "4")]):
        yield _mechanism(f"law truncated {name}", language, sv.TruncatedLevenshtein, b, epsilon, {})
    for alphabet, (b, epsilon) in itertools.product(("ab", "acgt"), [(1, "1"), (2, "4")]):
        yield _mechanism(
            f"law edit {alphabet}",
            Language(lambda a=alphabet: a, lambda a=alphabet: [tuple(a * 2), tuple(a), ()]),
            sv.EditChannel,
            b,
            epsilon,
            {},
        )
    for (name, language), (b, epsilon) in itertools.product(MODELS.items(), BUDGETS[:3]):
        yield Setting(f"bound {name} b={b} ε={epsilon}", lambda lang=language, b=b, e=epsilon: _bound(lang, b, e))


def _mechanism(
    name: str, language: Language, kind: Callable[..., object], b: object, epsilon: str, options: dict[str, object]
) -> Setting:
    return Setting(
        f"{name} b={b} ε={epsilon}",
        lambda: law_document(kind(language.make(), epsilon=epsilon, adjacency=b, **options), language.words()),
    )


def law_document(mechanism: object, words: Words) -> dict[str, object]:
    """What a mechanism promises and does: guarantee, rate, loss at every distance, law at one word, seeded draws."""
    rate = getattr(mechanism, "rate", None)
    document: dict[str, object] = {
        "kind": type(mechanism).__name__,
        "guarantee": [mechanism.guarantee.epsilon, mechanism.guarantee.how],
        "rate": None if rate is None else float(rate),
        "loss_at": [_finite(mechanism.guarantee.loss_at(d)) for d in (1, 2, 3, 5) if d <= max(1, len(words[0]))],
        "drawn": ["|".join(word) for word in mechanism.release_many(words, bits=NotPrivateSeededBits(7))],
    }
    with np.errstate(all="ignore"):
        law = mechanism.distances(words[0])
    document["expected_error"] = float(law.expected_error)
    document["ln P(w | w)"] = _finite(mechanism.log_probability(words[0], words[0]))
    return document


def _finite(value: float) -> float | str:
    return float(value) if np.isfinite(value) else str(value)


def _bound(language: Language, b: int, epsilon: str) -> dict[str, object]:
    bound = sv.lower_bound(language.make(), epsilon=epsilon, adjacency=b)
    return {"value": bound.value, "confidence": bound.confidence, "method": bound.method}
