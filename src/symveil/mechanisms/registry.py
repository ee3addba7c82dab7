"""Every mechanism that people can ask for by name. A new one is registered by a line here."""

from __future__ import annotations

from symveil.languages.language import Metric
from symveil.mechanisms.edit_channel import EditChannel
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.jones2019_printed import Jones2019Printed
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.optimal import Optimal
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.mechanisms.truncated_levenshtein import TruncatedLevenshtein

AUTO = "auto"
"""Instead of a name: of the candidates that keep the promise, the one with the least expected error."""

REGISTERED: tuple[type[Mechanism], ...] = (
    Exponential,
    PermuteAndFlip,
    Staircase,
    Online,
    Optimal,
    EditChannel,
    TruncatedLevenshtein,
    Jones2019Printed,
)

BY_NAME: dict[str, type[Mechanism]] = {kind.name: kind for kind in REGISTERED}


def names(metric: Metric | None = None) -> tuple[str, ...]:
    """The names to choose from, of one metric or of all.

    >>> names("levenshtein")
    ('auto', 'edit', 'truncated-levenshtein')
    """
    return (AUTO, *(kind.name for kind in REGISTERED if metric is None or kind.metric == metric))


def takers(parameter: str) -> tuple[str, ...]:
    """The mechanisms that have a parameter.

    >>> takers("cutoff")
    ('truncated-levenshtein',)
    """
    return tuple(kind.name for kind in REGISTERED if parameter in kind.takes)
