"""`symveil explain` without a word: averages over the public model, for choosing ε and b."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from symveil.cli.options import MechanismOptions, WordOptions
from symveil.cli.output import print_facts, print_json, print_notes, print_table
from symveil.cli.progress import progress_bar
from symveil.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from symveil.languages.language import Language
    from symveil.mechanisms.choice import MechanismChoice
    from symveil.tasks.curves import ErrorCurve
    from symveil.tasks.public_averages import PublicAverages

_MOST_SETTINGS = 50


def explain_settings(
    source: WordOptions,
    mechanism: MechanismOptions,
    length: int | None,
    *,
    count: int,
    as_json: bool,
    needs_word: Mapping[str, object],
    compare: bool = False,
    curves: Path | None = None,
) -> None:
    """Print what each ε gives on average; beside it what other mechanisms give, and plots of them, if asked."""
    from symveil.mechanisms.selection import choose_mechanism
    from symveil.tasks.doubts import doubts, given_up_notes, hides_little, no_better_than_classic
    from symveil.tasks.public_averages import NO_BOUND, average_over_model

    for option, value in needs_word.items():
        if value is not None:
            raise InputError(f"{option[2:]}: expected a word with {option}, found none")
    notes: list[str] = []
    typed = mechanism.epsilon or ""
    epsilons, several = read_epsilons(typed), ".." in typed
    language, choice = source.without_word(replace(mechanism, epsilon=epsilons[0]), length, notes)
    found: list[PublicAverages] = []
    with progress_bar("averaging") as progress:
        for number, epsilon in enumerate(epsilons, start=1):
            chosen = choose_mechanism(replace(choice, epsilon=epsilon), language)  # type: ignore[arg-type]
            found.append(average_over_model(chosen, count=count))
            progress(number, len(epsilons))
    compared = _compared(language, choice, epsilons) if compare else ()
    if curves is not None:
        from symveil.tasks.curves import error_curves, save_curves

        with progress_bar("computing curves") as progress:
            save_curves(error_curves(language, adjacency=choice.adjacency, progress=progress), curves)
        notes.append(f"wrote {curves}")
    if as_json:
        document: dict[str, object] = {"settings": [each.document() for each in found]}
        document = document if several else found[0].document()
        print_json(document | ({"compared": [each.document() for each in compared]} if compare else {}))
    elif several:
        _print_all(found)
    else:
        _print_one(found[0])
    if compared and not as_json:
        _print_compared(compared, epsilons)
    if any(each.bound is None for each in found):
        notes.append(NO_BOUND)
    if several:
        notes += _once(note for each in found for note in given_up_notes(each.mechanism))
    notes += _once(
        note
        for each in found
        for note in no_better_than_classic(each.mechanism.guarantee.how, each.mechanism.calibration)
    )
    print_notes(
        notes,
        warnings=_once(
            told for each in found for told in [*doubts(each.mechanism, each.protection), *hides_little(each.attacker)]
        ),
    )


def show_hides(
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

    typed = [f"--{field.name.replace('_', '-')}" for field in fields(mechanism) if _was_typed(field.name)]
    for option in [*typed, *(option for option, value in needs_epsilon.items() if value is not None)]:
        if option != "--adjacency":
            raise InputError(f"epsilon: expected --epsilon with {option}, found none")
    notes: list[str] = []
    # nothing of a mechanism is looked at: any budget names the same words
    language, choice = source.without_word(replace(mechanism, epsilon="1"), length, notes)
    table = adjacency_table(language, adjacencies=None if choice.adjacency is None else [choice.adjacency])
    if plot is not None:
        from symveil.tasks.draw import plot_adjacency_table

        plot_adjacency_table(table, plot)
        notes.append(f"wrote {plot}")
    if as_json:
        print_json(table.document())
    else:
        rows = [
            (
                str(row.adjacency),
                f"{100 * row.positions_with_alternatives:.0f} %",
                f"{row.alternatives:.3g}",
                f"{row.at_middle:.3g}",
            )
            for row in table.rows
        ]
        which = "all words" if table.all_words else f"{table.words} typical words"
        title = f"What each adjacency b hides in words of {table.length} symbols, over {which} of the public model"
        heads = ("b", "positions with alternatives", "alternatives a position, mean", "at a middle position")
        print_table(title, heads, rows)
    print_notes(notes)


def _was_typed(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT)


def _compared(language: Language, choice: MechanismChoice, epsilons: list[str]) -> tuple[ErrorCurve, ...]:
    from symveil.numbers.rationals import exact
    from symveil.tasks.curves import error_curves

    with progress_bar("comparing") as progress:
        return error_curves(
            language, adjacency=choice.adjacency, epsilons=[exact(each) for each in epsilons], progress=progress
        )


def _print_compared(compared: tuple[ErrorCurve, ...], epsilons: list[str]) -> None:
    rows = [(each.mechanism, *(f"{error:.4g}" for error in each.errors)) for each in compared]
    columns = ("mechanism, calibration", *(f"epsilon {each}" for each in epsilons))
    print_table("Expected error of each mechanism, over typical words of the public model", columns, rows)


def _once(told: Iterable[str]) -> list[str]:
    """Each sentence once, in their order."""
    return list(dict.fromkeys(told))


def read_epsilons(text: str) -> list[str]:
    """One ε, or those of `A..B`: A, A+1 … up to B.

    >>> read_epsilons("1..3"), read_epsilons("0.5..2"), read_epsilons("1/2")
    (['1', '2', '3'], ['0.5', '1.5'], ['1/2'])
    """
    from symveil.numbers.rationals import exact, spelled

    first, dots, last = text.partition("..")
    if not dots:
        return [text]
    expected = "a number such as 0.5, or several such as 1..6"
    low, high = (exact(each, name="epsilon", expected=expected) for each in (first, last))
    count = int(high - low) + 1
    if not 0 < low <= high or count > _MOST_SETTINGS:
        raise InputError(f"epsilon: expected {expected}, rising, at most {_MOST_SETTINGS} of them, found {text!r}")
    return [spelled(low + step) for step in range(count)]


def _print_one(averages: PublicAverages) -> None:
    from symveil.numbers.integers import shortened
    from symveil.numbers.rationals import shown_at_least, spelled
    from symveil.tasks.doubts import attacker_facts, promise_in_words, protects

    mechanism = averages.mechanism
    guarantee, language = mechanism.guarantee, mechanism.language
    loss = shown_at_least(guarantee.epsilon)
    facts = [
        ("mechanism", f"{mechanism.name}, {mechanism.calibration} calibration"),
        ("guarantee", f"epsilon = {loss} ({guarantee.how}), of {spelled(mechanism.epsilon)} asked for"),
        ("loss by distance", f"two words that differ in {promise_in_words(mechanism)}"),
        ("protects", protects(mechanism)),
        ("words", "without end" if language.size is None else shortened(language.size)),
        ("on average", averages.sentence()),
    ]
    facts += attacker_facts(mechanism, averages.attacker, versions=averages.versions, error=averages.expected_error)
    if averages.expected_cost is not None:
        facts.append(("expected cost", f"{averages.expected_cost:.6g} units of the costs"))
    if averages.protection:
        facts.append(("protection", averages.protection.sentence()))
    if mechanism.chosen_because:
        facts.append(("chosen", mechanism.chosen_because))
    if mechanism.given_up:
        facts.append(("given up", mechanism.given_up))
    if mechanism.price_of_grace:
        facts.append(("price", mechanism.price_of_grace))
    print_facts("On average over the public model", facts)


def _print_all(found: list[PublicAverages]) -> None:
    from symveil.mechanisms.attacker import percent
    from symveil.numbers.rationals import shown_at_most, spelled

    rows = [
        (
            spelled(each.mechanism.epsilon),
            each.mechanism.name,
            each.mechanism.guarantee.how,
            f"{each.expected_error:.4g}",
            "" if each.bound is None else shown_at_most(each.bound.value, 4),
            "" if each.attacker is None else percent(each.attacker.symbol.after),
        )
        for each in found
    ]
    title = "On average over the public model"
    columns = ("epsilon", "mechanism", "guarantee", "expected error", "least possible", "attacker names")
    print_table(title, columns, rows)
