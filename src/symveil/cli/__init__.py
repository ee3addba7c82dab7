"""The command line: read options, call a task, render.

Lives here: one file for each command; what every command is made of (`command`), the options that several share
(`options`, `single_options`, `values`), how a result is printed (`output`), how a refusal is (`usage`, `main`), and
the line for unexpected errors (`main`, `unplanned`).
May not live here: mathematics, or a task imported before it is called: `symveil --help` stays fast.
Stands at the top: no other layer may import it.
"""
