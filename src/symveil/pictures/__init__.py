"""Pictures: graphs as SVG and DOT, charts as SVG, PNG and PDF.

Lives here: a graph as frozen data (`diagram`); where its states go (`layers`) and how it is laid out (`layout`,
`bezier`, `writing`); its SVG (`svg`); charts, which are `marks` on a frame (`charts`), and as files of other
formats (`plots`, the only module that needs matplotlib); maps of roads and of a town (`road_map`, `town_map`); how
symbols, counts and probabilities are spelled, and the colours (`text`).
May not live here: what is drawn. Models, automata, trellises and laws describe themselves as a `Diagram` or as curves
in the layers above, and nothing here knows about words, languages or privacy.
Stands on storage and numbers.
"""
