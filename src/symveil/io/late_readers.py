"""Readers whose libraries are heavy or optional, loaded when a file asks for them.

`symveil release` should not wait for pyarrow, and a chain in JSON should not need networkx. So the
readers that need them are modules of their own, which import them at their top like any other
module, and the doors (`model_files`, `transition_tables`, `word_lists`) fetch those modules here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from symveil.errors import FileError


def parquet_reader(path: Path) -> Any:
    """`symveil.io.parquet_columns`, which needs pyarrow."""
    with _installed(path, install="pip install pyarrow"):
        from symveil.io import parquet_columns  # noqa: PLC0415
    return parquet_columns


def graph_reader(path: Path) -> Any:
    """`symveil.io.models.graph_files`, which needs networkx."""
    with _installed(path, install="pip install symveil[formats]"):
        from symveil.io.models import graph_files  # noqa: PLC0415
    return graph_files


@contextmanager
def _installed(path: Path, *, install: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise FileError(
            str(path), expected=f"{error.name} to be installed ({install}), which reads this format", found="none"
        ) from None
