"""Which proof decides a rate: for some forty settings, the rate and the processor time of each family alone.

`python -m benchmarks.provers [--seconds 60] [PART …]` prints a line of JSON for each setting (whose name contains PART)
and family: the share of ε/b that the rate reaches (1/2 is the classic rate), and the seconds. A family that takes
longer is ended. `boxes` begin with what the quick certificate proves; `all` is what a mechanism with a named cost gets.

What it said when certificates were sorted out: enumeration and halves decide wherever they are affordable. On small
chains boxes do (20 states of degree 10, b = 1, ε = 2: 0.89 in 8 s), on large sparse ones blocks (714 roads, n = 49,
b = 4, ε = 16: 0.996 in 9 s), and at small rates on chains with many detours (ring of 12, n = 30, b = 2, ε = 4: 0.745 in
0.03 s; boxes at once prove 0.715 there). The first pass of boxes proves what blocks do at large rates, in two to four
times their time (714 roads, n = 20, b = 1: 2.3 s a rate for 0.6 s). On automata boxes decide with b = 1 (6 states,
ε = 4: 0.85 in 1 s, windows 0.65 in 0.03 s), windows with b = 2 and few states (6 states, ε = 4: 0.77 in 0.2 s, boxes
0.65 in 98 s; 20 states, ε = 8: 0.54 in 2 s, boxes nothing in a minute), and the spread at large ε (60 states, ε = 8:
0.998 with b = 1, 0.865 with b = 2, where windows take more than a minute or prove nothing).

Boxes that are merged over positions are no substitute for blocks at one rate: on 30 states of degree 4 (n = 40, b = 3,
η = 3, where the classic bound is 18) blocks prove 10.23 in 0.07 s, boxes in three ranges of positions 13.7 in 0.22 s,
and those at every position 9.96 in 4.2 s; on a ring of 12 (n = 30, b = 2, η = 3/2, classic 6) 4.02 in 0.01 s, nothing
in 0.03 s and 4.12 in 0.09 s; in the town (n = 20, b = 2, η = 3/2, classic 6) all three stay within 0.001 of that bound,
in 0.1, 0.2 and 5 s.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import symveil as sv
from benchmarks.shanghai import trips_and_chain
from symveil.calibration.affordable import is_compared_by_halves
from symveil.calibration.answers import remembered
from symveil.calibration.block_bounds import loss_by_boxes
from symveil.calibration.calibrate import calibrated_rate
from symveil.calibration.certify import loss_by_spread
from symveil.calibration.costs.loss import searched_loss
from symveil.calibration.costs.rates import certify_cost
from symveil.calibration.halves.rates import rate_by_halves
from symveil.calibration.rates import Prover
from symveil.calibration.search import ANY, ProofEffort, ProvedLoss, largest_rate
from symveil.calibration.weighting import Weighting
from symveil.calibration.windows import WindowSearch, window_loss, window_search
from symveil.examples.paper_systems import grid_roads, town
from symveil.languages.costs import hamming
from symveil.languages.runs import RunLanguage
from symveil.languages.swap_costs import swap

_EVALUATIONS, _TOLERANCE = 8, Fraction(1, 2000)


def _ring(states: int, steps: tuple[int, ...] = (0, 1, 2)) -> sv.MarkovChain:
    names = [f"s{number:03}" for number in range(states)]
    rows = [(names[at], names[(at + step) % states], Fraction(1, len(steps))) for at in range(states) for step in steps]
    return sv.MarkovChain.from_transitions(rows)


def _dense(states: int, degree: int) -> sv.MarkovChain:
    dice, names = random.Random(1), [f"s{number:03}" for number in range(states)]
    rows = [(name, to, Fraction(1, degree)) for name in names for to in dice.sample(names, degree)]
    return sv.MarkovChain.from_transitions(rows, states=names)


def _actions(states: int, symbols: int, density: float, seed: int) -> sv.TransitionSystem:
    dice, names = random.Random(seed), [f"q{number}" for number in range(states)]
    rows = [(name, symbol, dice.choice(names)) for name in names for symbol in "abcdefgh"[:symbols]
            if dice.random() < density]  # fmt: skip
    left = {name for name, _, _ in rows}
    rows += [(name, "a", dice.choice(names)) for name in names if name not in left]
    return sv.TransitionSystem.from_transitions(rows, states=names, initial="q0")


MODELS: dict[str, Callable[[], object]] = {
    "town": town,
    "ring of 12": lambda: _ring(12),
    "ring of 60": lambda: _ring(60),
    "dense, 20": lambda: _dense(20, 10),
    "dense, 30": lambda: _dense(30, 4),
    "grid of 36": lambda: grid_roads(6, seed=2),
    "actions, 6": lambda: _actions(6, 3, 0.7, 1),
    "actions, 12": lambda: _actions(12, 2, 0.8, 7),
    "actions, 20": lambda: _actions(20, 4, 0.6, 3),
    "actions, 60": lambda: _actions(60, 3, 0.8, 1),
    "actions, 60, two symbols": lambda: _actions(60, 2, 1.0, 5),
    "Shanghai": lambda: (trips_and_chain() or (None, None))[1],
}

SETTINGS: tuple[tuple[str, int, int, str, str], ...] = (
    ("town", 9, 1, "3", ""), ("town", 20, 1, "1", ""), ("town", 20, 2, "4", ""), ("town", 40, 2, "8", ""),
    ("town", 12, 3, "6", ""), ("town", 20, 4, "16", "public"), ("town", 9, 2, "4", "swap"), ("town", 9, 1, "3", "swap"),
    ("ring of 12", 8, 2, "6", ""), ("ring of 12", 30, 1, "1/2", ""), ("ring of 12", 30, 2, "4", ""),
    ("ring of 12", 30, 4, "8", ""), ("ring of 12", 30, 1, "3", "prior"), ("ring of 12", 10, 2, "4", "swap"),
    ("ring of 60", 20, 1, "2", ""), ("ring of 60", 20, 2, "4", ""), ("ring of 60", 20, 4, "30", ""),
    ("dense, 20", 12, 1, "2", ""), ("dense, 20", 12, 2, "8", ""), ("dense, 30", 16, 2, "4", ""),
    ("dense, 30", 40, 3, "12", ""), ("grid of 36", 20, 1, "2", ""), ("grid of 36", 20, 2, "4", "public"),
    ("grid of 36", 12, 4, "16", ""), ("grid of 36", 12, 2, "4", "swap"), ("actions, 6", 30, 1, "4", ""),
    ("actions, 6", 30, 2, "4", ""), ("actions, 6", 12, 3, "12", ""), ("actions, 12", 20, 1, "1", ""),
    ("actions, 12", 20, 2, "3", ""), ("actions, 20", 16, 1, "2", ""), ("actions, 20", 16, 2, "8", ""),
    ("actions, 60", 20, 1, "2", ""), ("actions, 60", 20, 1, "8", ""), ("actions, 60", 20, 2, "8", ""),
    ("actions, 60, two symbols", 20, 1, "2", ""), ("actions, 60, two symbols", 30, 2, "30", ""),
    ("Shanghai", 20, 1, "2", "public"), ("Shanghai", 20, 2, "4", "public"), ("Shanghai", 49, 4, "16", "public"),
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """A setting with its budget."""

    weighting: Weighting
    epsilon: Fraction

    def best(self, prover: Prover, effort: ProofEffort = ANY) -> Fraction | None:
        """The largest rate that a prover proves, by the search of the quick certificate; None where it has no bound."""
        farthest, known = self.weighting.farthest, 0

        def loss_at(rate: Fraction) -> Fraction:
            nonlocal known
            proved = prover(self.weighting, rate, effort)
            known += proved is not None
            return 2 * farthest * rate if proved is None else min(proved.loss, 2 * farthest * rate)

        result = largest_rate(
            loss_at, epsilon=self.epsilon, safe=self.epsilon / (2 * farthest), slope=farthest, limit=self.epsilon,
            tolerance=_TOLERANCE, evaluations=_EVALUATIONS,
        )  # fmt: skip
        if not known:
            return None
        return self.epsilon / (2 * farthest) if result is None else result.rate


@remembered(1)
def _windows(weighting: Weighting) -> WindowSearch | None:
    """Also narrow ones, which blocks beat on chains."""
    return window_search(weighting.language, adjacency=weighting.adjacency, with_prior=weighting.with_prior)


def _by_windows(weighting: Weighting, rate: Fraction, _: ProofEffort) -> ProvedLoss | None:
    search = _windows(weighting)
    return None if search is None else ProvedLoss(window_loss(search, rate), "certified")


def _alone(prover: Prover) -> Callable[[Question], Fraction | None]:
    """A prover of exponential weights by Hamming distance."""
    return lambda question: question.best(prover) if question.weighting.is_plain else None


def _by_boxes_at_once(question: Question) -> Fraction | None:
    return question.best(searched_loss, ProofEffort(nodes=0))


def _by_boxes(question: Question) -> Fraction | None:
    return certify_cost(question.weighting, epsilon=question.epsilon).rate


def _by_halves(question: Question) -> Fraction | None:
    if not is_compared_by_halves(question.weighting):
        return None
    result = rate_by_halves(question.weighting, epsilon=question.epsilon)
    return None if result is None else result.rate


def _by_all(question: Question) -> Fraction | None:
    return calibrated_rate(question.weighting, epsilon=question.epsilon).rate


FAMILIES: dict[str, Callable[[Question], Fraction | None]] = {
    "spread": _alone(loss_by_spread), "windows": _alone(_by_windows), "blocks": _alone(loss_by_boxes),
    "boxes at once": _by_boxes_at_once, "boxes": _by_boxes, "halves": _by_halves, "all": _by_all,
}  # fmt: skip


def _question(model: object, length: int, adjacency: int, epsilon: str, options: str) -> Question:
    language = sv.runs(model, length, public_start=options == "public")
    assert isinstance(language, RunLanguage)
    cost = swap(language, adjacency=adjacency) if options == "swap" else hamming(language)
    return Question(
        Weighting(language=language, cost=cost, adjacency=adjacency, with_prior=options == "prior"), Fraction(epsilon)
    )


def _measured(setting: tuple[str, int, int, str, str], family: str, answers: multiprocessing.SimpleQueue[str]) -> None:
    model = MODELS[setting[0]]()
    if model is None:
        answers.put("no data here")
        return
    question = _question(model, *setting[1:])
    begin = time.process_time()
    rate = FAMILIES[family](question)
    seconds = round(time.process_time() - begin, 2)
    share = None if rate is None else round(float(rate * question.weighting.drops / question.epsilon), 4)
    answers.put(json.dumps({"share": share, "seconds": seconds}))


def rows(parts: list[str], limit: float) -> Iterator[dict[str, object]]:
    """Each setting and family, in a process of its own so that it can be ended."""
    context = multiprocessing.get_context("fork")
    for setting in SETTINGS:
        model, length, adjacency, epsilon, options = setting
        name = f"{model}, n = {length}, b = {adjacency}, ε = {epsilon}{', ' + options if options else ''}"
        if parts and not any(part in name for part in parts):
            continue
        for family in FAMILIES:
            answers: multiprocessing.SimpleQueue[str] = context.SimpleQueue()
            process = context.Process(target=_measured, args=(setting, family, answers))
            process.start()
            process.join(limit)
            if process.is_alive():
                process.terminate()
                process.join()
                yield {"setting": name, "family": family, "longer than": limit}
            elif answers.empty():
                yield {"setting": name, "family": family, "failed": process.exitcode}
            else:
                answer = answers.get()
                known = json.loads(answer) if answer.startswith("{") else {"note": answer}
                yield {"setting": name, "family": family, **known}


def main() -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="after so many a family is ended")
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    for row in rows(options.parts, options.seconds):
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
