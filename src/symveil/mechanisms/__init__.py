"""Mechanisms: each has its probabilities, its draw and its guarantee side by side, one file each.

Lives here: how a private word is chosen, which mechanism is the best (`selection`), and how many words of many lengths
go through one (`ragged`, `ragged_edits`).
May not live here: counting and drawing kernels (languages), random bits (randomness), or any check of a guarantee
(verification), which must not trust what is written here.
Stands on privacy, beside verification: neither imports the other.
"""
