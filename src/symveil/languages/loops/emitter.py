"""Lines of LLVM's language for one function: numbers, branches, and blocks of memory that are counted."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from symveil.languages.loops.values import (
    BOOL,
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
    words_of,
)

# What a function returns: 0, or why it stopped (`machine` raises)
DIVIDED_BY_ZERO, NO_MEMORY, NEGATIVE_SIZE, SHAPES_DIFFER, NO_RESULT, EMPTY = 1, 2, 3, 4, 5, 6
NEGATIVE_SHIFT, NO_VALUE = 7, 8

_ARITHMETIC = {"+": "add", "-": "sub", "*": "mul"}
_BITS = {"&": "and", "|": "or", "^": "xor", "<<": "shl"}
_COMPARISONS = {  # signed, unsigned, float: an order with NaN is false, and NaN differs from everything
    "<": ("slt", "ult", "olt"),
    "<=": ("sle", "ule", "ole"),
    ">": ("sgt", "ugt", "ogt"),
    ">=": ("sge", "uge", "oge"),
    "==": ("eq", "eq", "oeq"),
    "!=": ("ne", "ne", "une"),
}

# A block of memory: how often it is referred to, 8 unused bytes, then the elements. Memory comes from Python's raw
# allocator, which needs no lock and is there on every system.
RUNTIME = """
declare noalias ptr @symveil_allocate(i64)
declare noalias ptr @symveil_allocate_zeros(i64, i64)
declare void @symveil_free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare double @llvm.fabs.f64(double)
declare double @llvm.floor.f64(double)
declare double @llvm.ceil.f64(double)
declare double @llvm.sqrt.f64(double)
declare double @symveil_exp(double)
declare double @symveil_log(double)

define internal void @retain(ptr %block) alwaysinline {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %block
  %after = add i64 %before, 1
  store i64 %after, ptr %block
  br label %done
done:
  ret void
}

