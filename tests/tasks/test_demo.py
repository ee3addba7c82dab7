"""The demo: private files that check, answers that hold, and a page that asks nobody for anything."""

from __future__ import annotations

import io
import itertools
import re
from html.parser import HTMLParser

import pytest

import symveil as sv
import symveil.release.protocol
import symveil.tasks.count
from symveil.examples.millford import LONGEST, MOST_TRIPS, SHORTEST, blocks, millford, millford_trips, turns
from symveil.formats.models.model_files import load_model
from symveil.numbers.rationals import percent, shown_at_least
from symveil.pictures.maps import CHANGED
from symveil.reports.terminal import report_text
from symveil.tasks.demo import (
    ADJACENCY,
    EPSILONS,
    TYPICAL_LENGTH,
    Demo,
    covered,
    private_mechanism,
    released_trips,
    run_demo,
)
from symveil.tasks.demo_report import SHOWN, summary, trip_map, write_report

pytestmark = pytest.mark.xdist_group("demo")  # run once


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Demo:
    """With fixed keys and names, so that the noise is the same each time and no test fails by chance."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (symveil.release.protocol, symveil.tasks.count):
            patch.setattr(module, "new_release_key", lambda: b"k" * 32)
            patch.setattr(module, "new_release_id", lambda: "the-demo-of-the-tests")
        result = run_demo(tmp_path_factory.mktemp("demo") / "out")
    write_report(result)
    return result


@pytest.fixture(scope="module")
def report(demo) -> str:
    return demo.report.read_text(encoding="utf-8")


def test_the_town_is_one():
    roads = millford()
    onward = turns()
    crossings = {block.name: (block.start, block.end) for block in blocks()}
    assert len(roads.states) == 76 and len({block.street for block in blocks()}) == 16
    for block, followers in onward.items():
        assert followers, "no dead end: every street leads on"
        for follower in followers:
            assert crossings[follower][0] == crossings[block][1]  # they meet
            assert crossings[follower] != crossings[block][::-1]  # and nobody turns back
    both_ways = {ends for ends in crossings.values() if ends[::-1] in crossings.values()}
    assert 0 < len(both_ways) < len(crossings)  # some streets are one-way
    reached = {"Quay 1 south"}
    while more := {after for block in reached for after in onward[block]} - reached:
        reached |= more
    assert reached == set(roads.states)


def test_people_go_somewhere_and_come_back_by_plausible_ways():
    trips = millford_trips()
    allowed = {(here, there) for here, there, _ in millford().transitions}
    metres = {block.name: block.metres for block in blocks()}
    by_person: dict[str, list] = {}
    for trip in trips.values():
        by_person.setdefault(trip.person, []).append(trip)
        assert SHORTEST <= len(trip.blocks) <= LONGEST
        assert all(move in allowed for move in itertools.pairwise(trip.blocks))
        assert len(set(trip.blocks)) == len(trip.blocks)
        least = _least_metres(trip.blocks[0], trip.blocks[-1])
        assert (
            sum(map(metres.get, trip.blocks)) <= 1.5 * least + 300
        )  # a turn seems as long as 40 m, a block a quarter more
    assert max(map(len, by_person.values())) <= MOST_TRIPS
    assert sum(len(their) > 1 for their in by_person.values()) == len(by_person) > 400
    assert all(sum(trip.purpose == "home" for trip in their) for their in by_person.values())


def _least_metres(origin: str, goal: str, known: dict[str, dict[str, int]] = {}) -> int:  # noqa: B006 - kept on purpose
    """Of all ways, by relaxing until nothing changes: not the search that made the trips."""
    metres = {block.name: block.metres for block in blocks()}
    if origin not in known:
        least = {origin: metres[origin]}
        moves = [(here, there) for here, after in turns().items() for there in after]
        while True:
            shorter = {
                there: least[here] + metres[there]
                for here, there in moves
                if here in least and least[here] + metres[there] < least.get(there, 10**9)
            }
            if not shorter:
                break
            least.update(shorter)
        known[origin] = least
    return known[origin][goal]


def test_every_released_trip_is_one_that_the_town_allows(demo):
    chain = load_model(demo.report.parent / "roads.json")
    allowed = {(source, target) for source, target, _ in chain.transitions}
    originals = millford_trips()
    assert demo.trips == originals and demo.streets == len(chain.states)
    for row in demo.rows:
        released = released_trips(row.release)
        assert list(released) == list(originals)
        for name, trip in released.items():
            assert len(trip) == len(originals[name].blocks)
            assert all(move in allowed for move in itertools.pairwise(trip))
        assert (
            row.checked and row.guarantee["epsilon"] <= row.epsilon and row.guarantee["how"] in ("exact", "certified")
        )
        assert "person" not in row.release.out.read_text(encoding="utf-8").partition("\n")[0]
        for each in row.release.manifest["guarantee"]["loss_at"]:  # the promise of the published mechanisms, everywhere
            assert each["epsilon"] <= each["distance"] * row.epsilon / ADJACENCY * (1 + 1e-12)
    errors = [row.expected_error for row in demo.rows]
    assert errors == sorted(errors, reverse=True)
    published = [errors for name, errors in demo.curves.items() if name != "symveil"]
    assert len(published) == 2
    for row in demo.rows:  # better than the papers', which is what the page says
        assert all(1.3 * row.expected_error < errors[row.epsilon] for errors in published)
        assert demo.curves["symveil"][row.epsilon] == row.expected_error
    middle = demo.rows[1]
    assert all(3 * middle.expected_error < errors[middle.epsilon] for errors in published)


@pytest.mark.parametrize("kind", [sv.Exponential, sv.PermuteAndFlip])
def test_what_is_compared_has_one_promise(kind):
    """On a language whose laws can be written out: neither loses more than d/b times ε, at any distance d."""
    language = sv.runs(millford(), 4)
    for mechanism in (private_mechanism(language, 6), kind(language, epsilon=6, adjacency=4, calibration="classic")):
        assert all(mechanism.loss_at(apart) <= apart * 1.5 * (1 + 1e-12) for apart in range(1, 5))


def test_every_block_has_alternatives_within_the_adjacency_and_not_with_fewer():
    language = sv.runs(millford(), TYPICAL_LENGTH)
    assert (
        min(sv.protection(language, ADJACENCY).by_position)
        > 1
        > min(sv.protection(language, ADJACENCY - 1).by_position)
    )


def test_an_attacker_learns_less_with_less_epsilon(demo, report):
    named = [row.attacker.symbol.after for row in demo.rows]
    assert named == sorted(named) and named[0] < 0.5 < named[1] < 0.9 < named[2]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", report))
    for row in demo.rows:
        assert f"{row.epsilon} per trip {percent(row.attacker.symbol.after)} {percent(row.attacker.word.after)}" in text


def test_intervals_hold_the_true_numbers(demo):
    # fixed keys: nothing here is left to chance. 95 % intervals of the central table miss about 1 in 20.
    assert covered(demo.visits) >= 0.95 * len(demo.visits) and len(demo.visits) == 76
    assert covered(demo.turns) >= 0.95 * len(demo.turns) and len(demo.turns) == 136
    assert covered(demo.flows) >= 0.85 * len(demo.flows) and len(demo.flows) == 36
    assert sum(answer.true for answer in demo.flows) == len(demo.trips)
    assert sum(answer.true for answer in demo.visits) == sum(len(trip.blocks) for trip in millford_trips().values())
    for answers in (demo.visits, demo.turns, demo.flows):  # and they say something
        widest = [(answer.high - answer.low) / answer.true for answer in answers[:10]]
        assert max(widest) < 1


def test_the_page_says_the_numbers_of_the_document(demo, report):
    document = demo.document()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", report))
    assert f"{document['people']} people" in text and f"{document['trips']:,} trips" in text
    for release in document["releases"]:
        loss, per_block = release["guarantee"], f"{release['epsilon'] / ADJACENCY:g}"
        promised = f"{release['epsilon']} {per_block} {shown_at_least(loss['epsilon'])} ({loss['how']})"
        assert f"{promised} {release['expected_error']:.2f} {percent(release['unchanged_trips'])} yes" in text
    for answers in document["answers"].values():
        assert f"{answers['covered']} of all {len(answers['rows'])} intervals" in text
    for row in document["answers"]["turns"]["rows"][:12]:
        interval = f"{max(0, row['low']):.0f} to {row['high']:.0f}"
        assert f"{' → '.join(row['symbols'])} {row['true']} {row['estimate']:.0f} {interval}" in text
    for mechanism in document["mechanisms"]:
        at = dict(zip(mechanism["epsilons"], mechanism["expected_errors"], strict=True))
        assert f"{mechanism['name']} " + " ".join(f"{at[epsilon]:.2f}" for epsilon in EPSILONS) in text


class _Outline(HTMLParser):
    """Headings, and what has no name for who cannot see it."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.pictures = self.unnamed = 0
        self._after_picture = False

    def handle_starttag(self, tag, attrs):
        if re.fullmatch(r"h\d", tag):
            self.headings.append(tag)
        if self._after_picture:  # its title comes first
            self.unnamed += tag != "title"
        self._after_picture = tag == "svg"
        self.pictures += tag == "svg"


