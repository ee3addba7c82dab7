""" "auto" on the words of a model: the certified candidate with the least expected error over public words.

Candidates are the exponential mechanism and the staircase, by Hamming distance or by swaps, plain or balanced,
permute-and-flip where nothing is certified, and the online mechanism; where (d/b)·ε is to be kept, of few words also
the optimal mechanism whose weights need no normaliser. Errors are averages over uniform feasible words
of the public model, from a fixed seed: nothing secret is read, so the choice costs no privacy.

A certificate takes from seconds to minutes, so candidates are first ranked by what they could reach at best: at ε/Δ,
then at the rate that a pair of words rules out. The best is certified, and the next, until one is certified that no
other can beat. What may be certified depends on the size of the model only, never on a clock: all words that are few or
short, sparse graphs, and the Hamming distance on small graphs. Other candidates have their classic rate, and a
mechanism that is asked for by name gets its certificate. In a file of words of many lengths each would need
certificates of its own, so those are left out that take long and do not hold for many lengths at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from symveil.calibration.affordable import is_compared_by_halves
from symveil.calibration.limits import LIMITS as CALIBRATION
from symveil.calibration.weighting import Weighting
from symveil.errors import SymveilError, TooLargeError
from symveil.languages.run_counts import can_count
from symveil.languages.run_laws import expected_errors
from symveil.languages.runs import RunLanguage
from symveil.laws.protection import public_words
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.code_law import excess
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.limits import LIMITS
from symveil.mechanisms.mechanism import Mechanism, Remarks
from symveil.mechanisms.online import Online
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.models.alphabet import Codes

_MUCH = Fraction(3, 4)  # of the budget is not much left
_SCREENED, _HOPELESS = 3, 1.5  # the law of the online mechanism takes long: a few words tell whether it is far behind
_CLEARLY = 0.99  # what is less plain must have less than this share of the error
_MUCH_LESS = 0.5  # of the error is worth a line
_CAPS = (2, 3, 4, 5, 6, 8, 11, 16, 23, 32)
_HARDLY = 1.05  # times the error without a cap is hardly more: so much may the smallest cap of swap costs cost


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A mechanism with its error.

    A classic guarantee counts as much as a certified one: both are proved, and what the first wastes is in its error
    already.
    """

    mechanism: Mechanism
    error: float
    rank: int
    """How plain it is: 0 is the plainest, whatever the order in which candidates are certified."""


@dataclass(slots=True)
class _Prospect:
    """A candidate that may be certified, and the least error that it could have."""

    mechanism: Exponential | Staircase
    weighting: Weighting
    choice: MechanismChoice
    rank: int = 0
    least: float = 0.0
    looked_for_pairs: bool = False
    compared_pairs: int = 0
    uncapped: Weighting | None = None
    """By the cap that is not noticed, where a smaller one was chosen."""

    @property
    def certainly_classic(self) -> bool:
        """Whether exponential weights were searched over boxes and nothing was proved."""
        searched = not is_compared_by_halves(self.weighting)
        return searched and self.mechanism.name == Exponential.name and self.mechanism.guarantee.how == "classic"

    def has_steps_of(self, other: _Prospect) -> bool:
        """Whether it is the staircase by the costs of another: boxes are as wide, what they prove is as little."""
        same = self.mechanism.weighting_name == other.mechanism.weighting_name
        return same and self.mechanism.name == Staircase.name


def least_error_on_model(choice: MechanismChoice, language: RunLanguage, *, of_many_lengths: bool = False) -> Mechanism:
    """The best of the candidates at the same public parameters; on a tie the simplest.

    Costs, a cap, a step or balance that the choice asks for are kept to. Certificates must be quick where words of many
    lengths are to be released.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> words = sv.runs(sv.MarkovChain.from_transitions(rows), length=30, public_start=True)
    >>> found = least_error_on_model(sv.MechanismChoice(epsilon=1, adjacency=1, public_start=True), words)
    >>> found.name, found.remarks.chosen_because.partition(" (")[0]
    ('exponential', 'expected error 2.57 over uniform words of the model')
    """
    settled = _is_settled(choice, language, of_many_lengths)
    plain = _plain(choice, language, of_many_lengths)
    others: list[Mechanism | _Prospect] = []
    if choice.grace is not None and not settled:
        others += _graceful(choice, language, of_many_lengths)
    # of few words every pair is compared, so that what is certified for b may well keep more
    if not settled and (choice.grace != 1 or language.has_at_most(LIMITS.now.compared_words)):
        free = replace(choice, beyond="nothing")
        own = plain if choice == free else _plain(free, language, of_many_lengths)
        others += _others(free, language, own, of_many_lengths)
    if not others:
        return plain if plain is not None else Exponential.from_choice(language, choice)
    words = public_words(language, _word_count(language))
    comparison = _Comparison(words, choice)
    if plain is not None:
        comparison.add(plain, 0)
    for rank, other in enumerate(others, start=1):
        if isinstance(other, _Prospect):
            other.rank = rank
        else:
            comparison.add(other, rank)
    comparison.certify([other for other in others if isinstance(other, _Prospect)])
    return comparison.chosen()


