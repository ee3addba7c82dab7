"""The one place where a module is imported late: readers whose libraries are heavy or optional.

`symveil release` should not wait for pyarrow, and a chain in JSON should not need networkx. So the
readers that need them are modules of their own, which import them at their top like any other
module, and the doors (`model_files`, `transition_tables`, `sequences`) fetch those modules here
when a file asks for them.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from symveil.errors import FileError


def parquet_reader(path: Path) -> Any:
    """`symveil.io.parquet_columns`, which needs pyarrow."""
    return _reader("parquet_columns", path, install="pip install pyarrow")


def graph_reader(path: Path) -> Any:
    """`symveil.io.graph_files`, which needs networkx."""
    return _reader("graph_files", path, install="pip install symveil[formats]")


def _reader(module: str, path: Path, *, install: str) -> Any:
    try:
        return importlib.import_module(f"symveil.io.{module}")
    except ModuleNotFoundError as error:
        raise FileError(
            str(path), expected=f"{error.name} to be installed ({install}), which reads this format", found="none"
        ) from None
