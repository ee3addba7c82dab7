"""How much is computed for a certificate, in words, multiplications and bytes, never by a clock.

Which certificates are made depends on the model and on these alone, so that a mechanism has the same rate on every
machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationLimits:
    """What a proof may take: beyond, another one is tried, or the classic rate is the answer."""

    words: int = 10_000
    """Words of which all pairs are compared, with exponential weights by Hamming distance and without a balance."""
    costly_words: int = 3000
    """The same of all other weights."""
    balanced_words: int = 5000
    """Graceful rates of so many words are proved with a balance, which takes all pairs twice for each rate."""
    words_with_outputs: int = 400
    """The largest ratio of all outputs is computed for every pair of so many words."""
    sums: float = 1e7
    """Words × sums of costs that are kept for all rates; beyond, each rate sums all pairs anew."""

    halves_work: float = 8e10
    """Multiplications for one rate, where all pairs of words are compared: some seconds."""
    halves_bytes: int = 400 << 20
    """For the vectors of one table of halves of words."""
    compared_halves: int = 4_000_000
    """Beginnings × ends of one block."""
    lightest: float = 2.0**-60
    """Weights, of the largest, that products of 32 bits may lose: nothing beside it."""

    quick_work: int = 5_000
    quick_automaton_work: int = 1_000
    """Edges × symbols for which slower certificates take no longer than the quick one: of chains; of automata with
    b = 1, where they take two seconds for a rate that is a quarter larger."""
    quick_halves_work: float = 1e10
    quick_symbols: int = 16
    quick_adjacency: int = 2
    """The same for multiplications of halves, for symbols and for b."""

    quick_states: int = 2500
    """Those of the quick certificate have S × S boxes: 0.8 GB here, 1.3 TB with 100,000 states."""
    quick_box_work: float = 2e9
    """Multiplications for them at one rate, about 1 ns each."""
    quick_pair_work: float = 3e9
    """Entries of pairs of paths for a rate and a length of blocks; nine in ten are never visited."""
    quick_path_work: float = 1.5e8
    """Entries of paths, where pairs are too many."""

    window_pairs_work: float = 1e9
    """Edges looked at for pairs of windows at one rate, about 4 ns each."""

    box_work: float = 4e9
    """Multiplications for boxes over all states at one rate; beyond, they are over balls."""
    block_work: float = 3e11
    """The same for the blocks of one rate: some minutes."""
    box_bytes: int = 300 << 20
    """For the boxes of one side."""
    window_bytes: int = 1500 << 20
    """The same where that is what one state beside the anchor takes."""
    window_work: tuple[float, float] = (1e9, 6e7)
    """For windows of one state and of two."""
    patient_window_work: tuple[float, float] = (1e9, 1.2e9)
    """The same where shorter windows proved nothing: half a minute for a rate."""
    fitted_positions: int = 128
    """Positions among which blocks are fitted together: cubic work."""

    block_paths: int = 3_000_000
    block_pairs: float = 4e8
    """Paths of a block, and pairs of them."""
    fewest_slots: int = 5
    """Layers of boxes that are in memory at least."""
    suffix_bytes: int = 400 << 20
    """For the second halves of paths."""
    thread_halves: int = 64
    """Halves of paths that are worth a thread."""

    ball_radius: int = 6
    """The largest radius of balls."""
    ball_entries: int = 8_000_000
    """States and phases in all balls: some minutes for a rate."""
    ball_states: int = 40
    """States that a ball may have at least."""
    outside_ball: float = 2.0**-7
    """κ of what is outside a ball: with less there, larger balls prove hardly more and take much longer."""
    ball_bytes: int = 600 << 20
    """For the boxes of one side."""
    ball_starts: int = 2000
    """Starts whose pairs are looked at together."""
    ball_nodes: int = 300
    """Nodes for one pair."""
    ball_symbols: int = 6
    """Symbols on a side."""
    ball_thread_pairs: int = 64
    """Pairs that are worth a thread."""
    ball_overshoot: float = 1.25
    """A search goes on up to so far above its limit: how far says which rate to try next."""

    roots: int = 200_000
    """Roots of one class that are refined; beyond it the largest bound of the others counts."""
    groups_at_once: int = 256
    first_dives: int = 3
    """Likely roots that are followed to a pair of words first."""
    reported_nodes: int = 64
    """Nodes between two reports of progress."""
    contexts: int = 2000
    """Contexts of one block that are not proved: then they go on one by one, the worst first."""
    context_work: float = 6e6
    """Multiplications for one block."""
    split_share: float = 0.9
    """Positions are looked at one by one if the boxes over all of them prove at least a tenth of the paths."""

    halves_ratios: int = 50_000
    """Ratios of pairs of words at once: as many as a processor has at hand."""
    cached_halves: int = 100_000_000
    """Words whose Z is cached, so that it is computed once and not three times."""
    halves_tile: int = 1 << 18
    """Multiplications that libraries of linear algebra leave to one thread: two threads are ours."""
    narrow_share: float = 1 / 5000
    narrow_error: float = 0.01
    """Of ε, and at all: what may be lost by computing in 32 bits."""

    series_terms: int = 5000
    """Terms of a series of the edit channel: with a ρ close to 1 all of them would take too long."""
    truncated_words: int = 1500
    """Words of a language that is written out, so that the loss of truncated edits is exact."""
    truncated_entries: int = 10**9
    """The square of its words × symbols that the longest of them can have."""
    truncated_evaluations: int = 40
    """Rates that are tried."""

    shared_length: int = 16
    """A proof for words of so many symbols serves all shorter ones."""
    block_list: int = 50_000
    """Paths of a block from one state."""
    hull_steps: int = 64
    """Steps after which a hull that hardly changes is tried as an invariant one."""
    nodes: int = 20_000
    """Nodes of the search for one rate."""
    ball_pair_nodes: int = 100
    """The same over balls: nodes of one pair."""
    patience: int = 3
    """Times as many nodes where boxes took long."""
    all_rates_work: float = 2.4e11
    """Multiplications for all rates that are tried; beyond it few are."""
    failures: int = 4
    """Rates in a row without a proof, nothing proved before: then nothing is."""
    climbing_rounds: int = 12
    """Rounds in which a pair of words is made worse."""
    climbing_candidates: int = 4000
    """Pairs that a round looks at."""
    climbing_symbols: int = 100_000
    """Positions × symbols: beyond it a pair is left as it is."""
    climbing_words: int = 3
    """Public words that a pair begins at."""
    graceful_nodes: int = 3000
    """Nodes of the search where the loss of farther words is bounded too."""
    graceful_work: float = 1e11
    """Multiplications for its blocks at one rate."""
    graceful_windows: int = 20_000
    """Windows from each of which paths of all lengths are looked at."""
    graceful_quick_work: float = 2e7
    """Windows × edges × steps."""
    window_symbols: int = 12
    """Differing symbols up to which the layers of a window are distinguished."""
    window_positions: int = 100_000_000
    """Pairs of windows, over all positions …"""
    window_ratios: int = 10_000_000
    """… and entries of one position."""
    window_pairs: int = 4000
    """Pairs of windows that are worth a second thread."""
    windows: int = 3000
    """Windows of a position."""

    cached_bytes: int = 100_000
    """Of a file in the cache: a larger one is not read."""


LIMITS = Adjustable(CalibrationLimits())
