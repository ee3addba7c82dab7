"""Opacity of several parts together: what matters of them, judged without building the whole (docs/opacity.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from symveil.errors import ModelError, ParameterError
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem
from symveil.numbers.progress import Progress
from symveil.verification.opacity.composed_observation import ComposedObserved
from symveil.verification.opacity.notions import Question
from symveil.verification.opacity.opacity_verdict import OpacityVerdict, verdict_on


def modular_verdict(
    parts: Sequence[PartiallyObserved],
    question: Question,
    *,
    most_states: int | None = None,
    progress: Progress | None = None,
) -> OpacityVerdict:
    """The verdict on the synchronous product of parts, of which each is a system of its own."""
    if (
        not isinstance(parts, Sequence)
        or not parts
        or not all(isinstance(each, StochasticSystem | LogicalSystem) for each in parts)
    ):
        raise ParameterError(
            "system",
            expected="a StochasticSystem or a LogicalSystem, such as load_model(file), or a list of such parts",
            found=f"an object of type {type(parts).__name__}",
        )
    if question.secret_epoch is not None:
        raise ParameterError(
            "notion", expected="weak, strong or initial for several parts", found=question.shown_notion
        )
    _require_agreement(parts)
    verdicts = []
    needed: set[int] = set()
    for group in relevant_groups(parts):
        observed = ComposedObserved([parts[number] for number in group])
        verdicts.append(verdict_on(observed, question, observed.limit(most_states, progress)))
        needed |= set(group)
    dropped = tuple(number for number in range(1, len(parts) + 1) if number - 1 not in needed)
    if not verdicts:
        return OpacityVerdict(question=question, holds=True, estimator_states=0, system_states=0, dropped=dropped)
    # a shortest violation of one group is a shortest one of the whole
    worst = min(verdicts, key=lambda each: (each.holds, len(each.witness or ())))
    return replace(
        worst,
        estimator_states=sum(each.estimator_states for each in verdicts),
        system_states=sum(each.system_states for each in verdicts),
        dropped=dropped,
    )


def relevant_groups(parts: Sequence[PartiallyObserved]) -> list[list[int]]:
    """The parts that matter, by their numbers, in groups that share no event with one another.

    A part without secrets and without observable events of its own that can always take part in the events it shares
    is left out: it neither prevents anything nor shows anything. Then groups without secrets are left out.
    """
    alphabets = [{move[1] for move in part.moves} for part in parts]
    kept = list(range(len(parts)))
    while True:
        idle = next((number for number in kept if _is_idle(number, kept, parts, alphabets)), None)
        if idle is None:
            break
        kept.remove(idle)
    groups: list[list[int]] = []
    for number in kept:
        touching = [group for group in groups if any(alphabets[number] & alphabets[other] for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append(sorted([number, *(other for group in touching for other in group)]))
    return sorted(group for group in groups if any(parts[number].secret for number in group))


def _is_idle(
    number: int, kept: Sequence[int], parts: Sequence[PartiallyObserved], alphabets: Sequence[set[str]]
) -> bool:
    part = parts[number]
    if part.secret:
        return False
    elsewhere = set().union(*(alphabets[other] for other in kept if other != number))
    own, shared = alphabets[number] - elsewhere, alphabets[number] & elsewhere
    if own & set(part.observable):
        return False
    enabled: dict[str, set[str]] = {}
    following: dict[str, set[str]] = {}
    for source, event, target in part.moves:
        enabled.setdefault(source, set()).add(event)
        following.setdefault(source, set()).add(target)
    border = list(part.initial_states)
    reached = set(border)
    while border:
        state = border.pop()
        if not shared <= enabled.get(state, set()):
            return False
        for target in following.get(state, set()) - reached:
            reached.add(target)
            border.append(target)
    return True


def _require_agreement(parts: Sequence[PartiallyObserved]) -> None:
    """Refuse an event that one part shows and another hides."""
    seen: dict[str, tuple[int, bool]] = {}
    for number, part in enumerate(parts, start=1):
        for event in dict.fromkeys(move[1] for move in part.moves):
            first, is_seen = seen.setdefault(event, (number, event in part.observable))
            if is_seen != (event in part.observable):
                raise ModelError(
                    f"part {number}",
                    expected=f"event {event!r} to be {'' if is_seen else 'un'}observable, as in part {first}",
                    found="the opposite",
                )
