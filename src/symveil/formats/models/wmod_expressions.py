"""Constants, ranges and foreach in modules of Supremica and Waters: values of expressions, within bounds.

An expression is an integer, a member of an enumeration, a range (`1 .. N`, or an enumeration) or a truth value.
All work that a foreach or an index repeats is counted, so that a short file cannot ask for a large model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from symveil.errors import FileError

MOST_STEPS = 1_000_000

_LONGEST_NAME = 200
_LARGEST_INTEGER = 2**31 - 1
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_WRAPPERS = {"ComponentList", "EdgeList", "EventList", "LabelBlock"}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
    "%": lambda left, right: left % right,
}
_ORDER: dict[str, Callable[[int, int], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}

Index: TypeAlias = int | str
Value: TypeAlias = int | str | range | tuple[str, ...]  # a truth value is a bool, which is an int


@dataclass(slots=True)
class Element:
    """An element of the file, with the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)


class Expressions:
    """Evaluates expressions of one module, and counts the steps of everything that is expanded."""

    def __init__(self, path: Path) -> None:
        self._path, self._steps = path, 0
        self._constants: dict[str, Value] = {}
        self._members: set[str] = set()

    def bad(self, element: Element, expected: str, found: str) -> FileError:
        """The error of an element, at its line."""
        return FileError(f"{self._path}: line {element.line}", expected=expected, found=found)

    def step(self, element: Element, steps: int = 1) -> None:
        """Counts work that was expanded, before it is done."""
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise self.bad(element, f"foreach, ranges and indices that expand in at most {MOST_STEPS} steps", "more")

    def parts(self, element: Element, variables: Mapping[str, Index]) -> list[Element]:
        """The children that mean something: neither comments nor where something is drawn. They count in a foreach."""
        if variables:
            self.step(element, len(element.children))
        return [each for each in element.children if each.tag != "Comment" and not each.tag.endswith("Geometry")]

    def define(self, alias: Element) -> None:
        """A constant of the module; its expression may have those before it."""
        name = alias.attributes.get("Name", "")
        if not name or name in self._constants or name in self._members:
            raise self.bad(alias, "a Name of its own for each ConstantAlias", repr(name[:40]))
        inside = self.parts(alias, {})
        if len(inside) == 1 and inside[0].tag == "ConstantAliasExpression":
            inside = self.parts(inside[0], {})
        self._constants[name] = self._value(self._only(inside, alias), {})

    def range_of(self, expression: Element, variables: Mapping[str, Index]) -> range | tuple[str, ...]:
        """The values of a range or an enumeration, in its order."""
        value = self._value(expression, variables)
        if isinstance(value, range | tuple):
            return value
        raise self.bad(expression, "a range, such as 1 .. 3 or an enumeration", _kind(value))

    def indexed(self, identifier: Element, variables: Mapping[str, Index]) -> str:
        """The name of an IndexedIdentifier, with the values of its indices: `take[1][left]`."""
        name, indices = identifier.attributes.get("Name", ""), self.parts(identifier, variables)
        if not name or not indices:
            raise self.bad(identifier, "a Name and at least one index in an IndexedIdentifier", "less")
        for expression in indices:
            value = self._value(expression, variables)
            if isinstance(value, bool | range | tuple):
                raise self.bad(expression, "an integer or a member of an enumeration as an index", _kind(value))
            name = self.with_index(identifier, name, value)
        return name

    def with_index(self, element: Element, name: str, value: Index) -> str:
        """A name with one index more."""
        name = f"{name}[{value}]"
        if len(name) > _LONGEST_NAME:
            raise self.bad(element, f"a name with its indices of at most {_LONGEST_NAME} characters", "a longer one")
        return name

    def instances(
        self, foreach: Element, variables: Mapping[str, Index]
    ) -> Iterator[tuple[dict[str, Index], list[Element]]]:
        """What a foreach repeats, for each value of its variable for which its guard is true."""
        name, inside = foreach.attributes.get("Name", ""), self.parts(foreach, variables)
        if not inside:
            raise self.bad(foreach, f"a range in a {foreach.tag}", "none")
        values = self.range_of(inside[0], variables)
        if not name or name in variables or name in self._constants or name in self._members:
            raise self.bad(foreach, f"a variable with a name of its own in a {foreach.tag}", repr(name[:40]))
        guard, body = None, inside[1:]
        if body and body[0].tag == "Guard":
            guard, body = self._only(self.parts(body[0], variables), body[0]), body[1:]
        if len(body) == 1 and body[0].tag in _WRAPPERS:
            body = self.parts(body[0], variables)
        for value in values:
            self.step(foreach, 1 + len(body))
            inner = {**variables, name: value}
            if guard is None or self._truth(guard, inner):
                yield inner, body

    def _only(self, elements: list[Element], parent: Element) -> Element:
        if len(elements) != 1:
            raise self.bad(parent, f"one expression in a {parent.tag}", f"{len(elements)}")
        return elements[0]

    def _value(self, expression: Element, variables: Mapping[str, Index]) -> Value:
        # the depth is that of the elements of the file, which is bounded where they are read
        self.step(expression)
        if expression.tag == "IntConstant":
            text = expression.attributes.get("Value", "")
            if not _INTEGER.fullmatch(text):
                raise self.bad(expression, "an integer in an IntConstant", repr(text[:40]))
            return self._integer(expression, int(text))
        if expression.tag == "SimpleIdentifier":
            return self._named(expression, variables)
        if expression.tag == "EnumSetExpression":
            return self._enumeration(expression)
        operator = expression.attributes.get("Operator", "")
        if expression.tag == "UnaryExpression" and operator in ("-", "!"):
            operand = self._only(self.parts(expression, variables), expression)
            if operator == "!":
                return not self._truth(operand, variables)
            return self._integer(expression, -self._number(operand, variables))
        if expression.tag == "BinaryExpression":
            return self._binary(expression, operator, variables)
        actual = f"a {expression.tag[:40]}" + (f" with the operator {operator[:10]!r}" if operator else "")
        raise self.bad(expression, "an expression of constants, variables of foreach and + - * / % .. == < & |", actual)

    def _binary(self, expression: Element, operator: str, variables: Mapping[str, Index]) -> Value:
        operands = self.parts(expression, variables)
        if len(operands) != 2:
            raise self.bad(expression, "two operands in a BinaryExpression", f"{len(operands)}")
        if operator in ("&", "|"):
            left_true, right_true = (self._truth(operand, variables) for operand in operands)
            return left_true and right_true if operator == "&" else left_true or right_true
        if operator in ("==", "!="):
            one, other = (self._value(operand, variables) for operand in operands)
            if type(one) is not type(other) or isinstance(one, range | tuple):
                raise self.bad(expression, f"two values of one kind beside {operator}", f"{_kind(one)}, {_kind(other)}")
            return (one == other) == (operator == "==")
        if operator not in _ARITHMETIC and operator not in _ORDER and operator != "..":
            raise self.bad(expression, "one of the operators + - * / % .. == != < <= > >= & |", repr(operator[:10]))
        left, right = (self._number(operand, variables) for operand in operands)
        if operator == "..":
            return range(left, right + 1)
        if operator in _ORDER:
            return _ORDER[operator](left, right)
        if operator in "/%" and (left < 0 or right < 1):
            raise self.bad(expression, f"a {operator} of an integer from 0 by one from 1", f"{left} by {right}")
        return self._integer(expression, _ARITHMETIC[operator](left, right))

    def _named(self, identifier: Element, variables: Mapping[str, Index]) -> Value:
        name = identifier.attributes.get("Name", "")
        if name in variables:
            return variables[name]
        if name in self._constants:
            return self._constants[name]
        if name in self._members:
            return name
        expected = "a constant, a variable of a foreach or a member of an enumeration that was declared before"
        raise self.bad(identifier, expected, repr(name[:40]))

    def _enumeration(self, expression: Element) -> tuple[str, ...]:
        names: dict[str, None] = {}
        self.step(expression, len(expression.children))
        for member in self.parts(expression, {}):
            name = member.attributes.get("Name", "")
            if member.tag != "SimpleIdentifier" or not name or name in names or name in self._constants:
                raise self.bad(member, "an enumeration of different names, each a SimpleIdentifier", repr(name[:40]))
            names[name] = None
        self._members.update(names)
        return tuple(names)

    def _number(self, expression: Element, variables: Mapping[str, Index]) -> int:
        value = self._value(expression, variables)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.bad(expression, "an integer", _kind(value))

    def _truth(self, expression: Element, variables: Mapping[str, Index]) -> bool:
        value = self._value(expression, variables)
        if isinstance(value, bool):
            return value
        raise self.bad(expression, "a comparison, which is true or false", _kind(value))

    def _integer(self, expression: Element, value: int) -> int:
        if abs(value) > _LARGEST_INTEGER:
            raise self.bad(expression, f"integers up to {_LARGEST_INTEGER}", "a larger one")
        return value


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int):
        return "an integer"
    return "a member of an enumeration" if isinstance(value, str) else "a range"
