"""`symveil audit`."""

from __future__ import annotations

import click

from symveil.cli.options import (
    LanguageOptions,
    MechanismOptions,
    json_option,
    language_options,
    mechanism_options,
    print_notes,
)
from symveil.cli.output import print_json, print_table, progress_bar


@click.command(
    "audit", epilog="Example: symveil audit --alphabet abc --length 4 --epsilon 1 --mechanism permute-and-flip"
)
@language_options
@click.option("--length", metavar="N", type=int, required=True, help="Length of the words.")
@mechanism_options
@click.option("--by-chain", is_flag=True, help="Prove it on the mechanism's labelled chain, in exact rationals.")
@json_option
def audit_command(
    source: LanguageOptions, mechanism: MechanismOptions, length: int, by_chain: bool, as_json: bool
) -> int:
    """Compute the exact worst-case loss of a mechanism by enumerating a small language.

    Exit status 0 if it is at most epsilon, 1 if it is not.
    """
    from symveil.numerics.rationals import shown_at_least
    from symveil.verification.audit import MOST_WORDS, audit
    from symveil.verification.audit_by_chain import audit_by_chain

    notes: list[str] = []
    language = source.language(length, notes)
    language.enumerate_codes(at_most=MOST_WORDS)  # refused before anything is calibrated
    law = mechanism.build(language)
    with progress_bar("auditing") as progress:
        verdict = audit_by_chain(law, progress=progress) if by_chain else audit(law, progress=progress)
    if as_json:
        print_json(verdict.document())
    else:
        facts = [
            ("mechanism", verdict.mechanism),
            ("promised", f"epsilon = {shown_at_least(verdict.nominal_epsilon)}"),
            ("worst case", f"epsilon = {shown_at_least(verdict.worst_epsilon, 9)} over {verdict.pairs_checked} pairs"),
            ("private", "yes" if verdict.private else "NO"),
        ]
        if verdict.witness:
            facts += [(name, " ".join(map(repr, word))) for name, word in verdict.witness.items()]
        print_table("Audit", ("", ""), facts)
    print_notes(notes)
    return 0 if verdict.private else 1
