"""Silent labels: the chain of what is seen, with silent states left out (docs/theory/chains-and-opacity.md).

Runs are followed from one visible state to the next. From a silent state, the law of the first visible one solves a
linear system, and states are eliminated one after the other in exact rationals. A run may also stay silent for ever:
then nothing more is seen, which is a state of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flint import fmpq

from symveil.errors import ModelError
from symveil.graphs.walk import strong_components
from symveil.models.labelled_chain import START_LABEL, LabelledChain, Pair
from symveil.models.names import shown, unlike
from symveil.numbers.conversions import fraction, rational

SILENCE = "(silence)"

_Rows = dict[str, dict[str, fmpq]]


@dataclass(frozen=True, slots=True)
class SeenChain:
    """A chain without silent states, and for each state that was asked for the one in which its runs start there."""

    chain: LabelledChain
    start: dict[str, str]


def without_silent(chain: LabelledChain, silent: Iterable[str], *, starts: Iterable[str] | None = None) -> SeenChain:
    """The chain that an observer sees who cannot see some labels.

    Parameters
    ----------
    chain
        The chain.
    silent
        The labels that are not seen, nor that time passes while they last.
    starts
        States in which runs may start; the related ones by default. If one of them is silent, all of them get a
        state of their own before them, with one label for all.

    >>> mix = LabelledChain.from_transitions(
    ...     [("s", "wait", "1/2"), ("s", "a", "1/2"), ("wait", "wait", "1/2"), ("wait", "a", "1/6"),
    ...      ("wait", "b", "1/3"), ("a", "a", 1), ("b", "b", 1)],
    ...     labels={"s": "?", "wait": "tau", "a": "a", "b": "b"})
    >>> seen = without_silent(mix, ["tau"]).chain
    >>> [(source, target, str(chance)) for source, target, chance in seen.transitions if source == "s"]
    [('s', 'a', '2/3'), ('s', 'b', '1/3')]
    """
    hidden = _known_labels(chain, silent)
    start_states = list(dict.fromkeys(starts if starts is not None else (s for pair in chain.related for s in pair)))
    unseen = {state for state, label in zip(chain.states, chain.labels, strict=True) if label in hidden}
    labels = {state: label for state, label in zip(chain.states, chain.labels, strict=True) if state not in unseen}
    rows: _Rows = {state: {} for state in chain.states}
    for source, target, chance in chain.transitions:
        rows[source][target] = rational(chance)
    start = {state: state for state in start_states}
    taken = set(chain.states)
    if not unseen.isdisjoint(start_states):
        before = unlike(START_LABEL, set(chain.labels))
        for state in start_states:
            start[state] = unlike(f"before {state}", taken)
            taken.add(start[state])
            labels[start[state]] = before
            rows[start[state]] = {state: fmpq(1)}
    silence = unlike(SILENCE, taken)
    _send_to_silence(rows, unseen, silence)
    _eliminate(rows, unseen)
    if any(silence in row for state, row in rows.items() if state in labels):
        labels[silence] = unlike(SILENCE, set(chain.labels))
        rows[silence] = {silence: fmpq(1)}
    related: Sequence[Pair] = [(start[s], start[t]) for s, t in chain.related if s in start and t in start]
    seen = LabelledChain.from_transitions(
        [(state, target, fraction(chance)) for state in labels for target, chance in rows[state].items()],
        labels=labels,
        related=related,
        states=tuple(labels),
    )
    return SeenChain(seen, start)


def _known_labels(chain: LabelledChain, silent: Iterable[str]) -> set[str]:
    if isinstance(silent, str) or not isinstance(silent, Iterable):
        raise ModelError("silent", expected="a list of labels", found=shown(silent))
    known, hidden = set(chain.labels), set()
    for index, label in enumerate(silent):
        if label not in known:
            raise ModelError(f"silent[{index}]", expected="a label of the chain", found=shown(label))
        hidden.add(label)
    return hidden


def _send_to_silence(rows: _Rows, unseen: set[str], silence: str) -> None:
    """Lead what goes into silent states that are never left to `silence`, and forget those states."""
    comes_from: dict[str, list[str]] = {}
    for source, row in rows.items():
        for target in row:
            comes_from.setdefault(target, []).append(source)
    leaves = set(rows) - unseen
    waiting = list(leaves)
    while waiting:
        for source in comes_from.get(waiting.pop(), ()):
            if source not in leaves:
                leaves.add(source)
                waiting.append(source)
    for state in unseen - leaves:
        del rows[state]
    unseen &= leaves
    for row in rows.values():
        lost = [target for target in row if target not in rows]
        if lost:
            row[silence] = sum((row.pop(target) for target in lost), start=fmpq(0))


def _eliminate(rows: _Rows, unseen: set[str]) -> None:
    """Lead every transition into a silent state on to where that leads, one state after the other."""
    comes_from: dict[str, set[str]] = {state: set() for state in unseen}
    for source, row in rows.items():
        for target in row:
            if target in unseen:
                comes_from[target].add(source)
    # a silent state after all those that it leads to: then most of them lead to visible ones only
    order = sorted(unseen)
    number = {state: index for index, state in enumerate(order)}
    groups = strong_components([[number[target] for target in rows[state] if target in number] for state in order])
    for group in groups:
        left = {order[index] for index in group}
        while left:
            # few ways in times few ways out make few new transitions
            state = min(left, key=lambda each: (len(comes_from[each]) * len(rows[each]), each))
            left.remove(state)
            row = rows.pop(state)
            again = row.pop(state, fmpq(0))
            if again != 0:
                row = {target: chance / (1 - again) for target, chance in row.items()}
            for source in comes_from.pop(state) - {state}:
                into = rows[source]
                weight = into.pop(state)
                for target, chance in row.items():
                    into[target] = into[target] + weight * chance if target in into else weight * chance
                    if target in comes_from:
                        comes_from[target].add(source)
            for target in row:
                if target in comes_from:
                    comes_from[target].discard(state)
