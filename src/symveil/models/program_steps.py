"""The steps of a program that is unrolled: what it asks for, and when two steps are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from symveil.errors import ModelError, ParameterError
from symveil.models.markov_chain import read_probability
from symveil.models.names import shown


@dataclass(frozen=True, slots=True)
class Draw:
    """A random value: what it may be, and how likely."""

    law: tuple[tuple[Any, Fraction], ...]
    name: str

    def described(self, value: object) -> str:
        """The value that was drawn, as it stands in the name of a state."""
        return f"{self.name}={step_text(value)}" if self.name else f"draw {step_text(value)}"


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
    """A hidden random value.

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
        if values:
            alike = Fraction(1, len(values))
            return Draw(tuple([(value, alike) for value in values]), name)
        read = ()
    if any(chance < 0 for _, chance in read) or sum(chance for _, chance in read) != 1:
        total = sum((chance for _, chance in read), start=Fraction(0))
        raise ModelError(
            "draw", expected="probabilities of 0 or more that sum to 1", found=f"a sum of {shown(str(total))}"
        )
    return Draw(tuple((value, chance) for value, chance in read if chance), name)


def emit(value: object) -> Emit:
    """A value that the attacker sees.

    Parameters
    ----------
    value
        What is seen: text as it is, anything else as Python prints it.

    >>> emit((0, 1))
    Emit(value=(0, 1))
    """
    return Emit(value)


def hide(program: Callable[..., Any], *arguments: Any) -> Hide:
    """Continue with another program, of which only the arguments are known; nothing is shown.

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
    ...         return hide(report, seen)
    ...     yield hide(coins, (seen + 1) % 2)
    >>> def report(seen):
    ...     yield emit(seen)
    >>> from symveil.models.program import unroll
    >>> chain = unroll(coins, [0, 1])
    >>> [(target, str(chance)) for source, target, chance in chain.transitions if source == "coins(0)"]
    [('report(0): emit 0', '2/3'), ('report(1): emit 1', '1/3')]
    """
    if not callable(program):
        raise ParameterError("hide", expected="a function and its arguments", found=type(program).__name__)
    return Hide(program, arguments)


def step_text(value: object) -> str:
    """Text as it is, everything else as Python prints it."""
    return value if isinstance(value, str) else repr(value)


def same_step(one: object, other: object) -> bool:
    """Whether a program that is run twice with the same values did the same.

    Functions that are made anew in every run are the same if they have the same code and hold the same values.

    >>> same_step(emit(1), emit(1)), same_step(emit(1), emit(True)), same_step(draw([1, 2]), draw([2, 1]))
    (True, False, False)
    >>> same_step(hide(lambda: 1), hide(lambda: 2))
    False
    """
    if isinstance(one, Draw) and isinstance(other, Draw):
        (values, chances), (others, their) = zip(*one.law, strict=True), zip(*other.law, strict=True)
        return chances == their and _same(values, others)
    if isinstance(one, Emit) and isinstance(other, Emit):
        return type(one.value) is type(other.value) and step_text(one.value) == step_text(other.value)
    if isinstance(one, Hide) and isinstance(other, Hide):
        return _same([one.function, *one.arguments], [other.function, *other.arguments])
    return one is other or _same([one], [other])


_DEEPEST = 5
_PLAIN = {int, bool, str, bytes, Fraction, type(None)}  # compared quickly


def _same(values: Sequence[Any], others: Sequence[Any], depth: int = 0) -> bool:
    """Whether values are the same one by one; a function may hold itself, so what lies too deep is not looked at."""
    if depth > _DEEPEST or (set(map(type, values)) <= _PLAIN and values == others):
        return depth > _DEEPEST or [*map(type, values)] == [*map(type, others)]
    return len(values) == len(others) and all(map(lambda one, other: _alike(one, other, depth), values, others))


def _alike(value: Any, other: Any, depth: int) -> bool:
    if type(value) is not type(other):
        return False
    if value is other:
        return True
    parts = _parts(value)
    if parts is not None:
        return _same(parts, _parts(other) or [], depth + 1)
    try:
        return bool(value == other) or repr(value) == repr(other)
    except (TypeError, ValueError):  # arrays are compared element by element
        return repr(value) == repr(other)


def _parts(value: Any) -> list[Any] | None:
    """What makes up a value that is made anew in every run; None for values that know what they are equal to."""
    parts: list[Any] | None = None
    if isinstance(value, FunctionType):
        held = (cell.cell_contents for cell in value.__closure__ or ())
        parts = [value.__code__, *held, value.__defaults__, value.__kwdefaults__]
    elif isinstance(value, MethodType):
        parts = [value.__func__, value.__self__]
    elif isinstance(value, partial):
        parts = [value.func, value.args, value.keywords]
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif isinstance(value, dict):
        parts = [list(value), list(value.values())]
    elif not _knows_equals(type(value)):
        parts = [getattr(value, "__dict__", None)]
    return parts


def _knows_equals(kind: type) -> bool:
    """Whether values of a type can be equal without being one object."""
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])
