"""Graphs without a meaning: edges as flat arrays, components and sets of states.

Lives here: what is true of any graph.
May not live here: models, words and probabilities.
Stands on numbers.
"""