define void @symveil_release(ptr %block) {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %count
count:
  %before = load i64, ptr %block
  %after = sub i64 %before, 1
  store i64 %after, ptr %block
  %last = icmp eq i64 %after, 0
  br i1 %last, label %free, label %done
free:
  call void @symveil_free(ptr %block)
  br label %done
done:
  ret void
}
"""


def number_text(value: float) -> str:
    """A float, bit by bit."""
    return "0x" + struct.pack(">d", value).hex().upper()


def constant(value: object) -> Number:
    """A number that is known beforehand."""
    if isinstance(value, bool):
        return Number(BOOL, "true" if value else "false")
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise NotTranslated("an integer beyond 64 bits")
        return Number(INT, str(value))
    if isinstance(value, float):
        return Number(FLOAT, number_text(value))
    raise NotTranslated(f"a constant of type {type(value).__name__}")


class Emitter:
    """The lines of one function."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []  # what comes first: room for names
        self.label = "body"
        self.count = 0
        self.fresh: list[str] = []  # blocks of memory that the statement at hand has made and nothing refers to yet

    # --- lines and branches ---

    def line(self, text: str) -> None:
        """One more line."""
        self.lines.append(text)

    def new(self, text: str) -> str:
        """A line with a result."""
        self.count += 1
        self.lines.append(f"%r{self.count} = {text}")
        return f"%r{self.count}"

    def name(self, text: str) -> str:
        """A label that is not there yet."""
        self.count += 1
        return f"{text}.{self.count}"

    def begin(self, label: str) -> None:
        """From here on, lines belong to this label."""
        self.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        """Go there; what follows is not reached, until a label begins."""
        self.lines.append(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """Go here or there."""
        self.lines.append(f"br i1 {condition}, label %{yes}, label %{no}")

    @contextmanager
    def deferred(self, lines: list[str]) -> Iterator[None]:
        """Lines that are put in later. They may not make arrays: no later line would know whether they did."""
        before, made = self.lines, len(self.fresh)
        self.lines = lines
        yield
        self.lines = before
        if len(self.fresh) > made:
            raise NotTranslated("an array that is made in one case only")

    def room(self, kind: str, initial: str | None = None) -> str:
        """A place for one value, from the beginning of the function to its end."""
        self.count += 1
        pointer = f"%p{self.count}"
        self.entry.append(f"{pointer} = alloca {kind}")
        if initial is not None:
            self.entry.append(f"store {kind} {initial}, ptr {pointer}")
        return pointer

    def stop_if(self, condition: str, reason: int) -> None:
        """Leave the function, and those that called it."""
        stop, go_on = self.name("stop"), self.name("on")
        self.branch(condition, stop, go_on)
        self.begin(stop)
        self.stop(str(reason))
        self.begin(go_on)

    def stop(self, reason: str) -> None:
        """Leave the function; what the statement at hand has made goes."""
        for owner in self.fresh:
            self.line(f"call void @symveil_release(ptr {owner})")
        self.line(f"store i32 {reason}, ptr %status")
        self.jump("exit")

    # --- numbers ---

    def convert(self, value: Number, kind: str) -> Number:
        """The same number as another kind."""
        if value.kind == kind:
            return value
        if kind == FLOAT:
            if value.kind == INT and not value.text.startswith("%"):
                return Number(FLOAT, number_text(float(int(value.text))))
            how = "sitofp i64" if value.kind == INT else "uitofp " + REGISTER[value.kind]
            return Number(FLOAT, self.new(f"{how} {value.text} to double"))
        if value.kind == BOOL:
            return Number(kind, self.new(f"zext i1 {value.text} to i64"))
        if value.kind == FLOAT and kind == INT:
            # what no integer of 64 bits holds becomes the least of them, as the processors of Intel's family have it
            inside = self.new(f"fcmp olt double {self.absolute(value).text}, {number_text(2.0**63)}")
            whole = self.new(f"fptosi double {value.text} to i64")
            return Number(INT, self.new(f"select i1 {inside}, i64 {whole}, i64 {-(2**63)}"))
        if {value.kind, kind} == {INT, UINT}:
            return Number(kind, value.text)
        raise NotTranslated(f"{value.kind} as {kind}")

    def alike(self, one: Value, other: Value, *, wanted: str = "") -> tuple[Number, Number]:
        """Two numbers as one kind, for an operation on both."""
        if not (isinstance(one, Number) and isinstance(other, Number)):
            raise NotTranslated("an operation on whole arrays")
        if one.is_narrow and other.is_narrow:
            raise NotTranslated("floats of 32 bits among themselves")
        kinds = {one.kind, other.kind}
        if FLOAT in kinds or wanted:
            kind = wanted or FLOAT
        elif UINT in kinds:
            if kinds != {UINT}:
                raise NotTranslated("signed and unsigned integers together")
            kind = UINT
        else:
            kind = INT
        return self.convert(one, kind), self.convert(other, kind)

    def truth(self, value: Value) -> str:
        """Whether it is not 0."""
        if not isinstance(value, Number):
            raise NotTranslated("the truth of what is no number")
        if value.kind == BOOL:
            return value.text
        if value.kind == FLOAT:
            return self.new(f"fcmp une double {value.text}, {number_text(0.0)}")
        return self.new(f"icmp ne i64 {value.text}, 0")

    def compare(self, sign: str, one: Value, other: Value) -> Number:
        """A comparison of two numbers, or of tuples of numbers."""
        if isinstance(one, Several) and isinstance(other, Several) and len(one.parts) == len(other.parts):
            return self._compare_tuples(sign, one, other)
        if isinstance(one, Number) and isinstance(other, Number) and one.kind == other.kind == BOOL:
            if sign not in ("==", "!="):
                raise NotTranslated("an order of truth values")
            return Number(BOOL, self.new(f"icmp {_COMPARISONS[sign][0]} i1 {one.text}, {other.text}"))
        left, right = self.alike(one, other)
        signed, unsigned, ordered = _COMPARISONS[sign]
        if left.kind == FLOAT:
            return Number(BOOL, self.new(f"fcmp {ordered} double {left.text}, {right.text}"))
        how = signed if left.kind == INT else unsigned
        return Number(BOOL, self.new(f"icmp {how} i64 {left.text}, {right.text}"))

    def _compare_tuples(self, sign: str, one: Several, other: Several) -> Number:
        if sign not in ("<", ">"):
            raise NotTranslated("tuples that are compared otherwise than by < and >")
        outcome = "false"
        for left, right in reversed(list(zip(one.parts, other.parts, strict=True))):
            same, before = self.compare("==", left, right), self.compare(sign, left, right)
            later = self.new(f"and i1 {same.text}, {outcome}")
            outcome = self.new(f"or i1 {before.text}, {later}")
        return Number(BOOL, outcome)

    def operate(self, sign: str, one: Value, other: Value) -> Number:  # noqa: PLR0911 - one sign after the other
        """An operation on two numbers."""
        if sign == "/":
            left, right = self.alike(one, other, wanted=FLOAT)
            if right.text.startswith("%") or right.text in (number_text(0.0), number_text(-0.0)):
                self.stop_if(self.new(f"fcmp oeq double {right.text}, {number_text(0.0)}"), DIVIDED_BY_ZERO)
            return Number(FLOAT, self.new(f"fdiv double {left.text}, {right.text}"))
        is_truth = isinstance(one, Number) and isinstance(other, Number) and one.kind == other.kind == BOOL
        if is_truth and sign in ("&", "|", "^"):
            return Number(BOOL, self.new(f"{_BITS[sign]} i1 {one.text}, {other.text}"))  # type: ignore[union-attr]
        left, right = self.alike(one, other)
        if sign in _ARITHMETIC:
            if left.kind == FLOAT:
                return Number(FLOAT, self.new(f"f{_ARITHMETIC[sign]} double {left.text}, {right.text}"))
            return Number(left.kind, self.new(f"{_ARITHMETIC[sign]} i64 {left.text}, {right.text}"))
        if left.kind == FLOAT:
            raise NotTranslated(f"{sign} of floats")
        if sign in ("<<", ">>"):
            return self._shift(sign, left, right)
        if sign in _BITS:
            return Number(left.kind, self.new(f"{_BITS[sign]} i64 {left.text}, {right.text}"))
        return self._divide(sign, left, right)

    def _shift(self, sign: str, left: Number, right: Number) -> Number:
        """<< and >>, by any number of bits."""
        how = "shl" if sign == "<<" else "ashr" if left.kind == INT else "lshr"
        if right.text.isdigit() and int(right.text) < 64:
            return Number(left.kind, self.new(f"{how} i64 {left.text}, {right.text}"))
        if right.kind == INT:
            self.stop_if(self.new(f"icmp slt i64 {right.text}, 0"), NEGATIVE_SHIFT)
        is_less = self.new(f"icmp ult i64 {right.text}, 64")
        moved = self.new(f"{how} i64 {left.text}, {right.text}")
        rest = self.new(f"ashr i64 {left.text}, 63") if how == "ashr" else "0"
        return Number(left.kind, self.new(f"select i1 {is_less}, i64 {moved}, i64 {rest}"))

    def _divide(self, sign: str, left: Number, right: Number) -> Number:
        """// and %, which round down: the remainder has the sign of the divisor."""
        if left.kind != INT:
            raise NotTranslated(f"{sign} of unsigned integers")
        if right.text.isdigit() and (divisor := int(right.text)) > 0 and divisor & (divisor - 1) == 0:
            if sign == "//":
                return Number(INT, self.new(f"ashr i64 {left.text}, {divisor.bit_length() - 1}"))
            return Number(INT, self.new(f"and i64 {left.text}, {divisor - 1}"))
        self.stop_if(self.new(f"icmp eq i64 {right.text}, 0"), DIVIDED_BY_ZERO)
        # by −1, the processor would stop at the least integer: it is divided by 1, and the sign turned
        is_turned = self.new(f"icmp eq i64 {right.text}, -1")
        divisor_text = self.new(f"select i1 {is_turned}, i64 1, i64 {right.text}")
        rest = self.new(f"srem i64 {left.text}, {divisor_text}")
        is_whole = self.new(f"icmp eq i64 {rest}, 0")
        differs = self.new(f"icmp slt i64 {self.new(f'xor i64 {rest}, {right.text}')}, 0")
        wrong = self.new(f"select i1 {is_whole}, i1 false, i1 {differs}")
        if sign == "%":
            return Number(INT, self.new(f"add i64 {rest}, {self.new(f'select i1 {wrong}, i64 {right.text}, i64 0')}"))
        whole = self.new(f"sdiv i64 {left.text}, {divisor_text}")
        down = self.new(f"sub i64 {whole}, {self.new(f'zext i1 {wrong} to i64')}")
        turned = self.new(f"sub i64 0, {left.text}")
        return Number(INT, self.new(f"select i1 {is_turned}, i64 {turned}, i64 {down}"))

    def negative(self, value: Value) -> Number:
        """Minus it."""
        if not isinstance(value, Number) or value.kind in (BOOL, UINT) or value.is_narrow:
            raise NotTranslated("minus what is no signed number")
        if value.kind == FLOAT:
            return Number(FLOAT, self.new(f"fneg double {value.text}"))
        if not value.text.startswith("%"):
            return constant(-int(value.text))
        return Number(INT, self.new(f"sub i64 0, {value.text}"))

    def absolute(self, value: Value) -> Number:
        """Its size."""
        if isinstance(value, Number) and value.kind == FLOAT:
            return Number(FLOAT, self.new(f"call double @llvm.fabs.f64(double {value.text})"), value.is_narrow)
        minus = self.negative(value)
        return self.choose(self.compare("<", value, constant(0)).text, minus, value)

    def choose(self, condition: str, yes: Value, no: Value) -> Number:
        """One of two numbers."""
        left, right = self.alike(yes, no)
        kind = REGISTER[left.kind]
        return Number(left.kind, self.new(f"select i1 {condition}, {kind} {left.text}, {kind} {right.text}"))

    def extreme(self, sign: str, values: list[Value]) -> Number:
        """max (>) or min (<), as Python finds it: a later value counts if it is strictly better."""
        best = values[0]
        for value in values[1:]:
            mine, theirs = self.alike(best, value)
            best = self.choose(self.compare(sign, theirs, mine).text, theirs, mine)
        if not isinstance(best, Number):
            raise NotTranslated("the largest entry of an array")
        return best

    # --- what is handed over: words of 8 bytes ---

    def words(self, value: Value, kind: Type) -> list[str]:
        """A value's words, as `words_of` lists them."""
        if isinstance(value, Number) and isinstance(kind, str):
            if value.is_narrow:
                raise NotTranslated("a float of 32 bits that is handed over")
            number = self.convert(value, kind)
            return [self.new(f"zext i1 {number.text} to i64") if kind == BOOL else number.text]
        if isinstance(value, Array) and isinstance(kind, ArrayType):
            return [value.data, value.owner, *value.shape, *(() if kind.is_dense else value.strides)]
        if isinstance(value, Several) and isinstance(kind, TupleType):
            pairs = zip(value.parts, kind.parts, strict=True)
            return [word for part, own in pairs for word in self.words(part, own)]
        raise NotTranslated(f"{value.type} as {kind}")

    def value(self, kind: Type, words: Iterator[str]) -> Value:
        """The value that these words are."""
        if isinstance(kind, str):
            word = next(words)
            return Number(kind, self.new(f"icmp ne i64 {word}, 0") if kind == BOOL else word)
        if isinstance(kind, TupleType):
            return Several(tuple(self.value(part, words) for part in kind.parts))
        data, owner = next(words), next(words)
        shape = tuple(next(words) for _ in range(kind.dimensions))
        strides = self.dense_strides(kind, shape) if kind.is_dense else tuple(next(words) for _ in shape)
        return Array(kind, data, shape, strides, owner)

    def dense_strides(self, kind: ArrayType, shape: tuple[str, ...]) -> tuple[str, ...]:
        """Strides of an array whose rows follow each other."""
        strides = [str(kind.size)]
        for width in reversed(shape[1:]):
            strides.insert(0, self.new(f"mul i64 {width}, {strides[0]}"))
        return tuple(strides)

    def load_words(self, kind: Type, pointer: str) -> Value:
        """A value from memory."""
        words = []
        for number, word in enumerate(words_of(kind)):
            words.append(self.new(f"load {word}, ptr {self.new(f'getelementptr i64, ptr {pointer}, i64 {number}')}"))
        return self.value(kind, iter(words))

    def store_words(self, value: Value, kind: Type, pointer: str) -> None:
        """A value to memory."""
        for number, (word, own) in enumerate(zip(words_of(kind), self.words(value, kind), strict=True)):
            self.line(f"store {word} {own}, ptr {self.new(f'getelementptr i64, ptr {pointer}, i64 {number}')}")

    # --- counted blocks ---

    def retain(self, owner: str) -> None:
        """One more name refers to it."""
        if owner != "null":
            self.line(f"call void @retain(ptr {owner})")

    def let_go(self) -> None:
        """The statement is over: what it made and did not keep goes."""
        for owner in self.fresh:
            self.line(f"call void @symveil_release(ptr {owner})")
        self.fresh.clear()

    def count_up(self, end: str, body: Callable[[str], None], *, start: str = "0") -> None:
        """A loop over start … end − 1."""
        at = self.room("i64")
        again, inside, after = self.name("again"), self.name("inside"), self.name("after")
        self.line(f"store i64 {start}, ptr {at}")
        self.jump(again)
        self.begin(again)
        index = self.new(f"load i64, ptr {at}")
        self.branch(self.new(f"icmp slt i64 {index}, {end}"), inside, after)
        self.begin(inside)
        body(index)
        self.line(f"store i64 {self.new(f'add nsw i64 {index}, 1')}, ptr {at}")
        self.jump(again)
        self.begin(after)
