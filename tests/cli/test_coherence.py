"""One way to name, one way to report, one way to fail: held for every command by walking the tree of commands.

A new command or option is under these rules by being there. What differs on purpose stands in a table, with the reason.
"""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from symveil.cli.field_options import PATH, WHOLE_NUMBER, OneOf
from symveil.cli.main import cli, main

from .running import Finished

EXAMPLES = Path(__file__).parents[2] / "examples"
KILLED = Path(__file__).parents[1] / "fixtures" / "ledger_0_2_0" / "ledger.sqlite"  # has releases that are pending
Path_ = tuple[str, ...]


def _leaves(group: click.Group, path: Path_ = ()) -> Iterator[tuple[Path_, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _leaves(command, (*path, name))
        else:
            yield (*path, name), command


def _groups(group: click.Group) -> Iterator[click.Group]:
    yield group
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from _groups(command)


COMMANDS = dict(_leaves(cli))
OPTIONS = [
    (path, parameter)
    for path, command in COMMANDS.items()
    for parameter in command.params
    if isinstance(parameter, click.Option)
]
every_command = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)


# --- one way to name -------------------------------------------------------------------------------

# one name, two meanings: each pair of commands that differ, and why
OTHER_MEANING = {
    ("--epsilon", "ledger grant"): "an amount to add, which may be negative, not the loss of a mechanism",
    ("--delta", "ledger grant"): "what budgets allow; in verify, what is asked",
    ("--adjacency", "ledger grant"): "what budgets are for: nothing unless it is named, not the promise of a mechanism",
    ("--metric", "ledger grant"): "of the same",
    ("--public-start", "ledger grant"): "of the same",
    ("--adjacency", "enforce"): "of observations, 1 where it is not given; elsewhere of words, required on a model",
    ("--person", "privatize"): "a column; in the ledger's commands, a name",
    ("--person", "enforce"): "of the same",
    ("--on-unknown", "enforce"): "observations that no policy has; in privatize, sequences outside a model",
    ("--over-budget", "enforce"): "needs --ledger, as everything about a release of a log does",
    ("--step", "enforce"): "how far apart artificial times are; in privatize it may be the width of a staircase",
    ("--places", "compare"): "what distances are measured by; elsewhere, what a mechanism's costs are made from",
    ("--person", "count"): "of the same",
    ("--person", "learn"): "of the same",
    ("--places", "learn"): "of the same",
    ("--places", "count"): "of the same",
    ("--places", "estimate"): "where flows are drawn",
    ("--case", "symbols"): "whose a position is; needed there",
    ("--order", "symbols"): "passes as it is",
    ("--model", "symbols"): "whose moves are legal; elsewhere its words are released",
    ("--zones", "symbols"): "shapes that positions lie in; elsewhere, of which symbols a zone is made",
    ("--model", "count"): "its words count; elsewhere they are released",
    ("--max-length", "count"): "longer sequences add nothing; elsewhere, the longest word of the language",
    ("--delta", "count"): "the chance at which a promise over unknown symbols may fail; in verify, what is asked",
    ("--statistic", "count"): "of sums with noise: fewer of them",
    ("--plot", "count"): "as in estimate",
    ("--cap", "count"): "the longest time that counts; elsewhere, of costs",
    ("--from", "count"): "from which wait on a case counts; in symbols, a column",
    ("--plot", "estimate"): "bars with intervals or a map of pairs; in explain, a law or what each b hides",
    ("--top", "estimate"): "how many rows are shown; in compare, how many patterns count",
    ("--length", "enforce"): "a bound on observations; in audit, the length of the words",
    ("--by", "estimate"): "of private times, of which less can be estimated than counted",
    ("--time-share", "learn"): "of one epsilon for a whole file; in privatize, of that for each sequence of a model",
    ("--separator", "release"): "of a typed word; elsewhere, of a file in wide form",
    ("--separator", "explain"): "of a typed word",
    ("--separator", "synthesize"): "of a file that is written",
    ("--count", "explain"): "how many versions an attacker sees; in release, how many are drawn",
    ("--count", "synthesize"): "how many words are drawn, for nothing; in release each of them costs",
    ("--out", "demo"): "a folder",
    ("--model", "estimate"): "of the same",
    ("--model", "check"): "the manifest names the model; this is where it has been moved to",
}
# one meaning, said of different things
OTHER_WORDS = {"--out", "--draw", "--plot", "--person", "--length"}


def test_options_of_one_name_are_one_option() -> None:
    kinds, wordings = defaultdict(set), defaultdict(set)
    for path, option in OPTIONS:
        name = option.opts[0]
        if (name, " ".join(path)) not in OTHER_MEANING:
            choices = tuple(option.type.choices) if isinstance(option.type, OneOf) else ()
            kinds[name].add((type(option.type), option.metavar, option.is_flag, option.multiple, choices))
            wordings[name].add((option.help, str(option.default)))
    # a person may be named once where one is looked at, and several times where budgets are granted
    kinds["--person"] = {(*kind[:3], False, kind[4]) for kind in kinds["--person"]}
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}
    assert {name: found for name, found in wordings.items() if len(found) > 1 and name not in OTHER_WORDS} == {}


