"""How words, guarantees and prices are told: plain words first, the number with them."""

from __future__ import annotations

import difflib
import html
import math

from symveil.formats.page import table
from symveil.languages.language import Language
from symveil.laws.adjacency import adjacency_table
from symveil.laws.protection import Protection
from symveil.mechanisms.attacker import AttackerView
from symveil.mechanisms.mechanism import Mechanism
from symveil.models.word import Word
from symveil.numbers.rationals import shown_at_least
from symveil.studio.answer import Answer
from symveil.tasks.doubts import attacker_facts, doubts, guarantee_in_words, hides_little, promise_in_words
from symveil.tasks.release_report import factor


def promise(mechanism: Mechanism, noun: str, *, symbol: str = "symbol") -> str:
    """What the guarantee of a mechanism promises, as HTML."""
    guarantee, adjacency = mechanism.guarantee, mechanism.adjacency
    known = guarantee_in_words(guarantee.how, mechanism.calibration)
    differ = f"one {symbol}" if adjacency == 1 else f"up to {adjacency} {symbol}s"
    return (
        f"Anyone who sees the private {noun} can prefer one {noun} to another that differs in {differ} by a factor of "
        f"at most <b>{factor(guarantee.epsilon)}</b>. {known[:1].upper()}{known[1:]}."
    )


def warned(mechanism: Mechanism, near: Protection | None) -> str:
    """What to warn of, as HTML, in the sentences of the command line."""
    told = (f"{each[:1].upper()}{each[1:]}." for each in doubts(mechanism, near))
    return "".join(f'<p class="warning">{html.escape(each)}</p>' for each in told)


def choose_adjacency(language: Language, noun: str) -> Answer:
    """What each b hides on a model, for somebody who has not chosen one: nothing is released before that."""
    shown = adjacency_table(language)
    rows = [
        (
            "all" if row.adjacency == "all" else str(row.adjacency),
            f"{100 * row.positions_with_alternatives:.0f} %",
            f"{row.alternatives:.3g}",
            f"{row.at_middle:.3g}",
        )
        for row in shown.rows
    ]
    columns = ("b", "positions with an alternative", "alternatives at a position", "at a middle position")
    body = (
        f"<p>On a model b is a decision: two {noun}s that differ in more than b symbols are protected less, and a "
        f"symbol for which no {noun} within b has another is not hidden at all. Choose b in the form.</p>"
        + table(columns, rows)
        + f'<p class="quiet">By the public model, over {noun}s of {shown.length} symbols; no secret is read.</p>'
    )
    return Answer.without("symveil: choose b", heading="What is to be hidden?", body=body)


def loss_line(mechanism: Mechanism, noun: str) -> str:
    """The loss at every distance, as HTML."""
    return f'<p class="quiet">ε by distance: two {noun}s that differ in {html.escape(promise_in_words(mechanism))}.</p>'


def attacker_lines(mechanism: Mechanism, view: AttackerView | None, error: float | None = None) -> str:
    """What somebody learns who knows the public model and sees one private word, beside the error, as HTML."""
    rows = attacker_facts(mechanism, view, error=error)
    if not rows:
        return ""
    little = "".join(
        f'<p class="warning">{html.escape(each[:1].upper() + each[1:])}.</p>' for each in hides_little(view)
    )
    said = "; ".join(html.escape(sentence) for name, sentence in rows if name != "for scale")
    scale = "".join(f" For scale: {html.escape(sentence)}." for name, sentence in rows if name == "for scale")
    return f'{little}<p class="quiet">An attacker who knows the public model: {said}.{scale}</p>'


def shown_epsilon(epsilon: float) -> str:
    """ε, rounded against the claim."""
    return "infinite" if math.isinf(epsilon) else shown_at_least(epsilon)


def marked_word(word: Word, released: Word, separator: str) -> str:
    """A released word as HTML, with the symbols that differ marked; not by colour alone."""
    pieces = []
    for old, new in zip(word, released, strict=True):
        shown = html.escape("␣" if new == " " else str(new))
        pieces.append(shown if new == old else f"<b>{shown}</b>")
    return (html.escape(separator) if separator.strip() else separator or "").join(pieces)


def marked_edits(word: Word, released: Word, separator: str) -> str:
    """A released word of another length as HTML, laid against the true one."""
    pieces = []
    for kind, _, _, first, last in difflib.SequenceMatcher(None, word, released, autojunk=False).get_opcodes():
        shown = [html.escape("␣" if symbol == " " else str(symbol)) for symbol in released[first:last]]
        if kind == "equal":
            pieces += shown
        else:
            pieces += [f"<b>{symbol}</b>" for symbol in shown] or ["<b>·</b>"]
    return (html.escape(separator) or "").join(pieces)


def counted(count: float, noun: str) -> str:
    """A number of things.

    >>> counted(1, "symbol"), counted(0.25, "symbol")
    ('1 symbol', '0.25 symbols')
    """
    return f"{count:.3g} {noun}" + ("" if count == 1 else "s")
