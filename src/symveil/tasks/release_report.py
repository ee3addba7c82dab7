"""What a release means, in numbers people use: the sentences at the end of a run, and one page for those who decide.

Everything comes from the manifest, which is public: nothing here has seen a secret sequence or counts persons.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

from symveil.formats.page import page, table
from symveil.laws.protection import Protection, protection_from_document
from symveil.mechanisms.attacker import AttackerView, percent, view_from_document
from symveil.numbers.rationals import exact, shown_at_least
from symveil.release.promise import passes_unprotected
from symveil.tasks.doubts import (
    hides_little,
    large_loss,
    losses_in_words,
    no_better_than_classic,
    protects_in_words,
    thin_protection,
)


def factor(epsilon: float) -> str:
    """e^ε in plain words, rounded against the claim: an attacker becomes no surer than that.

    Parameters
    ----------
    epsilon
        A loss.

    >>> factor(2.0), factor(0.1), factor(3.0), factor(50.0), factor(0.0)
    ('7.4', '1.11', '21', '5.2e+21', '1')
    """
    if math.isinf(epsilon):
        return "∞"
    if epsilon > 600:
        return f"10^{math.ceil(epsilon / math.log(10)) + 1}"
    # exp of a float is right but for its last bits
    value = math.exp(epsilon) * (1 + 1e-15) if epsilon else 1.0
    if 10 <= value <= 1e6:
        return f"{math.ceil(value):,}"
    return shown_at_least(value, 3 if value < 1.5 else 2)


def mechanism_in_words(manifest: Mapping[str, Any]) -> str:
    """The mechanism that was used; sequences of different lengths may each have their own.

    >>> mechanism_in_words({"mechanism": "staircase"}), mechanism_in_words({"mechanism": "auto"})
    ('staircase', 'auto: for each length the candidate with the least expected error')
    """
    name = str(manifest["mechanism"])
    return f"{name}: for each length the candidate with the least expected error" if name == "auto" else name


def in_numbers(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What changes, by what factor odds shift, and what is protected: a name and a sentence each.

    Parameters
    ----------
    manifest
        Of a private file.

    >>> said = in_numbers({"b": 1, "guarantee": {"epsilon": 2.0}, "parameters": {"metric": "hamming"},
    ...                    "protection": None, "expected_error": {"length": 6, "symbols": 1.43}})
    >>> said[0]
    ('on average', '1.43 of 6 symbols of a sequence change and 76.2 % pass unchanged, over the public model')
    >>> said[1]
    ('odds', 'between sequences that differ in one symbol shift by a factor of at most 7.4')
    """
    facts = []
    error = manifest.get("expected_error")
    if error is not None:
        unchanged = 100 * (1 - error["symbols"] / max(error["length"], 1))
        changed = f"{error['symbols']:.3g} of {error['length']} symbols of a sequence change"
        facts.append(("on average", f"{changed} and {unchanged:.3g} % pass unchanged, over the public model"))
    apart = _apart(manifest)
    shift = factor(manifest["guarantee"]["epsilon"])
    facts.append(("odds", f"between sequences that {apart} shift by a factor of at most {shift}"))
    losses = losses_at_distances(manifest)
    if losses is not None:
        facts.append(("loss by distance", losses))
    view = attacker_in(manifest)
    if view is not None:
        facts.append(("attacker", f"who knows the model {view.sentence()}"))
        if error is not None:
            facts.append(("for scale", _for_scale(manifest, view)))
    facts.append(("protected", _protected(manifest, apart)))
    share = manifest.get("positions_with_alternatives")
    if share is not None:
        hidden = f"{100 * share:.0f} % of the positions of a typical sequence have an alternative within b"
        facts.append(("positions", f"{hidden}, {100 * (1 - share):.0f} % have none" if share < 1 else hidden))
    return facts


def _protected(manifest: Mapping[str, Any], apart: str) -> str:
    """What b hides: on a model how many sequences there are around one, over an alphabet what a whole one loses."""
    near, rows = protection_in(manifest), manifest["guarantee"].get("loss_at")
    if near is not None:
        others = f"{near.neighbours_within_adjacency:.3g} feasible sequences around a typical one, on average"
        return f"which of those it is that {apart}: {others}"
    if manifest.get("model") is None and rows and manifest["parameters"]["metric"] == "hamming":
        return protects_in_words(rows, manifest["b"], noun="sequence")
    return f"which of all {'feasible ' if manifest.get('model') else ''}sequences it is that {apart}"


def attacker_in(manifest: Mapping[str, Any]) -> AttackerView | None:
    """What the manifest says of an attacker; None where it was not computed, and in older ones.

    Parameters
    ----------
    manifest
        Of a private file.
    """
    document = manifest.get("attacker")
    return None if document is None else view_from_document(document)


def _for_scale(manifest: Mapping[str, Any], view: AttackerView) -> str:
    error = manifest["expected_error"]
    secret = error["length"] - (1 if manifest["parameters"].get("public_start") else 0)
    changed = percent(error["symbols"] / max(secret, 1))
    named = percent(view.symbol.after)
    return f"{changed} of symbols change on average, and an attacker who knows the model names {named}"


def _attacker_section(manifest: Mapping[str, Any]) -> tuple[str, str] | None:
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
    scale = f" For scale: {_for_scale(manifest, view)}." if manifest.get("expected_error") else ""
    little = "".join(f"<p><b>{_plain(each[:1].upper() + each[1:])}.</b></p>" for each in hides_little(view))
    body = (
        f"<p>Somebody knows the public model and that sequences have {manifest['attacker']['length']} symbols, takes "
        "every feasible sequence as equally likely, and sees one private sequence. How often is a guess right?</p>"
        + little
        + table(("guess", "before", "after"), rows)
        + f"<p>After: {_plain(known)}.{_plain(allowed)}{_plain(scale)} An attacker who knows more about a person "
        "starts from a higher chance.</p>"
    )
    return "What an attacker learns", body


