"""What a release means, in numbers people use: the sentences at the end of a run, and one page for those who decide.

Everything comes from the manifest, which is public: nothing here has seen a secret sequence or counts persons.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any

from symveil.io.page import page, table
from symveil.numerics.rationals import shown_at_least
from symveil.privacy.protection import Protection
from symveil.workflows.doubts import large_loss, losses_in_words, no_better_than_classic, thin_protection


def factor(epsilon: float) -> str:
    """e^ε as people say it, rounded against the claim: nobody becomes surer than is said.

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
    ('staircase', 'auto: for each length the one with the least expected error')
    """
    name = str(manifest["mechanism"])
    return f"{name}: for each length the one with the least expected error" if name == "auto" else name


def in_numbers(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What changes, by what factor odds shift, and what is protected: a name and a sentence each.

    Parameters
    ----------
    manifest
        Of a private file.

    >>> said = in_numbers({"b": 1, "guarantee": {"epsilon": 2.0}, "parameters": {"metric": "hamming"},
    ...                    "protection": None, "expected_error": {"length": 6, "symbols": 1.43}})
    >>> said[0]
    ('on average', '1.43 of the 6 symbols of a sequence change, over the public model')
    >>> said[1]
    ('odds', 'between sequences that differ in one symbol shift by a factor of at most 7.4')
    """
    facts = []
    error = manifest.get("expected_error")
    if error is not None:
        facts.append(
            (
                "on average",
                f"{error['symbols']:.3g} of the {error['length']} symbols of a sequence change, over the public model",
            )
        )
    apart = _apart(manifest)
    shift = factor(manifest["guarantee"]["epsilon"])
    facts.append(("odds", f"between sequences that {apart} shift by a factor of at most {shift}"))
    losses = losses_at_distances(manifest)
    if losses is not None:
        facts.append(("loss by distance", losses))
    near = _protection(manifest)
    if near is not None:
        others = f"{near.neighbours_within_adjacency:.3g} feasible sequences around a typical one, on average"
        facts.append(("protected", f"which of those it is that {apart}: {others}"))
    else:
        facts.append(("protected", f"which of all sequences it is that {apart}"))
    return facts


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
    return "two sequences that differ in " + losses_in_words(rows, manifest["b"], edits=edits)


def passes_unprotected(manifest: Mapping[str, Any]) -> list[str]:
    """What everybody can read as it was: ids, columns that were kept, and what is public of the sequences.

    Parameters
    ----------
    manifest
        Of a private file.
    """
    columns = manifest["output"]["columns"]
    ids = [columns[name] for name in ("id", "case") if name in columns]
    if manifest["output"]["format"] == "XES":
        ids = ["the names of traces"]
    edits = manifest["parameters"]["metric"] == "levenshtein"
    public = "how many sequences there are" + ("" if edits else ", and the length of each")
    listed = [*ids, *manifest.get("kept", ()), public]
    if manifest["parameters"].get("public_start"):
        listed.append("the first symbol of each")
    if "kept" not in manifest:
        listed.append("and columns that were kept, which this older manifest does not list")
    return listed


def release_page(manifest: Mapping[str, Any]) -> str:
    """One page without anything from elsewhere, for somebody who decides; public facts only.

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
        *thin_protection(_protection(manifest)),
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
        (
            "charged",
            "nobody: there was no ledger" if manifest["charged"] is None else f"{manifest['charged']} a sequence",
        ),
        ("written by", f"symveil {manifest['version']}"),
        ("SHA-256 of the private file", manifest["digests"]["output"]),
    ]
    told = "".join(f"<li><b>{_plain(name)}</b>: {_plain(said)}</li>" for name, said in in_numbers(manifest))
    unprotected = "".join(f"<li>{_plain(each)}</li>" for each in passes_unprotected(manifest))
    sections = [
        (
            "What is promised",
            "<p>Each sequence in the private file was drawn at random near the true one. Whatever somebody knows "
            "already, the file lets them prefer one of two sequences that "
            f"{_plain(_apart(manifest))} by a factor of at most {shift}.</p>"
            f"<ul>{told}</ul>",
        ),
        (
            "What is not promised",
            "<ul><li>A person with several sequences in the file, or in several files, loses as many times as much: a "
            f"ledger adds it up.</li>{beyond}</ul><p>These pass as they are, unprotected:</p><ul>{unprotected}</ul>",
        ),
        *([("To think about", f"<ul>{''.join(f'<li>{_plain(each)}</li>' for each in doubts)}</ul>")] if doubts else []),
        ("The facts", table(("", ""), [(_plain(name), _plain(str(said))) for name, said in facts])),
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


def _protection(manifest: Mapping[str, Any]) -> Protection | None:
    said = manifest.get("protection")
    return None if said is None else Protection(said["neighbours_within_adjacency"], tuple(said["by_position"]))


def _plain(text: str) -> str:
    return html.escape(text)
