"""`symveil release`: words out, errors in one line, nothing secret in them."""

from __future__ import annotations

import pytest

from .running import symveil

ABC = ("--alphabet", "abc", "--epsilon", "2")


def test_words_one_a_line_and_the_cost_said() -> None:
    done = symveil("release", "abcab", *ABC, "--count", "3")
    assert done.status == 0
    lines = done.out.splitlines()
    assert len(lines) == 3
    assert all(len(line) == 5 and set(line) <= set("abc") for line in lines)
    assert "3 releases of one word are charged 6 in all" in done.err


def test_json_document_is_the_contract() -> None:
    done = symveil("release", "abcab", "--alphabet", "abc", "--epsilon", "0.1", "--count", "3", "--json")
    assert done.status == 0
    assert done.document.keys() == {"released", "guarantee", "total_epsilon", "passes_unprotected"}
    losses = [{"distance": apart, "epsilon": apart / 10} for apart in range(1, 6)]
    assert done.document["guarantee"] == {"epsilon": 0.1, "how": "exact", "loss_at": losses}
    assert done.document["total_epsilon"] == 0.3  # exact decimals: not 0.30000000000000004
    assert all(len(word) == 5 and set(word) <= set("abc") for word in done.document["released"])


def test_symbols_of_several_characters() -> None:
    done = symveil("release", "main st|park rd", "--alphabet", "main st,park rd", "--separator", "|", "--epsilon", "9")
    assert done.status == 0
    assert set(done.out.strip().split("|")) <= {"main st", "park rd"}


def test_alphabet_file_with_windows_line_ends_and_utf8(tmp_path) -> None:
    file = tmp_path / "alphabet.txt"
    file.write_bytes("ä\r\nβ\r\n, \r\n".encode())
    done = symveil("release", "äβ", "--alphabet", f"@{file}", "--separator", " ", "--epsilon", "1")
    assert "position 1 of 1" in done.assert_one_error_line()  # one symbol "äβ", not two
    done = symveil("release", "ä β", "--alphabet", f"@{file}", "--separator", " ", "--epsilon", "1", "--json")
    assert set(done.document["released"][0]) <= {"ä", "β", ", "}


def test_length_zero_and_one_symbol_alphabet() -> None:
    assert symveil("release", "", *ABC, "--json").document["released"] == [[]]
    assert symveil("release", "aaa", "--alphabet", "a", "--epsilon", "1").out == "aaa\n"


def test_a_very_large_budget_returns_the_word() -> None:
    assert symveil("release", "abcab", "--alphabet", "abc", "--epsilon", "1000").out == "abcab\n"


@pytest.mark.parametrize("mechanism", ["auto", "exponential", "permute-and-flip", "staircase"])
@pytest.mark.parametrize("calibration", ["tight", "classic"])
def test_every_mechanism(mechanism: str, calibration: str) -> None:
    options = ("--mechanism", mechanism, "--calibration", calibration, "--adjacency", "2")
    done = symveil("release", "abcab", *ABC, *options, "--json")
    assert done.status == 0
    assert done.document["guarantee"]["epsilon"] <= 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("abx", *ABC), "position 3 of 3"),
        (("abc", "--epsilon", "1"), "expected --alphabet"),
        (("abc", "--alphabet", "abc"), "--epsilon"),
        (("abc", "--alphabet", "abc", "--epsilon", "0"), "above 0"),
        (("abc", "--alphabet", "abc", "--epsilon", "-1"), "above 0"),
        (("abc", "--alphabet", "abc", "--epsilon", "nan"), "finite"),
        (("abc", "--alphabet", "abc", "--epsilon", "inf"), "finite"),
        (("abc", "--alphabet", "abc", "--epsilon", "much"), "'much'"),
        (("abc", "--alphabet", "abc", "--epsilon", "1e999999999"), "number"),
        (("abc", *ABC, "--adjacency", "0"), "adjacency"),
        (("abc", *ABC, "--adjacency", "1.5"), "adjacency"),
        (("abc", *ABC, "--utility", "inverse", "--offset", "0"), "offset"),
        (("abc", *ABC, "--utility", "inverse", "--mechanism", "staircase"), "utility"),
        (("abc", *ABC, "--count", "0"), "count"),
        (("abc", *ABC, "--count", "many"), "count: expected a whole number, found 'many'"),
        (("abc", *ABC, "--mechanism", "magic"), "magic"),
        (("abc", *ABC, "--metric", "euclid"), "levenshtein"),
        (("abc", "--alphabet", "abca", "--epsilon", "1"), "positions 1 and 4"),
        (("abc", "--alphabet", "", "--epsilon", "1"), "at least one symbol"),
        (("abc", "--alphabet", "a,,c", "--epsilon", "1"), "position 2"),
        (("abc", "--alphabet", "aa,bb", "--epsilon", "1"), "--separator"),
        (("abc", "--alphabet", "@/no/such/file", "--epsilon", "1"), "/no/such/file"),
        (("abc", *ABC, "--alphabet-from-word"), "both"),
        (("abc", *ABC, "--mechanism", "jones2019-printed"), "--not-private"),
        (("abc", *ABC, "--unknown-option"), "--unknown-option"),
        ((), "WORD"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...], expected: str) -> None:
    assert expected in symveil("release", *arguments).assert_one_error_line()


def test_the_secret_symbol_is_shown_only_on_request() -> None:
    hidden = symveil("release", "abSECRETc", "--separator", "b", "--alphabet", "a,c", "--epsilon", "1")
    assert "SECRET" not in hidden.assert_one_error_line()
    shown = symveil("release", "abSECRETc", "--separator", "b", "--alphabet", "a,c", "--epsilon", "1", "--show-values")
    assert "'SECRETc'" in shown.assert_one_error_line()


def test_alphabet_from_word_says_that_it_leaks() -> None:
    done = symveil("release", "abcab", "--alphabet-from-word", "--epsilon", "2")
    assert done.status == 0
    assert "gives it away" in done.err


def test_printed_mechanism_runs_when_asked_for_by_name_and_charges_its_true_loss() -> None:
    options = ("--mechanism", "jones2019-printed", "--not-private", "--count", "2", "--json")
    document = symveil("release", "abcab", *ABC, *options).document
    assert document["guarantee"]["epsilon"] > 2
    assert document["total_epsilon"] == pytest.approx(2 * document["guarantee"]["epsilon"], rel=1e-12)


def test_a_shown_loss_is_rounded_upwards() -> None:
    done = symveil("release", "abc", "--alphabet", "abc", "--epsilon", "1.00000049", "--count", "3")
    assert "epsilon = 1.00001 (exact)" in done.err
    assert "charged 3.00001 in all" in done.err


def test_words_that_could_not_be_read_back_are_refused_unless_json() -> None:
    arguments = ("release", "c", "--alphabet", "a|b,c", "--separator", "|", "--epsilon", "1")
    assert "--json" in symveil(*arguments).assert_one_error_line()
    assert symveil(*arguments, "--json").status == 0


def test_what_passes_unprotected_is_said() -> None:
    plain = ("release", "ab", "--alphabet", "ab", "--epsilon", "9")
    assert "note: passes unprotected: length\n" in symveil(*plain).err
    assert symveil(*plain, "--json").document["passes_unprotected"] == ["length"]
    hidden = symveil(*plain, "--metric", "levenshtein")
    assert hidden.status == 0 and "passes unprotected" not in hidden.err
