"""DOT: what the language means, what the usual parser makes of it, and nothing that takes long."""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.errors import InputError
from symveil.formats.models.dot_files import parse_dot
from symveil.formats.models.model_files import load_model
from symveil.formats.models.networkx_graphs import from_networkx, graph_chain


def edges(text: str) -> list[tuple[str, str]]:
    return [(one, other) for one, other, _ in parse_dot(text, where="x").edge_list()]


def nodes(text: str) -> list[str]:
    return list(parse_dot(text, where="x").nodes)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a -> b", ["a b"]),
        ("a -> b -> c", ["a b", "b c"]),
        ("a -> {b c}", ["a b", "a c"]),
        ("{a b} -> {c d}", ["a c", "a d", "b c", "b d"]),
        ("{a -> b} -> c", ["a b", "a c", "b c"]),
        ("subgraph s { a; b -> c } -> d", ["b c", "a d", "b d", "c d"]),
        ("subgraph cluster_0 { label=x; a -> b } b -> c", ["a b", "b c"]),
        ("subgraph { { { a -> b } } }", ["a b"]),
        ("a:n -> b:port:sw", ["a b"]),
        ('"a b" -> "c\\"d"', ['a b|c"d']),
        ('"a" + "b" -> c', ["ab c"]),
        ('"a\\\nb" -> "c\\\\" ; "d\\N" -> e', ["ab c\\\\", "d\\N e"]),
        ("<b>x</b> -> y", ["</b> y"]),
        ("<<b>x</b>> -> y", ["<<b>x</b>> y"]),
        ("a /* -> b */ -> c // -> d\n # -> e\n -> f", ["a c", "c f"]),
        ("a->b;;b->c;", ["a b", "b c"]),
        ("-1.5 -> .5 -> 7", ["-1.5 .5", ".5 7"]),
        ("é.1 -> ß_2", ["é.1 ß_2"]),
        ('"node" -> "edge" -> "graph"', ["node edge", "edge graph"]),
        ("Node -> b", ["Node b"]),
        (
            "rankdir=LR; node [shape=box, style = filled; x] edge [color=red][a=b] graph [] a -> b [label=<x<y>z>]",
            ["a b"],
        ),
        ("", []),
        ('"" -> a', [" a"]),
    ],
)
def test_what_is_written_is_what_is_read(body: str, expected: list[str]) -> None:
    found = [f"{one}|{other}" if " " in one else f"{one} {other}" for one, other in edges(f"digraph {{ {body} }}")]
    assert found == expected


def test_nodes_stand_in_order_of_their_mention() -> None:
    text = "digraph { c; { a } -> b; subgraph s { e [x=1] { d } } x = y; edge [color=red] }"
    assert nodes(text) == ["c", "a", "b", "e", "d"]


def test_what_is_said_of_all_edges_holds_from_there_on_and_inside() -> None:
    text = "digraph { a -> b; edge [weight=2]; b -> c; { edge [weight=3 probability=1]; c -> d }; d -> e [weight=4] }"
    values = [found for _, _, found in parse_dot(text, where="x").edges]
    assert values == [{}, {"weight": "2"}, {"weight": "3", "probability": "1"}, {"weight": "4"}]


def test_a_strict_graph_has_each_edge_once() -> None:
    text = "strict %s { a %s b [weight=1]; b %s a; a %s b [weight=5] }"
    assert edges(text % ("digraph", *["->"] * 3)) == [("a", "b"), ("b", "a")]
    assert parse_dot(text % ("graph", *["--"] * 3), where="x").edge_list() == [("a", "b", {"weight": "5"})]
    assert parse_dot("graph { a -- b; b -- a }", where="x").edge_list() == [("a", "b", {}), ("b", "a", {})]


