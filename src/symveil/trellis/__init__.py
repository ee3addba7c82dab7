"""Sums over the paths of a graph, position after position: one set of passes for all kinds of numbers.

Lives here: semirings; passes backwards and forwards, their meeting at an edge, and draws.
May not live here: models, words and what numbers mean. Below languages, which count their words by these passes.
Stands on graphs.
"""