def test_the_tables_of_exceptions_have_no_dead_rows() -> None:
    known = {(option.opts[0], " ".join(path)) for path, option in OPTIONS}
    assert set(OTHER_MEANING) <= known
    assert {name for name, _ in known} >= OTHER_WORDS


def _named(value: object) -> str:
    return value.opts[0] if isinstance(value, click.Option) else " ".join(value)


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=_named)
def test_an_option_says_what_it_is(path: Path_, option: click.Option) -> None:
    assert option.help and option.help[0].isupper() | option.help.startswith(("tight", "e^")), option.help
    assert option.help.endswith("."), option.help
    assert option.help.endswith("Repeatable.") == option.multiple
    assert option.is_flag or option.metavar or isinstance(option.type, OneOf)
    assert "_" not in option.opts[0]
    if option.type is PATH:
        assert option.metavar in {"FILE", "DIR", "M"}
    if isinstance(option.default, str | int | Path) and not option.is_flag:
        assert option.show_default


@every_command
def test_a_command_explains_itself(path: Path_) -> None:
    command = COMMANDS[path]
    text = command.get_help(click.Context(command, info_name=" ".join(("symveil", *path))))
    example = f"Example: symveil {' '.join(path)}"
    assert sum(example in line for line in text.splitlines()) == 1, "an example on one line, to be copied"
    assert "--json" in text and "--help" in text
    first = (command.help or "").splitlines()[0]
    assert first[0].isupper() and "." in first, first


@pytest.mark.parametrize("group", [*_groups(cli)], ids=lambda group: str(group.name))
def test_a_list_of_commands_cuts_no_sentence_short(group: click.Group) -> None:
    text = group.get_help(click.Context(group, info_name="symveil"))
    assert "..." not in text.partition("Commands:")[2]
    assert list(group.commands) == re.findall(r"^  (\w+)  +\w", text.partition("Commands:")[2], flags=re.MULTILINE)


# --- one way to report -----------------------------------------------------------------------------

GOOD = {
    ("demo",): (),
    ("privatize",): (
        "trips.csv",
        "--out",
        "private.csv",
        "--model",
        "roads.json",
        "--separator",
        "|",
        "--epsilon",
        "3",
        "--adjacency",
        "2",
    ),
    ("release",): ("abc", "--alphabet", "abc", "--epsilon", "1"),
    ("explain",): ("abc", "--alphabet", "abc", "--epsilon", "1"),
    ("audit",): ("--alphabet", "ab", "--length", "2", "--epsilon", "1"),
    ("verify",): ("pin_checker.json", "--alpha", "6/5"),
    ("opacity",): ("medical.json", "--k", "2", "--theta", "1/2"),
    ("enforce",): ("medical.json", "--k", "2", "--epsilon", "2"),
    ("learn",): ("trips.csv", "--out", "learned.json", "--separator", "|"),
    ("alphabet",): ("trips.csv", "--separator", "|"),
    ("symbols",): ("gps.csv", "--case", "rider", "--grid", "4", "--box", "8,47,9,48", "--out", "cells.csv"),
    ("roads",): ("town.graphml", "--out", "town.json"),
    ("ledger", "status"): ("--ledger", "budgets.db"),
    ("ledger", "grant"): ("--ledger", "budgets.db", "--epsilon", "1", "--everyone"),
    ("ledger", "history"): ("--ledger", "budgets.db"),
    ("ledger", "export"): ("--ledger", "budgets.db", "--out", "budgets.csv"),
    ("ledger", "abandon"): ("--ledger", "killed.sqlite", "--release-id", "charged"),
    ("check",): ("released.csv.manifest.json",),
    ("estimate",): ("released.csv", "--statistic", "lengths"),
    ("compare",): ("trips.csv", "released.csv", "--separator", "|"),
    ("count",): (
        *("trips.csv", "--statistic", "od", "--epsilon", "1", "--model", "roads.json", "--separator", "|"),
        *("--out", "counted.csv"),
    ),
    ("synthesize",): ("law.json", "--count", "5", "--out", "synthetic.csv", "--separator", "|"),
    ("reproduce",): ("zhao2025",),
}
LEARNED_PRIVATELY = ("--from-graph", "roads.json", "--epsilon", "1", "--lengths", "2..9")
SERVERS = {("studio",)}  # runs until it is ended: tests/studio
SLOW = {("demo",)}  # run once, in test_command_line

