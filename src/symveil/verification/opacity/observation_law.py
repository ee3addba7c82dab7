"""The probabilities of observations: which events a run of a stochastic system shows, and whether it met a secret.

A `Spread` says where the run may be right after the last observation, and with which probability,
separately for runs that have met a secret state and for those that have not. One more observation
comes after any number of unobservable moves; how often each state is passed meanwhile is a linear
system, solved exactly along the strongly connected parts of the unobservable moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush

from flint import fmpq, fmpq_mat

from symveil.languages.observation import Observed
from symveil.languages.strong_components import strong_components
from symveil.models.stochastic_system import StochasticSystem
from symveil.numerics.once import computed_once

Node = tuple[int, bool]
"""(system state, whether a secret state has been met)."""

Spread = Mapping[Node, fmpq]
"""The probability of each node, jointly with the observation so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """An observation so far, and what may come next; all probabilities are joint with what was observed.

    `secret`: a secret state is met before another event is observed. `ends`: nothing more is ever
    observed; `ends_secret`: and a secret state was met.
    """

    following: Mapping[int, Spread]
    probability: Fraction
    secret: Fraction
    ends: Fraction
    ends_secret: Fraction


class ObservationLaw:
    """The law of the observations of one system."""

    def __init__(self, system: StochasticSystem) -> None:
        self._seen = Observed(system)
        self._moves: dict[int, list[tuple[int | None, int, fmpq]]] = defaultdict(list)
        event_number = {event: index for index, event in enumerate(system.observable)}
        number = self._seen.number
        for source, event, target, chance in system.transitions:
            move = (event_number.get(event), number[target], fmpq(chance.numerator, chance.denominator))
            self._moves[number[source]].append(move)
        initial = number[system.initial]
        self.start: Spread = {(initial, self._is_secret(initial)): fmpq(1)}

    def instant(self, spread: Spread) -> Instant:
        """What may happen between the last observation and the next one."""
        visits, resting = self._flow(spread)
        following: dict[int, dict[Node, fmpq]] = {}
        secret = sum((chance for (_, met), chance in spread.items() if met), start=fmpq(0))
        for (state, met), passed in visits.items():
            for event, target, chance in self._moves[state]:
                if event is not None:
                    node = (target, met or self._is_secret(target))
                    after = following.setdefault(event, {})
                    after[node] = after.get(node, fmpq(0)) + passed * chance
                elif not met and self._is_secret(target):
                    secret += passed * chance
        return Instant(
            following=dict(sorted(following.items())),
            probability=mass(spread),
            secret=_as_fraction(secret),
            ends=mass(resting),
            ends_secret=mass({node: chance for node, chance in resting.items() if node[1]}),
        )

    def _is_secret(self, state: int) -> bool:
        return bool(self._seen.secret >> state & 1)

    # --- unobservable moves --------------------------------------------------------------------

    def _flow(self, spread: Spread) -> tuple[dict[Node, fmpq], dict[Node, fmpq]]:
        """How often each node is passed, on average, before the next observation; and where runs end instead.

        A run ends in a state without transitions, or where it moves unobservably for ever.
        """
        entering = dict(spread)
        visits: dict[Node, fmpq] = {}
        resting: dict[Node, fmpq] = {}
        waiting = sorted({self._part_of[node] for node in entering})
        while waiting:
            number = heappop(waiting)
            while waiting and waiting[0] == number:
                heappop(waiting)
            part = self._parts[number]
            if part.inverse is None:
                resting.update({node: entering[node] for node in part.nodes if node in entering})
                continue
            inflow = [entering.get(node, fmpq(0)) for node in part.nodes]
            passed = fmpq_mat(1, len(inflow), inflow) * part.inverse
            for position, node in enumerate(part.nodes):
                visits[node] = passed[0, position]
                if not self._moves[node[0]]:
                    resting[node] = visits[node]
                for target, chance in self._silent(node):
                    if self._part_of[target] != number:
                        entering[target] = entering.get(target, fmpq(0)) + visits[node] * chance
                        heappush(waiting, self._part_of[target])
        return visits, resting

    def _silent(self, node: Node) -> list[tuple[Node, fmpq]]:
        state, met = node
        return [
            ((target, met or self._is_secret(target)), chance)
            for event, target, chance in self._moves[state]
            if event is None
        ]

    @computed_once
    def _parts(self) -> list[_Part]:
        """The strongly connected parts of the unobservable moves, each before those it leads to."""
        nodes = [(state, met) for state in range(len(self._seen.system.states)) for met in (False, True)]
        number = {node: index for index, node in enumerate(nodes)}
        components = strong_components([[number[target] for target, _ in self._silent(node)] for node in nodes])
        return [self._part([nodes[index] for index in component]) for component in reversed(components)]

    @computed_once
    def _part_of(self) -> dict[Node, int]:
        return {node: number for number, part in enumerate(self._parts) for node in part.nodes}

    def _part(self, nodes: list[Node]) -> _Part:
        place = {node: index for index, node in enumerate(nodes)}
        matrix = [[fmpq(int(row == column)) for column in range(len(nodes))] for row in range(len(nodes))]
        is_left = False
        for node in nodes:
            moves = self._moves[node[0]]
            is_left |= not moves or any(event is not None for event, _, _ in moves)
            for target, chance in self._silent(node):
                if target in place:
                    matrix[place[node]][place[target]] -= chance
                else:
                    is_left = True
        return _Part(nodes, fmpq_mat(matrix).inv() if is_left else None)


@dataclass(frozen=True, slots=True)
class _Part:
    """Nodes that lead back to each other, and (I − A)⁻¹ of the moves among them; None where they are never left."""

    nodes: list[Node]
    inverse: fmpq_mat | None


def mass(spread: Spread) -> Fraction:
    """Pr(observation so far)."""
    return _as_fraction(sum(spread.values(), start=fmpq(0)))


def _as_fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
