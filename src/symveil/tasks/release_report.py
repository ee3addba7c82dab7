"""What a release means, in numbers people use: a report for its holder, and one page for those who decide.

The page comes from the manifest, which is public; only the report counts persons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from symveil.formats.manifest import passes_unprotected
from symveil.laws.protection import Protection, protection_from_document
from symveil.mechanisms.attacker import AttackerView, view_from_document
from symveil.numbers.rationals import exact, factor, percent, shown_at_least
from symveil.release.timed import ANY
from symveil.reports.page import Reported, report_page
from symveil.reports.report import Facts, Listing, Report, Section, Table, Text, facts_report
from symveil.tasks.doubts import (
    for_scale,
    guarantee_in_words,
    hides_little,
    large_loss,
    losses_in_words,
    no_better_than_classic,
    protects_in_words,
    thin_protection,
)


def mechanism_in_words(manifest: Mapping[str, Any]) -> str:
    """The mechanism that was used; sequences of different lengths may each have their own.

    >>> mechanism_in_words({"mechanism": "staircase"}), mechanism_in_words({"mechanism": "auto"})
    ('staircase', 'auto: for each length the candidate with the least expected error')
    """
    name = str(manifest["mechanism"])
    return f"{name}: for each length the candidate with the least expected error" if name == "auto" else name


def in_numbers(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What changes, by what factor odds shift, and what is protected: a name and a sentence each.

    >>> said = in_numbers({"b": 1, "guarantee": {"epsilon": 2.0}, "parameters": {"metric": "hamming"},
    ...                    "protection": None, "expected_error": {"length": 6, "symbols": 1.43}})
    >>> said[0][1]
    '1.43 of 6 symbols of a sequence change; 76.2 % of the symbols stay as they are, over the public model'
    >>> said[1]
    ('odds', 'between sequences that differ in one symbol shift by a factor of at most 7.4')
    """
    facts = []
    error = manifest.get("expected_error")
    if error is not None:
        unchanged = 100 * (1 - error["symbols"] / max(error["length"], 1))
        changed = f"{error['symbols']:.3g} of {error['length']} symbols of a sequence change"
        facts.append(
            ("on average", f"{changed}; {unchanged:.3g} % of the symbols stay as they are, over the public model")
        )
    apart = _apart(manifest)
    shift = factor(manifest["guarantee"]["epsilon"])
    facts.append(("odds", f"between sequences that {apart} shift by a factor of at most {shift}"))
    losses = losses_at_distances(manifest)
    if losses is not None:
        facts.append(("loss by distance", losses))
    view = attacker_in(manifest)
    if view is not None:
        facts.append(("attacker", "; ".join([f"who knows the model {view.sentence()}", *_for_scale(manifest)])))
    facts.append(("protected", _protected(manifest, apart)))
    share = manifest.get("positions_with_alternatives")
    if share is not None:
        hidden = f"{percent(share)} of the positions of a typical sequence have an alternative within b"
        facts.append(("positions", f"{hidden}, {percent(1 - share)} have none" if share < 1 else hidden))
    return facts


def _protected(manifest: Mapping[str, Any], apart: str) -> str:
    """What b hides: on a model how many sequences there are around one, over an alphabet what a whole one loses."""
    near, rows = protection_in(manifest), manifest["guarantee"].get("loss_at")
    timed = "time_grid" in manifest["parameters"]
    if near is not None:
        others = f"{near.neighbours_within_adjacency:.3g} around a typical one, on average"
        return f"feasible sequences that {apart} look alike: {others}"
    if manifest.get("model") is None and rows and manifest["parameters"]["metric"] == "hamming" and not timed:
        return protects_in_words(rows, manifest["b"], noun="sequence")
    return f"{'feasible ' if manifest.get('model') else ''}sequences that {apart} look alike"


