"""The worker process: results and errors come back, progress on the way, and cancelling really ends the work."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from symveil.errors import ParameterError
from symveil.numbers.progress import Progress, listener, named
from symveil.studio.worker import BrokenError, StoppedError, TaskHandle, Worker


def double(number: int, progress: Progress) -> int:
    doubling = named(progress, "doubling")
    doubling(0, None)
    doubling(1, 2)
    return 2 * number


def search(progress: Progress) -> None:
    """As a proof behind a property does: nobody hands it a callback, and it counts fast."""
    found = listener("searching")
    assert found is not None
    for step in range(100_000):
        found(step, None)


def refuse(progress: Progress) -> None:
    raise ParameterError("epsilon", expected="more", found="less")


def stumble(secret: str, progress: Progress) -> None:
    raise KeyError(secret)


def unsendable(secret: str, progress: Progress) -> object:
    """An answer that cannot be pickled."""

    class Hidden:
        def __reduce__(self) -> str:
            raise ValueError(secret)

    return Hidden()


class Panic(BaseException):
    """As a library in Rust raises it."""


def panic(secret: str, progress: Progress) -> None:
    raise Panic(secret)


def spin(file: str, progress: Progress) -> None:
    """Never ends by itself, and holds the interpreter: a thread could not be stopped."""
    Path(file).write_text(str(os.getpid()))
    while True:
        pass


def count_for_a_minute(seconds: float, progress: Progress) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        progress(1, 2)
    return "counted"


def die(progress: Progress) -> None:
    os._exit(3)


def in_a_loop(coroutine: Coroutine[None, None, None]) -> None:
    """In a thread: the browser of other tests may have a loop of its own in this one."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, coroutine).result()


def test_results_errors_and_progress() -> None:
    async def run() -> None:
        worker, told = Worker(), []

        def tell(done: int, total: int | None, what: str) -> None:
            told.append((done, total, what))

        try:
            assert await worker.run(double, 4, handle=TaskHandle(tell)) == 8
            assert told == [(0, None, "doubling"), (1, 2, "doubling")]
            told.clear()
            await worker.run(search, handle=TaskHandle(tell))
            assert told and {what for *_, what in told} == {"searching"} and len(told) < 1000  # what a page can show
            with pytest.raises(ParameterError, match="epsilon: expected more, found less"):
                await worker.run(refuse)
            with pytest.raises(BrokenError) as broken:
                await worker.run(stumble, "hunter2")
            assert "hunter2" not in str(broken.value)
            assert str(broken.value).startswith("internal error: KeyError at symveil.studio.worker:")
            with pytest.raises(BrokenError, match="internal error: ") as broken:
                await worker.run(unsendable, "hunter2")
            assert "hunter2" not in str(broken.value)
            with pytest.raises(BrokenError, match="internal error: Panic") as broken:
                await worker.run(panic, "hunter2")
            assert "hunter2" not in str(broken.value)
            assert await worker.run(double, 6) == 12  # the same process goes on
            with pytest.raises(BrokenError, match="the worker process ended"):
                await worker.run(die)
            assert await worker.run(double, 5) == 10  # a new process took over
        finally:
            worker.close()

    in_a_loop(run())


def test_cancelling_ends_the_process_and_the_next_job_runs(tmp_path: Path) -> None:
    async def run() -> None:
        worker, handle, waiting = Worker(), TaskHandle(None), TaskHandle(None)
        file = tmp_path / "process"
        try:
            endless = asyncio.create_task(worker.run(spin, str(file), handle=handle))
            queued = asyncio.create_task(worker.run(double, 1, handle=waiting))
            while not file.exists() or not file.read_text():
                await asyncio.sleep(0.02)
            number = int(file.read_text())
            waiting.cancel()  # what only waits is dropped, and does not end what runs
            await asyncio.sleep(0.1)
            assert Path(f"/proc/{number}").exists() and not endless.done()
            began = time.monotonic()
            handle.cancel()
            with pytest.raises(StoppedError):
                await endless
            with pytest.raises(StoppedError):
                await queued
            assert time.monotonic() - began < 20  # spin would go on for ever
            assert not Path(f"/proc/{number}").exists()
            assert await worker.run(double, 3) == 6
        finally:
            worker.close()

    in_a_loop(run())


def test_what_waits_is_stopped_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        worker, handle, waiting = Worker(), TaskHandle(None), TaskHandle(None)
        try:
            endless = asyncio.create_task(worker.run(spin, str(tmp_path / "process"), handle=handle))
            queued = asyncio.create_task(worker.run(double, 1, handle=waiting))
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(StoppedError):
                await asyncio.wait_for(queued, 2)
            assert not endless.done()
            left = asyncio.create_task(worker.run(double, 1))
            await asyncio.sleep(0)
            left.cancel()  # and nobody's turn is lost with those who went away
            handle.cancel()
            with pytest.raises(StoppedError):
                await endless
            assert await asyncio.wait_for(worker.run(double, 3), 20) == 6
        finally:
            worker.close()

    in_a_loop(run())


def test_a_task_gives_way_and_leaves_the_process_alive() -> None:
    async def run() -> None:
        worker = Worker()
        before = await worker.run(own_number)
        handle = TaskHandle(None)
        slow = asyncio.create_task(worker.run(count_for_a_minute, 60.0, handle=handle))
        while handle.pipe is None:
            await asyncio.sleep(0.01)
        handle.give_way()
        handle.give_way()  # the second one comes when nothing runs any more
        with pytest.raises(StoppedError):
            await asyncio.wait_for(slow, 30)
        assert await worker.run(count_for_a_minute, 0.3) == "counted"  # and stops nothing else
        assert await worker.run(own_number) == before
        handle.give_way()  # it has ended: nothing happens
        worker.close()

    in_a_loop(run())


def own_number(progress: Progress) -> int:
    return os.getpid()
