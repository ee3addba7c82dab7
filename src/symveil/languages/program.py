"""A mechanism as a Python program, unrolled into the labelled chain of what it shows.

A program is a generator that yields `draw(law)` for a random value that nobody sees, `emit(value)` for what is shown,
and `hide(function, …)` to go on with another such program, of which only the arguments are kept. Plain functions do the
same with a first parameter on which they call `draw`, `emit` and `hide`. Nothing of the source is read: the program is
run again for every sequence of values that may be drawn. Everything in between (branches, loops, arithmetic) is Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.languages.silent import without_silent
from symveil.models.channel import Related, related_pairs
from symveil.models.labelled_chain import END_LABEL, START_LABEL, LabelledChain
from symveil.models.names import shown, unlike
from symveil.models.probabilities import read_probability

_MOST_STATES = 200_000
_MOST_STEPS = 100_000  # of one run between two functions
_UNSEEN = "(unseen)"


@dataclass(frozen=True, slots=True)
class Draw:
    """A random value: what it may be, and how likely."""

    law: tuple[tuple[Any, Fraction], ...]
    name: str

    def said(self, value: object) -> str:
        """The value that was drawn, as it stands in the name of a state."""
        return f"{self.name}={_text(value)}" if self.name else f"draw {_text(value)}"


@dataclass(frozen=True, slots=True)
class Emit:
    """A value that is shown."""

    value: Any


@dataclass(frozen=True, slots=True)
class Hide:
    """To go on with a function, unseen."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def draw(chances: Mapping[Any, Any] | Sequence[Any], *, name: str = "") -> Draw:
    """A random value that nobody sees.

    Parameters
    ----------
    chances
        The probability of each value, exactly (`"1/3"`, `0.25`, Fractions), summing to 1; or a list of values that
        are equally likely.
    name
        What it is called in the names of states.

    >>> draw(["heads", "tails"], name="coin").law
    (('heads', Fraction(1, 2)), ('tails', Fraction(1, 2)))
    """
    if isinstance(chances, Mapping):
        read = tuple(
            (value, read_probability(chance, where=f"draw: {shown(value)}")[0]) for value, chance in chances.items()
        )
    elif isinstance(chances, str) or not isinstance(chances, Iterable):
        raise ModelError("draw", expected="a law: a mapping from values to probabilities", found=shown(chances))
    else:
        values = list(chances)
        read = tuple((value, Fraction(1, len(values))) for value in values)
    if any(chance < 0 for _, chance in read) or sum(chance for _, chance in read) != 1:
        total = sum((chance for _, chance in read), start=Fraction(0))
        raise ModelError(
            "draw", expected="probabilities of 0 or more that sum to 1", found=f"a sum of {shown(str(total))}"
        )
    return Draw(tuple((value, chance) for value, chance in read if chance), name)


def emit(value: object) -> Emit:
    """A value that everybody sees.

    Parameters
    ----------
    value
        What is seen: text as it is, anything else as Python prints it.

    >>> emit((0, 1))
    Emit(value=(0, 1))
    """
    return Emit(value)


def hide(program: Callable[..., Any], *arguments: Any) -> Hide:
    """Go on with another program, unseen; the arguments are all that is kept.

    Runs that come to the same function with equal arguments are one state of the chain from there on. So a loop that
    may go on for ever is a function that hides into itself.

    Parameters
    ----------
    program
        The function to go on with.
    arguments
        Its arguments, which must be hashable.

    >>> def coins(seen):
    ...     if (yield draw([True, False], name="stop")):
    ...         return hide(told, seen)
    ...     yield hide(coins, (seen + 1) % 2)
    >>> def told(seen):
    ...     yield emit(seen)
    >>> chain = unroll(coins, [0, 1])
    >>> [(target, str(chance)) for source, target, chance in chain.transitions if source == "coins(0)"]
    [('told(0): emit 0', '2/3'), ('told(1): emit 1', '1/3')]
    """
    if not callable(program):
        raise ParameterError("hide", expected="a function and its arguments", found=type(program).__name__)
    return Hide(program, arguments)


class Run:
    """What a plain function calls `draw`, `emit` and `hide` on."""

    def __init__(self, step: Callable[[object], Any]) -> None:
        self._step = step

    def draw(self, chances: Mapping[Any, Any] | Sequence[Any], *, name: str = "") -> Any:
        """A random value that nobody sees."""
        return self._step(draw(chances, name=name))

    def emit(self, value: object) -> None:
        """A value that everybody sees."""
        self._step(emit(value))

    def hide(self, program: Callable[..., Any], *arguments: Any) -> None:
        """Go on with another program, unseen; what follows here is not run."""
        self._step(hide(program, *arguments))


