"""Compiled loops: Python that becomes machine code on its first call."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from symveil.languages.loops import machine
from symveil.languages.loops.values import NotTranslated
from symveil.numbers.once import computed_once

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """`function`, compiled on its first call for arguments of each kind."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return function
    return cast(Function, Loop(function))


class Loop:
    """A function that is compiled on its first call: by `loops`, and by numba what is too much for that."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self._codes: dict[tuple[object, ...], Callable[[tuple[Any, ...]], Any]] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Compute it."""
        key = tuple(
            [
                (value.dtype, value.ndim, value.flags.num & 0x501)  # dense, aligned, writable
                if type(value) is np.ndarray
                else tuple(map(type, value))
                if type(value) is tuple
                else type(value)
                for value in arguments
            ]
        )
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = self._compile(arguments)
        return code(arguments)

    def _compile(self, arguments: tuple[Any, ...]) -> Callable[[tuple[Any, ...]], Any]:
        if machine.is_cut_short():  # a locked LLVM would keep this process waiting for ever; Python is only slow
            return lambda values: self.py_func(*values)
        try:
            return machine.code_for(self.py_func, arguments)
        except NotTranslated:
            with machine.compiling():
                import numba  # noqa: PLC0415 - takes a second to load

                by_numba = self.by_numba
                by_numba.compile(tuple(map(numba.typeof, arguments)))
            return lambda values: by_numba(*values)

    @computed_once
    def by_numba(self) -> Any:
        """numba's: kept on disk unless the installation is read-only.

        numba keeps it until its own file changes. If it uses anything of another file, its file carries a
        digest of that one, `COMPILED_FROM` (tests/contracts/test_kept_loops.py says which and checks it).
        """
        import numba  # noqa: PLC0415 - takes a second to load

        _let_numba_use_what_is_called_by(cast(FunctionType, self.py_func))
        try:
            return numba.njit(cache=True, nogil=True)(self.py_func)
        except RuntimeError:  # numba found no place to keep it
            return numba.njit(nogil=True)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """What a loop that numba compiles finds where it calls this one."""
        return self.by_numba._numba_type_

    @property
    def signatures(self) -> list[tuple[object, ...]]:
        """The kinds of arguments it is compiled for."""
        return list(self._codes)


@cache
def _registered(function: FunctionType) -> None:
    from numba.extending import register_jitable  # noqa: PLC0415

    register_jitable(function)


@cache
def _let_numba_use_what_is_called_by(function: FunctionType) -> None:
    """Plain functions that a loop calls become compilable, and stay plain functions for all others."""
    for name in function.__code__.co_names:
        used = function.__globals__.get(name)
        if isinstance(used, FunctionType) and used.__module__.split(".")[0] == function.__module__.split(".")[0]:
            _let_numba_use_what_is_called_by(used)
            _registered(used)
