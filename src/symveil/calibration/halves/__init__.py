"""Words that are halves: beginnings times ends have the weight of every word, so that all pairs of words are compared.

See docs/theory/certificates.md, *Words that are halves*. `rates.rate_by_halves` is the entry.

Lives here: the halves, their vectors and rows that agree but in some places (`tables`), words that differ in one block
or in any two positions (`blocks`, `positions`), and the search for the largest rate (`rates`).
May not live here: which words are few enough for that (`limits`).
"""
