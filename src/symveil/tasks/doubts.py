"""What a user should know before a release: the command line and the studio use the same sentences."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from symveil.errors import SymveilWarning
from symveil.laws.protection import Protection
from symveil.mechanisms.attacker import AttackerView
from symveil.mechanisms.mechanism import Mechanism
from symveil.numbers.rationals import Number, at_least, counted, exact, percent, shown_at_least

_HIDES_LITTLE = "an attacker is right nine times in ten: this setting hides little"

DROPPED = 0.01
"""The share of sequences that may be dropped without a warning."""
LARGE = 20
"""Above it an ε is called what it is: e^20 is above 10^8."""


def doubts(mechanism: Mechanism, protection: Protection | None = None) -> list[str]:
    """What to warn of, all of it public.

    >>> import symveil as sv
    >>> doubts(sv.EditChannel("abcd", epsilon="0.1", max_length=16))[0][:53]
    'at this epsilon the release carries no information: e'
    """
    doubts_listed = []
    if mechanism.law.tells_nothing:
        doubts_listed.append(
            "at this epsilon the release carries no information: everything is deleted; use a larger one"
        )
    if not mechanism.guarantee.within(mechanism.epsilon):
        doubts_listed.append("this mechanism loses more than was asked for: it is not private")
    if mechanism.remarks.tells_apart:
        doubts_listed += given_up_notes(mechanism)
    return doubts_listed + large_loss(mechanism.epsilon) + thin_protection(protection)


def warn(messages: Iterable[str]) -> None:
    """Say them to those who call from Python, once each; the command line prints them itself.

    Messages have no value of the data.

    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn(large_loss(50))
    >>> said[0].category.__name__, str(said[0].message)[:10]
    ('SymveilWarning', 'epsilon 50')
    """
    for message in messages:
        warnings.warn(message, SymveilWarning, stacklevel=3)


def large_loss(epsilon: Number, largest_charge: Number | None = None) -> list[str]:
    """The warning that an ε is too large to protect anybody.

    `largest_charge` is what one person is charged in all, for the holder, where that is known.

    >>> large_loss(20), large_loss(1, "24")
    ([], ['one person is charged 24 in all, which is hardly any privacy: odds may shift by a factor above 10^10'])
    >>> large_loss(50)
    ['epsilon 50 is hardly any privacy: odds may shift by a factor above 10^21']
    """
    requested = exact(epsilon, name="epsilon")
    if requested > LARGE:
        what = f"epsilon {shown_at_least(requested)} is"
        return [f"{what} hardly any privacy: odds may shift by a factor above 10^{_digits(requested)}"]
    charged = requested if largest_charge is None else exact(largest_charge, name="charge")
    if charged > LARGE:
        return [
            f"one person is charged {shown_at_least(charged)} in all, which is hardly any privacy: odds may shift by a "
            f"factor above 10^{_digits(charged)}"
        ]
    return []


def large_dropped_share(counts: Mapping[str, int]) -> list[str]:
    """The warning that more than a hundredth of the sequences are not in a release, because they are not legal.

    >>> large_dropped_share({"sequences": 7207, "dropped_unknown": 4934})[0][:56]
    '4,934 of 7,207 sequences (68.5 %) are left out, because '
    >>> large_dropped_share({"sequences": 7207, "dropped_unknown": 72})
    []
    """
    dropped, total = counts.get("dropped_unknown", 0), counts.get("sequences", 0)
    if dropped <= DROPPED * total:
        return []
    return [
        f"{dropped:,} of {total:,} sequences ({percent(dropped / total, 3)}) are left out, because the alphabet or the "
        "model does not have them: what is released is no picture of all of them"
    ]


def dropped_ids(names: Sequence[str]) -> list[str]:
    """The warning that records lose their names: columns that look like ids, of which none passes.

    Names of columns are no secret where one of them was named.
    """
    if not names:
        return []
    listed = " and ".join(map(repr, names))
    return [
        f"ids do not pass: {listed} look{'s' if len(names) == 1 else ''} like ids, and none was chosen; name one with "
        "`identifier`, or `keep` those that are public"
    ]


def _digits(epsilon: Fraction) -> int:
    """e^ε is at least ten to this power."""
    return math.floor(float(min(epsilon, Fraction(10**9))) / math.log(10) * (1 - 1e-12))


def thin_protection(protection: Protection | None) -> list[str]:
    """The warning that adjacency protects little, where few words can really take another's place."""
    if protection is None or not protection.thin:
        return []
    near, share = protection.neighbours_within_adjacency, protection.positions_with_alternatives
    where = "" if share is None else f", and {percent(1 - share)} of its positions have no alternative"
    return [
        f"protection is thin: on average {near:.3g} feasible words lie within the adjacency of a word{where}; a larger "
        "adjacency may hide more"
    ]


