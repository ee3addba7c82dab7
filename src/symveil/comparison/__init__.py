"""How well a private file keeps what the true one says: metrics for the holder of both.

Lives here: metrics of two files of coded words, each named after the paper and the code that it is from, and the exact
transport that one of them needs.
May not live here: reading files and drawing pictures (`compare` in tasks does both); mechanisms and verification,
not even imported, nor may they import this: every number here depends on the secret words.
Stands on laws, beside mechanisms and verification.
"""
