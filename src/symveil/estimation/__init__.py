"""What a private file says about the true sequences: estimates with intervals, at no further cost in privacy.

Lives here: the statistics, the estimators that undo a known law of noise, their variances and intervals.
May not live here: reading files or manifests, building mechanisms. It reads laws and public parameters only.
Stands on laws.
"""
