"""How much is computed for a lower bound: words, sums and samples, never a clock."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundLimits:
    """What a bound may take: beyond, another price is tried, or a smaller bound is the answer."""

    programme_rows: int = 6_000
    """Inequalities of the linear programme of a small language: beyond, its solver takes longer than all prices."""
    programme_words: int = 64
    programme_rounds: int = 16
    """Of adding rays: each has to leave less than a share of the gap."""

    chances: int = 20_000_000
    """Positions × edges whose chances under the prior are kept."""

    window_words: int = 200
    """Windows with more words have price 0: the search would take too long."""
    window_work: int = 10_000_000
    quick_window_work: int = 1_000_000
    """Squares of numbers of words, times eighths of the number of outputs of the tile: all searches together."""
    share_of_a_position: float = 0.1
    """The share of that work which a search may take that serves a single position."""
    window_rows: int = 1_000_000
    quick_window_rows: int = 200_000
    """Words of all contexts of a window together; beyond it the window is not looked at."""
    least_gain: float = 0.002
    """A longer window for a tile must gain this share of the whole bound, or the next one is not tried."""
    clique_positions: int = 4
    """Constant prices of longer windows are of no use under the graceful promise."""
    clique_cells: int = 2_000_000
    """Outputs × words of a window with a constant price; where all words weigh the same, outputs × distances."""
    cells_at_once: int = 1 << 15
    """Windows searched together: their matrices stay in the processor's cache."""

    star_symbols: int = 800_000
    """Symbols that all words of an evaluation have together."""
    star_words: tuple[int, int] = (2_000, 40_000)
    """At least and at most so many words of an evaluation."""
    star_words_at_once: int = 2_000
    quick_share: float = 0.15
    """Of the limits on words, detours and tiles, where the bound is to be quick."""
    detours: int = 1_000_000
    """Unfinished detours that are followed at the same time."""
    tile_lengths: tuple[int, int] = (4, 64)
    tiles: int = 12_800
    """Tiles of every length up to the second are tried, of fewer lengths in long words, and the whole word."""
    pilot_words: int = 2_000
    pilot_work: float = 4e8
    """Numbers that a pass over all pilot tiles may touch; beyond it fewer words are looked at."""
    toll_symbols: int = 120_000
    toll_words: int = 200
    """Tolls are fitted to words with so many symbols together, and to that many words at least."""


LIMITS = Adjustable(BoundLimits())
