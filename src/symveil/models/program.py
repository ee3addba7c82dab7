"""A mechanism as a Python program, unrolled into the labelled chain of what it shows.

A program is a generator that yields `draw(law)` for a hidden random value, `emit(value)` for what is shown,
and `hide(function, …)` to go on with another such program, of which only the arguments are kept. Plain functions do the
same with a first parameter on which they call `draw`, `emit` and `hide`. Nothing of the source is read: the program is
run again for every sequence of values that may be drawn. Everything in between (branches, loops, arithmetic) is Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from symveil.errors import ModelError, ParameterError, TooLargeError
from symveil.models.channel import Related, related_pairs
from symveil.models.labelled_chain import END_LABEL, START_LABEL, LabelledChain
from symveil.models.limits import LIMITS
from symveil.models.names import shown, unlike
from symveil.models.program_steps import Draw, Emit, Hide, draw, emit, hide, same_step, step_text
from symveil.models.silent import without_silent
from symveil.randomness.bits import shared_generators

_TAIL = (
    "write a loop that draws until something happens as a function that hides into itself, `yield hide({name}, …)`: "
    "its geometric tail is then a loop of the chain"
)
_REPEATED, _REPETITIONS = 100, 64  # so many runs are repeated so often, the others once
_WATCHED = 1000  # in so many runs nothing may be drawn from the generators that all of Python shares
_UNSEEN = "(unseen)"


class Run:
    """What a plain function calls `draw`, `emit` and `hide` on."""

    def __init__(self, step: Callable[[object], Any]) -> None:
        self._step = step

    def draw(self, chances: Mapping[Any, Any] | Sequence[Any], *, name: str = "") -> Any:
        """A hidden random value."""
        return self._step(draw(chances, name=name))

    def emit(self, value: object) -> None:
        """A value that the attacker sees."""
        self._step(emit(value))

    def hide(self, program: Callable[..., Any], *arguments: Any) -> None:
        """Continue with another program; nothing is shown, and what follows here is not run."""
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
        results = dict(zip(starts, values, strict=True))
        return list(related_pairs(starts, lambda one, other: related(results[one], results[other])))
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


class _Differs(BaseException):
    """Raised in a program that does something else when it is run again."""


_LEFT = object()  # the answer to a step after which a run was left, and what such a run returns


class _Unrolling:
    """States and transitions as they are found."""

    def __init__(self) -> None:
        self.waiting: list[tuple[str, Hide]] = []
        self._state_of: dict[object, str] = {}
        self._labels: dict[str, str | None] = {}  # None: nothing is seen
        self._starts: list[str] = []
        self._values: dict[str, object] = {}  # of labels
        self._chances: dict[tuple[str, str | None], Fraction] = {}  # to None: the end
        self._run_count = 0

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

    @property
    def is_watched(self) -> bool:
        """Whether the next run is one of the first."""
        return self._run_count < _WATCHED

    def repetitions(self) -> int:
        """How often the next run is repeated. Many times at first, for programs of few runs that hardly ever vary."""
        self._run_count += 1
        return _REPETITIONS if self._run_count <= _REPEATED else 1

    def move(self, source: str, target: str | None, chance: Fraction) -> None:
        """One more way from a state to another, or to the end."""
        self._chances[source, target] = self._chances.get((source, target), Fraction(0)) + chance

    def emission(self, name: str, value: object) -> str:
        """A new state that shows a value."""
        label = step_text(value)
        before = self._values.setdefault(label, value)
        try:
            differs = type(before) is not type(value) or bool(before != value)
        except ValueError:  # arrays are compared element by element; these look alike
            differs = False
        if differs:
            raise ModelError("emit", expected="different values that look different", found=f"two of {shown(label)}")
        return self._new(name, label)

    def _new(self, name: str, label: str | None) -> str:
        if len(self._labels) >= LIMITS.now.states:
            raise TooLargeError(
                f"program: expected at most {LIMITS.now.states} states, found more; hide into functions whose "
                "arguments are all that matters, so that runs meet again"
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
        self._emitted: dict[tuple[tuple[int, ...], int], tuple[str, Emit]] = {}
        self._step_count = 0

    def follow(self, choices: tuple[int, ...]) -> None:
        """One run that draws these values first; what comes after the last of them is new."""
        self._choices, self._drawn, self._shown = choices, 0, 0
        self._here, self._chance = self._begin, Fraction(1)
        self._texts: list[str] = []
        trace: list[tuple[object, Any]] = []  # what it asks for, and what it gets

        def recorded(request: object) -> Any:
            trace.append((request, _LEFT))
            trace[-1] = (request, self._step(request))
            return trace[-1][1]

        before = shared_generators() if self._unrolling.is_watched else None
        try:
            rest = self._execute(recorded)
        except _Enough:
            rest = _LEFT
        if before is not None and before != shared_generators():
            self._watch(trace, rest)
        for _ in range(self._unrolling.repetitions()):
            self._repeat(trace, rest)
        if rest is None:
            self._reach(None)
        elif isinstance(rest, Hide):
            self._reach(self._unrolling.anchor(rest))
        elif rest is not _LEFT:
            raise ModelError(_called(self._at), expected="hide(…) or nothing as what is returned", found=shown(rest))

    def _repeat(self, trace: list[tuple[object, Any]], rest: object) -> None:
        """The same run once more: it must ask for the same things and come to the same end."""
        steps = iter(trace)

        def compared(request: object) -> Any:
            before, answer = next(steps, (_LEFT, _LEFT))
            if not same_step(request, before):
                raise _Differs
            if answer is _LEFT:
                raise _Enough
            return answer

        try:
            again = self._execute(compared)
        except _Enough:
            again = _LEFT
        except _Differs:
            again = _Differs
        if next(steps, None) is not None or not same_step(again, rest):
            raise self._varies()

    def _varies(self) -> ModelError:
        return ModelError(
            _called(self._at),
            expected="the same steps whenever the same values are drawn (all chance comes from draw(…), and no state "
            "is kept from run to run)",
            found="others the second time",
        )

    def _watch(self, trace: list[tuple[object, Any]], rest: object) -> None:
        """Refuse a run that draws from a generator of its own every time: another thread may do so now and then."""
        for _ in range(_REPETITIONS):
            before = shared_generators()
            self._repeat(trace, rest)
            if before == shared_generators():
                return
        raise self._varies()

    def _execute(self, step: Callable[[object], Any]) -> object:
        """Run the function, handing every step to `step`; what it returns."""
        steps = draws = 0

        def counted(request: object) -> Any:
            nonlocal steps, draws
            steps += 1
            values = len(request.law) if isinstance(request, Draw) else 1
            draws += values > 1
            self._step_count += values
            if steps > LIMITS.now.steps:
                raise self._endless(f"at most {LIMITS.now.steps} steps", "more")
            if draws > LIMITS.now.draws:
                raise self._endless(f"at most {LIMITS.now.draws} draws in one run", f"more after {steps} steps")
            if self._step_count > LIMITS.now.all_steps:
                raise self._endless(
                    f"at most {LIMITS.now.all_steps} steps in all its runs", f"more after {draws} draws"
                )
            return step(request)

        return _execute(self._at, counted)

    def _endless(self, expected: str, found: str) -> ModelError:
        tail = _TAIL.format(name=_name(self._at.function))
        return ModelError(_called(self._at), expected=f"{expected}; {tail}", found=found)

    def _step(self, request: object) -> Any:
        """What the program gets for what it asked."""
        if isinstance(request, Draw):
            return self._draw(request)
        if isinstance(request, Emit):
            self._texts.append(f"emit {step_text(request.value)}")
            key = (self._choices[: self._drawn], self._shown)
            self._shown += 1
            if key not in self._emitted:
                name = f"{self._begin}: {', '.join(self._texts)}"
                self._emitted[key] = self._unrolling.emission(name, request.value), request
            state, before = self._emitted[key]
            if not same_step(before, request):
                raise self._varies()
            self._reach(state)
            return None
        if isinstance(request, Hide):
            self._reach(self._unrolling.anchor(request))
            raise _Enough
        raise ModelError(_called(self._at), expected="draw(…), emit(…) or hide(…)", found=shown(request))

    def _draw(self, request: Draw) -> Any:
        if not same_step(self._laws.setdefault(self._choices[: self._drawn], request), request):
            raise self._varies()
        if self._drawn == len(self._choices):
            self.pending.extend((*self._choices, index) for index in reversed(range(len(request.law))))
            raise _Enough
        value, probability = request.law[self._choices[self._drawn]]
        self._drawn += 1
        self._chance *= probability
        self._texts.append(request.described(value))
        return value

    def _reach(self, state: str | None) -> None:
        """Come to a state. Steps before the last choice were counted by the run that made it."""
        if self._drawn == len(self._choices):
            self._unrolling.move(self._here, state, self._chance)
        self._here, self._chance = state or "", Fraction(1)


def _execute(at: Hide, step: Callable[[object], Any]) -> object:
    """Run a program, handing every step to `step`; what it returns."""
    if not inspect.isgeneratorfunction(at.function):
        return at.function(Run(step), *at.arguments)
    generator = at.function(*at.arguments)
    try:
        answer = None
        while True:
            answer = step(generator.send(answer))
    except StopIteration as done:
        return done.value
    finally:
        generator.close()


def _called(at: Hide) -> str:
    """A function and its arguments, as the program spells them: `report(bits=(0, 1), k=1)`."""
    name = _name(at.function)
    if len(at.arguments) == 1:
        return f"{name}({step_text(at.arguments[0])})"
    try:
        names = list(inspect.signature(at.function).parameters)
    except (TypeError, ValueError):
        names = []
    names = names if inspect.isgeneratorfunction(at.function) else names[1:]
    if len(names) != len(at.arguments):
        return f"{name}({', '.join(map(step_text, at.arguments))})"
    return f"{name}({', '.join(f'{each}={step_text(value)}' for each, value in zip(names, at.arguments, strict=True))})"


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))
