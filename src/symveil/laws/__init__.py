"""What is promised: budgets, adjacency, guarantees, and the `Law` that mechanisms fulfil and verifiers read.

Lives here: parameters as they are read, guarantees, laws of distances, protection, what a mechanism's chain must offer.
May not live here: any particular mechanism's draw, or how a promise is checked (verification).
Stands on languages.
"""
