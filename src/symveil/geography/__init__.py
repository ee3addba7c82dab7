"""Positions, zones and roads: where symbols lie.

Lives here: the cells, zones and links of positions, the legal path of links that explains positions best, distances.
May not live here: files, and anything that knows about privacy.
Stands on errors.
"""