def attacker_in(manifest: Mapping[str, Any]) -> AttackerView | None:
    """What the manifest says of an attacker; None where it was not computed, and in older ones."""
    document = manifest.get("attacker")
    return None if document is None else view_from_document(document)


def _for_scale(manifest: Mapping[str, Any]) -> list[str]:
    error = manifest.get("expected_error")
    public = 1 if manifest["parameters"].get("public_start") else 0
    return [] if error is None else [for_scale(error["symbols"], error["length"] - public)]


def _attacker_section(manifest: Mapping[str, Any]) -> Section | None:
    """What an attacker learns who knows the public model and sees one private sequence."""
    view = attacker_in(manifest)
    if view is None:
        return None
    guesses = (
        ("a symbol, on average over positions", view.symbol),
        ("the first secret symbol", view.first),
        ("the last symbol", view.last),
        ("the whole sequence", view.word),
    )
    rows = [(name, percent(guess.before), percent(guess.after)) for name, guess in guesses]
    known = "the best guess, computed exactly"
    if view.interval is not None:
        low, high = (percent(end) for end in view.interval)
        known = (
            f"an attack that was simulated; the best one is no worse (95 % interval of the first row: {low} to {high})"
        )
    allowed = ""
    if view.promised is not None:
        sure = "" if view.limit_confidence is None else f" (confidence {view.limit_confidence:g})"
        most = f"{shown_at_least(100 * view.promised, 3)} %{sure}"
        allowed = f" The loss at every distance alone allows at most {most} of symbols, whatever the mechanism."
    opening = (
        f"The attacker knows the public model and that sequences have {manifest['attacker']['length']} symbols, takes "
        "every feasible sequence as equally likely, and sees one private sequence. How often is a guess right?"
    )
    after = "; ".join([known, *_for_scale(manifest)])
    closing = f"After: {after}.{allowed} An attacker who knows more about a person starts from a higher chance."
    little = (Text(f"**{each[:1].upper() + each[1:]}.**") for each in hides_little(view))
    table = Table.from_rows(("guess", "before", "after"), rows)
    return Section("What an attacker learns", (Text(opening), *little, table, Text(closing)))


def losses_at_distances(manifest: Mapping[str, Any]) -> str | None:
    """What sequences lose that differ in any number of places; None where an older manifest does not say it."""
    rows = manifest["guarantee"].get("loss_at")
    if not rows:
        return None
    parameters = manifest["parameters"]
    edits, near_times = parameters["metric"] == "levenshtein", parameters.get("time_shift", ANY) != ANY
    epsilon = None if edits or near_times or "epsilon" not in parameters else exact(parameters["epsilon"])
    apart = f"sequences that {'differ, with times any number of bins apart, in' if near_times else 'differ in'}"
    return losses_in_words(rows, manifest["b"], apart=apart, edits=edits, epsilon=epsilon)


