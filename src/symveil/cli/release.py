"""`symveil release` and `symveil audit`."""

from __future__ import annotations

import click

from symveil.cli.field_options import named_options
from symveil.cli.options import (
    LanguageOptions,
    MechanismOptions,
    WordOptions,
    json_option,
    language_options,
    mechanism_options,
    number_option,
    word_options,
)
from symveil.cli.output import command, print_json, print_notes, print_result
from symveil.cli.progress import progress_bar


@command("release", example="symveil release abcab --alphabet abc --epsilon 2 --count 3")
@word_options
@mechanism_options
@number_option("--count", "N", text="How many; N of them cost N·ε.", default=1)
@named_options("thin")
@json_option
def release_command(source: WordOptions, mechanism: MechanismOptions, count: int, thin: bool, as_json: bool) -> None:
    """Release private versions of one WORD, one a line."""
    from symveil.models.alphabet import check_separable, join_word
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
        notes.append(promise_in_words(built))
        notes.append(f"protects {protects(built)}")
        if result.passes_unprotected:
            notes.append(f"passes unprotected: {', '.join(result.passes_unprotected)}")
        if count > 1:
            notes.append(f"{count} releases of one word are charged {shown_at_least(result.total_epsilon)} in all")
    notes += no_better_than_classic(built.guarantee.how, built.calibration)
    print_notes([*notes, *built.remarks.notes, *given_up_notes(built)], warnings=doubts(built))


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

    Where all pairs can be compared, the loss at every distance is shown beside its proved bound.
    A small language is enumerated, or the loss is proved on the mechanism's chain. Exit status 0: it is at most
    epsilon; 1: it is not.

    With metric levenshtein the words are those of up to --length symbols. The edit channel can release
    words of any length: those of up to --output-length are enumerated, and for longer ones the proved
    bound is reported.
    """
    from symveil.tasks.release import audit_choice

    notes: list[str] = []
    choice = mechanism.choice(public_start=source.public_start)
    words = source.given(notes)
    with progress_bar("auditing") as progress:
        result = audit_choice(
            choice, length=length, output_length=output_length, by_chain=by_chain, progress=progress, **words
        )
    print_result(result.verdict.document, result.report(), as_json=as_json, notes=notes)
    return 0 if result.verdict.private else 1
