"""Opacity: does an observer become sure of a secret, how probably, and what three policies do about it."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

from symveil.drawing.svg import to_svg
from symveil.enforcement.enforce import POLICIES, enforce_opacity
from symveil.enforcement.enforcement import Enforcement
from symveil.errors import ModelError, ParameterError, SymveilError, TooLargeError
from symveil.io.page import table
from symveil.languages.observation import delayed_estimate
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.studio.answer import Answer, Section, large
from symveil.studio.tasks.subject import read_whole
from symveil.studio.tasks.words import shown_epsilon
from symveil.studio.worker import Progress
from symveil.verification.opacity.notions import read_question
from symveil.verification.opacity.verify import OpacityVerdict
from symveil.workflows.enforce import enforcement_document
from symveil.workflows.opacity import OpacityReport, judge_opacity, load_system
from symveil.workflows.reproduce.zhao2025_systems import example_3, example_4, medical

EXAMPLES = {"medical": medical, "example-3": example_3, "example-4": example_4}
_MOST_STRINGS, _MOST_SUBSTITUTES = 6, 3


def answer_opacity(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Opacity panel."""
    progress(0, 0, "Exploring what an observer can conclude")
    name, notes = _source(values)
    system = _system(name, *_changed(name))[0]
    report = _report(name, *_changed(name), values["k"], values["notion"])
    observed = read_observed(values["observed"])
    policies = _policies(system, values)
    document: dict[str, object] = {
        "opacity": report.document(),
        "enforce": {
            policy: enforcement_document(found) if isinstance(found, Enforcement) else {"error": found}
            for policy, found in policies.items()
        },
    }
    return Answer(
        title=f"symveil: {report.verdict.property_name}",
        sections=(
            _verdict(report, notes),
            _stepping(system, observed, values),
            _enforced(policies, values),
            _shown(policies),
        ),
        document=document,
        columns=("policy", "observed", "probability", "shown instead", "given"),
        rows=tuple(_rows(policies)),
        marks=(
            ("holds", str(report.holds)),
            ("violation", "" if report.violation is None else str(report.violation.upper)),
            ("estimate", ",".join(delayed_estimate(system, observed))),
        ),
        secret=True,
    )


def read_observed(text: str) -> tuple[str, ...]:
    """The observation that is being stepped through: a JSON list, because a name may have any character in it.

    >>> read_observed(""), read_observed('["a", "b\\\\n"]')
    ((), ('a', 'b\\n'))
    """
    try:
        events = json.loads(text) if text else []
    except (ValueError, RecursionError):
        events = None
    if not isinstance(events, list) or not all(isinstance(event, str) for event in events):
        raise ParameterError("observed", expected="an observation that the system can show", found="another")
    return tuple(events)


