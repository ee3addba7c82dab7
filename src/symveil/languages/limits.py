"""How much work and memory languages take: beyond it they refuse, go another way, or work in pieces.

A length of pieces changes no answer: exact sums and draws are the same, however many rows are looked at together.
"""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class LanguageLimits:
    """The most of each."""

    subsets: int = 1_000_000
    """States of a model after determinising."""
    open_bytes: int = 2 * 10**9
    """What exact counts of the words of a model take, where lengths are secret …"""
    open_additions: int = 2 * 10**8
    """… and the additions that they take."""
    edge_table_entries: int = 1 << 20
    """States × symbols for which the edges are written down as a table."""
    unmerged_states: int = 200
    """So few states are not merged: they are as quick as they are, with one set of edges for all positions."""
    merged_entries: int = 50_000_000
    """States × symbols of a model whose equivalent states are merged."""

    cost_symbols: int = 4000
    """Symbols whose costs are given or come from positions: A² costs are written out."""
    near_pairs: int = 40_000_000
    """Entries of a relation or of a list of near symbols: half a GiB."""
    edge_pairs: int = 16_000_000
    """Pairs of edges whose differences are counted where symbols are not states."""
    cached_metric_symbols: int = 3000
    """Metrics of larger alphabets take too much memory to be cached."""

    counted_entries: int = 20_000_000
    """Length² / 2 × states: beyond it words are not counted by distance in seconds."""
    grid_entries: int = 40_000_000
    """Length² × states of a grid of errors."""
    batch_paths: int = 1 << 25
    """Entries of the table of paths that words counted together share: a quarter of a GiB."""
    batch_counts: int = 1 << 20
    """Entries of V for all words that are counted together."""
    batch_products: int = 1 << 17
    """Entries of a table of products."""
    batch_successors: int = 8
    """States that may follow one symbol where words are counted together."""
    batch_lengths: int = 8
    """Words of so many neighbouring lengths share a table of paths."""

    edit_edges: int = 5_000_000
    """Edges that words are counted by edits with, where the word is public; a mechanism asks `most_edges` before it
    sees a word."""
    cached_steps: int = 400_000
    """Steps that a universal Levenshtein automaton remembers."""
    edit_pairs_at_once: int = 1 << 16
    """Pairs of words whose edit distances are computed together …"""
    edit_mask_bytes: int = 1 << 26
    """… and what their bit masks take."""

    balanced_edges: int = 20_000_000
    """Pairs of edges that a balance looks at."""
    near_symbols: int = 8
    """Symbols near another, up to which all are summed as far ones and the excess of the near ones is added."""
    law_values_at_once: int = 1 << 22
    """Values of all layers of the words whose laws are computed together."""

    free_symbols_at_once: int = 1 << 15
    """Symbols of rows whose temporary arrays stay in the processor's cache."""
    sorted_length: int = 512
    """Symbols up to which sorting keys beats throwing at positions."""
    near_share: int = 4
    """One state in so many, at most, is looked at one by one as near to a word; where more are, all are."""
    layer_values_at_once: int = 1 << 25
    """All layers of V that are drawn from at once, those of all threads, and all that are free: a quarter of a GiB."""
    lane_phase: float = 2.0
    near_edge: float = 3.0
    near_phase: float = 6.0
    near_state_edge: float = 20.0
    """What an edge takes for one word, in steps of the loop that takes sixteen words at once, about 0.3 ns (measured;
    only ratios matter): there, in each phase where costs are looked up; by itself; by itself in each phase; and where
    near states are followed, for each edge of one."""
    probes: int = 16
    """Public words by which it is measured how many states are near a word."""
    thread_words: int = 4096
    thread_symbols: int = 1 << 16
    """What a thread draws at once: enough to be worth a thread, so little that long words are shared out too."""

    listed_pairs: int = 100_000
    """So many pairs of words are quicker to list than to be counted by prefixes and suffixes."""
    table_numbers: int = 20_000_000
    """Numbers of one table of distances, at eight bytes each."""

    drawn_states: int = 400
    """States of an automaton of words near a word that is drawn as a picture …"""
    drawn_product_states: int = 150
    """… and of its product with a model."""


LIMITS = Adjustable(LanguageLimits())
