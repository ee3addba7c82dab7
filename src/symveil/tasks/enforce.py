"""Replace what a system shows, by a policy, a function or a supervisor: the result with its files and its report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from flint import fmpz

from symveil.enforcement.enforce import Enforcement, Sensitive, enforce_opacity
from symveil.enforcement.synthesize import Synthesis, synthesize_opacity
from symveil.errors import TooLargeError
from symveil.mechanisms.calibrate import mean_error
from symveil.models.stochastic_system import PartiallyObserved
from symveil.numbers.conversions import rational
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import fraction_text, shown_at_least, shown_at_most
from symveil.reports.report import Facts, Report, Section, Table, Text, facts_report
from symveil.storage.files import write_files
from symveil.tasks.doubts import losses_in_words
from symveil.tasks.draw import diagram_text
from symveil.tasks.enforce_options import FunctionOptions, LogFiles, PolicyOptions, enforced_log, release_log
from symveil.tasks.explain import bound_document, least_possible_on
from symveil.tasks.limits import LIMITS
from symveil.verification.limits import LIMITS as OF_PROOFS


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementReport:
    """What a policy achieves, as a JSON document; the files that were written, and what there is to say."""

    enforcement: Enforcement
    contents: dict[str, Any]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The JSON form of the contract."""
        return self.contents


def enforce_by_policy(
    model: Path, k: str, policy: PolicyOptions, files: LogFiles, system: PartiallyObserved, progress: Progress
) -> EnforcementReport:
    """Put a system under a policy, and a log through it; draw the automaton of the substitutes.

    `model` is the file of the system, which a manifest names.
    """
    enforcement = enforce_opacity(
        system,
        k,
        policy=policy.policy,
        epsilon=policy.epsilon,
        omega=policy.omega,
        length=policy.length,
        adjacency=policy.adjacency,
        progress=progress,
    )
    notes: list[str] = []
    document = enforcement_document(enforcement, notes=notes)
    written: dict[Path, bytes] = {}
    if files.draw and document["sensitive_count"] == 0:
        notes.append(f"{files.draw} was not written: the system is already opaque, so there is no substitute to draw")
    elif files.draw and enforcement.enforceable:
        written[files.draw] = diagram_text(enforcement.to_diagram(), files.draw).encode()
        notes.append(f"wrote {files.draw}")
    if files.is_release:
        write_files(written)  # before anybody is charged: what cannot be drawn or written is refused by now
        written = {}
    if files.log and files.out and enforcement.enforceable:
        if files.is_release:
            release = release_log(
                enforcement, files.log, files.out, columns=files.columns, run=files.run, system_file=model
            )
            document["release"] = release.document()
            done = "was released before: nothing was drawn or charged" if release.already_done else "released"
            notes += [*release.notes, f"{done}: {files.out}; what is promised: {release.manifest_file}"]
        else:
            notes += _shown_log(enforcement, files, written)
    write_files(written)
    if document["posterior_of_secret"] == 1:
        silent = ", although what is shown gives nothing away by itself" if document["violation_after"] == "0" else ""
        notes.append(
            "an observer who knows the policy can be sure of a visited secret after something that is shown (its "
            f"posterior probability is 1){silent}"
        )
    return EnforcementReport(enforcement=enforcement, contents=document, notes=tuple(notes))


def _shown_log(enforcement: Enforcement | Synthesis, files: LogFiles, written: dict[Path, bytes]) -> list[str]:
    """A log through it, for the files that are `written`; notes about that."""
    if files.log is None or files.out is None:
        return []
    shown = enforced_log(enforcement, files.log, files.out, files.columns, files.run)
    written[files.out] = shown.content
    return shown.notes(files.out)


def enforcement_document(enforcement: Enforcement, *, notes: list[str] | None = None) -> dict[str, Any]:
    """The JSON form of the contract. What would take a list that is too long is null, and a note says so."""

    def computed(value: Callable[[], object]) -> object:
        try:
            return value()
        except TooLargeError as error:
            if notes is not None and str(error) not in notes:
                notes.append(str(error))
            return None

    listed = LIMITS.now.substitutes
    return {
        "policy": enforcement.policy,
        "k": enforcement.question.shown_k,
        "length": enforcement.horizon,
        "enforceable": enforcement.enforceable,
        "unenforceable": None if enforcement.unenforceable is None else list(enforcement.unenforceable),
        "sensitive": computed(lambda: [_sensitive_document(each) for each in enforcement.list_sensitive(listed)]),
        "sensitive_count": computed(lambda: enforcement.sensitive_count),
        "violation_before": _text(enforcement.violation_before),
        "violation_after": computed(lambda: _text(enforcement.violation_after)),
        "epsilon": computed(lambda: _number(enforcement.epsilon)),
        "how": computed(lambda: enforcement.guarantee and enforcement.guarantee.how),
        "expected_distance": computed(lambda: enforcement.expected_distance),
        "posterior_of_secret": computed(lambda: _number(enforcement.posterior_of_secret)),
        **_promise(enforcement, computed),
        **_least_error(enforcement),
    }


