"""What the ledger panel shows of a ledger, and of a made-up one where there is no other."""

from __future__ import annotations

from pathlib import Path

from symveil.ledger.units import Unit
from symveil.numbers.progress import silent
from symveil.studio.answer import Answer
from symveil.studio.limits import LIMITS
from symveil.studio.panels.files import LedgerPanel
from symveil.tasks.budgets import grant_budget
from symveil.tasks.privatize_file import privatize_file


def test_without_a_ledger_a_made_up_one_is_shown_and_nothing_of_it_stays(tmp_path: Path) -> None:
    values = {**LedgerPanel.defaults, "address": "", "folder": str(tmp_path)}
    answer = LedgerPanel.task(values, silent)
    spent = {person: (amount, left) for person, _, amount, left, _ in answer.rows}
    assert spent["grace"] == ("6.5", "3.5") and spent["edsger"] == ("5", "1") and len(spent) == 6
    assert answer.sections[0].heading == "An example" and not list(tmp_path.iterdir())
    (own,) = LedgerPanel.task({**values, "person": "ada"}, silent).rows
    assert own[:2] == ("ada", "6")


def ledger_answer(address: Path, **values: str) -> Answer:
    answer = LedgerPanel.task({**LedgerPanel.defaults, "address": str(address), **values}, lambda *_: None)
    assert isinstance(answer, Answer)
    return answer


def test_the_ledger_shows_what_its_books_say(tmp_path: Path) -> None:
    ledger = tmp_path / "secret folder" / "budgets.db"
    grant_budget(ledger, "2", everyone=True, delta="1e-6")
    grant_budget(ledger, "1", persons=["<ada>"])
    (tmp_path / "in.csv").write_text("id,who,s\n1,<ada>,a b\n2,<ada>,b\n3,grace,a\n")
    privatize_file(
        tmp_path / "in.csv", tmp_path / "out.csv", alphabet="ab", epsilon="0.5", ledger=ledger, identifier="id",
        person="who", sequence="s",
    )  # fmt: skip
    answer = ledger_answer(ledger)
    assert answer.rows == (
        ("<ada>", "3", "1", "2", "1 (adjacency 1, hamming)"),
        ("grace", "2", "0.5", "1.5", "0.5 (adjacency 1, hamming)"),
    )
    assert dict(answer.marks) == {"persons": "2", "spent": "1", "left": "1.5"}
    html = answer.html()
    assert "&lt;ada&gt;" in html and "<ada>" not in html
    assert "<dt>delta</dt><dd>1e-06</dd>" in html and "secret folder" not in html
    assert (
        "<dt>charged</dt>" in html
        and "<td>adjacency 1, hamming</td><td>exponential</td>" in html
        and "budgets are for" not in html
    )
    assert 'aria-label="33 %"' in html and 'aria-label="25 %"' in html
    one = ledger_answer(ledger, person=" grace ")
    assert one.rows == (("grace", "2", "0.5", "1.5", "0.5 (adjacency 1, hamming)"),)
    assert [entry["amount"] for entry in one.document["entries"]] == ["2", "0.5"]
    nobody = ledger_answer(ledger, person="nobody yet")
    assert nobody.rows == (("nobody yet", "2", "0", "2", ""),)
    dropped = ledger_answer(Path("another.db"), ledger=str(ledger))
    assert dropped.rows == answer.rows and "the dropped file" in dropped.html()


def test_the_ledger_says_what_a_sum_of_different_units_means(tmp_path: Path) -> None:
    ledger = tmp_path / "budgets.db"
    grant_budget(ledger, "5", everyone=True, unit=Unit(adjacency=1))
    (tmp_path / "in.csv").write_text("id,s\n1,a b\n")
    for b in (1, 2):
        privatize_file(
            tmp_path / "in.csv", tmp_path / f"out{b}.csv", alphabet="ab", epsilon=1, ledger=ledger, adjacency=b
        )  # fmt: skip
    html = ledger_answer(ledger).html()
    assert "budgets are for" in html and "Charges are in different units" in html
    assert "1 (adjacency 1, hamming); 1 (adjacency 2, hamming)" in html


def test_an_older_ledger_is_read_and_not_changed(tmp_path: Path) -> None:
    old = Path(__file__).parents[1] / "fixtures" / "ledger_0_2_0" / "ledger.sqlite"
    ledger = tmp_path / "budgets.db"
    ledger.write_bytes(old.read_bytes())
    html = ledger_answer(ledger, person="dora").html()
    assert "unknown (0.2)" in html and "composed 800" in html
    assert ledger.read_bytes() == old.read_bytes()


def test_long_books_are_cut_and_say_so(tmp_path: Path) -> None:
    ledger = tmp_path / "budgets.db"
    grant_budget(ledger, "1", persons=[f"person {number}" for number in range(LIMITS.now.persons + 3)])
    html = ledger_answer(ledger).html()
    assert "3 more. Name a person" in html
    assert f"{LIMITS.now.persons + 3 - LIMITS.now.entries} earlier ones" in html
