"""`symveil explain`.

`symveil explain` without a word: averages over the public model, for choosing ε and b.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from symveil.cli.options import (
    MechanismOptions,
    WordOptions,
    mechanism_options_without_epsilon,
    optional_word_options,
)
from symveil.cli.output import (
    command,
    print_facts,
    print_json,
    print_notes,
    print_table,
    require_different,
    require_suffix,
)
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import file_option, json_option, number_option
from symveil.errors import InputError

if TYPE_CHECKING:
    from symveil.languages.language import Language
    from symveil.laws.law import DistanceLaw
    from symveil.mechanisms.choice import MechanismChoice
    from symveil.tasks.draw import ErrorCurve
    from symveil.tasks.explain import Explanation, PublicAverages

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
    from symveil.tasks.explain import NO_BOUND, average_over_model

    for option, value in needs_word.items():
        if value is not None:
            raise InputError(f"{option[2:]}: expected a word with {option}, found none")
    notes: list[str] = []
    typed = mechanism.epsilon or ""
    epsilons, several = read_epsilons(typed), ".." in typed
    language, choice = source.without_word(replace(mechanism, epsilon=epsilons[0]), length, notes)
    averages: list[PublicAverages] = []
    with progress_bar("averaging") as progress:
        for number, epsilon in enumerate(epsilons, start=1):
            chosen = choose_mechanism(replace(choice, epsilon=epsilon), language)  # type: ignore[arg-type]
            averages.append(average_over_model(chosen, count=count))
            progress(number, len(epsilons))
    compared = _compared(language, choice, epsilons) if compare else ()
    if curves is not None:
        from symveil.tasks.draw import error_curves, save_curves

        with progress_bar("computing curves") as progress:
            save_curves(error_curves(language, adjacency=choice.adjacency, progress=progress), curves)
        notes.append(f"wrote {curves}")
    if as_json:
        document: dict[str, object] = {"settings": [each.document() for each in averages]}
        document = document if several else averages[0].document()
        print_json(document | ({"compared": [each.document() for each in compared]} if compare else {}))
    elif several:
        _print_all(averages)
    else:
        _print_one(averages[0])
    if compared and not as_json:
        _print_compared(compared, epsilons)
    if any(each.bound is None for each in averages):
        notes.append(NO_BOUND)
    if several:
        notes += _once(note for each in averages for note in given_up_notes(each.mechanism))
    notes += _once(
        note
        for each in averages
        for note in no_better_than_classic(each.mechanism.guarantee.how, each.mechanism.calibration)
    )
    print_notes(
        notes,
        warnings=_once(
            sentence
            for each in averages
            for sentence in [*doubts(each.mechanism, each.protection), *hides_little(each.attacker)]
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
    from symveil.tasks.draw import error_curves

    with progress_bar("comparing") as progress:
        return error_curves(
            language, adjacency=choice.adjacency, epsilons=[exact(each) for each in epsilons], progress=progress
        )


def _print_compared(compared: tuple[ErrorCurve, ...], epsilons: list[str]) -> None:
    rows = [(each.mechanism, *(f"{error:.4g}" for error in each.errors)) for each in compared]
    columns = ("mechanism, calibration", *(f"epsilon {each}" for each in epsilons))
    print_table("Expected error of each mechanism, over typical words of the public model", columns, rows)


def _once(sentences: Iterable[str]) -> list[str]:
    """Each sentence once, in their order."""
    return list(dict.fromkeys(sentences))


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
    from symveil.numbers.conversions import shortened
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


def _print_all(averages: list[PublicAverages]) -> None:
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
        for each in averages
    ]
    title = "On average over the public model"
    columns = ("epsilon", "mechanism", "guarantee", "expected error", "least possible", "attacker names")
    print_table(title, columns, rows)


_MOST_ROWS = 24


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
    from symveil.tasks.doubts import doubts, hides_little, no_better_than_classic
    from symveil.tasks.explain import explain_word

    require_suffix("plot", plot, (".png", ".svg"))
    if mechanism.epsilon is None:
        if source.word is not None or source.model is None:
            raise InputError("epsilon: expected --epsilon E, or --model and --length alone, found none")
        given = {"--draw": draw, "--curves": curves, "--at-distance": at_distance, "--compare": compare or None}
        given |= {"--count": None if count == 1 else count}
        show_hides(source, mechanism, length, plot=plot, as_json=as_json, needs_epsilon=given)
        return
    if source.word is None:
        given = {"--plot": plot, "--draw": draw, "--at-distance": at_distance}
        require_suffix("curves", curves, (".png", ".svg", ".json"))
        explain_settings(
            source, mechanism, length, count=count, as_json=as_json, needs_word=given, compare=compare, curves=curves
        )
        return
    if compare:
        raise InputError("compare: expected --length without a word, found a word; --curves compares for a word")
    if length is not None:
        raise InputError("length: expected --length without a word, whose length it is, found both")
    require_suffix("draw", draw, (".svg", ".dot"))
    require_suffix("curves", curves, (".png", ".svg", ".json"))
    require_different(draw=draw, plot=plot, curves=curves)
    if at_distance is not None and draw is None:
        raise InputError("at-distance: expected --draw with it, found none")
    notes: list[str] = []
    if mechanism.metric == "levenshtein" and curves:
        raise InputError("curves: expected --metric hamming with --curves, found levenshtein")
    built, word = source.read(mechanism, notes)
    explanation = explain_word(word, built, count=count)
    if draw:
        from symveil.tasks.draw import draw_automaton

        draw_automaton(word, built.language, draw, distance=at_distance)
    if plot:
        from symveil.tasks.draw import plot_law

        plot_law(explanation, plot)
    if curves:
        from symveil.tasks.draw import error_curves, save_curves

        with progress_bar("computing curves") as progress:
            lines = error_curves(built.language, word=word, adjacency=built.adjacency, progress=progress)
        save_curves(lines, curves)
    if as_json:
        print_json(explanation.document())
    else:
        _print(explanation)
    notes += [*built.notes, *(f"wrote {path}" for path in (draw, plot, curves) if path)]
    notes += no_better_than_classic(built.guarantee.how, built.calibration)
    print_notes(
        notes, warnings=[*doubts(explanation.mechanism, explanation.protection), *hides_little(explanation.attacker)]
    )


def _print(explanation: Explanation) -> None:
    from symveil.tasks.doubts import attacker_facts
    from symveil.tasks.explain import bound_sentence

    mechanism, law, automaton = explanation.mechanism, explanation.law, explanation.automaton
    parameters = mechanism.parameters_document()
    facts = [
        *_promise(explanation),
        *([("parameters", ", ".join(f"{name} {value}" for name, value in parameters.items()))] if parameters else []),
        ("expected error", f"{law.expected_error:.6g} {_unit(law)}"),
        *([] if law.expected_cost is None else [("expected cost", f"{law.expected_cost:.6g} units of the costs")]),
        *([("on average", bound_sentence(explanation.bound))] if explanation.bound else []),
        *attacker_facts(mechanism, explanation.attacker, versions=explanation.versions),
        ("automaton", f"{automaton.state_count} states, {automaton.edge_count} edges"),
    ]
    if explanation.certificate and mechanism.metric == "hamming":
        proof = explanation.certificate
        facts.append(("certificate", f"rate {float(proof.rate):.6g}, ln Z(v)/Z(w) at most {proof.ratio_bound:.4g}"))
    if explanation.protection:
        facts.append(("protection", explanation.protection.sentence()))
    if mechanism.chosen_because:
        facts.append(("chosen", mechanism.chosen_because))
    if mechanism.given_up:
        facts.append(("given up", mechanism.given_up))
    if mechanism.price_of_grace:
        facts.append(("price", mechanism.price_of_grace))
    if law.bounds:
        why = "(B26 Theorem 2)" if mechanism.metric == "hamming" else ": far words are not told apart"
        facts.append(("bounds", f"{law.bounds.lower:.6g} to {law.bounds.upper:.6g} {why}".replace(" :", ":")))
    if mechanism.metric == "levenshtein":
        near_words = [f"{law.label(index)}: {count}" for index, count in enumerate(law.counts) if count is not None]
        if near_words:
            facts.append(("words at distance", ", ".join(near_words[:_MOST_ROWS])))
    print_facts("What would be released", facts)
    _print_law(law)


def _promise(explanation: Explanation) -> list[tuple[str, str]]:
    """What is promised, about which words."""
    from symveil.numbers.conversions import shortened
    from symveil.numbers.rationals import shown_at_least, spelled
    from symveil.tasks.doubts import promise_in_words, protects

    mechanism = explanation.mechanism
    guarantee, language = mechanism.guarantee, mechanism.language
    loss, requested = shown_at_least(guarantee.epsilon), spelled(mechanism.epsilon)
    facts = [
        ("mechanism", f"{mechanism.name}, {mechanism.calibration} calibration"),
        ("guarantee", f"epsilon = {loss} ({guarantee.how}), of {requested} asked for"),
        ("loss by distance", f"two words that differ in {promise_in_words(mechanism)}"),
    ]
    facts.append(("protects", protects(mechanism)))
    if language.length is None:
        bound = language.max_length
        public = "no bound on the length" if bound is None else f"no word has more than {bound} symbols"
        facts.append(("public", public))
    facts.append(("words", "without end" if language.size is None else shortened(language.size)))
    return facts


def _unit(law: DistanceLaw) -> str:
    return "edits made (the distance is at most that)" if law.measured == "edits" else law.unit


def _print_law(law: DistanceLaw) -> None:
    chances = law.probabilities.tolist()
    shown = sorted(sorted(range(len(chances)), key=lambda index: -chances[index])[:_MOST_ROWS])
    rows = [
        (law.label(index), f"{chances[index]:.6g}", "█" * round(40 * chances[index] / max(chances))) for index in shown
    ]
    left_out = len(chances) - len(shown)
    title = "Law of the distance" + (f" (the {len(shown)} likeliest; {left_out} more)" if left_out else "")
    print_table(title, (_unit(law), "probability", ""), rows)
