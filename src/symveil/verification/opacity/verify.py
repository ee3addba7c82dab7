"""Is a system opaque? A verdict with a shortest observation that says why not."""

from __future__ import annotations

from collections.abc import Sequence

from symveil.models.epochs import epoch_system
from symveil.models.stochastic_system import LogicalSystem, PartiallyObserved, StochasticSystem
from symveil.numbers.progress import Progress, accepted
from symveil.verification.opacity.modular import modular_verdict
from symveil.verification.opacity.notions import Question, read_question
from symveil.verification.opacity.observation import Observed
from symveil.verification.opacity.opacity_verdict import OpacityVerdict, verdict_on


def verify_opacity(
    system: PartiallyObserved | Sequence[PartiallyObserved],
    k: int | float | str = 0,
    *,
    notion: str = "weak",
    most_states: int | None = None,
    progress: Progress | None = None,
) -> OpacityVerdict:
    """Verify current-state, k-step or infinite-step opacity, weak or strong, or initial-state opacity.

    Parameters
    ----------
    system
        A stochastic or a logical system with secret states; or a list of parts, of which the synchronous product is
        meant: they move together by the events they share, and a secret of one is a secret of the whole.
    k
        How many observations back a secret must stay hidden: 0 (now), 1, 2 … or "infinite".
    notion
        "weak", "strong" or "initial"; or a notion of DESops: "separate-1", "separate-2" (weak), "joint-1" (strong),
        "joint-2".
    most_states
        Give up beyond so many states of the estimator; by default as many as fit into about 2 GB.
    progress
        Called now and then with the number of states explored, and None: nobody knows how many there are.

    >>> import symveil as sv
    >>> system = sv.StochasticSystem.from_transitions(
    ...     [("0", "a", "1", "1/2"), ("0", "b", "2", "1/2"), ("1", "c", "3", 1), ("2", "c", "3", 1)],
    ...     initial="0", observable=["a", "b", "c"], secret=["2"],
    ... )
    >>> sv.verify_opacity(system, k=1)
    OpacityVerdict(weak 1-step opacity is violated by b: after 1 of its events the state was in {2})
    >>> sv.verify_opacity(system.with_secret([]), k="infinite").holds
    True
    >>> lamp = sv.LogicalSystem.from_transitions([("off", "b", "on")], initial="off", observable=["b"])
    >>> sv.verify_opacity([system, lamp], k=1).witness
    ('b',)
    """
    question = read_question(k, notion)
    if not isinstance(system, StochasticSystem | LogicalSystem):
        return modular_verdict(system, question, most_states=most_states, progress=accepted(progress, before=1))
    observed = observed_for(system, question)
    return verdict_on(observed, question, observed.limit(most_states, accepted(progress, before=1)))


def observed_for(system: PartiallyObserved | Observed, question: Question) -> Observed:
    """The system, prepared for the observer of a question: where that is about epochs, the system of those."""
    if question.secret_epoch is None:
        return system if isinstance(system, Observed) else Observed(system)
    own = system.system if isinstance(system, Observed) else system
    return Observed(epoch_system(own, question.secret_epoch))
