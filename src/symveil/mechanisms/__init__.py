"""Mechanisms: each has its probabilities, its draw and its guarantee side by side, one file each.

Lives here: how a private word is chosen. Does not live here: counting and drawing kernels
(languages), random bits (randomness), or any check of a guarantee (verification), which must not
trust what is written here.
"""