def unroll(program: Callable[..., Any], inputs: Iterable[Any], *, related: Related = "all") -> LabelledChain:
    """The labelled chain of a program: a starting state for each input, and a state for everything that is shown.

    Draws take no time and are not seen; after its last step a program shows `$`. States are named by what was done:
    `response(1): coin=0, emit 0`.

    Parameters
    ----------
    program
        A generator function that yields `draw(…)`, `emit(…)` and `hide(…)`; or a plain function whose first parameter
        has these as methods. It takes one more parameter, the input.
    inputs
        The inputs, each hashable.
    related
        Which inputs are to be hard to tell apart: "all", pairs of inputs, a function of two inputs, or a largest
        distance, where they are numbers.

    >>> def response(truth):
    ...     honest = yield draw({True: "3/4", False: "1/4"}, name="honest")
    ...     yield emit(truth if honest else 1 - truth)
    >>> chain = unroll(response, [0, 1])
    >>> chain.states[:3]
    ('response(0)', 'response(0): honest=True, emit 0', 'response(0): honest=False, emit 1')
    >>> import symveil as sv
    >>> sv.smallest_epsilon(chain, delta=0).alpha
    Fraction(3, 1)
    """
    if not callable(program):
        raise ParameterError("program", expected="a function", found=type(program).__name__)
    values = list(inputs)
    if not values:
        raise ParameterError("inputs", expected="at least one input", found="none")
    unrolling = _Unrolling()
    starts = [unrolling.anchor(Hide(program, (value,)), is_start=True) for value in values]
    if len(set(starts)) < len(starts):
        raise ParameterError("inputs", expected="each input once", found="one of them twice")
    while unrolling.waiting:
        unrolling.explore(unrolling.waiting.pop(0))
    return unrolling.chain(_related_starts(values, starts, related))


def _related_starts(values: list[Any], starts: list[str], related: Related) -> list[tuple[str, str]]:
    if callable(related):
        found = dict(zip(starts, values, strict=True))
        return list(related_pairs(starts, lambda one, other: related(found[one], found[other])))
    if related == "all" or isinstance(related, str):
        return list(related_pairs(starts, related))
    if not isinstance(related, Iterable):
        names = [str(value) for value in values]
        state = dict(zip(names, starts, strict=True))
        return [(state[one], state[other]) for one, other in related_pairs(names, related)]
    pairs = []
    for index, pair in enumerate(related):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ModelError(f"related[{index}]", expected="a pair of inputs", found=shown(pair))
        for side, value in enumerate(pair):
            if value not in values:
                raise ModelError(f"related[{index}][{side}]", expected="one of the inputs", found=shown(value))
        pairs.append((starts[values.index(pair[0])], starts[values.index(pair[1])]))
    return pairs


class _Enough(BaseException):
    """Raised in a plain function to leave it."""


