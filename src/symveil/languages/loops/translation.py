"""The Python of a function, statement by statement.

A name has one type in the whole function. Where a later line widens it (an integer that becomes a float), the lines
so far are thrown away and written again: after a few rounds nothing changes.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from symveil.languages.loops import arrays
from symveil.languages.loops.emitter import NO_RESULT, RUNTIME, Emitter
from symveil.languages.loops.expressions import SIGNS, AgainError, Expressions
from symveil.languages.loops.values import (
    INT,
    NOTHING,
    REGISTER,
    Array,
    ArrayType,
    NotTranslated,
    Number,
    Several,
    TupleType,
    Type,
    Value,
    is_large,
    source_of,
    unified,
    words_of,
)


@dataclass(frozen=True)
class Translated:
    """A function for arguments of certain types."""

    name: str
    returns: Type


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """The names that are read, or set, anywhere in it."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, context)}


class Translation:
    """One function, and with it the small ones it calls, as one text. `unit` translates the large ones it calls."""

    def __init__(self, unit: Callable[[types.FunctionType, tuple[Type, ...]], Translated]) -> None:
        self.unit = unit
        self.texts = [RUNTIME]
        self.declared: set[str] = set()
        self.done: dict[tuple[types.FunctionType, tuple[Type, ...]], Translated | None] = {}

    def text(self, function: types.FunctionType, arguments: tuple[Type, ...], name: str) -> tuple[str, Type]:
        """The whole text, in which the function is called `name`, and what it returns.

        `symveil_entry` is the same function with its arguments in memory, as Python calls it.
        """
        text, returns = Statements(self, function, arguments).text(name, "")
        lines, given = [], ["ptr %out"]
        for number, word in enumerate(word for kind in arguments for word in words_of(kind)):
            pointer = f"%p{number} = getelementptr i64, ptr %in, i64 {number}"
            lines += [pointer, f"%a{number} = load {word}, ptr %p{number}"]
            given.append(f"{word} %a{number}")
        lines += [f"%status = call fastcc i32 @{name}({', '.join(given)})", "ret i32 %status"]
        entry = "\n".join(["define i32 @symveil_entry(ptr %in, ptr %out) {", *lines, "}"])
        return "\n".join([*self.texts, text, entry, ""]), returns

    def _target(self, function: types.FunctionType, arguments: tuple[Type, ...]) -> Translated:
        """A function that is called: its name here."""
        key = (function, arguments)
        if is_large(function):
            result: Translated | None = self.unit(function, arguments)
            words = ", ".join(word for kind in arguments for word in words_of(kind))
            if result is not None and result.name not in self.declared:
                self.declared.add(result.name)
                self.texts.append(f"declare fastcc i32 @{result.name}(ptr{', ' if words else ''}{words})")
        elif key in self.done:
            result = self.done[key]
        else:
            self.done[key] = None
            name = f"{function.__name__}.{len(self.done)}"
            text, returns = Statements(self, function, arguments).text(name, "internal ")
            self.texts.append(text)
            result = self.done[key] = Translated(name, returns)
        if result is None:
            raise NotTranslated("a function that calls itself")
        return result

    def call(self, emit: Emitter, function: Any, values: list[Value]) -> Value:
        """Call another function of ours."""
        plain = getattr(function, "py_func", function)
        if not isinstance(plain, types.FunctionType):
            raise NotTranslated(f"a call of {getattr(function, '__name__', function)}")
        target = self._target(plain, tuple(value.type for value in values))
        out = emit.room(f"[{max(1, len(words_of(target.returns)))} x i64]")
        given = [f"ptr {out}"]
        for value in values:
            own = zip(words_of(value.type), emit.words(value, value.type), strict=True)
            given += [f"{word} {text}" for word, text in own]
        status = emit.new(f"call fastcc i32 @{target.name}({', '.join(given)})")
        stop, go_on = emit.name("stop"), emit.name("on")
        emit.branch(emit.new(f"icmp ne i32 {status}, 0"), stop, go_on)
        emit.begin(stop)
        emit.stop(status)
        emit.begin(go_on)
        result = emit.load_words(target.returns, out)
        for part in result.parts if isinstance(result, Several) else (result,):
            if isinstance(part, Array):
                emit.fresh.append(part.owner)
        return result


