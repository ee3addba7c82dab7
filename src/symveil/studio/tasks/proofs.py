"""Proofs: how private a labelled chain is, with both ends of δ proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

from symveil.errors import ParameterError
from symveil.examples.paper_systems import pin_checker, randomised_response
from symveil.formats.models.model_files import load_labelled_chain
from symveil.models.labelled_chain import LabelledChain, Pair
from symveil.numbers.progress import Progress, named
from symveil.numbers.rationals import exact, factor, fraction_text
from symveil.parameters import Flag, read_whole
from symveil.reports.report import Facts, Headline, Marked, Picture, Report, Section, Table, Text
from symveil.studio.answer import Answer
from symveil.studio.tasks.subject import File, example_or_file, loaded, read_names
from symveil.tasks.verify import PrivacyCurve, privacy_curve_up_to
from symveil.verification.privacy_verdict import Bound, PairVerdict, PrivacyVerdict, answer_in_words, shown, shown_bound
from symveil.verification.verify_privacy import verify_privacy

EXAMPLES = {"pin": pin_checker, "response": randomised_response}
_MOST_ROWS, _MOST_DRAWN = 40, 40


def answer_proofs(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Proofs panel."""
    file = example_or_file(values, EXAMPLES, "a labelled chain")
    chain, notes = _chain(file)
    pairs = _pairs(values["pairs"])
    epsilon = exact(values["epsilon"], name="epsilon")
    delta = values["delta"] or None
    named(progress, "Proving")(0, None)
    point = {"epsilon": epsilon} if epsilon > 0 else {"alpha": Fraction(1)}
    options = _options(values)
    verdict = verify_privacy(chain, **point, pairs=pairs, delta=delta, **dict(options))  # type: ignore[arg-type]
    curve = _curve(file, pairs, values["upto"], options, progress)
    worst = max(verdict.pairs, key=lambda pair: (pair.lv.upper, pair.lv.lower))
    return Answer(
        report=Report(
            title="symveil: the privacy of a labelled chain",
            sections=(
                _verdict(verdict, worst, float(epsilon), notes),
                _plot(curve, float(epsilon)),
                _pair_table(verdict, worst),
                _certificate(verdict, worst, chain),
                *_picture(chain),
            ),
        ),
        document={"verify": verdict.document(), "curve": curve.document()},
        columns=("epsilon", "delta lower", "delta upper"),
        rows=tuple(
            (across, float(each.delta.lower), float(each.delta.upper))
            for across, each in zip(curve.epsilons, curve.verdicts, strict=True)
        ),
        marks=(
            ("epsilon", values["epsilon"]),
            ("lower", str(verdict.document()["delta"]["lower"])),  # type: ignore[index]
            ("upper", str(verdict.document()["delta"]["upper"])),  # type: ignore[index]
            ("worst", f"{worst.source},{worst.target}"),
        ),
    )


@lru_cache(maxsize=8)
def _chain(file: File) -> tuple[LabelledChain, tuple[str, ...]]:
    name, _ = file
    return (EXAMPLES[name](), ()) if name in EXAMPLES else loaded(name, load_labelled_chain)


def _pairs(text: str) -> tuple[Pair, ...] | None:
    """Pairs as they are typed: s,t; u,v. None: the related ones."""
    if not text.strip():
        return None
    pairs = []
    for piece in text.split(";"):
        ends = [end.strip() for end in piece.split(",")]
        if len(ends) != 2 or not all(ends):
            raise ParameterError("pairs", expected="pairs of states such as s,t; u,v", found=repr(piece.strip()))
        pairs.append((ends[0], ends[1]))
    return tuple(pairs)


Options = tuple[tuple[str, object], ...]
"""Parameters of `verify_privacy` by name."""


def _options(values: Mapping[str, str]) -> Options:
    """Where brackets stop, and what is seen, as far as something was typed."""
    typed = {name: values[name].strip() for name in ("silent", "width", "nodes", "horizon")}
    read: dict[str, Callable[[str], object]] = {
        "silent": read_names,
        "width": lambda text: exact(text, name="width"),
        "nodes": lambda text: read_whole("nodes", text),
        "horizon": lambda text: read_whole("horizon", text),
    }
    merged = Flag().read("lumped", values["lumped"])
    return (*((name, read[name](text)) for name, text in typed.items() if text), ("on_lumped", merged))


_cached: dict[tuple[object, ...], PrivacyCurve] = {}