class _Comparison:
    """Candidates with their errors, the best so far, and those that were left out because they could not be better."""

    def __init__(self, words: Codes, choice: MechanismChoice) -> None:
        self._words, self._choice = words, choice
        self._candidates: list[_Candidate] = []
        self._compared: list[tuple[float, str]] = []
        self._pairs: list[tuple[Codes, Codes]] = []  # of public words that lose much by what was certified
        self._left_out: list[tuple[float, str]] = []  # of few words: what is private for words within b alone

    @property
    def _best(self) -> _Candidate | None:
        """The plainest of those whose error is hardly above the least."""
        least = min((each.error for each in self._candidates), default=0.0)
        near = [each for each in self._candidates if _CLEARLY * each.error <= least]
        return min(near, key=lambda each: each.rank, default=None)

    def add(self, mechanism: Mechanism, rank: int) -> None:
        """Compare a candidate at the rate that it has, if it keeps what is to be kept beyond b."""
        grace = self._choice.grace
        if grace is not None and self._candidates and excess(mechanism) > grace:
            self._left_out.append((_expected(mechanism, self._words, self._choice), mechanism.described))
            return
        if mechanism.name == Online.name and self._best is not None and len(self._words) > _SCREENED:
            about = _expected(mechanism, self._words[:_SCREENED], self._choice)
            if about > _HOPELESS * self._best.error:
                self._compared.append((about, f"{mechanism.name} about"))
                return
        error = _expected(mechanism, self._words, self._choice)
        # a law that floats cannot hold, at an ε next to nothing, is taken only where there is no other
        candidate = _Candidate(mechanism, math.inf if math.isnan(error) else error, rank)
        self._compared.append((candidate.error, mechanism.described))
        self._candidates.append(candidate)

    def certify(self, prospects: list[_Prospect]) -> None:
        """Certify the most promising, and the next, until none of the others could clearly be better."""
        if prospects and prospects[0].weighting.language.has_at_most(
            LIMITS.now.compared_words
        ):  # certified at once: all, the simplest first
            for prospect in prospects:
                self._add_certified(prospect)
            return
        for prospect in prospects:
            if prospect.weighting.drops == 0:  # adjacent words are equal: nothing to look for
                prospect.looked_for_pairs = True
            else:
                prospect.least = self._error_at(prospect, self._choice.epsilon / prospect.weighting.drops)
        while prospects:
            least = min(each.least for each in prospects)
            prospect = next(each for each in prospects if _CLEARLY * each.least <= least)  # the simplest of the best
            if self._best is not None and least >= _CLEARLY * self._best.error:
                for each in prospects:
                    self._compared.append((each.least, f"{each.mechanism.described} at least"))
                return
            if prospect.compared_pairs < len(self._pairs):  # what loses much by one candidate does so by others
                new, prospect.compared_pairs = self._pairs[prospect.compared_pairs :], len(self._pairs)
                self._expect_less(prospect, _ruled_out(prospect.weighting, self._choice.epsilon, new))
            elif not prospect.looked_for_pairs:
                prospect.looked_for_pairs = True
                self._expect_less(prospect, _ruled_out(prospect.weighting, self._choice.epsilon))
            else:
                prospects.remove(prospect)
                prospects = self._certified(prospect, prospects)

    def _certified(self, prospect: _Prospect, others: list[_Prospect]) -> list[_Prospect]:
        """Compare a candidate at the rate that is proved for it; the others that are still worth a search."""
        self._add_certified(prospect)
        if prospect.mechanism.law.certificate is not None and prospect.mechanism.law.certificate.worst_pair is not None:
            self._pairs.append(prospect.mechanism.law.certificate.worst_pair)
        if not prospect.certainly_classic:
            return others
        self._add_at_classic_rate([each for each in others if each.has_steps_of(prospect)])
        return [each for each in others if not each.has_steps_of(prospect)]

    def _add_certified(self, prospect: _Prospect) -> None:
        """Compare a candidate at its rate; with a larger cap too, where its own costs too much at that rate."""
        self.add(prospect.mechanism, prospect.rank)
        rate = prospect.mechanism.law.certificate.rate if prospect.mechanism.law.certificate is not None else None
        if prospect.uncapped is None or rate is None:
            return
        from symveil.calibration.costs.loss import takes_minutes  # noqa: PLC0415 - many loops

        cap = smallest_cap(prospect.mechanism, prospect.choice, prospect.uncapped, rate, self._words)
        if cap is not None and cap > int(prospect.weighting.cost.largest or 0):
            wanted = replace(prospect.choice, cap=cap)
            if prospect.mechanism.guarantee.how == "classic" and takes_minutes(prospect.weighting):
                wanted = replace(wanted, calibration="classic")  # boxes are as wide, what they prove is as little
            wider = type(prospect.mechanism).from_choice(prospect.weighting.language, wanted)
            wider._of_many_lengths = prospect.mechanism._of_many_lengths
            self.add(wider, prospect.rank)

    def _expect_less(self, prospect: _Prospect, rate: Fraction) -> None:
        """No larger rate than this one can be certified: the error is at least what it is there."""
        prospect.least = max(prospect.least, self._error_at(prospect, rate))

    def _add_at_classic_rate(self, prospects: list[_Prospect]) -> None:
        """Compare what is not worth a search for a proof."""
        for prospect in prospects:
            classic = replace(prospect.choice, calibration="classic")
            self.add(type(prospect.mechanism).from_choice(prospect.weighting.language, classic), prospect.rank)

    def _error_at(self, prospect: _Prospect, rate: Fraction) -> float:
        result = expected_errors(prospect.weighting.weights(rate), self._words)
        return float((result.symbols if self._choice.costs is None else result.costs).mean())

    def chosen(self) -> Mechanism:
        """The best one, with the reason for the choice."""
        chosen = self._best
        assert chosen is not None  # noqa: S101 - there was a candidate
        best = chosen.mechanism
        beaten = sorted({(error, name) for error, name in self._compared if name != best.described})
        reason = (
            f"expected error {chosen.error:.3g} over uniform words of the model ({len(self._words)} of them, "
            f"{best.guarantee.how})"
        )
        if beaten:
            reason += "; " + ", ".join(f"{name} {other:.3g}" for other, name in beaten[:3])
        best._chosen = Remarks(chosen_because=reason, price_of_grace=self._price_of_grace(chosen.error))
        return best

    def _price_of_grace(self, error: float) -> str | None:
        """One line where a promise for words within b alone would have less than half of the error."""
        least, name = min(self._left_out, default=(math.inf, ""))
        if not least < _MUCH_LESS * error:
            return None
        return (
            f"the loss beyond b is kept at a price: expected error {error:.3g}, where beyond nothing has {least:.3g} "
            f"({name}) and protects words within b alone"
        )