class _Unrolling:
    """States and transitions as they are found."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Hide]] = []
        self._state_of: dict[object, str] = {}
        self._labels: dict[str, str | None] = {}  # None: nothing is seen
        self._starts: list[str] = []
        self._values: dict[str, object] = {}  # of labels
        self._chances: dict[tuple[str, str | None], Fraction] = {}  # to None: the end

    def anchor(self, at: Hide, *, is_start: bool = False) -> str:
        """The state in which a function begins with these arguments."""
        for argument in at.arguments:
            if not isinstance(argument, Hashable):
                raise ParameterError(
                    "inputs" if is_start else "hide",
                    expected="arguments that are hashable, such as tuples",
                    found=f"a {type(argument).__name__}",
                )
        # 1, 1.0 and True are equal, and not the same argument
        key = (at.function, tuple((type(argument), argument) for argument in at.arguments), is_start)
        if key not in self._state_of:
            self._state_of[key] = self._new(_called(at), None)
            if is_start:
                self._starts.append(self._state_of[key])
            self.waiting.append((self._state_of[key], at))
        return self._state_of[key]

    def explore(self, begun: tuple[str, Hide]) -> None:
        """Run a function for every sequence of values that it may draw, until it ends or goes on with another."""
        runs = _Runs(self, *begun)
        while runs.pending:
            runs.follow(runs.pending.pop())

    def move(self, source: str, target: str | None, chance: Fraction) -> None:
        """One more way from a state to another, or to the end."""
        self._chances[source, target] = self._chances.get((source, target), Fraction(0)) + chance

    def emission(self, name: str, value: object) -> str:
        """A new state that shows a value."""
        label = _text(value)
        if self._values.setdefault(label, value) != value or type(self._values[label]) is not type(value):
            raise ModelError("emit", expected="different values that look different", found=f"two of {shown(label)}")
        return self._new(name, label)

    def _new(self, name: str, label: str | None) -> str:
        if len(self._labels) >= _MOST_STATES:
            raise TooLargeError(
                f"program: expected at most {_MOST_STATES} states, found more; hide into functions whose arguments are "
                "all that matters, so that runs meet again"
            )
        state = unlike(name, self._labels)
        self._labels[state] = label
        return state

    def chain(self, related: list[tuple[str, str]]) -> LabelledChain:
        """All of it, without the states that are not seen."""
        before, unseen, after = (unlike(mark, self._values) for mark in (START_LABEL, _UNSEEN, END_LABEL))
        end = unlike("end", self._labels)
        labels = {state: unseen if label is None else label for state, label in self._labels.items()}
        labels |= dict.fromkeys(self._starts, before)
        rows = [(source, target or end, chance) for (source, target), chance in self._chances.items()]
        if any(target == end for _, target, _ in rows):
            rows.append((end, end, Fraction(1)))
            labels[end] = after
        met = dict.fromkeys(state for source, target, _ in rows for state in (source, target) if state != end)
        states = tuple(met | dict.fromkeys(state for state in labels if state == end))
        whole = LabelledChain.from_transitions(rows, labels=labels, related=related, states=states)
        is_silent = any(label == unseen for label in labels.values())
        return without_silent(whole, [unseen]).chain if is_silent else whole


class _Runs:
    """All runs of one function with one set of arguments."""

    def __init__(self, unrolling: _Unrolling, begin: str, at: Hide) -> None:
        self._unrolling, self._begin, self._at = unrolling, begin, at
        self.pending: list[tuple[int, ...]] = [()]
        self._laws: dict[tuple[int, ...], Draw] = {}
        self._emitted: dict[tuple[tuple[int, ...], int], str] = {}

    def follow(self, choices: tuple[int, ...]) -> None:
        """One run that draws these values first; what comes after the last of them is new."""
        self._choices, self._drawn, self._shown = choices, 0, 0
        self._here, self._chance = self._begin, Fraction(1)
        self._said: list[str] = []
        try:
            rest = _execute(self._at, self._step)
        except _Enough:
            return
        if rest is None:
            self._reach(None)
        elif isinstance(rest, Hide):
            self._reach(self._unrolling.anchor(rest))
        else:
            raise ModelError(_called(self._at), expected="hide(…) or nothing as what is returned", found=shown(rest))

    def _step(self, asked: object) -> Any:
        """What the program gets for what it asked."""
        if isinstance(asked, Draw):
            return self._draw(asked)
        if isinstance(asked, Emit):
            self._said.append(f"emit {_text(asked.value)}")
            key = (self._choices[: self._drawn], self._shown)
            self._shown += 1
            if key not in self._emitted:
                name = f"{self._begin}: {', '.join(self._said)}"
                self._emitted[key] = self._unrolling.emission(name, asked.value)
            self._reach(self._emitted[key])
            return None
        if isinstance(asked, Hide):
            self._reach(self._unrolling.anchor(asked))
            raise _Enough
        raise ModelError(_called(self._at), expected="draw(…), emit(…) or hide(…)", found=shown(asked))

    def _draw(self, asked: Draw) -> Any:
        if self._laws.setdefault(self._choices[: self._drawn], asked) != asked:
            raise ModelError(
                _called(self._at),
                expected="the same steps whenever the same values are drawn",
                found="others the second time",
            )
        if self._drawn == len(self._choices):
            self.pending.extend((*self._choices, index) for index in reversed(range(len(asked.law))))
            raise _Enough
        value, probability = asked.law[self._choices[self._drawn]]
        self._drawn += 1
        self._chance *= probability
        self._said.append(asked.said(value))
        return value

    def _reach(self, state: str | None) -> None:
        """Come to a state. Steps before the last choice were counted by the run that made it."""
        if self._drawn == len(self._choices):
            self._unrolling.move(self._here, state, self._chance)
        self._here, self._chance = state or "", Fraction(1)


def _execute(at: Hide, step: Callable[[object], Any]) -> object:
    """Run a program, handing every step to `step`; what it returns."""
    steps = 0

    def counted(asked: object) -> Any:
        nonlocal steps
        steps += 1
        if steps > _MOST_STEPS:
            raise ModelError(
                _called(at),
                expected=f"at most {_MOST_STEPS} steps; a loop without end is a function that hides into itself",
                found="more",
            )
        return step(asked)

    if not inspect.isgeneratorfunction(at.function):
        return at.function(Run(counted), *at.arguments)
    generator = at.function(*at.arguments)
    try:
        answer = None
        while True:
            answer = counted(generator.send(answer))
    except StopIteration as done:
        return done.value
    finally:
        generator.close()


def _called(at: Hide) -> str:
    """A function and its arguments, as the program spells them: `report(bits=(0, 1), k=1)`."""
    name = getattr(at.function, "__name__", type(at.function).__name__)
    if len(at.arguments) == 1:
        return f"{name}({_text(at.arguments[0])})"
    try:
        names = list(inspect.signature(at.function).parameters)
    except (TypeError, ValueError):
        names = []
    names = names if inspect.isgeneratorfunction(at.function) else names[1:]
    if len(names) != len(at.arguments):
        return f"{name}({', '.join(map(_text, at.arguments))})"
    return f"{name}({', '.join(f'{each}={_text(value)}' for each, value in zip(names, at.arguments, strict=True))})"


def _text(value: object) -> str:
    """Text as it is, everything else as Python prints it."""
    return value if isinstance(value, str) else repr(value)
