"""Replace what a system shows: what a policy achieves as a report, and a log of observations through it."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
from flint import fmpq, fmpz

from symveil.enforcement.enforcement import Enforcement, Sensitive
from symveil.errors import FileError, ParameterError, TooLargeError, WordError, either
from symveil.io.files import write_files
from symveil.io.reading import suffix
from symveil.io.sequences.columns import ColumnOptions
from symveil.io.sequences.records import SYMBOLS
from symveil.io.sequences.sequence_files import FORMATS, open_sequences
from symveil.io.sequences.word_lists import read_sequences
from symveil.workflows.draw import diagram_text

# a report is to be read: of the substitutes of one string only the likeliest so many are listed
MOST_SUBSTITUTES_LISTED = 1000

LOG_SUFFIXES = (".csv", ".tsv", ".jsonl")
"""What is written where the log has another format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementReport:
    """What a policy achieves, as a JSON document; the files that were written, and what there is to say."""

    enforcement: Enforcement
    contents: dict[str, Any]
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The JSON form of the contract."""
        return self.contents


def report_enforcement(
    enforcement: Enforcement,
    *,
    log: Path | None = None,
    out: Path | None = None,
    columns: ColumnOptions | None = None,
    draw: Path | None = None,
) -> EnforcementReport:
    """Tell what a policy achieves; pass a log through it, and draw the automaton of the substitutes.

    Parameters
    ----------
    enforcement
        A policy on a system.
    log, out
        A file of observations, and the file of what is shown instead of them: both or neither.
    columns
        How the log is read.
    draw
        A picture to write, `.svg` or `.dot`.
    """
    notes: list[str] = []
    document = enforcement_document(enforcement, notes=notes)
    files: dict[Path, bytes] = {}
    if log and out and enforcement.enforceable:
        files[out], count = enforced_log(enforcement, log, out, columns)
        notes.append(f"{count} observation{'' if count == 1 else 's'} written to {out}")
    if draw and enforcement.enforceable:
        files[draw] = diagram_text(enforcement.to_diagram(), draw).encode()
        notes.append(f"wrote {draw}")
    write_files(files)
    if document["posterior_of_secret"] == 1:
        silent = ", although what is shown gives nothing away by itself" if document["violation_after"] == "0" else ""
        notes.append(
            "an observer who knows the policy can be sure of a visited secret after something that is shown (its "
            f"posterior probability is 1){silent}"
        )
    return EnforcementReport(enforcement=enforcement, contents=document, notes=tuple(notes))


def enforcement_document(enforcement: Enforcement, *, notes: list[str] | None = None) -> dict[str, Any]:
    """The JSON form of the contract. What would take a list that is too long is null, and a note says so."""

    def computed(value: Callable[[], object]) -> object:
        try:
            return value()
        except TooLargeError as error:
            if notes is not None and str(error) not in notes:
                notes.append(str(error))
            return None

    listed = MOST_SUBSTITUTES_LISTED
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
    }


def _text(probability: Fraction | None) -> str | None:
    # not Python's own text, which is limited to 4,300 digits
    return None if probability is None else str(fmpq(probability.numerator, probability.denominator))


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


# --- a log of observations ------------------------------------------------------------------------


def enforced_log(
    enforcement: Enforcement, source: Path, out: Path, columns: ColumnOptions | None = None
) -> tuple[bytes, int]:
    """What to write to `out` for a log: what is shown for each of its observations; and how many there are.

    Where `out` has the format of the log it gets its form too: ids, the columns to `keep`, one run or one event in
    each row. Otherwise it is CSV or JSON Lines with one column, `observation`. Lengths are public. Nothing is
    written here.
    """
    if out.exists() and source.exists() and out.samefile(source):
        raise FileError(str(out), expected="another file than the log", found="the same")
    options = columns or ColumnOptions()
    return (_in_its_form if _same_format(source, out) else _in_one_column)(enforcement, source, out, options)


def check_log_name(source: Path, out: Path) -> None:
    """Refuse a name that promises what cannot be written, before anything is computed."""
    if not _same_format(source, out) and out.suffix.lower() not in LOG_SUFFIXES:
        endings = either([*LOG_SUFFIXES, "as the log's does"])
        raise ParameterError("out", expected=f"a file name ending in {endings}", found=repr(out.name))


def _same_format(source: Path, out: Path) -> bool:
    return suffix(source) == suffix(out) and suffix(out) in FORMATS


def _in_its_form(enforcement: Enforcement, source: Path, out: Path, options: ColumnOptions) -> tuple[bytes, int]:
    log = open_sequences(source, options)
    if log.separator is not None:
        _require_separable(enforcement, log.separator)
    batches = list(log.records())
    observations = [
        [str(event) for event in events] for batch in batches for events in batch.column(SYMBOLS).to_pylist()
    ]
    shown = iter(_released(enforcement, source, observations))
    content = io.BytesIO()
    writer = log.writer(content, packed=out.name.lower().endswith(".gz"))
    for batch in batches:
        index = batch.schema.get_field_index(SYMBOLS)
        column = pa.array([list(next(shown)) for _ in range(len(batch))], type=pa.list_(pa.string()))
        if pa.types.is_integer(batch.column(index).type.value_type):
            column = column.cast(pa.list_(batch.column(index).type.value_type))
        writer.write(batch.set_column(index, SYMBOLS, column))
    writer.close()
    return content.getvalue(), len(observations)


def _in_one_column(enforcement: Enforcement, source: Path, out: Path, options: ColumnOptions) -> tuple[bytes, int]:
    if options.keep or options.is_long:
        raise ParameterError(
            "out", expected="the format of the log where --keep or --case names its columns", found=repr(out.name)
        )
    between = options.separator or " "
    as_lists = out.suffix.lower() == ".jsonl"
    if not as_lists:
        _require_separable(enforcement, between)
    columns = {"sequence": options.sequence, "separator": options.separator, "identifier": options.identifier}
    with closing(read_sequences(source, **columns)) as rows:
        shown = _released(enforcement, source, list(rows))
    text = io.StringIO()
    if as_lists:
        for each in shown:
            text.write(json.dumps({"observation": list(each)}, ensure_ascii=False) + "\n")
    else:
        writer = csv.writer(text, delimiter="\t" if out.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        writer.writerow(["observation"])
        writer.writerows([between.join(each)] for each in shown)
    return text.getvalue().encode(), len(shown)


def _require_separable(enforcement: Enforcement, separator: str) -> None:
    if any(separator in event for event in enforcement.system.observable):
        raise ParameterError(
            "separator", expected="one that occurs in no event, or an --out that ends in .jsonl", found=repr(separator)
        )


def _released(
    enforcement: Enforcement, source: Path, observations: Sequence[Sequence[str]]
) -> list[tuple[str, ...] | str]:
    try:
        return enforcement.release_many(observations)
    except WordError as error:
        raise WordError(f"{source}: {error}", position=error.position) from None
