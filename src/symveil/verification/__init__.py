"""Proving or refuting guarantees without trusting the mechanism.

Lives here: checks that read a `Law` (or, later, a chain) and nothing else. Never imports
mechanisms: a verifier that shared their code would share their mistakes.
"""
