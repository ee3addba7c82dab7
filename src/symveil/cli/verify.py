"""`symveil verify` and `symveil check`: claims about a chain or a channel, and those of a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from symveil.cli.field_options import PATH, as_typed, options_of
from symveil.cli.options import file_option, json_option
from symveil.cli.output import command, print_result, require_suffix
from symveil.cli.progress import progress_bar
from symveil.errors import InputError


def _question() -> type:
    from symveil.tasks.verify import Question

    return Question


@command("verify", example="symveil verify examples/pin_checker.json --alpha 6/5 --delta 1/20")
@click.argument("chain", metavar="CHAIN", type=PATH)
@options_of(_question)
@click.option("--bd/--no-bd", "symmetric", default=None, help="With or without bd; default: unless the chain is large.")
@click.option(
    "--ld/--no-ld", "ld", default=None, help="With or without ld; default: unless the chain is large and ends."
)
@json_option
def verify_command(chain: Path, symmetric: bool | None, ld: bool | None, as_json: bool, **typed: Any) -> int:
    """Prove or refute the privacy of a labelled CHAIN or a channel.

    CHAIN is JSON (kind labelled-chain), .tra with .lab beside it, .drn or .umb. For each pair, delta lies in the
    bracket lv, and below the distances ld = lgd and bd. With --epsilon, upper bounds are proved at a rational just
    below e^epsilon and lower bounds just above. A channel is a table with the columns input, output and probability.
    Its answers are exact; without --epsilon the smallest one is shown, for --delta or without any.
    """
    from symveil.formats.models.transition_tables import is_channel_table
    from symveil.tasks.verify import Question, privacy_curve_up_to, read_question_about
    from symveil.verification.smallest_epsilon import smallest_epsilon
    from symveil.verification.verify_privacy import verify_privacy

    question = Question(**typed)
    delta, curve = question.delta, question.curve
    require_suffix("curve", curve, (".svg", ".png", ".pdf", ".json"))
    question.check(is_channel=is_channel_table(chain))
    if question.smallest_epsilon and (question.width is not None or symmetric or ld):
        # the search makes brackets as narrow as its question needs, and has no use for ld and bd
        raise InputError("smallest-epsilon: expected it without --width and --bd (or --ld), found one of them")
    notes: list[str] = []
    model, pairs = read_question_about(chain, question, notes)
    options: dict[str, Any] = {"pairs": pairs, **question.options()}
    if question.smallest_epsilon and delta is not None:
        with progress_bar("searching") as progress:
            smallest = smallest_epsilon(model, delta=delta, progress=progress, **options)
        print_result(smallest.document, smallest.report(), as_json=as_json, notes=notes)
        return 0 if smallest.upper is not None else 1
    options |= {"symmetric": symmetric, "ld": ld}
    with progress_bar("verifying") as progress:
        verdict = verify_privacy(
            model, alpha=question.alpha, epsilon=question.epsilon, delta=delta, progress=progress, **options
        )
    if curve:
        with progress_bar("drawing") as progress:
            drawn = privacy_curve_up_to(model, verdict.alpha_above, progress=progress, **options)
        drawn.draw(curve, title=f"Privacy of {chain.name}")
        notes.append(f"wrote {curve}")
    searched = None if question.has_level else delta or "0"
    print_result(verdict.document, verdict.report(searched=searched), as_json=as_json, notes=notes)
    return 1 if delta is not None and verdict.holds is not True else 0


@command("check", example="symveil check private.csv.manifest.json --model examples/roads.json")
@click.argument("manifest", metavar="MANIFEST", type=PATH)
@file_option("--output", text="The private file, if it does not lie beside the manifest.")
@click.option("--model", metavar="M", type=PATH, help="The model file, if it does not lie beside the manifest.")
@json_option
def check_command(manifest: Path, output: Path | None, model: Path | None, as_json: bool) -> int:
    """Recheck a release's MANIFEST.

    The output's bytes, the model, the guarantee, and that every word is legal. Exit status 0: all of it holds; 1: it
    does not.
    """
    from symveil.tasks.check import check_manifest

    result = check_manifest(manifest, output=output, model=model)
    report = result.report(typed=lambda note: as_typed(note, check_command))
    print_result(result.document, report, as_json=as_json)
    return 0 if result.holds else 1
