"""`symveil verify`.

`symveil check`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from symveil.cli.output import command, print_facts, print_json, print_line, print_notes, print_table, require_suffix
from symveil.cli.progress import progress_bar
from symveil.cli.single_options import epsilon_option, file_option, json_option, number_option
from symveil.cli.values import PATH, as_typed
from symveil.errors import InputError, ModelError, ParameterError

if TYPE_CHECKING:
    from symveil.models.channel import Channel
    from symveil.models.labelled_chain import LabelledChain
    from symveil.verification.privacy_verdict import PrivacyVerdict

_MOST_ROWS = 60
_LONGEST_SHOWN = 40


@command("verify", example="symveil verify examples/pin_checker.json --alpha 6/5 --delta 1/20")
@click.argument("chain", metavar="CHAIN", type=PATH)
@epsilon_option(required=False)
@click.option("--alpha", metavar="A", help="e^epsilon instead, exactly: 1 or more, such as 6/5.")
@click.option(
    "--pair",
    "typed_pairs",
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
    typed_pairs: tuple[str, ...],
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
    Its answers are exact; without --epsilon the smallest one is shown, for --delta or without any.
    """
    from symveil.formats.models.model_files import load_labelled_chain
    from symveil.formats.models.transition_tables import is_channel_table
    from symveil.numbers.conversions import log_upper_bound
    from symveil.numbers.rationals import exact, shown_at_least
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
    pairs = [read_pair(text) for text in typed_pairs] or None
    notes: list[str] = []
    model: LabelledChain | Channel
    if is_channel:
        if label_states:
            raise InputError("label: expected a .tra, .drn or .umb file, found a channel table")
        model = channel = _read_channel(chain, related, apart, notes)
        _require_inputs(channel, pairs)
    else:
        model = labelled = load_labelled_chain(
            chain, labels=labels, label_states=_named_labels(label_states), notes=notes
        )
        pairs = _named_pairs(labelled, pairs, notes)
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
    if as_json:
        print_json(verdict.document())
    else:
        if epsilon is None and alpha is None:
            enough = "none" if verdict.infinite else shown_at_least(log_upper_bound(verdict.alpha_above))
            click.echo(f"smallest epsilon for delta = {delta or 0}: {enough}")
        _print(verdict)
    print_notes(notes)
    return 1 if delta is not None and verdict.holds is not True else 0


def _named_labels(typed: tuple[str, ...]) -> dict[str, list[str]]:
    """The states of each label, from texts such as `done=4,5`."""
    named: dict[str, list[str]] = {}
    for text in typed:
        name, mark, states = text.rpartition("=")
        if not (name and mark and states):
            raise InputError(f"label: expected a label and numbers of states such as done=4,5, found {text[:40]!r}")
        named.setdefault(name, []).extend(state.strip() for state in states.split(","))
    return named


def read_pair(text: str) -> tuple[str, str]:
    r"""The two states of `S,T`; `\,` is a comma in a name and `\\` a backslash.

    >>> read_pair(r"a\,b,c")
    ('a,b', 'c')
    """
    parts = re.findall(r"((?:\\.|[^\\,])*)(?:,|$)", text)
    if not parts[-1]:
        parts = parts[:-1] if not text.endswith(",") else parts[: text.count(",") + 1]
    if len(parts) != 2:
        raise ParameterError(
            "pair", expected=r"two states S,T (a comma in a name is typed \,)", found=f"{len(parts)} of them"
        )
    first, second = (re.sub(r"\\(.)", r"\1", part) for part in parts)
    return first, second


def _require_question(
    epsilon: str | None, alpha: str | None, delta: str | None, *, smallest_epsilon: bool, curve: Path | None
) -> None:
    if smallest_epsilon:
        if delta is None:
            raise InputError("delta: expected --delta with --smallest-epsilon, found none")
        if epsilon is not None or alpha is not None or curve is not None:
            raise InputError("smallest-epsilon: expected it without --epsilon, --alpha and --curve, found one of them")
    elif (epsilon is None) == (alpha is None):
        actual = "neither" if epsilon is None else "both"
        raise InputError(f"epsilon: expected --epsilon or --alpha, found {actual}")


