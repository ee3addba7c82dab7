"""`symveil privatize`."""

from __future__ import annotations

from pathlib import Path

import click

from symveil.cli.options import (
    LanguageOptions,
    MechanismOptions,
    json_option,
    language_options,
    mechanism_options,
    print_notes,
)
from symveil.cli.output import print_json, print_table, rate_bar
from symveil.errors import InputError


@click.command(
    "privatize", epilog="Example: symveil privatize trips.csv --out private.csv --model roads.json --epsilon 3"
)
@click.argument("source_file", metavar="IN", type=click.Path(path_type=Path))
@click.option("--out", metavar="OUT", type=click.Path(path_type=Path), required=True, help="The private file.")
@language_options
@mechanism_options
@click.option("--sequence", metavar="COL", help="Wide form: the column of the sequences, lists or text.")
@click.option("--separator", metavar="S", help="Wide form: what separates symbols in text; blanks by default.")
@click.option("--id", "identifier", metavar="COL", help="Wide form: the column that names the record.")
@click.option("--case", metavar="COL", help="Long form, one event per row: the column of the case.")
@click.option("--order", metavar="COL", help="Long form: numbers or timestamps that put a case's events in order.")
@click.option("--symbol", metavar="COL", help="Long form: the column of the symbols.")
@click.option("--keep", metavar="COL", multiple=True, help="A public column that passes as it is; again for more.")
@click.option("--person", metavar="COL", help="Whose budget a sequence is charged to; by default its own.")
@click.option("--ledger", metavar="URL", help="Charge budgets first: a file, or postgresql://user@host/database.")
@click.option(
    "--over-budget", type=click.Choice(["error", "drop"]), default="error", show_default=True,
    help="What happens to persons with too little budget.",
)  # fmt: skip
@click.option(
    "--on-unknown", type=click.Choice(["error", "drop-sequence"]), default="error", show_default=True,
    help="What happens to sequences that the alphabet or model does not have.",
)  # fmt: skip
@click.option("--release-id", metavar="ID", help="The release's name; the same name is never charged twice.")
@click.option("--engine", type=click.Choice(["local", "spark"]), default="local", show_default=True)
@click.option(
    "--master", metavar="URL", help="With --engine spark: the cluster, such as local[2] or spark://host:7077."
)
@click.option("--unsafe-report-true-error", is_flag=True, help="Also tell how much was changed: not private.")
@click.option("--longest", metavar="N", type=int, default=1_000_000, show_default=True, help="Refuse longer sequences.")
@click.option(
    "--gzip-ratio", metavar="N", type=int, default=200, show_default=True, help="Refuse gzip files that unpack to more."
)
@json_option
def privatize_command(
    source_file: Path,
    out: Path,
    source: LanguageOptions,
    mechanism: MechanismOptions,
    as_json: bool,
    **options: object,
) -> None:
    """Privatise the sequences in the file IN: CSV, JSON Lines, Parquet or XES, each also gzipped."""
    from symveil.workflows.privatize_file import privatize_file

    if mechanism.not_private:
        raise InputError("mechanism: expected a private mechanism for a file, found --not-private")
    with rate_bar() as progress:
        release = privatize_file(
            source_file,
            out,
            **source.parameters(),
            **mechanism.parameters(),
            **options,  # type: ignore[arg-type]  # named as the parameters are
            progress=progress,
        )
    _warn(release.manifest)
    notes = list(release.notes)
    if release.already_done:
        notes.append(
            "this release was finished before: its output stands, nothing was drawn and nobody was charged again"
        )
        notes.append(
            "nothing is kept of its secret words, so only its records were compared with the input; other words need "
            "another --release-id"
        )
    if as_json:
        print_json(release.document())
        print_notes(notes)
        return
    told, counts = release.manifest, release.manifest["counts"]
    eta = "" if told["eta"] is None else f", eta {told['eta']}"  # not every mechanism has a rate
    facts = [
        ("private file", str(release.out)),
        ("manifest", str(release.manifest_file)),
        ("release", str(told["release_id"])),
        ("mechanism", f"{told['mechanism']}{eta}, adjacency {told['b']}"),
        (
            "loss per sequence",
            f"at most {told['guarantee']['epsilon']:.6g} ({told['how']}), of {told['epsilon_exact']}",
        ),
        ("sequences", f"{counts['released']} released of {counts['sequences']}, {counts['symbols']} symbols"),
    ]
    if counts["dropped_unknown"]:
        facts.append(("left out", f"{counts['dropped_unknown']} that the alphabet or model does not have"))
    if counts["dropped_over_budget"]:
        facts.append(("left out", f"{counts['dropped_over_budget']} of persons over budget"))
    if told["charged"] is not None:
        facts.append(("charged", f"{told['charged']} for each sequence"))
    if release.true_error is not None:
        facts.append(
            ("true error", f"{release.true_error['changed_fraction']:.6f} of the symbols changed: NOT PRIVATE")
        )
    print_table("Private", ("", ""), facts)
    print_notes(notes)


def _warn(manifest: dict[str, object]) -> None:
    from symveil.cli.output import warn_if_thin
    from symveil.privacy.protection import Protection

    told = manifest.get("protection")
    if isinstance(told, dict):
        warn_if_thin(Protection(told["neighbours_within_adjacency"], tuple(told["by_position"])))