def test_the_report_is_self_contained_and_readable(report):
    # names of XML namespaces are not requests
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)|url\((?!["']?#)|@import|<script""", report)
    assert all(f"ε = {epsilon}" in report for epsilon in EPSILONS)
    assert report.count("<title>a trip over ") == len(SHOWN) * (1 + len(EPSILONS)) and "<figure" in report
    outline = _Outline()
    outline.feed(report)
    assert outline.headings[0] == "h1" and outline.headings.count("h1") == 1
    assert all(int(after[1]) <= int(before[1]) + 1 for before, after in itertools.pairwise(outline.headings))
    assert outline.unnamed == 0 and outline.pictures > 12
    assert '<html lang="en">' in report and '<th scope="col">' in report


def test_names_of_files_are_whole_in_a_narrow_terminal(demo):
    text = report_text(summary(demo), io.StringIO(), width=60, looking=True)
    assert all(row.release.out.name in text for row in demo.rows)


def test_the_document_says_where_everything_is(demo):
    document = demo.document()
    assert document["trips"] == len(demo.trips)
    assert [release["epsilon"] for release in document["releases"]] == list(EPSILONS)
    assert {"guarantee", "expected_error", "checked", "file", "manifest"} <= set(document["releases"][0])
    assert not [path for path in demo.report.parent.iterdir() if path.name.startswith(".")]


def test_a_map_marks_what_was_changed():
    original = ("High Street 1", "High Street 2", "High Street 3", "High Street 4")
    assert CHANGED not in trip_map(original, original)
    other = ("High Street 1", "High Street 2", "Market Street 3", "Market Street 4")
    picture = trip_map(other, original)
    assert picture.count(CHANGED) == picture.count("stroke-dasharray") == 2
    assert "2 of them changed" in picture
