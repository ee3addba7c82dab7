"""Models and observers draw themselves: every transition, secrets marked, what is unseen dashed, names escaped."""

from __future__ import annotations

import copy
import html
import pickle
import warnings
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.errors import TooLargeError
from symveil.languages.graph import WordGraph
from symveil.languages.run_product import product_diagram
from symveil.languages.runs import RunLanguage, runs
from symveil.models.alphabet import Alphabet
from symveil.models.automaton import Automaton, TransitionSystem
from symveil.models.markov_chain import MarkovChain
from symveil.models.stochastic_system import LogicalSystem, StochasticSystem
from symveil.pictures.limits import LIMITS
from symveil.pictures.text import MARKED, RED, symbol_label
from symveil.verification.opacity.observation import estimate_label, observer

HALF = Fraction(1, 2)
Z25_EXAMPLE_4 = StochasticSystem.from_transitions(
    [
        ("0", "a", "1", HALF),
        ("0", "b", "8", HALF),
        ("1", "a", "2", "2/3"),
        ("2", "b", "3", 1),
        ("1", "c", "5", "1/3"),
        ("5", "f", "6", 1),
        ("6", "c", "7", 1),
        ("8", "a", "9", HALF),
        ("9", "b", "11", HALF),
        ("9", "c", "11", HALF),
        ("8", "c", "10", HALF),
        ("10", "c", "11", 1),
    ],
    initial="0",
    observable=["a", "b", "c"],
    secret=["2"],
)
ODD = ["<a>", '&"q"', "new\nline", "😀", "漢字", "x" * 80, "a,b", " ", "\\N", "-->", "\x00"]
ODD_SYSTEM = LogicalSystem.from_transitions(
    [(one, event, other) for one, event, other in zip(ODD, ODD[3:] + ODD[:3], ODD[1:] + ODD[:1], strict=True)],
    initial=ODD[:2],
    observable=ODD[:5],
    secret=ODD[2:4],
)
DRAWN = {
    "stochastic": Z25_EXAMPLE_4,
    "logical": ODD_SYSTEM,
    "observer": observer(Z25_EXAMPLE_4),
    "odd observer": observer(ODD_SYSTEM),
    "chain": MarkovChain.from_transitions([("a", "a", HALF), ("a", "b", HALF), ("b", "a", 1)], initial="a"),
    "no start": MarkovChain.from_transitions([("a", "a", HALF), ("a", "b", HALF), ("b", "a", 1)]),
    "automaton": Automaton.from_transitions([("p", "a", "q"), ("q", None, "p")], initial="p", accepting=["q"]),
    "actions": TransitionSystem.from_transitions([("s", "go", "t"), ("t", "back", "s")], initial="s"),
}


def texts(svg):
    picture = ElementTree.fromstring(svg)  # noqa: S314 - our own output, a moment old
    return [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]


def read_dot(dot):
    with warnings.catch_warnings():  # pydot calls its parser by old names
        warnings.simplefilter("ignore")
        import pydot

        (graph,) = pydot.graph_from_dot_data(dot)
    return graph


@pytest.mark.parametrize("model", DRAWN.values(), ids=DRAWN)
def test_everything_draws_itself_the_same_way_twice(model):
    diagram = model.to_diagram()
    assert model.to_svg() == copy.copy(model).to_svg() == model._repr_svg_()
    shown = texts(model.to_svg())
    for node in diagram.nodes:
        assert all(line.replace("\x00", "\ufffd") in shown for line in node.label)
    for edge in diagram.edges:
        assert all(line in shown for line in [*edge.label.splitlines(), edge.annotation] if line)
    graph = read_dot(model.to_dot())
    entries = sum(node.initial for node in diagram.nodes)
    named = [node for node in graph.get_nodes() if node.get_name() not in ("node", "edge", "graph")]
    assert len(named) == len(diagram.nodes) + entries
    assert len(graph.get_edges()) == len(diagram.edges) + entries


def test_a_model_that_draws_itself_is_still_frozen_plain_data():
    for model in (Z25_EXAMPLE_4, DRAWN["chain"], DRAWN["automaton"]):
        assert pickle.loads(pickle.dumps(model)) == model  # noqa: S301 - our own
        assert not hasattr(model, "__dict__")


def test_z25_figure_4a():
    diagram = Z25_EXAMPLE_4.to_diagram()
    assert [node.key for node in diagram.nodes if node.marked] == ["2"]
    assert [node.key for node in diagram.nodes if node.initial] == ["0"]
    assert [(edge.source, edge.label) for edge in diagram.edges if edge.dashed] == [("5", "f")]
    assert {(edge.source, edge.target): (edge.label, edge.annotation) for edge in diagram.edges} == {
        ("0", "1"): ("a", "1/2"),
        ("0", "8"): ("b", "1/2"),
        ("1", "2"): ("a", "2/3"),
        ("2", "3"): ("b", "1"),
        ("1", "5"): ("c", "1/3"),
        ("5", "6"): ("f", "1"),
        ("6", "7"): ("c", "1"),
        ("8", "9"): ("a", "1/2"),
        ("9", "11"): ("b, c", "1/2 each"),
        ("8", "10"): ("c", "1/2"),
        ("10", "11"): ("c", "1"),
    }
    svg = Z25_EXAMPLE_4.to_svg()
    assert svg.count(MARKED) == 2  # the state and the legend
    assert "secret state" in svg
    assert "unobservable event" in svg
    assert svg.count("stroke-dasharray") == 2
    assert svg.count(f'fill="{RED}">1/2</text>') == 4


