"""How much is computed for a certificate: words, multiplications and bytes, never a clock.

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


LIMITS = Adjustable(CalibrationLimits())
