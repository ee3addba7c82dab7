"""Engines: many records through a mechanism, here on all cores, there on a cluster.

Lives here: the one core, a pure function from an Arrow batch to an Arrow batch, and what calls it.
Does not live here: files, budgets, or anything that decides what may be released.
"""
