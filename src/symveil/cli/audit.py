"""`symveil audit`."""

from __future__ import annotations

import sys
from typing import Any

import click

from symveil.cli.options import MechanismOptions, json_option, mechanism_options, public_alphabet
from symveil.cli.output import print_json, print_table


@click.command(
    "audit", epilog="Example: symveil audit --alphabet abc --length 4 --epsilon 1 --mechanism permute-and-flip"
)
@click.option("--alphabet", metavar="A", help="Characters, a comma list, or @file with a symbol per line.")
@click.option("--length", metavar="N", type=int, required=True, help="Length of the words.")
@mechanism_options
@json_option
def audit_command(alphabet: str | None, length: int, as_json: bool, **mechanism: Any) -> int:
    """Compute the exact worst-case loss of a mechanism by enumerating a small language.

    Exit status 0 if it is at most epsilon, 1 if it is not.
    """
    from symveil.languages.free import words
    from symveil.verification.audit import audit

    law = MechanismOptions(**mechanism).build(words(public_alphabet(alphabet), length))
    with click.progressbar(length=100, label="auditing", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        verdict = audit(law, progress=lambda done, total: bar.update(done * 100 // total - bar.pos))
    if as_json:
        print_json(verdict.document())
    else:
        facts = [
            ("mechanism", verdict.mechanism),
            ("promised", f"epsilon = {verdict.nominal_epsilon:g}"),
            ("worst case", f"epsilon = {verdict.worst_epsilon:.9g} over {verdict.pairs_checked} pairs"),
            ("private", "yes" if verdict.private else "NO"),
        ]
        if verdict.witness:
            facts += [(name, " ".join(map(str, word))) for name, word in verdict.witness.items()]
        print_table("Audit", ("", ""), facts)
    return 0 if verdict.private else 1
