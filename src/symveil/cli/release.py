"""`symveil release`."""

from __future__ import annotations

from typing import Any

import click

from symveil.cli.options import MechanismOptions, WordOptions, json_option, mechanism_options, word_options
from symveil.cli.output import print_json


@click.command("release", epilog="Example: symveil release abcab --alphabet abc --epsilon 2 --count 3")
@click.argument("word")
@word_options
@mechanism_options
@click.option("--count", metavar="N", type=int, default=1, show_default=True, help="How many; N of them cost N·ε.")
@json_option
def release_command(
    word: str,
    alphabet: str | None,
    alphabet_from_word: bool,
    separator: str | None,
    show_values: bool,
    count: int,
    as_json: bool,
    **mechanism: Any,
) -> None:
    """Release private versions of one WORD, one a line."""
    from symveil.io.symbols import join_word
    from symveil.workflows.release import release_word

    options = WordOptions(
        text=word,
        alphabet=alphabet,
        alphabet_from_word=alphabet_from_word,
        separator=separator,
        show_values=show_values,
    )
    language, symbols = options.read()
    result = release_word(symbols, MechanismOptions(**mechanism).build(language), count=count)
    if as_json:
        print_json(result.document())
        return
    for private in result.released:
        click.echo(join_word(private, separator))
    each = f"epsilon = {result.guarantee.epsilon:g} ({result.guarantee.how}) each"
    cost = f"; {count} releases of one word cost {result.total_epsilon:g} in all" if count > 1 else ""
    click.echo(f"symveil: note: {each}{cost}", err=True)
