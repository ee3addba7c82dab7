"""`symveil enforce`: the contract's JSON, its exit statuses, logs from file to file, one line for bad input."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest

from symveil.enforcement.limits import LIMITS
from symveil.tasks import enforce
from symveil.verification.limits import LIMITS as PROOFS

from .running import symveil
from .test_opacity_command import BAD_MODELS, FSM, LOGICAL, PLANT, example_of_the_help, here, write

__all__ = ["here"]  # a fixture

EXAMPLES = Path(__file__).parents[2] / "examples"
MEDICAL = str(EXAMPLES / "medical.json")
EXAMPLE_4 = str(EXAMPLES / "zhao2025_example4.json")
PROMISED = {
    "policy", "k", "enforceable", "sensitive", "violation_before", "violation_after", "epsilon", "posterior_of_secret",
}  # fmt: skip
SAFE_OF_MEDICAL = {("a", "b", "e", "a"), ("a", "c", "e", "a")}
SECRET = "SECRET"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("plant.json", PLANT)
    write("logical.json", LOGICAL)
    write("loop.json", {**PLANT, "transitions": [["0", "a", "0", "1/2"], ["0", "b", "1", "1/2"]]})
    Path("plant.fsm").write_text(FSM)
    Path("log.csv").write_text("run_id,seen\n1,a b e a\n2,a d e a\n3,a d e a\n4,a c e a\n5,a b e a\n")
    lines = [{"run_id": 1, "seen": list("adea")}, {"run_id": 2, "seen": list("abea")}, {"run_id": 3, "seen": []}]
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


# --- answers --------------------------------------------------------------------------------------


def test_json_of_the_medical_system_with_the_policy_safe():
    done = symveil("enforce", MEDICAL, "--k", "2", "--policy", "safe", "--omega", "1", "--json")
    assert done.status == 0
    assert done.err == ""
    document = done.document
    assert document.keys() >= PROMISED
    expected = {
        "policy": "safe",
        "k": 2,
        "enforceable": True,
        "violation_before": "1/3",
        "violation_after": "0",
        "epsilon": "infinity",
    }
    assert {key: document[key] for key in expected} == expected
    (only,) = document["sensitive"]
    assert (only["observation"], only["probability"]) == (list("adea"), "1/3")
    assert [(each["observation"], each["probability"]) for each in only["substitutes"]] == [
        (list("abea"), "1/6"),
        (list("acea"), "1/6"),
    ]
    # abea is shown for itself (1/3) and for half of adea (1/6): Pr(secret | abea) = 1/3
    assert document["posterior_of_secret"] == pytest.approx(1 / 3)


def test_json_of_example_4_with_substitution(here):
    done = here("enforce", EXAMPLE_4, "--k", "1", "--policy", "substitution", "--omega", "2", "--json")
    assert done.status == 0
    document = done.document
    assert (document["violation_before"], document["violation_after"]) == ("1/3", "5/18")
    assert document["epsilon"] == "infinity"
    assert document["posterior_of_secret"] == 1
    assert len(document["sensitive"][0]["substitutes"]) == 12
    assert {each["probability"] for each in document["sensitive"][0]["substitutes"]} == {"1/36"}


def test_json_of_example_4_with_the_default_policy(here):
    done = here("enforce", EXAMPLE_4, "--k", "1", "--epsilon", "2", "--json")
    assert done.status == 0
    document = done.document
    assert (document["policy"], document["violation_after"]) == ("private", "0")
    assert 1.99 < document["epsilon"] <= 2
    assert 0 < document["posterior_of_secret"] < 1
    substitutes = document["sensitive"][0]["substitutes"]
    assert {"".join(each["observation"]) for each in substitutes} == {"acc", "bab", "bac", "bcc"}
    assert sum(each["probability"] for each in substitutes) == pytest.approx(1 / 3)


def test_the_example_of_the_help_works(monkeypatch):
    monkeypatch.chdir(EXAMPLES.parent)
    example = example_of_the_help("enforce")
    assert example[:2] == ["enforce", "examples/medical.json"]
    done = symveil(*example)
    assert done.status == 0
    assert "a d e a" in done.out
    assert done.err == ""


def test_not_enforceable_is_status_1_and_names_the_string(here):
    arguments = ("enforce", MEDICAL, "--k", "2", "--policy", "safe", "--omega", "3")
    done = here(*arguments, "--json")
    assert done.status == 1
    assert done.document["enforceable"] is False
    assert done.document["unenforceable"] == list("adea")
    assert done.document["violation_before"] == "1/3"
    assert done.document["violation_after"] is None
    table = here(*arguments)
    assert table.status == 1
    assert "cannot be enforced: nothing at this distance can be shown for a d e a" in table.out
    # and nothing is written
    logged = here(*arguments, "--log", "log.csv", "--out", "out.csv")
    assert logged.status == 1
    assert not Path("out.csv").exists()


def test_nothing_safe_of_that_length(here):
    done = here("enforce", "plant.json", "--secret", "0", "--epsilon", "1")
    assert done.status == 1
    assert "cannot be enforced: no safe observation of its length" in done.out


def test_loops_with_a_length(here):
    done = here("enforce", "loop.json", "--epsilon", "1", "--length", "3", "--json")
    assert done.status == 0
    assert done.document["length"] == 3
    assert done.document["violation_before"] == "7/8"
    assert [each["probability"] for each in done.document["sensitive"]] == ["1/8", "1/4", "1/2"]


def test_adjacency_all_spends_the_budget_on_the_whole_observation(here):
    one, everything = (
        here("enforce", EXAMPLE_4, "--k", "1", "--epsilon", "2", "--adjacency", b, "--json").document
        for b in ("1", "all")
    )
    assert everything["expected_distance"] > one["expected_distance"]
    assert everything["epsilon"] <= 2


def test_probabilities_are_fractions_and_decimals(here):
    done = here("enforce", MEDICAL, "--k", "2", "--policy", "substitution", "--omega", "1")
    assert "1/3 = 0.333333" in done.out
    assert "7/24 = 0.291667" in done.out
    private = here("enforce", "loop.json", "--epsilon", "1", "--length", "200")
    assert private.status == 0
    assert "violation before" in private.out
    assert str(2**200) not in private.out  # a long fraction is given by its decimal alone


def test_a_probability_may_have_more_digits_than_python_prints():
    value = Fraction(1, 10**6000 + 1)
    with pytest.raises(ValueError, match="digits"):
        str(value)
    assert enforce.read_probability(enforce._text(value)) == value
    assert enforce.read_probability("1") == 1


def test_sensitive_strings_that_are_too_many_are_counted(here, monkeypatch, set_limits):
    set_limits(LIMITS, outcomes=2)
    arguments = ("enforce", "loop.json", "--epsilon", "1", "--length", "3")
    listed = here(*arguments)
    assert "3 sensitive strings, not listed" in listed.out
    document = here(*arguments, "--json").document
    assert (document["sensitive"], document["sensitive_count"]) == (None, 3)
    assert document["violation_before"] == "7/8"
    set_limits(PROOFS, observations=2)
    assert "more than 2 sensitive strings, not listed" in here(*arguments).out
    document = here(*arguments, "--json").document
    assert (document["sensitive_count"], document["violation_before"]) == (None, "7/8")


def test_an_unreachable_secret_is_a_warning(here):
    write("far.json", {**PLANT, "states": ["0", "1", "2", "9"], "secret": ["9"]})
    done = here("enforce", "far.json", "--epsilon", "1", "--json")
    assert done.status == 0
    assert done.document["sensitive"] == []
    assert done.err == "symveil: note: far.json: warning: no run reaches the secret state '9'\n"


# --- logs -----------------------------------------------------------------------------------------


def read_csv(name: str) -> list[tuple[str, ...]]:
    with Path(name).open(newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t" if name.endswith("tsv") else ",")
    place = header.index("seen" if "seen" in header else "observation")
    return [tuple(row[place].split()) for row in rows]


def read_jsonl(name: str) -> list[tuple[str, ...]]:
    lines = [json.loads(line) for line in Path(name).read_text().splitlines()]
    return [tuple(line["seen"] if "seen" in line else line["observation"]) for line in lines]


PRIVATE = ("enforce", MEDICAL, "--k", "2", "--epsilon", "2")


def test_the_note_on_the_posterior_does_not_praise_what_gives_secrets_away(here):
    done = here("enforce", MEDICAL, "--k", "2", "--policy", "substitution", "--omega", "1", "--json")
    assert (done.document["violation_after"], done.document["posterior_of_secret"]) == ("7/24", 1)
    assert "(its posterior probability is 1)" in done.err
    assert "gives nothing away" not in done.err


def test_a_csv_log_from_file_to_file():
    before = Path("log.csv").read_text()
    done = symveil(*PRIVATE, "--log", "log.csv", "--out", "out.csv", "--json")
    assert done.status == 0, done.err
    assert done.document["violation_after"] == "0"
    assert done.err.splitlines() == ["symveil: note: 5 observations written to out.csv"]
    shown = read_csv("out.csv")
    assert len(shown) == 5
    assert set(shown) <= SAFE_OF_MEDICAL
    assert Path("log.csv").read_text() == before


def test_one_observation_is_one(here):
    Path("one.csv").write_text("seen\na d e a\n")
    done = here(*PRIVATE, "--log", "one.csv", "--out", "out.csv", "--json")
    assert done.err.splitlines() == ["symveil: note: 1 observation written to out.csv"]
    assert len(read_csv("out.csv")) == 1


@pytest.mark.parametrize("out", ["out.csv", "out.tsv", "out.jsonl", "OUT.JSONL"])
@pytest.mark.parametrize("log", ["log.csv", "log.jsonl"])
def test_every_form_to_every_form(here, log, out):
    """The empty observation of the JSON Lines is possible and safe, and stays empty."""
    done = here(*PRIVATE, "--log", log, "--out", out, "--sequence", "seen")
    assert done.status == 0, done.err
    shown = read_jsonl(out) if out.lower().endswith("jsonl") else read_csv(out)
    assert [len(each) for each in shown] == {"log.csv": [4] * 5, "log.jsonl": [4, 4, 0]}[log]
    assert set(shown) <= SAFE_OF_MEDICAL | {()}


def test_safe_observations_pass_and_sensitive_ones_do_not(here):
    here("enforce", MEDICAL, "--k", "2", "--policy", "safe", "--omega", "1", "--log", "log.csv", "--out", "out.csv")
    shown = read_csv("out.csv")
    assert [shown[0], shown[3], shown[4]] == [tuple("abea"), tuple("acea"), tuple("abea")]
    assert {shown[1], shown[2]} <= SAFE_OF_MEDICAL


def test_a_separator_of_the_log_is_used_in_what_is_shown(here):
    Path("bars.csv").write_text("who,seen,when\nx,a|d|e|a,1\ny,a|b|e|a,2\n")
    options = ("--sequence", "seen", "--id", "who", "--separator", "|")
    done = here(*PRIVATE, "--log", "bars.csv", "--out", "out.csv", *options)
    assert done.status == 0, done.err
    header, *rows = (line.split(",") for line in Path("out.csv").read_text().splitlines())
    assert header == ["who", "seen"]  # "when" was not asked for
    assert [row[0] for row in rows] == ["x", "y"]
    assert all(tuple(row[1].split("|")) in SAFE_OF_MEDICAL for row in rows)


def test_ids_and_kept_columns_pass_in_the_format_of_the_log(here):
    Path("bars.csv").write_text("who,seen,when\nx,a d e a,1\ny,a b e a,2\n")
    here(*PRIVATE, "--log", "bars.csv", "--out", "out.csv", "--sequence", "seen", "--id", "who", "--keep", "when")
    header, *rows = (line.split(",") for line in Path("out.csv").read_text().splitlines())
    assert (header, [(row[0], row[2]) for row in rows]) == (["who", "seen", "when"], [("x", "1"), ("y", "2")])
    assert all(tuple(row[1].split()) in SAFE_OF_MEDICAL for row in rows)
    # without a word about it, a column that is called like an id is one
    here(*PRIVATE, "--log", "log.csv", "--out", "out.csv")
    assert Path("out.csv").read_text().startswith("run_id,seen\n1,")


def test_a_log_with_one_event_per_row(here):
    events = "".join(f"{case},{number},{event}\n" for case in "xy" for number, event in enumerate("adea", start=5))
    Path("events.csv").write_text("case,at,event\n" + events)
    options = ("--case", "case", "--order", "at", "--symbol", "event")
    done = here(*PRIVATE, "--log", "events.csv", "--out", "out.csv", *options)
    assert done.status == 0, done.err
    header, *rows = (line.split(",") for line in Path("out.csv").read_text().splitlines())
    assert header == ["case", "at", "event"]
    assert [row[:2] for row in rows] == [[case, str(number)] for case in "xy" for number in range(1, 5)]
    assert all(tuple(row[2] for row in rows if row[0] == case) in SAFE_OF_MEDICAL for case in "xy")


def test_packed_and_parquet_logs(here):
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    Path("log.csv.gz").write_bytes(gzip.compress(b"run_id,seen\n7,a d e a\n"))
    assert here(*PRIVATE, "--log", "log.csv.gz", "--out", "out.csv.gz").status == 0
    assert gzip.decompress(Path("out.csv.gz").read_bytes()).startswith(b"run_id,seen\n7,a ")
    pq.write_table(pa.table({"run_id": [7], "seen": [["a", "d", "e", "a"]]}), "log.parquet")
    assert here(*PRIVATE, "--log", "log.parquet", "--out", "out.parquet").status == 0
    (row,) = pq.read_table("out.parquet").to_pylist()
    assert row["run_id"] == 7
    assert tuple(row["seen"]) in SAFE_OF_MEDICAL


def test_events_with_blanks_can_be_read_back(here):
    """A log of lists; a text column that is split at blanks could not tell these events apart."""
    rows = [["0", "go in", "1", "1/2"], ["0", "go", "2", "1/2"], ["1", "in go", "3", 1], ["2", "in go", "3", 1]]
    write("blanks.json", {**PLANT, "observable": ["go in", "go", "in go", "in"], "transitions": rows})
    Path("blanks.jsonl").write_text('{"seen": ["go in", "in go"]}\n')
    done = here("enforce", "blanks.json", "--k", "1", "--epsilon", "1", "--log", "blanks.jsonl", "--out", "out.jsonl")
    assert done.status == 0, done.err
    assert read_jsonl("out.jsonl") == [("go", "in go")]
    # into text split at blanks it is refused: "go in go" is also go in + go
    for out in ("out.csv", "out.tsv"):
        done = here("enforce", "blanks.json", "--k", "1", "--epsilon", "1", "--log", "blanks.jsonl", "--out", out)
        assert "separator: expected one that occurs in no event, or an --out that ends in .jsonl, found ' '" in (
            done.assert_one_error_line()
        )
        assert not Path(out).exists()
    # another separator tells them apart, unless it occurs in an event itself
    log = ("--log", "blanks.jsonl", "--out", "out.csv", "--separator")
    here("enforce", "blanks.json", "--k", "1", "--epsilon", "1", *log, "o").assert_one_error_line()
    assert not Path("out.csv").exists()
    assert here("enforce", "blanks.json", "--k", "1", "--epsilon", "1", *log, "|").status == 0
    assert Path("out.csv").read_text() == "observation\ngo|in go\n"


# --- errors ---------------------------------------------------------------------------------------

LOGGED = (MEDICAL, "--k", "2", "--epsilon", "1", "--log")
REPLACED = (MEDICAL, "--k", "2", "--policy", "safe", "--omega", "1", "--log")
IMPOSSIBLE = "expected one that the system can produce, found an impossible event at position 3 of 4"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "MODEL"),
        (("none.json", "--epsilon", "1"), "none.json: expected a readable model file, found No such file or directory"),
        (("undeclared.fsm", "--epsilon", "1"), "line 7: expected an event of the EVENTS block, found the undeclared"),
        (("sum.json", "--epsilon", "1"), "sum.json"),
        (("blind.json", "--epsilon", "1"), "at least one observable event"),
        (("secret.json", "--epsilon", "1"), "secret.json: $.secret[0]"),
        (("plant.json", "--secret", "none", "--epsilon", "1"), "secret: expected a state of the system, found 'none'"),
        (
            ("plant.json", "--k", "-1", "--epsilon", "1"),
            "k: expected a whole number, 0 or more, or 'infinite', found -1",
        ),
        (("logical.json", "--epsilon", "1"), "expected probabilities on every transition, found a logical system"),
        (
            ("plant.fsm", "--secret", "s1", "--epsilon", "1"),
            "expected probabilities on every transition, found a logical",
        ),
        (("plant.json",), "epsilon: expected a number above 0 for the policy private, found none"),
        (("plant.json", "--epsilon", "0"), "epsilon: expected a number above 0"),
        (("plant.json", "--epsilon", "x"), "epsilon: expected a number above 0"),
        (("plant.json", "--epsilon", "1", "--omega", "1"), "omega: expected none with the policy private"),
        (("plant.json", "--policy", "safe"), "omega: expected the exact distance of substitutes"),
        (("plant.json", "--policy", "substitution"), "omega: expected the exact distance of substitutes"),
        (("plant.json", "--policy", "safe", "--omega", "0"), "omega: expected the exact distance of substitutes"),
        (
            ("plant.json", "--policy", "safe", "--omega", "1", "--epsilon", "1"),
            "epsilon: expected none with the policy safe",
        ),
        (
            ("plant.json", "--policy", "mine"),
            "policy: expected one of private, safe, substitution, insertion, edit, supervisor, found 'mine'",
        ),
        (("plant.json", "--epsilon", "1", "--adjacency", "0"), "adjacency: expected a whole number, 1 or more"),
        (("plant.json", "--epsilon", "1", "--adjacency", "x"), "adjacency: expected a whole number, 1 or more"),
        (
            ("plant.json", "--epsilon", "1", "--length", "0"),
            "length: expected a whole number of observed events, 1 or more",
        ),
        (
            ("loop.json", "--epsilon", "1"),
            "length: expected the largest number of observed events, since the system has",
        ),
        ((*LOGGED, "log.csv"), "log: expected --log and --out together, found one of them"),
        ((MEDICAL, "--epsilon", "1", "--out", "out.csv"), "log: expected --log and --out together, found one of them"),
        ((*LOGGED, "log.csv", "--out", "log.csv"), "log.csv: expected another file than the log, found the same"),
        ((*LOGGED, "log.csv", "--out", "link.csv"), "link.csv: expected another file than the log, found the same"),
        (
            (*LOGGED, "none.csv", "--out", "out.csv"),
            "none.csv: expected a readable file of sequences, found No such file",
        ),
        (
            (*LOGGED, "log.csv", "--out", "out.txt"),
            "out: expected a file name ending in .csv, .tsv, .jsonl or as the log's does, found",
        ),
        ((*LOGGED, "log.csv", "--out", "log.csv/out.csv"), "log.csv/out.csv: expected"),
        ((*LOGGED, "log.csv", "--out", "out.csv", "--sequence", "x"), "one column 'x' (--sequence), found none in 2"),
        ((*LOGGED, "log.csv", "--out", "out.csv", "--delimiter", ";;"), "delimiter: expected one character"),
        (
            (*LOGGED, "bad.csv", "--out", "out.csv"),
            "observation 2: expected observable events of the system, found another",
        ),
        ((*LOGGED, "bad.csv", "--out", "out.csv"), "at position 3"),
        ((*LOGGED, "bad.jsonl", "--out", "out.jsonl"), f"bad.jsonl: observation 3: {IMPOSSIBLE}"),
        ((*LOGGED, "bad.jsonl", "--out", "old.jsonl"), f"bad.jsonl: observation 3: {IMPOSSIBLE}"),
        ((*LOGGED, "torn.jsonl", "--out", "old.jsonl"), "torn.jsonl: line 2"),
        ((*REPLACED, "cut.csv", "--out", "out.csv"), "cut.csv: observation 2: expected a sensitive string, which this"),
        ((*REPLACED, "cut.csv", "--out", "out.csv"), "of 3 events; the policy private takes any observation"),
        (
            ("plant.json", "--epsilon", "1", "--draw", "p.png"),
            "draw: expected a file name ending in .svg or .dot, found",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(here, arguments, expected):
    for name, text in BAD_MODELS.items():
        Path(name).write_text(text)
    Path("link.csv").symlink_to("log.csv")
    Path("bad.csv").write_text(f"seen\na b e a\na d {SECRET} a\n")
    Path("cut.csv").write_text("seen\na d e a\na d e\n")
    Path("bad.jsonl").write_text('{"seen": "a d e a"}\n{"seen": "a b e a"}\n{"seen": "a d a e"}\n')
    Path("torn.jsonl").write_text(f'{{"seen": "a d e a"}}\n{{"seen": "{SECRET}\n')
    Path("old.jsonl").write_text("what was there before\n")
    before = {path.name: path.read_bytes() for path in Path.cwd().iterdir()}
    line = here("enforce", *arguments).assert_one_error_line()
    assert expected in line
    assert SECRET not in line
    if "bad.jsonl" in line or "cut.csv" in line:
        assert "'a'" not in line
        assert "a d" not in line
    assert {path.name: path.read_bytes() for path in Path.cwd().iterdir()} == before


def test_bad_input_in_a_process_of_its_own():
    Path("bad.csv").write_text(f"seen\na b e a\na d {SECRET} a\n")
    line = symveil(*PRIVATE, "--log", "bad.csv", "--out", "out.csv").assert_one_error_line()
    assert SECRET not in line
    assert not Path("out.csv").exists()


def test_no_picture_is_left_behind_by_a_bad_log(here):
    Path("bad.csv").write_text(f"seen\na b e a\na d {SECRET} a\n")
    before = sorted(Path.cwd().iterdir())
    policy = ("--policy", "safe", "--omega", "1", "--draw", "p.svg")
    here("enforce", MEDICAL, "--k", "2", *policy, "--log", "bad.csv", "--out", "out.csv").assert_one_error_line()
    assert sorted(Path.cwd().iterdir()) == before


@pytest.mark.parametrize(("picture", "out"), [("p.svg", "log.csv/out.csv"), ("log.csv/p.svg", "out.csv")])
def test_picture_and_log_are_written_together_or_not_at_all(here, picture, out):
    """One of the two has no place; what was there before under the other's name stays."""
    Path("p.svg").write_text("an old picture")
    Path("out.csv").write_text("an old log")
    before = {path.name: path.read_bytes() for path in Path.cwd().iterdir()}
    here("enforce", *REPLACED, "log.csv", "--out", out, "--draw", picture).assert_one_error_line()
    assert {path.name: path.read_bytes() for path in Path.cwd().iterdir()} == before
    assert here("enforce", *REPLACED, "log.csv", "--out", "out.csv", "--draw", "p.svg").status == 0
    assert Path("p.svg").read_text().startswith("<")
    assert len(read_csv("out.csv")) == 5


