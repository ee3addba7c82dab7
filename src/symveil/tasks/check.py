"""Recheck a release's manifest: against the output's bytes, the model, and the mathematics."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.enforcement.enforce import enforce_opacity
from symveil.enforcement.length_tables import DIRECT
from symveil.errors import FileError, ParameterError, SymveilError, either, reason
from symveil.formats.manifest import (
    MANIFEST_OF_0_3,
    Manifest,
    alphabet_digest,
    choice_from_manifest,
    is_of_0_2,
    missing_keys,
    only_file_errors,
    passes_unprotected,
    read_any_manifest,
)
from symveil.formats.models.model_files import load_word_model
from symveil.formats.reading import suffix
from symveil.formats.sequences.records import SYMBOLS
from symveil.formats.sequences.sequence_file import reported_records
from symveil.formats.sequences.sequence_files import FORMATS
from symveil.mechanisms.attacker import view_from_document
from symveil.mechanisms.by_length import length_classes, of_length
from symveil.mechanisms.calibrate import attacker_of_file, expected_error_of_file
from symveil.mechanisms.choice import AUTO
from symveil.mechanisms.cost_weighted import read_cost
from symveil.numbers.rationals import percent, spelled
from symveil.release.batch import encode_lists
from symveil.release.private_file import PrivateFile, beside, model_path, release_from_manifest
from symveil.release.spec import LocalSpec
from symveil.tasks.check_central import check_central, wanted_of_central
from symveil.tasks.checks import (
    Check,
    CheckedManifest,
    compared,
    output_bytes,
    promise_fault,
    same_model,
    schema_fields,
)
from symveil.tasks.enforce_options import log_policy
from symveil.tasks.limits import LIMITS
from symveil.tasks.opacity import load_system


def check_manifest(
    path: str | Path, *, output: str | Path | None = None, model: str | Path | None = None
) -> CheckedManifest:
    """Recheck a manifest against its files. No rate in it is trusted, and no cached one.

    Parameters
    ----------
    path
        The manifest. What it names is looked for beside it, by its plain name only: a manifest from a stranger must
        not make anybody read other files, wait for a pipe or follow a link.
    output
        The private file or folder, if it lies elsewhere.
    model
        The model, if it lies elsewhere.

    >>> import tempfile
    >>> from symveil.tasks.privatize_file import privatize_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder, "trips.csv")
    ...     _ = source.write_text("trip_id,links\\n1,a b a\\n2,b\\n")
    ...     release = privatize_file(source, Path(folder, "private.csv"), alphabet="ab", epsilon=2)
    ...     check_manifest(release.manifest_file).holds
    True
    """
    file = Path(path)
    manifest = read_any_manifest(file)
    try:
        with only_file_errors(file):
            if manifest.central:
                checks = check_central(file, manifest.document, output, model)
                return CheckedManifest.of(file, checks, wanted_of_central(manifest.document))
            return CheckedManifest.of(file, _checked(file, manifest, output, model), _wanted(manifest.document))
    except OSError as error:  # a name that no file can have
        raise FileError(
            str(file), expected="a manifest that names files", found=reason(error, otherwise="other names")
        ) from None


def _wanted(document: dict[str, Any]) -> Iterator[str]:
    """What is checked of a release where nothing fails, in this order."""
    if document["digests"].get("costs") is not None:
        yield "costs"
    yield from ("alphabet", "guarantee")
    if _has_laws(document):
        yield "parameters"
    yield from (shown for key, shown in _AVERAGES.items() if document.get(key) is not None)
    yield from ("counts", "form", "legality")


def _has_laws(document: dict[str, Any]) -> bool:
    """Whether laws in it are held against its parameters: not those of a policy or of times, and 0.2 wrote none."""
    policy, times = document.get("policy"), "time_grid" in document["parameters"]
    return policy is None and not times and not is_of_0_2(document)


_AVERAGES = {"expected_error": "expected error", "attacker": "attacker"}


def _checked(file: Path, manifest: Manifest, output: str | Path | None, model: str | Path | None) -> list[Check]:
    document = manifest.document
    path = Path(output) if output is not None else beside(file, document["output"]["file"], "output")
    checks = [output_bytes(path, document), *schema_fields(document, "manifest")]
    release = _release(document, file, model, checks)
    if release is not None:
        checks.append(compared("alphabet", alphabet_digest(release.alphabet) == document["digests"]["alphabet"]))
        content = _content(path, release, document) if checks[0].holds else None
        try:
            checks.append(_guarantee(release, document, None if content is None else content.lengths))
            worked_out = content is not None or checks[-1].holds  # of other lengths no law is made
            if worked_out and _has_laws(document):
                faults = (fault for row in document["law"] for fault in _contradictions(release, row))
                fault = next(faults, None)
                checks.append(Check("parameters", fault is None, fault or "the laws agree with them"))
        except SymveilError as error:  # what is claimed of a rate is not proved
            checks.append(Check("guarantee", False, str(error)))
            content = None
        if content is not None:
            checks += _averages(release, document, content.lengths)
        if content is not None:
            checks += [
                _counts(content, document["counts"]),
                _form(path, content, document["output"]),
                Check("legality", content.outside == 0, f"{content.outside} sequences that the language does not have"),
            ]
    checks.append(_unprotected(path, document, readable=checks[0].holds))
    return checks


def _averages(release: LocalSpec, document: dict[str, Any], lengths: NDArray[np.int64]) -> Iterator[Check]:
    """What the manifest says on average over the public model, computed again.

    It may be about a shorter length than those in the file: 0.3 wrote no law for that.
    """
    for key, check in (("expected_error", _expected_error), ("attacker", _attacker)):
        if document.get(key) is None:
            continue
        try:
            yield check(release, document[key], lengths)
        except FileError as error:
            older = document["format"] == MANIFEST_OF_0_3
            yield Check(_AVERAGES[key], older, f"not computed again: {error}" if older else str(error))


def _expected_error(release: LocalSpec, document: dict[str, Any], lengths: NDArray[np.int64]) -> Check:
    """What the manifest says of the average error, computed again; floats differ a little between machines."""
    again = expected_error_of_file(release.mechanism, lengths)
    same = (
        again is not None
        and (again["length"], again["words"]) == (document["length"], document["words"])
        and math.isclose(float(str(again["symbols"])), document["symbols"], rel_tol=1e-3, abs_tol=1e-9)
    )
    shown = f"{document['symbols']:.4g} of {document['length']} symbols on average"
    return Check("expected error", same, f"{shown}, computed again" if same else f"{shown}, which is another number")


def _attacker(release: LocalSpec, written: dict[str, Any], lengths: NDArray[np.int64]) -> Check:
    """What the manifest says of an attacker, computed again."""
    again, view = attacker_of_file(release.mechanism, lengths), view_from_document(written)
    same = again is not None and again["length"] == written["length"] and view_from_document(again).agrees_with(view)
    shown = f"names {percent(view.symbol.before)} of symbols before, {percent(view.symbol.after)} after"
    return Check("attacker", same, f"{shown}, computed again" if same else f"{shown}, which is another number")


def _unprotected(path: Path, document: dict[str, Any], *, readable: bool) -> Check:
    """What anyone can read as it was: ids, columns that were kept, and what is public of the sequences."""
    missing = missing_keys(document, ("kept", "passes_unprotected"))
    if missing:
        return Check("passes unprotected", False, f"the manifest has no {either(missing)}")
    kept_columns = document.get("kept")
    if kept_columns is not None and readable and (more := _other_columns(path, document, kept_columns)):
        return Check("passes unprotected", False, f"also columns that the manifest does not list: {', '.join(more)}")
    listed = passes_unprotected(document)
    if document.get("passes_unprotected", listed) != listed:
        return Check("passes unprotected", False, f"the manifest has another list than {', '.join(listed)}")
    return Check("passes unprotected", True, ", ".join(listed))


_COLUMNS = ("id", "sequence", "case", "symbol", "order", "hour")
"""What of `columns` names a column."""


def _other_columns(path: Path, document: dict[str, Any], allowed: list[str]) -> list[str]:
    """Columns of the output that the manifest does not speak of."""
    columns = document["output"]["columns"]
    known = {*(name for key, name in columns.items() if key in _COLUMNS), *allowed}
    others: list[str] = []
    for file in PrivateFile(path, document).files():
        others += [name for name in file.columns_in_file() if name not in known and name not in others]
    return others


def _release(document: dict[str, Any], file: Path, model: str | Path | None, checks: list[Check]) -> LocalSpec | None:
    if document.get("policy") is not None:
        return _policy_release(document, file, model, checks)
    loaded = None
    if document["model"] is not None:
        name, digest = document["model"]["file"], document["digests"]["model"]
        loaded = same_model(load_word_model, digest, model_path(file, name, model), checks)
        if loaded is None:
            return None
        if document["model"]["kind"] != loaded.kind:
            checks.append(compared("model", False))
            return None
    try:
        choice = choice_from_manifest(document)
        if choice.costs is not None:
            same = choice.costs.digest == document["digests"].get("costs")
            note = "they are what their SHA-256 says" if same else "their SHA-256 is another one"
            checks.append(Check("costs", same, note))
        return release_from_manifest(document, model=loaded, where=str(file), prove=True)
    except SymveilError as error:
        checks.append(Check("parameters", False, str(error)))
        return None


def _policy_release(
    document: dict[str, Any], file: Path, model: str | Path | None, checks: list[Check]
) -> LocalSpec | None:
    """The policy for opacity of a log's release, from the system and the public parameters."""
    policy = document["policy"]
    load = partial(load_system, secret=tuple(policy["secret"]))
    path = model_path(file, policy["system"]["file"], model)
    system = same_model(load, policy["system"]["digest"], path, checks)
    if system is None:
        return None
    try:
        enforced = enforce_opacity(
            system,
            policy["k"],
            policy=policy["name"],
            epsilon=document["epsilon_exact"],
            adjacency=document["b"],
            length=policy["length"],
            mechanism=policy.get("mechanism", DIRECT),
        )
        release = log_policy(enforced, policy["system"])
        if document["parameters"] != release.document() or policy != release.policy:
            checks.append(Check("parameters", False, "others than those of the policy"))
            return None
        return release
    except SymveilError as error:
        checks.append(Check("parameters", False, str(error)))
        return None


