"""The observations of one length: what of the policy private does not depend on ε, and how they are released best."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from symveil.enforcement.corrected_release import CorrectedRelease
from symveil.enforcement.losses import EnumeratedLoss, distance_counts
from symveil.enforcement.safe_release import SafeRelease
from symveil.languages.free import words
from symveil.languages.language import Language
from symveil.languages.runs import RunLanguage, smallest
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.laws.public_words import public_words
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.selection import select_one_of_many
from symveil.models.word import Codes
from symveil.numbers.once import computed_once
from symveil.numbers.progress import Progress, named
from symveil.verification.opacity.observation_law import ObservationTable
from symveil.verification.opacity.run_observations import RunObservations

AUTO, DIRECT, CORRECTED = RELEASES = ("auto", "direct", "corrected")
"""How every observation is released: by weights on safe observations only, or by a mechanism for all of them whose
outcomes are corrected to safe ones; "auto" is the one of these with the least expected error."""

_MOST_OUTPUTS = 4_000_000
_COMPARED, _CLEARLY = 64, 0.97  # so many public observations; what is less plain must have less error than that share


class LengthTables:
    """The observations of one length and their distances: all of the policy that does not depend on ε."""

    def __init__(self, runs: RunObservations, length: int, adjacency: Adjacency) -> None:
        safe = runs.safe.language(length)
        if safe is None:
            raise AssertionError("only lengths with a safe observation are released")
        self._runs, self.safe = runs, smallest(safe)
        self._reach = min(read_adjacency(adjacency, length=length), max(length, 1))

    @computed_once
    def possible(self) -> RunLanguage:
        """All observations of the length, safe or not."""
        return smallest(self._runs.safe.possible(self.safe.length))

    @computed_once
    def language(self) -> Language:
        """The same as words: all over the observable events, where each of them can be observed."""
        alphabet, length = self.possible.alphabet, self.possible.length
        return words(alphabet, length) if self.possible.size == len(alphabet) ** length else self.possible

    def release(self, *, epsilon: Fraction, adjacency: Adjacency, release: str) -> SafeRelease | CorrectedRelease:
        """The release with the least expected error over all observations, each as likely as any other.

        Where the exact loss over all of them is known, that of the exponential mechanism over safe observations needs
        no other. Elsewhere its rate is the classic one, and mechanisms whose loss is certified for all observations
        compete with it, corrected to safe ones. Nothing secret is read.
        """
        direct = SafeRelease(self.possible, self.safe, epsilon=epsilon, adjacency=adjacency, loss=self.loss)
        if release == DIRECT or (release == AUTO and direct.guarantee.how != "classic"):
            return direct
        choice = MechanismChoice(epsilon=epsilon, adjacency=adjacency)
        corrected = CorrectedRelease(self.possible, self.safe, select_one_of_many(choice, self.language))
        if release == CORRECTED:
            return corrected
        compared = public_words(self.possible, _COMPARED)
        errors = [float(each.expected_errors(compared)[0].mean()) for each in (direct, corrected)]
        return corrected if errors[1] < _CLEARLY * errors[0] else direct

    @computed_once
    def loss(self) -> EnumeratedLoss | None:
        """The loss for each rate; None where the observations are too many to list."""
        return EnumeratedLoss.of(self.possible, self.safe, self._reach)

    @computed_once
    def outputs(self) -> Codes:
        """The safe observations, in alphabetical order."""
        return self.safe.enumerate_codes(at_most=_MOST_OUTPUTS)

    @property
    def runs(self) -> ObservationTable:
        """What complete runs of this length show."""
        return self._runs.complete[self.safe.length]

    @computed_once
    def counts(self) -> NDArray[np.int64]:
        """For each observation of `runs` how many outputs lie at each distance."""
        return distance_counts(self.outputs, self.runs.codes, progress=self.progress("counting distances"))

    def progress(self, what: str) -> Progress:
        """Where to tell how far some work on this length is."""
        return named(self._runs.progress, f"{what}, {self.safe.length} events")
