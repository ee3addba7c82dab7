"""What the expressions of a loop compute."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from symveil.languages.loops import arrays
from symveil.languages.loops.emitter import NO_VALUE, Emitter, constant
from symveil.languages.loops.values import (
    BOOL,
    ELEMENT_OF,
    ELEMENTS,
    FLOAT,
    INT,
    REGISTER,
    UINT,
    Array,
    ArrayType,
    NotTranslated,
    Number,
    Several,
    TupleType,
    Type,
    Value,
    unified,
)

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_UNKNOWN = object()
_OF_ONE_FLOAT = {
    np.floor: "llvm.floor.f64", np.ceil: "llvm.ceil.f64", np.sqrt: "llvm.sqrt.f64",
    np.exp: "symveil_exp", np.log: "symveil_log",
}  # fmt: skip
_METHODS: dict[str, Callable[[Emitter, Array], Value]] = {
    "copy": arrays.copy, "max": arrays.largest, "any": arrays.is_any
}  # fmt: skip


class AgainError(Exception):
    """Something is known now that the lines so far had to know: they are written again."""


class Expressions:
    """The expressions of one function. `call` translates a function that is used."""

    def __init__(self, names: dict[str, Any], call: Callable[[Emitter, Any, list[Value]], Value]) -> None:
        self.globals = names
        self.call = call
        self.emit = Emitter()
        self.types: dict[str, Type] = {}  # of the function's own names, as far as they are known
        self.pointers: dict[str, list[str]] = {}
        self.own: frozenset[str] = frozenset()
        self.sure: set[str] = set()  # names that have a value here, whichever way was taken
        self.doubtful: set[str] = set()  # names that are read where they may have none: a flag tells
        self.flags: dict[str, str] = {}
        self.never_negative: frozenset[str] = frozenset()  # as indices they need not be looked at

    # --- names ---

    def read(self, name: str) -> Value:
        """The value of one of the function's own names."""
        if name in self.own and name not in self.sure:
            if name not in self.doubtful:
                self.doubtful.add(name)
                raise AgainError
            has_value = self.emit.new(f"load i1, ptr {self.flags[name]}")
            self.emit.stop_if(self.emit.new(f"xor i1 {has_value}, true"), NO_VALUE)
        kind, pointers = self.types.get(name), self.pointers.get(name)
        if isinstance(kind, TupleType):
            return Several(tuple(self.read(f"{name}.{part}") for part in range(len(kind.parts))))
        if kind is None or pointers is None:
            raise NotTranslated(f"{name} before it has a value")
        if isinstance(kind, str):
            return Number(kind, self.emit.new(f"load {REGISTER[kind]}, ptr {pointers[0]}"))
        data, owner = (self.emit.new(f"load ptr, ptr {pointer}") for pointer in pointers[:2])
        rest = [self.emit.new(f"load i64, ptr {pointer}") for pointer in pointers[2:]]
        shape = tuple(rest[: kind.dimensions])
        strides = self.emit.dense_strides(kind, shape) if kind.is_dense else tuple(rest[kind.dimensions :])
        return Array(kind, data, shape, strides, owner)

    def known(self, node: ast.expr) -> Any:  # noqa: PLR0911 - one kind of expression after the other
        """What an expression is beforehand: a constant, a module, a function; else `_UNKNOWN`."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id not in self.own:
            if node.id in self.globals:
                return self.globals[node.id]
            builtins = self.globals["__builtins__"]
            return (builtins if isinstance(builtins, dict) else vars(builtins)).get(node.id, _UNKNOWN)
        if isinstance(node, ast.Attribute):
            inside = self.known(node.value)
            return getattr(inside, node.attr) if isinstance(inside, types.ModuleType) else _UNKNOWN
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inside = self.known(node.operand)
            return -inside if isinstance(inside, int | float) and not isinstance(inside, bool) else _UNKNOWN
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            base, power = self.known(node.left), self.known(node.right)
            return base**power if isinstance(base, int | float) and isinstance(power, int) else _UNKNOWN
        return _UNKNOWN

    # --- expressions ---

    def value(self, node: ast.expr) -> Value:
        """What an expression computes."""
        known = self.known(node)
        if known is not _UNKNOWN:
            return constant(known.item() if isinstance(known, np.generic) else known)
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise NotTranslated(type(node).__name__)
        return method(node)  # type: ignore[no-any-return]

    def number(self, node: ast.expr) -> Number:
        """As `value`, of what is a number."""
        value = self.value(node)
        if not isinstance(value, Number):
            raise NotTranslated("a number was expected")
        return value

    def array(self, node: ast.expr) -> Array:
        """As `value`, of what is an array."""
        value = self.value(node)
        if not isinstance(value, Array):
            raise NotTranslated("an array was expected")
        return value

    def _name(self, node: ast.Name) -> Value:
        return self.read(node.id)

    def _tuple(self, node: ast.Tuple) -> Value:
        return Several(tuple(self.value(part) for part in node.elts))

    def _attribute(self, node: ast.Attribute) -> Value:
        array = self.array(node.value)
        if node.attr == "shape":
            return Several(tuple(Number(INT, width) for width in array.shape))
        if node.attr == "T":
            is_dense = array.type.is_dense and array.type.dimensions < 2
            kind = ArrayType(array.type.element, array.type.dimensions, is_dense, array.type.is_writable)
            return Array(kind, array.data, array.shape[::-1], array.strides[::-1], array.owner)
        raise NotTranslated(f".{node.attr}")

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base, Several):
            at = self.known(node.slice)
            if not isinstance(at, int):
                raise NotTranslated("an index of a tuple that is not known")
            return base.parts[at]
        element = self.element(node, base)
        return element if element.type.dimensions else arrays.load(self.emit, element)

    def element(self, node: ast.Subscript, base: Value | None = None) -> Array:
        """Where the element or the part of an array is."""
        array = self.value(node.value) if base is None else base
        if not isinstance(array, Array):
            raise NotTranslated("an index of what is no array")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return arrays.view(self.emit, array, [self._index(part) for part in parts])

    def _index(self, node: ast.expr) -> arrays.Index:
        if isinstance(node, ast.Name) and node.id in self.never_negative:
            return self.emit.convert(self.number(node), UINT)
        if not isinstance(node, ast.Slice):
            return self.number(node)
        if node.step is not None:
            if self.known(node.step) != -1 or node.lower or node.upper:
                raise NotTranslated("a slice with a step")
            return arrays.Span(None, None, is_reversed=True)
        begin, end = (None if part is None else self.number(part) for part in (node.lower, node.upper))
        return arrays.Span(begin, end)

    def _binop(self, node: ast.BinOp) -> Value:
        if isinstance(node.op, ast.Pow):
            power = self.known(node.right)
            if type(power) is not int or power != 2:
                raise NotTranslated("a power other than the second")
            base = self.value(node.left)
            return self.emit.operate("*", base, base)
        if type(node.op) not in SIGNS:
            raise NotTranslated(type(node.op).__name__)
        left = self.value(node.left)
        return self.emit.operate(SIGNS[type(node.op)], left, self.value(node.right))

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Number(BOOL, self.emit.new(f"xor i1 {self.condition(node.operand)}, true"))
        value = self.number(node.operand)
        if isinstance(node.op, ast.USub):
            return self.emit.negative(value)
        if isinstance(node.op, ast.Invert) and value.kind in (INT, UINT):
            return Number(value.kind, self.emit.new(f"xor i64 {value.text}, -1"))
        raise NotTranslated(type(node.op).__name__)

    def _compare(self, node: ast.Compare) -> Value:
        left = self.value(node.left)
        if len(node.ops) == 1:
            return self._one_comparison(node.ops[0], left, self.value(node.comparators[0]))
        # a < b < c: c is looked at only if a < b
        emit, after, came = self.emit, self.emit.name("chain"), []
        made = -1
        for operator, other in zip(node.ops[:-1], node.comparators, strict=False):
            right = self.value(other)
            truth = self._one_comparison(operator, left, right).text
            came.append(f"[ false, %{emit.label} ]")
            following = emit.name("also")
            emit.branch(truth, following, after)
            emit.begin(following)
            left = right
            made = len(emit.fresh) if made < 0 else made  # from here on, nothing is sure to be looked at
        truth = self._one_comparison(node.ops[-1], left, self.value(node.comparators[-1])).text
        return Number(BOOL, self._met(after, [*came, f"[ {truth}, %{emit.label} ]"], made))

    def _met(self, after: str, came: list[str], made: int) -> str:
        """The truth value with which each way arrives."""
        if len(self.emit.fresh) > made:
            raise NotTranslated("an array that is made in one case only")
        self.emit.jump(after)
        self.emit.begin(after)
        return self.emit.new(f"phi i1 {', '.join(came)}")

    def _one_comparison(self, operator: ast.cmpop, left: Value, right: Value) -> Number:
        if isinstance(operator, ast.In | ast.NotIn):
            if not isinstance(right, Several):
                raise NotTranslated("`in` of what is no tuple")
            outcome = "false"
            for part in right.parts:
                outcome = self.emit.new(f"or i1 {outcome}, {self.emit.compare('==', left, part).text}")
            return Number(
                BOOL, self.emit.new(f"xor i1 {outcome}, {'true' if isinstance(operator, ast.NotIn) else 'false'}")
            )
        if type(operator) not in SIGNS:
            raise NotTranslated(type(operator).__name__)
        return self.emit.compare(SIGNS[type(operator)], left, right)

    def condition(self, node: ast.expr) -> str:
        """Whether an expression is true."""
        if isinstance(node, ast.BoolOp):
            return self._either(node)
        return self.emit.truth(self.value(node))

    def _boolop(self, node: ast.BoolOp) -> Value:
        return Number(BOOL, self._either(node, only_truths=True))

    def _either(self, node: ast.BoolOp, *, only_truths: bool = False) -> str:
        """`and`, `or`: the next part is looked at only if it matters."""
        emit, goes_on = self.emit, isinstance(node.op, ast.And)
        after = emit.name("either")
        came: list[str] = []
        made = len(emit.fresh)
        for part in node.values[:-1]:
            truth = self._truth_of(part, only_truths)
            came.append(f"[ {'false' if goes_on else 'true'}, %{emit.label} ]")
            following = emit.name("also")
            emit.branch(truth, *((following, after) if goes_on else (after, following)))
            emit.begin(following)
        truth = self._truth_of(node.values[-1], only_truths)
        return self._met(after, [*came, f"[ {truth}, %{emit.label} ]"], made)

    def _truth_of(self, node: ast.expr, only_truths: bool) -> str:
        if only_truths and not isinstance(node, ast.BoolOp):
            value = self.number(node)
            if value.kind != BOOL:
                raise NotTranslated("`and` and `or` of numbers")
            return value.text
        return self.condition(node)

    def _ifexp(self, node: ast.IfExp) -> Value:
        emit = self.emit
        yes, no, after = emit.name("yes"), emit.name("no"), emit.name("chosen")
        emit.branch(self.condition(node.test), yes, no)
        lines: tuple[list[str], list[str]] = ([], [])
        values: list[Number] = []
        for side, label, part in zip(lines, (yes, no), (node.body, node.orelse), strict=True):
            with emit.deferred(side):
                emit.begin(label)
                values.append(self.number(part))
                side.append(f"; {emit.label}")
        kind = unified(values[0].kind, values[1].kind)
        if values[0].is_narrow and values[1].is_narrow:
            raise NotTranslated("one of two floats of 32 bits")
        came = []
        for side, value in zip(lines, values, strict=True):
            label = side.pop()[2:]
            with emit.deferred(side):
                came.append(f"[ {emit.convert(value, str(kind)).text}, %{label} ]")
                emit.jump(after)
            emit.lines += side
        emit.begin(after)
        return Number(str(kind), emit.new(f"phi {REGISTER[str(kind)]} {', '.join(came)}"))

    # --- calls ---

    def _call(self, node: ast.Call) -> Value:
        function = self.known(node.func)
        if function is _UNKNOWN:
            method = _METHODS.get(node.func.attr) if isinstance(node.func, ast.Attribute) else None
            if method and not node.args and not node.keywords:
                return method(self.emit, self.array(node.func.value))  # type: ignore[attr-defined]
            raise NotTranslated(f"a call of {ast.unparse(node.func)}")
        given = {str(word.arg): word.value for word in node.keywords}
        if function in (np.empty, np.zeros, np.ones, np.full):
            return self._new_array(function, node.args, given)
        if given:
            raise NotTranslated("an argument by its name")
        is_alone = len(node.args) == 1
        if (
            function is np.concatenate
            and is_alone
            and isinstance(node.args[0], ast.Tuple)
            and len(node.args[0].elts) == 2
        ):
            return arrays.joined(self.emit, [self.array(part) for part in node.args[0].elts])
        if function is np.array and is_alone and isinstance(node.args[0], ast.List):
            return arrays.listed(self.emit, [self.number(part) for part in node.args[0].elts])
        values = [self.value(part) for part in node.args]
        return self._call_of_values(function, values)

    def _call_of_values(self, function: Any, values: list[Value]) -> Value:  # noqa: PLR0911 - one after the other
        emit, first = self.emit, values[0] if values else Several()
        if function is np.empty_like and isinstance(first, Array) and len(values) == 1:
            return arrays.allocate(emit, first.type.element, [Number(INT, width) for width in first.shape])
        if function is len:
            if not isinstance(first, Array) or len(values) > 1:
                raise NotTranslated("the length of what is no array")
            return Number(INT, first.shape[0])
        if function in (min, max) and len(values) > 1:
            return emit.extreme("<" if function is min else ">", values)
        if function is abs and len(values) == 1:
            return emit.absolute(first)
        if (
            function in (int, float, bool, np.int64, np.float64, np.uint64)
            and isinstance(first, Number)
            and len(values) == 1
        ):
            if function is bool:
                return Number(BOOL, emit.truth(first))
            if function is np.uint64 and first.kind == FLOAT:
                raise NotTranslated("a float as an unsigned integer")
            return emit.convert(first, {int: INT, np.int64: INT, np.uint64: UINT}.get(function, FLOAT))
        if (
            isinstance(function, np.ufunc)
            and function in _OF_ONE_FLOAT
            and isinstance(first, Number)
            and len(values) == 1
        ):
            if first.is_narrow:
                raise NotTranslated("a function of a float of 32 bits")
            number = emit.convert(first, FLOAT)
            return Number(FLOAT, emit.new(f"call double @{_OF_ONE_FLOAT[function]}(double {number.text})"))
        return self.call(emit, function, values)

    def _new_array(self, function: Any, arguments: list[ast.expr], given: dict[str, ast.expr]) -> Value:
        emit, parts = self.emit, list(arguments)
        shape = self.value(parts.pop(0))
        widths = list(shape.parts) if isinstance(shape, Several) else [shape]
        value = self.number(parts.pop(0)) if function is np.full else constant(1.0)
        if value.is_narrow:
            raise NotTranslated("an array filled with a float of 32 bits")
        kind = parts.pop(0) if parts else given.pop("dtype", None)
        if parts or given or not all(isinstance(width, Number) for width in widths):
            raise NotTranslated(f"arguments of {function.__name__}")
        element = self._element(kind) if kind is not None else ELEMENT_OF[value.kind]
        made = arrays.allocate(emit, element, widths, zeros=function is np.zeros)  # type: ignore[arg-type]
        if function in (np.ones, np.full):
            arrays.fill(emit, made, emit.convert(value, ELEMENTS[element][2]))
        return made

    def _element(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            return self.array(node.value).type.element
        known = self.known(node)
        try:
            element = np.dtype(known).str[1:] if np.dtype(known).isnative else ""
        except TypeError:
            element = ""
        if element not in ELEMENTS:
            raise NotTranslated(f"elements of type {ast.unparse(node)}")
        return str(element)
