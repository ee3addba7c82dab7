"""Put a system under a policy, report what that achieves, and privatise a log of observations."""

from __future__ import annotations

import csv
import io
import json
import math
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from symveil.enforcement.enforce import Enforcement, Sensitive
from symveil.errors import FileError, WordError
from symveil.io.files import write_text
from symveil.io.sequences import read_sequences

LOG_SUFFIXES = (".csv", ".tsv", ".jsonl")
# a report is to be read: of the substitutes of one string only the likeliest so many are listed
MOST_SUBSTITUTES_LISTED = 1000


def enforcement_document(enforcement: Enforcement) -> dict[str, object]:
    """The JSON form of the contract."""
    epsilon = enforcement.epsilon
    posterior = enforcement.posterior_of_secret
    return {
        "policy": enforcement.policy,
        "k": enforcement.question.shown_k,
        "length": enforcement.horizon,
        "enforceable": enforcement.enforceable,
        "unenforceable": None if enforcement.unenforceable is None else list(enforcement.unenforceable),
        "sensitive": [_sensitive_document(each) for each in enforcement.sensitive],
        "violation_before": str(enforcement.violation_before),
        "violation_after": None if enforcement.violation_after is None else str(enforcement.violation_after),
        "epsilon": "infinity" if epsilon is not None and math.isinf(epsilon) else epsilon,
        "how": None if enforcement.guarantee is None else enforcement.guarantee.how,
        "expected_distance": enforcement.expected_distance,
        "posterior_of_secret": None if posterior is None else float(posterior),
    }


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


def enforce_log(
    enforcement: Enforcement,
    source: Path,
    out: Path,
    *,
    sequence: str | None = None,
    separator: str | None = None,
    identifier: str | None = None,
) -> int:
    """Write what is shown for every observation of a log, in its order; whole or not at all. Returns how many.

    Each line of the log is one run's observation, and its length is public. A CSV or JSON Lines
    file comes out, by the name of `out`, with one column, `observation`.
    """
    if out.exists() and source.exists() and out.samefile(source):
        raise FileError(str(out), expected="another file than the log", found="the same")
    with closing(read_sequences(source, sequence=sequence, separator=separator, identifier=identifier)) as rows:
        observations = list(rows)
    try:
        shown = enforcement.release_many(observations)
    except WordError as error:
        raise WordError(f"{source}: {error}", position=error.position) from None
    text = io.StringIO()
    if out.suffix.lower() == ".jsonl":
        for each in shown:
            text.write(json.dumps({"observation": list(each)}, ensure_ascii=False) + "\n")
    else:
        writer = csv.writer(text, delimiter="\t" if out.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        writer.writerow(["observation"])
        writer.writerows([(separator or " ").join(each)] for each in shown)
    write_text(out, text.getvalue())
    return len(shown)
