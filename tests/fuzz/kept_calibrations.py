"""Whatever lies in the cache of calibrations: nothing comes out of it but a rate that is proved."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from fuzz.special import put
from symveil.calibration import certify, windows
from symveil.calibration.answers import clear_answers
from symveil.calibration.search import CertifiedRate
from symveil.calibration.weighting import Weighting
from symveil.errors import SymveilError
from symveil.languages.costs import hamming
from symveil.languages.runs import runs
from symveil.models.markov_chain import MarkovChain
from symveil.storage import files as caches

_EPSILON = Fraction(5)
_entries: list[tuple[Path, Fraction]] = []


def prepare(folder: Path) -> tuple[bytes, ...]:
    """An entry as it is made for a small ring; from then on nothing is searched for."""
    windows.window_search = lambda *_, **__: None  # sharper, and far slower
    found = _asked()
    (file,) = caches.cache_folder().glob("*.json")
    _entries.append((file, found.rate))
    certify._QuickSearch.run = _passed_by
    return (file.read_bytes(),)


def parse(content: bytes, folder: Path) -> object:
    """What is made of an entry with this content."""
    file, largest = _entries[-1]
    put(file, content)
    found = _asked()
    assert found.rate <= largest * Fraction(1001, 1000), "far more than the search has found"
    assert found.loss <= _EPSILON
    return found


def _asked() -> CertifiedRate:
    names = "abcdefgh"
    rows = [(name, names[(place + step) % 8], "1/2") for place, name in enumerate(names) for step in (0, 1)]
    clear_answers()
    words = runs(MarkovChain.from_transitions(rows), 16)
    return certify.quick_rate(Weighting(language=words, cost=hamming(words), adjacency=2), epsilon=_EPSILON)


def _passed_by(*_: object) -> object:
    raise SymveilError("the entry was passed by")
