"""Releases: many records through a mechanism, and the protocol by which a whole file is released.

Lives here: the one core, a pure function from an Arrow batch to an Arrow batch; the jobs that call it, on all cores
here or on a cluster; the order of charging, drawing and publishing that survives being killed at any moment; private
files read again, with what their manifests say, and released again at no further cost.
May not live here: how a word is drawn (mechanisms), what a file looks like (formats), how a budget is kept (ledger).
Stands on formats and ledger.
"""
