"""What a result says, written once: a report of facts, tables, bars and pictures, and what shows it.

Lives here: the report as data; its rendering as text for terminals and as HTML for pages and cards.
May not live here: results and how they are computed (below), printing (`cli`), the page of a session (`studio`).
Stands on `pictures`; tasks make reports, commands and the studio show them.
"""
