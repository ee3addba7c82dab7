"""Arrays: elements, views, new ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symveil.languages.loops.emitter import EMPTY, NEGATIVE_SIZE, NO_MEMORY, SHAPES_DIFFER, Emitter
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
    Value,
)


@dataclass(frozen=True)
class Span:
    """A slice: from here to there, where they are given; or everything, backwards."""

    begin: Number | None
    end: Number | None
    is_reversed: bool = False


Index = Number | Span

_HEAD = 16  # bytes of a block before its elements


def _from_the_end(emit: Emitter, index: Number, width: str) -> str:
    """An index; a negative one counts from the end."""
    if index.kind == UINT or (index.kind == INT and index.text.isdigit()):
        return index.text
    if index.kind != INT:
        raise NotTranslated(f"an index of kind {index.kind}")
    negative = emit.new(f"icmp slt i64 {index.text}, 0")
    return emit.new(f"select i1 {negative}, i64 {emit.new(f'add i64 {index.text}, {width}')}, i64 {index.text}")


def _clamped(emit: Emitter, bound: Number, width: str) -> str:
    """An end of a slice, within the array."""
    at = _from_the_end(emit, bound, width)
    at = emit.extreme(">", [Number(INT, "0"), Number(INT, at)]).text
    return emit.extreme("<", [Number(INT, width), Number(INT, at)]).text


def view(emit: Emitter, array: Array, indices: list[Index]) -> Array:
    """What the indices leave of an array; a single element is an array without dimensions."""
    if len(indices) > array.type.dimensions:
        raise NotTranslated("more indices than dimensions")
    offset: list[tuple[str, str]] = []
    shape: list[str] = []
    strides: list[str] = []
    is_dense = array.type.is_dense
    for axis, index in enumerate(indices):
        width, stride = array.shape[axis], array.strides[axis]
        if isinstance(index, Number):
            offset.append((_from_the_end(emit, index, width), stride))
            is_dense = is_dense and not shape  # a number behind a slice leaves gaps
            continue
        if index.is_reversed:
            offset.append((emit.new(f"sub i64 {width}, 1"), stride))
            shape.append(width)
            strides.append(emit.new(f"sub i64 0, {stride}"))
            is_dense = False
            continue
        begin = _clamped(emit, index.begin, width) if index.begin else "0"
        end = _clamped(emit, index.end, width) if index.end else width
        if begin != "0":
            offset.append((begin, stride))
        length = end
        if index.begin:
            much = emit.new(f"sub i64 {end}, {begin}")
            length = emit.extreme(">", [Number(INT, "0"), Number(INT, much)]).text
        is_dense = is_dense and (not shape or length == width)
        shape.append(length)
        strides.append(stride)
    rest = slice(len(indices), None)
    kind = ArrayType(array.type.element, len(shape) + len(array.shape[rest]), is_dense, array.type.is_writable)
    data = array.data
    for at, stride in offset:
        if stride == str(array.type.size):
            data = emit.new(f"getelementptr inbounds {ELEMENTS[array.type.element][0]}, ptr {data}, i64 {at}")
        else:
            data = emit.new(f"getelementptr inbounds i8, ptr {data}, i64 {emit.new(f'mul i64 {at}, {stride}')}")
    return Array(kind, data, (*shape, *array.shape[rest]), (*strides, *array.strides[rest]), array.owner)


def load(emit: Emitter, element: Array) -> Number:
    """An element."""
    memory, _, kind = ELEMENTS[element.type.element]
    value = emit.new(f"load {memory}, ptr {element.data}")
    if kind == BOOL:
        return Number(BOOL, emit.new(f"icmp ne i8 {value}, 0"))
    if memory == "float":
        return Number(FLOAT, emit.new(f"fpext float {value} to double"), is_narrow=True)
    if memory != REGISTER[kind]:
        value = emit.new(f"{'zext' if element.type.element[0] == 'u' else 'sext'} {memory} {value} to i64")
    return Number(kind, value)


def store(emit: Emitter, element: Array, value: Value) -> None:
    """Set an element."""
    if not isinstance(value, Number):
        raise NotTranslated("an array as an element")
    if not element.type.is_writable:
        raise NotTranslated("an array is written that may not be")
    memory, _, kind = ELEMENTS[element.type.element]
    if kind == BOOL != value.kind:
        raise NotTranslated("a number as a truth value")
    number = emit.convert(value, kind).text
    if kind == BOOL:
        number = emit.new(f"zext i1 {number} to i8")
    elif memory == "float":
        number = emit.new(f"fptrunc double {number} to float")
    elif memory != REGISTER[kind]:
        number = emit.new(f"trunc i64 {number} to {memory}")
    emit.line(f"store {memory} {number}, ptr {element.data}")


def for_each(emit: Emitter, shape: tuple[str, ...], body: Callable[[list[Index]], None]) -> None:
    """`body` at every index."""

    def at(before: list[Index]) -> None:
        if len(before) == len(shape):
            body(before)
        else:
            emit.count_up(shape[len(before)], lambda index: at([*before, Number(INT, index)]))

    at([])


def fill(emit: Emitter, array: Array, value: Value) -> None:
    """The same number everywhere, or another array's numbers, or those of a tuple."""
    if isinstance(value, Several):
        if array.type.dimensions != 1:
            raise NotTranslated("a tuple in more than one dimension")
        emit.stop_if(emit.new(f"icmp ne i64 {array.shape[0]}, {len(value.parts)}"), SHAPES_DIFFER)
        for number, part in enumerate(value.parts):
            store(emit, view(emit, array, [Number(INT, str(number))]), part)
        return
    if not isinstance(value, Array):
        for_each(emit, array.shape, lambda index: store(emit, view(emit, array, index), value))
        return
    if array.type.dimensions != value.type.dimensions:
        raise NotTranslated("an array that is spread over more dimensions")
    for mine, theirs in zip(array.shape, value.shape, strict=True):
        emit.stop_if(emit.new(f"icmp ne i64 {mine}, {theirs}"), SHAPES_DIFFER)
    if array.owner in emit.fresh:  # new: it shares nothing with another
        _copy_elements(emit, array, value)
        return
    apart, shared, after = emit.name("apart"), emit.name("shared"), emit.name("filled")
    emit.branch(_overlap(emit, array, value), shared, apart)
    emit.begin(shared)
    marked = len(emit.fresh)
    between = copy(emit, value)
    _copy_elements(emit, array, between)
    emit.line(f"call void @symveil_release(ptr {between.owner})")
    del emit.fresh[marked:]
    emit.jump(after)
    emit.begin(apart)
    _copy_elements(emit, array, value)
    emit.jump(after)
    emit.begin(after)


