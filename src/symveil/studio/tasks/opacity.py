"""Opacity: does an observer become sure of a secret, how probably, and what three policies do about it."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from symveil.enforcement.enforce import POLICIES, Enforcement, enforce_policy, observations_of
from symveil.enforcement.enforced_system import Supervisor
from symveil.enforcement.synthesize import synthesize_opacity
from symveil.errors import ParameterError, SymveilError, TooLargeError
from symveil.examples.paper_systems import example_3, example_4, medical
from symveil.laws.parameters import Adjacency
from symveil.models.names import counted
from symveil.models.stochastic_system import PartiallyObserved, StochasticSystem
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import percent
from symveil.parameters import read_whole
from symveil.pictures.svg import to_svg
from symveil.reports.report import Facts, Headline, Marked, Part, Picture, Report, Section, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.tasks.subject import File, example_or_file, loaded, read_names
from symveil.tasks.enforce import enforcement_document, enforcement_report, what_counts
from symveil.tasks.opacity import OpacityReport, judge_opacity, load_system, violation_text
from symveil.verification.opacity.estimators import read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.opacity_verdict import OpacityVerdict
from symveil.verification.opacity.run_observations import RunObservations

EXAMPLES = {"medical": medical, "example-3": example_3, "example-4": example_4}
_MOST_NAMES, _MOST_DISABLED = 40, 12

PolicyDocument = dict[str, Any]
"""The JSON form of what a policy achieves."""

Source = tuple[File, tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""A file or an example, with the secret states, observable and controllable events that replace its own, if any."""


