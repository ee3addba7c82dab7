"""What panels ask for, computed in a worker: read the form, call a workflow, make an `Answer`.

Lives here: one file for each task, and what several of them read or say.
May not live here: mathematics (workflows and below), or a widget (panels).
"""
