"""A system under a policy: what is shown for an observation."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from symveil.drawing.diagram import Diagram
from symveil.enforcement.judged_policy import JudgedPolicy
from symveil.enforcement.safe_observations import Events
from symveil.errors import ParameterError, WordError
from symveil.numerics.rationals import shown_at_least
from symveil.randomness import BitSource, system_bits


class Enforcement(JudgedPolicy):
    """A system under a policy. Construct with `enforce_opacity`; `release` draws what is shown.

    With very many observations, when the policy cannot be judged, the policy private still answers `release`.
    """

    def release(self, observation: Sequence[str], *, bits: BitSource | None = None) -> tuple[str, ...] | str:
        """What is shown for one observation: a tuple of events, or a str where a str came in."""
        try:
            return self.release_many([observation], bits=bits)[0]
        except WordError as error:
            message = str(error).replace("observation 1", "observation", 1)
            raise WordError(message, position=error.position) from None

    def release_many(
        self, observations: Sequence[Sequence[str]], *, bits: BitSource | None = None
    ) -> list[tuple[str, ...] | str]:
        """What is shown for each observation of a log; nothing is drawn unless all of them can be."""
        source = bits or system_bits()
        by_length: dict[int, list[int]] = defaultdict(list)
        read: list[Events] = []
        for number, observation in enumerate(observations, start=1):
            try:
                read.append(self._read(observation))
            except WordError as error:
                place = str(error).replace("observation", f"observation {number}", 1)
                raise WordError(place, position=error.position) from None
            by_length[len(read[-1])].append(number - 1)
        shown: list[tuple[str, ...] | str] = [()] * len(read)
        for rows in by_length.values():
            codes = np.array([read[row] for row in rows], dtype=np.int32)
            for row, drawn in zip(rows, self._policy.draw(codes, source).tolist(), strict=True):
                events = self._spelled(tuple(drawn))
                shown[row] = "".join(events) if isinstance(observations[row], str) else events
        return shown

    def _read(self, observation: Sequence[str]) -> Events:
        events = self._safe.seen.read(observation)
        if self.horizon is not None and len(events) > self.horizon:
            raise WordError(f"observation: expected at most {self.horizon} events (length), found {len(events)}")
        self._safe.require_possible(events)
        if self._policy.changes_everything:
            is_replaceable = self._policy.can_replace(events)
        elif self._safe.is_safe(events):
            return events
        else:
            if events not in self._sensitive_strings:
                raise WordError(
                    f"observation: expected a sensitive string, which this policy can replace, found one that ends "
                    f"before it or goes on after it, of {len(events)} events; the policy private takes any observation"
                )
            is_replaceable = self._policy.can_replace(events)
        if not is_replaceable:
            raise WordError(
                f"observation: expected one that can be replaced, found none to show for {len(events)} events"
            )
        return events

    def to_diagram(self) -> Diagram:
        """The automaton of the substitutes of the first sensitive string (Z25 Figs. 6, 7, 9 and 10)."""
        if not self._sensitive:
            raise ParameterError("draw", expected="a system with a sensitive string", found="none")
        return self._policy.diagram(self._sensitive[0].events)

    def _repr_html_(self) -> str:
        if not self.enforceable:
            return f"<p>{self.policy}: cannot be enforced for {html.escape(' '.join(self.unenforceable or ()))}</p>"
        rows = "".join(
            f"<tr><td>{name}</td><td>{value}</td></tr>"
            for name, value in (
                ("violation before", self.violation_before),
                ("violation after", self.violation_after),
                ("loss", "not computed" if self.epsilon is None else f"ε = {shown_at_least(self.epsilon)}"),
            )
        )
        return f"<table><caption>policy {self.policy}, {self.question.property_name}</caption>{rows}</table>"

    def __repr__(self) -> str:
        return f"Enforcement(policy {self.policy}, {self.question.property_name}, {self.system!r})"
