"""Exact rationals, balls and outward rounding: numbers that can be trusted.

Lives here: reading numbers exactly, ball arithmetic at a chosen precision, rounding against the claim, printing very
large integers; and what threads share of what is computed: values worked out once, searches made in turn.
May not live here: anything that knows about words, privacy or random bits.
Stands at the bottom: imports errors only.
"""