class Statements(Expressions):
    """The statements of one function."""

    def __init__(self, translation: Translation, function: types.FunctionType, arguments: tuple[Type, ...]) -> None:
        super().__init__(function.__globals__, translation.call)
        node = source_of(function)
        given = node.args
        if given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or len(given.args) != len(arguments):
            raise NotTranslated("parameters that are not given one by one")
        self.node = node
        self.parameters = {part.arg: kind for part, kind in zip(given.args, arguments, strict=True)}
        stored = (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
        self.own = frozenset((*self.parameters, *stored))
        self.never_negative = self.own - frozenset(self.parameters) - frozenset(self._set_otherwise())
        self.types = dict(self.parameters)
        self.returns: Type | None = None
        self.loops: list[
            tuple[str, str, list[set[str]]]
        ] = []  # where `continue` and `break` lead, and with which names

    def _set_otherwise(self) -> Iterator[str]:
        """The names that are given other values than those of a range of numbers ≥ 0."""
        counted = {
            id(part.target)
            for part in ast.walk(self.node)
            if isinstance(part, ast.For) and isinstance(part.iter, ast.Call) and self._is_counting(part.iter)
        }
        for part in ast.walk(self.node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and id(part) not in counted:
                yield part.id

    def _is_counting(self, call: ast.Call) -> bool:
        if self.known(call.func) is not range:
            return False
        least = call.args[0] if len(call.args) == 2 else call.args[1] if len(call.args) == 3 else None
        if len(call.args) == 3:  # down to 0, or up from a number ≥ 0
            step = self.known(call.args[2])
            if not isinstance(step, int) or step > 0:
                least = call.args[0]
            elif self.known(least) == -1:  # type: ignore[arg-type]
                return True
        known = 0 if least is None else self.known(least)
        return isinstance(known, int) and known >= 0

    def text(self, name: str, seen: str) -> tuple[str, Type]:
        """The function in LLVM's language, and the type of what it returns; `seen` says from where it can be called."""
        while True:
            try:
                return self._text(name, seen)
            except AgainError:
                continue

    def _text(self, name: str, seen: str) -> tuple[str, Type]:
        emit = self.emit = Emitter()
        self.pointers, self.loops, self.sure = {}, [], set()
        self.flags = {own: emit.room("i1", "false") for own in sorted(self.doubtful)}
        emit.entry += ["%status = alloca i32", "store i32 0, ptr %status"]
        header, words = ["ptr noalias %out"], list[str]()
        for kind in self.parameters.values():
            for word in words_of(kind):
                words.append(f"%a{len(words)}")
                header.append(f"{word} {words[-1]}")
        emit.begin("body")
        values = iter(words)
        for parameter, kind in self.parameters.items():
            self.assign(parameter, emit.value(kind, values))
        self._block(self.node.body)
        returns = NOTHING if self.returns is None else self.returns
        if returns != NOTHING:
            emit.line(f"store i32 {NO_RESULT}, ptr %status")
        emit.jump("exit")
        emit.begin("exit")
        for own, kind in self.types.items():
            if isinstance(kind, ArrayType) and own in self.pointers:
                emit.line(f"call void @symveil_release(ptr {emit.new(f'load ptr, ptr {self.pointers[own][1]}')})")
        emit.line(f"ret i32 {emit.new('load i32, ptr %status')}")
        lines = ["entry:", *emit.entry, "br label %body", *emit.lines]
        return f"define {seen}fastcc i32 @{name}({', '.join(header)}) {{\n" + "\n".join(lines) + "\n}", returns

    # --- names ---

    def assign(self, name: str, value: Value) -> None:
        """Give a name a value."""
        emit, before = self.emit, self.types.get(name)
        self.sure.add(name)
        if name in self.flags:
            emit.line(f"store i1 true, ptr {self.flags[name]}")
        if isinstance(value, Several):
            self._assign_tuple(name, value)
            return
        kind = value.type if before is None else unified(before, value.type)
        if before is not None and kind != before:
            self.types[name] = kind
            raise AgainError
        self.types[name] = kind
        pointers = self.pointers.get(name)
        if isinstance(value, Number):
            if value.is_narrow:
                raise NotTranslated("a name for a float of 32 bits")
            if pointers is None:
                pointers = self.pointers[name] = [emit.room(REGISTER[str(kind)])]
            number = emit.convert(value, str(kind))
            emit.line(f"store {REGISTER[str(kind)]} {number.text}, ptr {pointers[0]}")
            return
        if not isinstance(kind, ArrayType):
            raise NotTranslated("a name with values of several kinds")
        words = words_of(kind)
        if pointers is None:
            pointers = [emit.room(words[0]), emit.room("ptr", "null"), *(emit.room(word) for word in words[2:])]
            self.pointers[name] = pointers
        if value.owner in emit.fresh:
            emit.fresh.remove(value.owner)
        else:
            emit.retain(value.owner)
        earlier = emit.new(f"load ptr, ptr {pointers[1]}")
        for pointer, word, text in zip(pointers, words, emit.words(value, kind), strict=True):
            emit.line(f"store {word} {text}, ptr {pointer}")
        emit.line(f"call void @symveil_release(ptr {earlier})")

    def _assign_tuple(self, name: str, value: Several) -> None:
        """A name for several numbers: a name for each."""
        before = self.types.get(name)
        if before is not None and not (isinstance(before, TupleType) and len(before.parts) == len(value.parts)):
            raise NotTranslated("a name with values of several kinds")
        for number, part in enumerate(value.parts):
            if not isinstance(part, Number):
                raise NotTranslated("a name for a tuple of more than numbers")
            self.assign(f"{name}.{number}", part)
        self.types[name] = TupleType(tuple(self.types[f"{name}.{number}"] for number in range(len(value.parts))))

    def _set(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.assign(target.id, value)
        elif isinstance(target, ast.Subscript):
            element = self.element(target)
            if element.type.dimensions:
                arrays.fill(self.emit, element, value)
            else:
                arrays.store(self.emit, element, value)
        elif isinstance(target, ast.Tuple) and isinstance(value, Several) and len(target.elts) == len(value.parts):
            for own in value.parts:  # all are kept before the first name changes: `one, two = two, one`
                if isinstance(own, Array) and own.owner not in self.emit.fresh:
                    self.emit.retain(own.owner)
                    self.emit.fresh.append(own.owner)
            for part, own in zip(target.elts, value.parts, strict=True):
                self._set(part, own)
        else:
            raise NotTranslated("an assignment to " + ast.unparse(target))

    # --- statements ---

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            method = getattr(self, "_do_" + type(statement).__name__.lower(), None)
            if method is None:
                raise NotTranslated(type(statement).__name__)
            method(statement)
            self.emit.let_go()

    def _do_pass(self, _: ast.Pass) -> None:
        """Nothing."""

    def _do_expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):  # a docstring
            self.value(statement.value)

    def _do_assign(self, statement: ast.Assign) -> None:
        self._refuse_overlap(statement)
        value = self.value(statement.value)
        if len(statement.targets) > 1 and not isinstance(value, Number):
            raise NotTranslated("several names for one array at once")
        for target in statement.targets:
            self._set(target, value)

    def _refuse_overlap(self, statement: ast.Assign) -> None:
        """A part of an array set to another part of it: the order would matter."""
        target = statement.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            value = statement.value
            while isinstance(value, ast.Subscript):
                value = value.value
            if isinstance(value, ast.Name) and value.id == target.value.id and self._is_part(target):
                raise NotTranslated("a part of an array set to another part of it")

    def _is_part(self, target: ast.Subscript) -> bool:
        return any(isinstance(part, ast.Slice) for part in ast.walk(target.slice))

    def _do_annassign(self, statement: ast.AnnAssign) -> None:
        if statement.value is None:
            raise NotTranslated("a name without a value")
        self._set(statement.target, self.value(statement.value))

    def _do_augassign(self, statement: ast.AugAssign) -> None:
        sign, target = SIGNS.get(type(statement.op)), statement.target
        if sign is None:
            raise NotTranslated(type(statement.op).__name__)
        if isinstance(target, ast.Name):
            self.assign(target.id, self.emit.operate(sign, self.read(target.id), self.value(statement.value)))
            return
        if not isinstance(target, ast.Subscript):
            raise NotTranslated("an assignment to " + ast.unparse(target))
        element = self.element(target)
        if element.type.dimensions:
            raise NotTranslated("an operation on whole arrays")
        before = arrays.load(self.emit, element)
        arrays.store(self.emit, element, self.emit.operate(sign, before, self.value(statement.value)))

    def _do_if(self, statement: ast.If) -> None:
        emit = self.emit
        yes, no, after = emit.name("yes"), emit.name("no"), emit.name("after")
        truth = self.condition(statement.test)
        emit.let_go()
        emit.branch(truth, yes, no if statement.orelse else after)
        emit.begin(yes)
        before = set(self.sure)
        self._block(statement.body)
        emit.jump(after)
        sure, self.sure = self.sure, before
        if statement.orelse:
            emit.begin(no)
            self._block(statement.orelse)
            emit.jump(after)
        self.sure &= sure
        emit.begin(after)

    def _do_while(self, statement: ast.While) -> None:
        emit = self.emit
        if statement.orelse:
            raise NotTranslated("else of a loop")
        again, inside, after = emit.name("again"), emit.name("inside"), emit.name("after")
        emit.jump(again)
        emit.begin(again)
        truth = self.condition(statement.test)
        emit.let_go()
        emit.branch(truth, inside, after)
        emit.begin(inside)
        left = self._loop(statement.body, again, after)
        if self.known(statement.test) is True:  # only `break` leads out
            self.sure = set(self.own).intersection(*left)
        emit.jump(again)
        emit.begin(after)

    def _loop(self, body: list[ast.stmt], again: str, after: str) -> list[set[str]]:
        """The body of a loop; the names that have a value at each `break`. Afterwards those of before are sure."""
        before = set(self.sure)
        self.loops.append((again, after, []))
        self._block(body)
        self.sure = before
        return self.loops.pop()[2]

    def _do_for(self, statement: ast.For) -> None:
        if statement.orelse:
            raise NotTranslated("else of a loop")
        is_counting = isinstance(statement.iter, ast.Call) and self.known(statement.iter.func) is range
        if isinstance(statement.iter, ast.Tuple):
            values = [self.value(part) for part in statement.iter.elts]
            if any(isinstance(part, Array) for value in values for part in getattr(value, "parts", (value,))):
                self._refuse_changes(statement)
            self._for_tuple(statement, values)
        elif isinstance(statement.iter, ast.Call) and is_counting:
            parts = statement.iter.args
            step = self.known(parts[2]) if len(parts) == 3 else 1
            if type(step) is not int or not 0 < abs(step) < 2**63 or statement.iter.keywords:
                raise NotTranslated("a step that is not known")
            begin, end = (Number(INT, "0"), self.number(parts[0])) if len(parts) == 1 else map(self.number, parts[:2])
            if begin.kind != INT or end.kind != INT:
                raise NotTranslated("a range of what are no signed integers")
            self._for_range(statement, begin, end, step, None)
        else:
            self._refuse_changes(statement)
            array = self.array(statement.iter)
            if array.owner in self.emit.fresh or array.type.dimensions != 1:
                raise NotTranslated("a loop over an array that nobody keeps")
            self._for_range(statement, Number(INT, "0"), Number(INT, array.shape[0]), 1, array)

    def _refuse_changes(self, statement: ast.For) -> None:
        """Nothing would hold the array that the loop began with."""
        if _names(statement.iter, ast.Load) & _names(statement, ast.Store):
            raise NotTranslated("a loop over an array whose name changes meanwhile")

    def _for_tuple(self, statement: ast.For, values: list[Value]) -> None:
        after = self.emit.name("after")
        if self.emit.fresh:
            raise NotTranslated("a loop over arrays that nobody keeps")
        for value in values:
            following = self.emit.name("next")
            self._set(statement.target, value)
            self._loop(statement.body, following, after)
            self.emit.jump(following)
            self.emit.begin(following)
        self.emit.jump(after)
        self.emit.begin(after)

    def _for_range(self, statement: ast.For, begin: Number, end: Number, step: int, array: Array | None) -> None:
        emit = self.emit
        at = emit.room("i64")
        check, inside, again, after = (emit.name(part) for part in ("check", "inside", "again", "after"))
        emit.line(f"store i64 {begin.text}, ptr {at}")
        emit.let_go()
        emit.jump(check)
        emit.begin(check)
        index = emit.new(f"load i64, ptr {at}")
        emit.branch(emit.new(f"icmp {'slt' if step > 0 else 'sgt'} i64 {index}, {end.text}"), inside, after)
        emit.begin(inside)
        sure = set(self.sure)
        own = Number(INT, index)
        self._set(statement.target, own if array is None else arrays.load(emit, arrays.view(emit, array, [own])))
        self._loop(statement.body, again, after)
        self.sure = sure
        emit.jump(again)
        emit.begin(again)
        if abs(step) > 1:  # the next number may lie beyond 64 bits
            rest = emit.new(f"sub i64 {end.text}, {index}" if step > 0 else f"sub i64 {index}, {end.text}")
            onward = emit.name("onward")
            emit.branch(emit.new(f"icmp ugt i64 {rest}, {abs(step)}"), onward, after)
            emit.begin(onward)
        emit.line(f"store i64 {emit.new(f'add nsw i64 {index}, {step}')}, ptr {at}")
        emit.jump(check)
        emit.begin(after)

    def _unreached(self) -> None:
        """Lines after a jump are not reached, but need a label."""
        self.emit.begin(self.emit.name("unreached"))
        self.sure = set(self.own)

    def _do_break(self, _: ast.Break) -> None:
        self.loops[-1][2].append(set(self.sure))
        self.emit.jump(self.loops[-1][1])
        self._unreached()

    def _do_continue(self, _: ast.Continue) -> None:
        self.emit.jump(self.loops[-1][0])
        self._unreached()

    def _do_return(self, statement: ast.Return) -> None:
        emit = self.emit
        if isinstance(statement.value, ast.Tuple) and not statement.value.elts:
            raise NotTranslated("a tuple of nothing")
        value = Several() if statement.value is None else self.value(statement.value)
        kind = value.type if self.returns is None else unified(self.returns, value.type)
        if self.returns is not None and kind != self.returns:
            self.returns = kind
            raise AgainError
        self.returns = kind
        for part in value.parts if isinstance(value, Several) else (value,):
            if isinstance(part, Array):
                if not part.type.is_dense:
                    raise NotTranslated("an array with gaps that is returned")
                emit.retain(part.owner)  # the caller's
            elif isinstance(part, Several):
                raise NotTranslated("a tuple within a tuple")
        emit.store_words(value, kind, "%out")
        emit.let_go()
        emit.jump("exit")
        self._unreached()
