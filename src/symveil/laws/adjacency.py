"""What each adjacency b hides on a model, and why b has no default there.

Over an alphabet every symbol of a word has alternatives at b = 1. On a model two words can seldom differ in one place:
on a road network only the last road of a trip can. So b is a decision there, by public things only: averages over
typical words of the public model.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from symveil.errors import ModelError, ParameterError
from symveil.languages.language import AnyLength, Language, require_language
from symveil.languages.runs import RunLanguage
from symveil.laws.limits import LIMITS
from symveil.laws.parameters import Adjacency, read_adjacency
from symveil.laws.protection import MOST_WORDS, NearWords, typical_shares, typical_words
from symveil.numbers.rationals import percent
from symveil.reports.page import Reported
from symveil.reports.report import Report, Section, Table

SEVERAL: tuple[int, ...] = (1, 2, 3, 4, 6, 8)
"""The b that a table shows beside "all"."""
_IN_A_MESSAGE = (1, 2, 4)
_USUAL_LENGTH = 10
"""Where a message has to name a length and none is known."""


@dataclass(frozen=True, slots=True)
class HiddenBy:
    """What one b hides: the alternatives at each position of a typical word, among the words within b of it."""

    adjacency: Adjacency
    positions_with_alternatives: float
    """The share of positions at which at least one word within b differs."""
    by_position: tuple[float, ...]
    """How many words within b differ at each position, on average."""

    @property
    def alternatives(self) -> float:
        """The mean of `by_position`."""
        return float(np.mean(self.by_position)) if self.by_position else 0.0

    @property
    def at_middle(self) -> float:
        """The median of `by_position`: near the ends of a word there are often more alternatives."""
        return float(np.median(self.by_position)) if self.by_position else 0.0

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "adjacency": self.adjacency,
            "positions_with_alternatives": self.positions_with_alternatives,
            "alternatives": self.alternatives,
            "alternatives_at_middle": self.at_middle,
            "by_position": list(self.by_position),
        }

    def sentence(self) -> str:
        """What it hides, as people read it.

        >>> HiddenBy(1, 0.25, (0.0, 0.0, 0.0, 1.5)).sentence()
        'b = 1 hides the last position only'
        >>> HiddenBy(2, 1.0, (2.0, 0.7, 0.7, 3.0)).sentence()
        'b = 2: 1.4 alternatives at a middle position, 100 % of positions have some'
        >>> HiddenBy("all", 1.0, (1.0, 2.0)).sentence()
        'all: every word of this length'
        """
        return self._sentence("{middle} alternatives at a middle position, {share} of positions have some")

    def _sentence(self, numbers: str) -> str:
        where = [position for position, count in enumerate(self.by_position) if count > 0]
        if self.adjacency == "all":
            return "all: every word of this length"
        if not where:
            return f"b = {self.adjacency} hides nothing"
        if where == [len(self.by_position) - 1] and where[0] > 0:
            return f"b = {self.adjacency} hides the last position only"
        share = percent(self.positions_with_alternatives)
        return f"b = {self.adjacency}: " + numbers.format(middle=f"{self.at_middle:.2g}", share=share)


@dataclass(frozen=True, slots=True)
class AdjacencyTable(Reported):
    """What each b hides on a model, over typical words of one length; made by `adjacency_table`."""

    length: int
    rows: tuple[HiddenBy, ...]
    words: int
    """Over how many words the averages are taken."""
    all_words: bool
    """Whether those are all words, weighted by how typical they are: then the averages are exact."""

    def document(self) -> dict[str, object]:
        """The JSON form of the contract."""
        return {
            "length": self.length,
            "words": self.words,
            "exact": self.all_words,
            "hides": [row.document() for row in self.rows],
        }

    def report(self) -> Report:
        """What each b hides, one in a row."""
        rows = [
            (
                str(row.adjacency),
                percent(row.positions_with_alternatives),
                f"{row.alternatives:.3g}",
                f"{row.at_middle:.3g}",
            )
            for row in self.rows
        ]
        which = "all words" if self.all_words else f"{self.words} typical words"
        title = f"What each adjacency b hides in words of {self.length} symbols, over {which} of the public model"
        columns = ("b", "positions with alternatives", "alternatives a position, mean", "at a middle position")
        return Report(title=title, sections=(Section(title, (Table.from_rows(columns, rows),)),))

    def __str__(self) -> str:
        notes: list[str] = []
        for row in self.rows:
            explained = any(" alternatives " in each for each in notes)
            notes.append(row._sentence("{middle}, {share}") if explained else row.sentence())
        return "; ".join(notes)


def adjacency_table(language: Language, *, adjacencies: Iterable[Adjacency] | None = None) -> AdjacencyTable:
    """What each b hides on a model: the alternatives that a word has at each position among the words within b of it.

    Averages are over typical words of the public model, drawn from a fixed seed by its probabilities, or over all words
    where there are few; no secret word is read.

    Parameters
    ----------
    language
        The words of a model, all of one length.
    adjacencies
        Which b; by default 1, 2, 3, 4, 6, 8 as far as words are that long, and "all".

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> chain = sv.MarkovChain.from_transitions(rows, initial="d")
    >>> print(adjacency_table(sv.runs(chain, length=8), adjacencies=[1, 2]))
    b = 1: 0 alternatives at a middle position, 38 % of positions have some; b = 2: 0, 38 %
    """
    require_language(language)
    if language.runs is None:
        expected = "words of a model, all of one length: over an alphabet every symbol has alternatives"
        raise ParameterError("language", expected=expected, found=repr(language))
    several = tuple(SEVERAL if adjacencies is None else adjacencies)
    shown = [b for b in several if b == "all" or read_adjacency(b, length=1) < language.runs.largest_distance]
    if adjacencies is None or "all" in several or len(shown) < len(several):
        shown = [*(b for b in shown if b != "all"), "all"]
    return _table(language.runs, tuple(shown), LIMITS.now.sampled_words)


@lru_cache(maxsize=16)
def _table(language: RunLanguage, adjacencies: tuple[Adjacency, ...], sampled: int) -> AdjacencyTable:
    every = language.has_at_most(LIMITS.now.hidden_words)
    words = language.enumerate_codes(at_most=LIMITS.now.hidden_words) if every else typical_words(language, sampled)
    shares = typical_shares(language, words) if every else np.full(len(words), 1 / len(words))
    near = NearWords(language, words)
    least = near.least_distances()
    reach = max((b for b in adjacencies if b != "all"), default=0)
    within = near.counts(reach)[1]
    rows = []
    for b in adjacencies:
        counts = near.counts_of_all()[1] if b == "all" else within[:, :, b]
        result = least <= (language.length if b == "all" else b)
        share = float(shares @ result.mean(axis=1)) if language.length else 1.0
        rows.append(HiddenBy(b, min(share, 1.0), tuple(np.minimum(shares @ counts, MOST_WORDS).tolist())))
    return AdjacencyTable(language.length, tuple(rows), len(words), every)


def chosen_adjacency(adjacency: Adjacency | None, language: Language) -> Adjacency:
    """b as it was given; over an alphabet 1 where none was; on a model it has to be given.

    Every mechanism, bound and command that takes an adjacency asks here.

    >>> import symveil as sv
    >>> chosen_adjacency(None, sv.words("abc", 3)), chosen_adjacency("all", sv.words("abc", 3))
    (1, 'all')
    >>> chain = sv.MarkovChain.from_transitions([("a", "b", 1), ("b", "a", 1)], initial="a")
    >>> chosen_adjacency(None, sv.runs(chain, 4))
    Traceback (most recent call last):
    symveil.errors.ParameterError: adjacency: expected b, 1 or more, or all, because on a model b has no default (in
    words of 4 symbols b = 1 hides nothing; b = 2 hides nothing; all: every word of this length; symveil explain --model
    M --length N, in Python sv.adjacency_table, shows more), found none
    """
    if adjacency is not None:
        return adjacency
    if language.graph is None:
        return 1
    raise ParameterError(
        "adjacency",
        expected=f"b, 1 or more, or all, because on a model b has no default ({_what_each_hides(language)})",
        found="none",
    )


def share_of_positions(language: Language, adjacency: Adjacency, lengths: Iterable[int]) -> float | None:
    """The share of positions of typical words of a model that have at least one alternative within b.

    Over several lengths it is the share of all positions, with as many words of each; of many lengths a few stand for
    all. Words of more than 100 symbols are taken for as thin as the middle of those of 100. None over an alphabet,
    where every position has alternatives, where lengths are secret, and where the model is too large to look at.

    >>> import symveil as sv
    >>> rows = [("a", "b", "1/2"), ("a", "c", "1/2"), ("b", "d", 1), ("c", "d", 1), ("d", "a", 1)]
    >>> share_of_positions(sv.runs(sv.MarkovChain.from_transitions(rows, initial="d"), length=3), 1, [3])
    0.3333333333333333
    """
    if language.graph is None or language.metric == "levenshtein":
        return None
    occurring = sorted({int(length) for length in lengths if length > 0})
    chosen = {
        occurring[round(each)] for each in np.linspace(0, len(occurring) - 1, LIMITS.now.hidden_lengths) if occurring
    }
    hidden = positions = 0.0
    for length in sorted(chosen):
        share = _share_at(language, adjacency, length, LIMITS.now.sampled_words // len(chosen))
        if share is not None:
            hidden, positions = hidden + share * length, positions + length
    return hidden / positions if positions else None


def _share_at(language: Language, adjacency: Adjacency, length: int, sampled: int) -> float | None:
    words = language.runs
    if words is None or words.length != length:
        result = language.of_length(length) if isinstance(language, AnyLength) else None
        words = None if result is None else result.runs
    if words is None:
        return None
    b = read_adjacency(adjacency, length=length)
    if length > LIMITS.now.hidden_length:
        with suppress(ModelError):  # where no word has that length those that are there are looked at
            words = replace(words, length=LIMITS.now.hidden_length)
    return _looked_at(words, min(b, words.length), sampled)


@lru_cache(maxsize=64)
def _looked_at(words: RunLanguage, b: int, sampled: int) -> float | None:
    work = max(words.length * words.graph.edge_count, 1)
    count = min(LIMITS.now.hidden_work // work, sampled)
    if count < LIMITS.now.fewest_hidden_words:
        return None
    hidden = NearWords(words, typical_words(words, count)).least_distances() <= b
    if words.length == LIMITS.now.hidden_length and 4 * b <= words.length:
        hidden = hidden[:, b : words.length - b]  # it stands for longer words, whose ends are a smaller part
    return float(hidden.mean())


def refuse_thin(language: Language, adjacency: Adjacency, lengths: Iterable[int], *, thin: bool) -> None:
    """Refuse a release in which more than half of the positions of a typical word have no alternative within b.

    Where `thin` is meant nothing is refused.

    >>> import symveil as sv
    >>> refuse_thin(sv.words("abc", 3), 1, [3], thin=False)
    """
    occurring = sorted({int(length) for length in lengths if length > 0})
    share = None if thin else share_of_positions(language, adjacency, occurring)
    if share is None or 2 * share >= 1:
        return
    middle = occurring[len(occurring) // 2]
    raise ParameterError(
        "adjacency",
        expected="a b within which at least half of the positions of a typical word have an alternative, or "
        f"`thin=True` ({_what_each_hides(language, middle)})",
        found=f"{adjacency}, within which {percent(1 - share)} of them have none",
    )


def _what_each_hides(language: Language, length: int = _USUAL_LENGTH) -> str:
    """The table in one line, where that takes about a second; else how to get it."""
    if language.metric == "levenshtein":
        return "b counts the insertions, deletions and substitutions that are to be hidden"
    result = language.runs or _usual_words(language, length)
    how = "symveil explain --model M --length N, in Python sv.adjacency_table, shows"
    if result is None:
        return f"{how} what each b hides"
    shown = [b for b in _IN_A_MESSAGE if b < result.largest_distance]
    work = max(result.length * result.graph.edge_count * (max(shown, default=0) + 1) ** 2, 1)
    words = min(LIMITS.now.message_work // work, LIMITS.now.sampled_words)
    if words < LIMITS.now.fewest_hidden_words:
        return f"{how} what each b hides"
    table = _table(result, (*shown, "all"), words)
    return f"in words of {result.length} symbols {table}; {how} more"


def _usual_words(language: Language, length: int) -> RunLanguage | None:
    """Words of this length, or the shortest ones."""
    if not isinstance(language, AnyLength):
        return None
    for each in (length, language.shortest.length):
        words = language.of_length(each)
        if words is not None and words.runs is not None and each > 0:
            return words.runs
    return None
