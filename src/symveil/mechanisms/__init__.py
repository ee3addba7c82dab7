"""Mechanisms: each has its probabilities, its draw and its guarantee side by side, one file each.

Lives here: how a private word is chosen; the choice of a mechanism as data, every mechanism by its name (`choice`),
which one a choice means on a language (`selection`); mechanisms made of mechanisms: one for each length of words
(`by_length`), one whose outcome is among fewer words (`restricted`), one and then a channel (`postprocessed`); how
often an attacker who knows the model guesses right (`attacker`), which is for choosing ε only.
May not live here: counting and drawing words (languages), random bits (randomness), or any check of a guarantee
(verification), which must not trust what is written here.
Stands on laws, beside verification: neither imports the other.
"""
