"""Central privacy: a trusted holder of a whole file releases tables, a model or synthetic words, with ε per person.

Lives here: public lists of cells, what a person may add to them, exact noise on the sums, what intervals say.
May not live here: files, ledgers, commands. A person is a number here, and a word is a list of codes.
Stands on estimation, whose statistics and windows it counts, and on laws, numbers and randomness.
"""
