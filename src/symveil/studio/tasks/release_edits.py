"""Release for words whose length is secret too: insertions, deletions and substitutions."""

from __future__ import annotations

import difflib
import html
from collections.abc import Mapping

from symveil.drawing.svg_plots import bars_svg
from symveil.io.page import table
from symveil.languages.bounded import BoundedRuns, BoundedWords, runs_up_to, words_up_to
from symveil.languages.free import FreeLanguage
from symveil.languages.graph import require_words
from symveil.languages.levenshtein_automaton import levenshtein_automaton
from symveil.mechanisms.edit_selection import select_edit_mechanism
from symveil.models.word import Word
from symveil.numerics.integers import decimal
from symveil.numerics.rationals import spelled
from symveil.privacy.parameters import read_epsilon
from symveil.studio.answer import Answer, Section, facts, large
from symveil.studio.tasks.subject import Subject, model_in, read_whole, source_file
from symveil.studio.tasks.words import promise, shown_epsilon
from symveil.workflows.explain_edits import EditExplanation, explain_edits
from symveil.workflows.release import Release, release_word

EDIT_MECHANISMS = ("edit", "truncated-levenshtein")
_EDITS_DRAWN, _MOST_STATES = 1, 30
_UNITS = {"edits": "edits made", "distance": "edits away"}


def answer_edits(values: Mapping[str, str], subject: Subject, count: int) -> Answer:
    """The Release panel with a mechanism that hides the length."""
    mechanism = select_edit_mechanism(
        _language(values, subject),
        epsilon=read_epsilon(values["epsilon"]),
        mechanism=values["mechanism"],
        adjacency=read_whole("adjacency", values["adjacency"]),
        calibration=values["calibration"] if values["mechanism"] != "edit" else "tight",
    )
    explanation = explain_edits(subject.word, mechanism)
    released = release_word(subject.word, mechanism, count=count)
    law, guarantee = explanation.law, mechanism.guarantee
    return Answer(
        title=f"symveil: {mechanism.name}, ε = {spelled(mechanism.epsilon)}",
        sections=(
            _guarantee(explanation),
            _law(explanation),
            _words(subject, released),
            _facts(explanation),
            *_automaton(subject),
        ),
        document={"explain": explanation.document(), "release": released.document()},
        columns=(_UNITS[law.measured], "words", "probability"),
        rows=tuple(
            (law.label(index), "" if words is None else decimal(words), float(law.probabilities[index]))
            for index, words in enumerate(law.words)
        ),
        marks=(
            ("epsilon", values["epsilon"]),
            ("guarantee", repr(guarantee.epsilon)),
            ("how", guarantee.how),
            ("error", repr(law.expected_error)),
            ("mechanism", mechanism.name),
        ),
        secret=True,
    )


def _language(values: Mapping[str, str], subject: Subject) -> BoundedWords | BoundedRuns:
    longest = read_whole("max_length", values["max_length"])
    if isinstance(subject.language, FreeLanguage):
        return words_up_to(subject.language.alphabet, longest)
    return runs_up_to(require_words(model_in(source_file(values))[0]), longest)


def _guarantee(explanation: EditExplanation) -> Section:
    mechanism, law = explanation.mechanism, explanation.law
    guarantee = mechanism.guarantee
    body = '<div class="pair"><div>' + large(
        f"ε = {shown_epsilon(guarantee.epsilon)}",
        promise(guarantee, mechanism.adjacency, "word", symbol="edit"),
        badge=guarantee.how,
    )
    body += "</div><div>" + large(
        f"{law.expected_error:.3g} {_UNITS[law.measured]}",
        f"on average. An edit inserts, deletes or replaces a symbol; the length, here {explanation.length}, is hidden "
        "as well.",
    )
    if explanation.document()["parameters"].get("tells_nothing"):  # type: ignore[attr-defined]
        body += '<p class="warning">At this ε everything is deleted: the release says nothing. Use a larger one.</p>'
    return Section(heading="What is promised, and what it costs", body=body + "</div></div>", wide=True)


def _law(explanation: EditExplanation) -> Section:
    law = explanation.law
    svg = bars_svg(
        law.distances,
        law.probabilities,
        title=f"Law of the edits, expected {law.expected_error:.4g}",
        x_label=_UNITS[law.measured] + (f" ({law.label(len(law.distances) - 1)} at the end)" if law.or_more else ""),
        y_label="probability",
        mark=law.expected_error,
        mark_label=f"expected {law.expected_error:.3g}",
    )
    return Section(heading="How far the private word lies from the true one", svg=svg, picture="law")


def _words(subject: Subject, released: Release) -> Section:
    separator = subject.shown_separator
    rows = [(_marked(subject.word, word, separator), str(len(word))) for word in released.released]
    true = (html.escape(separator) or "").join(html.escape(str(symbol)) for symbol in subject.word)
    body = f'<p class="quiet">The word:</p><p class="word true">{true}</p>' + table(
        ("private version (new symbols underlined, · where some are gone)", "length"), rows, word_columns=(0,)
    )
    after = (
        f'<p class="quiet">For your eyes only: publish one of them. All {len(rows)} together would cost '
        f"ε = {shown_epsilon(released.total_epsilon)}.</p>"
    )
    return Section(heading="Ten private versions", body=body, after=after)


def _marked(word: Word, released: Word, separator: str) -> str:
    """A released word as HTML, laid against the true one."""
    pieces = []
    for kind, _, _, first, last in difflib.SequenceMatcher(None, word, released, autojunk=False).get_opcodes():
        shown = [html.escape("␣" if symbol == " " else str(symbol)) for symbol in released[first:last]]
        if kind == "equal":
            pieces += shown
        else:
            pieces += [f"<b>{symbol}</b>" for symbol in shown] or ["<b>·</b>"]
    return (html.escape(separator) or "").join(pieces)


def _facts(explanation: EditExplanation) -> Section:
    mechanism, size = explanation.mechanism, explanation.language_size
    digits = "without end" if size is None else decimal(size)
    rows = [
        ("mechanism", f"{mechanism.name}, {mechanism.calibration} calibration"),
        ("words within the public bound", digits if len(digits) <= 12 else f"about 10<sup>{len(digits) - 1}</sup>"),
        ("automaton", f"{explanation.automaton[0]:,} states, {explanation.automaton[1]:,} edges"),
    ]
    parameters = explanation.document()["parameters"]
    rows += [
        (html.escape(name.replace("_", " ")), html.escape(str(value)))
        for name, value in parameters.items()  # type: ignore[attr-defined]
        if name != "tells_nothing"  # told above, where it matters
    ]
    return Section(heading="Facts", body=facts(rows), wide=True)


def _automaton(subject: Subject) -> tuple[Section, ...]:
    automaton = levenshtein_automaton(subject.word, _EDITS_DRAWN, alphabet=subject.language.alphabet)
    if automaton.state_count > _MOST_STATES or len(subject.language.alphabet) > _MOST_STATES:
        return ()
    return (
        Section(
            heading="The words one edit away",
            body="<p>The Levenshtein automaton of the word: a state has read some symbols and made some edits.</p>",
            svg=automaton.to_svg(),
            picture="automaton",
            wide=True,
            large=True,
        ),
    )
