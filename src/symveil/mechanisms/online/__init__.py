"""One symbol in, one symbol out: a private word drawn while the true one arrives.

Lives here: the mechanism and its steps for many words at once.
May not live here: mechanisms that read a whole word first.
"""
