"""A worker process: one job at a time, with progress, and a cancel that really stops it.

Threads cannot be stopped and would hold up the page; a process can be ended at any moment, and the
next one is started at once. Jobs travel over a pipe, never through a file or a command line: they
may hold a secret word.

What all pages of one studio share: two workers, a folder for dropped files, the address of the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import multiprocessing
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from symveil.errors import InternalError, SymveilError
from symveil.numbers.progress import Progress, named, reporting_to

FIRST_PHASE = "Reading the form"
"""What is being done before a task has named it."""
_BETWEEN_MESSAGES = 0.1  # seconds
_GIVE_WAY = "give way"

Task = Callable[..., Any]
"""A function at the top of a module; takes its arguments and, last, `Progress`."""


class StoppedError(Exception):
    """The task was cancelled."""


class BrokenError(Exception):
    """The task failed unexpectedly. Names the line of code, never a value: that might be a secret."""


class TaskHandle:
    """A task that was handed in; `cancel` stops it, whether it waits or runs, and `give_way` when it next reports."""

    def __init__(self, on_progress: Progress | None) -> None:
        self.on_progress = on_progress
        self.cancelled = False
        self.process: BaseProcess | None = None
        self.pipe: Connection[Any, Any] | None = None
        self.turn: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        """Stop it."""
        self.cancelled = True
        if self.turn is not None:
            self.turn.cancel()
        if self.process is not None:
            self.process.kill()

    def give_way(self) -> None:
        """Stop it where it reports progress, if it runs: the process goes on, with all that it has cached."""
        if self.pipe is not None:
            with contextlib.suppress(OSError):
                self.pipe.send(_GIVE_WAY)


class Worker:
    """A process that is started when first needed, and again after a job was stopped."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    async def run(self, task: Task, *arguments: object, handle: TaskHandle | None = None) -> Any:
        """The result of a task, when its turn has come; raises what it raised, or `StoppedError`."""
        handle = handle or TaskHandle(None)
        await self._turn_of(handle)
        try:
            if handle.cancelled:
                raise StoppedError
            pipe = self._ready()
            handle.process = self._process
            try:
                pipe.send((task, arguments))
                handle.pipe = pipe
                return await self._answer(pipe, handle)
            except (EOFError, OSError):
                self._discard()
                if handle.cancelled:
                    raise StoppedError from None
                raise BrokenError("the worker process ended; perhaps the memory was not enough") from None
            except asyncio.CancelledError:
                self._discard()  # nobody waits for the answer any more
                raise
            finally:
                handle.process = handle.pipe = None
        finally:
            self._turn.release()

    async def _turn_of(self, handle: TaskHandle) -> None:
        """Wait until no other job is served; a job that is cancelled meanwhile waits no longer."""
        turn = handle.turn = asyncio.ensure_future(self._turn.acquire())
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._turn.release()  # it came just when nobody waited any more
            if handle.cancelled and turn.cancelled():
                raise StoppedError from None
            raise
        finally:
            handle.turn = None

    async def _answer(self, pipe: Connection[Any, Any], handle: TaskHandle) -> Any:
        while True:
            kind, value = await asyncio.to_thread(pipe.recv)
            if kind == "progress":
                if handle.on_progress is not None:
                    done, total, what = value
                    named(handle.on_progress, what)(done, total)
            elif kind == "done":
                return value
            elif kind == "refused":
                raise value
            else:
                raise BrokenError(value)

    def start(self) -> None:
        """Start the process before it is needed."""
        self._ready()

    def _ready(self) -> Connection[Any, Any]:
        if self._process is None or self._pipe is None or not self._process.is_alive():
            self._discard()
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._process = context.Process(target=serve_jobs, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
        return self._pipe

    def _discard(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def close(self) -> None:
        """End the process, whatever it does."""
        self._discard()


def serve_jobs(pipe: Connection[Any, Any]) -> None:
    """The loop of the worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the studio, which ends its workers
    warnings.simplefilter("ignore")  # a library's warning may quote the word: a symbol that a font does not have

    shown: dict[tuple[str, int | None], float] = {}  # when it was sent: a search counts faster than a page is drawn

    def tell(done: int, total: int | None, what: str = FIRST_PHASE) -> None:
        now = time.monotonic()
        if now - shown.get((what, total), -math.inf) >= _BETWEEN_MESSAGES or done == total:
            shown.clear()
            shown[what, total] = now
            pipe.send(("progress", (done, total, what)))
            if pipe.poll():  # only one thing is sent while a task runs
                pipe.recv()
                raise StoppedError

    with contextlib.suppress(EOFError, OSError):  # the studio is gone
        while True:
            try:
                job = pipe.recv()
                if job != _GIVE_WAY:  # else the task has ended before it could give way
                    task, arguments = job
                    pipe.send(_answer(task, arguments, tell))
            except (EOFError, OSError):
                raise
            except Exception as error:  # a handle or an answer that cannot be sent: Python would print it, and end here
                pipe.send(("broken", str(InternalError.of(error))))


def _answer(task: Task, arguments: tuple[object, ...], progress: Progress) -> tuple[str, Any]:
    try:
        with reporting_to(progress):  # proofs behind a property say what they do, too
            return "done", task(*arguments, progress)
    except (SymveilError, StoppedError) as error:
        return "refused", error
    except MemoryError:
        return "broken", "there is not enough memory for this; use a shorter word or a smaller model"
    except BaseException as error:  # a panic of a library in Rust is no Exception
        return "broken", str(InternalError.of(error))


@dataclass(frozen=True, slots=True, eq=False)
class Studio:
    """Quick answers come from one worker, long jobs and preparations from the other: neither waits for the other."""

    folder: Path
    ledger: str | None = None
    quick: Worker = field(default_factory=Worker)
    patient: Worker = field(default_factory=Worker)

    @property
    def uploads(self) -> Path:
        """Where dropped files go."""
        return self.folder / "uploads"

    def start(self) -> None:
        """Start the workers, so that the first answer does not wait for them."""
        self.quick.start()
        self.patient.start()

    def close(self) -> None:
        """End the workers."""
        self.quick.close()
        self.patient.close()
