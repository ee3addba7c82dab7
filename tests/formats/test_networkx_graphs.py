"""Graphs of networkx, GraphML and DOT as chains."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import networkx as nx
import pytest

from symveil.errors import FileError, InputError
from symveil.formats.models.model_files import load_model
from symveil.formats.models.networkx_graphs import from_networkx
from symveil.models.markov_chain import MarkovChain

HALVES = MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])


def test_without_numbers_every_move_is_equally_likely() -> None:
    notes: list[str] = []
    assert from_networkx(nx.DiGraph([("a", "a"), ("a", "b"), ("b", "a")]), notes=notes) == HALVES
    assert notes == ["no probabilities: every move from a node is equally likely"]


@pytest.mark.parametrize("weights", [(1, 1, 7), (0.1, 0.1, 0.3), ("1/3", "1/3", "1")])
def test_weights_are_normalised_exactly(weights) -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "a", weights[0]), ("a", "b", weights[1]), ("b", "a", weights[2])])
    assert from_networkx(graph) == HALVES


def test_probabilities_win_over_weights_and_are_checked() -> None:
    graph = nx.DiGraph()
    graph.add_edge("a", "a", probability=0.25, weight=9)
    graph.add_edge("a", "b", probability=0.75, weight=9)
    assert from_networkx(graph).transitions[0][2] == Fraction(1, 4)
    graph["a"]["b"]["probability"] = 0.7
    with pytest.raises(InputError, match="'a' to sum to 1, found 0.95"):
        from_networkx(graph)
    graph["a"]["b"]["probability"] = 0.7500000001
    notes: list[str] = []
    assert sum(row[2] for row in from_networkx(graph, notes=notes).transitions) == 1
    assert "normalised" in notes[0]


def test_undirected_and_parallel_edges() -> None:
    path = nx.path_graph(3)
    assert from_networkx(path).transitions == (
        ("0", "1", 1),
        ("1", "0", Fraction(1, 2)),
        ("1", "2", Fraction(1, 2)),
        ("2", "1", 1),
    )
    parallel = nx.MultiDiGraph([("a", "b"), ("a", "b"), ("a", "a")])
    assert from_networkx(parallel).transitions[0] == ("a", "b", Fraction(1, 2))
    for _, _, data in parallel.edges(data=True):
        data["weight"] = 1
    assert from_networkx(parallel).transitions[0] == ("a", "b", Fraction(2, 3))
    assert from_networkx(nx.Graph([("a", "a")])).transitions == (("a", "a", 1),)


def test_nodes_without_edges_are_dead_ends_and_an_initial_state_may_be_named() -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from([1, 2])
    chain = from_networkx(graph, initial="2")
    assert (chain.states, chain.transitions, chain.initial) == (("1", "2"), (), "2")


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(1, "1", {})], "distinct names, found '1' twice"),
        ([("a", "b", {"weight": 1}), ("b", "a", {})], "a weight on every edge, or on none, found 1 of 2"),
        ([("a", "b", {"weight": -1})], "edge from 'a' to 'b': expected a weight above 0, found -1"),
        ([("a", "b", {"weight": float("nan")})], "edge from 'a' to 'b': expected a number as weight, found nan"),
        ([("a", "b", {"weight": None})], "expected a number as weight, found None"),
        ([("a", "b", {"probability": "many"})], "expected a number as probability, found 'many'"),
        ([], "at least one state"),
    ],
)
def test_what_is_wrong(edges, message: str) -> None:
    with pytest.raises(InputError) as caught:
        from_networkx(nx.DiGraph(edges))
    assert message in str(caught.value)


def test_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="expected a networkx graph, found a list"):
        from_networkx([("a", "b")])


# --- files -----------------------------------------------------------------------------------------


def test_graphml(tmp_path) -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "a", 0.5), ("a", "b", 0.5), ("b", "a", 2.0)])
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert load_model(tmp_path / "g.graphml") == HALVES
    nx.write_graphml(graph, tmp_path / "g.graphml.gz")
    notes: list[str] = []
    assert load_model(tmp_path / "g.graphml.gz", notes=notes) == HALVES
    assert notes == [f"{tmp_path / 'g.graphml.gz'}: weights were normalised"]


@pytest.mark.parametrize("suffix", [".dot", ".gv"])
def test_dot(tmp_path, suffix: str, capsys) -> None:
    file = tmp_path / f"g{suffix}"
    file.write_text(
        'digraph "roads" {\n  a -> a [probability=0.5];\n'
        '  a -> "b c" [probability="0.5"];\n  "b c" -> a [probability=1]\n}\n'
    )
    assert load_model(file).transitions == (("a", "a", Fraction(1, 2)), ("a", "b c", Fraction(1, 2)), ("b c", "a", 1))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.graphml", "<graphml>", "line 1: expected GraphML, found no element"),
        ("g.graphml", "", "expected GraphML"),
        ("g.graphml", "<graphml/>", "expected GraphML"),
        ("g.dot", "this is no graph", "expected a DOT graph"),
        ("g.dot", "", "expected a DOT graph"),
        ("g.dot", "digraph { a -> b [weight=0] }", "g.dot: edge from 'a' to 'b': expected a weight above 0"),
    ],
)
def test_files_that_are_no_graphs(tmp_path, name: str, text: str, message: str, capsys) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        load_model(file)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert capsys.readouterr().out == ""


def test_without_the_extra_a_message_says_what_to_install(tmp_path) -> None:
    file = tmp_path / "g.graphml"
    file.write_text("<graphml/>")
    code = (
        "import sys\n"
        "sys.modules['networkx'] = None\n"
        "from symveil.errors import FileError\n"
        "from symveil.formats.models.model_files import load_model\n"
        "try:\n"
        "    load_model(sys.argv[1])\n"
        "except FileError as error:\n"
        "    assert 'networkx' in str(error) and 'the extra symveil[formats]' in str(error), error\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)


def test_reading_json_and_dot_needs_neither_pyarrow_nor_networkx(tmp_path) -> None:
    (tmp_path / "g.dot").write_text("digraph { a -> a }")
    code = (
        "import symveil.formats.models.model_files as files, sys; files.load_model(sys.argv[1]); "
        "assert not {'pyarrow', 'networkx', 'pydot'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "g.dot")], check=True)


def test_an_entity_bomb_does_not_explode(tmp_path) -> None:
    layers = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    file = tmp_path / "g.graphml"
    file.write_text(f'<!DOCTYPE g [<!ENTITY l0 "lol">{layers}]><graphml>&l9;</graphml>')
    with pytest.raises(FileError):
        load_model(file)
