"""Foreach, ranges, indices and constants of `.wmod` modules: each against a module that is written out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import symveil as sv
from cli.running import symveil
from symveil.errors import SymveilError
from symveil.formats.limits import LIMITS
from symveil.formats.models.wmod_files import read_wmod_parts


def number(value: int) -> str:
    return f'<IntConstant Value="{value}"/>'


def name(text: str) -> str:
    return f'<SimpleIdentifier Name="{text}"/>'


def both(left: str, operator: str, right: str) -> str:
    written = operator.replace("&", "&amp;").replace("<", "&lt;")
    return f'<BinaryExpression Operator="{written}">{left}{right}</BinaryExpression>'


def span(first: int, last: int) -> str:
    return both(number(first), "..", number(last))


def names(*members: str) -> str:
    return f"<EnumSetExpression>{''.join(map(name, members))}</EnumSetExpression>"


def indexed(text: str, *indices: str) -> str:
    return f'<IndexedIdentifier Name="{text}">{"".join(indices)}</IndexedIdentifier>'


def foreach(kind: str, variable: str, values: str, *body: str, guard: str = "") -> str:
    inside = f"<Guard>{guard}</Guard>" if guard else ""
    return f'<Foreach{kind} Name="{variable}">{values}{inside}{"".join(body)}</Foreach{kind}>'


def constant(text: str, value: str) -> str:
    inside = f"<ConstantAliasExpression>{value}</ConstantAliasExpression>"
    return f'<ConstantAlias Name="{text}">{inside}</ConstantAlias>'


def event(text: str, *ranges: str, kind: str = "CONTROLLABLE", seen: str = "true") -> str:
    inside = f"<RangeList>{''.join(ranges)}</RangeList>" if ranges else ""
    return f'<EventDecl Kind="{kind}" Name="{text}" Observable="{seen}">{inside}</EventDecl>'


def edge(*labels: str, source: str = "1", target: str = "2") -> str:
    return f'<Edge Source="{source}" Target="{target}"><LabelBlock>{"".join(labels)}</LabelBlock></Edge>'


def automaton(called: str, *edges: str, blocked: str = "") -> str:
    """With two states; `called` is a name, or an IndexedIdentifier."""
    attribute, child = ("", called) if called.startswith("<") else (f' Name="{called}"', "")
    nodes = '<NodeList><SimpleNode Initial="true" Name="1"/><SimpleNode Name="2"/></NodeList>'
    blocks = f"<LabelBlock>{blocked}</LabelBlock>" if blocked else ""
    graph = f"<Graph>{blocks}{nodes}<EdgeList>{''.join(edges)}</EdgeList></Graph>"
    return f'<SimpleComponent Kind="PLANT"{attribute}>{child}{graph}</SimpleComponent>'


def module(*parts: str) -> str:
    lists = {"<ConstantAlias ": "ConstantAliasList", "<EventDecl ": "EventDeclList"}
    grouped = itertools.groupby(parts, lambda part: lists.get(part[: part.index(" ") + 1], "ComponentList"))
    inside = "".join(f"<{tag}>{''.join(each)}</{tag}>" for tag, each in grouped)
    return f"<Module>{inside}</Module>"


@pytest.fixture
def parts(tmp_path: Path) -> Callable[..., list[sv.LogicalSystem]]:
    def read(*inside: str) -> list[sv.LogicalSystem]:
        (tmp_path / "m.wmod").write_text(module(*inside))
        return read_wmod_parts(tmp_path / "m.wmod")

    return read


def plain(*events: str) -> Iterable[str]:
    return (event(each) for each in events)


EACH, OTHER, COUNT = name("i"), name("j"), name("N")
ARRAY = event("e", span(0, 3))
SAME = {
    "an event with ranges": (
        (
            event("f"),
            event("e", span(1, 2), names("l", "r"), kind="X", seen="false"),
            automaton("a", edge(indexed("e", number(2), name("l")))),
        ),
        (
            event("f"),
            *(event(f"e[{i}][{j}]", kind="X", seen="false") for i in (1, 2) for j in "lr"),
            automaton("a", edge(name("e[2][l]"))),
        ),
    ),
    "an empty range": (
        (
            event("e", span(1, 0)),
            event("f"),
            automaton("a", edge(name("f"), foreach("Event", "i", span(1, 0), indexed("e", EACH)))),
        ),
        (event("f"), automaton("a", edge(name("f")))),
    ),
    "automata": (
        (
            ARRAY,
            foreach(
                "Component",
                "i",
                span(0, 1),
                automaton(indexed("a", EACH), edge(indexed("e", both(EACH, "+", number(2))))),
            ),
        ),
        (
            *plain(*(f"e[{i}]" for i in range(4))),
            automaton("a[0]", edge(name("e[2]"))),
            automaton("a[1]", edge(name("e[3]"))),
        ),
    ),
    "automata in a list, guarded": (
        (
            ARRAY,
            foreach(
                "Component",
                "i",
                span(0, 3),
                f"<ComponentList>{automaton(indexed('a', EACH), edge(indexed('e', EACH)))}</ComponentList>",
                guard=both(both(EACH, "!=", number(1)), "&", both(EACH, "<", number(3))),
            ),
        ),
        (
            *plain(*(f"e[{i}]" for i in range(4))),
            automaton("a[0]", edge(name("e[0]"))),
            automaton("a[2]", edge(name("e[2]"))),
        ),
    ),
    "nested, the inner range by the outer variable": (
        (
            event("e", span(1, 3), span(1, 3)),
            foreach(
                "Component",
                "i",
                span(1, 3),
                foreach(
                    "Component",
                    "j",
                    both(number(1), "..", EACH),
                    automaton(indexed("a", EACH, OTHER), edge(indexed("e", EACH, OTHER))),
                ),
            ),
        ),
        (
            *plain(*(f"e[{i}][{j}]" for i in (1, 2, 3) for j in (1, 2, 3))),
            *(automaton(f"a[{i}][{j}]", edge(name(f"e[{i}][{j}]"))) for i in (1, 2, 3) for j in range(1, i + 1)),
        ),
    ),
    "events of an edge": (
        (ARRAY, event("f"), automaton("a", edge(foreach("Event", "i", span(1, 2), indexed("e", EACH)), name("f")))),
        (*plain(*(f"e[{i}]" for i in range(4)), "f"), automaton("a", edge(*map(name, ("e[1]", "e[2]", "f"))))),
    ),
    "edges": (
        (
            ARRAY,
            automaton("a", foreach("Edge", "i", span(1, 2), edge(indexed("e", EACH)), edge(indexed("e", number(0))))),
        ),
        (
            *plain(*(f"e[{i}]" for i in range(4))),
            automaton("a", edge(name("e[1]")), edge(name("e[0]")), edge(name("e[2]"))),
        ),
    ),
    "the same without a kind": (
        (
            ARRAY,
            foreach(
                "",
                "i",
                span(1, 2),
                automaton(indexed("a", EACH), foreach("", "j", span(0, 0), edge(indexed("e", OTHER)))),
            ),
        ),
        (*plain(*(f"e[{i}]" for i in range(4))), *(automaton(f"a[{i}]", edge(name("e[0]"))) for i in (1, 2))),
    ),
    "constants, arithmetic and a named enumeration": (
        (
            constant("N", both(number(7), "-", number(4))),
            constant(
                "M",
                both(both(COUNT, "*", number(2)), "-", f'<UnaryExpression Operator="-">{number(1)}</UnaryExpression>'),
            ),
            constant("side", names("l", "r")),
            constant("first", name("l")),
            event("e", both(number(0), "..", both(name("M"), "/", COUNT)), name("side")),
            automaton(
                "a",
                edge(
                    foreach(
                        "Event",
                        "s",
                        name("side"),
                        indexed("e", both(name("M"), "%", COUNT), name("s")),
                        guard=both(name("s"), "==", name("first")),
                    )
                ),
            ),
        ),
        (*plain(*(f"e[{i}][{j}]" for i in (0, 1, 2) for j in "lr")), automaton("a", edge(name("e[1][l]")))),
    ),
    "marks of states and drawings move nothing": (
        (
            event("w", span(0, 1), kind="PROPOSITION"),
            ARRAY,
            automaton("a", edge(indexed("e", number(0)), "<LabelGeometry><Point/></LabelGeometry>")).replace(
                'Name="2"/>', f'Name="2"><EventList>{indexed("w", number(0))}</EventList></SimpleNode>'
            ),
        ),
        (*plain(*(f"e[{i}]" for i in range(4))), automaton("a", edge(name("e[0]")))),
    ),
}


@pytest.mark.parametrize("case", SAME)
def test_expanded_is_what_is_written_out(parts: Callable[..., list[sv.LogicalSystem]], case: str) -> None:
    short, long = SAME[case]
    expanded = parts(*short)
    assert expanded == parts(*long)
    assert all(part.transitions for part in expanded)


@pytest.mark.parametrize(
    ("guard", "true_for"),
    [
        (both(EACH, operator, number(2)), [i for i in range(5) if holds(i)])
        for operator, holds in {
            "==": lambda i: i == 2,
            "!=": lambda i: i != 2,
            "<": lambda i: i < 2,
            "<=": lambda i: i <= 2,
            ">": lambda i: i > 2,
            ">=": lambda i: i >= 2,
        }.items()
    ]
    + [
        (both(both(EACH, "==", number(0)), "|", both(EACH, ">", number(3))), [0, 4]),
        (f'<UnaryExpression Operator="!">{both(EACH, "<", number(4))}</UnaryExpression>', [4]),
    ],
)
def test_guards(parts: Callable[..., list[sv.LogicalSystem]], guard: str, true_for: list[int]) -> None:
    labels = foreach("Event", "i", span(0, 4), indexed("e", EACH), guard=guard)
    (system,) = parts(event("e", span(0, 4)), automaton("a", edge(labels)))
    assert [made for _, made, _ in system.transitions] == [f"e[{i}]" for i in true_for]


def test_blocked_events_are_expanded(parts: Callable[..., list[sv.LogicalSystem]]) -> None:
    blocks = foreach("Event", "i", span(1, 2), indexed("e", EACH))
    for used, fits in ((0, True), (2, False)):
        inside = (ARRAY, automaton("a", blocked=blocks), automaton("b", edge(indexed("e", number(used)))))
        if fits:
            assert len(parts(*inside)) == 2
        else:
            with pytest.raises(SymveilError, match=r"block no event of another one, found 'e\[2\]', blocked by 'a'"):
                parts(*inside)


def labelled(*labels: str) -> tuple[str, ...]:
    return ARRAY, automaton("a", edge(*labels))


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (labelled(name("e")), "an index for each range of 'e', found none"),
        (labelled(indexed("e", number(4))), r"events that the module declares, found 'e\[4\]'"),
        (labelled(indexed("e", number(1), number(1))), r"events that the module declares, found 'e\[1\]\[1\]'"),
        (labelled(indexed("e")), "at least one index"),
        (labelled(indexed("e", EACH)), "a constant, a variable of a foreach or a member .* found 'i'"),
        (labelled(indexed("e", span(0, 1))), "as an index, found a range"),
        (labelled(indexed("e", both(number(1), "==", number(1)))), "as an index, found a truth value"),
        (labelled(indexed("e", both(number(1), "^", number(1)))), r"one of the operators .* found '\^'"),
        (labelled(indexed("e", "<Function/>")), "an expression of constants.*found a Function"),
        (labelled(indexed("e", '<IntConstant Value="1e3"/>')), "an integer in an IntConstant, found '1e3'"),
        (labelled(indexed("e", both(number(2**31 - 1), "+", number(1)))), "integers up to 2147483647"),
        (labelled(indexed("e", both(number(-1), "%", number(2)))), "of an integer from 0 by one from 1, found -1 by 2"),
        (labelled(indexed("e", both(number(1), "/", number(0)))), "from 0 by one from 1, found 1 by 0"),
        (labelled(foreach("Event", "i", span(0, 1), name("i"))), "an event, found 'i', the variable"),
        (labelled(foreach("Event", "i", number(1), indexed("e", EACH))), "a range, such as .* found an integer"),
        (labelled(foreach("Event", "i", "", "")), "a range in a ForeachEvent, found none"),
        (
            labelled(foreach("Event", "i", span(0, 1), indexed("e", EACH), guard=EACH)),
            "true or false, found an integer",
        ),
        (
            labelled(foreach("Event", "i", names("i"), indexed("e", EACH))),
            "a name of its own in a ForeachEvent, found 'i'",
        ),
        (
            labelled(foreach("Event", "i", names("l"), indexed("e", EACH), guard=both(EACH, "==", number(1)))),
            "two values of one kind beside ==, found a member of an enumeration, an integer",
        ),
        (
            labelled(foreach("Event", "i", span(0, 1), foreach("Event", "i", span(0, 1), indexed("e", EACH)))),
            "a name of its own in a ForeachEvent, found 'i'",
        ),
        (labelled("<QualifiedIdentifier/>"), "events of an edge, found a QualifiedIdentifier"),
        ((event("e", names("l", "l")), automaton("a")), "an enumeration of different names"),
        ((event("e[1]"), event("e", span(1, 2)), automaton("a")), "each event once"),
        ((constant("N", COUNT), automaton("a")), "declared before, found 'N'"),
        ((constant("N", number(1)), constant("N", number(2)), automaton("a")), "a Name of its own for each Const"),
        ((foreach("Component", "i", span(0, 1), automaton("a")),), "index of its own for each value, found 'a' twice"),
        ((foreach("Component", "i", span(0, 1), event("f")),), "in a foreach over automata, found a EventDecl"),
        ((foreach("Component", "i", span(0, 1), '<Instance Name="x"/>'),), "of the module itself, found a Instance"),
        ((foreach("Component", "i", span(0, 1), "<VariableComponent/>"),), "automata without variables"),
        ((foreach("Component", "i", span(0, 1), "<ConditionalComponent/>"),), "without conditions.*found a Cond"),
        ((foreach("Event", "i", span(0, 1)),), "a ForeachEvent inside an automaton, found one outside"),
        ((ARRAY, automaton("a", '<Edge Source="1" Target="2"><GuardActionBlock/></Edge>')), "guards and actions"),
        ((automaton("a").replace("<NodeList>", f"<NodeList>{foreach('Node', 'i', span(0, 1))}"),), "written out"),
    ],
)
def test_refused_in_one_line_with_its_place(
    parts: Callable[..., list[sv.LogicalSystem]], inside: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SymveilError, match=r"m\.wmod: line 1: expected .*" + message) as raised:
        parts(*inside)
    assert "\n" not in str(raised.value)


MANY = span(1, 2_000_000_000)
DRAWN = "<PointGeometry/>" * 5_000


@pytest.mark.parametrize(
    "inside",
    [
        (event("e", MANY), automaton("a")),
        (event("e", *[span(0, 9)] * 12), automaton("a")),
        (event("e", span(1, 1), *[span(0, 9)] * 12), automaton("a")),
        labelled(foreach("Event", "i", MANY)),
        labelled(foreach("Event", "i", MANY, indexed("e", number(0)))),
        labelled(foreach("Event", "i", MANY, indexed("e", EACH), guard=both(EACH, "<", number(0)))),
        labelled(foreach("Event", "i", MANY, foreach("Event", "j", span(1, 0)))),
        labelled(foreach("Event", "i", MANY, foreach("Event", "j", names(*(f"m{k}" for k in range(5_000)))))),
        labelled(foreach("Event", "i", MANY, foreach("Event", "j", f"{DRAWN}{span(1, 0)}"))),
        labelled(foreach("Event", "i", MANY, f"<IndexedIdentifier Name='e'>{DRAWN}{number(0)}</IndexedIdentifier>")),
        (ARRAY, automaton("a", foreach("Edge", "i", MANY, "<Edge/>" * 5_000))),
        (ARRAY, automaton("a", foreach("Edge", "i", MANY, f"<Edge>{DRAWN}</Edge>"))),
        (foreach("Component", "i", MANY),),
        (event("e", span(1, 1_000)), foreach("Component", "i", span(1, 1_000), automaton(indexed("a", EACH)))),
        (event("e", span(1, 10_000)), *[automaton("a")] * 100),
        (foreach("Component", "i", span(1, 900), automaton(indexed("a", EACH), *["<Edge/>"] * 5_000)),),
        (foreach("Component", "i", span(1, 900), automaton(indexed("a", EACH)).replace("<Graph>", DRAWN + "<Graph>")),),
    ],
)
def test_bombs_end_at_once(parts: Callable[..., list[sv.LogicalSystem]], inside: tuple[str, ...]) -> None:
    begun = time.process_time()
    with pytest.raises(SymveilError, match=f"expand in at most {LIMITS.now.wmod_steps} steps, found more"):
        parts(*inside)
    assert time.process_time() - begun < 20


def test_automata_names_and_depth_are_bounded(parts: Callable[..., list[sv.LogicalSystem]]) -> None:
    family = [foreach("Component", "i", span(1, most), automaton(indexed("a", EACH))) for most in (1_000, 1_001)]
    assert len(parts(event("f"), family[0])) == LIMITS.now.wmod_automata
    with pytest.raises(SymveilError, match="at most 1000 automata from foreach, found more"):
        parts(event("f"), family[1])
    with pytest.raises(SymveilError, match="of at most 200 characters, found a longer one"):
        parts(event("e" * 199, span(1, 2)), automaton("a"))
    deep = number(1)
    for _ in range(100):
        deep = both(deep, "+", number(0))
    with pytest.raises(SymveilError, match="nested at most 100 deep"):
        parts(*labelled(indexed("e", deep)))
    assert parts(*labelled(indexed("e", both(both(number(1), "+", number(1)), "-", number(1)))))


def test_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "family.wmod"
    file.write_text(module(*SAME["automata"][0]))
    done = symveil("opacity", str(file), "--secret", "1:2", "--json")
    (tmp_path / "long.wmod").write_text(module(*SAME["automata"][1]))
    assert done.document == symveil("opacity", str(tmp_path / "long.wmod"), "--secret", "1:2", "--json").document
    assert done.document["witness"] == ["e[2]"]
