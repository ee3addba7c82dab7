"""Expected error against ε, for every mechanism: for one word, or on average over the public model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from symveil.errors import ParameterError
from symveil.languages.language import Language
from symveil.laws.adjacency import chosen_adjacency
from symveil.laws.parameters import Adjacency
from symveil.laws.protection import typical_words
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.online import Online
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.mechanisms.staircase import Staircase
from symveil.models.word import Word, decode
from symveil.numbers.progress import Progress
from symveil.pictures.curves import Curve
from symveil.storage.atomic import write_text

EPSILONS = tuple(Fraction(step, 2) for step in range(1, 21))
_TYPICAL_WORDS = 10


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """One mechanism: its expected error at each ε."""

    mechanism: str
    epsilons: tuple[float, ...]
    errors: tuple[float, ...]

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {"mechanism": self.mechanism, "epsilon": list(self.epsilons), "expected_error": list(self.errors)}


def error_curves(
    language: Language,
    *,
    word: Word | None = None,
    adjacency: Adjacency | None = None,
    epsilons: Sequence[Fraction] = EPSILONS,
    progress: Progress | None = None,
) -> tuple[ErrorCurve, ...]:
    """The curves of every mechanism for `word`; without one the average over words of the public model.

    Parameters
    ----------
    language
        Words of one length.
    word
        One of them; None: a few typical words of the public model.
    adjacency
        Up to what distance words are to look alike. None: 1 over an alphabet; on a model it has to be given.
    epsilons
        At which budgets.
    progress
        Called with how much is done, and of how much.

    >>> import symveil as sv
    >>> curves = error_curves(sv.words("ab", 5))
    >>> [curve.mechanism for curve in curves][:2]
    ['exponential, tight', 'exponential, classic']
    >>> round(curves[1].errors[9], 6)          # ε = 5
    0.379291
    """
    words = [word] if word is not None else _public_words(language)
    makers = dict(_makers(language, chosen_adjacency(adjacency, language)))
    curves = []
    for number, (name, make) in enumerate(makers.items()):
        errors = []
        for step, epsilon in enumerate(epsilons):
            mechanism = make(epsilon)
            errors.append(sum(mechanism.distances(each).expected_error for each in words) / len(words))
            if progress:
                progress(number * len(epsilons) + step + 1, len(makers) * len(epsilons))
        curves.append(ErrorCurve(name, tuple(map(float, epsilons)), tuple(errors)))
    return tuple(curves)


def _makers(language: Language, adjacency: Adjacency) -> Iterator[tuple[str, Callable[[Fraction], Mechanism]]]:
    for kind in (Exponential, PermuteAndFlip, Staircase):
        for calibration in ("tight", "classic"):
            if calibration == "tight" and kind is not Exponential and not language.homogeneous:
                continue  # no tight analysis on a model: it would be the classic curve again
            yield (
                f"{kind.name}, {calibration}",
                lambda epsilon, kind=kind, calibration=calibration: kind(  # type: ignore[misc]
                    language, epsilon=epsilon, adjacency=adjacency, calibration=calibration
                ),
            )
    if language.graph is not None:
        yield Online.name, lambda epsilon: Online(language, epsilon=epsilon, adjacency=adjacency)


def _public_words(language: Language) -> Sequence[Word | None]:
    if language.runs is None:
        return [None]  # all words of the free language have the same law
    rows = typical_words(language.runs, _TYPICAL_WORDS)
    return [decode(row, language.alphabet, like=()) for row in rows]


def save_curves(curves: Sequence[ErrorCurve], path: Path) -> None:
    """Write the curves as a picture (`.png`, `.svg`) or as numbers (`.json`)."""
    if path.suffix.lower() == ".json":
        write_text(path, json.dumps({"curves": [each.document() for each in curves]}) + "\n")
        return
    if path.suffix.lower() not in (".png", ".svg"):
        raise ParameterError("curves", expected="a file name ending in .png, .svg or .json", found=repr(path.name))
    from symveil.pictures.plots import draw_curves  # noqa: PLC0415 - matplotlib, which the studio's pages do without

    draw_curves(
        [
            Curve(each.mechanism, each.epsilons, each.errors, "dashed" if "classic" in each.mechanism else "solid")
            for each in curves
        ],
        title="Expected error",
        x_label="ε",
        y_label="symbols changed",
        path=path,
    )