def smallest_cap(
    made: Exponential | Staircase, wanted: MechanismChoice, uncapped: Weighting, rate: Fraction, words: Codes
) -> int | None:
    """The smallest cap of swap costs with hardly more error at a rate than without one; None where there is none.

    `uncapped` are its weights by the cap that is not noticed, at about the rate that it will have: every cap is
    certified at its own.
    """
    most = _HARDLY * float(expected_errors(uncapped.weights(rate), words).symbols.mean())
    largest = uncapped.cost.largest
    for cap in _CAPS:
        if largest is not None and cap >= largest:
            return None
        other = type(made).from_choice(uncapped.language, replace(wanted, cap=cap)).weighting
        if other is not None and float(expected_errors(other.weights(rate), words).symbols.mean()) <= most:
            return cap
    return None


def _ruled_out(weighting: Weighting, epsilon: Fraction, pairs: list[tuple[Codes, Codes]] | None = None) -> Fraction:
    """A rate at which a pair of words loses ε; ε/Δ where none does. Pairs: given, or found a symbol at a time."""
    # imported when they are needed: most choices need no certificate
    from symveil.calibration.costs.pairs import pairs_of_public_words, rate_ruled_out  # noqa: PLC0415

    limit = epsilon / weighting.drops
    known = pairs_of_public_words(weighting, limit) if pairs is None else pairs
    return rate_ruled_out(weighting, epsilon, known, limit, digits=2)


def _is_settled(choice: MechanismChoice, language: RunLanguage, of_many_lengths: bool) -> bool:
    """Whether there is nothing to compare: nothing can be wrong, or comparing would take longer than releasing."""
    if _names(choice):
        return False
    graph = language.graph
    few_ways = graph.state_is_symbol and graph.edge_count <= LIMITS.now.local_ways * len(language.alphabet)
    local = few_ways and choice.adjacency == 1 and not of_many_lengths
    large = _work(language) > (LIMITS.now.local_work if local else LIMITS.now.selection_work)
    return choice.calibration == "classic" or language.largest_distance == 0 or large


