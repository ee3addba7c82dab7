"""symveil: differential privacy for symbolic systems.

>>> import symveil as sv
>>> words = sv.words(alphabet="abc", length=5)
>>> mechanism = sv.Exponential(words, epsilon=2)
>>> mechanism.guarantee
Guarantee(epsilon=2.0, how='exact')
>>> private = mechanism.release("abcab")

Names are imported when they are first used, so that `import symveil` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from symveil.errors import SymveilError
    from symveil.languages.free import FreeLanguage, words
    from symveil.languages.hamming_automaton import HammingAutomaton, hamming_automaton
    from symveil.mechanisms.exponential import Exponential
    from symveil.mechanisms.permute_and_flip import PermuteAndFlip
    from symveil.mechanisms.selection import select_mechanism
    from symveil.mechanisms.staircase import Staircase
    from symveil.models.alphabet import Alphabet
    from symveil.privacy.guarantee import Guarantee
    from symveil.privacy.law import DistanceLaw
    from symveil.verification.audit import audit
    from symveil.workflows.privatize import privatize

_HOME = {
    "Alphabet": "symveil.models.alphabet",
    "DistanceLaw": "symveil.privacy.law",
    "Exponential": "symveil.mechanisms.exponential",
    "FreeLanguage": "symveil.languages.free",
    "Guarantee": "symveil.privacy.guarantee",
    "HammingAutomaton": "symveil.languages.hamming_automaton",
    "PermuteAndFlip": "symveil.mechanisms.permute_and_flip",
    "Staircase": "symveil.mechanisms.staircase",
    "SymveilError": "symveil.errors",
    "audit": "symveil.verification.audit",
    "hamming_automaton": "symveil.languages.hamming_automaton",
    "privatize": "symveil.workflows.privatize",
    "select_mechanism": "symveil.mechanisms.selection",
    "words": "symveil.languages.free",
}

__all__ = [
    "Alphabet",
    "DistanceLaw",
    "Exponential",
    "FreeLanguage",
    "Guarantee",
    "HammingAutomaton",
    "PermuteAndFlip",
    "Staircase",
    "SymveilError",
    "__version__",
    "audit",
    "hamming_automaton",
    "privatize",
    "select_mechanism",
    "words",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'symveil' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
