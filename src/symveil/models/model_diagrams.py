"""Models as pictures: a node per state, an arrow per pair of states, probabilities in red, secrets marked.

As in the figures of Z25: what an outsider cannot see is dashed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from symveil.numbers.rationals import spelled
from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.layers import state_diagram
from symveil.pictures.text import probability_label, symbol_label

if TYPE_CHECKING:
    from symveil.models.automaton import Automaton, TransitionSystem
    from symveil.models.labelled_chain import LabelledChain
    from symveil.models.markov_chain import MarkovChain
    from symveil.models.stochastic_system import PartiallyObserved

_ADVICE = "draw a smaller model, or a part of this one"


def system_diagram(system: PartiallyObserved) -> Diagram:
    """A partially observed system as in Z25 Fig. 3a: secret states marked, unobservable events dashed.

    >>> from symveil.models.stochastic_system import StochasticSystem
    >>> system = StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/2"), ("0", "u", "2", "1/2"), ("2", "a", "1", 1)],
    ...     initial="0", observable=["a"], secret=["2"],
    ... )
    >>> diagram = system_diagram(system)
    >>> [node.label for node in diagram.nodes if node.marked]
    [('2',)]
    >>> [(edge.label, edge.annotation, edge.dashed) for edge in diagram.edges]
    [('a', '1/2', False), ('u', '1/2', True), ('a', '1', False)]
    """
    observable = set(system.observable)
    edges = [
        Edge(
            source=source,
            target=target,
            label=symbol_label(event),
            annotation=probability_label(chance[0]) if chance else "",
            dashed=event not in observable,
        )
        for source, event, target, *chance in system.transitions
    ]
    return state_diagram(
        title=f"System of {_counted(len(system.states), 'state')}, {len(system.secret) or 'none'} of them secret",
        nodes=_nodes(system.states, initial=system.initial_states, marked=system.secret),
        edges=edges,
        advice=_ADVICE,
        annotation_meaning="probability of an event",
        marked_meaning="secret state",
        dashed_meaning="unobservable event",
    )


def chain_diagram(chain: MarkovChain) -> Diagram:
    """A Markov chain: its states and the probabilities between them.

    >>> from symveil.models.markov_chain import MarkovChain
    >>> chain = MarkovChain.from_transitions([("a", "a", "1/3"), ("a", "b", "2/3"), ("b", "a", 1)])
    >>> [edge.annotation for edge in chain_diagram(chain).edges]
    ['1/3', '2/3', '1']
    """
    return state_diagram(
        title=f"Markov chain of {_counted(len(chain.states), 'state')}",
        nodes=_nodes(chain.states, initial=() if chain.initial is None else (chain.initial,)),
        edges=[
            Edge(source=source, target=target, annotation=probability_label(chance))
            for source, target, chance in chain.transitions
        ],
        advice=_ADVICE,
        annotation_meaning="probability of a step",
    )


def labelled_diagram(chain: LabelledChain) -> Diagram:
    """A labelled chain: under each state its label, and the related states marked.

    >>> from symveil.models.labelled_chain import LabelledChain
    >>> chain = LabelledChain.from_transitions([("s", "t", 1), ("t", "t", 1)], labels={"s": "a", "t": "b"})
    >>> [(node.label, node.column) for node in labelled_diagram(chain).nodes]
    [(('s', 'a'), 0), (('t', 'b'), 1)]
    """
    related = {state for pair in chain.related for state in pair}
    return state_diagram(
        title=repr(chain),
        nodes=[
            Node(key=state, label=(state, label), marked=state in related)
            for state, label in zip(chain.states, chain.labels, strict=True)
        ],
        edges=[
            Edge(source=source, target=target, annotation=spelled(chance))
            for source, target, chance in chain.transitions
        ],
        advice=_ADVICE,
        label_meaning="state, and under it the label that is seen",
        annotation_meaning="probability",
    )


def automaton_diagram(automaton: Automaton | TransitionSystem) -> Diagram:
    """An automaton, accepting states with a double outline and silent moves dashed, or a transition system.

    >>> from symveil.models.automaton import Automaton
    >>> automaton = Automaton.from_transitions([("p", "a", "q"), ("q", None, "p")], initial="p", accepting=["q"])
    >>> [(edge.label, edge.dashed) for edge in automaton_diagram(automaton).edges]
    [('a', False), ('ε', True)]
    """
    accepting = getattr(automaton, "accepting", ())  # every state of a transition system is
    noun = "Automaton" if accepting else "Transition system"
    return state_diagram(
        title=f"{noun} of {_counted(len(automaton.states), 'state')}",
        nodes=_nodes(automaton.states, initial=(automaton.initial,), accepting=accepting),
        edges=[
            Edge(
                source=source,
                target=target,
                label="ε" if symbol is None else symbol_label(symbol),
                dashed=symbol is None,
            )
            for source, symbol, target in automaton.transitions
        ],
        advice=_ADVICE,
        dashed_meaning="silent move",
    )


def _nodes(
    states: Sequence[str], *, initial: Iterable[str], accepting: Iterable[str] = (), marked: Iterable[str] = ()
) -> list[Node]:
    started, accepted, secret = set(initial), set(accepting), set(marked)
    return [
        Node(
            key=state,
            label=(symbol_label(state),),
            initial=state in started,
            accepting=state in accepted,
            marked=state in secret,
        )
        for state in states
    ]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
