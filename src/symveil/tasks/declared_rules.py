"""Rules for words as a user declares them: no symbol twice, or a model that every word must be a word of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from symveil.central.rules import RuledLaw, Rules
from symveil.central.word_law import Support, no_parameters
from symveil.errors import ParameterError
from symveil.formats.models.model_files import load_word_model
from symveil.languages.any_length import AnyLength
from symveil.languages.graph import Model, require_words


def declared_rules(symbols: Sequence[str], *, no_repeats: bool, constraint: Model | str | Path | None) -> Rules:
    """The rules of a law over these symbols.

    Parameters
    ----------
    symbols
        The names of the law's symbols.
    no_repeats
        Whether a word has every symbol at most once.
    constraint
        A model or its file: words must be words of it.

    >>> declared_rules("ab", no_repeats=True, constraint=None)
    Rules(once=(0, 1))
    """
    if not isinstance(no_repeats, bool):
        raise ParameterError("no_repeats", expected="True or False", found=no_repeats)
    models: tuple[Model, ...] = ()
    if isinstance(constraint, str | Path):
        models = (load_word_model(Path(constraint)),)
    elif constraint is not None:
        models = (require_words(constraint),)
    return Rules(once=tuple(range(len(symbols))) if no_repeats else (), constraints=models)


def require_legal_words(support: Support, rules: Rules, symbols: Sequence[str]) -> None:
    """Refuse rules that no word of the public lengths obeys, as far as automata and lengths can tell."""
    if len(rules.once) == support.symbols < support.shortest:
        raise ParameterError(
            "no_repeats",
            expected=f"words of at most {support.symbols} symbols, as many as there are",
            found=f"{support.shortest} and more",
        )
    RuledLaw.of(support, no_parameters(support), rules, symbols).trellis()


def needs_model_as_rule(language: AnyLength) -> bool:
    """Whether pairs of symbols do not decide what a word of the model is: it is no chain that begins anywhere."""
    graph = language.graph
    return graph is not None and not (graph.state_is_symbol and graph.start == len(graph.alphabet))
