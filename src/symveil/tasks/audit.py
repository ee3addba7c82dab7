"""Audit the mechanism that a choice describes: its exact worst-case loss on a small language."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from symveil.errors import ParameterError
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.word import Metric
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import shown_at_least
from symveil.reports.report import Report, Section, Table, facts_report
from symveil.verification.audit import MOST_WORDS, AuditVerdict, LossAtDistance, audit
from symveil.verification.chain_audit import audit_by_chain


@dataclass(frozen=True, slots=True)
class AuditReport:
    """A verdict, whether everything that the mechanism releases is the empty word, and what its user should know."""

    verdict: AuditVerdict
    tells_nothing: bool
    notes: tuple[str, ...]


def audit_choice(
    choice: MechanismChoice,
    *,
    length: int,
    output_length: int | None = None,
    by_chain: bool = False,
    progress: Progress | None = None,
    **source: Any,
) -> AuditReport:
    """The worst-case loss of the mechanism that a choice describes on the words of a length.

    Parameters
    ----------
    choice
        Which mechanism with which parameters.
    length
        Symbols of the words; with metric "levenshtein" at most so many.
    output_length
        With the edit channel: released words of up to so many symbols are looked at.
    by_chain
        Prove it on the mechanism's labelled chain, in exact rationals.
    progress
        Called with how much is done, and of how much.
    **source
        Where the words come from: `alphabet` or `model`.

    >>> from symveil.mechanisms.choice import read_choice
    >>> report = audit_choice(read_choice(1), length=3, alphabet="ab")
    >>> report.verdict.private, report.tells_nothing
    (True, False)
    """
    one_length = choice.metric == "hamming"
    if one_length and output_length is not None:
        raise ParameterError("output_length", expected="`metric='levenshtein'` with it", found="hamming")
    if by_chain and output_length is not None:
        raise ParameterError("output_length", expected="it without `by_chain`", found="both")
    if not one_length and choice.max_length is None:
        choice = replace(choice, max_length=length)
    language = choice.language(**source, length=length if one_length else None)
    if one_length:
        language.by_length(at_most=MOST_WORDS)  # refused before anything is calibrated
    law, up_to = choose_mechanism(choice, language), None if one_length else length
    if by_chain:
        verdict = audit_by_chain(law, length=up_to, progress=progress)
    else:
        verdict = audit(law, length=up_to, output_length=output_length, progress=progress)
    return AuditReport(verdict, law.law.tells_nothing, tuple(law.notes))


def audit_report(result: AuditReport, metric: Metric) -> Report:
    """The worst case beside what was promised, who attains it, and the loss at every distance.

    Parameters
    ----------
    result
        Of an audit.
    metric
        What distances count.
    """
    verdict = result.verdict
    rounding = ", up to the rounding of logarithms" if verdict.worst_epsilon > verdict.nominal_epsilon else ""
    facts = [
        ("mechanism", verdict.mechanism),
        ("promised", f"epsilon = {shown_at_least(verdict.nominal_epsilon)}"),
        ("worst case", f"epsilon = {shown_at_least(verdict.worst_epsilon, 9)} over {verdict.pairs_checked} pairs"),
        ("private", f"yes{rounding}" if verdict.private else "NO"),
    ]
    if result.tells_nothing:
        facts.append(("outputs", "always the empty word, which reveals nothing; a larger epsilon would allow more"))
    if verdict.longer_outputs_epsilon is not None:
        proved = shown_at_least(verdict.longer_outputs_epsilon, 9)
        facts.append(("longer outputs", f"epsilon = {proved}, proved, beyond {verdict.outputs_up_to} symbols"))
    if verdict.witness:
        facts += [(name, " ".join(map(repr, word)) or "(the empty word)") for name, word in verdict.witness.items()]
    further = []
    if verdict.by_distance:
        unit = "edits apart, up to" if metric == "levenshtein" else "symbols apart, up to"
        columns = (unit, "largest loss, enumerated", "proved bound")
        table = Table.from_rows(columns, [_row(row) for row in verdict.by_distance])
        further.append(Section("Loss by distance", (table,)))
    return replace(facts_report("Audit", facts, *further), notes=result.notes)


def _row(row: LossAtDistance) -> tuple[str, str, str]:
    """Both numbers as they are rounded against the claim; what is broken is marked."""

    def shown(loss: float | None) -> str:
        return "—" if loss is None else "not bounded" if loss == math.inf else shown_at_least(loss, 9)

    return str(row.distance), shown(row.enumerated) + ("" if row.kept else " EXCEEDS THE BOUND"), shown(row.proved)
