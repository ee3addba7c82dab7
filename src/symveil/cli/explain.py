"""`symveil explain`.

`symveil explain` without a word: averages over the public model, for choosing ε and b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from symveil.cli.options import (
    MechanismOptions,
    WordOptions,
    mechanism_options_without_epsilon,
    optional_word_options,
)
from symveil.cli.output import command, print_result, require_different, require_suffix
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import file_option, json_option, number_option
from symveil.errors import InputError


def _explain_settings(
    source: WordOptions,
    mechanism: MechanismOptions,
    length: int | None,
    *,
    count: int,
    as_json: bool,
    compare: bool,
    curves: Path | None,
) -> None:
    """Print what each ε gives on average; beside it what other mechanisms give, and plots of them, if requested."""
    from symveil.tasks.draw import error_curves, save_curves
    from symveil.tasks.explain_settings import explain_settings, read_epsilons

    notes: list[str] = []
    epsilons = str(mechanism.epsilon)
    language, choice = source.without_word(mechanism.at(read_epsilons(epsilons)[0]), length, notes)
    with progress_bar("averaging") as progress:
        settings = explain_settings(language, choice, epsilons, count=count, progress=progress)
    if compare:
        values = [each.mechanism.epsilon for each in settings.averages]
        with progress_bar("comparing") as progress:
            compared = error_curves(language, adjacency=choice.adjacency, epsilons=values, progress=progress)
        settings = replace(settings, compared=tuple(compared))
    if curves is not None:
        with progress_bar("computing curves") as progress:
            save_curves(error_curves(language, adjacency=choice.adjacency, progress=progress), curves)
        notes.append(f"wrote {curves}")
    print_result(settings.document, settings.report(), as_json=as_json, notes=notes)


def _show_hidden(
    source: WordOptions,
    mechanism: MechanismOptions,
    length: int | None,
    *,
    plot: Path | None,
    as_json: bool,
    needs_epsilon: Mapping[str, object],
) -> None:
    """Print what each adjacency hides on a model, and plot it if asked; nothing but the model is looked at."""
    from symveil.laws.adjacency import adjacency_table
    from symveil.tasks.draw import plot_adjacency_table
    from symveil.tasks.explain_report import adjacency_report

    typed = [f"--{name.replace('_', '-')}" for name in (*mechanism.typed, *mechanism.files) if _was_typed(name)]
    for option in [*typed, *(option for option, value in needs_epsilon.items() if value is not None)]:
        if option != "--adjacency":
            raise InputError(f"epsilon: expected --epsilon with {option}, found none")
    notes: list[str] = []
    # nothing of a mechanism is looked at: any budget names the same words
    language, choice = source.without_word(mechanism.at("1"), length, notes)
    table = adjacency_table(language, adjacencies=None if choice.adjacency is None else [choice.adjacency])
    if plot is not None:
        plot_adjacency_table(table, plot)
        notes.append(f"wrote {plot}")
    print_result(table.document, adjacency_report(table), as_json=as_json, notes=notes)


def _was_typed(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT)


@command("explain", example="symveil explain abcab --alphabet abc --epsilon 2 --mechanism permute-and-flip")
@optional_word_options
@number_option("--length", "N", text="Without a word: the public length of the words averaged over.")
@number_option(
    "--count", "N", text="Also say what an attacker guesses who sees N private versions of the same word.", default=1
)
@mechanism_options_without_epsilon
@file_option("--plot", text="Plot the law of the distance; without --epsilon, what each adjacency hides (.png, .svg).")
@file_option("--draw", text="Draw the word's automaton (.svg, .dot).")
@file_option("--curves", text="Plot the expected error of all mechanisms against epsilon (.png, .svg, .json).")
@click.option(
    "--compare", is_flag=True, help="Without a word: the expected error of every mechanism at each epsilon, too."
)
@number_option(
    "--at-distance", "L", text="With --draw: the words at exactly this distance; with metric levenshtein, within it."
)
@json_option
def explain_command(
    source: WordOptions,
    mechanism: MechanismOptions,
    length: int | None,
    count: int,
    plot: Path | None,
    draw: Path | None,
    curves: Path | None,
    compare: bool,
    at_distance: int | None,
    as_json: bool,
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
    require_suffix("plot", plot, (".png", ".svg"))
    require_suffix("curves", curves, (".png", ".svg", ".json"))
    if mechanism.epsilon is None:
        if source.word is not None or source.model is None:
            raise InputError("epsilon: expected --epsilon E, or --model and --length alone, found none")
        given = {"--draw": draw, "--curves": curves, "--at-distance": at_distance, "--compare": compare or None}
        given |= {"--count": None if count == 1 else count}
        _show_hidden(source, mechanism, length, plot=plot, as_json=as_json, needs_epsilon=given)
    elif source.word is None:
        for option, value in {"plot": plot, "draw": draw, "at-distance": at_distance}.items():
            if value is not None:
                raise InputError(f"{option}: expected a word with --{option}, found none")
        _explain_settings(source, mechanism, length, count=count, as_json=as_json, compare=compare, curves=curves)
    else:
        if compare:
            raise InputError("compare: expected --length without a word, found a word; --curves compares for a word")
        if length is not None:
            raise InputError("length: expected --length without a word, whose length it is, found both")
        wanted = {"draw": draw, "plot": plot, "curves": curves}
        _explain_word(source, mechanism, wanted, at_distance, count=count, as_json=as_json)


def _explain_word(
    source: WordOptions,
    mechanism: MechanismOptions,
    pictures: Mapping[str, Path | None],
    at_distance: int | None,
    *,
    count: int,
    as_json: bool,
) -> None:
    """Print what would be released for a word, and write pictures of it."""
    from symveil.tasks.draw import draw_explanation
    from symveil.tasks.explain import explain_word
    from symveil.tasks.explain_report import explanation_report

    require_suffix("draw", pictures["draw"], (".svg", ".dot"))
    require_different(**pictures)
    if at_distance is not None and pictures["draw"] is None:
        raise InputError("at-distance: expected --draw with it, found none")
    if mechanism.typed["metric"] == "levenshtein" and pictures["curves"]:
        raise InputError("curves: expected --metric hamming with --curves, found levenshtein")
    notes: list[str] = []
    built, word = source.read(mechanism, notes)
    explanation = explain_word(word, built, count=count)
    with progress_bar("computing curves") as progress:
        notes += draw_explanation(explanation, word, pictures, distance=at_distance, progress=progress)
    print_result(explanation.document, explanation_report(explanation), as_json=as_json, notes=notes)
