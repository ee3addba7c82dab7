"""Verdicts on privacy as reports: brackets and distances, and the smallest ε."""

from __future__ import annotations

from symveil.numbers.conversions import log_upper_bound
from symveil.numbers.rationals import shown_at_least, shown_at_most, spelled
from symveil.reports.report import Report, Section, Table, Text, facts_report
from symveil.verification.privacy_verdict import (
    PrivacyVerdict,
    answer_in_words,
    shown,
    shown_bound,
    shown_loss,
    written,
)
from symveil.verification.smallest_epsilon import SmallestEpsilon

_MOST_ROWS = 60
_LONGEST_SHOWN = 40


def verdict_report(verdict: PrivacyVerdict, *, searched: str | None = None) -> Report:
    """δ and the distances of each pair, the worst pair, and the answer to what was requested.

    Parameters
    ----------
    verdict
        On a chain or a channel.
    searched
        The δ for which the smallest ε was searched; None: ε was given.
    """
    name = "ld without relays" if verdict.pairs[0].support_only else "ld = lgd"
    rows = [
        (pair.source, pair.target, shown(pair.lv), shown_bound(pair.ld or pair.support_only), shown_bound(pair.bd))
        for pair in verdict.pairs[:_MOST_ROWS]
    ]
    if len(verdict.pairs) > _MOST_ROWS:
        rows.append((f"… {len(verdict.pairs) - _MOST_ROWS} more", "", "", "", ""))
    table = Table.from_rows(("from", "to", "delta (lv)", name, "bd"), rows)
    texts = [f"delta over these pairs: {shown(verdict.delta)}"]
    worst = verdict.worst
    if worst.witness is not None:
        texts.append(f"largest odds of {worst.source} against {worst.target}: {worst.witness}")
        texts.append(f"epsilon without any delta: {shown_loss(verdict)}")
    if verdict.asked is not None:
        texts.append(f"at most {spelled(verdict.asked)}: {answer_in_words(verdict.holds)}")
    first: tuple[Text, ...] = ()
    if searched is not None:
        enough = "none" if verdict.infinite else shown_at_least(log_upper_bound(verdict.alpha_above))
        first = (Text(f"smallest epsilon for delta = {searched}: {enough}"),)
    heading = f"Privacy at {verdict.at}"
    return Report(title=heading, sections=(Section(heading, (*first, table, *map(Text, texts))),))


def smallest_report(smallest: SmallestEpsilon) -> Report:
    """The smallest ε for a δ, rounded against the claim: what is printed as enough is enough, what is not is not."""
    upper = "none was proved" if smallest.upper is None else f"{shown_at_least(smallest.upper)}, proved to be enough"
    lower = shown_at_most(smallest.lower) if smallest.lower else "—"
    if smallest.infinite:
        lower, upper = "every epsilon", "none"
    facts = [("delta", spelled(smallest.delta)), ("not enough", lower), ("enough", upper)]
    text = None if smallest.alpha is None else written(smallest.alpha)
    if text is not None and len(text) < _LONGEST_SHOWN:
        facts.append(("e^epsilon, exactly", text.removesuffix("/1")))
    return facts_report("Smallest epsilon", facts)
