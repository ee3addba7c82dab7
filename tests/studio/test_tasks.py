"""What a form can say, a task answers or refuses: junk in a field is a message for that field, never a breakdown."""

from __future__ import annotations

import json
import re
from decimal import Decimal, localcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symveil as sv
from symveil.enforcement import policies
from symveil.errors import FileError, ParameterError, SymveilError
from symveil.estimation.statistics import CHOICES
from symveil.examples.paper_systems import TRIP, example_4, network_coordinates, network_language, road_network
from symveil.formats.cost_files import read_places
from symveil.formats.manifest import manifest_path
from symveil.formats.shapes import read_coordinates
from symveil.languages.edit_distance import edit_distance
from symveil.mechanisms.choice import MechanismChoice
from symveil.mechanisms.restricted import EnumeratedLoss
from symveil.mechanisms.selection import choose_mechanism
from symveil.numbers.once import counted_searches
from symveil.numbers.progress import silent
from symveil.numbers.rationals import exact
from symveil.pictures.maps import road_map_svg
from symveil.reports.page import section_html
from symveil.reports.report import Picture, Section
from symveil.studio.answer import Answer
from symveil.studio.forms import Form
from symveil.studio.limits import LIMITS
from symveil.studio.page import PANELS
from symveil.studio.panel import Panel
from symveil.studio.panels.files import AnswersPanel, FilePanel, LedgerPanel
from symveil.studio.panels.systems import OpacityPanel, ProofsPanel
from symveil.studio.panels.words import ComparePanel, MapPanel, ReleasePanel
from symveil.studio.tasks import answers as answers_task
from symveil.studio.tasks import compare as averages_task
from symveil.studio.tasks.compare import Averages, average_more
from symveil.studio.tasks.subject import factor, promise
from symveil.studio.worker import Task
from symveil.tasks import explain as public_averages
from symveil.tasks import opacity as opacity_workflow
from symveil.tasks.privatize_file import privatize_file
from symveil.verification.opacity import observation, run_observations

JUNK = ("", " ", "abc", "-1", "0", "1e400", "nan", "inf", "1/0", "1/3", "99999999999999999999", "é", "\x00", "a" * 5000)
SMALL = {"word": "abca", "calibration": "classic"}  # answered at once, so that many can be asked


def picture_of(section: Section) -> Picture:
    (picture,) = (part for part in section.parts if isinstance(part, Picture))
    return picture


def task_of(kind: type[Panel]) -> Task:
    return kind.task


CASES = [
    (kind, name)
    for kind in (ReleasePanel, ComparePanel, MapPanel, AnswersPanel, OpacityPanel, ProofsPanel, LedgerPanel)
    for name in kind.defaults
    if name not in kind.files and not (kind is MapPanel and name in ("alphabet", "word", "separator"))
]
CASES += [(FilePanel, name) for name in FilePanel.defaults if name not in FilePanel.files]


@pytest.fixture(scope="module")
def private_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("answers")
    (folder / "true.csv").write_text("id,word\n" + "".join(f"{number},a b b\n" for number in range(300)))
    return privatize_file(folder / "true.csv", folder / "private.csv", alphabet=["a", "b", "<c>"], epsilon=3).out


@pytest.mark.parametrize(("kind", "name"), CASES, ids=lambda each: getattr(each, "name", each))
def test_junk_is_answered_or_refused(kind: type[Panel], name: str, private_file: Path) -> None:
    usual = {**kind.defaults, **{key: value for key, value in SMALL.items() if key in kind.defaults}, "address": ""}
    if kind is AnswersPanel:
        usual |= {"private": str(private_file), "manifest": str(manifest_path(private_file))}
        usual |= {"source": "file", "statistic": "ngrams:K"}
    if kind is FilePanel:
        usual |= {"source": "file", "data": str(private_file.with_name("true.csv")), "alphabet": "ab", "period": ""}
        usual |= {"folder": str(private_file.parent), "lengths": "1..3", "count": "10", "sequence": "word"}
        usual |= {} if name in ("lengths", "count", "kind") else {"task": "count", "statistic": "ngrams:K"}
    for junk in JUNK:
        try:
            if name in kind.scales:
                kind.scales[name].require(name, junk)  # as a panel does before it asks
            answer = task_of(kind)({**usual, name: junk}, lambda *_: None)
        except SymveilError as error:
            assert "\n" not in str(error)
        else:
            assert isinstance(answer, Answer)
            assert answer.json() and answer.page() and isinstance(answer.csv(), str)


