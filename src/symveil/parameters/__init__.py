"""Parameters declared once, as fields of frozen dataclasses, and what is made of them.

Lives here: what a field says about itself (help, label, domain); signatures, docstrings, schemas and tables of fields.
May not live here: the parameters of a room, which it declares itself; options and forms (`cli`, `studio`).
Stands on `errors`; every room above may declare its parameters with it.
"""