# --- pictures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["safe", "substitution"])
@pytest.mark.parametrize("suffix", ["svg", "dot"])
def test_pictures_of_the_substitutes(here, policy, suffix):
    done = here(
        "enforce", EXAMPLE_4, "--k", "1", "--policy", policy, "--omega", "2", "--draw", f"out.{suffix}", "--json"
    )
    assert done.status == 0, done.err
    assert done.document["policy"] == policy
    assert Path(f"out.{suffix}").read_text().lstrip().startswith({"svg": "<", "dot": "digraph"}[suffix])


def test_no_picture_where_nothing_can_be_shown(here):
    done = here("enforce", MEDICAL, "--k", "2", "--policy", "safe", "--omega", "3", "--draw", "p.svg", "--json")
    assert done.status == 1
    assert done.document["enforceable"] is False
    assert not Path("p.svg").exists()


def test_what_only_a_release_can_drop(tmp_path) -> None:
    done = symveil(
        "enforce", str(tmp_path / "system.json"), "--k", "1", "--epsilon", "2", "--on-unknown", "drop-sequence"
    )
    assert done.status == 2
    assert "on-unknown: expected --ledger or --release-id with it" in done.err


def test_the_loss_of_private_has_its_unit_and_a_prior_beside_the_posterior(here) -> None:
    """Two observations farther apart than one event lose more, the length is seen, and a secret has a chance before."""
    asked = ("enforce", EXAMPLE_4, "--k", "1", "--epsilon", "2")
    document, said = here(*asked, "--json").document, here(*asked).out
    losses = [row["epsilon"] for row in document["loss_at"]]
    assert losses[0] == pytest.approx(document["epsilon"]) and losses == sorted(losses)
    assert (document["adjacency"], document["passes_unprotected"]) == (1, ["length"])
    assert 0 < document["prior_of_secret"] <= document["posterior_of_secret"] + 1e-9
    assert all(row in said for row in ("differ in 1 event lose at most", "passes unprotected", "before anything is"))
    safe = here("enforce", EXAMPLE_4, "--k", "1", "--policy", "safe", "--omega", "2", "--json").document
    assert [safe[key] for key in ("adjacency", "loss_at", "passes_unprotected", "prior_of_secret")] == [None] * 4
