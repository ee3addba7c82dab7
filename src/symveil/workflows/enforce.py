"""Put a system under a policy, report what that achieves, and privatise a log of observations."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

from symveil.enforcement.enforcement import Enforcement
from symveil.enforcement.judged_policy import Sensitive
from symveil.errors import FileError, ParameterError, TooLargeError, WordError
from symveil.io.sequences import read_sequences

LOG_SUFFIXES = (".csv", ".tsv", ".jsonl")
# a report is to be read: of the substitutes of one string only the likeliest so many are listed
MOST_SUBSTITUTES_LISTED = 1000


def enforcement_document(enforcement: Enforcement, *, notes: list[str] | None = None) -> dict[str, Any]:
    """The JSON form of the contract. What could only be found by writing out too much is null, and a note says so."""

    def found(of: Callable[[], object]) -> object:
        try:
            return of()
        except TooLargeError as error:
            if notes is not None and str(error) not in notes:
                notes.append(str(error))
            return None

    return {
        "policy": enforcement.policy,
        "k": enforcement.question.shown_k,
        "length": enforcement.horizon,
        "enforceable": enforcement.enforceable,
        "unenforceable": None if enforcement.unenforceable is None else list(enforcement.unenforceable),
        "sensitive": found(lambda: [_sensitive_document(each) for each in enforcement.sensitive]),
        "violation_before": found(lambda: str(enforcement.violation_before)),
        "violation_after": found(lambda: _text(enforcement.violation_after)),
        "epsilon": found(lambda: _number(enforcement.epsilon)),
        "how": found(lambda: enforcement.guarantee and enforcement.guarantee.how),
        "expected_distance": found(lambda: enforcement.expected_distance),
        "posterior_of_secret": found(lambda: _number(enforcement.posterior_of_secret)),
    }


def _text(probability: Fraction | None) -> str | None:
    return None if probability is None else str(probability)


def _number(value: Fraction | float | None) -> float | str | None:
    if value is None:
        return None
    return "infinity" if math.isinf(value) else float(value)


def _sensitive_document(sensitive: Sensitive) -> dict[str, object]:
    return {
        "observation": list(sensitive.observation),
        "probability": str(sensitive.probability),
        "substitute_count": len(sensitive.substitutes),
        "substitutes": [
            {
                "observation": list(substitute.observation),
                "probability": _shown(substitute.probability),
                "given": _shown(substitute.given),
            }
            for substitute in sensitive.substitutes[:MOST_SUBSTITUTES_LISTED]
        ],
    }


def _shown(probability: Fraction | float) -> str | float:
    return str(probability) if isinstance(probability, Fraction) else probability


def enforced_log(
    enforcement: Enforcement,
    source: Path,
    out: Path,
    *,
    sequence: str | None = None,
    separator: str | None = None,
    identifier: str | None = None,
) -> tuple[str, int]:
    """What to write to `out` for a log: what is shown for each of its observations, in their order; and how many.

    Each line of the log is one run's observation, and its length is public. CSV or JSON Lines, by
    the name of `out`, with one column, `observation`. Nothing is written here.
    """
    if out.exists() and source.exists() and out.samefile(source):
        raise FileError(str(out), expected="another file than the log", found="the same")
    between = separator or " "
    as_lists = out.suffix.lower() == ".jsonl"
    if not as_lists and any(between in event for event in enforcement.system.observable):
        raise ParameterError(
            "separator", expected="one that occurs in no event, or an --out that ends in .jsonl", found=repr(between)
        )
    with closing(read_sequences(source, sequence=sequence, separator=separator, identifier=identifier)) as rows:
        observations = list(rows)
    try:
        shown = enforcement.release_many(observations)
    except WordError as error:
        raise WordError(f"{source}: {error}", position=error.position) from None
    text = io.StringIO()
    if as_lists:
        for each in shown:
            text.write(json.dumps({"observation": list(each)}, ensure_ascii=False) + "\n")
    else:
        writer = csv.writer(text, delimiter="\t" if out.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        writer.writerow(["observation"])
        writer.writerows([between.join(each)] for each in shown)
    return text.getvalue(), len(shown)
