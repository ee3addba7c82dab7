"""How much work and memory mechanisms take: beyond it they refuse, sample, or go another way."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class MechanismLimits:
    """The most of each."""

    attacker_words: int = 2_000
    """Words of a language that is written out to see what an attacker guesses."""
    attacker_entries: int = 40_000_000
    """Words × released words × symbols of such a language."""
    attacker_entries_one_by_one: int = 250_000
    """The same where the law of every word is asked for by itself."""
    attacker_draws: int = 200
    """Words that an attacker is played with."""
    attacker_steps: int = 20_000_000
    """Edges × phases × symbols × draws of an attacker who is played."""
    versions: int = 100
    """Private versions of one word that an attacker sees."""
    version_sets: int = 20_000
    """Sets of versions that are all looked at."""
    version_entries: int = 8_000_000
    """Words × sets of versions at once."""
    judging_words: int = 400
    """Words that a window of positions is judged by."""
    window_edges: int = 40_000
    """Edges of all words together in one position of a window, while windows are chosen."""
    window_work: int = 3_000_000
    """Edges for choosing windows, and again for judging."""
    averaged_words: int = 64
    """Words of a language up to which averages are over all of them."""
    sampled_words: int = 200
    """Words of a sample that averages are over."""
    sampled_steps: int = 2_000_000
    """Words × symbols × edges of such a sample."""
    manifest_length: int = 500
    """Symbols of words whose average a manifest has."""
    manifest_steps: int = 120_000
    """Symbols × edges of such words: about a second."""
    shared_adjacency: int = 64
    """The b up to which the laws of all shorter words are made beforehand where longer words share one."""
    exact_powers: int = 64
    """Powers of one rational in a chain: beyond it every weight is rounded for itself."""
    gaps_at_once: int = 24
    """Gaps between symbols that an edit channel fills at once."""
    edit_length: int = 5000
    """Symbols of a word around which an edit channel counts words."""
    compared_words: int = 200
    """Words that are written out, so that every pair of them is compared at once."""
    selection_work: int = 1_000_000
    """Edges × symbols: beyond it only the Hamming distance is looked at, or one hidden symbol."""
    online_work: int = 5_000
    """Edges × symbols up to which the online mechanism is a candidate."""
    sparse_symbols: int = 3000
    """Symbols of a sparse model whose certificates are quick …"""
    sparse_adjacency: int = 2
    """… with so many hidden symbols."""
    local_symbols: int = 120_000
    """Positions × symbols by swaps with one hidden symbol, over balls: seconds, half a minute for so many."""
    local_work: int = 8_000_000
    """The same on road networks, for words of one length, not balanced …"""
    local_ways: int = 8
    """… with so many ways out of a state."""
    dense_symbols: int = 64
    """Symbols of words by the Hamming distance: seconds, whatever the graph is."""
    swapped_symbols: int = 4
    """Hidden symbols beyond which only swaps are certified, for words of one length: in minutes."""
    error_work: int = 400_000
    """Words × symbols × edges that candidates are compared by."""
    online_distances: int = 1 << 22
    """Entries of a table of distances that the online mechanism steers by."""
    online_options: int = 1 << 20
    """Successors that it compares at once."""
    optimal_words: int = 400
    """Words of a language that the optimal mechanism takes."""
    counted_work: int = 1_000_000
    """Edges × symbols …"""
    counted_length: int = 1000
    """… and symbols up to which its refusal says how many words there are."""
    optimal_rows: int = 1_000_000
    """Its inequalities (adjacent pairs × outputs): a round of rays takes about 10 s for so many."""
    solved_rows: int = 60_000
    """Inequalities that are solved all at once, which takes about 15 s for so many."""
    restricted_inputs: int = 3_000
    """Inputs of a law restricted to some outputs, all pairs of which are compared."""
    restricted_distances: int = 4_000_000
    """Inputs × outputs whose distances are computed for that …"""
    restricted_comparisons: int = 400_000_000
    """… and adjacent inputs × outputs that are compared …"""
    compared_at_once: int = 10_000_000
    """… and so many of them at once."""
    corrections: int = 400_000_000
    """Outcomes × words shown instead that a channel lists …"""
    corrected_at_once: int = 2_000_000
    """… and so many of them at once."""
    flipped_at_once: int = 1 << 14
    """Words that permute-and-flip draws at once."""
    runners: int = 1 << 17
    """Runners of a race at once."""
    compared_length: int = 100
    """Symbols up to which truncated edits can be better: then the uniform part outweighs everything at any usual ε."""
    edit_edges: int = 10**7
    """Edges of the automaton around a word."""
    stand_in_edges: int = 10**6
    """The same of a public word that a cutoff is chosen by."""
    edit_microseconds: int = 10**7
    """What a word may take by the measured times."""
    cutoff: int = 1000
    """The largest cutoff."""

    error_words: tuple[int, int] = (4, 24)
    """At least and at most so many words that candidates are compared by."""
    fewest_attacker_draws: int = 8
    """With fewer words an attacker is not played."""
    version_draws: int = 400
    """Draws that the uncertainty of sets of versions is estimated by."""
    window_positions: int = 8
    """Positions of a window."""
    fewest_sampled_words: int = 20
    """Words of a sample at least, however long one takes."""
    sparse_ways: float = 2.0
    """Other symbols that adjacent words can have at a position: certificates are quick up to there."""
    staircase_words: int = 16
    """Words of the model that steps are compared by …"""
    staircase_steps: int = 32
    """… which are those up to here, and the period."""
    few_successors: int = 6
    """Successors of a state up to which every cutoff is tried …"""
    dense_cutoff: int = 2
    """… and the largest one that is tried elsewhere: there a larger one rarely passes, which takes seconds to see."""
    channel_edits: int = 200
    """Edits up to which their number is computed."""
    channel_slots: int = 1 << 15
    """Slots that are drawn together: they stay in the processor's cache."""
    online_rows: int = 6
    """Words from which on a step of all together is quicker than a session for each."""
    flipped_by_table: int = 16
    """Words from which on the table of the distance law is quicker than a race for each …"""
    flipped_together: int = 3
    """… and words of a model from which on they are drawn together."""
    optimal_pairs_at_once: int = 4096
    """Pairs of words whose rows are compared together."""
    document_bits: int = 4096
    """Bits of a table in a document, which may come from anybody."""
    remembered_rows: int = 64
    """Released rows that a law remembers: an audit asks for the same rows with every word."""
    remembered_words: int = 512
    """Words whose boundaries the optimal mechanism remembers."""
    remembered_balls: int = 8
    """Words whose neighbours truncated edits remember."""


LIMITS = Adjustable(MechanismLimits())
