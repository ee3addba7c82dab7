"""Releasing words of a model: which of the draws of `languages` is quickest for how many words.

All draws take the same decisions from the same bits, so the choice between them is one of time only.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from symveil.languages.run_draws import draw_rows
from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
from symveil.randomness import BitSource

# What things cost, in steps of the compiled loop: one edge for one word, about 0.7 ns (measured; only ratios matter).
_LANES = 16  # the loop always does so many words
_VECTORISED_CALLS = 90_000.0  # the calls into numpy for one symbol
_VECTORISED_EDGE = 6.0  # an edge, for each different word
_VECTORISED_PHASE, _PHASE = 30.0, 2.0  # the same in each phase where costs are looked up; and what it takes the loop
_VECTORISED_ROW = 200.0  # the choice of one symbol
_PRICE_OF_COMPILER = 700e6  # loading LLVM and a kept loop, or compiling it: at most half a second

_LOOP = "symveil.languages.run_draws_batch"


@dataclass(slots=True)
class _Patience:
    """How much this process has paid for not loading the compiler; shared by all its releases."""

    paid: float = 0.0


_patience = _Patience()


def release_runs(weights: RunWeights, codes: Codes, bits: BitSource) -> Codes:
    """A private version of each row."""
    if not len(codes) or not is_loop_quicker(weights, codes):
        return draw_rows(weights, codes, bits)
    # imported when first needed: a single word must not wait for the compiler to load
    from symveil.languages.run_draws_batch import draw_many  # noqa: PLC0415

    return draw_many(weights, codes, bits)


def is_loop_quicker(weights: RunWeights, codes: Codes) -> bool:
    """Whether to draw by the compiled loop: at once where it is loaded, else when waiting for it has paid off.

    Nobody knows how many words are still to come. Who loads the compiler when numpy has cost as much
    more as loading would have, in all batches so far, never takes more than twice the time of the best choice.
    """
    if not weights.fits_batches:
        return False
    length, edges, rows = weights.language.length, weights.language.graph.edge_count, len(codes)
    different = 1 if (codes == codes[0]).all() else rows
    phases = weights.costs.phases
    each, compiled_each = (
        (_VECTORISED_EDGE, 1.0) if weights.by_excess else (_VECTORISED_PHASE * phases, _PHASE * phases)
    )
    vectorised = length * (_VECTORISED_CALLS + each * edges * different + _VECTORISED_ROW * rows)
    compiled = compiled_each * length * edges * _LANES * -(-rows // _LANES)
    if compiled >= vectorised:
        return False
    if _is_loaded():
        return True
    _patience.paid += vectorised - compiled
    return _patience.paid > _PRICE_OF_COMPILER


def _is_loaded() -> bool:
    # another thread may be importing it just now: then it is there and has nothing in it yet
    is_compiled = getattr(sys.modules.get(_LOOP), "is_compiled", None)
    return is_compiled is not None and bool(is_compiled())
