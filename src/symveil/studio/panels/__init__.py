"""One file for each panel: its form, and which task answers it."""
