"""The public names, pinned: removing one is a major version."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

import symveil as sv

NAMES = {
    "LogicalSystem",
    "StochasticSystem",
    "delayed_estimate",
    "enforce_opacity",
    "synthesize_opacity",
    "observer",
    "sensitive_strings",
    "verify_opacity",
    "violation_probability",
    "Alphabet",
    "Automaton",
    "Channel",
    "ChannelParameters",
    "read_channel",
    "draw",
    "emit",
    "hide",
    "unroll",
    "without_silent",
    "CostTable",
    "DistanceLaw",
    "EditChannel",
    "Estimate",
    "PrivateCounts",
    "count",
    "count_file",
    "read_counts",
    "compare_table",
    "ColumnOptions",
    "learn",
    "synthesize",
    "estimate",
    "estimate_statistic",
    "Exponential",
    "FreeLanguage",
    "Guarantee",
    "HammingAutomaton",
    "LevenshteinAutomaton",
    "LabelledChain",
    "Law",
    "calibrate",
    "MarkovChain",
    "MechanismChoice",
    "Online",
    "Optimal",
    "PermuteAndFlip",
    "RunLanguage",
    "Staircase",
    "SymveilError",
    "TransitionSystem",
    "TruncatedLevenshtein",
    "__version__",
    "adjacency_table",
    "alphabet_of",
    "position_symbols",
    "road_model",
    "symbols_file",
    "audit",
    "audit_by_chain",
    "average_over_model",
    "check_manifest",
    "grant_budget",
    "ledger_status",
    "person_status",
    "privacy_curve",
    "protection",
    "smallest_epsilon",
    "choose_mechanism",
    "compare",
    "compose",
    "from_networkx",
    "hamming_automaton",
    "learn_chain",
    "levenshtein_automaton",
    "load_model",
    "LowerBound",
    "lower_bound",
    "privatize",
    "privatize_file",
    "read_coordinates",
    "read_costs",
    "read_places",
    "read_sequences",
    "road_map_svg",
    "runs",
    "runs_up_to",
    "save_model",
    "select_mechanism",
    "verify_privacy",
    "words",
    "words_up_to",
}


def test_names() -> None:
    assert set(sv.__all__) == NAMES == set(dir(sv))
    assert all(getattr(sv, name) is not None for name in NAMES)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(sv, "no_such_name")


def test_importing_symveil_imports_nothing_heavy() -> None:
    code = "import symveil, sys; assert not {'numpy', 'flint', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_mechanism_interface_of_the_contract() -> None:
    words = sv.words(alphabet="abc", length=3)
    for mechanism in (
        sv.Exponential(
            words, epsilon=5, adjacency=1, calibration="tight", prior="uniform", utility="distance", offset=1
        ),
        sv.PermuteAndFlip(words, epsilon=5),
        sv.Staircase(words, epsilon=5, adjacency=3),
    ):
        assert isinstance(mechanism.release("abc"), str)
        assert isinstance(mechanism.release(("a", "b", "c")), tuple)
        assert isinstance(mechanism.release(["a", "b", "c"]), tuple)
        assert [type(word) for word in mechanism.release_many(["abc", ("a", "b", "c")])] == [str, tuple]
        assert mechanism.release_many([]) == []
        assert 0 < mechanism.probability("abc", "cba") < 1
        assert mechanism.log_probability("abc", "cba") < 0
        law = mechanism.distances("abc")
        assert law.counts == [1, 6, 12, 8]
        assert "Expected error" in law._repr_html_()
        assert "epsilon=5" in repr(mechanism)


def test_a_mechanism_cannot_be_changed_behind_its_guarantee() -> None:
    mechanism = sv.Exponential(sv.words("abc", 3), epsilon=1)
    for name, value in (("epsilon", 99), ("language", None), ("adjacency", 7)):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(mechanism, name, value)
    with pytest.raises(TypeError):
        mechanism.language.alphabet.code["z"] = 0


def test_what_is_shown_in_a_notebook() -> None:
    mechanism = sv.Exponential(sv.words("ab", 2), epsilon=1)
    assert "exact" in mechanism.guarantee._repr_html_()
    assert "<dt>private</dt><dd>yes</dd>" in sv.audit(mechanism)._repr_html_()


def test_names_are_found_without_sources(tmp_path) -> None:
    """As some installers leave packages: compiled files only. The rest of the package comes from where it is."""
    home = Path(sv.__file__).parent
    (tmp_path / "symveil").mkdir()
    py_compile.compile(str(home / "__init__.py"), cfile=str(tmp_path / "symveil" / "__init__.pyc"), doraise=True)
    code = (
        f"import symveil as sv; assert sv.__file__.endswith('.pyc'); sv.__path__.append({str(home)!r}); "
        "assert sv.SymveilError.__module__ == 'symveil.errors' and sv.Guarantee and not hasattr(sv, 'no_such_name')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
