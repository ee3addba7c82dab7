"""Files: what is read at the door and what is written on the way out.

Lives here: formats, atomic writing, reports. Does not live here: what the content means.
"""
