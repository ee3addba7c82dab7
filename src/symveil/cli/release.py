"""`symveil release`."""

from __future__ import annotations

import click

from symveil.cli.command import command
from symveil.cli.options import MechanismOptions, WordOptions, mechanism_options, word_options
from symveil.cli.output import print_json, print_notes
from symveil.cli.single_options import json_option, number_option, thin_option


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
        loss, asked = shown_at_least(result.guarantee.epsilon), spelled(built.epsilon)
        notes.append(f"each release loses epsilon = {loss} ({result.guarantee.how}), of {asked} asked for")
        notes.append(f"two words that differ in: {promise_in_words(built)}")
        notes.append(f"protects {protects(built)}")
        if result.passes_unprotected:
            notes.append(f"passes unprotected: {', '.join(result.passes_unprotected)}")
        if count > 1:
            notes.append(f"{count} releases of one word are charged {shown_at_least(result.total_epsilon)} in all")
    notes += no_better_than_classic(built.guarantee.how, built.calibration)
    print_notes([*notes, *built.notes, *given_up_notes(built)], warnings=doubts(built))
