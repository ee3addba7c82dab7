"""How fast symveil is, always against a peer or a baseline timed in the same run: `python -m benchmarks`.

To add a benchmark, add a module here with a list `BENCHMARKS` of functions that take an `Effort` and
yield `Row`s (see row.py and measure.py). It is found by its presence; a peer that is not installed
makes a row that says so.
"""