def _work(language: RunLanguage) -> int:
    return language.graph.edge_count * max(language.length, 1)


def _plain(choice: MechanismChoice, language: RunLanguage, of_many_lengths: bool) -> Mechanism | None:
    """The exponential mechanism by Hamming distance; permute-and-flip where it has no certificate and can count."""
    named = choice.cost not in (None, "hamming") or choice.costs is not None
    if named or choice.balanced or choice.step is not None or choice.cap is not None:
        return None
    exponential = Exponential.from_choice(language, choice)
    exponential._of_many_lengths = of_many_lengths
    counts = exponential.law.proved.how == "classic" and can_count(language)
    # at ε/2b, with b as it was asked for, also in words that are shorter: that is graceful
    rated = choice if choice.grace is None else replace(choice, calibration="classic")
    return PermuteAndFlip.from_choice(language, rated) if counts else exponential


def _graceful(choice: MechanismChoice, language: RunLanguage, of_many_lengths: bool) -> Iterator[Mechanism]:
    """What keeps (d/b)·ε beside the plain mechanism: the online one, the balanced one, of few words a flat law."""
    few = language.has_at_most(LIMITS.now.compared_words)
    if choice.calibration == "tight" and (few or (not of_many_lengths and _work(language) <= LIMITS.now.online_work)):
        yield Online.from_choice(language, replace(choice, mechanism=Online.name, beyond="nothing"))
    if (
        choice.calibration == "tight"
        and language.graph.state_is_symbol
        and _work(language) <= LIMITS.now.selection_work
    ):
        wanted = replace(choice, mechanism=Exponential.name, balanced=True)
        balanced = Exponential.from_choice(language, wanted)
        if _is_balanced_quickly(balanced, of_many_lengths) and balanced.law.certificate is not None:
            yield balanced
    if choice.calibration == "tight" and (flat := Optimal.flat(language, choice)) is not None:
        yield flat


def _is_balanced_quickly(balanced: Exponential, of_many_lengths: bool) -> bool:
    """Whether words are few or halves, so that a graceful rate with a balance takes half a minute at most."""
    weighting = balanced.weighting
    if weighting is None or weighting.language.has_at_most(CALIBRATION.now.balanced_words):
        return weighting is not None
    return not of_many_lengths and is_compared_by_halves(replace(weighting, adjacency=1))


def _others(
    choice: MechanismChoice, language: RunLanguage, plain: Mechanism | None, of_many_lengths: bool
) -> Iterator[Mechanism | _Prospect]:
    """The other candidates that the choice leaves open, those to certify where that is quick."""
    tight = choice.calibration == "tight"
    few = tight and language.has_at_most(LIMITS.now.compared_words)
    if choice.costs is not None:
        costs: tuple[str, ...] = ("given",)
    elif choice.cost is not None:
        costs = (choice.cost,)
    else:
        costs = ("swap",) if choice.cap is not None else ("hamming", "swap")
    can_balance = language.graph.state_is_symbol and _work(language) <= LIMITS.now.selection_work
    balances = (True,) if choice.balanced else (False, True) if can_balance else (False,)
    for cost in costs:
        for balanced in balances:
            for kind in (Exponential, Staircase):
                is_plain = kind is Exponential and cost == "hamming" and not balanced
                if (is_plain and few and not _names(choice)) or (kind is Exponential and choice.step is not None):
                    continue
                cap = choice.cap if cost != "hamming" else None
                step = choice.step if kind is Staircase else None
                wanted = replace(
                    choice, mechanism=kind.name, beyond="nothing", cost=cost, balanced=balanced, step=step, cap=cap
                )
                made = _made(kind, language, wanted, choice)
                if made is None:
                    continue
                made._of_many_lengths = of_many_lengths
                assert made.weighting is not None  # noqa: S101 - made with one
                quick = few or (_wastes(plain, made.weighting) and _is_quick(made.weighting, of_many_lengths))
                if tight and quick:
                    yield _capped(_Prospect(made, made.weighting, wanted))
                elif not is_plain or _names(choice):
                    rated = _made(kind, language, replace(wanted, calibration="classic"), choice)
                    if rated is not None and rated.weighting is not None:
                        yield _capped(
                            _Prospect(rated, rated.weighting, replace(wanted, calibration="classic"))
                        ).mechanism
    if not _names(choice) and (few or (tight and not of_many_lengths and _work(language) <= LIMITS.now.online_work)):
        yield Online.from_choice(language, replace(choice, mechanism=Online.name, beyond="nothing"))