def test_several_graphs_and_keywords_in_capitals(tmp_path) -> None:
    (tmp_path / "g.gv").write_text("STRICT DiGraph G { a -> a } digraph { b -> b }")
    notes: list[str] = []
    assert load_model(tmp_path / "g.gv", notes=notes).states == ("a",)
    assert any("several graphs" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected a DOT graph, which begins with graph or digraph, found the end of the file"),
        ("{ a -> b }", "expected a DOT graph"),
        ("digraph", "expected the name of the graph, or {, found the end"),
        ("digraph {\n a -> b\n", "line 3: expected }, found the end of the file"),
        ("digraph { a -> }", "expected a node or a subgraph, found '}'"),
        ("digraph { a -- b }", "expected -> in a digraph and -- in a graph, found '--'"),
        ("graph { a -> b }", "expected -> in a digraph and -- in a graph, found '->'"),
        ("digraph { a -> b [weight= }", "expected a value, found '}'"),
        ("digraph { a [x", "expected an attribute, or ], found the end"),
        ("digraph { a } b", "expected the end of the file after the graph, found 'b'"),
        ("digraph { a }; b", "expected the end of the file after the graph, found 'b'"),
        ("digraph { a - b }", "expected DOT, found '-'"),
        ("digraph { a $ b }", "expected DOT, found '$'"),
        ('digraph {\n "a }', "line 2: expected the end of a text in quotes"),
        ("digraph { <a }", "expected a > for every <"),
        ("digraph { /* }", "expected the end of a comment"),
        ('digraph { "a" + b }', "expected a text in quotes after +, found 'b'"),
        ("digraph { subgraph -> b }", "expected the name of a subgraph, or {, found '->'"),
        ("digraph { {a} = b }", "found '='"),
        ("digraph { a: -> b }", "expected the name of a port"),
        ("digraph " + "{" * 60 + "}" * 60, "expected subgraphs nested at most 50 deep, found more"),
    ],
)
def test_what_is_no_dot_is_refused_at_its_line(tmp_path, text: str, message: str) -> None:
    (tmp_path / "g.dot").write_text(text)
    with pytest.raises(InputError) as caught:
        load_model(tmp_path / "g.dot")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


# --- against the usual parser -------------------------------------------------------------------------