def answer_opacity(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Opacity panel. Everything is kept for the next answer that needs it: moving ε builds nothing but rates."""
    named(progress, "Exploring what an observer can conclude")(0, None)
    file = example_or_file(values, EXAMPLES, "a system")
    secret, observable, controllable = (read_names(values[name]) for name in ("secret", "observable", "controllable"))
    source: Source = (file, secret, observable, controllable)
    observed, notes = _loaded(source)
    theta, within = values["theta"].strip() or None, values["within"].strip()
    report = _report(source, values["k"], values["notion"], theta, read_whole("within", within) if within else None)
    observation = read_observed(values["observed"])
    policies = _policies(source, values)
    document: dict[str, object] = {
        "opacity": report.document(),
        "enforce": {policy: {"error": each} if isinstance(each, str) else each for policy, each in policies.items()},
    }
    return Answer(
        report=Report(
            title=f"symveil: {report.verdict.property_name}",
            sections=(
                _verdict(report, observed.system, notes),
                _stepping(observed, observation, values),
                *_supervised(source, values),
                *((_enforced(policies, values), _shown(policies)) if observed.system.secret else ()),
            ),
        ),
        controls=(_STEPPING, _event_buttons(observed, observation)),
        document=document,
        columns=("policy", "observed", "probability", "shown instead", "given"),
        rows=tuple(_rows(policies)),
        marks=(
            ("holds", str(report.holds) if observed.system.secret else "no secret"),
            ("violation", "" if report.violation is None else str(report.violation.upper)),
            ("estimate", ",".join(observed.delayed_estimate(observation))),
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


@lru_cache(maxsize=8)
def _loaded(source: Source) -> tuple[Observed, tuple[str, ...]]:
    (name, _), secret, observable, controllable = source
    system, notes = (EXAMPLES[name](), ()) if name in EXAMPLES else loaded(name, load_system)
    events = tuple(dict.fromkeys(transition[1] for transition in system.transitions))
    for field, chosen, known, what in (
        ("secret", secret, system.states, "states"),
        ("observable", observable, events, "events"),
        ("controllable", controllable, events, "events"),
    ):
        unknown = next((each for each in chosen if each not in known), None)
        if unknown is not None:
            raise ParameterError(field, expected=f"{what} of the system, with commas between them", found=repr(unknown))
    given = {"secret": secret, "observable": observable, "controllable": controllable}
    changed: Any = {field: chosen for field, chosen in given.items() if chosen}
    if secret:  # what was said of the file's own secrets is about others
        notes = tuple(note for note in notes if "secret" not in note)
    if observable:
        notes = tuple(note for note in notes if "observable" not in note)
    return Observed(replace(system, **changed) if changed else system), notes


@lru_cache(maxsize=32)
def _report(source: Source, k: str, notion: str, theta: str | None, within: int | None) -> OpacityReport:
    return judge_opacity(_loaded(source)[0], k, notion=notion, theta=theta, within=within)


@lru_cache(maxsize=8)
def _runs(source: Source, k: str, length: int | None) -> RunObservations:
    return observations_of(_loaded(source)[0], k, length=length)


@lru_cache(maxsize=8)
def _private(source: Source, k: str, length: int | None, adjacency: Adjacency) -> Enforcement:
    """With any ε: `with_epsilon` shares all that does not depend on it."""
    return enforce_policy(_runs(source, k, length), policy="private", epsilon=1, adjacency=adjacency)


@lru_cache(maxsize=32)
def _replacing(source: Source, k: str, length: int | None, policy: str, omega: int) -> PolicyDocument:
    """A policy without an ε."""
    return enforcement_document(enforce_policy(_runs(source, k, length), policy=policy, omega=omega))


# --- the verdict -----------------------------------------------------------------------------------


def _verdict(report: OpacityReport, system: PartiallyObserved, notes: Sequence[str]) -> Section:
    verdict, violation = report.verdict, report.violation
    name = f"{verdict.property_name[:1].upper()}{verdict.property_name[1:]}"
    parts: list[Part] = []
    if not system.secret:
        nothing = (
            "There is nothing yet that an observer could become sure of, so nothing is proved. Name the secret states "
            "in the form, with commas between them."
        )
        rows = [("states", _listed(system.states)), ("events that are observed", _listed(system.observable))]
        parts += [Headline("No state is secret", nothing), Facts.from_rows(rows)]
    elif verdict.holds:
        parts.append(Headline("No secret is given away", f"{name} holds.", "holds"))
    else:
        witness = " ".join(verdict.witness or ()) or "nothing at all"
        text = Marked((f"{name} is violated. Who observes ", witness, f" is sure: {_why(verdict)}."))
        share = "A secret can be given away"
        if violation is not None:
            share = f"{percent(violation.upper, 3)} of all runs give a secret away"
        parts.append(Headline(share, text, "violated"))
        if violation is not None:
            parts.append(Text(f"Probability of a violation: {violation_text(violation)}.", "quiet"))
    if report.theta is not None and system.secret:
        accepted = "holds" if report.holds else "does not hold"
        parts.append(Text(f"With violations less probable than θ = {report.theta} accepted, it **{accepted}**."))
    sentences = [note for note in notes if system.secret or "no state is secret" not in note]
    parts += [Text(Marked((note,)), "warning") for note in sentences]
    return Section("Does an observer become sure of a secret?", tuple(parts))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _why(verdict: OpacityVerdict) -> str:
    """What the witness gives away. Only the weak and the initial notion are about one instant: the strong one is
    violated as well where no single instant is given away."""
    return verdict.reason if verdict.question.notion == "strong" else f"{verdict.reason}, all of it secret"


# --- stepping through an observation ----------------------------------------------------------------


_STEPPING = "Step through an observation"


def _stepping(observed: Observed, observation: tuple[str, ...], values: Mapping[str, str]) -> Section:
    system, estimate = observed.system, observed.delayed_estimate(observation)
    if not estimate:
        raise ParameterError("observed", expected="an observation that the system can show", found="another")
    secret = set(system.secret)
    conclusion = ""
    if secret:
        sure = set(estimate) <= secret
        conclusion = ": the observer is sure of a secret" if sure else ": a state that is not secret is possible"
    known = Marked((
        "Observed: ", " ".join(observation) or "nothing yet", f". It may be in {{{', '.join(estimate)}}}",
        f"{conclusion}.",
    ))  # fmt: skip
    parts: list[Part] = [Text(known), *_looking_back(observed, observation, values["k"], secret)]
    try:
        diagram = system.to_diagram()
    except TooLargeError as error:
        parts.append(Text(Marked((str(error),)), "quiet"))
    else:
        nodes = tuple(replace(node, current=node.key in estimate) for node in diagram.nodes)
        svg = to_svg(replace(diagram, nodes=nodes, current_meaning="possible now"))
        parts.append(Picture(svg, "system", large=True))
    return Section(_STEPPING, tuple(parts))


def _event_buttons(observed: Observed, observation: tuple[str, ...]) -> str:
    """What steps through an observation, as HTML."""
    buttons = "".join(_event_button(observed, observation, event) for event in observed.system.observable)
    back = "" if observation else " disabled"
    return (
        "<p>Play the observer: choose what is seen next. The states where the system may be now have a blue halo; "
        f'secret ones are yellow.</p><div class="events" role="group" aria-label="Observe an event">{buttons}'
        f'<button type="button" data-act="back" data-panel="opacity"{back}>← one back</button>'
        f'<button type="button" data-act="again" data-panel="opacity"{back}>start again</button></div>'
    )


def _event_button(observed: Observed, observation: tuple[str, ...], event: str) -> str:
    possible = bool(observed.delayed_estimate((*observation, event)))
    name = html.escape(event, quote=True).replace("\r", "&#13;").replace("\n", "&#10;")  # a browser would join them
    return (
        f'<button type="button" data-act="observe" data-panel="opacity" data-value="{name}"'
        f"{'' if possible else ' disabled'}>{name}</button>"
    )


def _looking_back(observed: Observed, observation: tuple[str, ...], k: str, secret: set[str]) -> list[Part]:
    """What is known now about earlier instants, as far as k looks back."""
    steps = len(observation) if k == "infinite" else min(len(observation), read_whole("k", k))
    rows = []
    for back in range(1, steps + 1):
        instant = len(observation) - back
        past = observed.delayed_estimate(observation, after=instant)
        conclusion = Marked(("", "all secret")) if past and set(past) <= secret else "not sure"
        after = f"after {counted(instant, 'event')}"
        rows.append((f"{back} before", after, f"{{{', '.join(past)}}}", conclusion))
    columns = ("looking back", "instant", "the system was in", "the observer is")
    return [Table.from_rows(columns, rows)] if rows else []


# --- a supervisor ----------------------------------------------------------------------------------


def _supervised(source: Source, values: Mapping[str, str]) -> tuple[Section, ...]:
    """What a supervisor has to prevent, where some events can be prevented and some state is secret."""
    system = _loaded(source)[0].system
    if not system.secret or not system.controllable:
        return ()
    try:
        parts = _supervisor(source, values["k"], values["notion"])
    except SymveilError as error:
        parts = (Text(Marked((str(error),)), "quiet"),)
    return (Section("A supervisor that prevents events", parts),)


@lru_cache(maxsize=32)
def _supervisor(source: Source, k: str, notion: str) -> tuple[Part, ...]:
    observed = _loaded(source)[0]
    synthesis = synthesize_opacity(observed.system, k, notion=notion, policy="supervisor")
    controllable = _listed(observed.system.controllable or ())
    if synthesis.supervisor is None:
        whatever = f" Whatever of {controllable} is prevented, an observer can become sure of a secret: "
        return (Text(Marked(("", "None can.", f"{whatever}other events lead there."))),)
    rows = [(" ".join(seen) or "nothing yet", ", ".join(events)) for seen, events in _disabled(synthesis.supervisor)]
    if not rows:
        return (Text("Nothing has to be prevented: no observer becomes sure of a secret."),)
    explained = f"The fewest events to prevent, of {controllable}, so that no observer becomes sure of a secret."
    return Text(Marked((explained,))), Table.from_rows(("after", "prevented"), rows[:_MOST_DISABLED])


def _disabled(supervisor: Supervisor) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The states of a supervisor that disable something, each with a shortest observation that leads there."""
    reached: dict[int, tuple[str, ...]] = {0: ()}
    waiting = [0]
    for state in waiting:
        for event, after in supervisor.enabled[state].items():
            if after not in reached:
                reached[after] = (*reached[state], event)
                waiting.append(after)
    return [(reached[state], supervisor.disabled[state]) for state in waiting if supervisor.disabled[state]]


# --- the policies ----------------------------------------------------------------------------------


def _policies(source: Source, values: Mapping[str, str]) -> dict[str, PolicyDocument | str]:
    """What each policy achieves, or why it cannot be used here."""
    if not _loaded(source)[0].system.secret:
        return dict.fromkeys(POLICIES, "no state is secret")
    if not isinstance(_loaded(source)[0].system, StochasticSystem):
        return dict.fromkeys(POLICIES, "this system has no probabilities: it can be verified, not enforced")
    length = read_whole("length", values["length"]) if values["length"].strip() else None
    if length is not None and length < 0:
        raise ParameterError("length", expected="a whole number, 0 or more, or nothing", found=length)
    omega = read_whole("omega", values["omega"])
    documents: dict[str, PolicyDocument | str] = {}
    for policy in POLICIES:
        try:
            if policy == "private":
                hidden = values["adjacency"].strip()
                adjacency: Adjacency = "all" if hidden == "all" else read_whole("adjacency", hidden or "1")
                enforced = _private(source, values["k"], length, adjacency).with_epsilon(values["epsilon"])
                documents[policy] = enforcement_document(enforced)
            else:
                documents[policy] = _replacing(source, values["k"], length, policy, omega)
        except SymveilError as error:
            documents[policy] = str(error)
    return documents


_DESCRIPTIONS = {
    "private": "every observation is replaced by a random safe one near it",
    "safe": "only sensitive ones are replaced, by safe ones at distance ω",
    "substitution": "only sensitive ones are replaced, by anything at distance ω",
}


def _enforced(policies: Mapping[str, PolicyDocument | str], values: Mapping[str, str]) -> Section:
    """What the command line says of each policy, side by side."""
    columns = [_column(document) for document in policies.values()]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [("what it does", *(_DESCRIPTIONS[policy] for policy in policies))]
    rows += [(name, *(column.get(name, "—") for column in columns)) for name in names]
    enforced = read_question(values["k"], "weak").property_name
    after: tuple[Part, ...] = (
        Text(f"The policies enforce {enforced}; both rows of violations are about that.", "quiet"),
    )
    if values["notion"] != "weak":
        property_name = read_question(values["k"], values["notion"]).property_name
        sentence = (
            f"The policies know the weak notion only: this table is about **{enforced}**, not about {property_name}, "
            f"which is judged above. A violation of 0 % here does not say that {property_name} holds."
        )
        after = (Text(sentence, "warning"),)
    judged = next((each for each in policies.values() if not isinstance(each, str) and each["enforceable"]), None)
    if judged is not None:
        after += (Facts.from_rows(what_counts({**judged, "policy": ""})),)
    return Section("Three policies, side by side", (Table.from_rows(("policy", *policies), rows), *after))


def _column(document: PolicyDocument | str) -> dict[str, str]:
    if isinstance(document, str):
        return {"answer": f"not possible here: {document}"}
    report = enforcement_report(document)
    return {name: text for name, text in report.facts(report.title).items() if name in _SIDE_BY_SIDE}


_SIDE_BY_SIDE = (
    *("answer", "violation before", "violation after", "loss", "events changed on average"),
    "largest posterior of a visited secret",
)
"""Facts that every policy has."""


def _shown(policies: Mapping[str, PolicyDocument | str]) -> Section:
    parts: list[Part] = []
    for policy, document in policies.items():
        if not isinstance(document, str) and document["enforceable"]:
            parts += [Text(f"**{policy}**"), *enforcement_report(document).sections[0].parts]
    return Section("What is shown instead", tuple(parts) or (Text("There is nothing to show instead."),))


def _rows(policies: Mapping[str, PolicyDocument | str]) -> list[tuple[object, ...]]:
    return [
        (
            policy,
            " ".join(each["observation"]),
            each["probability"],
            " ".join(other["observation"]),
            str(other["given"]),
        )
        for policy, document in policies.items()
        if not isinstance(document, str) and document["enforceable"]
        for each in document["sensitive"] or ()
        for other in each["substitutes"]
    ]
