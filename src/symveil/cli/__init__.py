"""The command line: parse, call a workflow, render. No mathematics, and no workflow imported before it is called."""
