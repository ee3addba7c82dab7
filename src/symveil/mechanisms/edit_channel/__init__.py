"""A channel that inserts, deletes and substitutes symbols: private for the edit distance, at any length.

Lives here: the mechanism and the law of how many edits it makes.
May not live here: edit distances within a bound (`truncated_levenshtein`).
"""
