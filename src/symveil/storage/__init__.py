"""The file system: opening regular files only, and writing files that are whole or not there at all.

Lives here: what every room that reads or writes a file needs, whatever is in it.
May not live here: formats (formats), or anything that knows what a file is about.
Stands on errors only.
"""
