"""Files of sequences: rows of a format made into records of a form, and back.

Lives here: CSV, JSON Lines, Parquet and XES; wide and long form; the layout of what is written.
May not live here: what becomes of a record on its way (engines), or the budget it costs (ledger).
"""