plain = st.sampled_from(["a", "b", "c_1", "D", "x.y", "7", '"q r"', '"é"', '"->"', '"{"', '"/*"', '"#"'])
comments = st.sampled_from([" ", "\n", " /* { */ ", " // }\n", " # [\n", "\t"])
weights = st.sampled_from(["weight=2", 'weight="1/3"', "weight=0.5, label=x", 'label="; }" weight=3'])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Flat graphs with everything in which the usual parser follows the language, edges of one weight or none.

    In a strict graph all have the same: of an edge that is repeated the last weight holds, and the usual parser reads
    the edges of braces after all others.
    """
    directed, strict, weighted = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    weight = draw(weights)
    arrow = "->" if directed else "--"
    statements = []
    for _ in range(draw(st.integers(1, 6))):
        gap = draw(comments)
        points = draw(st.lists(plain, min_size=2, max_size=3))
        if draw(st.booleans()):
            points[-1] = "{" + " ".join(draw(st.lists(plain, min_size=1, max_size=3, unique=True))) + "}"
        said = (
            f" [{weight if strict else draw(weights)}]"
            if weighted
            else draw(st.sampled_from(["", " [label=x]", " [label=x][y=z]"]))
        )
        statements.append(f"{gap}{arrow}{gap}".join(points) + said)
    for _ in range(draw(st.integers(0, 2))):
        statements.append(draw(st.sampled_from(["a", "b [shape=box]", "rankdir=LR", "node [shape=box]"])))
    end = draw(st.sampled_from([";", "\n", " ;\n"]))
    kind = ("strict " if strict else "") + ("digraph" if directed else "graph")
    name = draw(st.sampled_from(["", "g", '"my graph"']))
    return f"{kind} {name} {{ {end.join(statements)} }}"


@settings(max_examples=60)
@given(texts())
def test_the_usual_parser_reads_the_same_chain(text: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
        graph = nx.nx_pydot.read_dot(io.StringIO(text))
    graph.remove_nodes_from([node for node in graph if node == "\\n"])
    for _, _, data in graph.edges(data=True):
        data.update({key: value.strip('"') for key, value in data.items() if isinstance(value, str)})
    expected = from_networkx(graph)
    ours = parse_dot(text, where="x")
    found = graph_chain(list(ours.nodes), ours.edge_list(), directed=ours.directed)
    assert set(found.states) == set(expected.states)
    assert set(found.transitions) == set(expected.transitions)


def test_of_a_repeated_edge_in_a_strict_graph_the_last_weight_holds() -> None:
    text = 'strict graph { a -- a [weight=2]; a -- {a} [weight=2]; a -- a [weight="1/3"]; a -- b [weight=2] }'
    graph = parse_dot(text, where="x")
    assert graph.edge_list() == [("a", "a", {"weight": "1/3"}), ("a", "b", {"weight": "2"})]


def test_a_graph_that_networkx_wrote(tmp_path) -> None:
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a b", "c", 0.5), ("a b", "a b", 0.25), ("c", "a b", 2.0)])
    with warnings.catch_warnings(action="ignore"):
        nx.nx_pydot.write_dot(graph, tmp_path / "g.dot")
    assert load_model(tmp_path / "g.dot").transitions == (
        ("a b", "c", Fraction(2, 3)),
        ("a b", "a b", Fraction(1, 3)),
        ("c", "a b", 1),
    )


# --- what takes long elsewhere ------------------------------------------------------------------------

MANY = "{" + " ".join(f"n{number}" for number in range(5000)) + "}"

SLOW = {
    "nested": "digraph g {" + "{" * 12 + "}" * 12 + "}",
    "unclosed": "digraph g " + "{" * 100_000,
    "closed": "digraph g " + "{" * 100_000 + "}" * 100_000,
    "subgraphs": "digraph g {" + "{a}" * 50_000 + "}",
    "named": "digraph g {" + "subgraph s {a}" * 20_000 + "}",
    "markup": "digraph g {" + "<" * 200_000,
    "markups": "digraph g {" + "<b> " * 50_000 + "}",
    "quotes": "digraph g { " + '"a' * 100_000,
    "escapes": 'digraph g { "' + "\\" * 200_000,
    "pieces": 'digraph g { "a"' + '+"a"' * 50_000 + "}",
    "comments": "digraph g { " + "/**/" * 50_000 + "/* " * 50_000,
    "hashes": "digraph g { " + "#" * 200_000,
    "blanks": "digraph g { " + " \n" * 100_000,
    "chain": "digraph g { a" + "->a" * 70_000 + "}",
    "ports": "digraph g { a" + ":a" * 100_000 + "}",
    "brackets": "digraph g { a " + "[" * 200_000,
    "lists": "digraph g { a -> b " + "[weight=1]" * 20_000 + "}",
    "values": "digraph g { a -> b [" + "weight=1," * 20_000 + "]}",
    "defaults": "digraph g {" + "edge [weight=1] { a -> b }" * 8000 + "}",
    "products": "digraph g {" + MANY + "->" + MANY + "}",
    "graphs": "digraph { a }" * 15_000,
    "name": "digraph { " + "a" * 200_000 + " }",
    "number": "digraph { a -> a [weight=" + "9" * 200_000 + "] }",
    "exponent": "digraph { a -> a [weight=1e999999999] }",
    "semicolons": "digraph { a" + ";" * 200_000 + "}",
}


@pytest.mark.parametrize("kind", SLOW)
def test_nothing_takes_long(tmp_path, kind: str) -> None:
    (tmp_path / "g.dot").write_text(SLOW[kind])
    began = time.process_time()
    with contextlib.suppress(InputError):
        load_model(tmp_path / "g.dot")
    assert time.process_time() - began < 5


def test_a_semicolon_after_the_graph_is_nothing(tmp_path) -> None:
    """libFAUDES ends its drawings that way."""
    body = 'digraph { dot_0 [style=invis]; dot_0 -> "1"; "1" -> "2" [label="a"]; "2" -> "1" [label="b"]; }'
    models = []
    for number, end in enumerate(("", ";", " ;;\n; // done", ";\ndigraph { c }")):
        (tmp_path / f"{number}.dot").write_text(body + end)
        models.append(load_model(tmp_path / f"{number}.dot"))
    assert all(model == models[0] for model in models)