Run = Callable[..., Finished]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, a ledger, a release, and files that are wrong in every way a file can be."""
    folder = tmp_path_factory.mktemp("coherence")
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    shutil.copy(KILLED, folder / "killed.sqlite")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for arguments in (
            ("ledger", "grant", *GOOD["ledger", "grant"]),
            ("privatize", *GOOD["privatize",][:2], "released.csv", *GOOD["privatize",][3:], "--json"),
            ("learn", "trips.csv", "--separator", "|", "--out", "law.json", *LEARNED_PRIVATELY),
        ):
            with pytest.raises(SystemExit, match="0"):
                main([*arguments])
        Path("gps.csv").write_text("rider,lon,lat\nann,8.5,47.5\nann,8.9,47.1\n")
        nodes = "".join(f'<node id="{n}"><data key="x">{8 + n}</data><data key="y">47</data></node>' for n in (1, 2))
        Path("town.graphml").write_text(
            '<graphml><key id="x" for="node" attr.name="x" attr.type="string"/>'
            '<key id="y" for="node" attr.name="y" attr.type="string"/><graph edgedefault="directed">'
            f'{nodes}<edge source="1" target="2"/><edge source="2" target="1"/></graph></graphml>'
        )
        Path("a_folder.csv").mkdir()
        Path("a_file").write_text("a file, and no folder\n")
        for name in ("latin.csv", "latin.json", "latin.tra"):
            Path(name).write_bytes(b"\xff\xfe\xe9 caf\xe9\n")
        for name in ("empty.csv", "empty.json", "empty.tra"):
            Path(name).write_bytes(b"")
        Path("seen.csv").write_text("seen\na b e a\n")
        Path("chain.tra").write_text("2 2\n0 1 1\n1 1 1\n")
    return folder


@pytest.fixture
def run(prepared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this process, as `main` runs it; what it wrote and how it ended."""
    monkeypatch.chdir(prepared)

    def run(*arguments: str) -> Finished:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([*arguments])
        out, err = capsys.readouterr()
        return Finished(int(ended.value.code or 0), out, err)

    return run


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def test_every_command_has_a_good_call_here() -> None:
    assert set(GOOD) | SERVERS == set(COMMANDS)


@pytest.mark.parametrize("path", [path for path in GOOD if path not in SLOW], ids=" ".join)
def test_a_result_is_one_document_or_a_text_and_notes_come_apart(path: Path_, run: Run) -> None:
    told, plain = run(*path, *GOOD[path], "--json"), run(*path, *GOOD[path])
    assert (told.status, plain.status) == (0, 0), (told.err, plain.err)
    assert len(told.out.splitlines()) == 1
    document = json.loads(told.out)
    assert isinstance(document, dict) and document
    assert [key for key in _keys(document) if not re.fullmatch(r"[a-z][a-z0-9_]*", key)] == []
    assert plain.out.strip() and not plain.out.startswith("{")
    for line in (told.err + plain.err).splitlines():
        assert re.match(r"symveil: (note|warning): [a-z0-9]", line), line
        assert not line.endswith("."), line


# --- one way to fail -------------------------------------------------------------------------------