def _copy_elements(emit: Emitter, array: Array, value: Array) -> None:
    for_each(
        emit,
        array.shape,
        lambda index: store(emit, view(emit, array, index), load(emit, view(emit, value, index))),
    )


def _overlap(emit: Emitter, one: Array, other: Array) -> str:
    """Whether two arrays may have bytes in common; what is true of empty ones does not matter."""

    def ends(array: Array) -> tuple[str, str]:
        low = high = emit.new(f"ptrtoint ptr {array.data} to i64")
        for width, stride in zip(array.shape, array.strides, strict=True):
            reach = Number(INT, emit.new(f"mul i64 {emit.new(f'sub i64 {width}, 1')}, {stride}"))
            low = emit.new(f"add i64 {low}, {emit.extreme('<', [Number(INT, '0'), reach]).text}")
            high = emit.new(f"add i64 {high}, {emit.extreme('>', [Number(INT, '0'), reach]).text}")
        return low, emit.new(f"add i64 {high}, {array.type.size}")

    (low, high), (other_low, other_high) = ends(one), ends(other)
    begins, ends_later = emit.new(f"icmp ult i64 {low}, {other_high}"), emit.new(f"icmp ult i64 {other_low}, {high}")
    return emit.new(f"and i1 {begins}, {ends_later}")


def largest(emit: Emitter, array: Array) -> Number:
    """The largest entry; NaN, if there is one, counts as largest."""
    memory, _, kind = ELEMENTS[array.type.element]
    if kind not in (FLOAT, INT) or memory == "float":
        raise NotTranslated("the largest of other than integers and floats")
    for width in array.shape:
        emit.stop_if(emit.new(f"icmp eq i64 {width}, 0"), EMPTY)
    best = emit.room(REGISTER[kind])
    zero: list[Index] = [Number(INT, "0") for _ in array.shape]
    emit.line(f"store {REGISTER[kind]} {load(emit, view(emit, array, zero)).text}, ptr {best}")

    def look(index: list[Index]) -> None:
        value = load(emit, view(emit, array, index)).text
        before = emit.new(f"load {REGISTER[kind]}, ptr {best}")
        if kind == FLOAT:
            is_more = emit.new(f"fcmp ugt double {value}, {before}")
            is_more = emit.new(f"and i1 {is_more}, {emit.new(f'fcmp ord double {before}, {before}')}")
        else:
            is_more = emit.new(f"icmp sgt i64 {value}, {before}")
        chosen = emit.new(f"select i1 {is_more}, {REGISTER[kind]} {value}, {REGISTER[kind]} {before}")
        emit.line(f"store {REGISTER[kind]} {chosen}, ptr {best}")

    for_each(emit, array.shape, look)
    return Number(kind, emit.new(f"load {REGISTER[kind]}, ptr {best}"))


