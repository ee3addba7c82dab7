"""The Spark engine: the same core, batch by batch, wherever the rows are.

Spark may run a task again, or a whole plan, whenever it likes. Because a record's bits are derived from
the release and the record's id, it gets the same words each time: one release, one charge. The plan
travels to the executors with the release key in it; Spark may keep it in its block store and spill it
there (`spark.local.dir`): see docs/spark.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from symveil.engines.batch import ReleasePlan, check_batch, privatize_batch
from symveil.errors import ParameterError, only_our_errors
from symveil.io.records import is_list
from symveil.io.sequence_text import join_column, split_column

BatchFunction = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def release_frame(frame: Any, plan: ReleasePlan, *, separator: str | None = None) -> Any:
    """The frame with private sequences: lazy, and the same whenever and however often it is evaluated.

    The columns are those of `frame`; `plan.sequence` holds lists, or text that is split at `separator`.
    """
    plain, own = _plainly_named(frame, plan)
    private = plain.mapInArrow(partial(_in_task, _released, plan=own, separator=separator), plain.schema)
    return private.toDF(*frame.columns)


def check_frame(frame: Any, plan: ReleasePlan, *, separator: str | None = None) -> None:
    """Look at every row before anybody is charged; whatever the core would refuse is refused here."""
    plain, own = _plainly_named(frame, plan)
    checked = plain.mapInArrow(partial(_in_task, _checked, plan=own, separator=separator), "rows long")
    checked.groupBy().sum("rows").collect()


def _plainly_named(frame: Any, plan: ReleasePlan) -> tuple[Any, ReleasePlan]:
    """The frame with columns that are numbered: `mapInArrow` takes a dot or a backtick in a name for syntax."""
    names = {name: f"c{place}" for place, name in enumerate(frame.columns)}
    identifier = None if plan.identifier is None else names[plan.identifier]
    return frame.toDF(*names.values()), replace(plan, sequence=names[plan.sequence], identifier=identifier)


def _in_task(
    function: Callable[..., Iterator[pa.RecordBatch]], batches: Iterable[pa.RecordBatch], **named: Any
) -> Iterator[pa.RecordBatch]:
    """What a task does. Its errors end in the logs of executors and of the driver: they are told without a value."""
    with only_our_errors():
        yield from function(batches, **named)


def _released(
    batches: Iterable[pa.RecordBatch], *, plan: ReleasePlan, separator: str | None
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        place = batch.schema.get_field_index(plan.sequence)
        text = not is_list(batch.schema.field(place).type)
        lists = batch.set_column(place, plan.sequence, split_column(batch.column(place), separator)) if text else batch
        released = privatize_batch(lists, plan)
        if text:
            joined = join_column(released.column(place), separator).cast(batch.schema.field(place).type)
            released = released.set_column(place, plan.sequence, joined)
        yield pa.RecordBatch.from_arrays(released.columns, names=batch.schema.names)


def _checked(
    batches: Iterable[pa.RecordBatch], *, plan: ReleasePlan, separator: str | None
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        place = batch.schema.get_field_index(plan.sequence)
        if not is_list(batch.schema.field(place).type):
            batch = batch.set_column(place, plan.sequence, split_column(batch.column(place), separator))  # noqa: PLW2901
        if batch.column(place).null_count:
            raise ParameterError("sequence", expected="a sequence in every row", found="none in some row")
        check_batch(batch, plan)
        yield pa.record_batch([pa.array([len(batch)], type=pa.int64())], names=["rows"])
