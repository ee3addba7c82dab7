"""docs/benchmarks.md: a table of a whole run between two marks, and a picture of each kind of growth.

The table has the rows that `SHOWN` names, the first of each subject with its title and how many of its bars hold: all
rows are in benchmarks.json. What is outside the marks says how to read the table, and stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path

from benchmarks.report import Document, told
from symveil.pictures.charts import Curve, curves_chart

BEGIN, END = "<!-- results: written by `python -m benchmarks --write-docs` -->", "<!-- end of the results -->"

# Each picture: its title, and what its horizontal axis counts.
PICTURES = {
    "length": ("Growth with the length of a word", "n: symbols of the word"),
    "alphabet": ("Growth with the alphabet", "|Σ|: symbols to choose from"),
    "states": ("Growth with the model", "states"),
    "sequences": ("Growth with the file", "sequences in the file"),
}
# What the subjects are, as the first row of each says.
TOLD = {
    "benvenuti2026": "Permute-and-flip, against B26 in plain Python",
    "bisimulation": "Lumping, against Storm",
    "central": "Central privacy: synthetic files and tables, one ε per person",
    "compare": "Utility reports",
    "distances": "Proving privacy, against C19 as linear programmes",
    "enumeration": "Against libraries that draw from a list",
    "exactness": "What exactness costs",
    "files": "Files of millions, against a plain Arrow copy",
    "growth_sequences": "Growth with the file",
    "growth_states": "Growth with the model",
    "growth_words": "Growth with the word and the alphabet",
    "jones2019": "Private words, against J19 in plain Python",
    "levenshtein": "Words of different lengths",
    "near_optimal": "How little error is left on models",
    "models": "Words of models, against J19 in plain Python",
    "shanghai": "Real trips",
    "estimation": "Answers from private files",
    "opacity": "Opacity, against sets in plain Python",
    "scale": "What one core does, in processor time",
    "sampling": "Private words, against numpy's draws",
    "startup": "The command line",
    "studio": "The studio",
    "times": "Times in synthetic logs and trips",
    "zhao2025": "Enforcing opacity, against Z25 in plain Python",
}

# The rows that the page shows, as patterns; of other subjects all, and always what misses its bar.
SHOWN: dict[str, tuple[str, ...]] = {
    "benvenuti2026": ("PermuteAndFlip, n = 6*",),
    "central": ("Shanghai*",),
    "distances": ("40 states: ld*", "1,000 states, cold start: ld of all pairs, proved"),
    "enumeration": ("Exponential, per draw",),
    "estimation": ("MSNBC*",),
    "exactness": ("Exponential, exact, ε = 1",),
    "files": ("privatize MSNBC, ε*",),
    "growth_sequences": ("privatize, SQLite*",),
    "growth_states": ("a release*",),
    "growth_words": ("Exponential, ε = 1: n*",),
    "jones2019": ("Exponential, J19's law",),
    "levenshtein": ("TruncatedLevenshtein*: a release",),
    "models": ("15 × 15 grid: each*",),
    "near_optimal": ("Shanghai trips*", "a network of 43 streets*"),
    "opacity": ("200 states: weak, k = infinite", "100 states: *k = infinite, slowest*"),
    "sampling": ("Exponential, ε = 1",),
    "scale": ("release, 17 pages*", "release on a model*exponential"),
    "shanghai": ("*calibration of all lengths", "*b = 4, ε = 16: mean*"),
    "startup": ("symveil release*",),
    "times": ("24,468 trips*", "sepsis, ε = 1: cycle_w1", "sepsis, ε = 1: EMD*"),
    "zhao2025": ("200 states*each further one",),
}


def write_page(document: Document, docs: Path) -> None:
    """Put a run into the page and draw its pictures."""
    pictures = {name: svg for name in PICTURES if (svg := growth_picture(document, name))}
    for name, svg in pictures.items():
        (docs / "pictures" / _file(name)).write_text(svg, encoding="utf-8")
    replace_between(docs / "benchmarks.md", BEGIN, END, "\n".join(results_in_markdown(document, list(pictures))))


def replace_between(page: Path, begin: str, end: str, text: str) -> None:
    """Put a text between two lines of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"docs/{page.name}: expected the line {begin!r} and below it {end!r}")
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def results_in_markdown(document: Document, pictures: list[str]) -> Iterator[str]:
    """The machine, the bars in a sentence, the pictures, one table with a group of rows for each subject."""
    rows = document["rows"]
    judged = [row for row in rows if row["passed"] is not None]
    runs = "this run" if document["runs"] == 1 else f"these {document['runs']} runs"
    yield f"**{_passed(rows)} bars of {runs} passed** in {len(rows)} rows, in {_minutes(document)}."
    if document["remark"]:
        yield f"\n{document['remark']}"
    unjudged = [row["name"] for row in rows if row["shown"]["ok"] == "n/a"]
    missed = [row["name"] for row in judged if not row["passed"]]
    absent = sorted(set(TOLD) - {row["subject"] for row in rows})
    for what, names in (("Missed", missed), ("Not measured here", unjudged), ("Subjects not run", absent)):
        if names:
            yield f"\n{what}: {_cell('; '.join(names))}."
    machine = document["machine"]
    if (machine["load_before"] or 0) > machine["cores"] / 2:
        yield (
            f"\n**The machine was not quiet**: {machine['load_before']:g} processes for {machine['cores']} cores."
            " Wall times are too long by about as much, processor times by less, and a bar missed here may well hold."
        )
    yield f"\nMachine: {_cell(told(machine))}.\n"
    for name in pictures:
        yield f"![{PICTURES[name][0]}](pictures/{_file(name)})\n"
    if rows:
        yield "| what | ours | peer | ratio | bar | |\n|---|---:|---:|---:|---:|---|"
    for subject, members in groupby(rows, key=lambda row: row["subject"]):
        group, wanted, date = list(members), SHOWN.get(subject, ("*",)), document["dates"][subject]
        earlier = "" if date == machine["date"] else f", {date}"
        title = f"**{_cell(TOLD.get(subject, subject))}** ({_passed(group) or 'no bars'}{earlier})"
        for row in group:
            if row["passed"] is not False and not any(fnmatchcase(row["name"], each) for each in wanted):
                continue
            shown = row["shown"]
            under = f"against {row['peer']}" if row["peer"] and not row["error"] else row["error"]
            name = _cell(row["name"]) + (f"<br><small>{_cell(under)}</small>" if under else "")
            name, title = (f"{title}<br>{name}", "") if title else (name, "")  # the first of a subject begins with it
            yield f"| {name} | {' | '.join(_cell(shown[key]) for key in ('ours', 'peer', 'ratio', 'bar', 'ok'))} |"
    yield ""


