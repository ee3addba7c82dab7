"""Proving or refuting guarantees without trusting the mechanism.

Lives here: checks that read a `Law`, a labelled chain or a partially observed system and nothing else: audit,
distances, opacity.
May not live here: mechanisms, not even imported: a verifier that shared their code would share their mistakes.
Stands on laws, beside mechanisms.
"""
