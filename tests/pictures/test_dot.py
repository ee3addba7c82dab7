"""The DOT text says the same as the diagram, whatever characters it takes."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symveil.languages.hamming_automaton import hamming_automaton
from symveil.pictures.diagram import Diagram, Edge, Node, to_dot
from symveil.pictures.text import displayable

NASTY = 'q"\\N\\l<b>&amp;\n漢é'


def diagram(text, annotation=""):
    nodes = (
        Node(key="start", column=0, row=0, label=(text, "2"), value=annotation, initial=True),
        Node(key="end", column=2, row=1, label=("end",), accepting=True, marked=True),
    )
    return Diagram(
        title=text, nodes=nodes, edges=(Edge(source="start", target="end", label=text, annotation=annotation),)
    )


def quoted_string(text):
    """Read a DOT string back: the part of the grammar that `to_dot` uses."""
    assert text[0] == '"'
    result, index = "", 1
    while text[index] != '"':
        if text[index] == "\\":
            index += 1
            result += {"n": "\n", '"': '"', "\\": "\\"}[text[index]]
        else:
            result += text[index]
        index += 1
    return result


def test_quotes_backslashes_newlines_and_foreign_letters_come_back_as_they_were():
    dot = to_dot(diagram(NASTY))
    for marker, expected in (("n0 [label=", NASTY + "\n2"), ("n0 -> n1 [label=", NASTY), (", label=", NASTY)):
        assert quoted_string(dot[dot.index(marker) + len(marker) :]) == expected


@given(st.text())
def test_any_text_stays_inside_its_quotes(text):
    dot = to_dot(diagram(text))
    shown = quoted_string(dot[dot.index("n0 -> n1 [label=") + len("n0 -> n1 [label=") :])
    assert shown == re.sub("\r\n?", "\n", displayable(text))
    assert dot.encode("utf-8").count(b"\x00") == 0


def test_coloured_texts_are_escaped_as_markup():
    dot = to_dot(diagram("<b>", annotation='1 < 2 & "3"'))
    assert "label=<&lt;b&gt;<BR/>" in dot
    assert ">1 &lt; 2 &amp; &quot;3&quot;</FONT>" in dot


def test_nodes_are_pinned_to_the_grid():
    dot = to_dot(diagram("a"))
    assert 'pos="0,0!"' in dot
    assert 'pos="3.6,1.3!"' in dot
    assert "layout=neato" in dot


def test_flags_are_drawn():
    dot = to_dot(diagram("a"))
    assert dot.count("doublecircle") == 1
    assert dot.count("n0_entry -> n0") == 1
    assert dot.count("fillcolor") == 1


def test_an_automaton_has_a_line_for_each_state_and_edge():
    automaton = hamming_automaton("abc", alphabet="abc", within=2)
    lines = automaton.to_dot().splitlines()
    assert sum("pos=" in line and "entry" not in line for line in lines) == automaton.state_count
    assert sum("->" in line and "entry" not in line for line in lines) == automaton.edge_count


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
class TestWithGraphviz:
    @staticmethod
    def drawn(dot):
        return subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True)

    def test_the_nasty_text_is_drawn_without_complaint(self):
        for annotation in ("", NASTY):
            result = self.drawn(to_dot(diagram(NASTY, annotation)))
            assert result.stderr == b""
            assert "漢é" in result.stdout.decode()

    def test_odd_symbols_are_drawn_as_they_are(self):
        symbols = ["<", '&"', "main st", "\\N", "]]>"]
        result = self.drawn(hamming_automaton(symbols[:3], alphabet=symbols).to_dot())
        assert result.stderr == b""
        assert "main&#160;st" in result.stdout.decode() or "main st" in result.stdout.decode()
        assert "\\N" in result.stdout.decode()

    @settings(max_examples=15)
    @given(st.text(max_size=10), st.text(max_size=10))
    def test_any_text_is_accepted(self, text, annotation):
        assert b"syntax error" not in self.drawn(to_dot(diagram(text, annotation))).stderr