def _source(values: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    source = values["source"]
    if source in EXAMPLES:
        return source, ()
    if source != "file":
        raise ParameterError("source", expected=f"file or one of {', '.join(EXAMPLES)}", found=source)
    if not values["model"]:
        raise ModelError("model", expected="a system: drop a file here", found="none yet")
    return values["model"], _system(values["model"], *_changed(values["model"]))[1]


def _changed(name: str) -> tuple[int]:
    return (0 if name in EXAMPLES else Path(name).stat().st_mtime_ns,)


@lru_cache(maxsize=8)
def _system(name: str, changed: int) -> tuple[PartiallyObserved, tuple[str, ...]]:
    del changed  # part of the key: a file that was written again is read again
    if name in EXAMPLES:
        return EXAMPLES[name](), ()
    notes: list[str] = []
    system = load_system(name, notes=notes)
    return system, tuple(note.replace(name, Path(name).name) for note in notes)


@lru_cache(maxsize=32)
def _report(name: str, changed: int, k: str, notion: str) -> OpacityReport:
    return judge_opacity(_system(name, changed)[0], k, notion=notion)


# --- the verdict -----------------------------------------------------------------------------------


def _verdict(report: OpacityReport, notes: Sequence[str]) -> Section:
    verdict, violation = report.verdict, report.violation
    name = verdict.property_name
    if verdict.holds:
        body = large("No secret is given away", f"{name[:1].upper()}{name[1:]} holds.", badge="holds")
    else:
        witness = " ".join(map(html.escape, verdict.witness or ())) or "nothing at all"
        told = f"{name[:1].upper()}{name[1:]} is violated. Whoever observes <b>{witness}</b> is sure: {_why(verdict)}."
        chance = "A secret can be given away"
        if violation is not None:
            chance = f"{_percent(violation.upper)} of all runs give a secret away"
        body = large(chance, told, badge="violated")
        if violation is not None:
            exact = "Exactly" if violation.is_exact else "At most, proved:"
            fraction = str(violation.upper)
            shown = fraction if len(fraction) < 40 else f"{float(violation.upper):.12g}"
            body += f'<p class="quiet">{exact} {shown}.</p>'
    body += "".join(f'<p class="warning">{html.escape(note)}</p>' for note in notes)
    return Section(heading="Does an observer become sure of a secret?", body=body, wide=True)


def _why(verdict: OpacityVerdict) -> str:
    """What the witness gives away. Only the weak and the initial notion are about one instant: the strong one is
    violated as well where no single instant is given away."""
    reason = html.escape(verdict.reason)
    return reason if verdict.question.notion == "strong" else f"{reason}, all of it secret"


def _percent(share: Fraction) -> str:
    value = 100 * float(share)
    return f"{value:.3g} %" if value else "0 %"


# --- stepping through an observation ----------------------------------------------------------------


def _stepping(system: PartiallyObserved, observed: tuple[str, ...], values: Mapping[str, str]) -> Section:
    estimate = delayed_estimate(system, observed)
    if not estimate:
        raise ParameterError("observed", expected="an observation that the system can show", found="another")
    secret = set(system.secret)
    sure = set(estimate) <= secret
    buttons = "".join(_event_button(system, observed, event) for event in system.observable)
    back = "" if observed else " disabled"
    body = (
        "<p>Play the observer: choose what is seen next. The states where the system may be now have a blue halo; "
        "secret ones are yellow.</p>"
        f'<div class="events" role="group" aria-label="Observe an event">{buttons}'
        f'<button type="button" data-act="back" data-panel="opacity"{back}>← one back</button>'
        f'<button type="button" data-act="again" data-panel="opacity"{back}>start again</button></div>'
        f'<p>Observed: <b class="observed">{" ".join(map(html.escape, observed)) or "nothing yet"}</b>. It may be in '
        f"{{{', '.join(map(html.escape, estimate))}}}"
        + (
            ": <b>the observer is sure of a secret.</b></p>"
            if sure
            else ": a state that is not secret is possible.</p>"
        )
    )
    body += _looking_back(system, observed, values["k"], secret)
    try:
        diagram = system.to_diagram()
    except TooLargeError as error:
        return Section(
            heading="Step through an observation", body=f"{body}<p class=quiet>{html.escape(str(error))}</p>", wide=True
        )
    nodes = tuple(replace(node, current=node.key in estimate) for node in diagram.nodes)
    svg = to_svg(replace(diagram, nodes=nodes, current_meaning="possible now"))
    return Section(heading="Step through an observation", body=body, svg=svg, picture="system", wide=True, large=True)


def _event_button(system: PartiallyObserved, observed: tuple[str, ...], event: str) -> str:
    possible = bool(delayed_estimate(system, (*observed, event)))
    name = html.escape(event, quote=True).replace("\r", "&#13;").replace("\n", "&#10;")  # a browser would join them
    return (
        f'<button type="button" data-act="observe" data-panel="opacity" data-value="{name}"'
        f"{'' if possible else ' disabled'}>{name}</button>"
    )


def _looking_back(system: PartiallyObserved, observed: tuple[str, ...], k: str, secret: set[str]) -> str:
    """What is known now about earlier instants, as far as k looks back."""
    steps = len(observed) if k == "infinite" else min(len(observed), read_whole("k", k))
    rows = []
    for back in range(1, steps + 1):
        instant = len(observed) - back
        past = delayed_estimate(system, observed, after=instant)
        told = "<b>all secret</b>" if past and set(past) <= secret else "not sure"
        shown = "{" + ", ".join(map(html.escape, past)) + "}"
        rows.append((f"{back} before", f"after {instant} event{'' if instant == 1 else 's'}", shown, told))
    return table(("looking back", "instant", "the system was in", "the observer is"), rows) if rows else ""


# --- the policies ----------------------------------------------------------------------------------


def _policies(system: PartiallyObserved, values: Mapping[str, str]) -> dict[str, Enforcement | str]:
    found: dict[str, Enforcement | str] = {}
    if not isinstance(system, StochasticSystem):
        return dict.fromkeys(POLICIES, "this system has no probabilities: it can be verified, not enforced")
    length = read_whole("length", values["length"]) if values["length"].strip() else None
    if length is not None and length < 0:
        raise ParameterError("length", expected="a whole number, 0 or more, or nothing", found=length)
    omega = read_whole("omega", values["omega"])
    for policy in POLICIES:
        private = policy == "private"
        try:
            enforced = enforce_opacity(
                system,
                values["k"],
                policy=policy,
                epsilon=values["epsilon"] if private else None,
                omega=None if private else omega,
                length=length,
            )
            enforced.enforceable  # noqa: B018 - worked out here, so that a refusal stays with its policy
            found[policy] = enforced
        except SymveilError as error:
            found[policy] = str(error)
    return found


_TOLD = {
    "private": "every observation is replaced by a random safe one near it",
    "safe": "only sensitive ones are replaced, by safe ones at distance ω",
    "substitution": "only sensitive ones are replaced, by anything at distance ω",
}


def _enforced(policies: Mapping[str, Enforcement | str], values: Mapping[str, str]) -> Section:
    rows: list[tuple[str, ...]] = []
    names = (
        "what it does",
        "violation before",
        "violation after",
        "true ε",
        "events changed on average",
        "surest guess of a secret",
    )
    columns = [_column(policy, found) for policy, found in policies.items()]
    for index, name in enumerate(names):
        rows.append((name, *(column[index] for column in columns)))
    body = table(("policy", *policies), rows)
    enforced = read_question(values["k"], "weak").property_name
    after = f'<p class="quiet">The policies enforce {enforced}, and both rows of violations are about that.</p>'
    if values["notion"] != "weak":
        asked = read_question(values["k"], values["notion"]).property_name
        after = (
            f'<p class="warning">The policies know the weak notion only: this table is about <b>{enforced}</b>, not '
            f"about {asked}, which is judged above. A violation of 0 % here does not say that {asked} holds.</p>"
        )
    return Section(heading="Three policies, side by side", body=body, after=after, wide=True)


def _column(policy: str, found: Enforcement | str) -> tuple[str, ...]:
    told = _TOLD[policy]
    if isinstance(found, str):
        return told, f"not possible here: {html.escape(found)}", "—", "—", "—", "—"
    if not found.enforceable:
        stuck = " ".join(map(html.escape, found.unenforceable or ()))
        return told, _percent(found.violation_before), f"cannot be enforced: nothing to show for {stuck}", "—", "—", "—"
    guarantee = found.guarantee
    epsilon = "unknown" if guarantee is None else shown_epsilon(guarantee.epsilon)
    how = "" if guarantee is None or math.isinf(guarantee.epsilon) else f" ({guarantee.how})"
    return (
        told,
        _percent(found.violation_before),
        "—" if found.violation_after is None else _percent(found.violation_after),
        epsilon + how,
        f"{found.expected_distance or 0:.4g}",
        f"{100 * float(found.posterior_of_secret or 0):.3g} %",
    )


def _shown(policies: Mapping[str, Enforcement | str]) -> Section:
    rows = []
    for policy, found in policies.items():
        if isinstance(found, str) or not found.enforceable:
            continue
        for each in found.sensitive[:_MOST_STRINGS]:
            shown = "; ".join(
                f"{' '.join(map(html.escape, other.observation))} ({100 * float(other.given):.3g} %)"
                for other in each.substitutes[:_MOST_SUBSTITUTES]
            )
            more = len(each.substitutes) - _MOST_SUBSTITUTES
            observed = " ".join(map(html.escape, each.observation))
            rows.append((policy, observed, _percent(each.probability), shown + (f"; {more} more" if more > 0 else "")))
    body = (
        table(("policy", "observed", "probability", "shown instead"), rows) if rows else "<p>Nothing is sensitive.</p>"
    )
    return Section(heading="What is shown instead", body=body, wide=True)


def _rows(policies: Mapping[str, Enforcement | str]) -> list[tuple[object, ...]]:
    return [
        (policy, " ".join(each.observation), str(each.probability), " ".join(other.observation), str(other.given))
        for policy, found in policies.items()
        if isinstance(found, Enforcement) and found.enforceable
        for each in found.sensitive
        for other in each.substitutes[:1000]
    ]
