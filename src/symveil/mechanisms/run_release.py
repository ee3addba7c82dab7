"""Releasing words of a model: which of the draws of `languages` is quickest for how many words."""

from __future__ import annotations

import numpy as np

from symveil.languages.run_draws import draw_versions
from symveil.languages.run_weights import RunWeights
from symveil.models.word import Codes
from symveil.randomness import BitSource

# Below this much work (words · symbols · edges) nobody should wait for a compiler.
_WORK_WORTH_COMPILING = 20_000_000


def release_runs(weights: RunWeights, codes: Codes, bits: BitSource) -> Codes:
    """A private version of each row."""
    if not len(codes) or (codes == codes[0]).all():
        return draw_versions(weights, codes[0], len(codes), bits) if len(codes) else codes.copy()
    work = len(codes) * weights.language.length * weights.language.graph.edge_count
    if work > _WORK_WORTH_COMPILING and weights.fits_batches:
        # imported when first needed: a single word must not wait for numba to load
        from symveil.languages.run_draws_batch import draw_many  # noqa: PLC0415

        return draw_many(weights, codes, bits)
    released = codes.copy()
    different, number = np.unique(codes, axis=0, return_inverse=True)
    for index, word in enumerate(different):
        rows = np.flatnonzero(number.reshape(-1) == index)
        released[rows] = draw_versions(weights, word, len(rows), bits.for_rows(rows))
    return released