def hides_little(view: AttackerView | None) -> list[str]:
    """The warning that a guess with the public model is right nine times in ten.

    >>> hides_little(None)
    []
    """
    if view is None or not view.hides_little:
        return []
    return [_HIDES_LITTLE]


def attacker_facts(
    mechanism: Mechanism,
    view: AttackerView | None,
    *,
    versions: AttackerView | None = None,
    error: float | None = None,
) -> list[tuple[str, str]]:
    """What an attacker learns who knows the model and sees one private word, beside the error: names, sentences.

    Without a `view` it is noted where there is a secret symbol. `versions` is about several private versions of the
    word; `error` is how many symbols change on average.

    >>> import symveil as sv
    >>> from symveil.mechanisms.attacker import attacker_view
    >>> mechanism = sv.Exponential(sv.words("abc", 4), epsilon=2)
    >>> for name, sentence in attacker_facts(mechanism, attacker_view(mechanism)):
    ...     print(f"{name}: {sentence}")
    attacker: names 33 % of symbols before and 79 % after (exact); the promise allows at most 78.7 %
    attacker, in detail: first symbol 33 % → 79 %, last symbol 33 % → 79 %, whole word 1.2 % → 38 %
    """
    if view is None:
        secret = mechanism.metric == "hamming" and bool(mechanism.length and mechanism.language.largest_distance)
        return [("attacker", "not computed: it takes too long for a quick answer")] if secret else []
    parts = (("first symbol", view.first), ("last symbol", view.last), ("whole word", view.word))
    detail = ", ".join(f"{name} {percent(guess.before)} → {percent(guess.after)}" for name, guess in parts)
    scale = "" if error is None else f"; {for_scale(error, mechanism.language.largest_distance or 0)}"
    facts = [("attacker", f"{view.sentence()}{scale}"), ("attacker, in detail", detail)]
    if versions is not None:
        facts.append(("with all versions", versions.sentence()))
    return facts


def for_scale(error: float, secret: int) -> str:
    """How many of the secret symbols of a word change, beside how many of them an attacker names.

    >>> for_scale(0.852, 4)
    'for scale, 21 % of symbols change on average'
    """
    return f"for scale, {percent(error / (secret or 1))} of symbols change on average"


def no_better_than_classic(how: str, calibration: object) -> list[str]:
    """That a proof was looked for and gave no more than the published bound, in words.

    >>> no_better_than_classic("classic", "tight")
    ['certified, no better than classic here: no proof gave a larger rate than the published bound']
    >>> no_better_than_classic("certified", "tight"), no_better_than_classic("classic", "classic")
    ([], [])
    """
    if how != "classic" or calibration != "tight":
        return []
    return ["certified, no better than classic here: no proof gave a larger rate than the published bound"]


_HOW_KNOWN = {
    "exact": "exact: some pair of words attains it, so it could not be smaller",
    "certified": "certified: a proved upper bound on the true loss",
    "classic": "classic: the bound that the papers give; the true loss may be smaller",
}


def guarantee_in_words(how: str, calibration: object) -> str:
    """How a loss is known, as one sentence.

    Where `tight` was asked for and only the published bound was found, the sentence says so.

    >>> guarantee_in_words("certified", "tight")
    'certified: a proved upper bound on the true loss'
    >>> guarantee_in_words("classic", "tight")
    'certified, no better than classic here: no proof gave a larger rate than the published bound'
    """
    return next(iter(no_better_than_classic(how, calibration)), _HOW_KNOWN[how])


def losses_in_words(
    rows: Sequence[Mapping[str, Any]],
    b: int | str,
    *,
    apart: str = "words that differ in",
    edits: bool = False,
    epsilon: Fraction | None = None,
    noun: str = "symbol",
) -> str:
    """The loss at one symbol, b, b + 1, 2b and whole words, as one sentence; losses are rounded upwards.

    With `epsilon` the sentences say by how much losses beyond b exceed (d/b)·ε, where they do. With `edits` there may
    be no largest distance.

    >>> losses_in_words([{"distance": d, "epsilon": 2.0 * d} for d in range(1, 7)], 2)
    'words that differ in 1 symbol lose at most 2; in 2 symbols 4; in 3 symbols 6; in 4 symbols 8; in all 6 symbols 12'
    >>> losses_in_words([{"distance": 1, "epsilon": 3.0}, {"distance": 2, "epsilon": "infinity"}], 1)
    'words that differ in 1 symbol lose at most 3; in all 2 symbols any amount'
    >>> losses_in_words([{"distance": 1, "epsilon": 3.0}, {"distance": 2, "epsilon": 9.0}], 1, epsilon=Fraction(3))
    'words that differ in 1 symbol lose at most 3; in all 2 symbols 9; up to 1.5 times (d/b)·ε, because ... beyond b'
    """
    if not rows:
        return "nothing can differ"
    last = rows[-1]["distance"]
    wanted = {1, last} if b == "all" else {1, int(b), int(b) + 1, 2 * int(b), last}
    parts = list[str]()
    for distance, loss in ((row["distance"], row["epsilon"]) for row in rows if row["distance"] in wanted):
        places = counted(distance, "edit" if edits else noun)
        whole = "all " if distance == last > 1 and not edits else ""
        if loss == "infinity":
            most = "any amount" if parts else "lose any amount"
        else:
            most = f"{'' if parts else 'lose at most '}{shown_at_least(loss)}"
        parts.append(f"{'in' if parts else apart} {whole}{places} {most}")
    text = "; ".join(parts)
    return text if epsilon is None or b == "all" else text + _beyond_in_words(rows, int(b), epsilon)


