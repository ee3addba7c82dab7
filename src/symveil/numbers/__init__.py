"""Exact rationals, balls and outward rounding: numbers that can be trusted.

Lives here: reading numbers exactly, conversions between rationals, floats and balls with their rounding, printing very
large integers; what threads share: values that are computed once, searches that one thread makes; and the records of
limits that rooms have.
May not live here: anything that knows about words, privacy or random bits.
Stands at the bottom: imports errors only.
"""
