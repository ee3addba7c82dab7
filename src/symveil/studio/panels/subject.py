"""The fields that Release and Compare share: what they are about."""

from __future__ import annotations

from collections.abc import Iterator

from symveil.errors import ParameterError, SymveilError, WordError
from symveil.studio.forms import Form, Scale
from symveil.studio.panel import Panel

SUBJECT_DEFAULTS = {
    "source": "alphabet",
    "alphabet": "abcd",
    "word": "abcdabcd",
    "model": "",
    "trip": "",
    "separator": "",
}

ADJACENCY = Scale.of("1", "10", "1")


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
                ("network", "a trip on the example roads (43 segments)"),
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
        hint = "Words that differ in up to b symbols are to look alike."
        return form.slider("adjacency", "Hidden symbols b", ADJACENCY, hint=hint)

    def _field_for(self, error: SymveilError) -> str | None:
        if isinstance(error, WordError) or (isinstance(error, ParameterError) and error.name == "word"):
            return "word" if self.values["source"] == "alphabet" else "trip"
        return super()._field_for(error)
