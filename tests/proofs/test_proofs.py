"""The proofs check, use no axiom but the listed ones, and say what they say: wrong statements fail.

A mutant is the theorem's own file with one wrong thing in the statement (a sign, a factor, < for <=). It is compiled
beside the others with the same proof script, and Coq must refuse it in the proof, not in the statement. That takes
minutes: only in `make proofs` and `make soak`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import services
from proofs import coq

pytestmark = pytest.mark.skipif(
    services.coq() is None,
    reason=f"no Coq {services.COQ_VERSION} with mathcomp-analysis, and installing it was not allowed: proofs unchecked",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coq.build(tmp_path_factory.mktemp("coq"))


@pytest.mark.parametrize("axioms", sorted({frozenset(each) for each in coq.listed_assumptions().values()}, key=len))
def test_theorems_use_the_listed_axioms_only(built: Path, axioms: frozenset[str]) -> None:
    names = [name for name, each in coq.listed_assumptions().items() if each == axioms]
    assert coq.used_axioms(built, names) == axioms


def test_an_axiom_is_seen(built: Path) -> None:
    text = "Axiom wrong : False.\nTheorem any : 1 = 2.\nProof. destruct wrong. Qed.\nPrint Assumptions any.\n"
    answer = coq.compiled(built, text, "with_axiom.v")
    assert answer.returncode == 0
    assert "wrong : False" in answer.stdout


@pytest.mark.soak
def test_wrong_statements_fail(built: Path) -> None:
    def survives(numbered: tuple[int, coq.Mutant]) -> str | None:
        number, mutant = numbered
        text = (coq.PROOFS / mutant.file).read_text("utf-8")
        before, _, after = text.partition(mutant.right)
        changed = before + mutant.wrong + after
        answer = coq.compiled(built, changed, f"mutant_{number}.v", seconds=30)
        if answer.returncode == 0:
            return f"{mutant.theorem} with {mutant.wrong!r} checks"
        proof = changed.index("Proof.", len(before))
        proof_ends = changed.index("Qed.", proof)
        at = coq.line_of_error(answer.stderr)
        if at is None:  # stopped by the limit of time: Coq must still take the statement
            statement = coq.compiled(built, changed[:proof] + "Abort.\n", f"statement_{number}.v", seconds=30)
            return f"{mutant.theorem}: {statement.stderr}" if coq.line_of_error(statement.stderr) else None
        in_its_proof = changed.count("\n", 0, proof) < at <= changed.count("\n", 0, proof_ends) + 1
        return None if in_its_proof else f"{mutant.theorem} is not refused in its proof: {answer.stderr}"

    with ThreadPoolExecutor(2) as pool:
        assert [each for each in pool.map(survives, enumerate(coq.mutants())) if each] == []
