"""`symveil opacity`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from symveil.cli.field_options import PATH
from symveil.cli.options import (
    file_option,
    json_option,
    k_option,
    notion_option,
    number_option,
    secret_option,
    unobservable_option,
)
from symveil.cli.output import command, print_result, require_different, require_suffix
from symveil.cli.progress import progress_bar
from symveil.errors import InputError


@command("opacity", example="symveil opacity examples/medical.json --k 2 --theta 1/2")
@click.argument("models", metavar="MODEL...", type=PATH, nargs=-1, required=True)
@k_option
@notion_option
@click.option("--theta", metavar="P", help="Accept violations less probable than this (almost opacity).")
@number_option("--within", "T", text="Count only violations in the first T events of a run.")
@click.option("--exact", is_flag=True, help="Insist on an exact probability, however long it takes.")
@secret_option
@unobservable_option
@click.option(
    "--initial",
    metavar="S[=P]",
    multiple=True,
    help="An initial state, with its probability if several have one; replaces those of the file. Repeatable.",
)
@file_option("--draw", text="Draw the system (.svg, .dot).")
@file_option("--draw-observer", text="Draw what an observer knows (.svg, .dot).")
@json_option
def opacity_command(
    models: tuple[Path, ...],
    k: str,
    notion: str,
    theta: str | None,
    within: int | None,
    exact: bool,
    secret: tuple[str, ...],
    unobservable: tuple[str, ...],
    initial: tuple[str, ...],
    draw: Path | None,
    draw_observer: Path | None,
    as_json: bool,
) -> int:
    """Tell whether an observer can ever be sure of a secret.

    The secret is that the system in MODEL is, or was, in a secret state. MODEL is JSON (kind stochastic-system), .fsm,
    .stoc, .pfa, .gen or .wmod. "weak" judges each of the last k+1 instants alone, "strong" asks for one run without a
    secret in all of them, "initial" asks about the initial state and ignores --k; separate and joint are the notions of
    DESops. Several files, or a .wmod file with several automata, are parts that share events; a --secret of part 2 that
    others have too is typed 2:STATE. Exit status 0: never (or less probably than --theta); 1: here is a shortest
    observation after which it can.
    """
    from symveil.tasks.opacity import draw_system, judge_opacity, load_system

    for option, path in (("draw", draw), ("draw-observer", draw_observer)):
        require_suffix(option, path, (".svg", ".dot"))
    require_different(draw=draw, draw_observer=draw_observer)
    notes: list[str] = []
    if within is not None and len(initial) > 1:
        raise InputError("within: expected one initial state with a horizon, found several")
    if _are_parts(models):
        given = {
            "initial": initial,
            "unobservable": unobservable,
            "theta": theta,
            "within": within,
            "exact": exact,
            "draw": draw,
            "draw-observer": draw_observer,
        }
        return _judge_parts(models, k, notion, secret=secret, notes=notes, as_json=as_json, given=given)
    system = load_system(
        models[0], secret=secret, unobservable=unobservable, initial=initial, notion=notion, notes=notes
    )
    with progress_bar("estimates explored") as progress:
        judged = judge_opacity(
            system, k, notion=notion, theta=theta, within=within, exact=exact or None, notes=notes, progress=progress
        )
    notes += [f"wrote {path}" for path in draw_system(system, draw, draw_observer)]
    print_result(judged.document, judged.report(), as_json=as_json, notes=notes)
    return 0 if judged.holds else 1


def _are_parts(models: tuple[Path, ...]) -> bool:
    from symveil.formats.models.wmod_files import WMOD_SUFFIX, read_wmod_parts
    from symveil.formats.reading import suffix

    return len(models) > 1 or (suffix(models[0]) == WMOD_SUFFIX and len(read_wmod_parts(models[0])) > 1)


def _judge_parts(
    models: tuple[Path, ...],
    k: str,
    notion: str,
    *,
    secret: tuple[str, ...],
    notes: list[str],
    as_json: bool,
    given: Mapping[str, object],
) -> int:
    """The verdict on several parts together."""
    from symveil.tasks.opacity import judge_parts, load_parts

    for name, value in given.items():
        if value is not None and value is not False and value != ():
            raise InputError(f"{name}: expected none with several parts, found one")
    parts = load_parts(models, secret=secret, notes=notes)
    with progress_bar("estimates explored") as progress:
        judged = judge_parts(parts, k, notion=notion, progress=progress)
    dropped = judged.verdict.dropped
    if dropped:
        listed = ", ".join(map(str, dropped[:20])) + (" …" if len(dropped) > 20 else "")
        notes.append(f"of {len(parts)} parts, these cannot matter and were left out: {listed}")
    print_result(judged.document, judged.report(), as_json=as_json, notes=notes)
    return 0 if judged.holds else 1