def _curve(file: File, pairs: tuple[Pair, ...] | None, upto: str, options: Options, progress: Progress) -> PrivacyCurve:
    """δ(ε) on a grid, kept: another place to look at does not change it."""
    key = (file, pairs, upto, options)
    if key not in _cached:
        limit = exact(upto, name="upto")
        if not 0 < limit <= 20:
            raise ParameterError("upto", expected="a number above 0, at most 20", found=upto)
        alpha = Fraction(round(1000 * math.exp(limit)), 1000)  # short, so that small chains have exact answers
        proving = named(progress, "Proving δ at each ε")
        proving(0, None)
        curve = privacy_curve_up_to(_chain(file)[0], alpha, pairs=pairs, progress=proving, **dict(options))
        _cached.clear()
        _cached[key] = curve
    return _cached[key]


def _verdict(verdict: PrivacyVerdict, worst: PairVerdict, epsilon: float, notes: tuple[str, ...]) -> Section:
    delta = verdict.delta
    number = f"δ = {shown(delta)}" if delta.exact else f"δ in {shown(delta)}"
    badge = ""
    if verdict.asked is not None:
        badge = {True: "holds", False: "violated", None: "undecided"}[verdict.holds]
    known = "The value is exact." if delta.exact else "Both ends are proved; the true δ lies between them."
    explained = Marked((
        f"At ε = {epsilon:g} (odds change by a factor of at most {factor(epsilon)}) the promise fails with probability "
        "at most δ. The hardest pair to hide is ", worst.source, " against ", worst.target, f". {known}",
    ))  # fmt: skip
    parts: list[Headline | Text] = [Headline(number, explained, badge)]
    if verdict.asked is not None:
        parts.append(Text(f"At most {verdict.asked}, as asked: **{answer_in_words(verdict.holds)}**."))
    return Section("How private is it?", (*parts, *(Text(Marked((note,)), "warning") for note in notes)))


def _plot(curve: PrivacyCurve, epsilon: float) -> Section:
    explained = "The true δ lies in the band; the distances ld and bd are upper bounds that are cheaper to prove."
    return Section("δ against ε", (Text(explained), Picture(curve.to_svg(mark=epsilon), "delta", large=True)))


def _pair_table(verdict: PrivacyVerdict, worst: PairVerdict) -> Section:
    ordered = sorted(verdict.pairs, key=lambda pair: -pair.lv.upper)
    rows = [
        (
            Marked((f"{pair.source} → {pair.target} ", "worst" if pair is worst else "")),
            shown(pair.lv),
            shown_bound(pair.ld),
            shown_bound(pair.bd),
        )
        for pair in ordered[:_MOST_ROWS]
    ]
    more = len(ordered) - len(rows)
    left = (Text(f"{more} more pairs: see the JSON document.", "quiet"),) if more > 0 else ()
    return Section("Which pair is worst?", (Table.from_rows(("pair", "δ", "ld", "bd"), rows), *left))


def _certificate(verdict: PrivacyVerdict, worst: PairVerdict, chain: LabelledChain) -> Section:
    alpha = verdict.alpha
    rows = [
        ("chain", f"{len(chain.states)} states, {len(chain.transitions)} transitions, {len(set(chain.labels))} labels"),
        ("e^ε", fraction_text(alpha) if alpha is not None else f"≈ {float(verdict.alpha_above):.10g}"),
        ("δ of the worst pair", fraction_text(worst.lv.upper) if worst.lv.exact else shown(worst.lv)),
        ("how δ is known", "exactly, in rationals" if worst.lv.exact else f"a bracket over {worst.lv.nodes:,} nodes"),
        ("ld of the worst pair", _bound(worst.ld)),
        ("bd of the worst pair", _bound(worst.bd)),
    ]
    if verdict.lumped:
        rows.append(("chain", "proved on a smaller chain with the same behaviour"))
    after = Text("The JSON document holds every number exactly, as p/q where that is known.", "quiet")
    return Section("The certificate", (Facts.from_rows(rows), after))


def _bound(bound: Bound | None) -> str:
    if bound is None:
        return "not computed"
    if bound.exact:
        return f"{fraction_text(bound.value)}, exact"
    return f"{shown_bound(bound)}, proved by one sweep: Γ(d) ≤ d"


def _picture(chain: LabelledChain) -> tuple[Section, ...]:
    if len(chain.states) > _MOST_DRAWN:
        return ()
    return (Section("The chain", (Picture(chain.to_svg(), "chain", large=True),)),)
