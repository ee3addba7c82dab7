"""Words flipped in random order until one is accepted: never more error than the exponential mechanism.

Lives here: the mechanism and the race of clocks by which it draws.
May not live here: costs other than the distance (`cost_weighted`).
"""
