"""A two-sided certificate for every cost, prior and adjacency: what a rate loses at most, and the worst pair found.

See docs/theory/certificates.md. `rates.certify_cost` is the entry.

Lives here: bounds on ln Z over blocks of words that differ (`boxes`, `blocks`, `halves`, and their loops), the
best-first search over them, and the search for the largest rate that they prove.
May not live here: what a cost is and how words are drawn by it (`languages`), or a bound that is not proved.
"""
