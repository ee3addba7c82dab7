"""The systems of the papers; those whose figures are pictures are reconstructed: the numbers of the text come out."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from symveil.languages.runs import RunLanguage, runs
from symveil.models.automaton import TransitionSystem
from symveil.models.labelled_chain import LabelledChain
from symveil.models.markov_chain import MarkovChain
from symveil.models.stochastic_system import StochasticSystem

GRID_SIDE, GRID_STEPS = 15, 18
RECONSTRUCTED = "the figure was reconstructed from the text"


def grid() -> TransitionSystem:
    """J19 Fig. 3, a grid world: a move is labelled with the cell it leads to."""
    rows = []
    for row, column in product(range(GRID_SIDE), repeat=2):
        for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            if 0 <= row + down < GRID_SIDE and 0 <= column + right < GRID_SIDE:
                cell = f"{row + down},{column + right}"
                rows.append((f"{row},{column}", cell, cell))
    return TransitionSystem.from_transitions(rows, initial="0,0")


def corner_path() -> tuple[str, ...]:
    """A walk on the grid: right, down, right, down … from the corner."""
    return tuple(f"{(step + 1) // 2},{step // 2 + 1}" for step in range(GRID_STEPS))


def four_states() -> RunLanguage:
    """Words of three symbols on four states, as in B26 Fig. 3; its arrows are a picture, these are ours."""
    rows = [("y0", "y1", "1/2"), ("y0", "y2", "1/2"), ("y1", "y2", "1/2"), ("y1", "y3", "1/2")]
    rows += [("y2", "y1", "1/2"), ("y2", "y3", "1/2"), ("y3", "y1", "1/2"), ("y3", "y2", "1/2")]
    return runs(MarkovChain.from_transitions(rows, initial="y0"), 3)


def example_3() -> StochasticSystem:
    """Z25 Fig. 3a, the system A_s1; c is unobservable."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", "1/2"), ("1", "b", "3", 1), ("3", "d", "4", 1), ("0", "b", "5", "1/2"),
            ("5", "c", "6", 1), ("6", "a", "7", 1), ("7", "c", "8", 1),
        ],
        initial="0",
        observable=["a", "b", "d"],
        secret=["3", "8"],
    )  # fmt: skip


def example_4() -> StochasticSystem:
    """Z25 Fig. 4a, the system A_s2; f is unobservable."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", "1/2"), ("0", "b", "8", "1/2"), ("1", "a", "2", "2/3"), ("2", "b", "3", 1),
            ("1", "c", "5", "1/3"), ("5", "f", "6", 1), ("6", "c", "7", 1), ("8", "a", "9", "1/2"),
            ("9", "b", "11", "1/2"), ("9", "c", "11", "1/2"), ("8", "c", "10", "1/2"), ("10", "c", "11", 1),
        ],
        initial="0",
        observable=["a", "b", "c"],
        secret=["2"],
    )  # fmt: skip


def medical() -> StochasticSystem:
    """Z25 Fig. 8a; the text's unobservable f cannot be placed."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", 1), ("1", "b", "2", "1/3"), ("1", "c", "3", "1/3"), ("1", "d", "7", "1/3"),
            ("2", "e", "4", 1), ("3", "e", "5", 1), ("7", "e", "6", 1), ("4", "a", "8", 1), ("5", "a", "9", 1),
            ("6", "a", "10", 1),
        ],
        initial="0",
        observable=["a", "b", "c", "d", "e"],
        secret=["7"],
    )  # fmt: skip


def pin_checker() -> LabelledChain:
    """C19 Example 31 (Fig. 4a): which of two codes is accepted more often must not show in the attempts.

    >>> pin_checker()
    LabelledChain(7 states, 11 transitions, 4 labels, 1 related pair)
    """
    p, q = Fraction(53, 100), Fraction(47, 100)
    return LabelledChain.from_transitions(
        [
            ("0", "a0", 1), ("1", "a1", 1),
            ("a0", "end", p), ("a0", "b0", q), ("b0", "end", q), ("b0", "a0", p),
            ("a1", "end", q), ("a1", "b1", p), ("b1", "end", p), ("b1", "a1", q),
            ("end", "end", 1),
        ],
        labels={"0": "start", "1": "start", "a0": "a", "a1": "a", "b0": "b", "b1": "b", "end": "end"},
        related=[("0", "1")],
    )  # fmt: skip


def randomised_response(beta: Fraction = Fraction(2)) -> LabelledChain:
    """C19 Example 32 (Fig. 5a): the true answer with probability β/(1+β), the other one otherwise.

    >>> randomised_response()
    LabelledChain(5 states, 7 transitions, 4 labels, 1 related pair)
    """
    true, other = beta / (1 + beta), 1 / (1 + beta)
    return LabelledChain.from_transitions(
        [
            ("A", "a", true), ("A", "b", other), ("B", "a", other), ("B", "b", true),
            ("a", "end", 1), ("b", "end", 1), ("end", "end", 1),
        ],
        labels={"A": "sk", "B": "sk", "a": "a", "b": "b", "end": "end"},
        related=[("A", "B")],
    )  # fmt: skip