def _promise(enforcement: Enforcement, computed: Callable[[Callable[[], object]], object]) -> dict[str, object]:
    """For the policy private: what its loss is about, the loss farther apart, and what is known without it."""
    if enforcement.release_by is None or not enforcement.enforceable:
        return {"adjacency": None, "loss_at": None, "passes_unprotected": None, "prior_of_secret": None}

    def losses() -> object:
        guarantee = enforcement.mechanism(enforcement.longest).guarantee
        return guarantee.document().get("loss_at")

    return {
        "adjacency": enforcement.adjacency,
        "loss_at": computed(losses),
        "passes_unprotected": ["length"],
        "prior_of_secret": computed(lambda: enforcement.prior_of_secret),
    }


def _least_error(enforcement: Enforcement) -> dict[str, object]:
    """For the policy private: its mechanism for the longest observations, its error, and what none can be below."""
    if enforcement.release_by is None or not enforcement.enforceable:
        return {"mechanism": None, "expected_error": None, "standard_error": None, "lower_bound": None}
    mechanism = enforcement.mechanism(enforcement.longest)
    mean, spread = mean_error(mechanism)
    bound = least_possible_on(mechanism, enforcement.observations(enforcement.longest))
    return {
        "mechanism": mechanism.described,
        "expected_error": mean,
        "standard_error": spread,
        "lower_bound": bound_document(bound),
    }


def _text(probability: Fraction | None) -> str | None:
    # not Python's own text, which is limited to 4,300 digits
    return None if probability is None else str(rational(probability))


def read_probability(text: str) -> Fraction:
    """A probability of a document, with any number of digits."""
    numerator, _, denominator = text.partition("/")
    return Fraction(int(fmpz(numerator)), int(fmpz(denominator or "1")))


def _number(value: Fraction | float | None) -> float | str | None:
    if value is None:
        return None
    return "infinity" if math.isinf(value) else float(value)


def _sensitive_document(sensitive: Sensitive) -> dict[str, object]:
    return {
        "observation": list(sensitive.observation),
        "probability": _text(sensitive.probability),
        "substitute_count": sensitive.substitute_count,
        "substitutes": [
            {
                "observation": list(substitute.observation),
                "probability": _shown(substitute.probability),
                "given": _shown(substitute.given),
            }
            for substitute in sensitive.substitutes
        ],
    }


def _shown(probability: Fraction | float) -> str | float:
    return probability if isinstance(probability, float) else str(probability)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisReport:
    """What was found, the files that were written, and what there is to say."""

    synthesis: Synthesis
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The JSON form of the contract."""
        return self.synthesis.document()


def enforce_by_function(
    k: str,
    policy: str,
    notion: str,
    function: FunctionOptions,
    files: LogFiles,
    system: PartiallyObserved,
    progress: Progress,
) -> SynthesisReport:
    """Find a function or a supervisor that hides the secrets of a system, and put a log through it."""
    notes: list[str] = []
    if policy == "supervisor" and not function.controllable and system.controllable:
        unseen = len(set(system.controllable) - set(system.observable))
        if unseen:
            many = "event of the file is" if unseen == 1 else "events of the file are"
            notes.append(f"{unseen} controllable {many} never disabled, because the observer does not see them")
    insert_cost, erase_cost = function.costs
    synthesis = synthesize_opacity(
        system,
        k,
        policy=policy,
        notion=notion,
        against=function.against,
        insertable=function.insertable or None,
        erasable=function.erasable or None,
        controllable=function.controllable or None,
        insert_cost=insert_cost,
        erase_cost=erase_cost,
        progress=progress,
    )
    written: dict[Path, bytes] = {}
    machine = synthesis.function or synthesis.supervisor
    if machine is not None and synthesis.possible:
        if files.draw:
            written[files.draw] = diagram_text(machine.to_diagram(), files.draw).encode()
        if function.function:
            text = json.dumps(machine.document(), ensure_ascii=False) + "\n"
            written[function.function] = text.encode()
        notes += [f"wrote {path}" for path in written]
        notes += _shown_log(synthesis, files, written)
        write_files(written)
    informed = synthesis.informed_verdict
    if informed is not None and not informed.holds:
        notes.append(
            "an observer who knows the function can be sure of a secret after "
            f"{' '.join(informed.witness or ()) or 'nothing'}: keep the function secret"
        )
    return SynthesisReport(synthesis=synthesis, notes=tuple(notes))


_TITLE = "Enforcement"
_MOST_STRINGS, _MOST_SUBSTITUTES = 12, 6


def enforcement_report(document: dict[str, Any]) -> Report:
    """What a policy shows instead of what gives a secret away, and what it promises; or why there is none."""
    if not document["enforceable"]:
        nothing = "no safe observation of its length" if document["policy"] == "private" else "nothing at this distance"
        answer = f"cannot be enforced: {nothing} can be shown for {' '.join(document['unenforceable'])}"
        violation = ("violation before", _probability(document["violation_before"]))
        return facts_report(_TITLE, [("policy", document["policy"]), ("answer", answer), violation])
    facts = [
        ("policy", document["policy"]),
        ("violation before", _probability(document["violation_before"])),
        ("violation after", _probability(document["violation_after"])),
        ("loss", _loss(document["epsilon"], document["how"])),
        ("events changed on average", _number_text(document["expected_distance"])),
        *_promise_facts(document),
        ("largest posterior of a visited secret", _at_most(document["posterior_of_secret"])),
        *_least_error_facts(document),
        *what_counts(document),
    ]
    strings = _sensitive_section(document["sensitive"], document["sensitive_count"])
    return Report(title=_TITLE, sections=(strings, Section(_TITLE, (Facts.from_rows(facts),))))


def what_counts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What is a violation, which instants of a run may have visited the secret, and whether its end is seen.

    >>> for name, meaning in what_counts({"policy": "private", "k": 1, "length": 6}):
    ...     print(f"{name}: {meaning}")
    a violation: within the first 6 events an observer becomes sure that the state is secret, or was 1 event ago
    a visited secret: at any instant of a run, also after its last event; of a longer run, before event 7
    the end of a run: is seen, unless it has 6 events: then it may go on
    """
    k, most, policy = document["k"], document["length"], document["policy"]
    events = "1 event" if k == 1 else f"up to {k} events"
    ago = {0: "", "infinite": ", or was at any instant"}.get(k, f", or was {events} ago")
    within = "" if most is None else f"within the first {most} events "
    longer = "" if most is None else f"; of a longer run, before event {most + 1}"
    cut = "" if policy == "private" else "; where a sensitive string is replaced, before the event after it"
    end = "" if most is None else f", unless it has {most} events: then it may go on"
    return [
        ("a violation", f"{within}an observer becomes sure that the state is secret{ago}"),
        ("a visited secret", f"at any instant of a run, also after its last event{longer}{cut}"),
        ("the end of a run", f"is seen{end}"),
    ]


