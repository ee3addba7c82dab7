"""What synthesis found: a function or a supervisor with the verdicts on it, or why there is none."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from symveil.enforcement.edit_costs import WorstCost
from symveil.enforcement.edit_function import EditFunction
from symveil.enforcement.supervisor import Supervisor
from symveil.errors import ParameterError, WordError
from symveil.models.stochastic_system import PartiallyObserved
from symveil.pictures.diagram import Diagram
from symveil.verification.opacity.notions import Question
from symveil.verification.opacity.opacity_verdict import OpacityVerdict
from symveil.verification.opacity.violation import ViolationProbability


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """The answer of `synthesize_opacity`.

    `possible`: True, there is a function and it was checked; False, there is none, and `refutation` proves it:
    whatever a function does, it fails for one of these observations; None, a function was found, but one that
    withstands an informed observer was asked for and this one does not. Of a supervisor the refutation is one
    observation, which no disabling of observable events can prevent: supervisors that disable events that nobody sees
    are not looked for.

    `verdict` is about an observer who knows the system only, and takes what is shown for the truth;
    `informed_verdict` about one who knows the function as well. For a stochastic system the probability that a run
    gives a secret away is computed without the function, and with it to an informed observer.
    """

    policy: str
    question: Question = field(repr=False)
    possible: bool | None
    function: EditFunction | None = None
    supervisor: Supervisor | None = None
    cost: WorstCost | None = None
    """What the function costs in the worst case, where costs were given."""
    refutation: tuple[tuple[str, ...], ...] | None = None
    verdict: OpacityVerdict | None = None
    informed_verdict: OpacityVerdict | None = None
    violation_before: ViolationProbability | None = None
    violation_after: ViolationProbability | None = None
    system: PartiallyObserved = field(repr=False)
    enforced_system: PartiallyObserved | None = field(default=None, repr=False)
    """The system behind the function, or under the supervisor, as a system of its own."""

    def apply(self, observation: Sequence[str]) -> tuple[str, ...] | str:
        """What is shown for an observation.

        Parameters
        ----------
        observation
            The events that happened, in order.
        """
        if self.function is None:
            raise ParameterError("policy", expected="one with a function to apply", found=self.policy)
        return self.function.apply(observation)

    def release_many(self, observations: Sequence[Sequence[str]]) -> list[tuple[str, ...] | str]:
        """What is shown for each observation of a log.

        Parameters
        ----------
        observations
            The events of each run, in order.
        """
        shown = []
        for row, observation in enumerate(observations, start=1):
            try:
                shown.append(self.apply(observation))
            except WordError as error:
                message = str(error).replace("observation", f"observation {row}", 1)
                raise WordError(message, position=error.position) from None
        return shown

    def to_diagram(self) -> Diagram:
        """The function or the supervisor as a picture."""
        machine = self.function or self.supervisor
        if machine is None:
            raise ParameterError("draw", expected="a function or a supervisor", found="none: it cannot be enforced")
        return machine.to_diagram()

    @property
    def already_opaque(self) -> bool:
        """Whether the system gives no secret away as it is: nothing had to be changed."""
        if self.violation_before is not None and self.violation_before.upper == 0:
            return True
        if self.supervisor is not None:
            return not any(self.supervisor.disabled)
        return self.function is not None and self.function.changes == 0 and self.possible is True

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        informed = self.informed_verdict
        return {
            "policy": self.policy,
            "property": self.question.property_name,
            "notion": self.question.shown_notion,
            "k": self.question.shown_k,
            "enforceable": self.possible,
            "already_opaque": self.already_opaque,
            "holds": None if self.verdict is None else self.verdict.holds,
            "holds_informed": None if informed is None else informed.holds,
            "witness_informed": None if informed is None or informed.witness is None else list(informed.witness),
            "refutation": None if self.refutation is None else [list(each) for each in self.refutation],
            "violation_before": None if self.violation_before is None else str(self.violation_before.upper),
            "violation_after": None if self.violation_after is None else str(self.violation_after.upper),
            "cost_per_event": None if self.cost is None else str(self.cost.per_event),
            "cost_in_total": None if self.cost is None or self.cost.total is None else str(self.cost.total),
            "function": None if self.function is None else self.function.document(),
            "supervisor": None if self.supervisor is None else self.supervisor.document(),
        }

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self).removeprefix('Synthesis(').removesuffix(')'))}</p>"

    def __repr__(self) -> str:
        name = self.question.property_name
        if self.possible is False:
            limits = " (one that disables observable events)" if self.policy == "supervisor" else ""
            return f"Synthesis({name} cannot be enforced by the policy {self.policy}{limits})"
        if self.supervisor is not None:
            return f"Synthesis({name} holds: {self.supervisor})"
        informed = self.informed_verdict is not None and self.informed_verdict.holds
        knows = "also if the observer knows the function" if informed else "if the observer does not know the function"
        return f"Synthesis({name} holds {knows}: {self.function})"