def test_the_legend_explains_only_what_is_there():
    svg = Z25_EXAMPLE_4.with_secret([]).to_svg()
    assert MARKED not in svg
    assert "secret state" not in svg
    assert "unobservable" not in DRAWN["chain"].to_svg()
    assert "probability" not in ODD_SYSTEM.to_svg()


def test_z25_figure_4b():
    diagram = observer(Z25_EXAMPLE_4).to_diagram()
    assert {node.label for node in diagram.nodes} == {
        (f"{{{inside}}}",) for inside in ("0", "1", "8", "2", "5, 6", "9", "10", "3", "7", "11")
    }
    assert [node.label for node in diagram.nodes if node.marked] == [("{2}",)]
    assert not any(edge.dashed for edge in diagram.edges)


def test_an_estimate_is_marked_only_when_all_its_states_are_secret():
    system = LogicalSystem.from_transitions(
        [("0", "a", "1"), ("0", "a", "2"), ("0", "b", "2")], initial="0", observable=["a", "b"], secret=["2"]
    )
    marked = {node.label: node.marked for node in observer(system).to_diagram().nodes}
    assert marked == {("{0}",): False, ("{1, 2}",): False, ("{2}",): True}


def test_long_estimates_are_shortened():
    label = estimate_label([f"station {number}" for number in range(40)])
    assert label[-1].endswith("+32 more}")
    assert all(len(line) <= 24 for line in label)


def test_odd_names_are_escaped_and_not_lost():
    svg, dot = ODD_SYSTEM.to_svg(), ODD_SYSTEM.to_dot()
    for name in ODD[:-1]:
        assert html.escape(symbol_label(name), quote=False) in svg
    assert "<a>" not in svg
    assert "\\\\N" in dot
    assert [node.key for node in ODD_SYSTEM.to_diagram().nodes if node.initial] == ODD[:2]


@settings(max_examples=25)
@given(st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5, unique=True), st.randoms())
def test_any_names_make_well_formed_pictures_with_every_transition(names, random):
    rows = {(random.choice(names), random.choice(names), random.choice(names)) for _ in range(8)}
    system = LogicalSystem.from_transitions(sorted(rows), initial=names[0], observable=names[:1], states=names)
    diagram = system.to_diagram()
    arrows = {(edge.source, edge.target, edge.dashed) for edge in diagram.edges}
    assert arrows == {(source, target, event not in names[:1]) for source, event, target in rows}
    texts(system.to_svg().encode())
    assert len(read_dot(system.to_dot()).get_edges()) == len(arrows) + 1


def test_what_is_too_large_to_read_is_refused_and_shown_as_text_in_a_notebook():
    size = LIMITS.now.states + 1
    line = [(str(n), "a", str(n + 1)) for n in range(size - 1)]
    system = LogicalSystem.from_transitions(line, initial="0", observable=["a"])
    for model in (system, observer(system), TransitionSystem.from_transitions(line, initial="0")):
        with pytest.raises(TooLargeError, match=f"drawing: expected at most {size - 1} states, found {size}; draw"):
            model.to_svg()
        assert model._repr_svg_() is None


def safe_observations(system, *, without, length):
    """The graph of observations that never pass a given estimate: its states are the observer's."""
    seen = observer(system)
    rows = sorted(row for row in seen.transitions if seen.estimates[row[2]] != without)
    sources = [source for source, _, _ in rows]
    graph = WordGraph(
        alphabet=Alphabet(system.observable),
        start=0,
        first=np.searchsorted(sources, range(len(seen.sets) + 1)).astype(np.int64),
        symbol=np.array([event for _, event, _ in rows], dtype=np.int32),
        target=np.array([target for _, _, target in rows], dtype=np.int32),
        accepting=np.ones(len(seen.sets), dtype=np.bool_),
    )
    return RunLanguage(graph=graph, length=length), seen


def test_z25_figure_7_the_modified_automaton_of_a_word_outside_the_language():
    language, seen = safe_observations(Z25_EXAMPLE_4, without=("2",), length=3)
    diagram = product_diagram(
        language,
        np.array([0, 0, 1], dtype=np.int32),
        exactly=2,
        state_label=lambda state: "\n".join(estimate_label(seen.estimates[state])),
    )
    # Z25 Example 8: (i, e, estimate) with V
    assert {(node.label, node.value) for node in diagram.nodes} == {
        (("{0}", "0⁰"), "2"),
        (("{1}", "1⁰"), "1"),
        (("{8}", "1¹"), "1"),
        (("{5, 6}", "2¹"), "1"),
        (("{9}", "2¹"), "1"),
        (("{7}", "3²"), "1"),
        (("{11}", "3²"), "1"),
    }
    assert sorted((edge.label, edge.annotation) for edge in diagram.edges) == [
        ("a", "1"),
        ("a", "1/2"),
        ("b", "1/2"),
        ("c", "1"),
        ("c", "1"),
        ("c", "1"),
    ]


def test_parallel_edges_of_a_product_are_one_arrow():
    system = TransitionSystem.from_transitions([("s", event, "t") for event in "abc"], initial="s")
    diagram = product_diagram(runs(system, length=1), np.array([0], dtype=np.int32), exactly=1)
    assert [(edge.label, edge.annotation) for edge in diagram.edges] == [("b, c", "1/2 each")]
