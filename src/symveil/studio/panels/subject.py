"""The fields that Release and Compare share: what they are about."""

from __future__ import annotations

from collections.abc import Iterator

from symveil.errors import ParameterError, SymveilError, WordError
from symveil.studio.forms import FIELDS, Form
from symveil.studio.panel import Panel
from symveil.studio.tasks.subject import EXAMPLE_ADJACENCY, MOST_ADJACENCY

SUBJECT_DEFAULTS = {
    "source": "alphabet",
    "alphabet": "abcd",
    "word": "abcdabcd",
    "model": "",
    "trip": "",
    "separator": "",
}

ADJACENCIES = (("", "not chosen"), *((str(b), str(b)) for b in range(1, MOST_ADJACENCY + 1)), ("all", "all symbols"))
NOT_CHOSEN = f"Not chosen: 1 over an alphabet, {EXAMPLE_ADJACENCY} on the example roads. On your own model you decide."


class SubjectPanel(Panel):
    """A panel about a word, or a trip of a model."""

    files = frozenset({"model"})

    def subject_fields(self, form: Form) -> Iterator[str]:
        """The fields."""
        yield form.choice(
            "source",
            "About",
            (
                ("alphabet", "a word over an alphabet"),
                ("network", "a trip on example roads"),
                ("file", "a trip of my own model"),
            ),
        )
        yield form.text(
            "alphabet", "Alphabet", hint="Characters, or a list with commas. It is public.", when="source=alphabet"
        )
        yield form.text(
            "word",
            "Word",
            hint="Secret: it stays on this machine, and out of links.",
            when="source=alphabet",
            secret=True,
        )
        yield form.file(
            "model",
            "Model",
            hint="JSON, GraphML, DOT or a transition table. It stays on this machine.",
            when="source=file",
        )
        yield form.text(
            "trip",
            "Trip",
            hint="Secret. Leave it empty to look at a typical trip of the public model.",
            when="source=network|file",
            secret=True,
        )
        yield form.text(
            "separator",
            "Between symbols",
            hint="Leave it empty where each character is a symbol.",
            when="source=alphabet|file",
        )

    def adjacency_field(self, form: Form) -> str:
        """How much is hidden."""
        hint = f"Words that differ in up to b symbols are to look alike. {NOT_CHOSEN}"
        return form.choice("adjacency", FIELDS["adjacency"].label, ADJACENCIES, hint=hint)

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, WordError) or (isinstance(error, ParameterError) and error.name == "word"):
            return "word" if self.values["source"] == "alphabet" else "trip"
        return super()._field_for(error)