def _read_channel(file: Path, related: str | None, apart: str | None, notes: list[str]) -> Channel:
    from symveil.formats.models.transition_tables import read_channel

    meant: str | Fraction | Path | None = related
    if related is not None and related != "all":
        meant = (
            Fraction(related)
            if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?(/[1-9][0-9]{0,8})?", related)
            else Path(related)
        )
    if apart is not None and not isinstance(meant, Path):
        raise InputError("apart: expected --related with a table of pairs, found none")
    return read_channel(file, related=meant, apart="1" if apart is None else apart, notes=notes)


def _require_inputs(model: Channel, pairs: list[tuple[str, str]] | None) -> None:
    for pair in pairs or ():
        for state in pair:
            if state not in model.number:
                raise ParameterError("pair", expected="inputs of the channel", found=repr(state))
    if pairs is None and not model.related:
        raise InputError("related: expected at least one pair of related inputs, found none; say --related all")


def _named_pairs(
    model: LabelledChain, pairs: list[tuple[str, str]] | None, notes: list[str]
) -> list[tuple[str, str]] | None:
    """The pairs by the names of their states, which may be typed as values of variables."""
    if pairs is None and not model.related:
        raise InputError("pair: expected --pair S,T, or related states in the chain, found none")
    try:
        return pairs and [(model.state(one, notes=notes), model.state(other, notes=notes)) for one, other in pairs]
    except ModelError as error:
        raise InputError(f"pair: {str(error).removeprefix('state: ')}") from None


def _search(
    model: LabelledChain | Channel, delta: str, options: dict[str, Any], notes: list[str], *, as_json: bool
) -> int:
    from symveil.numbers.rationals import shown_at_least, shown_at_most, spelled
    from symveil.verification.privacy_verdict import written
    from symveil.verification.verify_privacy import smallest_epsilon

    with progress_bar("searching") as progress:
        result = smallest_epsilon(model, delta=delta, progress=progress, **options)
    if as_json:
        print_json(result.document())
    else:
        # against the claim: what is printed as enough is enough, and what is not is not
        upper = "none was proved" if result.upper is None else f"{shown_at_least(result.upper)}, proved to be enough"
        lower = shown_at_most(result.lower) if result.lower else "—"
        if result.infinite:
            lower, upper = "every epsilon", "none"
        rows = [("delta", spelled(result.delta)), ("not enough", lower), ("enough", upper)]
        if result.alpha is not None and (text := written(result.alpha)) is not None and len(text) < _LONGEST_SHOWN:
            rows.append(("e^epsilon, exactly", text.removesuffix("/1")))
        print_facts("Smallest epsilon", rows)
    print_notes(notes)
    return 0 if result.upper is not None else 1


def _print(verdict: PrivacyVerdict) -> None:
    from symveil.numbers.rationals import spelled
    from symveil.verification.privacy_verdict import answer_in_words, shown, shown_bound, shown_loss

    name = "ld without relays" if verdict.pairs[0].support_only else "ld = lgd"
    rows = [
        (pair.source, pair.target, shown(pair.lv), shown_bound(pair.ld or pair.support_only), shown_bound(pair.bd))
        for pair in verdict.pairs[:_MOST_ROWS]
    ]
    if len(verdict.pairs) > _MOST_ROWS:
        rows.append((f"… {len(verdict.pairs) - _MOST_ROWS} more", "", "", "", ""))
    print_table(f"Privacy at {verdict.at}", ("from", "to", "delta (lv)", name, "bd"), rows)
    click.echo(f"delta over these pairs: {shown(verdict.delta)}")
    worst = verdict.worst
    if worst.witness is not None:
        print_line(f"largest odds of {worst.source} against {worst.target}: {worst.witness}")
        click.echo(f"epsilon without any delta: {shown_loss(verdict)}")
    if verdict.asked is not None:
        click.echo(f"at most {spelled(verdict.asked)}: {answer_in_words(verdict.holds)}")


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
    if as_json:
        print_json(result.document())
    else:
        rows = [
            (each.name, "yes" if each.holds else "NO", as_typed(each.note, check_command)) for each in result.checks
        ]
        print_table(str(manifest), ("checked", "holds", "note"), rows)
    return 0 if result.holds else 1