def _capped(prospect: _Prospect) -> _Prospect:
    """The same by the smallest cap that is hardly noticed, where swap costs are counted and no cap is asked for."""
    uncapped, wanted = prospect.weighting, prospect.choice
    if wanted.cost != "swap" or wanted.cap is not None or uncapped.drops == 0:
        return prospect
    if wanted.calibration == "classic":
        rate = uncapped.classic(wanted.epsilon).rate
    elif uncapped.language.has_at_most(LIMITS.now.compared_words):
        rate = wanted.epsilon / uncapped.drops
    else:
        rate = _ruled_out(uncapped, wanted.epsilon)
    words = public_words(uncapped.language, _word_count(uncapped.language))
    cap = smallest_cap(prospect.mechanism, wanted, uncapped, rate, words)
    if cap is None:
        return prospect
    wanted = replace(wanted, cap=cap)
    made = type(prospect.mechanism).from_choice(uncapped.language, wanted)
    made._of_many_lengths = prospect.mechanism._of_many_lengths
    assert made.weighting is not None  # noqa: S101 - made with one
    return _Prospect(made, made.weighting, wanted, uncapped=uncapped)


def _wastes(plain: Mechanism | None, weighting: Weighting) -> bool:
    """Whether a slower certificate of the plain mechanism may be worth it: the quick one left much of the budget."""
    if not weighting.is_plain or not isinstance(plain, Exponential) or is_compared_by_halves(weighting):
        return True
    return plain.rate * weighting.drops < _MUCH * plain.epsilon


def _is_quick(weighting: Weighting, of_many_lengths: bool) -> bool:
    """Whether a certificate takes seconds, by swaps minutes: a function of the public model, not of ε, of no clock."""
    language = weighting.language
    symbols, adjacency = len(language.alphabet), weighting.adjacency
    if not of_many_lengths and is_compared_by_halves(weighting):
        return True
    if weighting.is_plain:
        small = symbols <= LIMITS.now.dense_symbols and adjacency <= LIMITS.now.sparse_adjacency
        return small and language.graph.state_is_symbol
    by_swaps = weighting.cost.hop_reach >= weighting.farthest
    if weighting.balanced or symbols > (
        LIMITS.now.local_symbols if by_swaps and adjacency == 1 else LIMITS.now.sparse_symbols
    ):
        return False
    reach = min(weighting.farthest, LIMITS.now.sparse_adjacency)
    if adjacency <= LIMITS.now.sparse_adjacency:
        return _is_sparse(language, reach)
    few = not of_many_lengths and adjacency <= LIMITS.now.swapped_symbols
    if not (by_swaps and few and _is_sparse(language, reach)):
        return False
    from symveil.calibration.costs.loss import rates_that_can_be_tried  # noqa: PLC0415 - many loops

    return rates_that_can_be_tried(weighting) > 0


def _is_sparse(language: RunLanguage, reach: int) -> bool:
    """Whether few symbols may stand in the place of another in words so many symbols apart."""
    from symveil.languages.swap_costs import related  # noqa: PLC0415 - waits for scipy

    try:
        relations = related(language, adjacency=reach)
    except TooLargeError:
        return False
    # the empty word has none
    return not relations or float(relations[language.length // 2].nnz) <= LIMITS.now.sparse_ways * len(
        language.alphabet
    )


def _names(choice: MechanismChoice) -> bool:
    """Whether the choice says anything about costs."""
    return bool(choice.cost or choice.costs or choice.balanced or choice.step or choice.cap)


def _made(
    kind: type[Exponential | Staircase], language: RunLanguage, wanted: MechanismChoice, choice: MechanismChoice
) -> Exponential | Staircase | None:
    """The candidate; None where it does not exist, such as a staircase of costs that are no whole numbers."""
    try:
        made = kind.from_choice(language, wanted)
        if isinstance(made, Staircase) and made.period == 1 and choice.step is None:
            return None  # it is the exponential mechanism
        return made if made.weighting is not None else None
    except SymveilError:
        if _names(choice) and kind is Exponential:
            raise
        return None


def _word_count(language: RunLanguage) -> int:
    return int(np.clip(LIMITS.now.error_work // max(_work(language), 1), *LIMITS.now.error_words))


def _expected(mechanism: Mechanism, words: Codes, choice: MechanismChoice) -> float:
    """The mean expected error over the words: of wrong symbols, or of what they cost where costs are given."""
    symbols, costs = mechanism.expected_errors(words)
    return float((symbols if choice.costs is None else costs).mean())
