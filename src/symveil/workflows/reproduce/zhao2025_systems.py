"""The systems of Z25, whose figures are pictures: reconstructed from the text so that every number in it comes out."""

from __future__ import annotations

from symveil.models.stochastic_system import StochasticSystem

RECONSTRUCTED = "the figure was reconstructed from the text"


def example_3() -> StochasticSystem:
    """Z25 Fig. 3a, the system A_s1; c is unobservable."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", "1/2"),
            ("1", "b", "3", 1),
            ("3", "d", "4", 1),
            ("0", "b", "5", "1/2"),
            ("5", "c", "6", 1),
            ("6", "a", "7", 1),
            ("7", "c", "8", 1),
        ],
        initial="0",
        observable=["a", "b", "d"],
        secret=["3", "8"],
    )


def example_4() -> StochasticSystem:
    """Z25 Fig. 4a, the system A_s2; f is unobservable."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", "1/2"),
            ("0", "b", "8", "1/2"),
            ("1", "a", "2", "2/3"),
            ("2", "b", "3", 1),
            ("1", "c", "5", "1/3"),
            ("5", "f", "6", 1),
            ("6", "c", "7", 1),
            ("8", "a", "9", "1/2"),
            ("9", "b", "11", "1/2"),
            ("9", "c", "11", "1/2"),
            ("8", "c", "10", "1/2"),
            ("10", "c", "11", 1),
        ],
        initial="0",
        observable=["a", "b", "c"],
        secret=["2"],
    )


def medical() -> StochasticSystem:
    """Z25 Fig. 8a; the text's unobservable f cannot be placed."""
    return StochasticSystem.from_transitions(
        [
            ("0", "a", "1", 1),
            ("1", "b", "2", "1/3"),
            ("1", "c", "3", "1/3"),
            ("1", "d", "7", "1/3"),
            ("2", "e", "4", 1),
            ("3", "e", "5", 1),
            ("7", "e", "6", 1),
            ("4", "a", "8", 1),
            ("5", "a", "9", 1),
            ("6", "a", "10", 1),
        ],
        initial="0",
        observable=["a", "b", "c", "d", "e"],
        secret=["7"],
    )
