"""`symveil explain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.options import MechanismOptions, WordOptions, json_option, mechanism_options, word_options
from symveil.cli.output import print_json, print_table

if TYPE_CHECKING:
    from symveil.workflows.explain import Explanation

_MOST_ROWS = 24


@click.command(
    "explain", epilog="Example: symveil explain abcab --alphabet abc --epsilon 2 --mechanism permute-and-flip"
)
@click.argument("word")
@word_options
@mechanism_options
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path), help="Plot the law of the distance (.png, .svg)."
)
@click.option("--draw", metavar="FILE", type=click.Path(path_type=Path), help="Draw the word's automaton (.svg, .dot).")
@click.option("--at-distance", metavar="L", type=int, help="With --draw: only the words at exactly this distance.")
@json_option
def explain_command(
    word: str,
    alphabet: str | None,
    alphabet_from_word: bool,
    separator: str | None,
    show_values: bool,
    plot: Path | None,
    draw: Path | None,
    at_distance: int | None,
    as_json: bool,
    **mechanism: Any,
) -> None:
    """Explain what a mechanism would do to WORD: for the holder of the word only.

    Shows the guarantee and how it is known, the law of the distance between the word and its
    private versions, the expected error and the size of the automaton.
    """
    from symveil.workflows.explain import explain_word

    options = WordOptions(
        text=word,
        alphabet=alphabet,
        alphabet_from_word=alphabet_from_word,
        separator=separator,
        show_values=show_values,
    )
    language, symbols = options.read()
    explanation = explain_word(symbols, MechanismOptions(**mechanism).build(language))
    if draw:
        from symveil.workflows.draw import draw_automaton

        draw_automaton(symbols, language.alphabet, draw, exactly=at_distance)
    if plot:
        from symveil.workflows.draw import plot_law

        plot_law(explanation, plot)
    if as_json:
        print_json(explanation.document())
    else:
        _print(explanation)


def _print(explanation: Explanation) -> None:
    mechanism, law, automaton = explanation.mechanism, explanation.law, explanation.automaton
    document = explanation.document()
    size = str(document["language_size"])
    guarantee = mechanism.guarantee
    facts = [
        ("mechanism", f"{mechanism.name}, {mechanism.calibration} calibration"),
        (
            "guarantee",
            f"epsilon = {guarantee.epsilon:.6g} ({guarantee.how}), of {float(mechanism.epsilon):.6g} allowed",
        ),
        ("protects", f"words that differ in up to {mechanism.adjacency} of {mechanism.language.length} positions"),
        ("words", size if len(size) <= 30 else f"{size[0]}.{size[1:4]}…e+{len(size) - 1}"),
        ("expected error", f"{law.expected_error:.6g} symbols changed"),
        ("automaton", f"{automaton.state_count} states, {automaton.edge_count} edges"),
    ]
    if law.bounds:
        facts.append(("bounds", f"{law.bounds.lower:.6g} to {law.bounds.upper:.6g} (B26 Theorem 2)"))
    print_table("What would be released", ("", ""), facts)
    shown = sorted(sorted(range(len(law.distances)), key=lambda index: -law.probabilities[index])[:_MOST_ROWS])
    rows = [
        (
            str(law.distances[index]),
            f"{law.probabilities[index]:.6g}",
            "█" * round(40 * float(law.probabilities[index]) / float(law.probabilities.max())),
        )
        for index in shown
    ]
    left_out = len(law.distances) - len(shown)
    title = "Law of the distance" + (f" (the {len(shown)} likeliest; {left_out} more)" if left_out else "")
    print_table(title, ("symbols changed", "probability", ""), rows)
