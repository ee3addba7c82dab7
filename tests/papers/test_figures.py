"""Every figure can be drawn, for one paper or for all."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from symveil.tasks.reproduce import figures
from symveil.tasks.reproduce.figures import draw_figures


def test_all_figures_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # a certificate takes seconds, and a curve of three points is a curve
    monkeypatch.setattr(figures, "FIGURE_5_EPSILONS", figures.FIGURE_5_EPSILONS[:3])
    assert (Fraction(1, 2), 1, Fraction(3, 2)) == figures.FIGURE_5_EPSILONS
    names = {path.name for path in draw_figures(tmp_path, "svg")}
    assert names == {
        "jones2019_algorithm1_as_printed.svg",
        "jones2019_fig1a_automaton.svg",
        "jones2019_fig2_automaton.svg",
        "jones2019_case_study_1.svg",
        "benvenuti2026_fig2a.svg",
        "benvenuti2026_fig2b.svg",
        "benvenuti2026_fig2c.svg",
        "benvenuti2026_fig3_product.svg",
        "benvenuti2026_fig5.svg",
        "chistikov2019_fig4a_pin_checker.svg",
        "chistikov2019_fig4b.svg",
        "zhao2025_fig1_levenshtein_automaton.svg",
        "zhao2025_fig3a_system.svg",
        "zhao2025_fig3b_observer.svg",
        "zhao2025_fig4a_system.svg",
        "zhao2025_fig4b_observer.svg",
        "zhao2025_fig5_distance_limited.svg",
        "zhao2025_fig6_distance_limited.svg",
        "zhao2025_fig7_modified.svg",
        "zhao2025_fig8a_medical_system.svg",
        "zhao2025_fig8b_medical_observer.svg",
        "zhao2025_fig9_medical_distance_limited.svg",
        "zhao2025_fig10_medical_modified.svg",
    }
    assert {path.name for path in tmp_path.iterdir()} == names
    assert all(b"<svg" in path.read_bytes() for path in tmp_path.iterdir())


def test_one_paper_only(tmp_path: Path) -> None:
    assert all(path.name.startswith("jones2019") for path in draw_figures(tmp_path, "png", "jones2019"))
