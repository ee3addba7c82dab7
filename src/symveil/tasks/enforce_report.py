"""What a policy that enforces opacity shows and costs, as a report."""

from __future__ import annotations

from typing import Any

from symveil.numbers.rationals import fraction_text, shown_at_least, shown_at_most
from symveil.reports.report import Facts, Report, Section, Table, Text, facts_report
from symveil.tasks.enforce import read_probability
from symveil.verification.limits import LIMITS

_TITLE = "Enforcement"
_MOST_STRINGS, _MOST_SUBSTITUTES = 12, 6


def enforcement_report(document: dict[str, Any]) -> Report:
    """What a policy shows instead of what gives a secret away, and what it promises; or why there is none.

    Parameters
    ----------
    document
        Of an enforcement.
    """
    if not document["enforceable"]:
        nothing = "no safe observation of its length" if document["policy"] == "private" else "nothing at this distance"
        answer = f"cannot be enforced: {nothing} can be shown for {' '.join(document['unenforceable'])}"
        violation = ("violation", _probability(document["violation_before"]))
        return facts_report(_TITLE, [("policy", document["policy"]), ("answer", answer), violation])
    facts = [
        ("policy", document["policy"]),
        ("violation before", _probability(document["violation_before"])),
        ("violation after", _probability(document["violation_after"])),
        ("loss", _loss(document["epsilon"], document["how"])),
        ("events changed on average", _number(document["expected_distance"])),
        ("largest posterior of a visited secret", _at_most(document["posterior_of_secret"])),
        *_least_error(document),
    ]
    strings = _sensitive_section(document["sensitive"], document["sensitive_count"])
    return Report(title=_TITLE, sections=(strings, Section(_TITLE, (Facts.from_rows(facts),))))


def _sensitive_section(sensitive: list[dict[str, Any]] | None, count: int | None) -> Section:
    """The strings that give a secret away, and what is shown instead of them."""
    heading = "Sensitive strings"
    if sensitive is None:
        number = f"more than {LIMITS.now.observations:,}" if count is None else f"{count:,}"
        return Section(heading, (Text(f"{number} sensitive strings, not listed"),))
    if not sensitive:
        return Section(heading, (Text("already opaque: no sensitive string, no observation gives a secret away"),))
    rows = []
    for each in sensitive[:_MOST_STRINGS]:
        listed = each["substitutes"][:_MOST_SUBSTITUTES]
        shown = [f"{' '.join(other['observation'])} {_number(other['given'])}" for other in listed]
        more = each["substitute_count"] - len(shown)
        shown += [f"and {more} more"] if more > 0 else []
        rows.append((" ".join(each["observation"]), _probability(each["probability"]), "; ".join(shown)))
    left = len(sensitive) - len(rows)
    if left > 0:
        rows.append((f"and {left} more", "", ""))
    return Section(heading, (Table.from_rows(("observed", "probability", "shown instead"), rows),))


def _least_error(document: dict[str, Any]) -> list[tuple[str, str]]:
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


def _number(value: object) -> str:
    if value is None:
        return "not computed"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
