"""`symveil enforce`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symveil.cli.options import json_option, print_notes
from symveil.cli.output import print_json, print_table, require_different, require_suffix
from symveil.errors import InputError

_MOST_STRINGS, _MOST_SUBSTITUTES = 12, 6


@click.command("enforce", epilog="Example: symveil enforce examples/medical.json --k 2 --policy private --epsilon 2")
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@click.option("--k", metavar="K|infinite", default="0", show_default=True, help="How many observations back: 0 is now.")
@click.option("--policy", type=click.Choice(["private", "safe", "substitution"]), default="private", show_default=True)
@click.option("--epsilon", metavar="E", help="Privacy budget of the policy private.")
@click.option(
    "--adjacency", metavar="B|all", default="1", show_default=True, help="Observations this close look alike."
)
@click.option("--omega", metavar="W", type=int, help="The exact distance of substitutes (safe, substitution).")
@click.option("--length", metavar="N", type=int, help="At most so many observed events; needed where there are loops.")
@click.option("--secret", metavar="S", multiple=True, help="A secret state; replaces those of the file. Repeatable.")
@click.option("--log", metavar="IN", type=click.Path(path_type=Path), help="A file of observations to replace.")
@click.option(
    "--out",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Where they go: in the log's format with its ids, or as one column of .csv, .tsv or .jsonl.",
)
@click.option("--sequence", metavar="COL", help="The column of the observations.")
@click.option("--separator", metavar="S", help="Split an observation here; at blanks by default.")
@click.option("--id", "identifier", metavar="COL", help="The column that names the record.")
@click.option("--case", metavar="COL", help="Where each row is one event: the column of the case.")
@click.option("--order", metavar="COL", help="Numbers or timestamps that put a case's events in order.")
@click.option("--symbol", metavar="COL", help="The column of the events.")
@click.option("--keep", metavar="COL", multiple=True, help="A public column that passes as it is; again for more.")
@click.option(
    "--draw",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw the automaton of the substitutes (.svg, .dot).",
)
@json_option
def enforce_command(
    model: Path,
    k: str,
    policy: str,
    epsilon: str | None,
    adjacency: str,
    omega: int | None,
    length: int | None,
    secret: tuple[str, ...],
    log: Path | None,
    out: Path | None,
    sequence: str | None,
    separator: str | None,
    identifier: str | None,
    case: str | None,
    order: str | None,
    symbol: str | None,
    keep: tuple[str, ...],
    draw: Path | None,
    as_json: bool,
) -> int:
    """Replace what the system in MODEL shows, so that no observation gives a secret away.

    private: every observation is released through the exponential mechanism over all safe
    observations of its length: differentially private, and nothing is given away. safe: only
    sensitive strings are replaced, by safe ones at distance exactly --omega. substitution: by any
    string at that distance (Z25 §5). Exit status 1: cannot be enforced, and for which observation.
    """
    from symveil.cli.options import read_adjacency_option
    from symveil.enforcement.enforce import enforce_opacity
    from symveil.io.columns import ColumnOptions
    from symveil.io.files import write_files
    from symveil.workflows.enforce import enforcement_document
    from symveil.workflows.opacity import load_system

    require_suffix("draw", draw, (".svg", ".dot"))
    if (log is None) != (out is None):
        raise InputError("log: expected --log and --out together, found one of them")
    if log and out:
        from symveil.workflows.enforce_log import check_log_name, enforced_log

        check_log_name(log, out)
    columns = ColumnOptions(
        sequence=sequence,
        separator=separator,
        identifier=identifier,
        case=case,
        order=order,
        symbol=symbol,
        keep=keep,
    )
    require_different(draw=draw, out=out)
    notes: list[str] = []
    system = load_system(model, secret=secret, notes=notes)
    enforced = enforce_opacity(
        system,
        k,
        policy=policy,
        epsilon=epsilon,
        omega=omega,
        length=length,
        adjacency=read_adjacency_option(adjacency),
    )
    document = enforcement_document(enforced, notes=notes)
    contents: dict[Path, bytes] = {}
    if log and out and enforced.enforceable:
        contents[out], count = enforced_log(enforced, log, out, columns)
        notes.append(f"{count} observation{'' if count == 1 else 's'} written to {out}")
    if draw and enforced.enforceable:
        from symveil.workflows.draw import diagram_text

        contents[draw] = diagram_text(enforced.to_diagram(), draw).encode()
    write_files(contents)
    if document["posterior_of_secret"] == 1:
        silent = ", although what is shown gives nothing away by itself" if document["violation_after"] == "0" else ""
        notes.append(
            "an observer who knows the policy can be sure of a visited secret after something that is shown (its "
            f"posterior probability is 1){silent}"
        )
    if as_json:
        print_json(document)
    elif enforced.enforceable:
        _print_sensitive(document["sensitive"])
        _print_facts(document)
    else:
        _print_refusal(document)
    print_notes(notes)
    return 0 if enforced.enforceable else 1


def _print_refusal(document: dict[str, Any]) -> None:
    nothing = "no safe observation of its length" if document["policy"] == "private" else "nothing at this distance"
    answer = f"cannot be enforced: {nothing} can be shown for {' '.join(document['unenforceable'])}"
    facts = [
        ("policy", document["policy"]),
        ("answer", answer),
        ("violation", document["violation_before"] or "not computed"),
    ]
    print_table("Enforcement", ("", ""), facts)


def _print_sensitive(sensitive: list[dict[str, Any]] | None) -> None:
    rows = []
    for each in (sensitive or [])[:_MOST_STRINGS]:
        listed = each["substitutes"][:_MOST_SUBSTITUTES]
        shown = [f"{' '.join(other['observation'])} {_number(other['given'])}" for other in listed]
        more = each["substitute_count"] - len(shown)
        shown += [f"and {more} more"] if more > 0 else []
        rows.append((" ".join(each["observation"]), each["probability"], "; ".join(shown)))
    left = len(sensitive or []) - len(rows)
    if left > 0:
        rows.append((f"and {left} more", "", ""))
    print_table("Sensitive strings", ("observed", "probability", "shown instead"), rows)


def _print_facts(document: dict[str, Any]) -> None:
    facts = [
        ("policy", document["policy"]),
        ("violation before", document["violation_before"] or "not computed"),
        ("violation after", document["violation_after"] or "not computed"),
        ("true ε", _loss(document["epsilon"], document["how"])),
        ("events changed on average", _number(document["expected_distance"])),
        ("largest posterior of a visited secret", _number(document["posterior_of_secret"])),
    ]
    print_table("Enforcement", ("", ""), facts)


def _loss(epsilon: float | str | None, how: str | None) -> str:
    from symveil.numerics.rationals import shown_at_least

    if epsilon is None:
        return "not computed"
    if isinstance(epsilon, str):
        return "infinite: some observation shows that an adjacent one did not happen"
    return f"{shown_at_least(epsilon)} ({how})"


def _number(value: object) -> str:
    if value is None:
        return "not computed"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
