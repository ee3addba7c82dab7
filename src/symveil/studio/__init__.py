"""The studio: one local page over the workflows. Parse, call a workflow, render; no mathematics.

A panel (`panels/`) is a form and a place for results. What a panel shows is computed by a task
(`tasks/`) in a worker process (`worker`), so that the page never freezes and a job can be stopped.
Nothing here may be imported by any other layer but `cli`, and nothing here may reach the network.
"""
