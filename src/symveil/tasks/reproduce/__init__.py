"""Every published figure next to ours.

Lives here: one module per paper that yields rows, each with what the paper prints and what we compute.
May not live here: a number of ours that is not computed when it is asked for.
"""
