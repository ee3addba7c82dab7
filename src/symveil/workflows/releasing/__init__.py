"""Releasing a whole file: what an engine's job offers, the protocol around it, and the manifest."""
