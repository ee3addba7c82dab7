"""Audit the mechanism that a choice describes: its exact worst-case loss on a small language."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from symveil.errors import ParameterError
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.alphabet import Metric
from symveil.numbers.progress import Progress
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Text
from symveil.verification.audit import AuditVerdict, audit
from symveil.verification.chain_pairs import audit_by_chain
from symveil.verification.limits import LIMITS


@dataclass(frozen=True, slots=True)
class AuditReport(Reported):
    """A verdict, whether everything that the mechanism releases is the empty word, and what its user should know."""

    verdict: AuditVerdict
    tells_nothing: bool
    notes: tuple[str, ...]
    metric: Metric

    def report(self) -> Report:
        """The verdict, with what its user should know."""
        report = self.verdict.report(self.metric)
        nothing = "Outputs: always the empty word, which reveals nothing; a larger epsilon would allow more."
        further = (Section("Outputs", (Text(nothing),)),) if self.tells_nothing else ()
        return replace(report, sections=(*report.sections, *further), notes=self.notes)


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
        language.by_length(at_most=LIMITS.now.audited_words)  # refused before anything is calibrated
    law, up_to = choose_mechanism(choice, language), None if one_length else length
    if by_chain:
        verdict = audit_by_chain(law, length=up_to, progress=progress)
    else:
        verdict = audit(law, length=up_to, output_length=output_length, progress=progress)
    return AuditReport(verdict, law.law.tells_nothing, tuple(law.notes), choice.metric)