def _beyond_in_words(rows: Sequence[Mapping[str, Any]], b: int, epsilon: Fraction) -> str:
    """By how much losses exceed (d/b)·ε; nothing where they do not. Between two rows the loss is that of the second."""
    largest, before = Fraction(0), 0
    for row in rows:
        if row["epsilon"] == "infinity":
            return "; no multiple of (d/b)·ε bounds it, because nothing is kept beyond b"
        allowed = exact(at_least(epsilon * (before + 1) / b))  # rounded as losses are
        largest, before = max(largest, exact(row["epsilon"]) / allowed), row["distance"]
    if largest <= 1:
        return ""
    return f"; up to {shown_at_least(largest, 3)} times (d/b)·ε, because nothing is kept beyond b"


def protects_in_words(rows: Sequence[Mapping[str, Any]], b: int | str, *, noun: str = "word") -> str:
    """What b protects where every word over an alphabet is one, and what a whole word loses.

    Losses are rounded upwards.

    >>> protects_in_words([{"distance": d, "epsilon": 2.0 * d} for d in range(1, 6)], 1)
    'each symbol by itself; a whole word of 5 symbols loses up to 10'
    >>> protects_in_words([{"distance": d, "epsilon": 1.0} for d in range(1, 4)], "all", noun="sequence")
    'the whole sequence'
    """
    if not rows:
        return f"nothing: the {noun} has no symbol that could differ"
    length, loss = rows[-1]["distance"], rows[-1]["epsilon"]
    if b == "all" or int(b) >= length:
        return f"the whole {noun}"
    together = "each symbol by itself" if int(b) == 1 else f"any {b} symbols together"
    most = "an unbounded amount" if loss == "infinity" else shown_at_least(loss)
    return f"{together}; a whole {noun} of {length} symbols loses up to {most}"


def promise_in_words(mechanism: Mechanism, noun: str = "word") -> str:
    """What words lose that are any distance apart, for a mechanism that was just made.

    >>> import symveil as sv
    >>> promise_in_words(sv.Exponential(sv.words("abc", 4), epsilon=1), "trip")
    'trips that differ in 1 symbol lose at most 1; in 2 symbols 2; in all 4 symbols 4'
    """
    curve = mechanism.guarantee.curve
    rows = [] if curve is None else curve.rows()
    edits = mechanism.metric == "levenshtein"
    epsilon = None if edits else mechanism.epsilon
    return losses_in_words(rows, mechanism.adjacency, apart=f"{noun}s that differ in", edits=edits, epsilon=epsilon)


def protects(mechanism: Mechanism) -> str:
    """What the adjacency of a mechanism hides: over an alphabet also what a whole word loses.

    >>> import symveil as sv
    >>> protects(sv.Exponential(sv.words("abc", 4), epsilon=1))
    'each symbol by itself; a whole word of 4 symbols loses up to 4'
    """
    language, b = mechanism.language, mechanism.adjacency
    if language.length is None:
        return f"words up to {b} insertions, deletions or substitutions apart"
    curve = mechanism.guarantee.curve
    if language.graph is None and curve is not None:
        return protects_in_words(curve.rows(), b)
    return f"words that differ in up to {b} of {language.length} positions"


def given_up_notes(mechanism: Mechanism) -> list[str]:
    """What is not promised beyond the adjacency, where that is less than by Hamming distance.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=4)
    >>> given_up_notes(sv.Exponential(words, epsilon=4, adjacency=1, cost="swap", cap=3))[0][:51]
    'given up: words that differ in more than one symbol'
    """
    remarks = mechanism.remarks
    price = [] if remarks.price_of_grace is None else [remarks.price_of_grace]
    return price if remarks.given_up is None else [f"given up: {remarks.given_up}", *price]
