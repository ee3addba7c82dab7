"""Sets of words: counting them, weighting them, drawing from them. The numeric kernels live here.

Lives here: the free language, its Hamming automaton, uniform and independent draws of words.
Does not live here: which weights make a draw private (mechanisms) and why (privacy).
"""
