"""Engines: many records through a mechanism, here on all cores, there on a cluster.

Lives here: the one core, a pure function from an Arrow batch to an Arrow batch, and what calls it.
May not live here: files, budgets, or anything that decides what may be released.
Stands on io and ledger.
"""
