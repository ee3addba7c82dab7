"""Sets of words: counting them, weighting them, drawing from them. The compiled loops live here.

Lives here: the free language and the runs of a model, of one length or up to a bound; Hamming and Levenshtein automata
and their products; exact draws of words at a distance.
May not live here: which weights make a draw private (mechanisms) and why (laws).
Stands on models and randomness.
"""