def _guarantee(release: LocalSpec, document: dict[str, Any], lengths: NDArray[np.int64] | None) -> Check:
    """Everything that is promised, computed again: for the lengths in the output, else for those that it names."""
    ends = [bound for each in document["classes"] for bound in each["lengths"] if bound is not None]
    if lengths is None and not _quickly_worked_out(release, ends):
        return Check("guarantee", False, "not computed for such lengths without the output that has them")
    known = np.array(ends, dtype=np.int64) if lengths is None else lengths
    promise = json.loads(json.dumps(release.promised(known, charged=document["charged"] is not None)))
    near, share, thin = (promise.pop(key) for key in ("protection", "positions_with_alternatives", "thin"))
    if lengths is not None:  # they are about the lengths that occur
        if not _same_protection(document["protection"], near):
            return Check("guarantee", False, "another protection than what is computed again")
        if "thin" in document and not (
            _agree(document["positions_with_alternatives"], share) and document["thin"] is thin
        ):
            return Check("guarantee", False, "another share of positions with alternatives than what is computed again")
    if (fault := promise_fault(promise, document)) is not None:
        return Check("guarantee", False, fault)
    # what is printed is rounded upwards, and may be above an epsilon that is kept: exact against exact
    epsilon = release.choice.epsilon
    if release.times is not None and release.times.share is not None:
        epsilon *= 1 - release.times.share  # the law of the times was compared with the rest when it was read
    if not all(each.guarantee.within(epsilon) for each in length_classes(release.mechanism, known)):
        return Check("guarantee", False, f"the loss is above epsilon, {spelled(epsilon)}")
    return Check("guarantee", True, f"at most {promise['guarantee']['epsilon']}, computed again")


