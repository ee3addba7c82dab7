"""The main job on shipped data: sessions in, private sessions out, and a report one can look at."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from symveil.drawing.plots import Curve, draw_curves
from symveil.io.files import write_text
from symveil.io.page import changed_word, figure, page, table
from symveil.languages.free import FreeLanguage
from symveil.mechanisms.exponential import Exponential
from symveil.mechanisms.permute_and_flip import PermuteAndFlip
from symveil.models.alphabet import Alphabet
from symveil.models.word import Word
from symveil.workflows.privatize import privatize

PAGES = Alphabet.from_symbols(
    ["home", "search", "offers", "product", "cart", "checkout", "account", "help"]
)  # the site's map: public, and not read off the sessions
EPSILONS = (1, 3, 6)
_SHOWN = 6
_CURVE_LENGTH = 8
_CURVE_EPSILONS = [step / 4 for step in range(1, 41)]


@dataclass(frozen=True, slots=True)
class DemoRow:
    """One ε: what it does to a page, an example, and the file with all private sessions."""

    epsilon: int
    change_probability: float
    example: tuple[str, str]
    file: Path


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo did and where its results are."""

    sessions: int
    pages: int
    rows: tuple[DemoRow, ...]
    report: Path

    def document(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "sessions": self.sessions,
            "pages": self.pages,
            "report": str(self.report),
            "releases": [
                {"epsilon": row.epsilon, "change_probability": row.change_probability, "file": str(row.file)}
                for row in self.rows
            ],
        }


def run_demo(out: Path) -> Demo:
    """Privatise the shipped sessions at three ε and write `report.html` beside the private files."""
    sessions = shipped_sessions()
    originals = [tuple(pages) for pages in sessions.values()]
    released = {epsilon: privatize(originals, alphabet=PAGES, epsilon=epsilon) for epsilon in EPSILONS}
    rows = []
    for epsilon, words in released.items():
        file = out / f"private_sessions_epsilon_{epsilon}.csv"
        write_text(file, _as_csv(list(sessions), words))
        rows.append(
            DemoRow(
                epsilon=epsilon,
                change_probability=_change_probability(epsilon),
                example=(" ".join(map(str, originals[0])), " ".join(map(str, words[0]))),
                file=file,
            )
        )
    report = out / "report.html"
    write_text(report, _report(originals, released, rows, out))
    return Demo(sessions=len(sessions), pages=len(PAGES), rows=tuple(rows), report=report)


def shipped_sessions() -> dict[str, list[str]]:
    """The synthetic click sessions that come with symveil, by their id."""
    text = resources.files("symveil.io").joinpath("shipped/click_sessions.csv").read_text(encoding="utf-8")
    return {row["session"]: row["pages"].split() for row in csv.DictReader(io.StringIO(text))}


def _change_probability(epsilon: int) -> float:
    return Exponential(FreeLanguage(PAGES, 1), epsilon=epsilon).distances().expected_error


def _as_csv(names: Sequence[str], words: Sequence[Word]) -> str:
    output = io.StringIO()
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(["session", "pages"])
    writer.writerows((name, " ".join(map(str, word))) for name, word in zip(names, words, strict=True))
    return output.getvalue()


def _report(originals: Sequence[Word], released: dict[int, list[Word]], rows: Sequence[DemoRow], out: Path) -> str:
    examples = [
        (
            html.escape(" ".join(map(str, original))),
            *(changed_word(original, released[epsilon][index]) for epsilon in EPSILONS),
        )
        for index, original in enumerate(originals[:_SHOWN])
    ]
    curve = out / "expected_error.svg"
    draw_curves(_curves(), title="", x_label="ε", y_label="pages changed, of 8", path=curve)
    return page(
        "symveil demo: private click sessions",
        f"{len(originals)} synthetic sessions over {len(PAGES)} pages. Each released session is a nearby word, drawn "
        "so that sessions that differ in one page are hard to tell apart. This report shows originals only because "
        "they are synthetic.",
        [
            (
                "What is promised",
                "<p>No released session is more than e<sup>ε</sup> times as likely from one session as from another "
                "that differs in one page. This is exact: the worst case attains it. Each file is a release of its "
                f"own; publishing all of them costs {' + '.join(map(str, EPSILONS))} = {sum(EPSILONS)} per session.</p>"
                + table(
                    ("ε", "a page is changed with probability", "private file"),
                    [(str(row.epsilon), f"{row.change_probability:.4f}", html.escape(row.file.name)) for row in rows],
                ),
            ),
            (
                "Before and after",
                table(("original", *(f"ε = {epsilon}" for epsilon in EPSILONS)), examples, word_columns=range(4)),
            ),
            (
                "What ε buys",
                "<p>Expected number of changed pages in a session of 8, exactly computed. The papers spend half of "
                "the budget; the tight calibration spends all of it at the same guarantee.</p>"
                + figure(curve.read_text(encoding="utf-8")),
            ),
        ],
    )


def _curves() -> list[Curve]:
    language = FreeLanguage(PAGES, _CURVE_LENGTH)

    def errors(kind: type[Exponential | PermuteAndFlip], calibration: str) -> list[float]:
        return [
            kind(language, epsilon=epsilon, calibration=calibration).distances().expected_error
            for epsilon in _CURVE_EPSILONS
        ]

    return [
        Curve("exponential, classic (J19, B26 [21])", _CURVE_EPSILONS, errors(Exponential, "classic")),
        Curve("permute-and-flip, classic (B26)", _CURVE_EPSILONS, errors(PermuteAndFlip, "classic")),
        Curve("exponential, tight (symveil)", _CURVE_EPSILONS, errors(Exponential, "tight")),
    ]
