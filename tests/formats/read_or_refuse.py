"""What every reader owes to any content at all: a model, or one short line that names the file."""

from __future__ import annotations

from pathlib import Path

from symveil.errors import InputError, SymveilError
from symveil.formats.models.model_files import load_model


def read_or_refuse(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    try:
        load_model(path)
    except SymveilError as error:
        assert isinstance(error, InputError)
        assert path.name in str(error)
        assert len(str(error).splitlines()) == 1
        assert len(str(error)) < 1000
