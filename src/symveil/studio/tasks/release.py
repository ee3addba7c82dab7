"""Release: what a mechanism would do to a word, and ten private words."""

from __future__ import annotations

import html
import time
from collections.abc import Mapping

import numpy as np

from symveil.errors import TooLargeError
from symveil.io.page import table
from symveil.languages.free import FreeLanguage
from symveil.mechanisms.distance_weighted import DistanceWeighted
from symveil.numerics.integers import decimal
from symveil.numerics.rationals import spelled
from symveil.privacy.law import DistanceLaw
from symveil.studio.answer import Answer, Section, facts, large
from symveil.studio.tasks.release_edits import EDIT_MECHANISMS, answer_edits
from symveil.studio.tasks.subject import Subject, read_mechanism, read_subject, read_whole
from symveil.studio.tasks.trellis import grid_svg, trellis_svg
from symveil.studio.tasks.words import counted, marked_word, promise, shown_epsilon
from symveil.studio.worker import Progress
from symveil.workflows.explain import Explanation, explain_word
from symveil.workflows.release import Release, release_word

SHOWN_WORDS = 10
PROVING = "Proving the guarantee; the first time on a machine this takes up to a minute"
_LONG_WORD = 30  # characters: a longer word gets the whole width


def answer_release(values: Mapping[str, str], progress: Progress) -> Answer:
    """The Release panel."""
    subject = read_subject(values)
    if values["mechanism"] in EDIT_MECHANISMS:
        progress(0, 0, PROVING)
        return answer_edits(values, subject, SHOWN_WORDS)
    mechanism = read_mechanism(values, subject.language)
    if not isinstance(subject.language, FreeLanguage):
        progress(0, 0, PROVING)
    explanation = explain_word(subject.word, mechanism)
    released = release_word(subject.word, mechanism, count=SHOWN_WORDS)
    law = explanation.law
    return Answer(
        title=f"symveil: {mechanism.name}, ε = {spelled(mechanism.epsilon)}",
        sections=(
            _guarantee(explanation, subject),
            _law(law),
            *_facts_and_words(explanation, subject, released),
            _trellis(subject, explanation, values["distance"]),
        ),
        document={"explain": explanation.document(), "release": released.document()},
        columns=("distance", "words", "probability"),
        rows=tuple(
            (int(distance), decimal(count), float(probability))
            for distance, count, probability in zip(law.distances, law.counts, law.probabilities, strict=True)
        ),
        marks=(
            ("epsilon", values["epsilon"]),
            ("guarantee", repr(mechanism.guarantee.epsilon)),
            ("how", mechanism.guarantee.how),
            ("error", repr(law.expected_error)),
            ("mechanism", mechanism.name),
        ),
        secret=True,
    )


def prepare_release(values: Mapping[str, str], progress: Progress) -> float:
    """Prove the guarantee for one more ε, so that the slider finds it ready; how many seconds that took."""
    del progress
    began = time.monotonic()
    read_mechanism(values, read_subject(values).language).guarantee  # noqa: B018 - kept where the other worker finds it
    return time.monotonic() - began


def _guarantee(explanation: Explanation, subject: Subject) -> Section:
    mechanism, law = explanation.mechanism, explanation.law
    guarantee = mechanism.guarantee
    noun = "word" if subject.separator == "" else "sequence"
    unchanged = float(law.probabilities[0]) if len(law.distances) and law.distances[0] == 0 else 0.0
    asked = shown_epsilon(float(mechanism.epsilon))
    loss = shown_epsilon(guarantee.epsilon)
    body = '<div class="pair"><div>' + large(
        f"ε = {loss}",
        promise(guarantee, mechanism.adjacency, noun) + (f" You asked for {asked}." if loss != asked else ""),
        badge=guarantee.how,
    )
    body += "</div><div>" + large(
        f"{law.expected_error:.3g} of {law.length}",
        f"symbols are changed on average; nothing at all is changed with probability {unchanged:.3g}.",
    )
    body += "</div></div>"
    if explanation.protection is not None and explanation.protection.thin:
        near = explanation.protection.neighbours_within_adjacency
        body += (
            '<p class="warning">Protection is thin: on average only '
            f"{near:.3g} feasible words lie within b = {mechanism.adjacency} of a word. A larger b may hide more.</p>"
        )
    return Section(heading="What is promised, and what it costs", body=body, wide=True)


