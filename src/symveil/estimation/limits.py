"""Where estimates stop, and from which noise on they give nothing: public rules."""

from __future__ import annotations

from dataclasses import dataclass

from symveil.numbers.limits import Adjustable


@dataclass(frozen=True, kw_only=True, slots=True)
class EstimationLimits:
    """One number for each."""

    groups: int = 200
    """Random groups of words at most, for variances."""
    fewest_groups: int = 20
    """With fewer there is no variance."""
    numbers_stored: int = 20_000_000
    """How many numbers the tables of all groups may have: 160 MB."""
    least_eigenvalue: float = 0.01
    """An eigenvalue below this is taken for zero, unless the file is large enough to average its noise out."""
    large_enough: float = 5.0
    """|λ|·√(number of sequences) from which on it is: then the noise of a share is below about a fifth."""
    noisy: float = 0.05
    """Below this an eigenvalue of products of two windows makes V̂ too noisy to be used alone (seen in one case)."""
    useful: float = 0.1
    """A half-width of more than this share of the sequences of a length is of no use."""
    least_unchanged: float = 0.02
    """κ − σ/(m−1) below which nothing can be said about symbols."""
    dense_cells: int = 1 << 21
    """Words × symbols of one array."""
    least_agreement: float = 0.2
    """The least share of symbols that a second release leaves as they are …"""
    sure_agreement: float = 0.9
    """… and that from which on there are intervals …"""
    theta: float = 0.4
    """… where a second step is at most this share of the first one."""
    least_signal: float = 0.1
    """A smaller share of signal in the first step is none."""
    splits: int = 20
    """Random halves of the groups by which noise and signal are distinguished."""
    numbers_at_once: int = 4_000_000
    """How many numbers an array over edges and words may have."""
    fewest_rounds: int = 12
    rounds: int = 400
    """Of expectation and maximisation, however large the file is, and at most."""
    products: int = 5_000_000_000
    """How many products of an edge and a symbol all rounds from one start may take: some minutes. Large files have
    fewer rounds, which a note reports."""
    converged: float = 1e-7
    """The share of all expected steps by which a round may still move them: then it has converged."""
    chain_work: int = 4_000_000_000
    """How many products a table may take: some minutes."""
    paths: int = 2_000_000
    """Of a model, with the symbols of one window."""
    far_apart: float = 0.05
    """Two starting points whose tables differ by more than this share have not found the same chain."""


LIMITS = Adjustable(EstimationLimits())
