"""The studio: one local page over the tasks. Read a form, call a task, render.

Lives here: a panel (`panels/`) is a form and a place for results; what it shows is computed by a task (`tasks/`) in a
worker process (`worker`), so that the page never freezes and a job can be stopped.
May not live here: mathematics, or anything that reaches the network. No other layer but `cli` may import it.
Stands on tasks.
"""
