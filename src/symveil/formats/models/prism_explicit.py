"""Explicit files of PRISM and Storm: `.tra`, the transitions of a Markov chain, and `.lab`, the labels of its states.

    .tra   PRISM: number of states, number of transitions; Storm: dtmc; then lines `source target probability`
    .lab   PRISM: 0="init" 1="deadlock" 2="heads" …; then lines `state: label label …`, by their numbers
           Storm: #DECLARATION, the labels, #END; then lines `state label label …`, by their names
    .sta   beside it, if it is there: the values of the variables, which name the states: first line (s,d), then lines
           `state:(value,value)`; PRISM may put lines that begin with # before it
    .srew  PRISM: number of states and of rewards that are not 0, then lines `state reward`; Storm: these lines alone

A state's label here is the set of its labels in the file, without `init` (where runs start, which is nothing that
is seen) and `deadlock`: in alphabetical order, joined by `+`, and empty where none is left. A name that contains `+`
is refused, so that different sets are different labels. A deadlock without transitions stays where it is, as
PRISM itself has it. Where the program beside it declares observable variables, what is seen is their values.

What a PRISM program says about who sees what: declarations `observable` and `secret`, as PRISM-Leak has them.

    global secret pay : [1..3];
    global observable agree1 : [0..1];
    observable done : bool init false;

Only these two words are looked for. The program itself is not built here: PRISM does that, and exports what it built
(`prism model.pm -exportmodel model.tra,sta,lab`). PRISM does not know the two words; leave them out of the copy that it
reads, or use PRISM-Leak.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path

from symveil.errors import FileError
from symveil.formats.limits import LIMITS
from symveil.formats.models.lines import Line, exported_lines, is_index
from symveil.formats.reading import beside, placed, read_text, stem, suffix
from symveil.models.labelled_chain import LabelledChain, spelled_valuation
from symveil.models.markov_chain import read_probability, rounded_sums
from symveil.numbers.rationals import Number

STATE_SUFFIX, REWARD_SUFFIX = ".sta", ".srew"

_HEAD = re.compile(r"\(\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*\)")
_ROW = re.compile(r"([0-9]{1,9})\s*:\s*\(([^()]*)\)")
_VALUE = re.compile(r"true|false|-?[0-9]{1,18}(?:\.[0-9]+)?")
_REWARD = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,3})?(?:/[0-9]{1,400})?")


class Valuations:
    """The variables of a model and their values in each state."""

    def __init__(self, variables: tuple[str, ...], values: list[tuple[str, ...]]) -> None:
        self.variables, self.values = variables, values

    def names(self) -> list[str]:
        """The names of the states: their values."""
        return [spelled_valuation(self.variables, own) for own in self.values]

    def part(self, state: int, variables: tuple[str, ...]) -> str:
        """The values of some variables in a state."""
        own = dict(zip(self.variables, self.values[state], strict=True))
        return spelled_valuation(variables, [own[variable] for variable in variables])


def read_states(path: Path, count: int) -> Valuations:
    """The values of `count` states in a `.sta` file; each state once, and no two of them alike."""
    lines = exported_lines(path, what="file of states")
    line = next(lines, Line(path, 1, ""))
    match = _HEAD.fullmatch(line.text)
    if match is None:
        raise line.refusal("variables such as (s,d)")
    variables = tuple(name.strip() for name in match[1].split(","))
    if len(set(variables)) < len(variables):
        raise line.refusal("each variable once", "one twice")
    values: dict[int, tuple[str, ...]] = {}
    seen: set[tuple[str, ...]] = set()
    for line in lines:
        row = _ROW.fullmatch(line.text)
        own = tuple(cell.strip() for cell in row[2].split(",")) if row else ()
        if row is None or len(own) != len(variables) or not all(_VALUE.fullmatch(cell) for cell in own):
            raise line.refusal(f"a state and {len(variables)} values such as 0:({','.join(['0'] * len(variables))})")
        state = line.state(row[1], count)
        if state in values or own in seen:
            raise line.refusal("each state once, with values of its own", row[1])
        values[state] = own
        seen.add(own)
    if len(values) != count:
        raise FileError(str(path), expected=f"all {count} states", found=str(len(values)))
    return Valuations(variables, [values[state] for state in range(count)])


def read_rewards(path: Path, count: int) -> list[str]:
    """The reward of each of `count` states as it is spelled; "0" where the file has none."""
    rewards: dict[int, str] = {}
    for row, line in enumerate(exported_lines(path, what="file of rewards")):
        cells = line.text.split()
        if len(cells) != 2 or not is_index(cells[0]) or not _REWARD.fullmatch(cells[1]):
            raise line.refusal("a state and its reward")
        if row == 0 and int(cells[0]) == count:  # PRISM's first line: no state has this number
            continue
        state = line.state(cells[0], count)
        if state in rewards:
            raise line.refusal("each state once", cells[0])
        rewards[state] = cells[1]
    return [rewards.get(state, "0") for state in range(count)]


PROGRAM_SUFFIXES = (".pm", ".prism", ".nm", ".sm")
_COMMENT = re.compile(r"//[^\n]*")
_DECLARED_VARIABLE = re.compile(r"(?:^|[;\s])(?:global\s+)?\b(observable|secret)\s+([A-Za-z_]\w*)\s*:(?!:)")


@dataclass(frozen=True, slots=True)
class Declarations:
    """The variables that an observer sees, and those that are to stay secret, in the order of the program."""

    observable: tuple[str, ...]
    secret: tuple[str, ...]


def read_declarations(text: str, *, where: str) -> Declarations:
    """The declarations in a program's text.

    >>> read_declarations("dtmc global secret pay : [1..3]; module m observable out : bool; endmodule", where="m.pm")
    Declarations(observable=('out',), secret=('pay',))
    """
    results: dict[str, str] = {}
    for word, name in _DECLARED_VARIABLE.findall(_COMMENT.sub("", text)):
        if results.setdefault(name, word) != word:
            raise FileError(where, expected=f"variable {name} to be observable or secret", found="both")
    seen, hidden = ([name for name, word in results.items() if word == kind] for kind in ("observable", "secret"))
    return Declarations(tuple(seen), tuple(hidden))


def declarations_beside(path: Path, valuations: Valuations | None) -> tuple[Path, Declarations] | None:
    """The declarations of the program beside an exported file, where there is one that has some.

    They are about variables: where the values of the states are not known, none is looked for.
    """
    for ending in PROGRAM_SUFFIXES if valuations is not None else ():
        own = path.with_name(stem(path))  # PRISM may keep the ending: die.pm.tra
        program = beside(path, ending) or (own if own.suffix == ending and own.is_file() else None)
        if program is not None:
            text = read_text(program, what="PRISM program", at_most=LIMITS.now.program_bytes)
            declared = read_declarations(text, where=str(program))
            return (program, declared) if declared.observable or declared.secret else None
    return None


SUFFIX, LABEL_SUFFIX = ".tra", ".lab"

_NOT_SEEN = ("init", "deadlock")
_DECLARED = re.compile(r'\s*([0-9]{1,9})="([^"]*)"')
_JOIN = "+"
_ZERO = re.compile(r"0*\.?0*")
_OTHER_TYPES = ("ctmc", "mdp", "ctmdp", "ma", "pomdp", "lts")

Row = tuple[str, str, str]


@dataclass(slots=True)
class StateLabels:
    """The labels of each state, and which of them are initial or deadlocks."""

    sets: list[set[str]]
    initial: list[int]
    deadlocks: set[int]

    @classmethod
    def of(cls, own: list[set[str]]) -> StateLabels:
        """Sorted out from all labels of each state."""
        return cls(
            [labels - set(_NOT_SEEN) for labels in own],
            [state for state, labels in enumerate(own) if "init" in labels],
            {state for state, labels in enumerate(own) if "deadlock" in labels},
        )

    def add(self, named: Mapping[str, Sequence[int | str]], *, where: str) -> None:
        """Labels that are given beside the file: which states have each of them, by their numbers."""
        require_label_names(list(named), where=f"{where}: `label_states`")
        for name, states in named.items():
            for state in states:
                if not is_index(str(state)) or int(state) >= len(self.sets):
                    raise FileError(
                        f"{where}: `label_states`",
                        expected=f"numbers of states, below {len(self.sets)}",
                        found=repr(str(state)[:40]),
                    )
                self.sets[int(state)].add(name)

    def require_seen(self, path: Path) -> None:
        """Refuse where no state has a label."""
        if not any(self.sets):
            raise FileError(
                str(path),
                expected="a label besides init and deadlock, so that something is seen",
                found="none; name states for one with `label_states`",
            )

    def shown(self) -> list[str]:
        """What is seen of each state."""
        return [_JOIN.join(sorted(labels)) for labels in self.sets]


def read_prism(
    path: Path,
    *,
    labels: Path | None = None,
    label_states: Mapping[str, Sequence[int | str]] | None = None,
    notes: list[str],
) -> LabelledChain:
    """The labelled chain of a `.tra` file and the `.lab` file beside it, or of `labels`: a `.lab` or a `.srew` file.

    `label_states` are labels that no file has, with the numbers of their states.
    """
    count, rows, line_numbers = _read_transitions(path, notes)
    of_states = beside(path, STATE_SUFFIX)
    valuations = None if of_states is None else read_states(of_states, count)
    declared = None if labels is not None else declarations_beside(path, valuations)
    label_file = labels or beside(path, LABEL_SUFFIX)
    by_values = declared is not None and declared[1].observable
    rewards = label_file is not None and suffix(label_file) == REWARD_SUFFIX
    if label_states and (by_values or rewards):
        actual = "rewards" if rewards else "a program that declares observable variables"
        raise FileError(str(path), expected="labels, where states are named for them", found=actual)
    if label_file is None and not by_values and not label_states:
        raise FileError(
            str(path),
            expected=f"its labels beside it, in {stem(path)}.lab",
            found="no such file; a .sta file and a program that declares observable variables do as well, or name "
            "states with `label_states`",
        )
    own = StateLabels.of([set() for _ in range(count)])
    if label_file is not None and not rewards:
        own = read_labels(label_file, count)
    return explicit_chain(
        path,
        rows,
        own,
        location=lambda row: f"{path}: line {line_numbers[row]}",
        label_states=label_states,
        label_file=label_file,
        rewards=read_rewards(label_file, count) if label_file is not None and rewards else None,
        valuations=valuations,
        declared=declared,
        notes=notes,
    )


def explicit_chain(
    path: Path,
    rows: list[Row],
    own: StateLabels,
    *,
    location: Callable[[int], str],
    label_states: Mapping[str, Sequence[int | str]] | None,
    label_file: Path | None = None,
    rewards: list[str] | None = None,
    valuations: Valuations | None,
    declared: tuple[Path, Declarations] | None,
    notes: list[str],
) -> LabelledChain:
    """The chain of numbered states; named by their values where these are known.

    What is seen of a state: the variables that are declared observable, else its reward, else its labels. `location` is
    what messages call a row.
    """
    own.add(label_states or {}, where=str(path))
    count = len(own.sets)
    names = [str(state) for state in range(count)] if valuations is None else valuations.names()
    shown = own.shown() if rewards is None else rewards
    related: list[tuple[str, str]] = []
    seen_by_values = False
    if declared is not None and valuations is not None:
        program, declarations = declared
        _require_variables(declarations, valuations, program)
        if seen_by_values := bool(declarations.observable):
            shown = [valuations.part(state, declarations.observable) for state in range(count)]
            notes.append(f"what is seen are the variables that {program.name} declares observable")
        if declarations.secret:
            related = _related(declarations, valuations, own.initial, names, notes)
    if rewards is None and not seen_by_values:
        own.require_seen(label_file or path)
    leaving = {source for source, _, _ in rows}
    stuck = [str(state) for state in range(count) if str(state) not in leaving and state in own.deadlocks]
    if stuck:
        notes.append(f"{len(stuck)} deadlock states without transitions stay where they are")
    moves: list[tuple[str, str, Number]] = [*rows, *((state, state, Fraction(1)) for state in stuck)]
    with placed(path, location, wrong_sum=lambda: _wrong_sum(rows)):
        return LabelledChain.from_transitions(
            [(names[int(source)], names[int(target)], chance) for source, target, chance in moves],
            labels=dict(zip(names, shown, strict=True)),
            related=related,
            states=names,
            notes=notes,
        )


def _require_variables(declarations: Declarations, valuations: Valuations, program: Path) -> None:
    for variable in (*declarations.observable, *declarations.secret):
        if variable not in valuations.variables:
            raise FileError(str(program), expected="variables of the file of states", found=variable)


def _related(
    declarations: Declarations, valuations: Valuations, initial: list[int], names: list[str], notes: list[str]
) -> list[tuple[str, str]]:
    """Initial states that differ in their secrets only: an observer must not learn in which of them a run began."""
    rest = tuple(variable for variable in valuations.variables if variable not in declarations.secret)
    groups: dict[str, list[int]] = {}
    for state in initial:
        groups.setdefault(valuations.part(state, rest), []).append(state)
    pairs = [
        (names[one], names[other]) for group in groups.values() for one, other in combinations(group, 2)
    ]  # fmt: skip
    if len(pairs) > LIMITS.now.related_pairs:
        notes.append(f"{len(pairs)} pairs of initial states differ in their secrets only: too many, name some")
        return []
    notes.append(f"{len(pairs)} pairs of initial states that differ in their secrets only are related")
    return pairs


def _read_transitions(path: Path, notes: list[str]) -> tuple[int, list[Row], list[int]]:
    lines = exported_lines(path, what="PRISM transition file")
    line = next(lines, Line(path, 1, ""))
    if line.text.lower() in _OTHER_TYPES:
        raise line.refusal("a Markov chain, dtmc", line.text.lower())
    storm = line.text.lower() == "dtmc"
    sizes = line.text.split()
    if not storm and (len(sizes) != 2 or not all(map(is_index, sizes))):
        actual = None if line.text else "an empty file"
        raise line.refusal("the number of states and of transitions of a Markov chain", actual)
    count = None if storm else int(sizes[0])
    if count is not None and not 0 < count <= LIMITS.now.states:
        raise line.refusal(f"1 to {LIMITS.now.states} states", str(count))
    rows, line_numbers = _rows(lines, LIMITS.now.states if count is None else count)
    if count is not None and len(rows) != int(sizes[1]):
        raise FileError(
            str(path), expected=f"{int(sizes[1])} transitions, as its first line says", found=str(len(rows))
        )
    if count is None:
        count = 1 + max((int(state) for row in rows for state in row[:2]), default=-1)
        if not count:
            raise FileError(str(path), expected="at least one transition", found="none")
    # Storm takes moves of probability 0 for none, and its files have some
    remaining = [index for index, row in enumerate(rows) if not (storm and _ZERO.fullmatch(row[2]))]
    if len(remaining) < len(rows):
        notes.append(f"{len(rows) - len(remaining)} transitions of probability 0 were left out")
    return count, [rows[index] for index in remaining], [line_numbers[index] for index in remaining]


def _rows(lines: Iterator[Line], count: int) -> tuple[list[Row], list[int]]:
    rows: list[Row] = []
    line_numbers: list[int] = []
    for line in lines:
        cells = line.text.split()
        if len(cells) not in (3, 4) or not (is_index(cells[0]) and is_index(cells[1])):
            raise line.refusal("source, target and probability")
        source, target = (str(line.state(cell, count)) for cell in cells[:2])
        rows.append((source, target, cells[2]))
        line_numbers.append(line.number)
    return rows, line_numbers


def read_labels(path: Path, count: int) -> StateLabels:
    """The labels of each of `count` states, as PRISM or as Storm writes them."""
    lines = exported_lines(path, what="PRISM label file")
    head = next(lines, Line(path, 1, ""))
    all_of = [set[str]() for _ in range(count)]
    if head.text == "#DECLARATION":
        _storm_labels(path, lines, all_of)
    else:
        names = _declared(head)
        for line in lines:
            state, colon, codes = line.text.partition(":")
            if not colon or not is_index(state) or not all(map(is_index, codes.split())):
                raise line.refusal("a state, a colon and its labels")
            own = all_of[line.state(state, count)]
            for code in map(int, codes.split()):
                if code not in names:
                    raise line.refusal("labels of its first line", str(code))
                own.add(names[code])
    return StateLabels.of(all_of)


def _storm_labels(path: Path, lines: Iterator[Line], all_of: list[set[str]]) -> None:
    """Labels between #DECLARATION and #END; then each state with those that it has."""
    names: list[str] = []
    for line in lines:
        if line.text == "#END":
            break
        names += line.text.split()
    else:
        raise FileError(str(path), expected="#END after the labels", found="the end of the file")
    require_label_names(names, where=str(path))
    for line in lines:
        state, *labels = line.text.split()
        if not is_index(state):
            raise line.refusal("a state and its labels")
        own = all_of[line.state(state, len(all_of))]
        for label in labels:
            if label not in names:
                raise line.refusal("labels that are declared before #END", repr(label[:40]))
            own.add(label)


