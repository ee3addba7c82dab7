"""Formulas in plain text: in the site e^{−ηd}, e^ε, Λ_α and d_ij are raised and lowered.

The sources stay plain text that reads well anywhere; names of programs stand in backquotes, which
are left alone. A power ends where its word ends, an index has one or two characters, or is a word. An indented
block is a displayed formula, unless it is a drawing of lines; code stands in fences.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

_GROUP = r"\{([^{}\n]+)\}"
_LOW = rf"(?:{_GROUP}|([^\W_](?=[^\W_]{{1,2}}_)|[^\W_]{{1,2}}(?!\w)))"  # of A_jg_j the j, of d_ij both
_HIGH = rf"(?:{_GROUP}|\(([^()\n]+)\)|(\|\w+\||[−±+]?[^\W_]+'?))"
POWER = rf"(?<=[\w)\]*'|⊥\x03])\^{_HIGH}(?:_{_LOW})?"  # \x03 is the end of what has been lowered already
INDEX = rf"(?<![^\W\d_])(?<![_`^])([^\W\d_]{{1,3}}\u0302?'?|~)_(?:{_LOW}|([a-z]{{3,7}})(?!\w))"


class _Raised(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: ARG002, N802
        whole = Element("span")
        SubElement(whole, "sup").text = m[1] or m[2] or m[3]
        if m[4] or m[5]:
            SubElement(whole, "sub").text = m[4] or m[5]
        return whole, m.start(0), m.end(0)


class _Lowered(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: ARG002, N802
        whole = Element("span")
        whole.text = m[1]
        SubElement(whole, "sub").text = m[2] or m[3] or m[4]
        return whole, m.start(0), m.end(0)


class _Displayed(BlockProcessor):
    """An indented block, each line of it a line of the formula; inside, powers and indices are found as in any text."""

    def test(self, parent: Element, block: str) -> bool:  # noqa: ARG002
        return block.startswith(" " * self.tab_length) and not _DRAWING.search(block)

    def run(self, parent: Element, blocks: list[str]) -> None:
        formula, rest = self.detab(blocks.pop(0))
        shown = SubElement(parent, "div", {"class": "formula"})
        for line in formula.splitlines():
            SubElement(shown, "div").text = line.strip()
        if rest.strip():
            blocks.insert(0, rest)


_DRAWING = re.compile("[\u2500-\u25ff]")  # box drawing, arrow heads


class Notation(Extension):
    """Powers and indices, outside code, and displayed formulas.

    >>> from markdown import markdown
    >>> markdown("P ∝ e^{−ηd}; `a^b` and `d_ij` stay", extensions=[Notation()])
    '<p>P ∝ e<span><sup>−ηd</sup></span>; <code>a^b</code> and <code>d_ij</code> stay</p>'
    >>> markdown("max(d_ij, 0) over lv_α", extensions=[Notation()])
    '<p>max(<span>d<sub>ij</sub></span>, 0) over <span>lv<sub>α</sub></span></p>'
    >>> markdown("2^|Q|, A_jg_j", extensions=[Notation()])
    '<p>2<span><sup>|Q|</sup></span>, <span>A<sub>j</sub></span><span>g<sub>j</sub></span></p>'
    >>> markdown("β^w_k of y_before", extensions=[Notation()])
    '<p>β<span><sup>w</sup><sub>k</sub></span> of <span>y<sub>before</sub></span></p>'
    >>> markdown("⊥^{N−n}w, F̂_ab", extensions=[Notation()])
    '<p>⊥<span><sup>N−n</sup></span>w, <span>F̂<sub>ab</sub></span></p>'
    >>> markdown("The loss is\\n\\n    bη = e^ε.", extensions=[Notation()])
    '<p>The loss is</p>\\n<div class="formula">\\n<div>bη = e<span><sup>ε</sup></span>.</div>\\n</div>'
    """

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Before emphasis (priority 60), after code (190) and links."""
        md.parser.blockprocessors.register(_Displayed(md.parser), "formula", 85)  # code is 80, lists are above
        md.inlinePatterns.register(_Lowered(INDEX, md), "index", 70)
        md.inlinePatterns.register(_Raised(POWER, md), "power", 69)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let every page have it."""
    config.markdown_extensions.append(Notation())  # type: ignore[arg-type]
    return config
