"""Releasing a whole file: what an engine's job offers, the protocol around it, and the manifest.

Lives here: the order of charging, drawing and publishing that survives being killed at any moment, and the jobs that
follow it, on this machine and on a cluster.
May not live here: how a word is drawn (mechanisms), how a batch is (engines), or what a file looks like (io).
"""
