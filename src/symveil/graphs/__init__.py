"""Graphs without a meaning: edges as flat arrays, components, sets of states and partitions of states.

Lives here: what is true of any graph.
May not live here: models, words and probabilities.
Stands on numbers.
"""
