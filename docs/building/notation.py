"""Formulas in plain text: in the site e^{−ηd}, e^ε, Λ_α and d_ij are raised and lowered.

The sources stay plain text that reads well anywhere; names of programs stand in backquotes, which
are left alone. A power ends where its word ends, an index has at most two characters. An indented
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

POWER = r"(?<=[\w)\]*'])\^(?:\{([^{}\n]+)\}|\(([^()\n]+)\)|([−±+]?\w+'?))"
INDEX = r"(?<![\w`])([^\W\d_]{1,2}'?|~)_(?:\{([^{}\n]+)\}|([^\W_]{1,2})(?![\w_]))"


class _Power(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: ARG002, N802
        raised = Element("sup")
        raised.text = m[1] or m[2] or m[3]
        return raised, m.start(0), m.end(0)


class _Index(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[Element, int, int]:  # type: ignore[override]  # noqa: ARG002, N802
        whole = Element("span")
        whole.text = m[1]
        lowered = Element("sub")
        lowered.text = m[2] or m[3]
        whole.append(lowered)
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
    >>> markdown("P ∝ e^{−ηd}, at most e^ε; `a^b` and `d_ij` stay", extensions=[Notation()])
    '<p>P ∝ e<sup>−ηd</sup>, at most e<sup>ε</sup>; <code>a^b</code> and <code>d_ij</code> stay</p>'
    >>> markdown("max(d_ij, 0) over lv_α", extensions=[Notation()])
    '<p>max(<span>d<sub>ij</sub></span>, 0) over <span>lv<sub>α</sub></span></p>'
    >>> markdown("The loss is\\n\\n    bη = e^ε.", extensions=[Notation()])
    '<p>The loss is</p>\\n<div class="formula">\\n<div>bη = e<sup>ε</sup>.</div>\\n</div>'
    """

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Before emphasis (priority 60), after code (190) and links."""
        md.parser.blockprocessors.register(_Displayed(md.parser), "formula", 85)  # code is 80, lists are above
        md.inlinePatterns.register(_Index(INDEX, md), "index", 70)
        md.inlinePatterns.register(_Power(POWER, md), "power", 69)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Let every page have it."""
    config.markdown_extensions.append(Notation())  # type: ignore[arg-type]
    return config
