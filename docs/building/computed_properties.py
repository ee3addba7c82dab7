"""Properties that are computed once, for the reference: griffe reads code without running it and knows Python's own."""

from __future__ import annotations

import griffe

griffe.stdlib_decorators |= {
    "symveil.numbers.once.computed_once": {"cached", "property"},
    "symveil.numbers.once.searched_once": {"cached", "property"},
}


class ComputedProperties(griffe.Extension):
    """What mkdocstrings loads."""
