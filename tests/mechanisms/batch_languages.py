"""Small languages of each kind whose words are drawn in batches, and a key to draw them with."""

from __future__ import annotations

import symveil as sv
from symveil.models.automaton import Automaton
from symveil.models.markov_chain import MarkovChain
from symveil.randomness import RecordKey

KEY = RecordKey(bytes(32), "release")
ROWS = [
    ("a", "a", "1/4"), ("a", "b", "1/4"), ("a", "c", "1/2"), ("b", "c", "2/3"), ("b", "d", "1/3"),
    ("c", "a", "1/2"), ("c", "d", "1/2"), ("d", "b", "1/5"), ("d", "e", "4/5"),
]  # fmt: skip
WITH_ENDS = Automaton.from_transitions(
    [("p", "x", "p"), ("p", "x", "q"), ("q", "y", "p"), ("q", None, "r"), ("r", "z", "p"), ("r", "x", "r")],
    initial="p",
    accepting=["r"],
)
OF_EACH_KIND = {
    "dead end": sv.runs(MarkovChain.from_transitions(ROWS), 6),
    "public start": sv.runs(MarkovChain.from_transitions(ROWS), 6, public_start=True),
    "initial": sv.runs(MarkovChain.from_transitions(ROWS, initial="a"), 5),
    "accepting states": sv.runs(WITH_ENDS, 5),
}
