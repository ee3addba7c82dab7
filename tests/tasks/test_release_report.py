"""What a release means, in numbers people use: at the end of a run, and on one page of public facts only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.running import symveil
from symveil.tasks.privatize_file import privatize_file
from symveil.tasks.release_report import in_numbers, release_page

ROADS = Path(__file__).parents[2] / "examples" / "roads.json"
TRIPS = Path(__file__).parents[2] / "examples" / "trips.csv"


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    file = tmp_path / "trips.csv"
    file.write_text("id,rider,town,s\n" + "".join(f"{n},hunter{n % 3},Xanadu,a b a b\n" for n in range(12)))
    return file


def test_the_end_of_a_run_says_it(trips, tmp_path):
    common = ["privatize", str(trips), "--out", str(tmp_path / "o.csv"), "--alphabet", "ab", "--sequence", "s"]
    done = symveil(*common, "--epsilon", "2", "--keep", "town")
    assert (
        "0.477 of 4 symbols of a sequence change; 88.1 % of the symbols stay as they are, over the public model"
        in done.out
    )
    assert "between sequences that differ in one symbol shift by a factor of at most 7.4" in done.out
    assert "--report FILE.html" in done.out
    page = tmp_path / "r.html"
    told = symveil(*common, "--epsilon", "2", "--keep", "town", "--report", str(page), "--json")
    assert told.document["report"] == str(page) and page.exists()
    for wrong in ("r.txt", "o.csv"):
        line = symveil(*common, "--epsilon", "2", "--report", str(tmp_path / wrong)).assert_one_error_line()
        assert "report: expected" in line


def test_the_page_has_public_facts_only(trips, tmp_path):
    release = privatize_file(trips, tmp_path / "o.csv", alphabet="ab", epsilon=2, sequence="s", person="rider")
    page = release_page(release.manifest)
    assert "hunter" not in page and "Xanadu" not in page
    assert "http" not in page and "<script" not in page and "src=" not in page  # nothing from elsewhere
    for said in (
        "What is promised",
        "What is not promised",
        "at most 7.4",
        "length of each sequence",
        "symveil check o.csv",
    ):
        assert said in page
    assert "To think about" not in page
    assert page == release_page(release.manifest)


def test_what_an_attacker_learns(trips, tmp_path):
    """By public things only: another file with words of the same lengths has the same section."""
    other = tmp_path / "other.csv"
    other.write_text(trips.read_text().replace("a b a b", "b b b a"))
    sections = []
    for file in (trips, other):
        manifest = privatize_file(file, tmp_path / "o.csv", alphabet="ab", epsilon=1, sequence="s", again=True).manifest
        page = release_page(manifest)
        (section,) = re.findall(r"<h2>What an attacker learns</h2>.*?<h2>", page, flags=re.DOTALL)
        sections.append(section)
        facts = dict(in_numbers(manifest))
        said = "who knows the model names 50 % of symbols before and 73 % after (exact)"
        assert facts["attacker"].startswith(said) and "nine times in ten" not in page
        assert facts["attacker"].endswith("; for scale, 27 % of symbols change on average")
    assert sections[0] == sections[1]
    assert "73 %" in sections[0] and "6.2 %" in sections[0] and "at most 73.2 %" in sections[0]
    older = {name: value for name, value in manifest.items() if name != "attacker"}
    assert "What an attacker learns" not in release_page(older) and "attacker" not in dict(in_numbers(older))


def test_a_setting_that_hides_little_is_called_so(trips, tmp_path):
    page = tmp_path / "r.html"
    common = ["privatize", str(trips), "--out", str(tmp_path / "o.csv"), "--alphabet", "ab", "--sequence", "s"]
    little = "an attacker is right nine times in ten: this setting hides little"
    done = symveil(*common, "--epsilon", "3", "--report", str(page))
    assert little in " ".join(done.err.split()) and little[1:] in page.read_text(encoding="utf-8")
    mild = symveil(*common, "--epsilon", "2", "--report", str(page), "--again")
    assert "nine times in ten" not in mild.err + page.read_text(encoding="utf-8")


def test_names_on_the_page_are_text(trips, tmp_path):
    release = privatize_file(trips, tmp_path / "o.csv", alphabet="ab", epsilon=2, sequence="s")
    assert "<b>&" not in (page := release_page({**release.manifest, "kept": ["<img src=x>"]}))
    assert "<img" not in page and "&lt;img" in page


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"adjacency": 2}, "differ in up to 2 symbols"),
        ({"adjacency": "all"}, "have the same length"),
        ({"metric": "levenshtein", "epsilon": 9}, "are up to 1 insertions, deletions or substitutions apart"),
    ],
)
def test_what_looks_alike(trips, tmp_path, options, said):
    named = {"alphabet": "ab", "epsilon": 2, "sequence": "s", **options}
    manifest = privatize_file(trips, tmp_path / "o.csv", **named).manifest
    assert said in dict(in_numbers(manifest))["odds"]
    assert ("length of each sequence" in manifest["passes_unprotected"]) == ("metric" not in options)


def test_on_a_model_neighbours_are_counted_and_classic_is_called_so(tmp_path):
    def run(**options):
        return privatize_file(
            TRIPS, tmp_path / "o.csv", model=ROADS, separator="|", epsilon=25, **{"adjacency": 1, **options}
        ).manifest

    manifest = run(calibration="classic")
    assert re.search(r"look alike: [\d.]+ around a typical one", dict(in_numbers(manifest))["protected"])
    page = release_page(manifest)
    assert "epsilon 25 is hardly any privacy" in page and "no better than classic" not in page
    asked_tight = {**manifest, "parameters": {**manifest["parameters"], "calibration": "tight"}}
    assert "certified, no better than classic here" in release_page(asked_tight)


def test_private_times_are_in_the_promise() -> None:
    """With a declared shift ε is for near times only, and the loss at every distance for any times."""
    parameters = {"metric": "hamming", "adjacency": 1, "epsilon": "4", "time_grid": "hour", "time_shift": 1}
    rows = [{"distance": 1, "epsilon": 48.0}, {"distance": 2, "epsilon": 96.0}]
    manifest = {"b": 1, "guarantee": {"epsilon": 4.0, "loss_at": rows}, "parameters": parameters, "protection": None}
    near = dict(in_numbers(manifest))
    apart = "sequences that differ in one symbol and by at most 1 bin in its time"
    assert near["odds"].startswith(f"between {apart} shift by")
    assert near["protected"] == f"{apart} look alike"
    assert near["loss by distance"].startswith(
        "sequences that differ, with times any number of bins apart, in 1 symbol lose"
    )
    assert "nothing is kept beyond b" not in near["loss by distance"]
    for row in rows:
        row["epsilon"] /= 12
    anyhow = dict(in_numbers({**manifest, "parameters": {**parameters, "time_shift": "any"}}))
    assert anyhow["protected"] == "sequences that differ in one symbol and its time look alike"
    assert anyhow["loss by distance"] == "sequences that differ in 1 symbol lose at most 4; in all 2 symbols 8"
