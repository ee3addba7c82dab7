"""Release private versions of one word, and audit the mechanism that a choice describes.

Trips on a road network, before and after: several private samples, and how many turns of each exist.
An audit finds the exact worst-case loss on a small language."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from symveil.errors import ModelError, ParameterError
from symveil.languages.edit_distance import edit_distance
from symveil.languages.free import FreeLanguage
from symveil.languages.graph import AnyModel
from symveil.laws.adjacency import refuse_thin
from symveil.laws.guarantee import Guarantee
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.selection import choose_mechanism
from symveil.models.alphabet import Metric, Word
from symveil.models.markov_chain import MarkovChain
from symveil.numbers.progress import Progress
from symveil.numbers.rationals import at_least
from symveil.pictures.maps import Road
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Text
from symveil.tasks.limits import LIMITS
from symveil.verification.audit import AuditVerdict, audit
from symveil.verification.limits import LIMITS as OF_PROOFS

# Nobody releases more versions of one word: each costs ε.


@dataclass(frozen=True, slots=True)
class WordRelease:
    """Private words, the guarantee of each, and what all of them cost together."""

    released: tuple[Word, ...]
    guarantee: Guarantee
    total_epsilon: float
    passes_unprotected: tuple[str, ...] = ()
    """What of the word anyone can read as it was."""

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "released": [list(word) for word in self.released],
            "guarantee": self.guarantee.document(),
            "total_epsilon": self.total_epsilon,
            "passes_unprotected": list(self.passes_unprotected),
        }


def release_word(word: Word, mechanism: Mechanism, *, count: int = 1, thin: bool = False) -> WordRelease:
    """`count` private versions of `word`. They are about one person, so their costs add up.

    The word is secret. With `thin` it is released although more than half of the positions of a typical word of the
    model have no alternative within b.

    >>> import symveil as sv
    >>> result = release_word("abc", sv.Exponential(sv.words("abc", 3), epsilon="0.1"), count=3)
    >>> len(result.released), result.total_epsilon
    (3, 0.3)
    >>> release_word("abc", sv.Exponential(sv.words("abc", 3), epsilon="1/3"), count=3).total_epsilon
    1.0
    """
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= LIMITS.now.versions:
        raise ParameterError("count", expected=f"a whole number from 1 to {LIMITS.now.versions}", found=count)
    length = len(mechanism.language.encode(word))
    refuse_thin(mechanism.language, mechanism.adjacency, [length], thin=thin)
    released = mechanism.release_many([word] * count)
    # Basic composition. A mechanism that loses more than its nominal ε is charged what it loses.
    guarantee = mechanism.guarantee
    total = math.inf if guarantee.loss is None else at_least(max(mechanism.epsilon, guarantee.loss) * count)
    public = ("length",) if mechanism.metric == "hamming" else ()
    first = ("first symbol",) if mechanism.language.public_start else ()
    return WordRelease(
        released=tuple(released), guarantee=guarantee, total_epsilon=total, passes_unprotected=(*public, *first)
    )


@dataclass(frozen=True, slots=True)
class ReleasedTrip:
    """A private trip: how many roads were changed (where lengths are secret: how many edits lead to it), and how many
    of its turns do not exist.
    """

    roads: Word
    changed: int
    broken_turns: int

    @property
    def feasible(self) -> bool:
        """Whether it could have been driven."""
        return self.broken_turns == 0


def broken_turns(chain: MarkovChain, trip: Sequence[object]) -> int:
    """How many turns of a trip the network does not have, the first one from its public start included.

    >>> chain = MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)], initial="a")
    >>> broken_turns(chain, ["b", "a", "a"]), broken_turns(chain, ["b", "a", "b"])
    (1, 0)
    """
    turns = {(source, target) for source, target, _ in chain.transitions}
    driven = list(trip) if chain.initial is None else [chain.initial, *trip]
    return sum(pair not in turns for pair in itertools.pairwise(driven))


def released_trips(
    chain: AnyModel, trip: Word, mechanism: Mechanism, *, count: int, ignorant: Mechanism | None = None
) -> tuple[tuple[ReleasedTrip, ...], ReleasedTrip]:
    """Private trips by a mechanism on the network's language, and one at the same ε that ignores the network.

    By default `ignorant` changes symbols only: where lengths are secret it has to be given.

    >>> import symveil as sv
    >>> chain = MarkovChain.from_transitions([("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "a", 1), ("c", "a", 1)])
    >>> mechanism = sv.Exponential(sv.runs(chain, 5), epsilon=1, adjacency=1)
    >>> trips, _ = released_trips(chain, tuple("abaca"), mechanism, count=3)
    >>> [trip.feasible for trip in trips]
    [True, True, True]
    """
    if not isinstance(chain, MarkovChain):
        raise ModelError("model", expected="a Markov chain, whose states are the roads", found=chain.kind)
    if ignorant is None:
        anything = FreeLanguage(mechanism.language.alphabet, len(trip))
        ignorant = Exponential(anything, epsilon=mechanism.epsilon, adjacency=mechanism.adjacency)
    released = (*release_word(trip, mechanism, count=count, thin=True).released, ignorant.release(trip))
    code = mechanism.language.alphabet.code
    true = [code[road] for road in trip]
    judged = [
        ReleasedTrip(each, edit_distance(true, codes), broken_turns(chain, each))
        if mechanism.metric == "levenshtein"
        else ReleasedTrip(each, sum(map(operator.ne, true, codes)), broken_turns(chain, each))
        for each, codes in ((each, [code[road] for road in each]) for each in released)
    ]
    return tuple(judged[:-1]), judged[-1]


def require_coordinates(chain: AnyModel, roads: dict[str, Road]) -> dict[str, Road]:
    """The roads of a model, all of them with coordinates."""
    states = getattr(chain, "states", ())
    missing = [state for state in states if state not in roads]
    if missing:
        raise ParameterError(
            "coordinates", expected=f"a row for each of {len(states)} states", found=f"none for {missing[0]!r}"
        )
    return {state: roads[state] for state in states}


@dataclass(frozen=True, slots=True)
class AuditReport(Reported):
    """A verdict, whether everything that the mechanism releases is the empty word, and what its user should know."""

    verdict: AuditVerdict
    tells_nothing: bool
    notes: tuple[str, ...]
    metric: Metric

    def report(self) -> Report:
        """The verdict, with what its user should know."""
        report = self.verdict.report(self.metric)
        nothing = "Outputs: always the empty word, which reveals nothing; a larger epsilon would allow more."
        further = (Section("Outputs", (Text(nothing),)),) if self.tells_nothing else ()
        return replace(report, sections=(*report.sections, *further), notes=self.notes)


def audit_choice(
    choice: MechanismChoice,
    *,
    length: int,
    output_length: int | None = None,
    by_chain: bool = False,
    progress: Progress | None = None,
    **source: Any,
) -> AuditReport:
    """The worst-case loss of the mechanism that a choice describes on the words of a length.

    With metric "levenshtein" words have at most `length` symbols. With the edit channel released words of up to
    `output_length` symbols are looked at. `by_chain` proves it on the mechanism's labelled chain, in exact rationals.

    >>> from symveil.mechanisms.choice import read_choice
    >>> report = audit_choice(read_choice(1), length=3, alphabet="ab")
    >>> report.verdict.private, report.tells_nothing
    (True, False)
    """
    one_length = choice.metric == "hamming"
    if one_length and output_length is not None:
        raise ParameterError("output_length", expected="`metric='levenshtein'` with it", found="hamming")
    if by_chain and output_length is not None:
        raise ParameterError("output_length", expected="it without `by_chain`", found="both")
    if not one_length and choice.max_length is None:
        choice = replace(choice, max_length=length)
    language = choice.language(**source, length=length if one_length else None)
    if one_length:
        language.by_length(at_most=OF_PROOFS.now.audited_words)  # refused before anything is calibrated
    law, up_to = choose_mechanism(choice, language), None if one_length else length
    if by_chain:
        # imported when it is needed: scipy, which chains need, takes as long to load as a release
        from symveil.verification.chain_pairs import audit_by_chain  # noqa: PLC0415

        verdict = audit_by_chain(law, length=up_to, progress=progress)
    else:
        verdict = audit(law, length=up_to, output_length=output_length, progress=progress)
    return AuditReport(verdict, law.law.tells_nothing, tuple(law.remarks.notes), choice.metric)