def require_label_names(names: list[str], *, where: str) -> None:
    """Refuse names that are there twice, are empty, or could be two names."""
    for name in names:
        if names.count(name) > 1:
            raise FileError(where, expected="each label name once", found=f"{name[:40]!r} twice")
        if not name or _JOIN in name:
            raise FileError(where, expected=f"label names that are not empty, without {_JOIN!r}", found=repr(name[:40]))


def _declared(head: Line) -> dict[int, str]:
    """The names of the labels by their codes: each code once, each name once."""
    labels = [(int(code), name) for code, name in _DECLARED.findall(head.text)]
    if not labels or _DECLARED.sub("", head.text).strip():
        raise head.refusal('labels such as 0="init" 1="heads"')
    names: dict[int, str] = {}
    for code, name in labels:
        if code in names:
            raise head.refusal("each label number once", f"{code} twice")
        names[code] = name
    require_label_names([name for _, name in labels], where=head.where)
    return names


def _wrong_sum(rows: list[Row]) -> int | None:
    """The last row of the first state whose probabilities do not sum to 1, if that is what is wrong."""
    chances: dict[str, list[Fraction]] = {}
    last: dict[str, int] = {}
    decimal = set()
    for number, (source, _, spelled) in enumerate(rows):
        chance, is_decimal = read_probability(spelled, where="transitions")
        chances.setdefault(source, []).append(chance)
        last[source] = number
        if is_decimal:
            decimal.add(source)
    for source, own in chances.items():
        if sum(own) != 1 and not rounded_sums({source: sum(own, Fraction(0))}, decimal & {source}, notes=None):
            return last[source]
    return None