def _passed(rows: list[Document]) -> str:
    judged = [row for row in rows if row["passed"] is not None]
    return f"{sum(row['passed'] for row in judged)} of {len(judged)}" if judged else ""


def growth_picture(document: Document, name: str) -> str:
    """The rows that belong to a picture, in one frame with powers of ten; nothing if there are none."""
    rows = [row for row in document["rows"] if row["growth"] and row["growth"]["picture"] == name]
    if not rows:
        return ""
    curves = [Curve(row["name"].split(":")[0], row["growth"]["sizes"], row["growth"]["seconds"]) for row in rows]
    peers: dict[str, Curve] = {}
    for row in rows:
        growth = row["growth"]
        if growth["peer_sizes"]:
            peers.setdefault(row["peer"], Curve(row["peer"], growth["peer_sizes"], growth["peer_seconds"], "dashed"))
    title, axis = PICTURES[name]
    return curves_chart(
        [*curves, *peers.values()], title=title, x_label=axis, y_label="seconds", logarithmic=True
    ).to_svg()


def _file(picture: str) -> str:
    return f"benchmark_{picture}.svg"


def _minutes(document: Document) -> str:
    return f"{sum(document['seconds'].values()) / 60:.0f} minutes of processor time"


def _cell(text: str) -> str:
    """Text that stays within its cell and is not taken for markup."""
    for mark in "|*_<[":
        text = text.replace(mark, f"\\{mark}")
    return text