def losses_at_distances(manifest: Mapping[str, Any]) -> str | None:
    """What two sequences lose that differ in any number of places; None where an older manifest does not say it.

    Parameters
    ----------
    manifest
        Of a private file.
    """
    rows = manifest["guarantee"].get("loss_at")
    if not rows:
        return None
    edits = manifest["parameters"]["metric"] == "levenshtein"
    epsilon = None if edits or "epsilon" not in manifest["parameters"] else exact(manifest["parameters"]["epsilon"])
    return "two sequences that differ in " + losses_in_words(rows, manifest["b"], edits=edits, epsilon=epsilon)


def times_in_words(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """That the times of events are not the true ones, where the output has times; as a row of a summary.

    >>> times_in_words({"output": {"times": {"artificial": True, "start": "2000-01-01T00:00:00+00:00", "step": "1m"}}})
    [('times', 'artificial: every sequence starts at 2000-01-01T00:00:00+00:00, 1m from event to event')]
    """
    facts = []
    told = manifest.get("parameters", {})
    if "time_grid" in told:
        far = ""
        if told["time_shift"] != "any":
            bins = told["time_shift"]
            far = f"; adjacent sequences differ by at most {bins} bins in a time, {bins} bins more lose as much again"
        facts.append(("private times", f"{told['time_grid']} of each event, clock {told['timezone']}{far}"))
    times = manifest["output"].get("times")
    if times is None:
        return facts
    how = "with private waits" if times.get("waits") == "private" else f"{times.get('step')} from event to event"
    return [*facts, ("times", f"artificial: every sequence starts at {times['start']}, {how}")]


def release_page(manifest: Mapping[str, Any]) -> str:
    """One page without anything from elsewhere, for those who decide; public facts only.

    Parameters
    ----------
    manifest
        Of a private file.
    """
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
    more = "odds may shift more" if losses is None else f"ε is at most, for {losses}"
    less = f"<li>Sequences that differ in more places than {b} are protected less: {_plain(more)}.</li>"
    beyond = "" if b == "all" else less
    facts = [
        ("private file", output["file"]),
        ("day", manifest.get("date", "not written down")),
        ("release", manifest["release_id"]),
        ("mechanism", mechanism_in_words(manifest)),
        ("loss per sequence", f"ε = {loss} ({manifest['how']}), of {manifest['epsilon_exact']} asked for"),
        ("unit of privacy", manifest.get("unit", f"adjacency {b}")),
        ("sequences", f"{counts['released']:,} released of {counts['sequences']:,}"),
        *times_in_words(manifest),
        (
            "charged",
            "nobody: there was no ledger" if manifest["charged"] is None else f"{manifest['charged']} a sequence",
        ),
        ("written by", f"symveil {manifest['version']}"),
        ("SHA-256 of the private file", manifest["digests"]["output"]),
    ]
    own_section = {"attacker", "for scale"}
    promised = [fact for fact in in_numbers(manifest) if fact[0] not in own_section]
    promises_listed = "".join(f"<li><b>{_plain(name)}</b>: {_plain(sentence)}</li>" for name, sentence in promised)
    unprotected = "".join(f"<li>{_plain(each)}</li>" for each in passes_unprotected(manifest))
    sections = [
        (
            "What is promised",
            "<p>Each sequence in the private file was drawn at random near the true one. Whatever somebody knows "
            "already, the file lets them prefer one of two sequences that "
            f"{_plain(_apart(manifest))} by a factor of at most {shift}.</p>"
            f"<ul>{promises_listed}</ul>",
        ),
        (
            "What is not promised",
            "<ul><li>A person with several sequences in the file, or in several files, loses as many times as much: a "
            f"ledger adds it up.</li>{beyond}</ul><p>These pass as they are, unprotected:</p><ul>{unprotected}</ul>",
        ),
        *([attacker] if (attacker := _attacker_section(manifest)) else []),
        *([("To think about", f"<ul>{''.join(f'<li>{_plain(each)}</li>' for each in doubts)}</ul>")] if doubts else []),
        ("The facts", table(("", ""), [(_plain(name), _plain(str(sentence))) for name, sentence in facts])),
        (
            "Do not believe this page",
            "<p>Whoever has the private file and its manifest can work all of it out anew: "
            f"<code>symveil check {_plain(output['file'])}.manifest.json</code></p>",
        ),
    ]
    lead = (
        f"{counts['released']:,} private sequences. Everything on this page is public: it comes from the manifest and "
        "the public model, never from the data."
    )
    return page(f"A private release: {output['file']}", lead, sections)


def _apart(manifest: Mapping[str, Any]) -> str:
    b, parameters = manifest["b"], manifest["parameters"]
    start = " and begin alike" if parameters.get("public_start") else ""
    if parameters["metric"] == "levenshtein":
        return "differ in any way" if b == "all" else f"are up to {b} insertions, deletions or substitutions apart"
    if b == "all":
        return f"have the same length{start}"
    return ("differ in one symbol" if b == 1 else f"differ in up to {b} symbols") + start


def protection_in(manifest: Mapping[str, Any]) -> Protection | None:
    """What the manifest says of how many words lie near a typical one; None over an alphabet and where it says nothing.

    Parameters
    ----------
    manifest
        Of a private file.
    """
    document = manifest.get("protection")
    return None if document is None else protection_from_document(document)


def _plain(text: str) -> str:
    return html.escape(text)
