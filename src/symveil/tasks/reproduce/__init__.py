"""Every published figure next to ours.

Lives here: rows for each paper, each with what the paper prints and what we compute.
May not live here: a number of ours that is not computed when it is asked for.
"""
