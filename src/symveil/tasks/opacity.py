"""Judge the opacity of a system: the verdict, its witness, and how probable a violation is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from symveil.errors import FileError, ModelError, ParameterError, TooLargeError
from symveil.formats.models.model_files import load_model
from symveil.formats.models.wmod_files import WMOD_SUFFIX, read_wmod_parts
from symveil.formats.reading import suffix
from symveil.models.automaton import TransitionSystem
from symveil.models.derived_systems import read_initial, starting_in
from symveil.models.stochastic_system import (
    LogicalSystem,
    PartiallyObserved,
    StochasticSystem,
)
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import Number, at_least, fraction_text, shown_at_least, shown_at_most
from symveil.reports.page import Reported
from symveil.reports.report import Report, facts_report
from symveil.storage.files import write_files
from symveil.tasks.draw import diagram_text
from symveil.verification.opacity.estimators import read_question, read_threshold
from symveil.verification.opacity.observation import Observed, observer
from symveil.verification.opacity.opacity_verdict import OpacityVerdict, verdict_on
from symveil.verification.opacity.verify import observed_for, verify_opacity
from symveil.verification.opacity.violation import ViolationProbability, read_within, shown_within, violation_on


@dataclass(frozen=True, slots=True, kw_only=True)
class OpacityReport(Reported):
    """A verdict and, for a stochastic system, the probability of a violation."""

    verdict: OpacityVerdict
    violation: ViolationProbability | None
    theta: Fraction | None

    def report(self) -> Report:
        """The verdict, its witness, and how probable a violation is."""
        verdict, violation = self.verdict, self.violation
        answer = {True: "holds", False: "does not hold", None: "undecided"}[self.holds]
        facts = [(verdict.property_name, answer)]
        if self.theta is not None:
            facts.append(("threshold", f"theta = {self.theta}"))
        if verdict.witness is not None:
            witness = " ".join(verdict.witness) or "before anything is observed"
            facts += [("a shortest violation", witness), ("why", verdict.reason)]
        if violation is not None:
            facts.append(("probability of a violation", violation_text(violation)))
        facts.append(("states", f"{verdict.system_states} of the system, {verdict.estimator_states} of the estimator"))
        return facts_report("Opacity", facts)

    @property
    def holds(self) -> bool | None:
        """Whether a violation is impossible, or less probable than θ where one is given; None: undecided."""
        if self.violation is None or (self.theta is None and self.violation.within is None):
            return self.verdict.holds
        if self.theta is not None:
            return self.violation.below(self.theta)
        if self.violation.upper == 0:
            return True
        return False if self.violation.lower > 0 else None

    def document(self) -> dict[str, object]:
        """The JSON form of the contract; a probability that is not exactly known is given by its upper bound."""
        verdict, violation = self.verdict, self.violation
        return {
            "property": verdict.property_name,
            "notion": verdict.question.shown_notion,
            "k": verdict.question.shown_k,
            "theta": None if self.theta is None else str(self.theta),
            "holds": self.holds,
            "violation_probability": None if violation is None else str(violation.upper),
            "violation_exact": None if violation is None else violation.is_exact,
            "violation_bounds": None
            if violation is None
            else {"lower": -at_least(-violation.lower) + 0.0, "upper": at_least(violation.upper)},
            "within": None if violation is None else violation.within,
            "witness": None if verdict.witness is None else list(verdict.witness),
            "exposed_after": verdict.exposed_after,
            "estimate": None if verdict.estimate is None else list(verdict.estimate),
            "estimator_states": verdict.estimator_states,
            "system_states": verdict.system_states,
            "dropped": list(verdict.dropped),
        }


def load_system(
    path: str | Path,
    *,
    secret: Sequence[str] = (),
    unobservable: Sequence[str] = (),
    initial: Sequence[str] = (),
    notion: str = "weak",
    notes: list[str] | None = None,
) -> PartiallyObserved:
    """The system in a file, with the secret states of `secret` where they are given; warns about useless ones.

    `unobservable` has events that no observer sees, beside those that the file calls so. `initial` has other initial
    states than the file, each `STATE` or `STATE=PROBABILITY`; they are prepared for the question that `notion` asks.
    """
    system = _unseen(_only_system(path, notes), unobservable)
    for state in secret:
        if state not in system.states:
            raise ParameterError("secret", expected="a state of the system", found=repr(state))
    if secret:
        system = system.with_secret(tuple(dict.fromkeys(secret)))
    if initial:
        requested = read_initial(initial, system.states)
        if notion == "initial":  # which asks for no probability
            requested = dict.fromkeys(requested)
        system = starting_in(system, requested, whole_runs=notion in ("strong", "joint-1", "separate-1"), notes=notes)
    if notes is not None:
        notes.extend(_remarks(system, path))
    return system


def _unseen(system: PartiallyObserved, unobservable: Sequence[str]) -> PartiallyObserved:
    """The system without seeing these events."""
    events = {event for _, event, _ in system.moves} | set(system.observable)
    for event in unobservable:
        if event not in events:
            raise ParameterError("unobservable", expected="an event of the system", found=repr(event))
    seen = tuple(event for event in system.observable if event not in unobservable)
    if unobservable and not seen:
        raise ParameterError("unobservable", expected="an event that is left to be seen", found="none")
    return replace(system, observable=seen) if unobservable else system


def _only_system(path: str | Path, notes: list[str] | None) -> PartiallyObserved:
    system = load_model(path, notes=notes)
    if isinstance(system, TransitionSystem):
        system = _all_observable(system, path, notes)
    if not isinstance(system, StochasticSystem | LogicalSystem):
        raise FileError(str(path), expected="a partially observed system (kind stochastic-system)", found=system.kind)
    return system


def load_parts(
    paths: Sequence[str | Path], *, secret: Sequence[str] = (), notes: list[str] | None = None
) -> list[PartiallyObserved]:
    """The parts of a system: those of each file, of which a `.wmod` file may have several.

    `secret` replaces the secret states of all files. Each is a state that one part has, or `NUMBER:STATE` with the
    number of the part, from 1.
    """
    parts: list[PartiallyObserved] = []
    for path in paths:
        if suffix(Path(path)) == WMOD_SUFFIX:
            parts += read_wmod_parts(path, notes=notes)
        else:
            parts.append(_only_system(path, notes))
    if secret:
        chosen = [_part_and_state(text, parts) for text in dict.fromkeys(secret)]
        parts = [
            part.with_secret(tuple(state for number, state in chosen if number == own))
            for own, part in enumerate(parts)
        ]
    if notes is not None:
        if not any(part.secret for part in parts):
            notes.append("no state of any part is secret, so every notion of opacity holds; name secrets with `secret`")
        notes += [
            remark
            for number, part in enumerate(parts, start=1)
            if part.secret
            for remark in _remarks(part, f"part {number}")
        ]
    return parts


def _part_and_state(text: str, parts: Sequence[PartiallyObserved]) -> tuple[int, str]:
    having = [number for number, part in enumerate(parts) if text in part.states]
    if len(having) == 1:
        return having[0], text
    number, between, state = text.partition(":")
    if between and number.isascii() and number.isdigit() and len(number) < 9:
        own = int(number) - 1
        if 0 <= own < len(parts) and state in parts[own].states:
            return own, state
    expected = "a state of one part, or NUMBER:STATE with the number of a part"
    actual = f"{text!r}, a state of parts {', '.join(str(each + 1) for each in having)}" if having else repr(text)
    raise ParameterError("secret", expected=expected, found=actual)


def _all_observable(system: TransitionSystem, path: str | Path, notes: list[str] | None) -> LogicalSystem:
    """A transition system of which an observer sees every action."""
    if notes is not None:
        notes.append(
            f"{path}: nothing says which events are observable: all of them are taken to be; name others with "
            "`unobservable`"
        )
    return LogicalSystem.from_transitions(
        list(dict.fromkeys(system.transitions)),
        initial=system.initial,
        observable=list(dict.fromkeys(action for _, action, _ in system.transitions)),
        states=system.states,
    )


def _remarks(system: PartiallyObserved, path: str | Path) -> list[str]:
    if not system.secret:
        return [f"{path}: no state is secret, so every notion of opacity holds; name secrets with `secret`"]
    observed = Observed(system)
    unreached = [state for state in system.secret if observed.number[state] not in observed.reachable]
    if not unreached:
        return []
    shown = ", ".join(map(repr, unreached[:5])) + ("" if len(unreached) <= 5 else f" and {len(unreached) - 5} more")
    return [f"{path}: warning: no run reaches the secret state{'' if len(unreached) == 1 else 's'} {shown}"]


def draw_system(system: PartiallyObserved, path: Path | None, observer_path: Path | None = None) -> list[Path]:
    """Draw a system and its observer, each where a file is named for it (`.svg`, `.dot`); which files were written."""
    texts = {} if path is None else {path: diagram_text(system.to_diagram(), path)}
    if observer_path is not None:
        texts[observer_path] = diagram_text(observer(system).to_diagram(), observer_path)
    write_files({path: text.encode() for path, text in texts.items()})
    return list(texts)


def judge_parts(
    parts: Sequence[PartiallyObserved],
    k: int | float | str = 0,
    *,
    notion: str = "weak",
    progress: Progress | None = None,
) -> OpacityReport:
    """Verify several parts together; the probability of a violation is not computed."""
    verdict = verify_opacity(parts, k, notion=notion, progress=progress)
    return OpacityReport(verdict=verdict, violation=None, theta=None)


def judge_opacity(
    system: PartiallyObserved | Observed,
    k: int | float | str = 0,
    *,
    notion: str = "weak",
    theta: Number | None = None,
    within: int | None = None,
    exact: bool | None = None,
    notes: list[str] | None = None,
    progress: Progress | None = None,
) -> OpacityReport:
    """Verify a system and compute the probability of a violation; θ accepts violations less probable than that.

    >>> import symveil as sv
    >>> system = sv.StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/4"), ("0", "b", "2", "3/4")], initial="0", observable=["a", "b"], secret=["1"]
    ... )
    >>> report = judge_opacity(system, theta="1/2")
    >>> report.holds, report.verdict.holds, report.violation
    (True, False, ViolationProbability(1/4, weak current-state opacity))
    """
    threshold = None if theta is None else read_threshold(theta)
    question = read_question(k, notion)
    observed = observed_for(system, question)
    has_probabilities = isinstance(observed.system, StochasticSystem)
    if not has_probabilities and (threshold is not None or within is not None):
        if question.secret_epoch is not None:
            raise ParameterError(
                "notion", expected="weak, strong or initial with a threshold or a horizon", found=notion
            )
        expected = "probabilities on every transition for a threshold or a horizon"
        raise ModelError("system", expected=expected, found="a logical system")
    limit = observed.limit(progress=progress)
    verdict = verdict_on(observed, question, limit)
    violation = None
    if has_probabilities:
        try:
            horizon = read_within(within)
            violation = violation_on(observed, question, limit, verdict=verdict, within=horizon, exact=exact)
        except TooLargeError as error:
            if threshold is not None or within is not None or exact:
                raise
            if notes is not None:
                notes.append(f"the probability of a violation was not computed: {error}")
    if within is not None and verdict.witness is not None and not shown_within(observed, verdict.witness, within):
        # what happens later is not asked for; another violation may fit, and the probability says so
        verdict = replace(verdict, witness=None, exposed_after=None, estimate=None)
    return OpacityReport(verdict=verdict, violation=violation, theta=threshold)


def violation_text(violation: ViolationProbability) -> str:
    """How probable a violation is, and how that is known; bounds are rounded against the claim."""
    horizon = "" if violation.within is None else f" within {violation.within} events"
    if not violation.is_exact:
        lower, upper = shown_at_most(violation.lower, 12), shown_at_least(violation.upper, 12)
        return f"{lower} to {upper}, proved{horizon}"
    return f"{fraction_text(violation.upper)}, exact{horizon}"
