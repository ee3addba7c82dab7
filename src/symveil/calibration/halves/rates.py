"""The loss of a language of many short words: beginnings and ends of words are listed, and meet in the middle.

See docs/theory/certificates.md, *Words that are halves*. Z(w) of a word is a product α·β of what its beginning and its
end are worth, so a table of beginnings times a table of ends has Z of every word: a hundred million words from some
ten thousand halves. Every pair of words that differ in one block is then compared, however large the rate is. What is
proved for blocks is exact, and for one hidden symbol so is the loss; for two hidden symbols see `positions`.

Of rates one to three are tried to the end. A pair of words that was found from public ones says at which rate it would
lose ε, and a little less is tried first. Often that is proved; if not, the first pair that loses too much leads to
worse ones, and they say which rate to try next. What is returned was proved by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction

import numpy as np

from symveil.calibration.answers import Entry, Rates
from symveil.calibration.costs.blocks import total_over_blocks
from symveil.calibration.costs.pairs import Bracket, pair_losses, pairs_of_public_words, worse_pair
from symveil.calibration.halves.blocks import BlockComparison
from symveil.calibration.halves.positions import PositionsComparison, TooLight
from symveil.calibration.halves.tables import HalfTables, Worst
from symveil.calibration.search import CertifiedRate, ProvedLoss, rounded_down
from symveil.calibration.weighting import Weighting
from symveil.laws.guarantee import How
from symveil.numbers.once import begin_search
from symveil.numbers.progress import Progress

_TWO_POSITIONS = 2


def loss_by_halves(
    weighting: Weighting,
    rate: Fraction,
    *,
    epsilon: Fraction | None = None,
    report: Callable[[float], None] | None = None,
) -> ProvedLoss | None:
    """The loss at a rate from the blocks of all pairs of words; None where weights leave the range of floats.

    `halves_work` of the weighting is affordable. With ε the search ends at the first block that alone is above it: the
    classic bound, with `reached` as what the block is worth, and its words. `report` gets the share of the work that is
    done.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), length=8)
    >>> found = loss_by_halves(Weighting(language=words, cost=hamming(words), adjacency=1), Fraction(2))
    >>> round(float(found.loss), 9), found.how                               # on Σⁿ exactly η
    (2.0, 'exact')
    """
    classic = 2 * weighting.drops * rate
    if classic == 0:
        return ProvedLoss(classic, "exact")
    tables = HalfTables(weighting, weighting.weights(rate))
    if not tables.is_bounded:
        return None
    if weighting.adjacency == _TWO_POSITIONS and tables.costs_alike:
        if PositionsComparison.is_narrow(tables, float(classic / 2 if epsilon is None else epsilon)):
            with suppress(TooLight):
                return _compared(PositionsComparison(tables, narrow=True), tables, rate, epsilon, report or _silent)
        return _compared(PositionsComparison(tables, narrow=False), tables, rate, epsilon, report or _silent)
    return _compared(BlockComparison(tables), tables, rate, epsilon, report or _silent)


def _compared(
    comparison: BlockComparison | PositionsComparison,
    tables: HalfTables,
    rate: Fraction,
    epsilon: Fraction | None,
    report: Callable[[float], None],
) -> ProvedLoss:
    weighting, worst = tables.weighting, Worst()
    steep = weighting.cost.period > 1
    fixed = weighting.drops * rate
    most = math.inf if epsilon is None else float(epsilon - fixed if steep else epsilon)
    report(0.0)
    for share in comparison.compare(worst):
        report(share)
        if worst.value > most:
            reached = worst.value + (float(fixed) if steep else 0.0)
            return ProvedLoss(2 * fixed, "classic", pairs=worst.pairs[:1], reached=reached)
    widening = comparison.rounding(worst.largest_log)
    worth = {
        kind: Fraction(value + widening) for kind, (value, _) in worst.largest_each.items() if value + widening > 0
    }
    over_blocks = total_over_blocks(worth, tables.steps, weighting.adjacency)
    bound = fixed + min(fixed, over_blocks) if steep else over_blocks
    pairs = worst.pairs
    losses = [0.0]
    if pairs:
        losses = pair_losses(weighting, rate, *(np.stack(each) for each in zip(*pairs, strict=True))).tolist()
    how: How = "exact" if weighting.adjacency == 1 and not steep else "certified"
    return ProvedLoss(min(bound, 2 * fixed), how if bound < 2 * fixed else "classic", max(losses), pairs)


def _silent(_: float) -> None:
    """A progress callback that does nothing."""


_TOLERANCE, _EVALUATIONS = Fraction(1, 250), 5
_MOST_STOPS = {1: 6, 2: 2}  # rates that a pair rules out before all are compared, by b; 1 where blocks are added up

FORMAT = "symveil-meeting-3"
"""Changes with every change of the proof or of the search."""

_answers = Rates()


def rate_by_halves(
    weighting: Weighting, *, epsilon: Fraction, progress: Progress | None = None, claimed: Fraction | None = None
) -> CertifiedRate | None:
    """The largest rate found whose loss is at most `epsilon`; None where nothing above the classic one was proved.

    Answers are kept in memory and on disk (`answers`); what comes from the disk is proved once more before it is used.

    `halves_work` of the weighting is affordable. A claimed rate is proved in one evaluation.

    >>> import symveil as sv
    >>> from symveil.languages.costs import hamming
    >>> words = sv.runs(sv.MarkovChain.from_transitions([(a, b, "1/3") for a in "abc" for b in "abc"]), length=8)
    >>> found = rate_by_halves(Weighting(language=words, cost=hamming(words), adjacency=1), epsilon=Fraction(2))
    >>> round(float(found.rate), 2), found.how                               # ε/b, on Σⁿ
    (2.0, 'exact')
    """
    if weighting.drops == 0:
        return weighting.classic(epsilon)

    bracket = Bracket(weighting, epsilon)

    def prove(rate: Fraction, _: Entry) -> CertifiedRate | None:
        result = loss_by_halves(weighting, rate, epsilon=epsilon)
        if result is None or result.loss > epsilon:
            return None
        bracket.pairs += result.pairs
        return bracket.certificate(rate, result)

    answer = _answers.best(
        (FORMAT, weighting.digest, str(epsilon)),
        least=bracket.classic,
        most=epsilon * 1000,
        search=lambda: _searched(bracket, progress),
        prove=prove,
        claimed=claimed,
    )
    return None if answer is None or answer.how == "classic" else answer


def _searched(bracket: Bracket, progress: Progress | None) -> CertifiedRate:
    weighting, epsilon = bracket.weighting, bracket.epsilon
    known: dict[Fraction, ProvedLoss] = {}
    reported, stops = 0, 0
    most_stops = _MOST_STOPS.get(weighting.adjacency, 1)

    def proved(rate: Fraction) -> ProvedLoss:
        done = min(len(known), _EVALUATIONS - 1)

        def report(share: float) -> None:
            nonlocal reported
            reported = max(reported, int(1000 * (done + share)))
            if progress is not None:
                progress(reported, 1000 * _EVALUATIONS)

        result = loss_by_halves(weighting, rate, epsilon=epsilon if stops < most_stops else None, report=report)
        known[rate] = ProvedLoss(2 * weighting.drops * rate, "classic") if result is None else result
        return known[rate]

    begin_search("a rate, all pairs of words compared")
    bracket.pairs = pairs_of_public_words(weighting, bracket.limit)
    rate = rounded_down(max(bracket.ruled_out(), bracket.classic) * (1 - _TOLERANCE / 4))
    completed = 0
    while completed < _EVALUATIONS:
        result = proved(rate)
        stopped = result.reached < math.inf
        completed, stops = completed + (not stopped), stops + stopped
        if stopped:  # at the first pair, which leads to worse ones
            bracket.pairs += [worse_pair(weighting, rate, pair)[1] for pair in result.pairs]
        else:
            bracket.pairs += result.pairs
        if result.loss <= epsilon:
            bracket.succeed(rate, result)
        else:
            bracket.fail(rate)
        if result.how == "classic" and not result.pairs:
            break
        ruled_out, lowest, highest = bracket.ruled_out(), bracket.lowest, bracket.highest
        spent = Fraction(0) if bracket.best is None else bracket.best[1].loss
        if highest <= lowest * (1 + _TOLERANCE) or spent >= epsilon * (1 - _TOLERANCE / 2):
            break
        wanted = _wanted(known, rate, ruled_out, epsilon)
        rate = rounded_down(min(wanted, ruled_out) * (1 - _TOLERANCE / 4))
        if not lowest < rate < highest:
            rate = rounded_down((lowest + highest) / 2)
    return weighting.classic(epsilon) if bracket.best is None else bracket.certificate(*bracket.best)


def _wanted(known: dict[Fraction, ProvedLoss], rate: Fraction, ruled_out: Fraction, epsilon: Fraction) -> Fraction:
    """The rate to try after this one: what the worst pair leaves where nothing else counts, else where a line leads."""
    result = known[rate]
    if result.reached < math.inf:
        return ruled_out if ruled_out < rate else rate * epsilon / Fraction(result.reached)
    near = float(result.loss) - result.worst_found <= float(_TOLERANCE / 4) * float(
        epsilon
    )  # what is proved, a pair loses
    if result.how == "exact" or result.loss == 0 or near:
        return ruled_out
    line = _on_a_line([(each, of.loss) for each, of in known.items() if of.how == "certified"], epsilon)
    return rate * epsilon / result.loss if line is None else line


def _on_a_line(points: list[tuple[Fraction, Fraction]], epsilon: Fraction) -> Fraction | None:
    """Where the line through the two last rates and their losses reaches ε; None where it does not rise.

    >>> _on_a_line([(Fraction(2), Fraction(5)), (Fraction(1), Fraction(3))], Fraction(4))
    Fraction(3, 2)
    """
    if len(points) < 2:
        return None
    (before, much), (last, less) = points[-2:]
    if (much - less) * (before - last) <= 0:
        return None
    return last + (epsilon - less) * (last - before) / (less - much)
