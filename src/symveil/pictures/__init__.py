"""Pictures: graphs as SVG and DOT, curves and bars as PNG and SVG.

Lives here: a picture as frozen data (`diagram`); where the states of any graph go (`layers`, and `state_diagram` for
the whole of it); how a picture is laid out (`layout`, `routing`, `bezier`, `writing`, `placement`); its formats
(`svg`, `dot`, for whatever is `drawable`); its colours, and how symbols, counts and probabilities are spelled in it
(`colours`, `labels`, `text`); and plots (`plots`, the only module that needs matplotlib).
May not live here: what is drawn. Models, automata, trellises and laws describe themselves as a `Diagram` or as curves
in the layers above, and nothing here knows about words, languages or privacy.
Stands on storage and numbers.
"""
