"""The same word means the same everywhere: parameters, results and refusals of all public functions."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
import pkgutil
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

import symveil as sv
from symveil.errors import SymveilError

CALLABLES = {
    name: getattr(sv, name) for name in sv.__all__ if name != "__version__" and getattr(sv, name) is not sv.SymveilError
}
MECHANISMS = ("EditChannel", "Exponential", "Online", "Optimal", "PermuteAndFlip", "Staircase", "TruncatedLevenshtein")
FUNCTIONS = {name: value for name, value in CALLABLES.items() if inspect.isfunction(value)}
ASKED = FUNCTIONS | {name: CALLABLES[name] for name in MECHANISMS}
every_call = pytest.mark.parametrize("name", ASKED)

# which words go before which, wherever two of them meet; what reports progress comes last
ORDER = (
    "epsilon",
    "mechanism",
    "adjacency",
    "calibration",
    "prior",
    "utility",
    "offset",
    "public_start",
    "metric",
    "max_length",
    "cutoff",
    "sequence",
    "separator",
    "identifier",
    "not_private",
    "progress",
)


OTHER_MEANING = {
    ("levenshtein_automaton", "k"): "edits, as the papers call them; elsewhere observations back, or infinite",
    ("average_over_model", "mechanism"): "the mechanism itself; elsewhere its name",
    ("without_silent", "chain"): "a chain; elsewhere also a mechanism's chain or a table",
    **dict.fromkeys((("count", "cap"), ("count_file", "cap")), "the longest time that counts; elsewhere, of costs"),
    ("calibrate", "lengths"): "every length that there is; in learn, from the shortest to the longest",
    ("from_networkx", "graph"): "a graph of that library; elsewhere one of our chains",
    (
        "lower_bound",
        "confidence",
    ): "of one number that rests on public samples; None leaves them out. Elsewhere: of intervals",
}


def parameters(name: str) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(ASKED[name]).parameters)


@every_call
def test_what_is_chosen_is_chosen_by_name(name: str) -> None:
    """At most two arguments by place: what is worked on, and the one thing that is asked of it; and their lengths."""
    by_place = [
        each
        for each in parameters(name).values()
        if each.kind is not inspect.Parameter.KEYWORD_ONLY and (name, each.name) != ("calibrate", "lengths")
    ]
    assert len(by_place) <= 2
    # a result without a file is in the place of `out`
    assert all(each.default is inspect.Parameter.empty or each.name in {"k", "out"} for each in by_place)


@every_call
def test_shared_parameters_come_in_one_order(name: str) -> None:
    found = [each for each in parameters(name) if each in ORDER]
    assert found == sorted(found, key=ORDER.index)


def test_a_parameter_has_one_default() -> None:
    defaults = defaultdict(set)
    for name in ASKED:
        for each in parameters(name).values():
            known = each.default is not inspect.Parameter.empty and each.default is not None
            if known and (name, each.name) not in OTHER_MEANING:
                defaults[each.name].add(repr(each.default))
    assert {name: found for name, found in defaults.items() if len(found) > 1} == {}


def test_a_parameter_has_one_type() -> None:
    """But for what is looked at: a system, a language, a file or a table; and models, which a file may hold too."""
    types = defaultdict(set)
    for name in ASKED:
        for each in parameters(name).values():
            if each.name not in {"language", "system", "model", "path"} and (name, each.name) not in OTHER_MEANING:
                types[each.name].add(str(each.annotation).removesuffix(" | None"))
    assert {name: found for name, found in types.items() if len(found) > 1} == {}


def _classes() -> Iterator[type]:
    for module in pkgutil.walk_packages(sv.__path__, "symveil."):
        if not module.name.startswith(("symveil.studio", "symveil.release.spark_session", "symveil.__main__")) and (
            "spark" not in module.name
        ):
            found = vars(importlib.import_module(module.name)).values()
            yield from (each for each in found if inspect.isclass(each) and each.__module__ == module.name)


def test_a_result_is_frozen_and_has_one_way_into_json() -> None:
    classes = list(_classes())
    with_document = [each for each in classes if "document" in vars(each)]
    assert len(with_document) > 15
    for each in with_document:
        assert dataclasses.is_dataclass(each) and each.__dataclass_params__.frozen, each  # type: ignore[attr-defined]
    other_ways = {"to_json", "as_json", "to_dict", "as_dict", "asdict", "json"}
    assert [(each, name) for each in classes for name in other_ways & set(vars(each))] == []


# --- refusals --------------------------------------------------------------------------------------

WORDS = sv.words("ab", 2)
UP_TO = sv.words_up_to("ab", 3)
RUNS = sv.runs(sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]), 3)
SYSTEM = sv.StochasticSystem.from_transitions(
    [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2")], initial="0", observable=["a", "b"], secret=["1"]
)
CHAIN = sv.LabelledChain.from_transitions(
    [("s", "s", 1), ("t", "t", 1)], labels={"s": "a", "t": "a"}, related=[("s", "t")]
)
GOOD: dict[str, Callable[..., object]] = {
    "Exponential": lambda **changed: sv.Exponential(WORDS, **{"epsilon": 1, **changed}),
    "PermuteAndFlip": lambda **changed: sv.PermuteAndFlip(WORDS, **{"epsilon": 1, **changed}),
    "Staircase": lambda **changed: sv.Staircase(WORDS, **{"epsilon": 1, **changed}),
    "Online": lambda **changed: sv.Online(RUNS, **{"epsilon": 1, "adjacency": 1, **changed}),
    "Optimal": lambda **changed: sv.Optimal(RUNS, **{"epsilon": 1, "adjacency": 1, **changed}),
    "EditChannel": lambda **changed: sv.EditChannel("ab", **{"epsilon": 5, **changed}),
    "TruncatedLevenshtein": lambda **changed: sv.TruncatedLevenshtein(UP_TO, **{"epsilon": 1, **changed}),
    "select_mechanism": lambda **changed: sv.select_mechanism(WORDS, **{"epsilon": 1, **changed}),
    "privatize": lambda **changed: sv.privatize(["ab"], **{"alphabet": "ab", "epsilon": 1, **changed}),
    "enforce_opacity": lambda **changed: sv.enforce_opacity(SYSTEM, **{"k": 0, "epsilon": 1, **changed}),
    "verify_opacity": lambda **changed: sv.verify_opacity(SYSTEM, **{"k": 0, **changed}),
    "violation_probability": lambda **changed: sv.violation_probability(SYSTEM, **{"k": 0, **changed}),
    "sensitive_strings": lambda **changed: sv.sensitive_strings(SYSTEM, **{"k": 0, **changed}),
    "verify_privacy": lambda **changed: sv.verify_privacy(CHAIN, **{"epsilon": 1, **changed}),
    "words": lambda **changed: sv.words(**{"alphabet": "ab", "length": 2, **changed}),
    "words_up_to": lambda **changed: sv.words_up_to(**{"alphabet": "ab", "max_length": 2, **changed}),
    "learn_chain": lambda **changed: sv.learn_chain(["ab", "ba"], **changed),
}
BAD: dict[str, tuple[object, ...]] = {
    "epsilon": (0, -1, float("nan"), float("inf"), "x", "", True, [1], 1e12),
    "adjacency": (0, -1, 1.5, "some", True),
    "calibration": ("loose", 1),
    "prior": ("flat", 0),
    "utility": ("luck", 2),
    "offset": (0, -1, float("nan"), "x"),
    "mechanism": ("magic", 3),
    "metric": ("euclid", 4),
    "cutoff": (-1, 1.5, "x", True),
    "length": (-1, 1.5, "x", True),
    "max_length": (-1, 1.5, "x", True),
    "k": (-1, 1.5, "x", float("nan"), True),
    "notion": ("mild", 5),
    "policy": ("mine", 6),
    "within": (-1, 1.5, "x", True),
    "most_states": (0, -1, 1.5, "x", True),
    "delta": (-1, 2, float("nan"), "x"),
    "width": (-1, 2, float("nan"), "x"),
    "nodes": (0, -1, 1.5, "x", True),
    "horizon": (-1, 1.5, "x", True),
    "smooth": (-1, float("nan"), "x"),
}
WRONG = [
    (name, parameter, value)
    for name, parameter in itertools.product(GOOD, BAD)
    if parameter in parameters(name)
    for value in BAD[parameter]
]


@pytest.mark.parametrize(("name", "parameter", "value"), WRONG, ids=str)
def test_a_wrong_value_is_refused_in_one_line_that_names_it(name: str, parameter: str, value: object) -> None:
    with pytest.raises(SymveilError) as refused:
        GOOD[name](**{parameter: value})
    line = str(refused.value)
    assert "\n" not in line and ": expected " in line and ", found " in line, line
    assert line.startswith(f"{parameter}: "), line


@pytest.mark.parametrize("name", GOOD)
def test_the_good_calls_are_good(name: str) -> None:
    GOOD[name]()
