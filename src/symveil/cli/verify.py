"""`symveil verify`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.output import command, print_result, require_suffix
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import epsilon_option, file_option, json_option, number_option
from symveil.cli.values import PATH
from symveil.errors import InputError

if TYPE_CHECKING:
    from symveil.models.channel import Channel
    from symveil.models.labelled_chain import LabelledChain


@command("verify", example="symveil verify examples/pin_checker.json --alpha 6/5 --delta 1/20")
@click.argument("chain", metavar="CHAIN", type=PATH)
@epsilon_option(required=False)
@click.option("--alpha", metavar="A", help="e^epsilon instead, exactly: 1 or more, such as 6/5.")
@click.option(
    "--pair",
    metavar="S,T",
    multiple=True,
    help="From S to T only; a comma in a name is typed \\,. Default: the related states, both ways. Repeatable.",
)
@click.option(
    "--related",
    metavar="R",
    help="Of a channel table: all inputs, numbers at most R apart, or a table of pairs.",
    show_default="its column related, or all",
)
@click.option("--apart", metavar="D", help="With a table of pairs that has distances: those up to D.", show_default="1")
@click.option(
    "--silent", metavar="L", multiple=True, help="A label that nobody sees, nor how long it lasts. Repeatable."
)
@click.option("--delta", metavar="D", help="Does delta = D hold? Exit status 0 proved, 1 refuted or undecided.")
@click.option(
    "--width",
    metavar="W",
    show_default="1e-4, and --delta is decided",
    help="Stop when the bracket is this narrow.",
)
@number_option("--nodes", "N", text="Stop at so many nodes; wide ones count more.", default=20_000)
@number_option("--horizon", "T", text="Stop after so many labels.")
@file_option("--labels", text="Labels of a PRISM .tra file.")
@click.option(
    "--label",
    "label_states",
    metavar="L=N,N",
    multiple=True,
    help="A label that a .tra, .drn or .umb file lacks, and the numbers of the states that show it. Repeatable.",
)
@click.option("--bd/--no-bd", "symmetric", default=None, help="With or without bd; default: unless the chain is large.")
@click.option(
    "--ld/--no-ld", "ld", default=None, help="With or without ld; default: unless the chain is large and ends."
)
@click.option("--lumped", is_flag=True, help="Merge bisimilar states first: the same delta, another ld.")
@click.option("--support-only", is_flag=True, help="A larger bound instead of ld: no relays.")
@click.option("--smallest-epsilon", is_flag=True, help="The smallest epsilon at which --delta holds.")
@file_option("--curve", text="Plot delta from epsilon 0 to E (.png, .svg, .json).")
@json_option
def verify_command(
    chain: Path,
    epsilon: str | None,
    alpha: str | None,
    pair: tuple[str, ...],
    related: str | None,
    apart: str | None,
    silent: tuple[str, ...],
    delta: str | None,
    labels: Path | None,
    label_states: tuple[str, ...],
    smallest_epsilon: bool,
    curve: Path | None,
    as_json: bool,
    width: str | None,
    nodes: int,
    horizon: int | None,
    symmetric: bool | None,
    ld: bool | None,
    lumped: bool,
    support_only: bool,
) -> int:
    """Prove or refute the privacy of a labelled CHAIN or a channel.

    CHAIN is JSON (kind labelled-chain), .tra with .lab beside it, .drn or .umb. For each pair, delta lies in the
    bracket lv, and below the distances ld = lgd and bd. With --epsilon, upper bounds are proved at a rational just
    below e^epsilon and lower bounds just above. A channel is a table with the columns input, output and probability.
    Its answers are exact; without --epsilon the smallest one is told, for --delta or without any.
    """
    from symveil.formats.models.model_files import load_labelled_chain
    from symveil.formats.models.transition_tables import is_channel_table
    from symveil.numbers.rationals import exact
    from symveil.tasks.verify_question import named_pairs, read_labels, read_pair, read_related_channel, require_inputs
    from symveil.tasks.verify_report import verdict_report
    from symveil.verification.verify_privacy import verify_privacy

    require_suffix("curve", curve, (".png", ".svg", ".json"))
    is_channel = is_channel_table(chain)
    if not is_channel and (related is not None or apart is not None):
        name = "apart" if related is None else "related"
        raise InputError(f"{name}: expected a channel table (input, output, probability), found a chain")
    if not is_channel or epsilon is not None or alpha is not None or smallest_epsilon or curve is not None:
        _require_question(epsilon, alpha, delta, smallest_epsilon=smallest_epsilon, curve=curve)
    if smallest_epsilon and (width is not None or symmetric or ld):
        # the search makes brackets as narrow as its question needs, and has no use for ld and bd
        raise InputError("smallest-epsilon: expected it without --width and --bd (or --ld), found one of them")
    pairs = [read_pair(text) for text in pair] or None
    notes: list[str] = []
    model: LabelledChain | Channel
    if is_channel:
        if label_states:
            raise InputError("label: expected a .tra, .drn or .umb file, found a channel table")
        model = channel = read_related_channel(chain, related, apart, notes)
        require_inputs(channel, pairs)
    else:
        model = labelled = load_labelled_chain(
            chain, labels=labels, label_states=read_labels(label_states), notes=notes
        )
        pairs = named_pairs(labelled, pairs, notes)
    options: dict[str, Any] = {
        "pairs": pairs,
        "nodes": nodes,
        "horizon": horizon,
        "on_lumped": lumped,
        "support_only": support_only,
        "silent": silent,
    }
    if width is not None:
        options["width"] = exact(width, name="width")
    if smallest_epsilon:
        assert delta is not None  # noqa: S101 - just checked
        return _search(model, delta, options, notes, as_json=as_json)
    with progress_bar("verifying") as progress:
        verdict = verify_privacy(
            model, alpha=alpha, epsilon=epsilon, delta=delta, symmetric=symmetric, ld=ld, progress=progress, **options
        )
    if curve:
        from symveil.tasks.verify import privacy_curve_up_to

        with progress_bar("drawing") as progress:
            options |= {"symmetric": symmetric, "ld": ld}
            drawn = privacy_curve_up_to(model, verdict.alpha_above, progress=progress, **options)
        drawn.draw(curve, title=f"Privacy of {chain.name}")
        notes.append(f"wrote {curve}")
    searched = None if epsilon is not None or alpha is not None else delta or "0"
    print_result(verdict.document, verdict_report(verdict, searched=searched), as_json=as_json, notes=notes)
    return 1 if delta is not None and verdict.holds is not True else 0


def _require_question(
    epsilon: str | None, alpha: str | None, delta: str | None, *, smallest_epsilon: bool, curve: Path | None
) -> None:
    if smallest_epsilon:
        if delta is None:
            raise InputError("delta: expected --delta with --smallest-epsilon, found none")
        if epsilon is not None or alpha is not None or curve is not None:
            raise InputError("smallest-epsilon: expected it without --epsilon, --alpha and --curve, found one of them")
    elif (epsilon is None) == (alpha is None):
        found = "neither" if epsilon is None else "both"
        raise InputError(f"epsilon: expected --epsilon or --alpha, found {found}")


def _search(
    model: LabelledChain | Channel, delta: str, options: dict[str, Any], notes: list[str], *, as_json: bool
) -> int:
    from symveil.tasks.verify_report import smallest_report
    from symveil.verification.verify_privacy import smallest_epsilon

    with progress_bar("searching") as progress:
        result = smallest_epsilon(model, delta=delta, progress=progress, **options)
    print_result(result.document, smallest_report(result), as_json=as_json, notes=notes)
    return 0 if result.upper is not None else 1
