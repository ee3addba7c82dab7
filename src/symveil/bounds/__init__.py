"""Lower bounds on the expected error of every ε-private mechanism (docs/theory/lower-bounds.md).

Lives here: the prior that averages are taken over, tiles of a word and the prices that bound the error on a tile, the
best tiling, and the bound with its method and its confidence.
May not live here: any mechanism. A bound holds for all of them.
Stands on calibration, whose enumeration it shares.
"""
