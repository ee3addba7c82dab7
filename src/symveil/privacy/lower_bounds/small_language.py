"""Small languages written out: words, probabilities, outputs and adjacent pairs."""

from __future__ import annotations

import itertools

import numpy as np

from symveil.privacy.lower_bounds.prior import Prior
from symveil.privacy.lower_bounds.programme import MOST_ROWS, SmallProgramme

_MOST_WORDS = 64


def small_programme(prior: Prior, adjacency: int) -> SmallProgramme | None:
    """The programme of a language with few words and few outputs; None where there are too many.

    Outputs are all words made of the symbols that occur at each position: another symbol is wrong for every word.
    """
    language = prior.language
    if not language.has_at_most(_MOST_WORDS):
        return None
    words = language.enumerate_codes(at_most=_MOST_WORDS)
    symbols = [np.unique(words[:, column]).tolist() for column in range(language.length)]
    outputs = 1
    for each in symbols:
        outputs *= len(each)
    apart = np.count_nonzero(words[:, None, :] != words[None, :, :], axis=2)
    near = (apart > 0) & (apart <= adjacency)
    if prior.first:
        near &= words[:, None, 0] == words[None, :, 0]
    adjacent = np.argwhere(near)
    if len(adjacent) * outputs > MOST_ROWS:
        return None
    return SmallProgramme(
        words=words,
        shares=prior.word_probabilities(words),
        outputs=np.array(list(itertools.product(*symbols)), dtype=np.int32).reshape(outputs, language.length),
        adjacent=adjacent,
    )