def is_any(emit: Emitter, array: Array) -> Number:
    """Whether an entry is true."""
    any_true = emit.room("i1")
    emit.line(f"store i1 false, ptr {any_true}")

    def look(index: list[Index]) -> None:
        truth = emit.truth(load(emit, view(emit, array, index)))
        before = emit.new(f"load i1, ptr {any_true}")
        emit.line(f"store i1 {emit.new(f'or i1 {truth}, {before}')}, ptr {any_true}")

    for_each(emit, array.shape, look)
    return Number(BOOL, emit.new(f"load i1, ptr {any_true}"))


def allocate(emit: Emitter, element: str, shape: list[Number], *, zeros: bool = False) -> Array:
    """A new array."""
    size = str(ELEMENTS[element][1])
    total = size
    for width in shape:
        if width.kind != INT:
            raise NotTranslated("a size that is no integer")
        if not width.text.isdigit():
            emit.stop_if(emit.new(f"icmp slt i64 {width.text}, 0"), NEGATIVE_SIZE)
        both = emit.new(f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {total}, i64 {width.text})")
        total = emit.new(f"extractvalue {{i64, i1}} {both}, 0")
        emit.stop_if(emit.new(f"extractvalue {{i64, i1}} {both}, 1"), NO_MEMORY)
    if shape:
        emit.stop_if(emit.new(f"icmp ugt i64 {total}, {2**62}"), NO_MEMORY)
    total = emit.new(f"add i64 {total}, {_HEAD}")
    if zeros:
        block = emit.new(f"call ptr @symveil_allocate_zeros(i64 {total}, i64 1)")
    else:
        block = emit.new(f"call ptr @symveil_allocate(i64 {total})")
    emit.stop_if(emit.new(f"icmp eq ptr {block}, null"), NO_MEMORY)
    emit.line(f"store i64 1, ptr {block}")
    emit.fresh.append(block)
    data = emit.new(f"getelementptr inbounds i8, ptr {block}, i64 {_HEAD}")
    kind = ArrayType(element, len(shape), is_dense=True)
    texts = tuple(width.text for width in shape)
    return Array(kind, data, texts, emit.dense_strides(kind, texts), block)


def copy(emit: Emitter, array: Array) -> Array:
    """The same numbers in a new array."""
    made = allocate(emit, array.type.element, [Number(INT, width) for width in array.shape])
    fill(emit, made, array)
    return made


def joined(emit: Emitter, parts: list[Array]) -> Array:
    """One array behind the other."""
    first, second = parts
    if (first.type.element, first.type.dimensions) != (second.type.element, second.type.dimensions):
        raise NotTranslated("arrays of different kinds joined")
    for mine, theirs in zip(first.shape[1:], second.shape[1:], strict=True):
        emit.stop_if(emit.new(f"icmp ne i64 {mine}, {theirs}"), SHAPES_DIFFER)
    length = Number(INT, emit.new(f"add i64 {first.shape[0]}, {second.shape[0]}"))
    made = allocate(emit, first.type.element, [length, *(Number(INT, width) for width in first.shape[1:])])
    middle = Number(INT, first.shape[0])
    fill(emit, view(emit, made, [Span(None, middle)]), first)
    fill(emit, view(emit, made, [Span(middle, None)]), second)
    return made


def listed(emit: Emitter, numbers: list[Number]) -> Array:
    """An array of these numbers."""
    kinds = {number.kind for number in numbers}
    if len(kinds) != 1 or any(number.is_narrow for number in numbers):
        raise NotTranslated("numbers of different kinds in one array")
    made = allocate(emit, ELEMENT_OF[kinds.pop()], [Number(INT, str(len(numbers)))])
    for index, number in enumerate(numbers):
        store(emit, view(emit, made, [Number(INT, str(index))]), number)
    return made