FORM = re.compile(r"symveil: error: [\w@.,:/\\ $'\"\[\]…-]+?: expected .+, found .+")
BAD_FILES = {
    "is not there": "missing{suffix}",
    "is a folder": "a_folder.csv",
    "cannot be reached": "a_file/x{suffix}",
    "has too long a name": "x" * 300 + "{suffix}",
    "is not UTF-8": "latin{suffix}",
    "is empty": "empty{suffix}",
}
# a verdict, not a refusal: the private file is what is checked; the others are written, not read
NOT_READ = {("check", "--output"), ("privatize", "--out"), ("learn", "--out"), ("ledger export", "--out")}
WRITTEN = {
    *("--draw", "--draw-observer", "--plot", "--plots", "--curve", "--curves", "--out"),
    *("--places-out", "--alphabet-out", "--report"),
}


def _read_files() -> Iterator[tuple[Path_, str]]:
    for path, command in COMMANDS.items():
        if path in SERVERS:
            continue
        for parameter in command.params:
            name = parameter.opts[0]
            if parameter.type is PATH and (" ".join(path), name) not in NOT_READ and name not in WRITTEN:
                yield path, name


def _with(path: Path_, name: str, value: str) -> tuple[str, ...]:
    """A good call of a command with one value exchanged: of its first argument, or of an option."""
    good = list(GOOD[path])
    if not name.startswith("--"):
        return (*path, value, *good[1:])
    for other in ("--alphabet", "--everyone"):  # what cannot stand beside the option
        if (name, other) in {("--model", "--alphabet"), ("--persons", "--everyone")} and other in good:
            at = good.index(other)
            del good[at : at + (1 if other == "--everyone" else 2)]
    if name in good:
        del good[good.index(name) : good.index(name) + 2]
    beside = {"--log": ("--out", "shown.csv"), "--labels": ()}.get(name, ())
    if name == "--labels":
        good[0] = "chain.tra"
    return (*path, *good, *beside, f"{name}={value}")


def _refused(run: Run, *arguments: str) -> str:
    """The one line of a refusal, the same with and without --json; nothing is left behind."""
    before = {file: file.stat().st_mtime_ns for file in Path.cwd().rglob("*")}
    line = run(*arguments).assert_one_error_line()
    assert run(*arguments, "--json").assert_one_error_line() == line
    assert FORM.fullmatch(line), line
    assert "Traceback" not in line and "None" not in line
    assert {file: file.stat().st_mtime_ns for file in Path.cwd().rglob("*")} == before
    return line


@pytest.mark.parametrize("wrong", BAD_FILES)
@pytest.mark.parametrize(("path", "name"), [*_read_files()], ids=str)
def test_a_file_that_cannot_be_read(path: Path_, name: str, wrong: str, run: Run) -> None:
    suffix = ".csv" if name in {"source", "source_file", "--log"} else ".tra" if name == "--labels" else ".json"
    file = BAD_FILES[wrong].format(suffix=suffix)
    if wrong == "is a folder" and suffix != ".csv":
        Path("a_folder.json").mkdir(exist_ok=True)
        file = f"a_folder{suffix}" if suffix == ".json" else file
    line = _refused(run, *_with(path, name, file))
    assert Path(file).name[:100] in line or name.strip("-") in line


def _numbers() -> Iterator[tuple[Path_, str, str]]:
    for path, option in OPTIONS:
        if path not in SERVERS and option.type is WHOLE_NUMBER:
            yield from ((path, option.opts[0], value) for value in ("many", "1.5", "", "nan"))


@pytest.mark.parametrize(("path", "name", "value"), [*_numbers()], ids=str)
def test_what_is_no_whole_number(path: Path_, name: str, value: str, run: Run) -> None:
    line = _refused(run, *_with(path, name, value))
    assert line == f"symveil: error: {name.strip('-')}: expected a whole number, found {value!r}"


