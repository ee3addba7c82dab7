"""What is promised: budgets, adjacency, guarantees, and the `Law` that mechanisms fulfil and verifiers read.

Does not live here: any particular mechanism, or how a promise is checked.
"""
