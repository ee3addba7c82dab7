"""A two-sided certificate for every cost, prior and adjacency: what a rate loses at most, and the worst pair found.

See docs/theory/two-sided.md. `rates.certify_cost` is the entry.
"""
