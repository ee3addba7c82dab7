"""A parameter is declared once, as a field: options, forms, schemas, signatures and pages are made from it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

import symveil as sv
from cli.running import symveil
from symveil.cli.field_options import options_of
from symveil.cli.main import cli
from symveil.cli.output import command
from symveil.errors import ParameterError
from symveil.formats.cost_files import CostFiles
from symveil.formats.json_text import first_fault
from symveil.formats.sequences.columns import ColumnOptions
from symveil.laws.parameters import ChoiceParameters
from symveil.mechanisms.choice import MechanismChoice, names, takers
from symveil.parameters import (
    Exact,
    File,
    Flag,
    OneOf,
    Parameter,
    Several,
    Whole,
    declared,
    listing_fields,
    parameters_of,
    schema_of,
    shows_fields,
)
from symveil.studio.forms import DEFAULTS, FIELDS, NOT_HERE, SHOWN_WHEN, Form, choice_of, holds
from symveil.studio.panels.words import ReleasePanel
from symveil.tasks.count import CountFileParameters, CountOptions, CountParameters
from symveil.tasks.learn_privately import LearnOptions, LearnParameters
from symveil.tasks.parameters import FileParameters, FileReading, RunOptions

DESCRIPTIONS = (MechanismChoice, CostFiles, ColumnOptions, RunOptions, CountOptions, LearnOptions)
EVERY = [(kind, each) for kind in DESCRIPTIONS for each in parameters_of(kind)]
every_field = pytest.mark.parametrize(("kind", "each"), EVERY, ids=lambda value: getattr(value, "__name__", None))


def with_made_up_field() -> type:
    """A copy of `MechanismChoice` that has one more field."""
    made_up = dataclasses.field(
        default="calm",
        metadata=declared(
            "How the `mechanism` feels: calm, or bold.",
            label="Mood of the draw",
            domain=OneOf(labels={"calm": "takes its time", "bold": "does not"}),
        ),
    )
    return dataclasses.make_dataclass(
        "Copy", [("mood", str, made_up)], bases=(MechanismChoice,), frozen=True, kw_only=True
    )


def test_a_made_up_field_is_an_option_a_form_field_a_rule_of_the_schema_and_a_row_of_the_page() -> None:
    copy = with_made_up_field()
    (mood,) = (each for each in parameters_of(copy) if each.name == "mood")
    assert {each.name for each in parameters_of(copy)} - {"mood"} == {
        each.name for each in parameters_of(MechanismChoice)
    }

    # an option: with its help, its choices and its default
    @command("feel", example="feel --mood bold")
    @options_of(lambda: copy, without=("epsilon",))
    def feel(**values: object) -> None:
        click.echo(str(values["mood"]))

    shown = feel.get_help(click.Context(feel))
    assert "--mood [calm|bold]" in shown and "How the --mechanism feels" in " ".join(shown.split())
    with feel.make_context("feel", ["--mood", "bold"]) as context:
        assert context.params["mood"] == "bold"
    with pytest.raises(ParameterError, match="mood: expected one of calm, bold, found 'sad'"):
        feel.make_context("feel", ["--mood", "sad"])

    # a field of a form
    drawn = Form("panel", {"mood": "bold"}).parameter(mood)
    assert "Mood of the draw" in drawn and "How the mechanism feels: calm, or bold." in drawn
    assert '<option value="bold" selected>does not</option>' in drawn

    # a rule of the schema
    schema = {"type": "object", "properties": schema_of(copy, without=("not_private",))}
    assert first_fault({"mood": "bold"}, schema) is None
    assert first_fault({"mood": "sad"}, schema) == '$.mood: expected "calm" or "bold"'

    # a line of the docstring
    assert "\nmood\n    How the `mechanism` feels: calm, or bold." in str(listing_fields(copy).__doc__)

    # a parameter of a function
    @shows_fields(copy, types=type("Types", (dict,), {"__annotations__": {"mood": _Text}}), first=())
    def feeling(**named: object) -> None: ...

    assert str(inspect.signature(feeling)) == "(*, mood: 'str' = 'calm') -> 'None'"


class _Text:
    __forward_arg__ = "str"


@every_field
def test_a_field_says_what_it_is(kind: type, each: Parameter) -> None:
    assert each.help.endswith(".") and each.help[0] == each.help[0].strip() and each.label
    assert "--" not in each.help + each.more + each.label, "options are named by their parameters, between backticks"
    assert {each.name for each in parameters_of(kind)} == {each.name for each in dataclasses.fields(kind)}
    assert f"\n{each.name}\n    " in str(kind.__doc__)


PRIVATIZE = cli.commands["privatize"]
COMMANDS = {CountOptions: cli.commands["count"], LearnOptions: cli.commands["learn"]}
NO_OPTION = {
    (MechanismChoice, "costs"): "made from --costs or --places",
    (ColumnOptions, "person_option"): "for messages",
    (ColumnOptions, "time"): "count and learn have options for times; that of privatize is a field of `RunOptions`",
    (ColumnOptions, "attributes"): "learn has an option for each attribute and its values",
}
NOT_BY_NAME = {"not_private", *(each for kind, each in NO_OPTION if kind is ColumnOptions)} - {
    "time",  # with private times
    *(each.name for each in parameters_of(RunOptions)),
}


@every_field
def test_a_field_is_an_option(kind: type, each: Parameter) -> None:
    """`privatize` takes all of them, or `count` or `learn`, and shows what they say."""
    if each.option is None:
        assert (kind, each.name) in NO_OPTION
        return
    if (kind, each.name) == (ColumnOptions, "separator"):
        assert "Wide form" in each.help
    (option,) = (option for option in COMMANDS.get(kind, PRIVATIZE).params if option.name == each.name)
    assert isinstance(option, click.Option) and option.opts == [each.option]
    assert option.is_flag == isinstance(each.domain, Flag) and option.multiple == isinstance(each.domain, Several)
    assert str(option.help).split() == re.sub(r"`([a-z_]+)`", _typed, each.help).split()
    if isinstance(each.domain, OneOf) and not each.domain.others:
        assert tuple(option.type.choices) == tuple(each.domain.labels)  # type: ignore[attr-defined]
    assert option.required == (each.required and each.name != "source")


def _typed(match: re.Match[str]) -> str:
    return f"--{match[1].replace('_', '-')}"


@pytest.mark.parametrize("name", ["release", "explain", "audit"])
def test_commands_about_words_take_every_parameter_of_a_mechanism(name: str) -> None:
    taken = {each.name for each in cli.commands[name].params}
    own = [*parameters_of(MechanismChoice), *parameters_of(CostFiles)]
    assert {each.name for each in own if each.option is not None} <= taken


def test_every_parameter_of_a_mechanism_is_a_field_of_the_form() -> None:
    own = {
        each.name for each in (*parameters_of(MechanismChoice), *parameters_of(CostFiles)) if each.option is not None
    }
    assert set(FIELDS) == own - set(NOT_HERE) and all(NOT_HERE.values())
    assert set(FIELDS) <= set(ReleasePanel.defaults)
    panel = object.__new__(ReleasePanel)
    panel.values = {**ReleasePanel.defaults}
    drawn = "".join(ReleasePanel.fields(panel, Form("release", panel.values)))
    for name, each in FIELDS.items():
        assert f'name="{name}"' in drawn and each.label in drawn, name


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"mechanism": "staircase", "step": "2", "calibration": "classic"}, {"step": 2, "calibration": "classic"}),
        ({"beyond": "4"}, {"beyond": "4"}),
        ({"mechanism": "exponential", "utility": "inverse", "offset": "1/2"}, {"utility": "inverse"}),
        ({"source": "network", "cost": "swap", "cap": "none"}, {"cost": "swap", "cap": "none", "beyond": "nothing"}),
        ({"source": "network", "mechanism": "exponential", "balanced": "yes"}, {"balanced": True}),
        ({"metric": "levenshtein", "max_length": "7"}, {"max_length": 7, "mechanism": "auto"}),
        ({"mechanism": "truncated-levenshtein", "cutoff": "3"}, {"cutoff": 3, "max_length": 16}),
        ({"source": "network", "public_start": "yes"}, {"public_start": True}),
        ({"source": "network", "mechanism": "optimal", "prior": "chain"}, {"prior": "chain"}),
    ],
)
def test_a_form_makes_the_choice_that_the_fields_say(changed: dict[str, str], expected: dict[str, object]) -> None:
    choice = choice_of({**DEFAULTS, "source": "alphabet", "epsilon": "2", **changed}, 1)
    assert {name: getattr(choice, name) for name in expected} == expected


def test_a_form_with_its_defaults_is_the_default_choice() -> None:
    for source in ("alphabet", "network", "file"):
        assert choice_of({**DEFAULTS, "source": source, "epsilon": "2"}, 1) == MechanismChoice(epsilon=2, adjacency=1)


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_a_field_is_shown_exactly_where_a_mechanism_takes_it(name: str) -> None:
    kinds = takers(name)
    if name == "calibration" or not kinds:  # a calibration that a mechanism does not have is refused, not hidden
        return
    usual = {**DEFAULTS, "source": "network", "cost": "given", "utility": "inverse"}
    by_distance = {"exponential", "staircase", "optimal"} & set(kinds)
    for mechanism in names():
        shown = holds(SHOWN_WHEN[name], {**usual, "mechanism": mechanism})
        private = mechanism in kinds and mechanism != "jones2019-printed"
        assert shown == (private or (mechanism == "auto" and bool(by_distance)))


# --- typed keyword arguments -------------------------------------------------------------------------

WIDER = {
    **{"Fraction": "Number", "tuple[str, ...]": "Iterable[str]"},
    **dict.fromkeys(("Calibration", "Utility", "Metric"), "str"),
}


NOT_OF_COUNTS = {
    *("keep", "on_unknown", "over_budget", "person_option", "spreadsheet_safe", "start", "thin"),
    *("time_grid", "time_shift", "time_step", "unsafe_report_true_error"),
}
"""What a table or a model of a whole file does not have: its records are not released."""


@pytest.mark.parametrize(
    ("types", "kinds", "without"),
    [
        (ChoiceParameters, (MechanismChoice,), {"not_private"}),
        (FileParameters, (MechanismChoice, ColumnOptions, RunOptions), NOT_BY_NAME),
        (CountParameters, (ColumnOptions, CountOptions), {"keep", "attributes", "person_option"}),
        (
            CountFileParameters,
            (RunOptions, ColumnOptions, CountOptions),
            {*NOT_OF_COUNTS, "attributes", "longest", "gzip_ratio", "time_share"},
        ),
        (LearnParameters, (RunOptions, ColumnOptions, LearnOptions), NOT_OF_COUNTS),
        (FileReading, (ColumnOptions,), {"keep", "attributes", "person", "person_option", "time"}),
    ],
)
def test_typed_keyword_arguments_are_the_fields(types: type, kinds: tuple[type, ...], without: set[str]) -> None:
    written = {name: each.__forward_arg__ for name, each in types.__annotations__.items()}
    every = {each.name: str(each.type) for kind in kinds for each in dataclasses.fields(kind)}
    assert set(written) == set(every) - without
    for name, kind in written.items():
        narrow = {WIDER.get(part, part) for part in every[name].split(" | ")}
        assert narrow <= set(kind.split(" | ")), (name, every[name], kind)


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (sv.privatize_file, (MechanismChoice, ColumnOptions, RunOptions)),
        (sv.count, (CountOptions,)),
        (sv.learn, (LearnOptions,)),
    ],
)
def test_a_signature_shows_the_fields(function: Callable[..., object], kinds: tuple[type, ...]) -> None:
    shown = inspect.signature(function).parameters
    for kind in kinds:
        for each in parameters_of(kind):
            if each.name not in NOT_BY_NAME:
                assert shown[each.name].default == (inspect.Parameter.empty if each.required else each.default)


# --- domains -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "text", "value"),
    [
        (Whole(), "3", 3),
        (Whole(least=1, words=("all",)), "all", "all"),
        (Flag(), "yes", True),
        (Flag(), "no", False),
        (Exact(), "1/3", "1/3"),
        (File(), "costs.csv", "costs.csv"),
        (OneOf(labels={"a": "A"}), "a", "a"),
    ],
)
def test_a_domain_reads_what_is_typed(domain: Exact, text: str, value: object) -> None:
    assert domain.read("name", text) == value


@pytest.mark.parametrize(
    ("domain", "text", "message"),
    [
        (Whole(), "1.5", "name: expected a whole number, found '1.5'"),
        (Whole(least=1, words=("all",)), "x", "name: expected a whole number, 1 or more, or \"all\", found 'x'"),
        (Flag(), "maybe", "name: expected yes or no, found 'maybe'"),
    ],
)
def test_a_domain_refuses_what_is_not_in_it(domain: Exact, text: str, message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        domain.read("name", text)
    assert str(refused.value) == message


# --- the shell ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "position", "expected"),
    [
        ("symveil re", 1, {"release", "reproduce"}),
        ("symveil release abc --ep", 3, {"--epsilon"}),
        ("symveil release abc --calibration c", 4, {"classic"}),
        ("symveil release abc --mechanism per", 4, {"permute-and-flip"}),
        ("symveil privatize in.csv --on-unknown d", 4, {"drop-sequence"}),
    ],
)
def test_a_shell_completes_options_and_their_choices(
    typed: str, position: int, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"_SYMVEIL_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(position)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    done = symveil()
    assert done.status == 0, done.err
    assert {line.split(",")[1] for line in done.out.splitlines()} == expected


def test_the_help_of_the_whole_imports_no_mechanism() -> None:
    """Its options are made when a command is looked at."""
    asked = "import sys; from symveil.cli.main import cli; import click; cli.get_help(click.Context(cli)); "
    asked += "print([name for name in sys.modules if name == 'symveil.mechanisms.choice'])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
