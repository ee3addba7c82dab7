"""Numbers that stand in a sentence, not in an example that runs, are computed here."""

from __future__ import annotations

import math
from fractions import Fraction

from symveil.ledger.composition import composed_epsilon, pure_loss, symbol_loss

from .blocks import ROOT

HALF = Fraction(1, 2)


def sentence(page: str, part: str) -> str:
    text = " ".join((ROOT / "docs" / page).read_text("utf-8").split())
    assert text.count(part) == 1, f"{page}: {part}"
    return part


def test_a_year_of_weekly_releases() -> None:
    of_a_model = composed_epsilon([(pure_loss(HALF), 52)], 1e-6)
    of_symbols = composed_epsilon([(symbol_loss(HALF, 17, 1), 52)], 1e-6)
    sentence("how-to/budgets.md", f"a year at ε = 1/2 is then {of_a_model:.1f} instead of {52 * HALF}")
    sentence("how-to/budgets.md", f"{of_symbols:.1f} over 17 symbols")


def test_factors_on_odds() -> None:
    sentence("concepts/epsilon-and-b.md", "| e^ε | " + " | ".join(f"{math.exp(e):.2g}" for e in (0.1, 1, 2)))
    sentence("quickstart-trips.md", f"within a factor of e^3 ≈ {math.exp(3):.0f}")
    sentence("quickstart-logs.md", f"within a factor of e^2 ≈ {math.exp(2):.1f}")
