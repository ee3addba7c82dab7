"""The observer of a system as a picture: what an outsider thinks possible, and where a secret is given away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from symveil.pictures.diagram import Diagram, Edge, Node
from symveil.pictures.labels import set_label, symbol_label
from symveil.pictures.state_diagram import state_diagram

if TYPE_CHECKING:
    from symveil.verification.opacity.observation import Observer


def observer_diagram(observer: Observer) -> Diagram:
    """The observer as in Z25 Fig. 3b, an estimate marked when all its states are secret.

    >>> from symveil.verification.opacity.observation import observer
    >>> from symveil.models.stochastic_system import LogicalSystem
    >>> system = LogicalSystem.from_transitions(
    ...     [("0", "u", "1"), ("0", "a", "2"), ("1", "a", "3"), ("3", "b", "3")],
    ...     initial="0", observable=["a", "b"], secret=["3"],
    ... )
    >>> diagram = observer_diagram(observer(system))
    >>> [(node.label, node.marked) for node in diagram.nodes]
    [(('{0, 1}',), False), (('{2, 3}',), False), (('{3}',), True)]
    """
    secret = set(observer.system.secret)
    events = observer.system.observable
    return state_diagram(
        title=f"Observer of {len(observer.sets)} state{'' if len(observer.sets) == 1 else 's'}",
        nodes=[
            Node(
                key=number,
                label=estimate_label(estimate),
                initial=number == 0,
                marked=bool(estimate) and secret.issuperset(estimate),
            )
            for number, estimate in enumerate(observer.estimates)
        ],
        edges=[
            Edge(source=source, target=target, label=symbol_label(events[event]))
            for source, event, target in observer.transitions
        ],
        advice="draw the observer of a smaller system, or the system itself",
        label_meaning="{…}: the states possible after an observation",
        marked_meaning="all of them secret",
    )


def estimate_label(estimate: Sequence[str]) -> tuple[str, ...]:
    """A set of states as the lines of a label.

    >>> estimate_label(("5", "6"))
    ('{5, 6}',)
    """
    return tuple(set_label(list(map(symbol_label, estimate))).splitlines())