def _sensitive_section(sensitive: list[dict[str, Any]] | None, count: int | None) -> Section:
    """The strings that give a secret away, and what is shown instead of them."""
    heading = "Sensitive strings"
    if sensitive is None:
        number = f"more than {OF_PROOFS.now.observations:,}" if count is None else f"{count:,}"
        return Section(heading, (Text(f"{number} sensitive strings, not listed"),))
    if not sensitive:
        return Section(heading, (Text("already opaque: no sensitive string, no observation gives a secret away"),))
    rows = []
    for each in sensitive[:_MOST_STRINGS]:
        listed = each["substitutes"][:_MOST_SUBSTITUTES]
        shown = [f"{' '.join(other['observation'])} ({_number_text(other['given'])})" for other in listed]
        more = each["substitute_count"] - len(shown)
        shown += [f"and {more} more"] if more > 0 else []
        rows.append((" ".join(each["observation"]), _probability(each["probability"]), "; ".join(shown)))
    left = len(sensitive) - len(rows)
    if left > 0:
        rows.append((f"and {left} more", "", ""))
    return Section(heading, (Table.from_rows(("observed", "probability", "shown instead"), rows),))


def _promise_facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """Between which observations the loss of the policy private holds, and what it does not hide."""
    b = document["adjacency"]
    if b is None:
        return []
    facts = []
    if document["loss_at"]:
        losses = losses_in_words(document["loss_at"], b, apart="the longest observations that differ in", noun="event")
        facts.append(("loss by distance", losses))
    return [
        *facts,
        ("passes unprotected", "the number of events of an observation"),
        ("a visited secret, before anything is shown", _at_most(document["prior_of_secret"])),
    ]


def _least_error_facts(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The mechanism, its error over all observations of the length, and what no private policy can be below."""
    if document["mechanism"] is None:
        return []
    spread, bound = document["standard_error"], document["lower_bound"]
    error = f"{document['expected_error']:.4g}" + (f" ± {2 * spread:.2g}" if spread else "")
    policy = "ε-private policy" if bound is None or bound["beyond"] == "nothing" else "policy with this promise"
    if bound is None:
        least = "not computed"
    else:
        sure = "" if bound["confidence"] is None else f" (confidence {bound['confidence']:g})"
        least = f"{shown_at_most(bound['value'], 4)}{sure}"
    return [
        ("released by", document["mechanism"]),
        ("error over uniform observations", error),
        (f"no {policy} has less than", least),
    ]


def _probability(text: str | None) -> str:
    return "not computed" if text is None else fraction_text(read_probability(text))


def _loss(epsilon: float | str | None, how: str | None) -> str:
    if epsilon is None:
        return "not computed"
    if isinstance(epsilon, str):
        return "infinite: some observation shows that an adjacent one did not happen"
    return f"epsilon = {shown_at_least(epsilon)} ({how})"


def _at_most(value: float | None) -> str:
    return "not computed" if value is None else shown_at_least(float(value))


def _number_text(value: object) -> str:
    if value is None:
        return "not computed"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
