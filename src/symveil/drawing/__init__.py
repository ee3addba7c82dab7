"""Pictures: layered graphs as SVG and DOT, curves and bars as PNG and SVG.

Lives here: a picture as frozen data (`diagram`), how it is laid out (`layout`, `bezier`,
`writing`, `placement`), its formats (`svg`, `dot`), how symbols, counts and probabilities are
spelled in it (`labels`, `text`), and plots (`plots`, saved by `saving`). Does not live here: what is drawn. Automata,
trellises and laws describe themselves as a `Diagram` or as curves in the layers above, and
nothing here knows about words, languages or privacy. `plots` is the only module that needs
matplotlib.
"""
