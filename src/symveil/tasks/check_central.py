"""Recheck a central release: its promise from its queries, its law from what is public; tables are `check_tables`.

A law is held against the support, the lengths and the queries. What no file decides is not checked: the noisy counts
and fitted parameters themselves, a clipped share, whether a map was used, and but for counts of lengths the longest
sequence that counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symveil.central.attribute_law import attribute_queries
from symveil.central.counts import BOUNDS
from symveil.central.learned import LAW_SHARES, LearnedLaw, law_quality, law_queries
from symveil.central.noise import Quality, Query, read_delta, read_neighbours
from symveil.central.time_cells import TimeQuestion
from symveil.central.time_tables import TimeSettings, time_queries, words_and_times
from symveil.central.word_law import Support
from symveil.errors import SymveilError, either
from symveil.estimation.statistics import read_statistic
from symveil.formats.manifest import alphabet_digest, missing_keys, model_digest, only_file_errors
from symveil.formats.models.model_files import load_word_model
from symveil.formats.models.model_json import read_law
from symveil.formats.sequences.columns import PROCESS_MINING
from symveil.formats.sequences.records import SYMBOLS
from symveil.formats.sequences.sequence_file import reported_records
from symveil.languages.language import AnyLength, runs_of_any_length, words_of_any_length
from symveil.laws.parameters import read_epsilon
from symveil.ledger.units import LARGEST, charged_units, shown_units
from symveil.models.markov_chain import MarkovChain
from symveil.models.times import INSTANT, PublicValues, Stamps
from symveil.numbers.rationals import exact, spelled
from symveil.release.batch import encode_lists
from symveil.release.central_job import CentralSpec, queries_of
from symveil.release.private_file import PrivateFile, beside, model_path
from symveil.storage.files import digest_of, is_regular
from symveil.tasks.central_files import RECORDS_COUNT, counts_records, needs_model_as_rule, zones_digest
from symveil.tasks.checks import (
    Check,
    check_table,
    compared,
    is_of_times,
    output_bytes,
    promise_fault,
    question_of,
    same_model,
    schema_fields,
)
from symveil.tasks.count import CountOptions
from symveil.tasks.synthesize import synthetic_columns

_FORMS = {"count": ("table",), "learn": ("model",), "synthesize": ("wide", "long")}
_LAW_PARAMETERS = {"law", "lengths", "zones", "places", "shares", "no_repeats", "constraints"}
_CLOSE = 1e-6
"""Sums of floats differ a little between machines: transition probabilities by this much."""


def wanted_of_central(document: dict[str, Any]) -> tuple[str, ...]:
    """What is checked of a central release where nothing fails, in this order."""
    content = {"count": ("cells", "intervals"), "learn": ("law",), "synthesize": ("law", "words")}
    return ("alphabet", "guarantee", "parameters", "form", *content[document["release"]])


def check_central(
    file: Path, document: dict[str, Any], output: str | Path | None, model: str | Path | None
) -> list[Check]:
    """Everything that the files of a central release decide.

    `output` and `model` are given where they do not lie beside the manifest.
    """
    path = Path(output) if output is not None else beside(file, document["output"]["file"], "output")
    checks = [output_bytes(path, document), *schema_fields(document, "central")]
    loaded = None
    if document["model"] is not None:
        model_file = model_path(file, document["model"]["file"], model)
        loaded = same_model(load_word_model, document["digests"]["model"], model_file, checks)
        if loaded is None:
            return checks
        language: AnyLength | None = runs_of_any_length(loaded)
    else:
        language = None if document["alphabet"] is None else words_of_any_length(document["alphabet"])
    digest = None if language is None else alphabet_digest(language.alphabet)
    known = {"alphabet": digest, "model": None if loaded is None else model_digest(loaded)}
    same = {**known, "output": document["digests"]["output"]} == document["digests"]
    if loaded is not None:
        model_document = {"kind": loaded.kind, "file": document["model"]["file"]}
        same = same and document["alphabet"] is None and document["model"] == model_document
    checks.append(compared("alphabet", same))
    checks += _lists(document)
    checks.append(_queries(document, language))
    checks.append(_parameters(document))
    checks.append(_facts(path, document))
    if not all(each.holds for each in checks):
        return checks  # a table or a law is held against parameters that are sound
    if document["release"] == "count":
        checks += check_table(path, document, language)
    elif language is not None:
        checks.append(_law(path if document["release"] == "learn" else file, document, language))
        if document["release"] == "synthesize":
            checks.append(_synthetic(path, document, language))
    return checks


def _lists(document: dict[str, Any]) -> list[Check]:
    """That a manifest lists what older versions did not: what passes unprotected, and the zones that were counted."""
    listed = ["passes_unprotected"]
    if document["release"] == "count" and document["parameters"].get("zones") is not None:
        listed.append("zones")
    missing = missing_keys(document, listed)
    if not missing:
        return []
    return [Check("fields", False, f"the manifest has no {either(missing)}, which its version lists")]


def _queries(document: dict[str, Any], language: AnyLength | None) -> Check:
    """The promise, computed again from the queries."""
    delta = read_delta(document["delta_exact"]) if "delta_exact" in document else Fraction(0)
    if (language is None) != (delta > 0):
        return Check("guarantee", False, "a public alphabet or model, or a delta, and not both, is what a table needs")
    release = CentralSpec(
        kind=document["release"],
        epsilon=read_epsilon(document["epsilon_exact"]),
        neighbours=read_neighbours(document["neighbours"]),
        language=language,
        parameters=document["parameters"],
        delta=delta,
    )
    queries = queries_of(document)
    promise = release.promised(queries)
    if (fault := promise_fault(promise, document)) is not None:
        return Check("guarantee", False, fault)
    if sum((query.epsilon for query in queries), Fraction(0)) > release.epsilon:
        return Check("guarantee", False, f"the queries lose more than epsilon, {spelled(release.epsilon)}")
    if sum((query.delta for query in queries), Fraction(0)) != delta or (delta and not queries[-1].delta):
        return Check("guarantee", False, f"the queries have another delta than {spelled(delta)}")
    within = f", but for a chance of {promise['delta']}" if delta else ""
    unit, meant = ("record", f"; {RECORDS_COUNT}") if counts_records(document) else ("person", "")
    return Check("guarantee", True, f"at most {promise['epsilon']} for each {unit}{within}, computed again{meant}")


def _parameters(document: dict[str, Any]) -> Check:
    """Whether the queries are those that the parameters lead to."""
    try:
        fault = next(_parameter_faults(document), None)
    except (SymveilError, LookupError, TypeError, ValueError, AttributeError) as error:
        fault = str(error) if isinstance(error, SymveilError) else "not as symveil writes them"
    parameters, shown = document["parameters"], "the queries follow from them"
    if fault is None and parameters.get("max_length") is not None and parameters["statistic"] != "lengths":
        shown += "; that longer sequences than max_length did not count is not seen in a table"
    return Check("parameters", fault is None, shown if fault is None else fault)


def _parameter_faults(document: dict[str, Any]) -> Iterator[str]:
    parameters, queries = document["parameters"], queries_of(document)
    epsilon, neighbours = read_epsilon(document["epsilon_exact"]), read_neighbours(document["neighbours"])
    if document["release"] == "count":
        delta = queries[-1].delta
        options = CountOptions(
            bound=parameters["bound"],
            max_length=parameters["max_length"],
            confidence=parameters["confidence"],
            neighbours=neighbours,
        )
        times = ("time",) if is_of_times(document) else ()
        zones = () if delta else ("zones",)
        if set(parameters) != {"statistic", "bound", "max_length", "confidence", *zones, *times}:
            yield "others than those of a count"
        wanted = question_of(document) if times else read_statistic(parameters["statistic"])
        if isinstance(wanted, TimeQuestion) and wanted.document() != parameters["time"]:
            yield "other settings of times than a count has"
        if wanted.name != queries[-1].name or parameters["bound"] != options.bound:
            yield "another statistic or another spelling than the queries have"
        chosen = queries[-1].bound
        if not {"auto": chosen in BOUNDS, "normalised": chosen == 1}.get(str(options.bound), chosen == options.bound):
            yield f"the bound {options.bound}, and {chosen} in the queries"
        expected = options.terms(epsilon, delta).queries(queries[-1].name, chosen)
    else:
        counted = {"count"} if document["release"] == "synthesize" else set()
        of_words, others = _split(document, epsilon, neighbours)
        if set(parameters) != _LAW_PARAMETERS | counted or parameters["law"] not in ("trips", "log"):
            yield "others than those of a law"
        usual = LAW_SHARES[parameters["law"]]
        shares = {name: exact(share, name="shares") for name, share in parameters["shares"].items()}
        if set(shares) != set(usual) or sum(shares.values()) != 1:
            yield "shares that are no shares of epsilon"
        quartile = None if parameters["law"] == "trips" else queries[len(usual) - 1].bound
        expected = law_queries(of_words, neighbours, quartile=quartile, shares=shares) + others
        if parameters["law"] == "log" and parameters["places"]:
            yield "places, which the law of a log does not use"
        if not all(isinstance(parameters[name], bool) for name in ("places", "no_repeats")):
            yield "something else than true and false"
    if expected != queries:
        yield "other queries than these parameters lead to"


def _split(document: dict[str, Any], epsilon: Fraction, neighbours: Any) -> tuple[Fraction, tuple[Query, ...]]:
    """What of ε is for words, and the queries of times and attributes, where the law has some."""
    if "times" not in document:
        if "attributes" in document:
            raise ValueError("attributes without times")
        return epsilon, ()
    settings = TimeSettings.from_document(document["times"])
    if settings.document() != document["times"]:
        raise ValueError("settings of times that a law does not have")
    listed = document.get("attributes", [])
    values = [PublicValues.from_document(each) for each in listed]
    shares = {exact(each["share"], name="share") for each in listed}
    share = shares.pop() if listed else Fraction(0)
    own = [{**each.document(), "share": spelled(share)} for each in values]
    if shares or own != listed:
        raise ValueError("attributes that a law does not have")
    of_words, of_times = words_and_times(epsilon, times=settings.share, attributes=share * len(listed))
    named = attribute_queries([each.name for each in values], epsilon * share, neighbours)
    return of_words, (*time_queries(of_times, neighbours), *named)


def _facts(path: Path, document: dict[str, Any]) -> Check:
    """The form of the output, and what was charged."""
    output, epsilon = document["output"], read_epsilon(document["epsilon_exact"])
    charge = shown_units(charged_units(epsilon)) if epsilon <= LARGEST else None
    form = output["form"] in _FORMS[document["release"]] and output["format"] == path.suffix.lower()[1:]
    facts = {"file", "format", "form"}
    if document["release"] == "synthesize":
        times = "times" in document
        form = form and (output["form"] == "long") == (output["format"] == "xes" or times)
        columns = synthetic_columns(output["format"], str(output["columns"].get("separator", " ")), times=times)
        form, facts, charge = form and output["columns"] == columns, facts | {"columns"}, None  # drawing costs nothing
    if not form or set(output) - {"spreadsheet_safe"} != facts:
        return compared("form", False)
    if document["charged"] not in (None, charge):
        return Check("form", False, "another charge than epsilon rounded upwards")
    return compared("form", ("drawn_from" in document) == (document["release"] == "synthesize"))


def _synthetic(path: Path, document: dict[str, Any], language: AnyLength) -> Check:
    """Synthetic words: as many as were declared, of the public lengths, and every one legal."""
    shortest, longest = document["parameters"]["lengths"]
    words = outside = backwards = 0
    times = "times" in document
    for file in PrivateFile(path, document).files(time=PROCESS_MINING["order"] if times else None):
        for batch in reported_records(file, "checking"):
            codes, lengths = encode_lists(batch.column(SYMBOLS), language.alphabet)
            refused = (language.first_refused(codes, lengths) > 0) | (lengths < shortest) | (lengths > longest)
            words, outside = words + len(lengths), outside + int(np.count_nonzero(refused))
            if times:
                backwards += _backwards(file.stamps(batch), lengths)
    note = f"{words} words, {outside} that the graph or the lengths do not allow"
    if times:
        note += f", {backwards} events without a time or before the event that they follow"
    return Check("words", outside == backwards == 0 and words == document["parameters"]["count"], note)


def _backwards(stamps: Stamps, lengths: NDArray[np.int64]) -> int:
    """How many events have no instant, or one before that of the event before them."""
    word = np.repeat(np.arange(len(lengths)), lengths)
    earlier = (word[1:] == word[:-1]) & (np.diff(stamps.microseconds) < 0)
    return int(np.count_nonzero(stamps.kind != INSTANT) + np.count_nonzero(earlier))


def _law(path: Path, document: dict[str, Any], language: AnyLength) -> Check:
    """The law in a model: on the public support, with the parameters and the queries of the manifest."""
    if document["release"] == "synthesize":
        manifest, drawn = path, document["drawn_from"]
        path = beside(manifest, drawn["file"], "drawn_from")
        if not is_regular(path):
            return Check("law", True, f"not checked: {drawn['file']}, which words were drawn from, is not there")
        if {"file": path.name, "digest": digest_of(path)} != drawn:
            return Check("law", False, f"{drawn['file']} is not the model that words were drawn from")
    try:
        with only_file_errors(path, expected="a model as symveil learn writes it"):
            law = read_law(path)
            fault = next(_law_faults(law, path, document, language), None)
    except SymveilError as error:
        return Check("law", False, str(error))
    return Check("law", fault is None, fault or "support, lengths, zones and rules match; its chain was computed again")


def _law_faults(law: LearnedLaw, path: Path, document: dict[str, Any], language: AnyLength) -> Iterator[str]:
    parameters, symbols = document["parameters"], tuple(str(symbol) for symbol in language.alphabet.symbols)
    if law.symbols != symbols:
        yield "other symbols than the public ones"
        return
    if [law.support.shortest, law.support.longest] != parameters["lengths"]:
        yield "other lengths than the manifest says"
    if zones_digest(law.zone_names, law.support.zone) != parameters["zones"]:
        yield "other zones than the manifest says"
    if (law.support.split is None) != (parameters["law"] == "trips"):
        yield "another kind of law than the manifest says"
    if law.support.split is not None and law.support.split != queries_of(document)[len(LAW_SHARES["log"]) - 1].bound:
        yield "positions split elsewhere than the queries say"
    public = Support.of(
        symbols=len(symbols),
        graph=language.graph,
        zone=law.support.zone,
        shortest=law.support.shortest,
        longest=law.support.longest,
    )
    if not all(np.array_equal(getattr(law.support, name), getattr(public, name)) for name in ("source", "target")):
        yield "other moves than the public ones"
    constraints = [model_digest(each) for each in law.rules.constraints]
    if constraints != parameters["constraints"]:
        yield "other constraints than the manifest says"
    if needs_model_as_rule(language) and language.model is not None and model_digest(language.model) not in constraints:
        yield "words that are none of the model's"
    once = len(law.rules.once) == len(symbols)
    if (parameters["no_repeats"] and not once) or (
        parameters["law"] == "trips" and law.rules.once and not parameters["no_repeats"]
    ):
        yield "another rule on repeated symbols than the manifest says"
    if law.quality is not None and not _same_noise(law, law.quality, document):
        yield "another noise of its tables than the queries have"
    if (fault := _beside_fault(law, document)) is not None:
        yield fault
    written = load_word_model(path)
    if not isinstance(written, MarkovChain) or not _same_chain(written, law.chain()):
        yield "another chain than that of its law"


def _beside_fault(law: LearnedLaw, document: dict[str, Any]) -> str | None:
    """In what the times and attributes of a law are others than the manifest says; None: in nothing."""
    listed = [{name: each[name] for name in each if name != "share"} for each in document.get("attributes", [])]
    if [each.values.document() for each in law.attributes] != listed:
        return "other attributes than the manifest says"
    own = None if law.times is None else law.times.settings.document()
    return None if own == document.get("times") else "other settings of times than the manifest says"


def _same_noise(law: LearnedLaw, quality: Quality, document: dict[str, Any]) -> bool:
    of_words = queries_of(document)[: len(LAW_SHARES[document["parameters"]["law"]])]
    return law_quality(law.support, quality.persons, of_words) == quality


def _same_chain(found: MarkovChain, expected: MarkovChain) -> bool:
    listed, wanted = ({(a, b): p for a, b, p in chain.transitions} for chain in (found, expected))
    return listed.keys() == wanted.keys() and all(abs(listed[move] - wanted[move]) <= _CLOSE for move in listed)
