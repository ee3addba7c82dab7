"""`symveil release`.

`symveil audit`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from symveil.cli.options import (
    LanguageOptions,
    MechanismOptions,
    WordOptions,
    language_options,
    mechanism_options,
    word_options,
)
from symveil.cli.output import command, print_facts, print_json, print_notes, print_table
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import json_option, number_option, thin_option

if TYPE_CHECKING:
    from symveil.verification.audit import LossAtDistance


@command("release", example="symveil release abcab --alphabet abc --epsilon 2 --count 3")
@word_options
@mechanism_options
@number_option("--count", "N", text="How many; N of them cost N·ε.", default=1)
@thin_option
@json_option
def release_command(source: WordOptions, mechanism: MechanismOptions, count: int, thin: bool, as_json: bool) -> None:
    """Release private versions of one WORD, one a line."""
    from symveil.formats.symbols import check_separable, join_word
    from symveil.numbers.rationals import shown_at_least, spelled
    from symveil.tasks.doubts import doubts, given_up_notes, no_better_than_classic, promise_in_words, protects
    from symveil.tasks.release import release_word

    notes: list[str] = []
    built, word = source.read(mechanism, notes)
    if not as_json:
        check_separable(built.alphabet, source.separator, instead="--json")
    result = release_word(word, built, count=count, thin=thin)
    if as_json:
        print_json(result.document())
    else:
        for private in result.released:
            click.echo(join_word(private, source.separator))
        loss, requested = shown_at_least(result.guarantee.epsilon), spelled(built.epsilon)
        notes.append(f"each release loses epsilon = {loss} ({result.guarantee.how}), of {requested} asked for")
        notes.append(f"two words that differ in: {promise_in_words(built)}")
        notes.append(f"protects {protects(built)}")
        if result.passes_unprotected:
            notes.append(f"passes unprotected: {', '.join(result.passes_unprotected)}")
        if count > 1:
            notes.append(f"{count} releases of one word are charged {shown_at_least(result.total_epsilon)} in all")
    notes += no_better_than_classic(built.guarantee.how, built.calibration)
    print_notes([*notes, *built.notes, *given_up_notes(built)], warnings=doubts(built))


@command("audit", example="symveil audit --alphabet abc --length 4 --epsilon 1 --mechanism permute-and-flip")
@language_options
@number_option("--length", "N", text="Length of the words; with metric levenshtein, up to it.", required=True)
@number_option("--output-length", "M", text="With mechanism edit: look at released words of up to M symbols.")
@mechanism_options
@click.option("--by-chain", is_flag=True, help="Prove it on the mechanism's labelled chain, in exact rationals.")
@json_option
def audit_command(
    source: LanguageOptions,
    mechanism: MechanismOptions,
    length: int,
    output_length: int | None,
    by_chain: bool,
    as_json: bool,
) -> int:
    """Compute the exact worst-case loss of a mechanism.

    The loss at every distance stands beside its proved bound, where all pairs can be compared.
    A small language is enumerated, or the loss is proved on the mechanism's chain. Exit status 0: it is at most
    epsilon; 1: it is not.

    With metric levenshtein the words are those of up to --length symbols. The edit channel can release
    words of any length: those of up to --output-length are enumerated, and for longer ones the proved
    bound is reported.
    """
    from symveil.numbers.rationals import shown_at_least
    from symveil.tasks.audit import audit_choice

    notes: list[str] = []
    choice = mechanism.choice(public_start=source.public_start)
    words = source.given(notes)
    with progress_bar("auditing") as progress:
        report = audit_choice(
            choice, length=length, output_length=output_length, by_chain=by_chain, progress=progress, **words
        )
    verdict = report.verdict
    if as_json:
        print_json(verdict.document())
    else:
        facts = [
            ("mechanism", verdict.mechanism),
            ("promised", f"epsilon = {shown_at_least(verdict.nominal_epsilon)}"),
            ("worst case", f"epsilon = {shown_at_least(verdict.worst_epsilon, 9)} over {verdict.pairs_checked} pairs"),
            ("private", "yes" if verdict.private else "NO"),
        ]
        if report.tells_nothing:
            facts.append(("outputs", "always the empty word, which tells nothing; a larger epsilon would allow more"))
        if verdict.longer_outputs_epsilon is not None:
            proved = shown_at_least(verdict.longer_outputs_epsilon, 9)
            facts.append(("longer outputs", f"epsilon = {proved}, proved, beyond {verdict.outputs_up_to} symbols"))
        if verdict.witness:
            facts += [(name, " ".join(map(repr, word)) or "(the empty word)") for name, word in verdict.witness.items()]
        print_facts("Audit", facts)
        if verdict.by_distance:
            edits = choice.metric == "levenshtein"
            columns = (
                "edits apart, up to" if edits else "symbols apart, up to",
                "largest loss, enumerated",
                "proved bound",
            )
            print_table("Loss by distance", columns, [_row(row) for row in verdict.by_distance])
    print_notes([*notes, *report.notes])
    return 0 if verdict.private else 1


def _row(row: LossAtDistance) -> tuple[str, str, str]:
    """Both numbers as they are rounded against the claim; what is broken is marked."""
    from symveil.numbers.rationals import shown_at_least

    def shown(loss: float | None) -> str:
        return "—" if loss is None else "not bounded" if loss == math.inf else shown_at_least(loss, 9)

    return str(row.distance), shown(row.enumerated) + ("" if row.kept else " EXCEEDS THE BOUND"), shown(row.proved)
