"""The command line: read options, call a task, render.

Lives here: a file for each command, or for two or three that belong together; the options that several share
(`options`), those that fields make and what can be typed after them (`field_options`), what every command is made of
and how a result is printed (`output`), how a refusal is (`field_options`, `main`), and the line for unexpected errors
(`main`, `entry`).
May not live here: mathematics, or a task imported before it is called: `symveil --help` stays fast.
Stands at the top: no other layer may import it.
"""