def _law(law: DistanceLaw) -> Section:
    bounds = ""
    if law.bounds:
        bounds = (
            f'<p class="quiet">Proved beforehand: the expected error lies between {law.bounds.lower:.4g} and '
            f"{law.bounds.upper:.4g} (Benvenuti 2026, Theorem 2).</p>"
        )
    return Section(
        heading="How far the private word lies from the true one", svg=law.to_svg(), picture="law", after=bounds
    )


def _facts_and_words(explanation: Explanation, subject: Subject, released: Release) -> tuple[Section, Section]:
    """Short words stand beside the law and the facts, long ones below both."""
    told, words = _facts(explanation, subject), _words(subject, released)
    return (told, words) if words.wide else (words, told)


def _words(subject: Subject, released: Release) -> Section:
    separator = subject.shown_separator
    rows = []
    for word in released.released:
        changed = sum(old != new for old, new in zip(subject.word, word, strict=True))
        rows.append((marked_word(subject.word, word, separator), str(changed)))
    true = marked_word(subject.word, subject.word, separator)
    what = "A typical word of the public model" if subject.typical else "Your word"
    body = f'<p class="quiet">{what}:</p><p class="word true">{true}</p>' + table(
        ("private version (changed symbols underlined)", "changed"), rows, word_columns=(0,)
    )
    after = (
        f'<p class="quiet">For your eyes only: publish one of them. All {SHOWN_WORDS} together would cost '
        f"ε = {shown_epsilon(released.total_epsilon)}.</p>"
    )
    long = sum(len(str(symbol)) + len(separator) for symbol in subject.word) > _LONG_WORD
    return Section(heading="Ten private versions", body=body, after=after, tall=not long, wide=long)


def _trellis(subject: Subject, explanation: Explanation, wanted: str) -> Section:
    law, mechanism, language = explanation.law, explanation.mechanism, subject.language
    codes = tuple(language.encode(subject.word).tolist())
    possible = law.distances.tolist()
    if wanted == "auto":
        distance = int(law.distances[int(np.argmax(law.probabilities))])
        if distance == 0 and len(possible) > 1:
            distance = possible[1]  # the word itself is no picture
    else:
        distance = read_whole("distance", wanted)
        distance = min(possible, key=lambda each: abs(each - distance))
    svg = trellis_svg(language, codes, distance)
    if svg is not None:
        told = (
            f"All words at distance {distance}, state by state. <b>V</b> counts the ways to finish from a state; "
            "following <b>μ</b> draws each word with the same probability."
        )
        return Section(
            heading="The automaton it is drawn from",
            body=f"<p>{told}</p>",
            svg=svg,
            picture="automaton",
            wide=True,
            large=True,
        )
    size = f"{explanation.automaton.state_count:,} states and {explanation.automaton.edge_count:,} edges"
    weighted = isinstance(mechanism, DistanceWeighted)
    chances = np.zeros(language.length + 1)
    if weighted:
        chances[law.distances] = law.probabilities
        what = "as this mechanism draws it"
    else:
        chances[distance] = 1.0
        what = f"for a word drawn at distance {distance}"
    try:
        grid = grid_svg(language, codes, chances, f"Position × errors of an automaton of {size}")
    except TooLargeError:
        return Section(
            heading="The automaton it is drawn from",
            body=f"<p>It has {size}: too many to draw. Try a shorter word.</p>",
            wide=True,
        )
    told = (
        f"The automaton has {size}: summed up here over the states of the model, {what}. Each cell: how likely the "
        "draw passes there, and how likely the next symbol is changed."
    )
    return Section(
        heading="The automaton it is drawn from, summed up",
        body=f"<p>{told}</p>",
        svg=grid,
        picture="automaton",
        wide=True,
        large=True,
    )


def _facts(explanation: Explanation, subject: Subject) -> Section:
    mechanism, automaton = explanation.mechanism, explanation.automaton
    size = decimal(mechanism.language.size)
    rows = [
        ("mechanism", html.escape(f"{mechanism.name}, {mechanism.calibration} calibration")),
        ("words of this length", size if len(size) <= 12 else f"{size[0]}.{size[1:3]} × 10<sup>{len(size) - 1}</sup>"),
        ("automaton", f"{automaton.state_count:,} states, {automaton.edge_count:,} edges"),
    ]
    if explanation.certificate is not None:
        proof = explanation.certificate
        rows.append(("certificate", f"η = {float(proof.rate):.5g}; ln Z(v)/Z(w) ≤ {proof.ratio_bound:.3g}"))
    if explanation.protection is not None:
        near = explanation.protection.neighbours_within_adjacency
        rows.append(("within b of a typical word", counted(near, "feasible word")))
    rows += [("note", html.escape(note)) for note in subject.notes]
    return Section(heading="Facts", body=facts(rows))