@pytest.mark.parametrize("kind", PANELS, ids=lambda each: each.name)
def test_every_value_of_a_form_has_one_control_and_every_control_has_a_value(kind: type[Panel]) -> None:
    panel = kind(SimpleNamespace(ledger=None), None, {})  # type: ignore[arg-type]
    controls = re.findall(r' name="([^"]+)"', "".join(panel.fields(Form(kind.name, panel.values))))
    assert len(controls) == len(set(controls))
    without = {"map": {"alphabet", "word"}, "opacity": {"observed"}}.get(kind.name, set())
    assert set(controls) == set(kind.defaults) - without


@pytest.mark.parametrize("kind", [ReleasePanel, ComparePanel], ids=lambda each: each.name)
@pytest.mark.parametrize("word", ["", "a", "aaaa"])
@pytest.mark.parametrize("alphabet", ["a", "ab"])
def test_the_smallest_words_have_an_answer(kind: type[Panel], alphabet: str, word: str) -> None:
    answer = task_of(kind)({**kind.defaults, "alphabet": alphabet, "word": word}, lambda *_: None)
    assert answer.html().startswith('<div class="cards"')


def test_a_long_word_is_summed_up_or_said_to_be_too_long() -> None:
    for length in (40, 150, 400):
        values = {**ReleasePanel.defaults, "word": "abcd" * (length // 4)}
        answer = task_of(ReleasePanel)(values, lambda *_: None)
        trellis = answer.sections[-2]
        assert ("summed up" in trellis.heading) == (length <= 150)
        assert len(section_html(trellis)) < 150_000


def system_file(folder: Path, **changed: object) -> str:
    """A system that is weakly 1-step opaque, and not strongly: the secret instant is one or the other."""
    document: dict[str, object] = {
        "format": "symveil/1", "kind": "stochastic-system", "initial": "0", "observable": ["a", "b"],
        "secret": ["1", "5"],
        "transitions": [["0", "a", "1", 0.5], ["0", "u", "3", 0.5], ["3", "a", "4", 1], ["1", "b", "2", 1],
                        ["4", "b", "5", 1]],
    }  # fmt: skip
    file = folder / "system.json"
    file.write_text(json.dumps({**document, **changed}))
    return str(file)


def opacity(**values: str) -> Answer:
    answer = task_of(OpacityPanel)({**OpacityPanel.defaults, "source": "file", **values}, lambda *_: None)
    assert isinstance(answer, Answer)
    return answer


def test_the_policies_say_which_notion_they_are_about(tmp_path: Path) -> None:
    file = system_file(tmp_path)
    verdict, _, policies, _ = opacity(model=file, notion="strong").sections
    assert "every run that shows it met a secret in one of the last 2 instants" in section_html(verdict)
    assert "the state was in" not in section_html(verdict)  # no single instant is given away
    assert "about <b>weak 1-step opacity</b>, not about strong 1-step opacity" in section_html(policies)
    assert "not about initial-state opacity" in section_html(opacity(model=file, notion="initial").sections[2])
    weak = section_html(opacity(model=file).sections[2])
    assert "enforce weak 1-step opacity" in weak and "not about" not in weak


def test_an_event_may_have_any_name(tmp_path: Path) -> None:
    file = system_file(
        tmp_path, observable=["a\nb"], secret=["1"], transitions=[["0", "a\nb", "1", 1], ["1", "a\nb", "2", 1]]
    )
    panel = object.__new__(OpacityPanel)
    panel.values, asked = {**OpacityPanel.defaults}, []
    panel.ask = lambda: asked.append(panel.values["observed"])  # type: ignore[method-assign]
    for estimate in ("1", "2"):
        panel.act("observe", "a\nb")
        assert ("estimate", estimate) in opacity(model=file, observed=asked[-1]).marks


def test_moving_epsilon_builds_nothing_that_does_not_depend_on_it(tmp_path: Path, monkeypatch) -> None:
    """Not the observer, not the verdict, not the observations: only rates."""
    file = str(tmp_path / "system.json")
    sv.save_model(example_4(), file)
    before = opacity(model=file, epsilon="2").document
    for module, name in (
        (observation, "closure"),
        (run_observations, "explore"),
        (opacity_workflow, "verdict_on"),
        (opacity_workflow, "violation_on"),
        (run_observations, "complete_observations"),
        (policies, "loss_of_laws"),
        (EnumeratedLoss, "of"),
    ):
        monkeypatch.setattr(module, name, lambda *_, name=name, **__: pytest.fail(f"{name} was called again"))
    after = opacity(model=file, epsilon="3.5").document
    assert after["opacity"] == before["opacity"]
    assert {**after["enforce"], "private": None} == {**before["enforce"], "private": None}
    assert 3.4 < after["enforce"]["private"]["epsilon"] <= 3.5
    assert 1.9 < before["enforce"]["private"]["epsilon"] <= 2
    with pytest.raises(pytest.fail.Exception, match="verdict_on was called again"):  # another k asks for another one
        opacity(model=file, epsilon="3.5", k="2")


def test_a_wrong_length_is_an_error_of_its_field() -> None:
    with pytest.raises(ParameterError) as refused:
        opacity(source="example-4", length="-1")
    assert refused.value.name == "length"


@given(st.floats(min_value=0, max_value=500))
def test_factors_are_rounded_against_the_claim(epsilon: float) -> None:
    said = Decimal(factor(epsilon).replace(",", ""))
    with localcontext(prec=60):
        true = Decimal(epsilon).exp()
        assert true <= said <= true * Decimal("1.11")  # upwards, and not by more than two digits need


@pytest.mark.parametrize(
    ("kind", "name", "good", "bad"),
    [
        (ReleasePanel, "epsilon", ("0.1", "2.25", "1/3", "10"), ("0", "0.05", "50", "-1", "", "2,25", "nan")),
        (ComparePanel, "epsilon", ("0.5", "3"), ("2.25", "10.5")),  # the curves know no other places
        (MapPanel, "samples", ("1", "6"), ("0", "7")),
        (OpacityPanel, "omega", ("6",), ("0", "7")),
        (ProofsPanel, "epsilon", ("0", "0.125", "5"), ("-1", "5.01")),
    ],
)
def test_links_stay_on_the_scale(kind: type[Panel], name: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    panel = object.__new__(kind)
    for text in good:
        panel.values = {**kind.defaults, name: text}
        assert panel._question()[name] == text
        assert kind.scales[name].nearest(text) == float(exact(text))
    for text in bad:
        panel.values = {**kind.defaults, name: text}
        with pytest.raises(ParameterError, match="from .* to ") as refused:
            panel._question()
        assert refused.value.name == name


@pytest.mark.parametrize("size", [1e308, 5e-324])
def test_a_map_of_any_size_can_be_drawn(size: float) -> None:
    roads = {"a": ((-size, 0.0), (size, -size)), "b": ((size, size), (size, size)), "c": ((0.0, 0.0), (0.0, 0.0))}
    for around in ((), ("c",), ("a", "b")):
        picture = road_map_svg(roads, ["a", "b", "c"], title="far", original=["a", "b", "b"], around=around)
        assert "nan" not in picture and "inf" not in picture


def test_degrees_are_degrees(tmp_path: Path) -> None:
    file = tmp_path / "roads.csv"
    file.write_text("State, LON, LAT\na,4,60\nb,6,60\n")
    assert read_coordinates(file)["b"][0][0] == pytest.approx(3)  # shortened by the cosine of 60°
    file.write_text("state,lon,lat\na,4,1e308\nb,6,1e308\n")
    with pytest.raises(FileError, match="line 2: expected degrees"):
        read_coordinates(file)


def test_wrong_roads_cost_by_the_places_of_a_file(tmp_path: Path) -> None:
    """The Map panel has the parameters of the command line: costs from a map and lengths that are secret among them."""
    assert {"places", "metres_per_unit", "costs", "metric", "max_length"} <= MapPanel.defaults.keys()
    places = tmp_path / "places.csv"
    middles = {name: ((a + c) / 2, (b + d) / 2) for name, ((a, b), (c, d)) in network_coordinates().items()}
    places.write_text("state,x,y\n" + "".join(f'"{name}",{x:.3f},{y:.3f}\n' for name, (x, y) in middles.items()))
    given = {"cost": "given", "places": str(places), "metres_per_unit": "1", "cap": "3", "samples": "1"}
    answer = MapPanel.task({**MapPanel.defaults, **given}, silent)
    costs = read_places(places, metres_per_unit=1)
    mechanism = choose_mechanism(
        MechanismChoice(epsilon=6, adjacency=2, cost="given", costs=costs, cap=3), network_language()
    )
    assert dict(answer.marks)["error"] == repr(mechanism.distances(TRIP).expected_error)
    plain = MapPanel.task({**MapPanel.defaults, "samples": "1"}, silent)
    assert dict(answer.marks)["error"] != dict(plain.marks)["error"]


def test_the_document_of_a_map_has_no_secret_trip() -> None:
    trip = " ".join(TRIP)
    values = {**MapPanel.defaults, "calibration": "classic"}
    assert task_of(MapPanel)(values, lambda *_: None).document["trip"] == list(TRIP)
    document = task_of(MapPanel)({**values, "trip": trip}, lambda *_: None).document
    assert "trip" not in document and "for its holder only" in document["notice"]


def test_a_map_does_not_wait_minutes_for_a_certificate() -> None:
    """A named mechanism without a named cost is shown at the published rate, and the answer says so."""
    values = {**MapPanel.defaults, "mechanism": "staircase"}
    with counted_searches() as searches:
        answer = task_of(MapPanel)(values, lambda *_: None)
    assert not searches.names
    assert answer.document["guarantee"]["how"] == "classic" and "at the published rate" in answer.html()
    chosen = sv.Staircase(sv.runs(road_network(), len(TRIP)), epsilon=6, adjacency=2, calibration="classic")
    assert answer.document["expected_error"] == pytest.approx(chosen.distances(TRIP).expected_error)
    few = {**values, "trip": " ".join(TRIP[:3])}
    certified = task_of(MapPanel)(few, lambda *_: None)  # all pairs of so few words are compared at once
    assert certified.document["guarantee"]["how"] == "exact" and "at the published rate" not in certified.html()


def test_private_trips_of_other_lengths_on_the_map() -> None:
    """Where lengths are secret trips are laid against the true one and can all be driven; without roads they cannot."""
    values = {**MapPanel.defaults, "metric": "levenshtein", "epsilon": "1", "samples": "6"}
    answer = task_of(MapPanel)(values, silent)
    document, page = answer.document, answer.html()
    trips = [each["trip"] for each in document["released"]]
    assert {len(trip) for trip in trips} != {len(TRIP)} and max(map(len, trips)) <= 16
    code = {name: index for index, name in enumerate(road_network().states)}
    for each in (*document["released"], document["without_the_model"]):
        own, true = ([code[road] for road in trip] for trip in (each["trip"], TRIP))
        assert each["changed"] == edit_distance(own, true)
    assert all(each["broken_turns"] == 0 for each in document["released"])
    assert document["without_the_model"]["broken_turns"] > 0
    assert "is hidden as well" in page and "<th>edits</th>" in page.replace(' scope="col"', "")


def test_a_release_does_not_wait_minutes_for_a_certificate() -> None:
    """As on the map; over an alphabet, where a loss is known at once, and for costs that are named nothing changes."""
    values = {**ReleasePanel.defaults, "source": "network", "mechanism": "staircase"}
    with counted_searches() as searches:
        answer = task_of(ReleasePanel)(values, silent)
    assert not searches.names
    assert dict(answer.marks)["how"] == "classic" and "at the published rate" in answer.html()
    for others in ({"source": "alphabet"}, {"trip": " ".join(TRIP[:3])}):
        certified = task_of(ReleasePanel)({**values, **others}, silent)
        assert dict(certified.marks)["how"] != "classic" and "at the published rate" not in certified.html()


# --- answers from a private file -------------------------------------------------------------------


def answers(private: Path, **values: str) -> Answer:
    files = {"source": "file", "private": str(private), "manifest": str(manifest_path(private))}
    answer = task_of(AnswersPanel)({**AnswersPanel.defaults, **files, **values}, lambda *_: None)
    assert isinstance(answer, Answer)
    return answer


def test_every_statistic_of_the_command_line_is_answered(private_file: Path) -> None:
    form = Form("answers", AnswersPanel.defaults)
    offered = next(field for field in AnswersPanel.fields(object.__new__(AnswersPanel), form) if "Statistic" in field)
    for name in CHOICES:
        assert f'<option value="{name}"' in offered
        asked = "ngrams:3" if name == "ngrams:K" else name
        answer = answers(private_file, statistic=name, order="3")
        expected = sv.estimate(private_file, asked)
        assert answer.document == expected.document()
        assert answer.columns == tuple(expected.table.column_names) and len(answer.rows) == len(expected)
        assert "<c>" not in answer.html() and picture_of(answer.sections[0]).svg == expected.to_svg()


def test_answers_open_with_an_example_beside_its_truth() -> None:
    answer = task_of(AnswersPanel)(dict(AnswersPanel.defaults), lambda *_: None)
    assert isinstance(answer, Answer)
    beside = answer.sections[1]
    assert beside.heading == "Beside the truth" and "of 6 intervals cover the true count" in section_html(beside)
    assert not answer.secret and "4,000" in section_html(answer.sections[0])
    for row, (name, true, *_) in zip(answer.document["rows"], beside.parts[1].rows, strict=True):
        assert [name] == row["symbols"]
        assert abs(row["estimate"] - int(true.replace(",", ""))) < 6 * row["standard_error"]
    for statistic in CHOICES:
        asked = {**AnswersPanel.defaults, "statistic": statistic}
        assert task_of(AnswersPanel)(asked, lambda *_: None).rows


def test_only_the_largest_rows_are_sent_to_the_page(private_file: Path, monkeypatch, set_limits) -> None:
    set_limits(LIMITS, rows=5)
    monkeypatch.setattr(answers_task, "SHOWN", 3)
    answer = answers(private_file, statistic="positions")
    assert len(answer.rows) == len(answer.document["rows"]) == 5 and answer.document["cells"] == 9
    assert "positions: 3 of 9 rows" in answer.html() and "; the 5 largest can be downloaded" in answer.html()


def test_answers_lie_on_a_map_where_places_are_known(tmp_path: Path, private_file: Path) -> None:
    places = tmp_path / "places.csv"
    places.write_text("symbol,x,y\na,0,0\nb,1,0\n<c>,0,1\n")
    answer = answers(private_file, statistic="od", places=str(places))
    assert picture_of(answer.sections[0]).svg == sv.estimate(private_file, "od").to_svg(read_coordinates(places))
    with pytest.raises(ParameterError) as refused:
        answers(private_file, statistic="positions", places=str(places))
    assert refused.value.name == "places"


def test_answers_refuse_as_the_command_line_does(tmp_path: Path, private_file: Path) -> None:
    (tmp_path / "true.csv").write_text("id,word\n" + "".join(f"{number},{'a b ' * 20}\n" for number in range(9)))
    noisy = privatize_file(tmp_path / "true.csv", tmp_path / "private.csv", alphabet="abc", epsilon="0.1").out
    with pytest.raises(SymveilError, match="epsilon .* would have been enough") as refused:
        sv.estimate(noisy, "ngrams:3")
    with pytest.raises(type(refused.value)) as error:
        answers(noisy, statistic="ngrams:K", order="3")
    assert str(error.value) == str(refused.value) and "\n" not in str(error.value)
    with pytest.raises(ParameterError) as missing:
        answers(private_file, manifest="")
    assert missing.value.name == "manifest"


def test_an_error_about_a_dropped_file_is_shown_where_it_was_dropped() -> None:
    panel = object.__new__(AnswersPanel)
    panel.values = {**AnswersPanel.defaults, "private": "handle-of-one", "manifest": "handle-of-other"}
    for name, handle in (("private", "handle-of-one"), ("manifest", "handle-of-other"), (None, "elsewhere")):
        assert panel._field_for(FileError(f"uploads/{handle}/file.csv", expected="this", found="that")) == name


# --- averages over the public model beside the least there can be ----------------------------------


def chain_file(folder: Path) -> str:
    rows = [("a", "a", "1/2"), ("a", "b", "1/2"), ("b", "a", 1)]
    sv.save_model(sv.MarkovChain.from_transitions(rows), folder / "chain.json")
    return str(folder / "chain.json")


def averages_of(**values: str) -> Averages:
    return average_more({**ComparePanel.defaults, **values}, silent)


def test_averages_come_a_few_at_a_time_the_one_that_is_looked_at_first(tmp_path: Path, monkeypatch, set_limits) -> None:
    set_limits(LIMITS, slice_seconds=-1.0)  # a slice is over at once
    monkeypatch.setattr(averages_task, "_averages_cache", {})
    about = {"source": "file", "model": chain_file(tmp_path), "trip": "abaa", "adjacency": "1"}
    first = averages_of(**about, epsilon="2")
    assert [each["epsilon"] for each in first.documents] == [2.0] and (first.done, first.of) == (1, 20)
    bound = sv.lower_bound(sv.runs(sv.load_model(about["model"]), 4), epsilon=2, adjacency=1, beyond="graceful")
    assert first.documents[0]["lower_bound"]["value"] == bound.value
    assert public_averages.bound_sentence(bound) in section_html(first.section)
    assert "do not compare the two" in section_html(first.section)  # a word above, all feasible words here
    second = averages_of(**about, epsilon="3")
    assert [each["epsilon"] for each in second.documents] == [2.0, 3.0] and "At ε = 3:" in section_html(second.section)
    loose = averages_of(**about, epsilon="3", beyond="nothing")
    named = sv.select_mechanism(sv.runs(sv.load_model(about["model"]), 4), epsilon=3, adjacency=1, beyond="nothing")
    (at_three,) = (each for each in loose.documents if each["epsilon"] == 3)
    assert at_three["expected_error"] == sv.average_over_model(named).expected_error
    with pytest.raises(ParameterError, match="beyond: expected graceful, nothing, or a number K"):
        averages_of(**about, epsilon="3", beyond="everything")
    other = averages_of(**{**about, "epsilon": "3", "adjacency": "2"})
    assert (other.done, other.documents[0]["adjacency"]) == (1, 2)


def test_averages_are_in_what_is_downloaded() -> None:
    values = {**ComparePanel.defaults, "word": "abca"}
    answer = averages_of(word="abca").added_to(task_of(ComparePanel)(values, lambda *_: lambda *_: None))
    row = dict(zip(answer.columns, answer.rows[5], strict=True))
    assert row["epsilon"] == 3.0 and row["chosen by auto"] == "exponential"
    assert row["on average"] == pytest.approx(row["exponential, tight"], rel=1e-12)  # all words have the same law
    assert row["least possible on average"] == pytest.approx(row["on average"], rel=1e-9)
    assert len(answer.document["averages"]) == 20
    assert "How much is left" in answer.page()


def test_where_there_is_no_bound_that_is_said(monkeypatch) -> None:
    monkeypatch.setattr(averages_task, "_averages_cache", {})
    monkeypatch.setattr(public_averages, "least_possible", lambda _: None)
    found = averages_of(word="ab")
    assert "No lower bound: the model is too large" in section_html(
        found.section
    ) and "fill-opacity" not in section_html(found.section)


# --- words whose length is secret ------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["edit", "truncated-levenshtein"])
@pytest.mark.parametrize("source", ["words", "model"])
def test_words_whose_length_is_secret(tmp_path: Path, mechanism: str, source: str) -> None:
    values = {**ReleasePanel.defaults, **SMALL, "epsilon": "4", "mechanism": mechanism, "max_length": "6"}
    values["calibration"] = "tight"
    if source == "model":
        document = {"format": "symveil/1", "kind": "markov-chain", "states": ["a", "b"]}
        rows = [["a", "a", "1/2"], ["a", "b", "1/2"], ["b", "a", 1]]
        (tmp_path / "chain.json").write_text(json.dumps({**document, "transitions": rows}))
        values |= {"source": "file", "model": str(tmp_path / "chain.json"), "trip": "abaa", "adjacency": "1"}
        if mechanism == "edit":  # every word may come out of a channel, also one that the model does not know
            with pytest.raises(SymveilError):
                task_of(ReleasePanel)(values, lambda *_: None)
            return
    answer = task_of(ReleasePanel)(values, lambda *_: None)
    assert isinstance(answer, Answer)
    marks = dict(answer.marks)
    assert marks["mechanism"] == mechanism and 0 < float(marks["guarantee"]) <= 4
    assert sum(float(chance) for *_, chance in answer.rows) == pytest.approx(1, abs=1e-6)
    released = answer.document["release"]["released"]
    assert len(released) == 10
    assert "the length, here 4, is hidden as well" in answer.html()
    assert any("The words one edit away" in section.heading for section in answer.sections)


@pytest.mark.parametrize("mechanism", ["edit", "online"])
def test_what_the_command_line_refuses_is_refused_here_too(mechanism: str) -> None:
    """0.2 took the tight calibration without a word where the classic one was asked for."""
    values = {**ReleasePanel.defaults, **SMALL, "mechanism": mechanism, "calibration": "classic", "max_length": "6"}
    with pytest.raises(ParameterError, match=f"calibration: expected tight for mechanism {mechanism}, found classic"):
        task_of(ReleasePanel)(values, lambda *_: None)


def test_a_budget_too_small_for_any_channel_says_so() -> None:
    values = {**ReleasePanel.defaults, **SMALL, "epsilon": "0.1", "mechanism": "edit", "calibration": "tight"}
    answer = task_of(ReleasePanel)(values, lambda *_: None)
    assert "the release carries no information: everything is deleted" in answer.html()
    assert [len(word) for word in answer.document["release"]["released"]] == [0] * 10


def test_a_proof_that_gains_nothing_is_called_so() -> None:
    rows = [("a", "b", "1/2"), ("a", "a", "1/2"), ("b", "a", 1)]
    trips = sv.runs(sv.MarkovChain.from_transitions(rows), length=4)
    said = "Certified, no better than classic here: no proof gave a larger rate than the published bound."
    assert said in str(promise(sv.PermuteAndFlip(trips, epsilon=1, adjacency=1), "trip"))
    asked_for = str(promise(sv.PermuteAndFlip(trips, epsilon=1, adjacency=1, calibration="classic"), "trip"))
    assert said not in asked_for and "Classic: the bound that the papers give" in asked_for
