"""Numbers that stand in a sentence, not in an example that runs, are computed here."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from symveil.calibration.limits import LIMITS as CALIBRATION
from symveil.central.limits import LIMITS as CENTRAL
from symveil.formats import reading
from symveil.formats.limits import LIMITS as FORMATS
from symveil.laws.limits import LIMITS as OF_LAWS
from symveil.ledger.composition import composed_epsilon, pure_loss, symbol_loss
from symveil.mechanisms.edit_channel import EditChannel
from symveil.mechanisms.limits import LIMITS as OF_MECHANISMS
from symveil.models.limits import LIMITS as OF_MODELS
from symveil.tasks import demo
from symveil.verification.limits import LIMITS as OF_PROOFS

from .blocks import ROOT

HALF = Fraction(1, 2)


def sentence(page: str, part: str) -> str:
    text = " ".join((ROOT / "docs" / page).read_text("utf-8").split())
    text = text.replace("10⁴", "10,000").replace("a million", "1,000,000").replace("4 million", "4,000,000")
    assert text.count(part) == 1, f"{page}: {part}"
    return part


def test_a_year_of_weekly_releases() -> None:
    of_a_model = composed_epsilon([(pure_loss(HALF), 52)], 1e-6)
    of_symbols = composed_epsilon([(symbol_loss(HALF, 17, 1), 52)], 1e-6)
    sentence("how-to/budgets.md", f"a year at ε = 1/2 is then {of_a_model:.1f} instead of {52 * HALF}")
    sentence("how-to/budgets.md", f"{of_symbols:.1f} over 17 symbols")


def test_factors_on_odds() -> None:
    sentence("concepts/epsilon-and-b.md", "| e^ε | " + " | ".join(f"{math.exp(e):.2g}" for e in (0.1, 1, 2)))
    sentence("quickstart-trips.md", f"within a factor of e^3 ≈ {math.exp(3):.1f}")
    sentence("quickstart-logs.md", f"within a factor of e^2 ≈ {math.exp(2):.1f}")


LIMITS = [
    ("files.md", "unpack to more than {} times their size", reading.MOST_TIMES),
    ("how-to/large-files-and-clusters.md", "unpacks to more than {} times its size", reading.MOST_TIMES),
    ("how-to/large-files-and-clusters.md", "one for each {} input rows", FORMATS.now.file_rows),
    ("threat-model.md", "the next {}, or fewer", FORMATS.now.block_rows),
    ("concepts/models.md", "where there are at most {}", OF_LAWS.now.hidden_words),
    ("opacity.md", "beyond {} unknowns", OF_PROOFS.now.exact_unknowns),
    ("opacity.md", "up to {} observations", OF_PROOFS.now.tabulated),
    ("verify.md", "refuses it after {} draws", OF_MODELS.now.draws),
    ("models.md", "more than {} steps", FORMATS.now.wmod_steps),
    ("mechanisms.md", "At most {} words of one length", OF_MECHANISMS.now.optimal_words),
    ("mechanisms.md", "and {} pairs of adjacent words × released words", OF_MECHANISMS.now.optimal_rows),
    ("mechanisms.md", "({} where ε is so small", OF_MECHANISMS.now.solved_rows),
    ("how-to/choose.md", "at most {} words", OF_MECHANISMS.now.optimal_words),
    ("mechanisms.md", "Up to {} words every pair", CALIBRATION.now.truncated_words),
    ("how-to/hide-the-length.md", "exact up to {} words", CALIBRATION.now.truncated_words),
    ("theory/certificates.md", "Languages of up to {} words are enumerated", CALIBRATION.now.words),
    ("theory/losses.md", "up to {} words (", CALIBRATION.now.words),
    ("theory/losses.md", "({} with [balance]", CALIBRATION.now.balanced_words),
    ("theory/losses.md", "{} for the [flat law]", OF_MECHANISMS.now.optimal_words),
    ("theory/losses.md", "Languages of at most {} words", OF_LAWS.now.paired_words),
    ("theory/losses.md", "Languages of up to {} words", OF_MECHANISMS.now.attacker_words),
    ("theory/certificates.md", "more than {} numbers", CALIBRATION.now.compared_halves),
    ("theory/central.md", "fewer than one draw in {} obeys", CENTRAL.now.draws),
]
"""A page, what it says of a limit, and the limit in the code."""


@pytest.mark.parametrize(("page", "part", "limit"), LIMITS)
def test_limits_are_those_of_the_code(page: str, part: str, limit: int) -> None:
    sentence(page, part.format(f"{limit:,}"))


def test_what_the_first_page_says_of_the_demo() -> None:
    promise = Fraction(demo.EPSILONS[1], demo.ADJACENCY)
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"e^({float(promise):g}·d) times as likely" in readme


def test_edits_of_the_channel_at_a_large_epsilon() -> None:
    sentence("mechanisms.md", "At large ε it is about 2m·e^(−ε) edits per symbol")
    letters, epsilon, length = 4, 12, 1000
    edits = EditChannel("abcd", epsilon=epsilon, nominal_length=length).expected_edits(length)
    assert 0.99 < edits / length / (2 * letters * math.exp(-epsilon)) < 1.01
