"""The ledger: how much of each person's budget is left, kept in a real database.

Lives here: budgets, charges, the record of every release, their composition.
May not live here: sequences (the ledger never sees a symbol), drawing, or files of any other kind.
Stands beside formats: neither imports the other.
"""
