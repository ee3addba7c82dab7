"""The demo: private files and a page that asks nobody for anything."""

from __future__ import annotations

import csv
import re

from symveil.workflows.demo import EPSILONS, PAGES, run_demo, shipped_sessions


def test_the_demo_writes_private_sessions_and_a_self_contained_report(tmp_path) -> None:
    demo = run_demo(tmp_path / "out")
    originals = shipped_sessions()
    assert demo.sessions == len(originals) == 240
    for row in demo.rows:
        with row.file.open(encoding="utf-8", newline="") as file:
            released = {line["session"]: line["pages"].split() for line in csv.DictReader(file)}
        assert released.keys() == originals.keys()
        assert all(len(released[name]) == len(pages) for name, pages in originals.items())
        assert {page for pages in released.values() for page in pages} <= set(PAGES.symbols)
    report = demo.report.read_text(encoding="utf-8")
    # names of XML namespaces are not requests
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)|url\((?!["']?#)|@import""", report)
    assert all(f"ε = {epsilon}" in report for epsilon in EPSILONS)
    assert "<svg" in report


def test_no_partial_files_are_left_beside_the_report(tmp_path) -> None:
    run_demo(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
