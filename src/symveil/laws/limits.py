"""How much work and memory questions about laws take: beyond it they refuse, sample, or answer less."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class LawLimits:
    """The most of each."""

    chain_states: int = 200_000
    """States of a mechanism as a labelled chain."""
    related_words: int = 50
    """Words of a chain whose pairs are all related; beyond it pairs are asked for by name."""
    curve_rows: int = 50
    """The largest distance up to which a document lists the loss at every distance; beyond it at some of them."""
    pair_outcomes: int = 200_000
    """Kinds of outcomes of a pair of laws; with more the pair is not written out."""
    paired_words: int = 256
    """Words of a language whose pairs are all looked at."""
    listed_pairs: int = 20_000
    """Pairs of words whose losses are listed for other libraries."""
    loss_values: int = 20_001
    """Values of ε at which δ is computed: between two of them the distribution is rounded upwards."""
    message_work: int = 90_000_000
    """Words × symbols × edges × distances of what a message says about each b."""
    hidden_work: int = 50_000_000
    """The same of the words that a share of positions is estimated by …"""
    hidden_words: int = 500
    """… the words up to which it is over all of them …"""
    fewest_hidden_words: int = 10
    """… and the words of a sample, however long one takes."""
    hidden_lengths: int = 5
    """Lengths of a file that such a share is looked at for."""
    hidden_length: int = 100
    """The longest of them."""
    counted_numbers: int = 2_000_000
    """Counts by distance that are kept at once."""
    sampled_words: int = 100
    """Words of a sample that neighbours are counted around."""
    fewer_sampled_words: int = 20
    """The same where lengths are secret."""
    counted_edits: int = 3
    """Edits up to which neighbours of words of secret lengths are counted: a promise with so many is not thin."""


LIMITS = Adjustable(LawLimits())