def _contradictions(release: LocalSpec, row: dict[str, Any]) -> Iterator[str]:
    """What the parameters ask for otherwise than a law has it. Nothing is searched for.

    With auto laws may have costs of their own, and a tight rate on a model may be any that is proved.
    """
    choice, length = release.choice, row["lengths"][1]
    made = release.mechanism if choice.metric == "levenshtein" else of_length(release.mechanism, length)
    if made is None or made.name != row["mechanism"]:
        return
    try:
        as_made = replace(choice, mechanism=made.name)
    except ParameterError:  # auto may take one that cannot be named with what it keeps beyond b
        as_made = replace(choice, mechanism=made.name, beyond="nothing")
    wanted = partial(type(made).from_choice, made.language, as_made)  # of some a search
    named, cost = choice.mechanism != AUTO, getattr(made, "plain_cost", None)
    pairs: list[tuple[str, object, object]] = [("prior", getattr(made, "prior", choice.prior), choice.prior)]
    if named or choice.balanced:
        pairs.append(("balanced", getattr(made, "balanced", False), choice.balanced))
    if cost is not None and (named or choice.cost is not None):  # what swap means to the optimal mechanism has none
        pairs.append(("cost", getattr(made, "cost", None), read_cost(choice.cost, choice.costs)))
        if row.get("cost") == "swap":
            pairs.append(("cap", cost.largest, getattr(wanted(), "plain_cost", cost).largest))
    for name, own, requested in pairs:
        if own != requested:
            has, wants = ("none" if each is None else str(each).lower() for each in (own, requested))
            yield f"{name}: the law of words of {length} symbols has {has}, which is not what they ask for, {wants}"
    is_formula = made.language.homogeneous and (choice.calibration == "classic" or made.name in _CLOSED_FORMS)
    if is_formula or (named and choice.calibration == "classic"):
        rates = [each.law.rate for each in (made, wanted())]
        if rates[0] != rates[1]:
            has, wants = ("none" if rate is None else spelled(rate) for rate in rates)
            which = choice.calibration
            yield f"calibration: the law of words of {length} symbols has the rate {has}, {which} is {wants}"


