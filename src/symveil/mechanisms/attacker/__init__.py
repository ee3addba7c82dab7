"""How often an attacker who knows the model guesses right, before and after one private word.

Lives here: one guess (`view`), the same from several versions (`versions`), and sums over
many positions at once (`windows`).
May not live here: a mechanism, or anything that a release needs: these figures are for choosing ε.
"""
