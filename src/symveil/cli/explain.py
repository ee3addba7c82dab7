"""`symveil explain`: of a word, or of the words of a public model on average, for choosing ε and b."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from symveil.cli.field_options import options_of
from symveil.cli.options import (
    MechanismOptions,
    WordOptions,
    json_option,
    mechanism_options_without_epsilon,
    number_option,
    optional_word_options,
)
from symveil.cli.output import command, print_result, require_different, require_suffix
from symveil.cli.progress import progress_bar
from symveil.errors import InputError

if TYPE_CHECKING:
    from symveil.tasks.draw import Pictures


def _pictures() -> type[Pictures]:
    from symveil.tasks.draw import Pictures

    return Pictures


@command("explain", example="symveil explain abcab --alphabet abc --epsilon 2 --mechanism permute-and-flip")
@optional_word_options
@number_option("--length", "N", text="Without a word: the length of the words averaged over.")
@number_option("--count", "N", text="Also what an attacker guesses from N private versions of the word.", default=1)
@mechanism_options_without_epsilon
@options_of(_pictures)
@click.option("--compare", is_flag=True, help="Without a word: also the expected error of every mechanism.")
@json_option
def explain_command(
    source: WordOptions,
    mechanism: MechanismOptions,
    length: int | None,
    count: int,
    compare: bool,
    as_json: bool,
    **typed: Any,
) -> None:
    """Explain what a mechanism would do to WORD.

    For the holder of the word only. Shows the guarantee and how it is known, the law of the distance between the word
    and its private versions, the expected error and the size of the automaton.

    Without a word: the averages over all words of --length symbols of the public model, beside the least error that
    any private mechanism can have. Then --epsilon 1..6 shows several budgets, --compare all mechanisms beside each
    other, and --curves plots them.

    With --model and --length alone: what each adjacency hides, the alternatives that a typical word has at each
    position among the words within it.
    """
    pictures = _pictures()(**typed)
    require_suffix("plot", pictures.plot, (".svg", ".png", ".pdf"))
    require_suffix("curves", pictures.curves, (".svg", ".png", ".pdf", ".json"))
    if mechanism.epsilon is None:
        if source.word is not None or source.model is None:
            raise InputError("epsilon: expected --epsilon E, or --model and --length alone, found none")
        _explain_adjacency(source, mechanism, length, pictures, as_json=as_json)
    elif source.word is None:
        pictures.refuse("plot", "draw", "at_distance", expected="a word with `{}`")
        _explain_settings(source, mechanism, length, pictures, count=count, compare=compare, as_json=as_json)
    else:
        if compare:
            raise InputError("compare: expected --length without a word, found a word; --curves compares for a word")
        if length is not None:
            raise InputError("length: expected --length without a word, whose length it is, found both")
        _explain_word(source, mechanism, pictures, count=count, as_json=as_json)


def _explain_word(
    source: WordOptions, mechanism: MechanismOptions, pictures: Pictures, *, count: int, as_json: bool
) -> None:
    """Show what would be released for a word, and write pictures of it."""
    from symveil.tasks.draw import draw_explanation
    from symveil.tasks.explain import explain_word

    require_suffix("draw", pictures.draw, (".svg", ".dot"))
    require_different(**pictures.written)
    if pictures.draw is None:
        pictures.refuse("at_distance", expected="`draw` with it")
    if mechanism.typed["metric"] == "levenshtein" and pictures.curves:
        raise InputError("curves: expected --metric hamming with --curves, found levenshtein")
    notes: list[str] = []
    built, word = source.read(mechanism, notes)
    explanation = explain_word(word, built, count=count)
    with progress_bar("computing curves") as progress:
        notes += draw_explanation(explanation, word, pictures, progress=progress)
    print_result(explanation.document, explanation.report(), as_json=as_json, notes=notes)


def _explain_settings(
    source: WordOptions,
    mechanism: MechanismOptions,
    length: int | None,
    pictures: Pictures,
    *,
    count: int,
    compare: bool,
    as_json: bool,
) -> None:
    """Show what each ε gives on average; beside it what other mechanisms give, and plots of them, if requested."""
    from symveil.tasks.draw import error_curves, explain_settings, read_epsilons, save_curves

    notes, epsilons = list[str](), str(mechanism.epsilon)
    language, choice = source.without_word(mechanism.at(read_epsilons(epsilons)[0]), length, notes)
    with progress_bar("averaging") as progress:
        settings = explain_settings(language, choice, epsilons, count=count, compare=compare, progress=progress)
    if pictures.curves is not None:
        with progress_bar("computing curves") as progress:
            save_curves(error_curves(language, adjacency=choice.adjacency, progress=progress), pictures.curves)
        notes.append(f"wrote {pictures.curves}")
    print_result(settings.document, settings.report(), as_json=as_json, notes=notes)


def _explain_adjacency(
    source: WordOptions, mechanism: MechanismOptions, length: int | None, pictures: Pictures, *, as_json: bool
) -> None:
    """Show what each adjacency hides on a model, and plot it if requested; only the model is looked at."""
    from symveil.laws.adjacency import adjacency_table
    from symveil.tasks.draw import plot_adjacency_table

    of_mechanism = {*mechanism.typed, *mechanism.files, "draw", "curves", "at_distance", "compare", "count"}
    for name in sorted(of_mechanism - {"adjacency"}):
        if click.get_current_context().get_parameter_source(name) not in (None, ParameterSource.DEFAULT):
            raise InputError(f"epsilon: expected --epsilon with --{name.replace('_', '-')}, found none")
    notes: list[str] = []
    # nothing of a mechanism is looked at: any budget names the same words
    language, choice = source.without_word(mechanism.at("1"), length, notes)
    table = adjacency_table(language, adjacencies=None if choice.adjacency is None else [choice.adjacency])
    if pictures.plot is not None:
        plot_adjacency_table(table, pictures.plot)
        notes.append(f"wrote {pictures.plot}")
    print_result(table.document, table.report(), as_json=as_json, notes=notes)
