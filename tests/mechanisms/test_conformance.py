"""What every mechanism promises, in one place: law, draw, guarantee, errors, and that people can find it.

A new mechanism gets all of this by a line in `every_mechanism`; one without that line is noticed (CONTRIBUTING.md).
"""

from __future__ import annotations

import importlib
import itertools
import math
import pickle
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

import symveil as sv
import symveil.mechanisms
from symveil.errors import NotPrivateError, ParameterError, SymveilError, WordError
from symveil.mechanisms.by_length import ByLength
from symveil.mechanisms.choice import REGISTERED, names
from symveil.mechanisms.mechanism import Mechanism
from symveil.mechanisms.postprocessed import Postprocessed
from symveil.mechanisms.restricted import Restricted
from symveil.randomness import NotPrivateSeededBits

from .every_mechanism import EVERY_MECHANISM, Case, counted, inputs, law

FALSE_ALARM = 1e-6  # a right draw fails one of these fits in a million; the seeds are fixed
DRAWS, SLOW_DRAWS = 100_000, 10_000
PAGE = Path(__file__).parents[2] / "docs" / "mechanisms.md"


@pytest.fixture(params=EVERY_MECHANISM, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


# --- nobody is forgotten -----------------------------------------------------------------------------


def test_every_mechanism_has_its_line() -> None:
    for module in pkgutil.walk_packages(symveil.mechanisms.__path__, "symveil.mechanisms."):
        importlib.import_module(module.name)
    waiting: list[type] = [Mechanism]
    concrete = set()
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if not getattr(kind, "__abstractmethods__", None) and kind.__module__.startswith("symveil.mechanisms."):
            concrete.add(kind)
    # not asked for by name: what is made of others; those of policies have test_restricted_and_postprocessed
    assert concrete == {*REGISTERED, ByLength, Restricted, Postprocessed}
    assert concrete - {Restricted, Postprocessed} == {case.kind for case in EVERY_MECHANISM}


def test_people_can_find_it(case: Case) -> None:
    name = case.make(1).name
    assert name in names()
    if case.private:
        heading = {"edit": "edit channel", "truncated-levenshtein": "truncated levenshtein"}.get(name, name)
        _, found, rest = PAGE.read_text(encoding="utf-8").lower().partition(f"\n## {heading}\n")
        assert found, f"{PAGE.name} has no section on {name}"
        section = rest.partition("\n## ")[0]
        for part in ("loss_at", "**theorem.**", "**when not to use it.**"):
            assert part in section, f"the section on {name} does not say: {part}"
    assert case.kind.__doc__


# --- law ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/10", 1, 20])
def test_the_law_is_one(case: Case, epsilon: object) -> None:
    """Probabilities are above 0 for words that can be released and sum to 1, also where ε is small or large."""
    mechanism = case.make(epsilon)
    for word in inputs(mechanism)[:12]:
        chances = law(mechanism, word)
        assert math.fsum(chances.values()) == pytest.approx(1, abs=1e-9)
        assert all(chance > 0 for released, chance in chances.items() if released is not None)


def test_a_law_of_words_and_a_law_of_codes_are_one_law(case: Case) -> None:
    mechanism = case.make(2)
    symbols = mechanism.language.alphabet.symbols
    word = inputs(mechanism)[-1]
    for released, chance in list(law(mechanism, word).items())[:20]:
        if released is not None:
            spelled = ["".join(str(symbols[code]) for code in each) for each in (word, released)]
            assert mechanism.probability(*spelled) == pytest.approx(chance, rel=1e-12)
            assert mechanism.log_probability(*spelled) == pytest.approx(math.log(chance), abs=1e-12)


# --- draw --------------------------------------------------------------------------------------------


def fits(observed: dict, chances: dict, draws: int) -> bool:
    """Pearson's χ² with cells expected below 10 put together."""
    if any(count and released not in chances for released, count in observed.items()):
        return False
    cells = [[observed.get(released, 0), draws * chance] for released, chance in chances.items()]
    cells.sort(key=lambda cell: cell[1])
    while len(cells) > 1 and cells[0][1] < 10:
        cells[1] = [cells[0][0] + cells[1][0], cells[0][1] + cells[1][1]]
        del cells[0]
        cells.sort(key=lambda cell: cell[1])
    statistic = sum((found - hoped) ** 2 / hoped for found, hoped in cells)
    return float(chi2.sf(statistic, len(cells) - 1)) >= FALSE_ALARM


def test_draws_follow_the_law_and_no_other(case: Case) -> None:
    draws = SLOW_DRAWS if case.slow else DRAWS
    mechanism = case.make(2)
    word = inputs(mechanism)[-1]
    observed = counted(mechanism, word, draws, NotPrivateSeededBits(1))
    assert sum(observed.values()) == draws
    assert fits(observed, law(mechanism, word), draws)
    if case.private:  # what is printed in J19 hardly depends on ε here
        assert not fits(observed, law(case.make("8/5"), word), draws), "more noise would have been believed"
        assert not fits(observed, law(case.make("12/5"), word), draws), "less noise would have been believed"


def test_single_releases_keep_the_form_of_the_word(case: Case) -> None:
    mechanism = case.make(2)
    symbols = mechanism.language.alphabet.symbols
    word = "".join(str(symbols[code]) for code in inputs(mechanism)[-1])
    assert isinstance(mechanism.release(word), str)
    assert isinstance(mechanism.release(tuple(word)), tuple)
    assert [type(each) for each in mechanism.release_many([word, list(word)])] == [str, tuple]
    assert mechanism.release_many([]) == []
    same = [mechanism.release(word, bits=NotPrivateSeededBits(7)) for _ in range(3)]
    assert len(set(same)) == 1, "the same bits, another word: a draw took bits from elsewhere"


# --- guarantee ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/2", 2])
def test_no_loss_above_the_guarantee(case: Case, epsilon: object) -> None:
    mechanism = case.make(epsilon)
    verdict = sv.audit(mechanism)
    if not case.private:
        assert not verdict.private
        return
    assert verdict.worst_epsilon <= mechanism.guarantee.epsilon + 1e-12
    assert mechanism.guarantee.epsilon <= float(mechanism.epsilon) * (1 + 1e-12)
    assert mechanism.guarantee.how in ("exact", "certified", "classic")
    if mechanism.guarantee.how == "exact" and mechanism.name != "edit":  # its loss is reached by ever longer outputs
        assert verdict.worst_epsilon == pytest.approx(mechanism.guarantee.epsilon, abs=1e-4)


# --- errors ------------------------------------------------------------------------------------------


WRONG = [-1, math.nan, math.inf, "x", "1/0", None, True, 10**10, 0, "0"]


@pytest.mark.parametrize(
    ("case", "epsilon"),
    # J19 has a figure at ε = 0, and what only reproduces it takes that
    [(case, epsilon) for case in EVERY_MECHANISM for epsilon in (WRONG if case.private else WRONG[:-2])],
    ids=lambda value: value.name if isinstance(value, Case) else str(value),
)
def test_a_wrong_budget_is_refused_in_one_line(case: Case, epsilon: object) -> None:
    with pytest.raises(ParameterError, match="^epsilon: expected ") as caught:
        case.make(epsilon)
    assert len(str(caught.value).splitlines()) == 1


def test_a_word_of_another_alphabet_is_refused_without_telling_it(case: Case) -> None:
    mechanism = case.make(1)
    for wrong in ("XX", ["SECRET", "SECRET"], "aX"):
        with pytest.raises(WordError) as caught:
            mechanism.release(wrong)
        assert not re.search("X|SECRET", str(caught.value))
        with pytest.raises(SymveilError):
            mechanism.release_many([wrong])


def test_nothing_can_be_changed_behind_the_guarantee(case: Case) -> None:
    mechanism = case.make(1)
    with pytest.raises(AttributeError):
        mechanism.epsilon = 99
    assert f"{type(mechanism).__name__}(" in repr(mechanism)
    again = pickle.loads(pickle.dumps(mechanism))  # noqa: S301 - our own; engines send mechanisms to workers
    assert again.guarantee == mechanism.guarantee


def test_what_is_not_private_has_to_be_asked_for(case: Case) -> None:
    mechanism = case.make(1)
    if case.private:
        assert (
            sv.select_mechanism(mechanism.language, epsilon=1, mechanism=mechanism.name, adjacency=1).name
            == mechanism.name
        )
    else:
        with pytest.raises(NotPrivateError):
            sv.select_mechanism(mechanism.language, epsilon=1, mechanism=mechanism.name, adjacency=1)


def test_codes_out_of_range_are_refused(case: Case) -> None:
    mechanism = case.make(1)
    wrong = np.array([7, -1], dtype=np.int32)
    with pytest.raises(SymveilError):
        if mechanism.length is not None:
            mechanism.release_codes(np.resize(wrong, (1, mechanism.language.length)))
        else:
            mechanism.release_flat(wrong, np.array([2]))


def test_the_law_of_codes_that_are_no_word_is_not_told(case: Case) -> None:
    """Codes that no symbol has, words that are too short or too long, and words that the model cannot produce."""
    mechanism = case.make(2)
    language, symbols = mechanism.language, len(mechanism.alphabet)
    word = np.array(inputs(mechanism)[-1], dtype=np.int32)
    released = mechanism.outputs(len(word), at_most=10_000)[-1][:3]
    assert np.isfinite(mechanism.log_probabilities(word, released)).all()
    assert np.isfinite(mechanism.expected_errors(word[None, :])[0]).all()
    codes = [77, -1, 2**40, symbols]
    wrong = [np.array([*word[:-1], code]) for code in codes]
    if language.max_length is not None:
        wrong.append(np.resize(word, language.max_length + 1))
    if mechanism.length is not None:
        wrong += [word[:-1], word[:0]]
    if language.graph is not None:
        every, possible = itertools.product(range(symbols), repeat=len(word)), set(inputs(mechanism))
        impossible = [np.array(each) for each in every if each not in possible]
        assert impossible
        wrong += impossible
    for row in wrong:
        for ask in (
            lambda row=row: mechanism.log_probabilities(row, released),
            lambda row=row: mechanism.expected_errors(row[None, :]),
            lambda row=row: mechanism.expected_errors(np.stack([np.resize(word, len(row)), row])),
        ):
            with pytest.raises(WordError) as caught:
                ask()
            assert "\n" not in str(caught.value)
            assert not re.search("77|109951|2147", str(caught.value))
    for row in wrong:
        if mechanism.name == "edit" and ((row >= 0) & (row < symbols)).all():
            continue  # which releases words of any length
        with pytest.raises(WordError, match="^released, row 1: expected a word that can be released") as caught:
            mechanism.log_probabilities(word, row[None, :])
        assert not re.search("77|109951|2147", str(caught.value))
    for nonsense in (word[None, :], np.array([0.5, 1.0]), "ab", [[0], [0, 1]]):
        with pytest.raises(WordError, match="^word: expected"):
            mechanism.log_probabilities(nonsense, released)
