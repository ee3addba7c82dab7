"""One file for each panel: its form, and which task answers it.

Lives here: fields, their names and their order on the page.
May not live here: anything that is computed (tasks).
"""
