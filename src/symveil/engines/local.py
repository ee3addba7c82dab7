"""The local engine: batches through the core on all cores, in order and in bounded memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from symveil.engines.batch import ReleasePlan, bounded, privatize_batch
from symveil.errors import SymveilError, only_our_errors

# Arrow would catch Ctrl-C itself while it reads, and now and then lose it: Python's own handling is enough.
pa.enable_signal_handlers(False)


def release_batches(
    batches: Iterable[pa.RecordBatch], plan: ReleasePlan, *, workers: int | None = None
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Each batch with its private version, in order; a batch that is too large for its released words in pieces.

    Threads are enough: the ciphers, the compiled loops and Arrow's kernels run beside each other. Only
    a few batches are on their way at any time, so a file of any size passes through the same memory.
    Whatever is refused, it is the first fault in the order of the records that is told: not the one that is met first,
    which depends on where batches end.
    """
    workers = workers or os.cpu_count() or 1
    waiting: deque[tuple[pa.RecordBatch, Future[pa.RecordBatch]]] = deque()
    with ThreadPoolExecutor(max_workers=workers, thread_name_prefix="symveil") as pool:
        try:
            refused: SymveilError | None = None
            pieces = (piece for batch in batches for piece in bounded(batch, plan))
            while refused is None:
                try:
                    piece = next(pieces)
                except StopIteration:
                    break
                except SymveilError as error:  # what was read before it comes first
                    refused = error
                    continue
                waiting.append((piece, pool.submit(_privatized, piece, plan)))
                if len(waiting) > workers:
                    source, future = waiting.popleft()
                    yield source, future.result()
            while waiting:
                source, future = waiting.popleft()
                yield source, future.result()
            if refused is not None:
                raise refused
        finally:
            for _, future in waiting:
                future.cancel()


def _privatized(batch: pa.RecordBatch, plan: ReleasePlan) -> pa.RecordBatch:
    """The same in a thread, whose errors are told without a value."""
    with only_our_errors():
        return privatize_batch(batch, plan)
