"""The public names, pinned: removing one is a major version."""

from __future__ import annotations

import subprocess
import sys

import symveil as sv

NAMES = {
    "Alphabet",
    "DistanceLaw",
    "Exponential",
    "FreeLanguage",
    "Guarantee",
    "HammingAutomaton",
    "PermuteAndFlip",
    "Staircase",
    "SymveilError",
    "__version__",
    "audit",
    "hamming_automaton",
    "privatize",
    "select_mechanism",
    "words",
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
        assert "expected error" in law._repr_html_()
        assert "epsilon=5" in repr(mechanism)
