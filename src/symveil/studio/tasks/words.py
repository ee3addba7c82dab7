"""How words, guarantees and prices are told: plain words first, the number with them."""

from __future__ import annotations

import difflib
import html
import math

from symveil.mechanisms.mechanism import Mechanism
from symveil.models.word import Word
from symveil.numerics.rationals import shown_at_least
from symveil.privacy.protection import Protection
from symveil.workflows.doubts import doubts, guarantee_in_words
from symveil.workflows.release_report import factor


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
