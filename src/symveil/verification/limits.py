"""How much work and memory proofs take: beyond it they refuse, round, or go another way."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class VerificationLimits:
    """The most of each."""

    # channels and chains
    channel_work: int = 20_000_000
    """Pairs of inputs × outputs of a channel: about ten seconds."""
    pairs_for_bd: int = 60_000
    """Pairs of states of one label for which bd is computed by default."""
    pairs_for_ld: int = 50_000
    """The same for ld, where δ is known without it."""
    word_bits: int = 20_000
    """Bits of the weight of a word: beyond, brackets that round are quicker than unreadable fractions."""
    # brackets
    closing_nodes: int = 400
    """Nodes in one linear system."""
    bracket_bits: int = 100_000
    """Bits of all denominators of (p; r) together, before both are rounded."""
    rounded_bits: int = 128
    """They are rounded down to multiples of 2 to minus this."""
    narrow_node: int = 12
    """States of a node; one with k times as many counts k² times, because its flow takes that much longer."""
    visits: int = 40
    """Extensions per allowed node."""
    patience: int = 500
    """Nodes, counted like those of the limit, after which a search in rationals goes on in floats."""
    patient_visits: int = 2_000
    """Extensions after which it does: both take about as long as loading the loops of floats."""
    short_search: int = 64
    """Nodes for which rationals take milliseconds, so that no answer in floats is given."""
    showing: float = 1e-3
    """Share of the width; if rounding adds more than that, rationals are worth their time."""
    # distances
    small_pairs: int = 160
    """Pairs up to which rationals from the start are quicker than loading compiled loops."""
    small_work: int = 4_000
    """The same, in pairs × successors²."""
    exact_pairs: int = 1_200
    """Pairs up to which it is worth asking for exact values after floats."""
    exact_work: int = 15_000
    """The same, in pairs × successors²."""
    exact_system: int = 200
    """Unknowns of a linear system of a policy in rationals."""
    exact_bits: int = 32
    """Bits of α: beyond, exact values are unreadable and slow."""
    choices: int = 60
    """Choices of directions that are tried for bd."""
    distance_bits: int = 400
    """Bits of a distance: beyond, a rounded one is quicker to work with and nearly as good."""
    policies: int = 200
    """Policies in floats, one after the other."""
    pushes: int = 40
    """How often distances are pushed outwards until one sweep proves them."""
    switches: int = 30
    """How often the slower direction of pairs is chosen again for that."""
    # audits
    audited_pairs: int = 50_000
    """Pairs of adjacent words of an audit by chain."""
    audited_words: int = 4_096
    """Words of one length; the table of all P(w'|w) has one float for every pair of an input and an output."""
    audited_words_of_all_lengths: int = 1_500
    """Words of all lengths."""
    audited_outputs: int = 20_000
    """Outputs of all lengths."""
    audit_table: int = 20_000_000
    """Pairs of an input and an output."""
    comparisons: int = 2 * 10**10
    """Probabilities that are compared."""
    comparisons_beyond: int = 2 * 10**9
    """The same of all pairs, for the loss at every distance: some seconds."""
    # opacity
    observer_bytes: int = 2 * 10**9
    """Bytes of all estimates."""
    explored_pairs: int = 2 * 10**9
    """Pairs of an estimate and a state: following a system beside its estimator takes one byte for each."""
    many_states: int = 200
    """Estimates of a layer that are stepped in arrays; fewer are quicker one by one."""
    states_at_once: int = 50_000
    """So many of them at a time."""
    composed_states: int = 2_000_000
    """States of several parts together."""
    composed_estimates: int = 2_000_000
    """Estimates of several parts together."""
    estimates_of_the_smallest_k: int = 100_000
    """Estimates for the smallest k that has a violation: where it is certain for that k, it is for all larger ones."""
    estimates_of_a_large_k: int = 5_000
    """The estimator of a large k remembers long ages and may be large, where a small k often gives the same answer."""
    estimates_of_a_small_k: int = 20_000
    """Estimates for that small k."""
    chain_pairs: int = 20_000_000
    """Pairs of a state and an estimate; each takes some dozens of bytes."""
    direct_unknowns: int = 30_000
    """Unknowns of a system in floats that is solved by factors."""
    exact_unknowns: int = 500
    """Unknowns of a system in rationals with probabilities of few bits: about a quarter of a second."""
    few_bits: int = 8
    """So many bits."""
    patient_unknowns: int = 1_500
    """The same for some seconds, which is better than bounds that are far apart."""
    requested_unknowns: int = 4_000
    """The same for a minute and a gigabyte."""
    exact_steps_work: int = 400_000_000
    """Steps² × bits × moves of a horizon that is followed exactly; longer ones in floats."""
    ball_unknowns: int = 400
    """Unknowns of a system in balls."""
    ball_bits: int = 256
    """Bits of those balls."""
    lumping: int = 100
    """Lumping makes a chain some ten times smaller: one that is so many times too large is not lumped."""
    followed_steps: int = 100_000
    """Steps of a horizon that are followed."""
    # what runs show
    observations: int = 50_000
    """Observations that are listed to judge a policy."""
    tabulated: int = 300_000
    """Observations that are tabulated for it."""
    strings: int = 100_000
    """Sensitive strings that are listed."""


LIMITS = Adjustable(VerificationLimits())
