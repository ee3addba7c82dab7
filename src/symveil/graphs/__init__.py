"""Graphs without a meaning: components and sets of states.

Lives here: what is true of any graph.
May not live here: models, words and probabilities.
Stands on errors.
"""
