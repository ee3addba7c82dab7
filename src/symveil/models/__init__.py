"""What a system is: frozen data, validated once, with no off-switch.

Lives here: alphabets and words; Markov chains, transition systems, automata, partially observed systems and labelled
chains; how each of them describes itself as a diagram.
May not live here: counting, weighting or drawing words (languages), files (formats), or any algorithm beyond reading a
model.
Stands on pictures and numbers.
"""
