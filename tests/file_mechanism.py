"""The mechanism of a file of sequences, from parameters as `privatize_file` takes them."""

from __future__ import annotations

from typing import Any

from symveil.mechanisms.choice import read_choice
from symveil.mechanisms.mechanism import Mechanism
from symveil.release.spec import LocalSpec


def file_release(*, alphabet: Any = None, model: Any = None, **parameters: Any) -> LocalSpec:
    parameters.setdefault("adjacency", 1)  # on a model it has to be given
    return LocalSpec.from_choice(read_choice(**parameters, not_private=True), alphabet=alphabet, model=model)


def file_mechanism(**parameters: Any) -> Mechanism:
    return file_release(**parameters).mechanism