def times_in_words(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """That the times of events are not the true ones, where the output has times; as a row of a summary.

    >>> times_in_words({"output": {"times": {"artificial": True, "start": "2000-01-01T00:00:00+00:00", "step": "1m"}}})
    [('times', 'artificial: every sequence starts at 2000-01-01T00:00:00+00:00, 1m from event to event')]
    """
    facts = []
    parameters = manifest.get("parameters", {})
    if "time_grid" in parameters:
        far = ""
        if parameters["time_shift"] != ANY:
            bins = _bins(parameters["time_shift"])
            far = f"; adjacent sequences differ by at most {bins} in a time, and {bins} more cost as much again"
        facts.append(("private times", f"{parameters['time_grid']} of each event, clock {parameters['timezone']}{far}"))
    times = manifest["output"].get("times")
    if times is None:
        return facts
    how = "with private waits" if times.get("waits") == "private" else f"{times.get('step')} from event to event"
    return [*facts, ("times", f"artificial: every sequence starts at {times['start']}, {how}")]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRelease(Reported):
    """A private file, its manifest, and what there is to say about them."""

    out: Path
    manifest_file: Path
    manifest: dict[str, Any] = field(repr=False)
    already_done: bool = False
    """Whether an earlier run had finished this release: nothing was drawn and no one was charged."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the holder should look at before the file is published; also raised as a `SymveilWarning`."""
    persons: int | None = None
    """How many persons were charged; None: no one was. For the holder: it is not in the manifest."""
    largest_charge: str | None = None
    """What was charged to the person who paid most."""
    true_error: dict[str, float] | None = field(default=None, repr=False)
    """How many symbols were really changed. It depends on the secret words: do not publish it."""

    def document(self) -> dict[str, object]:
        """The JSON form, for the holder: the manifest, where it and the output are, and who paid."""
        document: dict[str, object] = {
            **self.manifest,
            "guarantee_in_words": guarantee_in_words(
                self.manifest["how"], self.manifest["parameters"].get("calibration")
            ),
            "out": str(self.out),
            "manifest": str(self.manifest_file),
            "already_done": self.already_done,
            "persons": self.persons,
            "largest_charge": self.largest_charge,
        }
        if self.true_error is not None:
            document["unsafe_true_error"] = self.true_error
        return document

    def report(self, *, page: str | None = None) -> Report:
        """What it promises and charged, for the holder of the file.

        `page` is where a page about it was written, or how to have one.
        """
        manifest, counts = self.manifest, self.manifest["counts"]
        loss = shown_at_least(manifest["guarantee"]["epsilon"])
        eta = "" if manifest["eta"] is None else f", eta {manifest['eta']}"  # not every mechanism has a rate
        facts = [
            ("private file", str(self.out)),
            ("manifest", str(self.manifest_file)),
            ("release", str(manifest["release_id"])),
            ("mechanism", f"{mechanism_in_words(manifest)}{eta}, adjacency {manifest['b']}"),
            ("loss per sequence", f"epsilon = {loss} ({manifest['how']}); requested: {manifest['epsilon_exact']}"),
            ("sequences", f"{counts['released']} released of {counts['sequences']}, {counts['symbols']} symbols"),
        ]
        if counts["dropped_unknown"]:
            facts.append(("left out", f"{counts['dropped_unknown']} that the alphabet or model does not have"))
        if counts["dropped_over_budget"]:
            facts.append(("left out", f"{counts['dropped_over_budget']} of persons over budget"))
        if manifest["charged"] is not None:
            facts.append(("charged", f"{manifest['charged']} for each sequence"))
        if self.persons is not None:
            facts.append(("persons", f"{self.persons}, of whom none is charged more than {self.largest_charge}"))
        facts += in_numbers(manifest)
        facts += times_in_words(manifest)
        facts.append(("passes unprotected", ", ".join(passes_unprotected(manifest))))
        if page is not None:
            facts.append(("report", page))
        if self.true_error is not None:
            changed = self.true_error["changed_fraction"]
            facts.append(("true error", f"{changed:.6f} of the symbols changed: NOT PRIVATE"))
        notes = [*self.notes, *no_better_than_classic(manifest["how"], manifest["parameters"].get("calibration"))]
        if self.already_done:
            notes += [
                "this release was finished before: its output is unchanged, nothing was drawn and no one was charged "
                "again",
                "nothing is kept of its secret words, so only its records were compared with the input; other words "
                "need another `release_id`",
            ]
        doubts = (*thin_protection(protection_in(manifest)), *hides_little(attacker_in(manifest)))
        return replace(facts_report("Private", facts), notes=tuple(notes), warnings=(*self.warnings, *doubts))


def release_page(manifest: Mapping[str, Any]) -> str:
    """One page without anything from elsewhere, for those who decide; public facts only."""
    loss, b = shown_at_least(manifest["guarantee"]["epsilon"]), manifest["b"]
    counts, output = manifest["counts"], manifest["output"]
    shift = factor(manifest["guarantee"]["epsilon"])
    doubts = [
        *large_loss(manifest["epsilon"]),
        *thin_protection(protection_in(manifest)),
        *hides_little(attacker_in(manifest)),
        *no_better_than_classic(manifest["how"], manifest["parameters"].get("calibration")),
    ]
    losses = losses_at_distances(manifest)
    more = "odds may shift more" if losses is None else losses
    limits = [
        "A person with several sequences in the file, or in several files, loses as many times as much: a ledger adds "
        "it up.",
        *([] if b == "all" else [f"Sequences that differ in more places than {b} are protected less: {more}."]),
    ]
    facts = [
        ("private file", output["file"]),
        ("day", manifest.get("date", "not written down")),
        ("release", manifest["release_id"]),
        ("mechanism", mechanism_in_words(manifest)),
        ("loss per sequence", f"ε = {loss} ({manifest['how']}); requested: {manifest['epsilon_exact']}"),
        ("unit of privacy", manifest.get("unit", f"adjacency {b}")),
        ("sequences", f"{counts['released']:,} released of {counts['sequences']:,}"),
        *times_in_words(manifest),
        (
            "charged",
            "no one: there was no ledger" if manifest["charged"] is None else f"{manifest['charged']} a sequence",
        ),
        ("written by", f"symveil {manifest['version']}"),
        ("SHA-256 of the private file", manifest["digests"]["output"]),
    ]
    promises = [f"**{name}**: {text}" for name, text in in_numbers(manifest) if name != "attacker"]  # has a section
    drawn = (
        "Each sequence in the private file was drawn at random near the true one. Whatever an attacker knows already, "
        f"the file lets them prefer one of two sequences that {_apart(manifest)} by a factor of at most {shift}."
    )
    unprotected = Listing(tuple(passes_unprotected(manifest)))
    attacker = _attacker_section(manifest)
    recheck = (
        "With the private file and its manifest anyone can compute all of this again: `symveil check "
        f"{output['file']}.manifest.json`"
    )
    passing = Text("These pass as they are, unprotected:")
    sections = (
        Section("What is promised", (Text(drawn), Listing(tuple(promises)))),
        Section("What is not promised", (Listing(tuple(limits)), passing, unprotected)),
        *(() if attacker is None else (attacker,)),
        *((Section("To think about", (Listing(tuple(doubts)),)),) if doubts else ()),
        Section("The facts", (Facts.from_rows((name, str(value)) for name, value in facts),)),
        Section("Do not believe this page", (Text(recheck),)),
    )
    lead = (
        f"{counts['released']:,} private sequences. Everything on this page is public: it comes from the manifest and "
        "the public model, never from the data."
    )
    return report_page(Report(title=f"A private release: {output['file']}", lead=lead, sections=sections))


def _apart(manifest: Mapping[str, Any]) -> str:
    b, parameters = manifest["b"], manifest["parameters"]
    start = " and begin alike" if parameters.get("public_start") else ""
    if parameters["metric"] == "levenshtein":
        return "differ in any way" if b == "all" else f"are up to {b} insertions, deletions or substitutions apart"
    if b == "all":
        return f"have the same length{start}"
    return ("differ in one symbol" if b == 1 else f"differ in up to {b} symbols") + _times_apart(parameters) + start


def _times_apart(parameters: Mapping[str, Any]) -> str:
    """How the private times of adjacent sequences differ; nothing where no times are released."""
    if "time_grid" not in parameters:
        return ""
    times, shift = "its time" if parameters["adjacency"] == 1 else "their times", parameters["time_shift"]
    return f" and {times}" if shift == ANY else f" and by at most {_bins(shift)} in {times}"


def _bins(number: int) -> str:
    return "1 bin" if number == 1 else f"{number} bins"


def protection_in(manifest: Mapping[str, Any]) -> Protection | None:
    """How many words lie near a typical one, by the manifest; None over an alphabet and where it says nothing."""
    document = manifest.get("protection")
    return None if document is None else protection_from_document(document)
