"""Words to compare mechanisms by: feasible words of the public model, drawn by its prior from a fixed seed.

Nothing secret is read: a comparison that looked at the words to be released would itself be a release.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from symveil.languages.run_draws import draw_rows
from symveil.languages.run_weights import RunWeights
from symveil.languages.runs import RunLanguage
from symveil.models.word import Codes
from symveil.randomness import NotPrivateSeededBits
from symveil.trellis.passes import Trellis, drawn_paths, scaled_backward
from symveil.trellis.semirings import FLOATS

_SEED, _SEED_OF_MANY = 11, 13


def public_words(language: RunLanguage, count: int, *, prior: str = "uniform") -> Codes:
    """`count` words of a model, always the same ones.

    Parameters
    ----------
    language
        The feasible words; a public start is drawn too.
    count
        How many.
    prior
        "uniform": each of its words is as likely as any other; "chain": as the Markov chain has them.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = public_words(sv.runs(chain, length=3), 4000)
    >>> np.unique(words, axis=0).shape                           # aaa aab aba baa bab
    (5, 3)
    """
    hidden = replace(language, public_start=False)
    # weights that do not depend on the word: what is drawn around any word has the law of the prior
    weights = RunWeights(language=hidden, rate=Fraction(0), with_prior=prior == "chain")
    around = np.repeat(any_word(language)[None, :], count, axis=0)
    return draw_rows(weights, around, NotPrivateSeededBits(_SEED))


def uniform_words(language: RunLanguage, count: int) -> Codes:
    """`count` words of a model, each as likely as any other, always the same ones: many of them at once.

    Steps are chosen by the number of words that complete them, in floats: the chance of each step is right to ten
    digits. `public_words` is exact, and passes over the whole model for each word.

    Parameters
    ----------
    language
        The feasible words; a public start is drawn too.
    count
        How many.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> words = uniform_words(sv.runs(chain, length=3), 4000)
    >>> np.unique(words, axis=0, return_counts=True)[1].min() > 700          # of 800 each
    np.True_
    """
    graph, length = language.graph, language.length
    behind, _ = scaled_backward(
        Trellis(edges=graph, length=length, semiring=FLOATS, final=FLOATS.ends(graph.accepting)), None
    )
    bits = NotPrivateSeededBits(_SEED_OF_MANY)
    values = (layer[graph.target] for layer in behind[1:])
    return graph.symbol[drawn_paths(graph, values, graph.start, bits.fractions(count * length).reshape(count, length))]


def any_word(language: RunLanguage) -> Codes:
    """The first word of a language, by the order of codes.

    >>> import symveil as sv
    >>> chain = sv.MarkovChain.from_transitions([("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)])
    >>> any_word(sv.runs(chain, length=3)).tolist()
    [0, 0, 0]
    """
    graph, state = language.graph, language.graph.start
    word = np.empty(language.length, dtype=np.int32)
    for position in range(language.length):
        alive = language.alive[language.length - position - 1]
        edge = next(edge for edge in graph.edges(state) if alive[graph.target[edge]])
        word[position], state = graph.symbol[edge], int(graph.target[edge])
    return word