BAD_NUMBERS = {
    "--epsilon": ("0", "-1", "nan", "inf", "-inf", "one", "1/0", "", "1e400"),
    "--adjacency": ("0", "-1", "nan", "some", "1.5", ""),
    "--k": ("-1", "nan", "some", "1.5", ""),
    "--offset": ("0", "-1", "nan", "one", ""),
    "--theta": ("0", "-1", "2", "nan", "half", ""),
    "--alpha": ("0", "1/2", "nan", "one", ""),
    "--delta": ("-1", "2", "nan", "none", ""),
    "--width": ("-1", "2", "nan", "narrow", ""),
    "--smooth": ("-1", "nan", "a bit", ""),
    "--length": ("-1",),
    "--count": ("0", "-1"),
    "--within": ("-1",),
    "--horizon": ("-1",),
    "--nodes": ("0", "-1"),
    "--longest": ("0", "-1"),
    "--gzip-ratio": ("0", "-1"),
    "--max-length": ("-1",),
    "--cutoff": ("-1",),
    "--omega": ("0", "-1"),
    "--output-length": ("-1",),
}


def _bad_numbers() -> Iterator[tuple[Path_, str, str]]:
    for path, option in OPTIONS:
        name = option.opts[0]
        if path in SERVERS:
            continue
        for value in BAD_NUMBERS.get(name, ()):
            if (path, name) == (("ledger", "grant"), "--epsilon") and value == "-1":
                continue  # takes back
            yield path, name, value


@pytest.mark.parametrize(("path", "name", "value"), [*_bad_numbers()], ids=str)
def test_a_number_outside_its_domain(path: Path_, name: str, value: str, run: Run) -> None:
    line = _refused(run, *_with(path, name, value))
    assert line.startswith(f"symveil: error: {name.strip('-')}: expected "), line


@pytest.mark.parametrize(
    ("path", "option"),
    [(path, option) for path, option in OPTIONS if isinstance(option.type, OneOf)],
    ids=_named,
)
def test_what_is_no_choice(path: Path_, option: click.Option, run: Run) -> None:
    assert isinstance(option.type, OneOf)
    line = _refused(run, *_with(path, option.opts[0], "whatever"))
    known = ", ".join(option.type.choices)
    assert line == f"symveil: error: {option.opts[0].strip('-')}: expected one of {known}, found 'whatever'"


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in SERVERS], ids=" ".join)
def test_what_is_typed_wrongly(path: Path_, run: Run) -> None:
    good = GOOD[path]
    assert "found --no-such-option" in _refused(run, *path, *good, "--no-such-option")
    assert _refused(run, *path, *good, "SECRET", "SECRET").count("SECRET") == 0
    valued = next(option for option in COMMANDS[path].params if isinstance(option, click.Option) and not option.is_flag)
    name = valued.opts[0]
    typed = run(*path, *good, name).assert_one_error_line()
    assert typed == f"symveil: error: {name.strip('-')}: expected a value after {name}, found none"
    flagged = run(*path, *good, "--json=yes").assert_one_error_line()
    assert flagged == "symveil: error: json: expected --json without a value, found one"
    if any(parameter.required for parameter in COMMANDS[path].params):
        assert FORM.fullmatch(run(*path).assert_one_error_line())


@pytest.mark.parametrize("group", [*_groups(cli)], ids=lambda group: str(group.name))
def test_a_command_that_is_not_there(group: click.Group, run: Run) -> None:
    path = () if group is cli else (str(group.name),)
    line = run(*path, "frobnicate").assert_one_error_line()
    assert f"command: expected one of {', '.join(group.commands)}, found 'frobnicate'; see symveil " in line
    assert all(name in run(*path).out for name in group.commands)  # without any: the help


def _written_files() -> Iterator[tuple[Path_, str]]:
    yield from ((path, option.opts[0]) for path, option in OPTIONS if option.opts[0] in WRITTEN and path not in SERVERS)


@pytest.mark.parametrize(("path", "name"), [*_written_files()], ids=str)
def test_a_place_that_cannot_be_written_to(path: Path_, name: str, run: Run) -> None:
    """Below a file there is no folder; neither of the two names is touched."""
    tables = dict.fromkeys(("privatize", "enforce", "export", "estimate", "count", "synthesize", "symbols"), ".csv")
    suffix = (tables | {"learn": ".json"}).get(path[-1], ".svg")
    suffix = "" if name == "--plots" or path == ("demo",) else ".svg" if name in ("--draw", "--plot") else suffix
    arguments = _with(path, name, f"a_file/below{suffix}")
    line = _refused(run, *arguments, *(("--log", "seen.csv") if (path, name) == (("enforce",), "--out") else ()))
    assert "a_file/below" in line or name.strip("-") in line
