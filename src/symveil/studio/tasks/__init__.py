"""What panels ask for, computed in a worker: read the form, call a workflow, make an `Answer`."""
