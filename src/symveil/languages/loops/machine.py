"""Machine code of a translated loop, and how Python calls it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from symveil.languages.loops import kept_code
from symveil.languages.loops.emitter import (
    DIVIDED_BY_ZERO,
    EMPTY,
    NEGATIVE_SHIFT,
    NEGATIVE_SIZE,
    NO_MEMORY,
    NO_VALUE,
    SHAPES_DIFFER,
)
from symveil.languages.loops.translation import Translated, Translation
from symveil.languages.loops.values import (
    BOOL,
    ELEMENTS,
    FLOAT,
    INT,
    ArrayType,
    NotTranslated,
    TupleType,
    Type,
    words_of,
)

# Each call raises an exception of its own: one for all would hold the frames of every call, and what is in them.
_REASONS: dict[int, tuple[type[Exception], str]] = {
    DIVIDED_BY_ZERO: (ZeroDivisionError, "division by zero"),
    EMPTY: (ValueError, "zero-size array to reduction operation not possible"),
    NO_MEMORY: (MemoryError, "no memory for an array"),
    NEGATIVE_SIZE: (ValueError, "negative dimensions are not allowed"),
    SHAPES_DIFFER: (ValueError, "cannot assign slice from input of different size"),
    NEGATIVE_SHIFT: (ValueError, "negative shift count"),
    NO_VALUE: (UnboundLocalError, "a loop has used a name before it had a value"),
}
_NO_RESULT = (RuntimeError, "a loop has come to an end without a result")
_KINDS: dict[type, str] = {
    bool: BOOL, np.bool_: BOOL, int: INT, float: FLOAT, np.float64: FLOAT,
    **dict.fromkeys((np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16), INT),
}  # fmt: skip


def type_of(value: object) -> Type | None:
    """The type of an argument, if loops know it."""
    if type(value) is np.ndarray:
        element = value.dtype.str[1:]
        if element not in ELEMENTS or not value.dtype.isnative or not value.flags.aligned:
            return None
        return ArrayType(element, value.ndim, value.flags.c_contiguous, value.flags.writeable)
    if type(value) is tuple:
        parts = tuple(_KINDS.get(type(part)) for part in value)
        return TupleType(tuple(part for part in parts if part)) if all(parts) else None
    return _KINDS.get(type(value))


class _Part:
    """Memory of an argument as numpy takes it; holds the arguments."""

    def __init__(self, data: int, shape: tuple[int, ...], kind: ArrayType, arguments: tuple[Any, ...]) -> None:
        self._arguments = arguments
        typestr = np.dtype(kind.element).str
        self.__array_interface__ = {
            "data": (data, not kind.is_writable), "shape": shape, "typestr": typestr, "version": 3
        }  # fmt: skip


class MachineCode:
    """One loop for arguments of certain types, ready to be called."""

    def __init__(self, engine: Any, arguments: tuple[Type, ...], returns: Type) -> None:
        self._engine = engine  # holds the code
        self._returns = returns
        self._out = ctypes.c_int64 * max(1, len(words_of(returns)))
        entry, release = (engine.get_function_address(name) for name in ("symveil_entry", "symveil_release"))
        self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_void_p)(entry)
        self._release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(release)
        codes = {"double": "d", "i64": "q", "ptr": "N"}
        self._pack = struct.Struct("@" + "".join(codes[word] for kind in arguments for word in words_of(kind))).pack

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        """Call it; other threads of Python go on meanwhile."""
        words: list[Any] = []
        for value in arguments:
            if isinstance(value, np.ndarray):
                words += (value.__array_interface__["data"][0], 0, *value.shape)
                if not value.flags.c_contiguous:
                    words += value.strides
            elif type(value) is tuple:
                words += [bool(part) if type(part) is np.bool_ else part for part in value]
            elif type(value) is np.bool_:
                words.append(bool(value))
            else:
                words.append(value)
        out = self._out()
        status = self._entry(self._pack(*words), out)
        if status:
            error, text = _REASONS.get(status, _NO_RESULT)
            raise error(text)
        return self._result(self._returns, iter(out), arguments)

    def _result(self, kind: Type, words: Iterator[int], arguments: tuple[Any, ...]) -> Any:
        if isinstance(kind, str):
            word = next(words)
            if kind == FLOAT:
                return struct.unpack("d", struct.pack("q", word))[0]
            return bool(word) if kind == BOOL else word if kind == INT else word % 2**64
        if isinstance(kind, TupleType):
            return tuple(self._result(part, words, arguments) for part in kind.parts) if kind.parts else None
        data, owner = next(words), next(words)
        shape = tuple(next(words) for _ in range(kind.dimensions))
        if not owner:  # a part of an argument: a view of it, as in Python
            return np.asarray(_Part(data, shape, kind, arguments))
        made = np.empty(shape, kind.element)
        ctypes.memmove(made.__array_interface__["data"][0], data, made.nbytes)
        self._release(owner)
        return made


class Machine:
    """LLVM for this computer, and the functions it has compiled in this process."""

    def __init__(self) -> None:
        import llvmlite  # noqa: PLC0415 - a tenth of a second
        import llvmlite.binding as llvm  # noqa: PLC0415

        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.target = llvm.Target.from_default_triple()
        self.options = {"cpu": llvm.get_host_cpu_name(), "features": llvm.get_host_cpu_features().flatten(), "opt": 3}
        self.tuning = {"loop_vectorization": True, "slp_vectorization": False}
        versions = f"{llvmlite.__version__} {llvm.llvm_version_info}"
        self.known_as = f"{versions} {self.target.triple} {self.options} {self.tuning}"
        library = ctypes.CDLL(
            "ucrtbase" if sys.platform == "win32" else None
        )  # C's: Python itself needs its exp and log
        self.engines: dict[str, Any] = {}
        self.units: dict[tuple[Any, tuple[Type, ...]], Translated | NotTranslated | None] = {}
        for own, theirs in (
            ("symveil_allocate", ctypes.pythonapi.PyMem_RawMalloc),
            ("symveil_allocate_zeros", ctypes.pythonapi.PyMem_RawCalloc),
            ("symveil_free", ctypes.pythonapi.PyMem_RawFree),
            ("symveil_exp", library.exp),
            ("symveil_log", library.log),
        ):
            llvm.add_symbol(own, ctypes.cast(theirs, ctypes.c_void_p).value)

    def unit(self, function: Any, arguments: tuple[Type, ...]) -> Translated:
        """A function for arguments of these types: translated, compiled or read from where it is kept, and callable."""
        key = (function, arguments)
        if key not in self.units:
            self.units[key] = None
            try:
                self.units[key] = self._unit(function, arguments)
            except NotTranslated as reason:
                self.units[key] = reason
        result = self.units[key]
        if isinstance(result, NotTranslated):
            raise NotTranslated(str(result))
        if result is None:
            raise NotTranslated("a function that calls itself")
        return result

    def _unit(self, function: Any, arguments: tuple[Type, ...]) -> Translated:
        try:
            text, returns = Translation(self.unit).text(function, arguments, _OWN)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # Python's, for nonsense
            raise NotTranslated(f"what no loop says: {error}") from None
        # the name tells what is in it: kept code can never be of another text, processor or version of LLVM
        given = [replace(kind, is_writable=True) if isinstance(kind, ArrayType) else kind for kind in arguments]
        kinds = _digest(f"{self.known_as} {function.__module__} {function.__qualname__} {given}")[:8]
        rest = _digest(self.known_as + text)
        name = f"{function.__name__}.{kinds}.{rest}"
        if name not in self.engines:
            folder = kept_code.folder_for(function.__code__.co_filename)
            code = kept_code.read(folder, name)
            try:
                engine = self._compiled(text.replace(_OWN, name), folder, name) if code is None else self._loaded(code)
            except (RuntimeError, AttributeError, TypeError) as error:  # a version of LLVM with another language
                raise NotTranslated(f"LLVM refuses it: {error}") from None
            self.engines[name] = engine
            self.llvm.add_symbol(name, engine.get_function_address(name))
        return Translated(name, returns)

    def _compiled(self, text: str, folder: Path | None, name: str) -> Any:
        """An engine with the code of this text, which is kept."""
        llvm = self.llvm
        module = llvm.parse_assembly(text)
        module.verify()
        machine = self.target.create_target_machine(**self.options, jit=True)
        module.triple, module.data_layout = self.target.triple, str(machine.target_data)
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        for option, value in self.tuning.items():
            setattr(tuning, option, value)
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        engine = llvm.create_mcjit_compiler(module, machine)
        engine.set_object_cache(notify_func=lambda _, code: kept_code.write(folder, name, bytes(code)))
        engine.finalize_object()
        return engine

    def _loaded(self, code: bytes) -> Any:
        """An engine with machine code that was kept."""
        llvm = self.llvm
        engine = llvm.create_mcjit_compiler(
            llvm.parse_assembly(""), self.target.create_target_machine(**self.options, jit=True)
        )
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return engine


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


_OWN = "symveil_unit"
_PATIENCE = 10.0  # seconds that a fork waits for a compilation, which takes one or two
_lock = threading.RLock()  # one compilation at a time
_machine: list[Machine] = []
_cut_short = threading.Event()  # set in a child that was forked in the middle of a compilation
_waited: list[bool] = []


def _wait_for_compilation() -> None:
    """Before a fork: LLVM has locks of its own, which a child could never open again."""
    _waited.append(_lock.acquire(timeout=_PATIENCE))


def _go_on_compiling() -> None:
    if _waited.pop():
        _lock.release()


def _begin_anew() -> None:
    """In a forked child no thread compiles; what one left half done cannot be used there."""
    global _lock  # noqa: PLW0603 - the interpreter's fork hook has nowhere else to write
    _lock = threading.RLock()
    if not _waited.pop():
        _cut_short.set()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_compilation, after_in_parent=_go_on_compiling, after_in_child=_begin_anew)


def is_cut_short() -> bool:
    """Whether this process was forked in the middle of a compilation that did not end: LLVM may be locked here."""
    return _cut_short.is_set()


@contextmanager
def compiling() -> Iterator[None]:
    """One thread compiles at a time, and no fork comes in between."""
    with _lock:
        yield


def this_machine() -> Machine:
    """The one of this process, made on first use: loading LLVM takes a tenth of a second."""
    with _lock:
        if not _machine:
            _machine.append(Machine())
        return _machine[0]


def code_for(function: Any, arguments: tuple[Any, ...]) -> MachineCode:
    """Machine code of a function for arguments of these types; NotTranslated if it uses too much of Python."""
    kinds = tuple(map(type_of, arguments))
    known = tuple(kind for kind in kinds if kind is not None)
    if len(known) < len(kinds):
        raise NotTranslated("arguments that are neither numbers nor arrays of them")
    with _lock:
        machine = this_machine()
        unit = machine.unit(function, known)
        return MachineCode(machine.engines[unit.name], known, unit.returns)
