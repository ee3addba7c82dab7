"""The universal Levenshtein automaton: the determinisation that serves every word (Mitankin; Schulz and Mihov).

After j symbols have been read, all that matters for distances up to k is a *profile*: the cheapest
way to have matched the word's first j+δ symbols, for δ = −k … k, capped at k+1. (Farther from the
diagonal the length alone costs more than k.) It is the band of row j of the textbook's table. The
next profile depends on the last one and on one number, the *pattern* of the symbol read: bit δ+k
says whether it equals the word's symbol j+δ+1. Neither mentions the word, so steps are worked out
once per process and k, however many words are looked at; an NFA has several runs for a word, a
profile is reached by exactly one.
"""

from __future__ import annotations

from functools import lru_cache

Profile = tuple[int, ...]


class UniversalAutomaton:
    """Profiles and the steps between them, found as they are needed.

    >>> automaton = universal_automaton(1)
    >>> automaton.start
    (2, 0, 1)
    >>> automaton.step(automaton.start, 0b010)          # the word's first symbol is read
    (1, 0, 1)
    """

    def __init__(self, within: int) -> None:
        self.within = within
        self.width = 2 * within + 1
        self.start: Profile = tuple(within + 1 if shift < 0 else shift for shift in range(-within, within + 1))
        self._steps: dict[tuple[Profile, int], Profile | None] = {}

    def step(self, profile: Profile, pattern: int) -> Profile | None:
        """The profile after a symbol with this pattern; None where every distance exceeds k for good."""
        key = (profile, pattern)
        found = self._steps.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            if len(self._steps) >= _MOST_STEPS_KEPT:
                self._steps.clear()  # another thread may be reading: it works its step out again
            found = self._steps[key] = self._work_out(profile, pattern)
        return found

    def _work_out(self, profile: Profile, pattern: int) -> Profile | None:
        cap = self.within + 1
        after: list[int] = []
        left = cap
        for place, diagonal in enumerate(profile):
            kept_or_substituted = diagonal if pattern >> place & 1 else diagonal + 1
            inserted = profile[place + 1] + 1 if place + 1 < self.width else cap
            left = min(kept_or_substituted, inserted, left + 1, cap)
            after.append(left)
        return tuple(after) if min(after) < cap else None

    def distance(self, profile: Profile, ahead: int) -> int | None:
        """The distance to a word that is `ahead` symbols longer than what was read; None beyond k."""
        if abs(ahead) > self.within:
            return None
        found = profile[self.within + ahead]
        return found if found <= self.within else None


_MOST_STEPS_KEPT = 400_000
_UNKNOWN: Profile = ()


@lru_cache(maxsize=8)
def universal_automaton(within: int) -> UniversalAutomaton:
    """The automaton for distances up to `within`: one per process, shared by all words."""
    return UniversalAutomaton(within)


def patterns_at(codes: tuple[int, ...], position: int, within: int) -> dict[int, int]:
    """The pattern of every symbol of the word near a position; the pattern of any other symbol is 0.

    >>> patterns_at((0, 1, 0), 1, 1)
    {0: 5, 1: 2}
    """
    patterns: dict[int, int] = {}
    for place in range(2 * within + 1):
        index = position + place - within
        if 0 <= index < len(codes):
            patterns[codes[index]] = patterns.get(codes[index], 0) | 1 << place
    return patterns