_CLOSED_FORMS = ("exponential", "staircase")
"""Mechanisms whose tight rate over an alphabet is a formula."""


def _same_protection(written: Any, computed: dict[str, Any] | None) -> bool:
    """Whether averages over the public model agree, but for the order of their sums; older ones say less."""
    if computed is None or not isinstance(written, dict):
        return written is computed
    if computed.keys() - written.keys() - {"positions_with_alternatives"} or written.keys() - computed.keys():
        return False
    pairs = [
        (one, other)
        for name, value in written.items()
        for one, other in zip_longest(*(each if isinstance(each, list) else [each] for each in (value, computed[name])))
    ]
    return all(_agree(one, other) for one, other in pairs)


def _agree(one: Any, other: Any) -> bool:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (one, other))
    return math.isclose(one, other, rel_tol=1e-9) if numbers else one is other


def _quickly_worked_out(release: LocalSpec, lengths: list[int]) -> bool:
    """Whether lengths without an output take little time: anything can be written into a manifest."""
    longest = max(lengths, default=0)
    if release.choice.metric == "levenshtein" or release.mechanism.language.graph is None:
        return longest <= LIMITS.now.named_length
    reach = min(release.mechanism.adjacency, longest)
    return longest * reach**2 <= LIMITS.now.named_length_on_model


@dataclass(frozen=True, kw_only=True, slots=True)
class _Content:
    """What is in an output."""

    records: int
    symbols: int
    outside: int
    lengths: NDArray[np.int64]
    form: str | None
    """None: there is no file."""


def _content(path: Path, release: LocalSpec, document: dict[str, Any]) -> _Content:
    records = symbols = outside = 0
    lengths = np.empty(0, dtype=np.int64)
    form = None
    for file in PrivateFile(path, document).files():
        form = file.form
        for batch in reported_records(file, "checking"):
            codes, own = encode_lists(batch.column(SYMBOLS), release.alphabet)
            records, symbols = records + len(own), symbols + int(own.sum())
            outside += int(np.count_nonzero(release.mechanism.released_language.first_refused(codes, own)))
            lengths = np.union1d(lengths, own)
    return _Content(records=records, symbols=symbols, outside=outside, lengths=lengths, form=form)


def _counts(content: _Content, counts: dict[str, int]) -> Check:
    same = (content.records, content.symbols) == (counts["released"], counts["symbols"])
    dropped = counts["dropped_unknown"], counts["dropped_over_budget"]
    if counts["sequences"] != counts["released"] + sum(dropped) or min(dropped) < 0:
        return Check("counts", False, "released and dropped sequences do not add up to all of them")
    return Check("counts", same, f"{content.records} sequences, {content.symbols} symbols")


def _form(path: Path, content: _Content, output: dict[str, Any]) -> Check:
    kind = "Parquet" if path.is_dir() else FORMATS.get(suffix(path))
    same = content.form in (None, output["form"]) and output["format"] == kind
    return compared("form", same)
