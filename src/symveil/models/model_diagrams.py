"""Models as pictures: a node per state, an arrow per pair of states, probabilities in red, secrets marked.

As in the figures of Z25: what an outsider cannot see is dashed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import state_diagram
from symveil.pictures.text import symbol_label


def model_diagram(
    title: str,
    states: Sequence[str],
    edges: Iterable[Edge],
    *,
    initial: Collection[str] = (),
    accepting: Collection[str] = (),
    marked: Collection[str] = (),
    labels: Sequence[str] | None = None,
    **meanings: str,
) -> Diagram:
    """A model's states and the arrows between them; `meanings` are the lines of the legend.

    >>> arrows = [Edge(source="p", target="q", label="a")]
    >>> [(node.label, node.accepting) for node in model_diagram("two", ["p", "q"], arrows, accepting=["q"]).nodes]
    [(('p',), False), (('q',), True)]
    """
    names = [(symbol_label(state),) for state in states] if labels is None else list(zip(states, labels, strict=True))
    first, ends, secret = frozenset(initial), frozenset(accepting), frozenset(marked)
    return state_diagram(
        title=title,
        nodes=[
            Node(key=state, label=name, initial=state in first, accepting=state in ends, marked=state in secret)
            for state, name in zip(states, names, strict=True)
        ],
        edges=edges,
        advice="draw a smaller model, or a part of this one",
        **meanings,
    )
