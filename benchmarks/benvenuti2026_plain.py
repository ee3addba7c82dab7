"""B26 written plainly, as a reader of the paper would: Definition 4 by permuting, Mechanism 1 by equation 5.

A baseline, not a part of symveil. Equation 5 sums over all subsets of the words, 2^(m^n) of them; here it is
expanded as a polynomial, which needs the square of the number of words instead, in decimals with enough
digits for its alternating signs. Everything else is as printed; the policy of step (iii) is J19's (Algorithm 1
of B26 is Algorithm 2 of J19), so that file is used.

Legend: w the word, ℓ a Hamming distance, z = e^{−ε/2b}, Φ(ℓ) of equation 5.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from decimal import Decimal, localcontext
from itertools import product

from benchmarks.jones2019_plain import make_levenshtein, restrict, run, synthesize_policy


def permute_and_flip(word: Sequence[str], candidates: Sequence[Sequence[str]], *, epsilon: float) -> Sequence[str]:
    """Definition 4 as it is drawn: the candidates in random order, each accepted with chance e^{−εd/2}."""
    order = list(candidates)
    random.shuffle(order)
    for candidate in order:
        distance = sum(a != b for a, b in zip(word, candidate, strict=True))
        if random.random() < math.exp(-epsilon * distance / 2):
            return candidate
    raise AssertionError("the word itself is always accepted")


def all_words(alphabet: str, length: int) -> list[tuple[str, ...]]:
    """Σⁿ, written out."""
    return list(product(alphabet, repeat=length))


def distance_law(alphabet: str, length: int, *, epsilon: float, digits: int = 200) -> list[float]:
    """Equation 4 for ℓ = 0 … n, with Φ by equation 5 expanded: Σ_k (−1)^k/(k+1) e_k(the other words' z^ℓ)."""
    sizes = [math.comb(length, distance) * (len(alphabet) - 1) ** distance for distance in range(length + 1)]
    with localcontext() as context:
        context.prec = digits
        z = (Decimal(-epsilon) / 2).exp()
        law = []
        for distance, size in enumerate(sizes):
            others = [z**other for other, count in enumerate(sizes) for _ in range(count - (other == distance))]
            symmetric = [Decimal(1)]  # e_0, e_1, …
            for value in others:
                symmetric = [
                    (symmetric[k] if k < len(symmetric) else 0) + (symmetric[k - 1] * value if k else 0)
                    for k in range(len(symmetric) + 1)
                ]
            phi = sum(((-1) ** k / Decimal(k + 1)) * each for k, each in enumerate(symmetric))
            law.append(float(size * z**distance * phi))
    return law


def mechanism_1(alphabet: str, word: str, *, epsilon: float) -> str:
    """Steps (i) to (iii), everything made for this word."""
    law = distance_law(alphabet, len(word), epsilon=epsilon)
    distance = random.choices(range(len(law)), weights=law)[0]
    automaton = make_levenshtein(alphabet, word, len(word))
    return run(synthesize_policy(restrict(automaton, distance), distance))
